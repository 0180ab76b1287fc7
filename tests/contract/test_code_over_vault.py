"""`execute_python` over a vault in a real sandbox: what it may change of the pages, and what it may not."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from mcp import Client

from bethink.agent.stored_runs import ApprovalChoice
from bethink.events import ApprovalNeeded, MemoryChanged, RunStarted, ToolFinished
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.mcp_server.server import McpDoor
from bethink.messages import ToolMessage
from bethink.sandbox.interpreters import InterpreterOptions, Interpreters, Workplaces
from bethink.telemetry import Supervisor
from tests.contract.sandboxes import EVERY, needs_kernel, sandbox_named
from tests.door import called
from tests.house import House, open_house, ports_of
from tests.mcp_clients import MODES, Mode, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PAGES = {f"notes/page{number:02}.md": f"# Page {number}\nIts words.\n" for number in range(31)}


@dataclass(frozen=True, slots=True)
class Bench:
    """A house with a vault, and its model's next code."""

    house: House
    root: Path
    answers: list[Answer]
    requests: Sequence[LlmRequest]

    async def run(self, code: str) -> ToolFinished:
        """What `execute_python` said, as the chat's model calls it."""
        finished = [event for event in await self.events(code) if isinstance(event, ToolFinished)]
        assert len(finished) == 1
        return finished[0]

    async def events(self, code: str) -> list[object]:
        self.answers[:] = [ScriptedCall("execute_python", {"code": code}), "Done."]
        return [*await self.house.say("Run it.")]

    async def pages(self) -> dict[str, str]:
        def read() -> dict[str, str]:
            return {
                path.relative_to(self.root).as_posix(): path.read_text()
                for path in self.root.rglob("*.md")
                if not any(part.startswith(".") for part in path.relative_to(self.root).parts)
            }

        return await anyio.to_thread.run_sync(read)


@asynccontextmanager
async def bench(
    tmp_path: Path, pages: Mapping[str, str] = PAGES, *, wall: str = "auto", **settings: float
) -> AsyncGenerator[Bench]:
    needs_kernel()
    sandbox_named("landlock" if wall == "auto" else wall)
    root = tmp_path / "vault"
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    answers: list[Answer] = []
    llm = ScriptedLlm(lambda _request: answers.pop(0))
    options = InterpreterOptions(wanted=wall)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    places, supervise = Workplaces(tmp_path / "code"), Supervisor().supervise
    async with Interpreters(places, tmp_path, options).opened(supervise) as interpreters:
        ports = replace(ports_of(llm), interpreters=interpreters)
        async with open_house(None, ports=ports, tools=(), **{"data_dir": tmp_path, **settings}) as house:
            yield Bench(house, root, answers, llm.requests)


_NESTED = """import os
top = os.getcwd()
for n in range(1400):
    n % 175 or os.chdir(top)
    os.mkdir(f'{n // 175}')
    os.chdir(f'{n // 175}')
"""


@pytest.mark.parametrize("wall", EVERY)
@pytest.mark.parametrize(
    "code",
    [
        _NESTED,
        "import os\nos.mkdir('.cache')\nfor n in range(2600):\n    open(f'.cache/{n:04}', 'w').close()",
        "import os\nos.mkdir('cache')\nfor n in range(2600):\n    open(f'cache/{n:04}.tmp', 'w').close()",
    ],
    ids=["nested directories", "a hidden cache", "a cache"],
)
async def test_pages_that_code_never_touched_stay_whatever_it_leaves_beside_them(
    tmp_path: Path, code: str, wall: str
) -> None:
    async with bench(tmp_path, wall=wall) as at:
        told = await at.run(code)
        assert await at.pages() == PAGES
        assert "deleted" not in told.text


async def test_a_new_page_is_kept_however_many_files_lie_beside_it(tmp_path: Path) -> None:
    code = (
        "import os\nos.mkdir('cache')\nfor n in range(1900):\n    open(f'cache/{n:04}.tmp', 'w').close()\n"
        "update_file('notes/page07.md', 'Its words', 'Other words')\ncreate_file('zz/new.md', '# New\\n')"
    )
    async with bench(tmp_path) as at:
        told = await at.run(code)
        assert await at.pages() == PAGES | {
            "notes/page07.md": "# Page 7\nOther words.\n",
            "zz/new.md": "# New\n",
        }
        assert "1,900 files that are no pages are not kept" in told.text
        assert told.text.count("not kept") == 1


