"""The processes that tests start are processes: their own environment, their own end, one thread."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests import warm
from tests.warm import cold, run, start

# A process that imports all of Bethink is waited for, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_TELLS = """
import os, sys
print(sys.argv[1:], "bethink.web.server" in sys.modules, os.environ["BETHINK_MODEL"], "HOME" in os.environ)
print(len(os.listdir("/proc/self/task")), sorted(os.listdir("/proc/self/fd"))[:3])
"""


@pytest.mark.parametrize("is_cold", [False, True])
async def test_a_process_has_the_arguments_and_the_environment_that_it_is_given_and_no_more(
    *, is_cold: bool
) -> None:
    process = start(cold(_TELLS) if is_cold else _TELLS, "a", "b", environment={"BETHINK_MODEL": "some"})
    assert await process.line() == f"['a', 'b'] {not is_cold} some False\n"
    assert await process.line() == "1 ['0', '1', '2']\n"
    assert await process.line() == ""
    assert await process.wait() == 0
    process.close()


@pytest.mark.parametrize(
    ("code", "ended"),
    [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)],
)
async def test_how_a_process_ended_is_told_apart_from_what_it_said(code: str, ended: int) -> None:
    assert await run(f"print('said', flush=True)\n{code}") == (ended, "said\n")


async def test_each_process_is_killed_alone() -> None:
    waiting = "import time\nprint('here', flush=True)\ntime.sleep(3600)"
    one, other = start(waiting), start(waiting)
    assert [await one.line(), await other.line()] == ["here\n", "here\n"]
    one.kill()
    assert await one.wait() == -signal.SIGKILL
    assert one.pid != other.pid
    os.kill(other.pid, 0)
    other.send_signal(signal.SIGTERM)
    assert await other.wait() == -signal.SIGTERM
    # It has ended: its number may be another one's by now.
    other.kill()
    one.close()
    other.close()


def test_a_program_that_stands_for_one_has_its_streams_its_end_and_its_signals() -> None:
    code = "import sys\nprint(sys.argv[1:], sys.stdin.read(), flush=True)\nsys.exit(7)"
    ended = subprocess.run(
        [*warm.program(code), "a b", "c"], input="said", capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "['a b', 'c'] said\n", "")


@pytest.mark.parametrize(
    ("number", "ends"),
    [(signal.SIGINT, 5), (signal.SIGUSR1, -signal.SIGKILL), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_what_a_program_stands_for_ends_as_it_is_told_to(number: signal.Signals, ends: int) -> None:
    code = "try:\n    print(1, flush=True)\n    input()\nexcept KeyboardInterrupt:\n    raise SystemExit(5)"
    with subprocess.Popen(warm.program(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.send_signal(number)
        # Nobody holds the pipe any more: the other one is gone too.
        assert (process.stdout.read(), process.wait()) == (b"", ends)
