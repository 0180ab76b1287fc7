"""Documents read within the walls of the sandbox: the same text, and nothing in reach of a parser."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from bethink.documents.reading.extraction import Extraction, fault_of
from bethink.errors import DocumentError
from bethink.sandbox import MIB, CodeLimits, FileReader, FileReading
from bethink.sandbox.choice import Walls
from bethink.sandbox.file_reader import ForkingReader
from bethink.tool import NewFile
from tests.contract.sandboxes import EVERY, sandbox_named
from tests.door import called
from tests.house import House, open_house
from tests.papers import letter, pdf

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PAPERS = {
    "report.pdf": pdf(["One", "below"], ["Two"], table=[["Year", "Profit"], ["2024", "7"]]),
    "letter.docx": letter(),
    "page.html": b"<html><body><article><h1>Title</h1><p>What it says.</p></article></body></html>",
    "table.csv": b"a,b\n1,2\n",
    "latin.txt": "Stra\u00dfe, caf\u00e9, na\u00efve".encode("latin-1"),
}


@pytest.mark.parametrize("wall", EVERY)
async def test_within_the_walls_every_kind_is_read_as_without(tmp_path: Path, wall: str) -> None:
    sandbox_named(wall)
    walls = Walls(wall, tmp_path / "data", fault_of)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    confined = Extraction(20, walls=walls)
    for name, content in PAPERS.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert await confined.read(path, name, "a/b") == await Extraction(20).read(path, name, "a/b")
    assert confined.state == "Documents are read apart from everything else, in a sandbox."
    assert walls.known is not None
    assert walls.known.sandbox is not None
    assert walls.known.sandbox.name == wall


@asynccontextmanager
async def opened_reader(wall: str) -> AsyncGenerator[FileReader]:
    """A reader in a wall, or in none, closed at the end."""
    reader = await (
        ForkingReader.plain() if wall == "none" else sandbox_named(wall).open_reader(CodeLimits(disk_bytes=0))
    )
    try:
        yield reader
    finally:
        await reader.close()


def doing(code: str) -> FileReading:
    """A module that runs code, as a parser does that a file took over."""
    return FileReading(("timeit", "-n1", "-r1", code), 20, 10_000)


_COUNT_FILES = """
import os
import sys
def is_open(number):
    try: return bool(os.fstat(number))
    except OSError: return False
print(sum(map(is_open, range(3, 256))))
"""
"""But for the file, the place for the answer and that for complaints."""


@pytest.mark.parametrize("wall", EVERY)
async def test_a_parser_that_a_file_took_over_reaches_nothing(tmp_path: Path, wall: str) -> None:
    canary = tmp_path / "canary"
    canary.write_text("a key")

    async def answer(*command: str) -> bytes:
        return await reader.read(source, FileReading(command, 20, 100_000))

    async with opened_reader(wall) as reader:
        with canary.open("rb") as source:
            for path in (
                canary,
                "/etc/passwd",
                f"/proc/{os.getpid()}/environ",
                "/proc/self/environ",
                tmp_path,
            ):
                for command in (("base64", "-e", str(path)), ("tokenize", str(path))):
                    assert await answer(*command) == b""
            assert await answer("zipfile", "-c", "written.zip", "/dev/null") == b""
            assert await answer("http.server", "0") == b""
            source.seek(0)
            assert await answer("base64", "-e", "-") == b"YSBrZXk=\n"


@pytest.mark.parametrize("wall", [*EVERY, "none"])
async def test_what_one_file_does_to_its_process_no_other_file_meets(tmp_path: Path, wall: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("What it says.")
    took_over = "import bethink, sys; bethink.owned = print(hasattr(bethink, 'owned')); sys.stdout.flush()"
    async with opened_reader(wall) as reader:
        with path.open("rb") as source:
            for _ in range(2):
                assert (await reader.read(source, doing(took_over))).startswith(b"False")
            assert await reader.read(source, doing("import os; os.kill(os.getpid(), 9)")) == b""
            found = await reader.read(
                source, doing("import os; print([n for n in range(3, 256) if not os.dup2(n, n)])")
            )
            assert b"[" not in found  # no open file but its own three
            assert reader.is_alive


@pytest.mark.parametrize("wall", EVERY)
async def test_a_file_cannot_end_what_reads_the_others_nor_what_it_waits_for(
    tmp_path: Path, wall: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("What it says.")
    async with opened_reader(wall) as reader:
        with path.open("rb") as source:
            answer = await reader.read(source, doing("import os; os.kill(os.getppid(), 9)"))
            assert answer == b""
            assert reader.is_alive
            hides = "import os, time; os.write(1, b'said'); os.close(0); os.close(1); time.sleep(60)"
            assert await reader.read(source, doing(hides)) == b"said"
            assert not reader.is_alive


@pytest.mark.parametrize("wall", [*EVERY, "none"])
async def test_files_are_read_at_low_priority(tmp_path: Path, wall: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("What it says.")
    before = {*descendants(os.getpid())}
    async with opened_reader(wall) as reader:
        with path.open("rb") as source:
            assert await reader.read(source, FileReading(("base64", "-e", "-"), 20, 1_000)) != b""
        nice = [os.getpriority(os.PRIO_PROCESS, pid) for pid in {*descendants(os.getpid())} - before]
    assert max(nice) >= 10


def descendants(process: int) -> list[int]:
    """All that a process started, and that those started."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread, or a process, that has just ended
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