@pytest.mark.parametrize("wall", EVERY)
async def test_code_that_is_killed_changes_nothing(tmp_path: Path, wall: str) -> None:
    code = (
        "import os\nos.unlink('notes/page01.md')\nopen('notes/new.md', 'w').write('half')\n"
        "cut = open('notes/page00.md', 'w')\nwhile True: pass"
    )
    async with bench(tmp_path, wall=wall, code_timeout_s=1) as at:
        told = await at.run(code)
        assert told.error == "timeout"
        assert "Nothing was changed" in told.text
        assert await at.pages() == PAGES


_FORGED = "import atexit, os\nos.makedirs('.bethink', exist_ok=True)\natexit.register(lambda: {})\n"


@pytest.mark.parametrize(
    "report",
    [
        "'[' * 200_000",
        "'[1, {\"a\": 2}]'",
        "'{}'",
        "'[' + '[],' * 1_000_000 + '[]]'",
        "'[\"' + 'x' * 3_000_000 + '\"]'",
        "'\\udcff'",
    ],
    ids=["nested", "other types", "no list", "many", "long", "no text"],
)
async def test_a_report_that_code_forged_is_not_believed_and_hinders_nobody(
    tmp_path: Path, report: str
) -> None:
    write = f"open('.bethink/read', 'w', errors='surrogateescape').write({report})"
    code = _FORGED.format(write) + "update_file('notes/page00.md', 'Its words', 'Other words')"
    async with bench(tmp_path) as at:
        told = await at.run(code)
        assert told.error is None
        assert "[changed: notes/page00.md]" in told.text
        assert told.memories == ()
        assert (await at.pages())["notes/page00.md"] == "# Page 0\nOther words.\n"


_DELETES = "import os\nfor n in range(31):\n    os.unlink(f'notes/page{n:02}.md')"
_EMPTIES = "for n in range(31):\n    open(f'notes/page{n:02}.md', 'w').close()"


@pytest.mark.parametrize("wall", EVERY)
@pytest.mark.parametrize("code", [_DELETES, _EMPTIES], ids=["deleted", "emptied"])
async def test_code_that_takes_many_pages_away_asks_with_their_list_and_one_undo_brings_them_back(
    tmp_path: Path, code: str, wall: str
) -> None:
    async with bench(tmp_path, wall=wall) as at, called(at.house) as http:
        events = await at.events(code)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        assert asked.reason.startswith("This code would delete or empty 31 pages")
        assert all(f"- {path}\n" in f"{asked.reason}\n" for path in PAGES)
        assert await at.pages() == PAGES
        at.answers[:] = ["They are gone."]
        (run,) = [event.run for event in events if isinstance(event, RunStarted)]
        await at.house.app.runs.approvals.decide(
            at.house.me, run, call=asked.call, choice=ApprovalChoice("approve")
        )
        told = await at.house.events(run)
        (change,) = [event for event in told if isinstance(event, MemoryChanged)]
        assert set(change.ids) == set(PAGES)
        assert not any((await at.pages()).values())
        undone = await http.post("/vault/undo", json={"token": change.undo})
        assert undone.status_code == 200
        assert await at.pages() == PAGES
        again = await http.post("/vault/undo", json={"token": undone.json()["undo"]})
        assert again.status_code == 200
        assert not any((await at.pages()).values())


