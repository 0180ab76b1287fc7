"""The library read by the real process of its own, beside another one, and killed at each step."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bethink.app import App, open_app
from bethink.documents.model import NewDocument
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.ports import open_ports
from bethink.principal import Principal
from bethink.settings import Settings, VaultSettings
from tests.papers import letter, pdf

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

LINES = [[f"Page {number} is about the roof of the barn."] for number in range(1, 4)]


@asynccontextmanager
async def opened(directory: Path) -> AsyncGenerator[tuple[App, Principal]]:
    settings = Settings(data_dir=directory, vault=VaultSettings(mirror=False))
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=HashingEmbeddings())) as app,
    ):
        yield app, await app.accounts.authenticate(audience="test")


async def test_real_files_are_read_by_their_process_and_a_hostile_one_fails_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        files = {
            "barn.pdf": pdf(*LINES),
            "letter.docx": letter(),
            "cut.pdf": pdf(*LINES)[:200],
            "notes.md": b"# Notes\n\nThe gutter is green.",
        }
        added = {
            name: await app.library.add(me, NewDocument(name=name, content=content))
            for name, content in files.items()
        }
        await app.features.of(Documents).ingest.finish(me, [one.content for one in added.values()])
        stages = {name: (await app.library.content(me, one.content)).stage for name, one in added.items()}
        assert stages == {
            "barn.pdf": "ready",
            "letter.docx": "ready",
            "cut.pdf": "failed",
            "notes.md": "ready",
        }
        (best, *_) = await app.library.search(me, "page 2 about the roof of the barn")
        assert best.document.name == "barn.pdf"
        assert "leaks" in (await app.library.search(me, "Why does the roof leak?"))[0].text


@pytest.mark.parametrize("writes", [1, 3, 4])
async def test_killed_at_any_step_it_is_read_when_somebody_serves_again(tmp_path: Path, writes: int) -> None:
    data, file = tmp_path / "data", tmp_path / "barn.pdf"
    file.write_bytes(pdf(*LINES))
    program = [sys.executable, "-m", "tests.service.ingest_and_die", str(data), str(file), str(writes)]
    done = await anyio.run_process(program, check=False)
    was_added = b"added" in done.stdout
    async with opened(data) as (app, me):
        await app.features.of(Documents).ingest.take_up_once()
        kept = await app.library.list(me)
        assert bool(kept.items) >= was_added
        if not kept.items:
            # What nobody was told of is added again, and whole.
            new = NewDocument(name="barn.pdf", content=file)
            kept_content = (await app.library.add(me, new)).content
        else:
            kept_content = kept.items[0].document.content
        await app.features.of(Documents).ingest.finish(me, [kept_content])
        state = (await app.library.list(me)).items[0]
        assert (state.content.stage, state.content.pages, state.content.done) == ("ready", 3, 3)
        assert len(await app.library.search(me, "about the roof of the barn")) == state.content.passages
        assert len(await app.library.pages(me, kept_content)) == 3


async def test_what_another_process_adds_is_read_by_the_one_that_serves(tmp_path: Path) -> None:
    file = tmp_path / "barn.md"
    file.write_text("# Barn\n\nThe roof of the barn is red.")
    async with opened(tmp_path / "data") as (app, me):
        program = (
            "import asyncio, sys\n"
            "from pathlib import Path\n"
            "from bethink.app import open_app\n"
            "from bethink.documents.model import NewDocument\n"
            "from bethink.settings import Settings\n"
            "async def main():\n"
            "    async with open_app(Settings(data_dir=Path(sys.argv[1]))) as app:\n"
            "        me = await app.accounts.authenticate(audience='test')\n"
            "        await app.library.add(me, NewDocument(name='barn.md', content=Path(sys.argv[2])))\n"
            "asyncio.run(main())\n"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "data"), str(file)]
        await asyncio.to_thread(subprocess.run, command, check=True)
        (state,) = (await app.library.list(me)).items
        with anyio.fail_after(60):
            while (await app.library.content(me, state.content.id)).stage != "ready":  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.05)
        assert len(await app.library.search(me, "What colour is the roof?")) == 1


async def files_in(directory: Path) -> list[str]:
    """What lies in a folder and below, if it is there."""
    return [path.name async for path in anyio.Path(directory).rglob("*") if await path.is_file()]


@pytest.mark.requirement("C20")
@pytest.mark.parametrize("writes", [-1, 1, 2])
async def test_an_import_that_was_killed_leaves_nothing_behind_the_next_start(
    tmp_path: Path, writes: int
) -> None:
    archive, data = tmp_path / "kb.tar.gz", tmp_path / "data"
    async with opened(tmp_path / "first") as (app, me):
        memory = app.conversation_memory
        for name in ("barn", "boat"):
            await memory.store_conversation(me, name, f"The {name} leaks.", "Noted.")
        await memory.export_knowledge_base(me, archive)
    program = [sys.executable, "-m", "tests.service.import_and_die", str(data), str(archive), str(writes)]
    ended = await anyio.run_process(program, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert "documents.jsonl" in await files_in(data / "unpacking")
    async with opened(data) as (app, me):
        bases = app.features.of(Documents).bases
        await bases.finish_earlier()
        assert await files_in(data / "unpacking") == []
        assert [one.base.name for one in await bases.list(me)] == []
        assert await files_in(data / "documents") == []
        assert (await bases.import_archive(me, archive)).counts.documents == 2
        assert await files_in(data / "unpacking") == []
        assert "boat leaks" in (await app.library.search(me, "Which boat leaks?"))[0].text
