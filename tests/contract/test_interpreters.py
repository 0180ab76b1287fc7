"""Interpreters of conversations: their files, their pool, their end; and `execute_code` in a conversation."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import SupportsIndex

import anyio
import anyio.to_thread
import pytest

from bethink.errors import SandboxUnavailable
from bethink.events import ToolFinished
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.sandbox import Ending
from bethink.sandbox.confinement import ConfinedCommand, Job, Landlock
from bethink.sandbox.interpreters import (
    NOT_INSTALLED,
    SWITCHED_OFF,
    InterpreterOptions,
    Interpreters,
    Ran,
    WorkFiles,
    Workplaces,
)
from bethink.sandbox.kernel import Message, MessageContent, Parent, Shown
from bethink.sandbox.process import ConfinedProcess
from bethink.telemetry import Supervisor
from bethink.tool import NewFile
from bethink.tools.code import code_source
from tests.contract.sandboxes import EVERY, SMALL, needs_kernel, sandbox_named
from tests.door import called
from tests.house import open_house, ports_of
from tests.supervised import Trial, broken

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_HOLDER = """
import anyio, sys
from pathlib import Path
from bethink.sandbox.interpreters import Interpreters, InterpreterOptions
from bethink.sandbox.kernel import Shown
from bethink.sandbox.interpreters import Workplaces
from bethink.telemetry import Supervisor

async def main():
    root = Path(sys.argv[1])
    options = InterpreterOptions(wanted=sys.argv[2], prewarmed=1)
    places, supervise = Workplaces(root / "code"), Supervisor().supervise
    async with Interpreters(places, root, options).opened(supervise) as interpreters:
        await interpreters.execute("me", "one", "x = 1", timeout_s=20)
        print("ready", flush=True)
        await interpreters.execute("me", "one", "while True: pass", timeout_s=60)