async def test_what_was_agreed_to_is_done_only_as_long_as_it_is_the_same(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        events = await at.events(_DELETES)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        (run,) = [event.run for event in events if isinstance(event, RunStarted)]
        await at.house.app.vault.write(at.house.me, "notes/page00.md", "Written since.\n", by="person")
        at.answers[:] = ["Not done."]
        await at.house.app.runs.approvals.decide(
            at.house.me, run, call=asked.call, choice=ApprovalChoice("approve")
        )
        (told,) = [event for event in await at.house.events(run) if isinstance(event, ToolFinished)]
        assert "Nothing was changed: this is not what was agreed to." in told.text
        assert len(await at.pages()) == len(PAGES)


async def test_an_owner_who_declines_keeps_every_page(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        events = await at.events(_DELETES)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        (run,) = [event.run for event in events if isinstance(event, RunStarted)]
        at.answers[:] = ["They stay."]
        await at.house.app.runs.approvals.decide(
            at.house.me, run, call=asked.call, choice=ApprovalChoice("reject")
        )
        await at.house.events(run)
        assert await at.pages() == PAGES


async def test_a_model_cannot_agree_in_its_owners_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        events = await at.events(_DELETES)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        at.answers[:] = [ScriptedCall("execute_python", json.loads(asked.arguments)), "Done."]
        again = await at.house.say("Do it.")
        assert any(isinstance(event, ApprovalNeeded) for event in again)
        assert await at.pages() == PAGES


async def test_a_few_pages_go_unasked_each_with_its_undo(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        events = await at.events(_DELETES.replace("range(31)", "range(3)"))
        changes = [event for event in events if isinstance(event, MemoryChanged)]
        assert len(changes) == 3
        assert len(await at.pages()) == len(PAGES) - 3


async def test_on_an_errand_many_pages_stay_and_it_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        at.answers[:] = [ScriptedCall("execute_python", {"code": _DELETES}), "It was not done."]
        done = await at.house.app.asking.ask(at.house.me, "Clear my notes.")
        assert done.calls[0].error == "denied"
        assert await at.pages() == PAGES
        (result,) = [message for message in at.requests[-1].messages if isinstance(message, ToolMessage)]
        assert "would delete or empty 31 pages" in result.content
        assert "cannot be asked from here" in result.content


@pytest.mark.parametrize("mode", MODES)
async def test_a_program_is_asked_before_its_code_takes_many_pages_away(tmp_path: Path, mode: Mode) -> None:
    async with (
        bench(tmp_path) as at,
        Client(McpDoor(at.house.app, "stdio", ("vault",)).server(), mode=mode) as client,
    ):
        first = text_of(await client.call_tool("execute_python", {"code": _DELETES}))
        assert "31 pages" in first
        assert await at.pages() == PAGES
        token = first.partition('confirm="')[2].partition('"')[0]
        forged = await client.call_tool("execute_python", {"code": _DELETES, "confirm": f"{token}0"})
        assert "31 pages" in text_of(forged)
        assert await at.pages() == PAGES
        await client.call_tool("execute_python", {"code": _DELETES, "confirm": token})
        assert await at.pages() == {}


async def test_files_whose_names_are_no_text_are_told_of_and_leave_the_pages_alone(tmp_path: Path) -> None:
    code = (
        "import os\nos.close(os.open(b'bad\\xff.txt', os.O_CREAT))\n"
        "open('notes/page00.md', 'w').write('# Other\\nIts words stay.\\n')"
    )
    async with bench(tmp_path) as at:
        told = await at.run(code)
        assert "bad\ufffd.txt is not kept" in told.text
        assert (await at.pages())["notes/page00.md"] == "# Other\nIts words stay.\n"
        (result,) = [message for message in at.requests[-1].messages if isinstance(message, ToolMessage)]
        assert "bad\ufffd.txt" in result.content


async def test_many_pages_that_code_writes_anew_come_back_by_one_undo(tmp_path: Path) -> None:
    code = _EMPTIES.replace(".close()", ".write('# Some other text\\n')")
    async with bench(tmp_path) as at, called(at.house) as http:
        events = await at.events(code)
        assert set((await at.pages()).values()) == {"# Some other text\n"}
        (change,) = [event for event in events if isinstance(event, MemoryChanged)]
        assert set(change.ids) == set(PAGES)
        undone = await http.post("/vault/undo", json={"token": change.undo})
        assert undone.status_code == 200
        assert await at.pages() == PAGES


async def test_pages_of_any_script_that_are_cut_to_less_than_a_tenth_ask(tmp_path: Path) -> None:
    pages = {f"notes/{number}.md": "слово дело " * 100 for number in range(5)}
    code = "for n in range(5):\n    open(f'notes/{n}.md', 'w').write('слово дело ' * 9)"
    async with bench(tmp_path, pages) as at:
        events = await at.events(code)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        assert asked.reason.startswith("This code would delete or empty 5 pages")
        assert await at.pages() == pages


async def test_a_page_stays_if_the_name_that_code_gave_it_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        told = await at.run("import os\nos.rename('notes/page04.md', 'notes/Page04.md')")
        assert "notes/Page04.md is not kept" in told.text
        assert "that notes/page04.md was deleted is not kept" in told.text
        assert await at.pages() == PAGES
