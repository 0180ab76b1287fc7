"""What every sandbox does: the port's suite, over each confinement."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from bethink.sandbox import CodeLimits, Execution, InterpreterSession, Sandbox
from tests.contract.sandboxes import EVERY, SMALL, needs_kernel, opened, sandbox_named

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


@pytest.fixture(params=EVERY)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_named(request.param)


@pytest.fixture
async def session(sandbox: Sandbox, tmp_path: Path) -> AsyncGenerator[InterpreterSession]:
    needs_kernel()
    async with opened(sandbox, tmp_path) as session:
        yield session


async def test_what_code_prints_is_its_text(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = await sandbox.run("print('here')\n6 * 7", tmp_path, SMALL)
    assert outcome.text == "here\n42\n"
    assert (outcome.ending, outcome.exit_code) == ("finished", 0)


@pytest.mark.requirement("R122")
@pytest.mark.requirement("R165")
async def test_an_error_is_shown_with_its_line_and_nothing_of_ours(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = await sandbox.run("import json\njson.loads('{')", tmp_path, SMALL)
    assert outcome.text.splitlines()[1:3] == ['  File "<code>", line 2, in <module>', "    json.loads('{')"]
    assert "JSONDecodeError" in outcome.text.splitlines()[-1]
    assert (outcome.ending, outcome.exit_code) == ("failed", 1)


async def test_code_that_is_no_python_says_where(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = await sandbox.run("x = = 1", tmp_path, SMALL)
    assert "SyntaxError" in outcome.text
    assert outcome.ending == "failed"


async def test_the_exit_status_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = await sandbox.run("raise SystemExit(3)", tmp_path, SMALL)
    assert (outcome.ending, outcome.exit_code) == ("failed", 3)


@pytest.mark.requirement("R124")
async def test_code_reads_and_writes_its_directory(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("given")
    code = (
        "import json, re, string, math, statistics, datetime\n"
        "text = open('given.txt').read()\nopen('made.txt', 'w').write(text.upper())\nNone"
    )
    assert (await sandbox.run(code, tmp_path, SMALL)).ending == "finished"
    assert (tmp_path / "made.txt").read_text() == "GIVEN"


async def test_one_run_knows_nothing_of_another(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.run("x = 1", tmp_path, SMALL)
    assert "NameError" in (await sandbox.run("x", tmp_path, SMALL)).text


async def test_runs_at_once_keep_apart(sandbox: Sandbox, tmp_path: Path) -> None:
    texts: dict[int, str] = {}

    async def run(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        texts[number] = (await sandbox.run(f"{number} + 1", folder, SMALL)).text

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(run, number)
    assert texts == {0: "1\n", 1: "2\n", 2: "3\n", 3: "4\n"}


async def test_a_cancelled_run_leaves_no_process(sandbox: Sandbox, tmp_path: Path) -> None:
    before = _processes_of_ours()
    with anyio.move_on_after(0.5):
        await sandbox.run("while True: pass", tmp_path, SMALL)
    assert _processes_of_ours() <= before


@pytest.mark.requirement("R81")
async def test_a_session_remembers(session: InterpreterSession) -> None:
    assert (await session.execute("x = 42", 10)).text == ""
    assert (await session.execute("print(x * 2)", 10)).text == "84\n"


@pytest.mark.requirement("R82")
async def test_a_session_shows_values_errors_and_pictures(session: InterpreterSession) -> None:
    answer = await session.execute(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n[1, 2]", timeout_s=10
    )
    assert sorted(answer.text.splitlines()) == ["[1, 2]", "err", "out"]
    failed = await session.execute("1 / 0", 10)
    assert failed.ending == "failed"
    assert "ZeroDivisionError: division by zero" in failed.text
    assert "\x1b" not in failed.text
    png = "bytes.fromhex('89504e470d0a1a0a')"
    shown = await session.execute(
        f"from IPython.display import Image, display\ndisplay(Image(data={png}, format='png'))", timeout_s=10
    )
    assert [(display.media_type, display.content[:4]) for display in shown.displays] == [
        ("image/png", b"\x89PNG")
    ]


async def test_a_table_is_shown_as_text_and_as_html(session: InterpreterSession) -> None:
    methods = "def __repr__(self): return 'plain'\n  def _repr_html_(self): return '<table>'"
    code = f"class Table:\n  {methods}\nTable()"
    answer = await session.execute(code, 10)
    assert answer.text == "plain\n"
    assert [(display.media_type, display.content) for display in answer.displays] == [
        ("text/html", b"<table>")
    ]


@pytest.mark.requirement("R83", "C13", "R179")
async def test_what_takes_too_long_is_interrupted_and_the_state_is_kept(session: InterpreterSession) -> None:
    await session.execute("x = 41", 10)
    answer = await session.execute("while True: pass", 0.5)
    assert (answer.ending, answer.lost) == ("timed_out", False)
    assert "KeyboardInterrupt" in answer.text
    assert (await session.execute("x + 1", 10)).text == "42\n"


@pytest.mark.requirement("R83")
async def test_what_heeds_no_interrupt_is_killed_and_the_session_says_so(session: InterpreterSession) -> None:
    code = "import time\nwhile True:\n  try: time.sleep(9)\n  except KeyboardInterrupt: pass"
    answer = await session.execute(code, 0.5)
    assert (answer.ending, answer.lost) == ("timed_out", True)
    assert not session.is_alive
    assert (await session.execute("1", 5)).lost


async def test_interrupting_raises_keyboard_interrupt(session: InterpreterSession) -> None:
    async def interrupt() -> None:
        await anyio.sleep(0.5)
        await session.interrupt()

    answers: list[Execution] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(interrupt)
        answers.append(await session.execute("import time\ntime.sleep(20)", 25))
    (answer,) = answers
    assert (answer.ending, answer.lost) == ("failed", False)
    assert "KeyboardInterrupt" in answer.text


async def test_a_cancelled_execution_is_interrupted_and_the_next_one_has_the_state(
    session: InterpreterSession,
) -> None:
    await session.execute("x = 41", 10)
    with anyio.move_on_after(0.5):
        await session.execute("while True: pass", 20)
    assert (await session.execute("x + 1", 10)).text == "42\n"


async def test_executions_of_a_session_wait_for_one_another(session: InterpreterSession) -> None:
    texts: list[str] = []

    async def execute(code: str) -> None:
        texts.append((await session.execute(code, 10)).text)

    await session.execute("x = 0", 10)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(execute, "import time\nx += 1\ntime.sleep(0.05)\nx")
    assert texts == ["1\n", "2\n", "3\n"]


async def test_a_session_rests_between_executions(session: InterpreterSession) -> None:
    count = "import threading\nn = 0\ndef go():\n  global n\n  while True: n += 1\n"
    await session.execute(f"{count}threading.Thread(target=go, daemon=True).start()", 10)
    first = int((await session.execute("import time\ntime.perf_counter_ns()", 10)).text)
    before = int((await session.execute("n", 10)).text)
    await anyio.sleep(0.3)
    after = int((await session.execute("n", 10)).text)
    await session.execute("import time\ntime.sleep(0.3)", 10)
    much_later = int((await session.execute("n", 10)).text)
    assert first > 0
    assert after - before < (much_later - after) / 2


async def test_a_closed_session_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    needs_kernel()
    before = _processes_of_ours()
    async with opened(sandbox, tmp_path) as session:
        await session.execute("1", 10)
        assert _processes_of_ours() > before
    await session.close()
    assert _processes_of_ours() <= before
    assert not session.is_alive


async def test_printing_much_costs_the_rest_of_it_and_not_the_state(session: InterpreterSession) -> None:
    answer = await session.execute("x = 1\nprint('a' * 60_000_000)", 20)
    assert (answer.ending, answer.lost) == ("finished", False)
    assert len(answer.text) < 2 * SMALL.output_chars
    assert "left out" in answer.text
    assert (await session.execute("x", 10)).text == "1\n"


@pytest.mark.requirement("R125")
async def test_a_run_ends_after_its_time(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = await sandbox.run(
        "print('first', flush=True)\nwhile True: pass", tmp_path, CodeLimits(timeout_s=0.7)
    )
    assert (outcome.ending, outcome.text) == ("timed_out", "first\n")


def _processes_of_ours() -> set[str]:
    """Every process below this one."""
    found: set[str] = set()
    waiting = [str(os.getpid())]
    while waiting:
        pid = waiting.pop()
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            children = listing.read_text().split()
            found.update(children)
            waiting += children
    return found