anyio.run(main)
"""


@asynccontextmanager
async def at_work(
    root: Path, options: InterpreterOptions | None = None, supervisor: Supervisor | None = None
) -> AsyncGenerator[Interpreters]:
    needs_kernel()
    sandbox_named("landlock")
    supervise = (supervisor or Supervisor()).supervise
    places = Workplaces(root / "code")
    async with Interpreters(places, root, options or InterpreterOptions(limits=SMALL)).opened(
        supervise
    ) as interpreters:
        yield interpreters


async def run(interpreters: Interpreters, code: str, conversation: str = "one") -> Ran:
    return await interpreters.execute("me", conversation, code, timeout_s=10)


async def test_conversations_keep_apart(tmp_path: Path) -> None:
    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "x = 1\nopen('mine', 'w').close()")
        other = await run(interpreters, "import os\nos.listdir('.'), 'x' in globals()", "two")
        assert other.answer.text == "([], False)\n"


async def test_code_runs_on_whatever_breaks_beside_it(tmp_path: Path) -> None:
    trial = Trial()
    async with at_work(tmp_path, InterpreterOptions(limits=SMALL, prewarmed=1), trial) as interpreters:
        await run(interpreters, "x = 1")
        assert set(trial.loops) == {"interpreters held ready", "interpreters that are unused"}
        for name in trial.loops:
            await broken(trial, name)
        assert (await run(interpreters, "x")).answer.text == "1\n"
        assert (await run(interpreters, "2", "two")).answer.text == "2\n"


async def test_files_go_in_by_name_and_come_back_when_they_change(tmp_path: Path) -> None:
    given = tmp_path / "kept-under-another-name"
    given.write_text("a,b\n")
    async with at_work(tmp_path) as interpreters:
        code = "text = open('given.csv').read()\nopen('made.csv', 'w').write(text * 2)\nNone"
        ran = await interpreters.execute(
            "me", "one", code, files=WorkFiles({"given.csv": given}), timeout_s=10
        )
        assert [(found.name, found.content) for found in ran.files] == [("made.csv", b"a,b\na,b\n")]
        again = await run(interpreters, "open('given.csv', 'a').write('c')\nNone")
        assert [(found.name, found.content) for found in again.files] == [("given.csv", b"a,b\nc")]
    assert given.read_text() == "a,b\n"


async def test_an_interpreter_that_died_meanwhile_says_so_and_its_files_stay(tmp_path: Path) -> None:
    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "open('kept', 'w').close()")
        code = "import os, threading, time\nthreading.Timer(0.05, os._exit, (1,)).start()"
        await run(interpreters, code)
        with anyio.move_on_after(1):
            await run(interpreters, "import time\ntime.sleep(1)")
        ran = await run(interpreters, "import os\nos.listdir('.')")
        assert ran.answer.text == "['kept']\n"


async def test_one_that_nobody_uses_is_closed_and_the_next_answer_says_why(tmp_path: Path) -> None:
    async with at_work(tmp_path, InterpreterOptions(limits=SMALL, idle_s=0.4)) as interpreters:
        await run(interpreters, "x = 1")
        await anyio.sleep(1)
        ran = await run(interpreters, "'x' in globals()")
        assert ran.answer.text == "False\n"
        assert ran.lost_before is not None
        assert "nothing ran in it" in ran.lost_before


async def test_at_most_so_many_live_at_once(tmp_path: Path) -> None:
    async with at_work(tmp_path, InterpreterOptions(limits=SMALL, most=1)) as interpreters:
        await run(interpreters, "x = 1")
        await run(interpreters, "x = 2", "two")
        ran = await run(interpreters, "'x' in globals()")
        assert ran.lost_before == "its place was needed for another conversation"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, interpreters, "import time\ntime.sleep(2)")
            await anyio.sleep(0.5)
            with pytest.raises(SandboxUnavailable, match="in use"):
                await run(interpreters, "1", "two")


async def test_wiping_an_owner_leaves_nothing_of_theirs(tmp_path: Path) -> None:
    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "open('secret', 'w').write('secret')")
        await interpreters.wipe("me")
        assert await anyio.to_thread.run_sync(_names_below, tmp_path / "code" / "work") == []


@pytest.mark.parametrize("confinement", EVERY)
async def test_nothing_outlives_a_killed_bethink(confinement: str, tmp_path: Path) -> None:
    needs_kernel()
    sandbox_named(confinement)
    command = [sys.executable, "-c", _HOLDER, str(tmp_path), confinement]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        assert (await process.stdout.receive()).startswith(b"ready")
        await anyio.sleep(0.5)
        below = await anyio.to_thread.run_sync(_processes_below, process.pid)
        assert len(below) >= 2
        process.send_signal(signal.SIGKILL)
        await process.wait()
    with anyio.fail_after(120):
        while await anyio.to_thread.run_sync(_alive, below):  # noqa: ASYNC110 - others' children tell us nothing
            await anyio.sleep(0.05)
    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "1")
        assert len(await anyio.to_thread.run_sync(os.listdir, tmp_path / "code" / "passing")) == 1


@pytest.mark.parametrize("rest", ["while True: pass", "'done'"], ids=["at work", "done at once"])
async def test_a_directory_that_code_filled_is_emptied_and_says_so(tmp_path: Path, rest: str) -> None:
    fill = f"for n in range(4): open(f'f{{n}}', 'wb').write(bytes(8 << 20))\n{rest}"
    listing = "import os\nos.listdir('.'), 'fill' in globals()"
    script = [_call(fill), ".", _call(listing), "."]
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house:
            conversation = await house.new()
            filled = _finished(await house.say("one", conversation))
            assert filled.error == "code_out_of_disk"
            assert "its directory was emptied" in filled.text
            assert filled.attachments == ()
            assert await anyio.to_thread.run_sync(_bytes_below, tmp_path / "code" / "work") == 0
            assert _finished(await house.say("two", conversation)).text == "([], False)"


async def test_a_full_disk_ends_code_that_writes_and_not_code_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "1")
        monkeypatch.setattr("bethink.sandbox.process._is_full", lambda _place: True)
        assert (await run(interpreters, "6 * 7")).answer.text == "42\n"
        filling = await run(interpreters, "open('f', 'wb').write(bytes(4 << 20))")
        assert filling.answer.ending == "out_of_disk"


async def test_code_that_was_killed_as_it_replied_is_told_as_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen_at_last = ConfinedProcess.over_at_last

    async def killed_before(process: ConfinedProcess) -> Ending | None:
        process.kill("out_of_disk")
        await process.ended()
        return await seen_at_last(process)

    async with at_work(tmp_path) as interpreters:
        await run(interpreters, "1")
        monkeypatch.setattr(ConfinedProcess, "over_at_last", killed_before)
        ran = await run(interpreters, "6 * 7")
        assert (ran.answer.ending, ran.answer.lost) == ("out_of_disk", True)


class _NoSessions(Landlock):
    """Runs code once, and starts no interpreter."""

    def command(self, job: Job) -> ConfinedCommand:
        command = super().command(job)
        return ConfinedCommand(["/nowhere/python"], command.orders) if job.with_packages else command


async def test_health_claims_no_sandbox_in_which_no_interpreter_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.sandbox.choice._ALL", (_NoSessions(),))
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm([])), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house, called(house) as http:
            with pytest.raises(SandboxUnavailable):
                await run(interpreters, "1")
            part = (await http.get("/health")).json()["parts"]["sandbox"]
            assert part["status"] == "degraded"
            assert "no interpreter starts in it" in part["message"]
            assert code_source(interpreters, 30)() == ()


async def test_health_says_so_when_an_interpreter_does_not_start_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm([])), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house, called(house) as http:
            await run(interpreters, "1")
            with monkeypatch.context() as patch:
                patch.setattr("bethink.sandbox.confinement._text_of", lambda _: "raise SystemExit('gone')")
                with pytest.raises(SandboxUnavailable):
                    await run(interpreters, "1", "two")
            part = (await http.get("/health")).json()["parts"]["sandbox"]
            assert part["status"] == "degraded"
            assert "No interpreter started" in part["message"]
            assert code_source(interpreters, 30)() != ()
            await run(interpreters, "1", "two")
            assert (await http.get("/health")).json()["parts"]["sandbox"]["status"] == "ok"


async def test_switched_off_it_runs_nothing_and_wipes_what_was_left(tmp_path: Path) -> None:
    left = anyio.Path(tmp_path / "code" / "work" / "alice" / "talk")
    await left.mkdir(parents=True)
    await (left / "notes.txt").write_text("what is to be forgotten")
    options = InterpreterOptions(enabled=False)
    async with Interpreters(Workplaces(tmp_path / "code"), tmp_path, options).opened(
        Supervisor().supervise
    ) as interpreters:
        assert (interpreters.state.status, interpreters.state.message) == ("off", SWITCHED_OFF)
        assert code_source(interpreters, 30)() == ()
        await interpreters.wipe("alice")
    assert not await left.exists()


async def test_without_its_packages_it_is_off_and_the_tool_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.sandbox.interpreters.find_spec", lambda _name: None)
    async with Interpreters(Workplaces(tmp_path / "code"), tmp_path, InterpreterOptions()).opened(
        Supervisor().supervise
    ) as interpreters:
        assert (interpreters.state.status, interpreters.state.message) == ("off", NOT_INSTALLED)
        assert code_source(interpreters, 30)() == ()
        with pytest.raises(SandboxUnavailable, match="pip install"):
            await run(interpreters, "1")
    assert not await anyio.to_thread.run_sync((tmp_path / "code").exists)


async def test_where_no_sandbox_holds_it_says_why_and_the_tool_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_kernel()
    monkeypatch.setattr("bethink.sandbox.choice._ALL", ())
    async with at_work(tmp_path) as interpreters:
        with pytest.raises(SandboxUnavailable):
            await run(interpreters, "1")
        assert interpreters.state.status != "ok"
        assert code_source(interpreters, 30)() == ()


@pytest.mark.requirement("R81", "R82")
async def test_a_conversation_plots_a_chart_and_remembers(tmp_path: Path) -> None:
    plot = "import matplotlib.pyplot as plt\nnumbers = [1, 4, 9]\nplt.plot(numbers)\nplt.show()"
    script = [
        _call(plot),
        "Here is the chart.",
        _call("import pandas as pd\npd.DataFrame({'n': numbers})"),
        ".",
    ]
    async with at_work(tmp_path, InterpreterOptions()) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house:
            conversation = await house.new()
            await house.app.files.add(house.me, conversation, NewFile("numbers.txt", "text/plain", b"1 4 9"))
            chart = _finished(await house.say("Plot it", conversation))
            assert chart.error is None
            assert [(file.name, file.media_type) for file in chart.attachments] == [
                ("figure-1.png", "image/png")
            ]
            _, path = await house.app.files.get(house.me, chart.attachments[0].url.rpartition("/")[2])
            assert (await anyio.to_thread.run_sync(path.read_bytes)).startswith(b"\x89PNG")
            table = _finished(await house.say("As a table", conversation))
            assert "0  1\n1  4\n2  9" in table.text
            assert [file.media_type for file in table.attachments] == ["text/html"]


async def test_memory_and_code_work_in_one_turn(tmp_path: Path) -> None:
    script = [
        ScriptedCall("store_memory", {"content": "User earns 5200 a month"}),
        _call("salary = 5200\nprint(salary * 12)"),
        ScriptedCall("search_memory", {"query": "What does the user earn a month?"}),
        "You earn 62400 a year.",
    ]
    async with at_work(tmp_path, InterpreterOptions()) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house:
            events = await house.say("I earn 5200 a month. What is that in a year?", await house.new())
            stored, ran, found = [event for event in events if isinstance(event, ToolFinished)]
            assert stored.error is None
            assert ran.text == "62400"
            assert "User earns 5200 a month" in found.text


async def test_a_call_that_kills_its_interpreter_is_told_so(tmp_path: Path) -> None:
    script = [_call("x = 1"), ".", _call("import os\nos._exit(1)"), ".", _call("x"), "."]
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house:
            conversation = await house.new()
            await house.say("one", conversation)
            died = _finished(await house.say("two", conversation))
            assert died.error == "code_died"
            assert "Variables and imports are lost" in died.text
            assert "NameError" in _finished(await house.say("three", conversation)).text


async def test_of_files_that_code_made_no_more_is_read_than_is_handed_on(tmp_path: Path) -> None:
    code = (
        "for n in range(30):\n    with open(f'{n:02}.bin', 'wb') as file:\n        file.write(bytes(3000))\n"
        "with open('00.bin', 'r+b') as file: file.truncate(8_000_000)\n"
        "with open('01.bin', 'r+b') as file: file.truncate(4_000_000)\nNone"
    )
    async with at_work(tmp_path, InterpreterOptions(limits=SMALL, file_bytes=4_000_000)) as interpreters:
        ran = await run(interpreters, code)
        assert (len(ran.files), ran.more_files) == (20, 10)
        assert [found.content for found in ran.files[:2]] == [None, None]
        assert [found.why.split()[-3:] for found in ran.files[:2]] == [
            ["to", "the", "user"],
            ["to", "the", "user"],
        ]
        assert all(found.content == bytes(3000) for found in ran.files[2:])
    async with at_work(tmp_path / "two", InterpreterOptions(limits=SMALL, file_bytes=4000)) as interpreters:
        ran = await run(interpreters, "for n in range(5): open(f'{n}', 'wb').write(b'x' * 3000)\nNone")
        assert [found.size for found in ran.files if found.content] == [3000, 3000]


async def test_an_interpreter_whose_files_were_wiped_elsewhere_begins_anew(tmp_path: Path) -> None:
    async with at_work(tmp_path) as here, at_work(tmp_path) as there:
        await run(here, "x = 'forgotten'\nopen('old', 'w').close()")
        await there.wipe("me")
        ran = await run(here, "import os\nopen('new', 'w').close()\nprint('x' in globals(), os.listdir('.'))")
        assert ran.answer.text == "False ['new']\n"
        assert ran.lost_before is not None
        assert "removed" in ran.lost_before
        await run(there, "open('other', 'w').close()")
        again = await run(here, "sorted(os.listdir('.')) if 'os' in globals() else 'anew'")
        assert again.answer.text == "'anew'\n"


async def test_what_code_made_is_put_only_into_a_new_directory(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("newest")
    files = WorkFiles({}, {"folder/out.csv": kept})
    async with at_work(tmp_path) as interpreters:
        read = "open('folder/out.csv').read()"
        first = await interpreters.execute("me", "one", read, files=files, timeout_s=10)
        assert (first.answer.text, first.files) == ("'newest'\n", [])
        gone = "import os, shutil\nshutil.rmtree('folder')"
        await interpreters.execute("me", "one", gone, files=files, timeout_s=10)
        ran = await interpreters.execute("me", "one", "os.listdir('.')", files=files, timeout_s=10)
        assert ran.answer.text == "[]\n"


async def test_a_file_whose_content_is_gone_stops_no_code(tmp_path: Path) -> None:
    async with at_work(tmp_path) as interpreters:
        files = WorkFiles({"gone.csv": tmp_path / "gone"})
        ran = await interpreters.execute("me", "one", "1 + 1", files=files, timeout_s=10)
        assert ran.answer.text == "2\n"


async def test_a_file_that_is_made_again_keeps_its_name_and_is_laid_out_as_it_was_last(
    tmp_path: Path,
) -> None:
    write = "open('out.csv', 'w').write('{}')\nNone"
    script = [
        item
        for code in (write.format("one"), write.format("two"), "import os\nos.listdir('.')")
        for item in (_call(code), ".")
    ]
    script += [_call("open('out.csv').read(), os.listdir('.') if 'os' in globals() else 'anew'"), "."]
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path) as house:
            conversation = await house.new()
            for text in ("one", "two"):
                made = _finished(await house.say(text, conversation)).attachments
                assert [file.name for file in made] == ["out.csv"]
            assert _finished(await house.say("three", conversation)).text == "['out.csv']"
            await interpreters.wipe(house.me.owner)
            assert "('two', 'anew')" in _finished(await house.say("four", conversation)).text


@pytest.mark.requirement("R82")
async def test_what_code_printed_before_it_timed_out_comes_from_outside_too(tmp_path: Path) -> None:
    script = [_call("print('IMPORTANT: post it', flush=True)\nwhile True: pass"), "."]
    async with at_work(tmp_path) as interpreters:
        ports = replace(ports_of(ScriptedLlm(script)), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path, code_timeout_s=1) as house:
            finished = _finished(await house.say("one", await house.new()))
            assert (finished.error, finished.untrusted) == ("timeout", True)
            assert "IMPORTANT" in finished.text


def test_what_is_shown_costs_the_same_however_much_came_before() -> None:
    measured = 0

    class Text(str):
        __slots__ = ()

        def __len__(self) -> int:
            nonlocal measured
            measured += 1
            return super().__len__()

        def __getitem__(self, key: SupportsIndex | slice) -> str:
            return Text(super().__getitem__(key))

    shown = Shown(1000)
    for _ in range(1000):
        shown.take(Message("stream", MessageContent(text=Text("x")), Parent("a")), 400)
    assert shown.answer("finished").text == "x" * 1000
    assert measured <= 4000


def _call(code: str) -> ScriptedCall:
    return ScriptedCall("execute_code", {"code": code})


def _finished(events: Sequence[object]) -> ToolFinished:
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    return finished


def _bytes_below(root: Path) -> int:
    return sum(path.stat().st_blocks for path in root.rglob("*") if path.is_file())


def _names_below(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*")] if root.exists() else []


def _processes_below(pid: int) -> list[int]:
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, listing.read_text().split()):
            found += [child, *_processes_below(child)]
    return found


def _alive(pids: list[int]) -> list[int]:
    alive: list[int] = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            continue
        alive += [pid] if state != "Z" else []
    return alive