@pytest.mark.parametrize("wall", [*EVERY, "none"])
async def test_files_that_stop_their_process_leave_the_ones_beside_them_alone(
    tmp_path: Path, wall: str
) -> None:
    walls = None if wall == "none" else Walls(wall, tmp_path / "data", fault_of)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    extraction = Extraction(20, memory=200 * MIB, walls=walls)
    large, small = tmp_path / "large.txt", tmp_path / "small.txt"
    small.write_text("What it says.")
    with large.open("wb") as file:
        file.write(b"word " * 2_000)
        file.truncate(400 * MIB)
    read: list[str] = []

    async def one(path: Path) -> None:
        if path == large:
            with pytest.raises(DocumentError, match="memory"):
                await extraction.read(path, path.name, "text/plain")
        else:
            read.append((await extraction.read(path, path.name, "text/plain")).pages[1])

    async with extraction.kept_warm():
        await one(small)
        async with anyio.create_task_group() as tasks:
            for path in (small, large, small, small, large, small):
                tasks.start_soon(one, path)
    assert read == ["What it says."] * 5


@pytest.mark.parametrize("wall", EVERY)
async def test_a_document_that_takes_all_memory_ends_within_its_own(tmp_path: Path, wall: str) -> None:
    sandbox_named(wall)
    walls = Walls(wall, tmp_path / "data", fault_of)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.write(b"word " * 2_000)
        file.truncate(400 * MIB)
    with pytest.raises(DocumentError, match="memory"):
        await Extraction(20, memory=200 * MIB, walls=walls).read(path, "large.txt", "text/plain")


async def test_what_a_parser_says_is_believed_only_as_far_as_it_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_named("landlock")
    walls = Walls("landlock", tmp_path / "data", fault_of)
    path = tmp_path / "a.txt"
    path.write_text("What it says.")
    extraction = Extraction(20, walls=walls)
    assert (await extraction.read(path, "a.txt", "a/b")).pages == {1: "What it says."}
    monkeypatch.setattr("bethink.documents.reading.extraction._MODULE", "this")
    with pytest.raises(DocumentError, match="cannot be read"):
        await extraction.read(path, "a.txt", "a/b")


@asynccontextmanager
async def house_with_a_pdf(tmp_path: Path) -> AsyncGenerator[tuple[House, str]]:
    async with open_house(data_dir=tmp_path / "data") as house:
        conversation = await house.new()
        await house.app.files.add(
            house.me, conversation, NewFile("report.pdf", "application/pdf", PAPERS["report.pdf"])
        )
        yield house, conversation


async def test_health_says_where_documents_are_read_once_one_was(tmp_path: Path) -> None:
    sandbox_named("landlock")
    async with house_with_a_pdf(tmp_path) as (house, conversation), called(house) as http:
        before = (await http.get("/health")).json()["parts"]["documents"]
        assert before == {
            "status": "ok",
            "message": "No document has been read yet: then its sandbox is tried.",
            "waiting": 0,
            "failed": 0,
        }
        (held,) = await house.app.files.held(house.me, conversation)
        await house.app.passages.extraction.read(held.path, held.name, held.media_type)
        after = (await http.get("/health")).json()["parts"]["documents"]
        assert after["message"] == "Documents are read apart from everything else, in a sandbox."


async def test_without_a_wall_documents_are_read_all_the_same_and_health_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.sandbox.choice._ALL", ())
    async with house_with_a_pdf(tmp_path) as (house, conversation), called(house) as http:
        (held,) = await house.app.files.held(house.me, conversation)
        extracted = await house.app.passages.extraction.read(held.path, held.name, held.media_type)
        assert "Year" in extracted.pages[1]
        part = (await http.get("/health")).json()["parts"]["documents"]
        assert part["message"].startswith("Documents are read in a process of their own, without a sandbox")


_HANGS = """
import asyncio, sys
from bethink.sandbox import CodeLimits, FileReading
from bethink.sandbox.file_reader import ForkingReader
from tests.contract.sandboxes import sandbox_named
async def main(wall):
    reader = await (
        ForkingReader.plain() if wall == "none" else sandbox_named(wall).open_reader(CodeLimits(disk_bytes=0))
    )
    with open("/dev/null", "rb") as source:
        call = ("timeit", "-n1", "-r1", "import time; time.sleep(60)")
        await reader.read(source, FileReading(call, 60, 10))
asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("wall", [*EVERY, "none"])
async def test_nothing_reads_on_once_bethink_was_killed(wall: str) -> None:
    if wall != "none":
        sandbox_named(wall)
    command = (sys.executable, "-c", _HANGS, wall)
    async with await anyio.open_process(command, stderr=None) as process:
        depth = 4 if wall == "bubblewrap" else 2  # with the copy that hangs
        with anyio.fail_after(20):
            while len(started := descendants(process.pid)) < depth:  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
        process.kill()
        await process.wait()
        with anyio.fail_after(5):
            while any(map(_runs, started)):  # noqa: ASYNC110 - the same
                await anyio.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
