"""Forgetting on real files: nothing is left in any of them, and no power cut stops it half way."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.llm.scripted import Reply, Rule, ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings
from tests.server_process import running
from tests.traces import left_of
from tests.warm import run

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

_SCRIPT = str(Path(__file__).with_name("forget_and_die.py"))
_DIES = f"import runpy\nrunpy.run_path({_SCRIPT!r}, run_name='__main__')"
WORDS = ("zembrovia", "quillfeather", "oblisk", "thistledown")
"""Words that nobody else uses, with what stemming leaves of them."""


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@pytest.mark.sqlite
@pytest.mark.requirement("C22", "R188")
async def test_nothing_of_what_was_told_searched_corrected_and_quoted_is_left_in_any_file(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    """One journey through the real server: told, kept, found, quoted, corrected, then forgotten."""
    topics = ["oblisking"]
    stored = ScriptedCall(
        "store_memory", {"content": "User was a clerk at Zembrovia under Ms Quillfeather", "topics": topics}
    )
    searched = ScriptedCall("search_memory", {"query": "former employer Zembrovia"})
    await model.plays(
        Rule(when="Where was I", after_tool=False, tool_calls=(searched,), reasoning="Zembrovia, I think."),
        Rule(when="Where was I", after_tool=True, text="At Zembrovia. Do you want to go back?"),
        Rule(when="weather", text="Sunny."),
        Rule(when="I was a clerk", after_tool=False, tool_calls=(stored,)),
        Rule(when="I was a clerk", after_tool=True, text="So you worked at Zembrovia. I will remember it."),
    )
    async with running(tmp_path, model) as bethink:
        told, other = await bethink.new(), await bethink.new()
        await bethink.answer(told, "I was a clerk at Zembrovia, Ms Quillfeather was my boss. It rained.")
        await bethink.answer(other, "Where was I employed?")
        await bethink.answer(other, "How is the weather?")
        (fact,) = (await bethink.get("/memories"))["items"]
        edit = {"content": "User was a clerk at Zembrovia until the Thistledown affair"}
        await bethink.http.patch(f"/memories/{fact['id']}", json=edit)
        await bethink.http.post("/memories", json={"content": "User has a dog called Rex"})
        page = tmp_path / "vault" / "notes" / "work.md"
        page.parent.mkdir(parents=True)
        page.write_text("# Work\nI was a clerk at Zembrovia under Ms Quillfeather.\nIt rained.\n")
        await bethink.finds("/recall?query=clerk&kinds=page")
        assert {line.split()[0] for line in left_of(WORDS, tmp_path)} == {*WORDS}
        preview = (await bethink.http.post("/memories/forget", json={"query": "clerk at Zembrovia"})).json()
        assert [memory["content"] for memory in preview["memories"]] == [fact["content"], edit["content"]]
        assert preview["versions"] == []
        body = {"query": "clerk at Zembrovia", "confirm": preview["token"]}
        receipt = (await bethink.http.post("/memories/forget", json=body)).json()
        # The page, and the one on which the memory is a line where that was written already.
        assert (receipt["forgotten"], 1 <= len(receipt["pages"]) <= 2) == (2, True)
        assert page.read_text() == "# Work\n[forgotten]\nIt rained.\n"
        assert left_of(WORDS, tmp_path) == []
        kept = [message["content"] for message in (await bethink.get(f"/conversations/{told}"))["messages"]]
        assert kept == ["[forgotten] It rained.", "", "[forgotten]", "[forgotten] I will remember it."]
        quoted = [
            message["content"] for message in (await bethink.get(f"/conversations/{other}"))["messages"]
        ]
        assert quoted[-3:] == ["[forgotten] Do you want to go back?", "How is the weather?", "Sunny."]
        again = (await bethink.http.post("/memories/forget", json={"query": "clerk at Zembrovia"})).json()
        assert (again["memories"], again["messages"]) == ([], [])
        assert await bethink.stop() == 0
    assert left_of(WORDS, tmp_path) == []


@asynccontextmanager
async def opened(directory: Path, llm: ScriptedLlm | None = None) -> AsyncGenerator[App]:
    settings = Settings(data_dir=directory, vault=VaultSettings(mirror=False))
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=HashingEmbeddings(), llm=llm)) as app,
    ):
        yield app


async def lived_in(directory: Path) -> str:
    """A data directory in which a fact was told, quoted and corrected; the fact's id."""
    stored = ScriptedCall("store_memory", {"content": "User was a clerk at Zembrovia"})
    llm = ScriptedLlm([Reply(tool_calls=(stored,)), "So you worked at Zembrovia. Noted."])
    async with opened(directory, llm) as app:
        me = await app.accounts.authenticate(audience="test")
        conversation = await app.conversations.create(me)
        run = await app.runs.start(me, conversation.id, "I was a clerk at Zembrovia. It rained.")
        async for _ in app.runs.follow(me, run):
            pass
        (fact,) = (await app.memory.list(me)).items
        correction = NewFact("User was a clerk at Zembrovia until the Thistledown affair")
        for page in ("As a clerk at Zembrovia I slept.\n", "It rained.\nI was a clerk at Zembrovia.\n"):
            await app.vault.write(me, "user.md", page, by="person")
        return (await app.memory.edit(me, fact.record.id, correction)).fact.id


async def forgets_and_dies(directory: Path, fact: str, writes: int, after: str) -> int:
    ended, _ = await run(_DIES, str(directory), fact, str(writes), after)
    return ended


@pytest.mark.parametrize("after", ["before", "after"])
async def test_a_power_cut_at_any_step_leaves_nothing_undone_at_the_next_start(
    after: str, tmp_path: Path
) -> None:
    steps = 0
    while True:
        directory = tmp_path / str(steps)
        fact = await lived_in(directory)
        ended = await forgets_and_dies(directory, fact, steps, after)
        begun = steps > 0 or after == "after"
        async with opened(directory) as app:
            me = await app.accounts.authenticate(audience="test")
            assert await app.memory.count(me) == (0 if begun else 2)
        assert bool(left_of(WORDS, directory)) is not begun
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        steps += 1
    # Nothing else holds words of a question: no places are emptied in between.
    assert steps == 6, "the intent, two looks at the pages, the removal, the scrubbing, the end"
