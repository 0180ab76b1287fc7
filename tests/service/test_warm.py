"""The processes that tests start are processes: their own environment, their own end, one thread."""

from __future__ import annotations

import os
import signal

import pytest

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
