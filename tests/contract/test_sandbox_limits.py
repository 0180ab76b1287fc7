"""What code does to stay, to grow and to be in the way, and how each of it ends; and the host afterwards."""

from __future__ import annotations

import os
import re
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bethink.sandbox import Sandbox
from bethink.sandbox.folder import remove
from tests.contract.sandboxes import EVERY, SMALL, needs_kernel, opened, sandbox_named

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

_AT_ONCE = 4
_HERE = Path(__file__).parent / "escapes"
_CASE = re.compile(r"^== ([^\n]*?)(?: -> ([^\n]*))?\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)


def cases(file: str) -> list[tuple[str, set[str], str]]:
    """The cases of a file: name, endings, code."""
    found = _CASE.findall((_HERE / file).read_text())
    return [(name, set(endings.split()), code.strip()) for name, endings, code in found]


RUNS, SESSIONS, FORGERIES = cases("runs.txt"), cases("sessions.txt"), cases("forgeries.txt")


@pytest.fixture(params=EVERY)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_named(request.param)


@pytest.mark.requirement("R125")
async def test_every_run_ends_as_it_must(sandbox: Sandbox, tmp_path: Path) -> None:
    faults: list[str] = []
    turns = anyio.Semaphore(_AT_ONCE)

    async def run(name: str, endings: set[str], code: str) -> None:
        work = tmp_path / name
        work.mkdir()
        async with turns:
            outcome = await sandbox.run(code, work, SMALL)
        if outcome.ending not in endings or len(outcome.text) > 4 * SMALL.output_chars:
            faults.append(f"{name}: {outcome.ending} {outcome.text[-300:]}")
        await anyio.to_thread.run_sync(remove, work)

    async with anyio.create_task_group() as tasks:
        for case in RUNS:
            tasks.start_soon(run, *case)
    assert faults == []
    assert len(RUNS) > 30
    assert await anyio.to_thread.run_sync(os.listdir, tmp_path) == []


async def test_a_session_that_dies_says_so_and_lets_go(sandbox: Sandbox, tmp_path: Path) -> None:
    needs_kernel()
    faults: list[str] = []
    turns = anyio.Semaphore(_AT_ONCE)

    async def use(name: str, code: str) -> None:
        work = tmp_path / name
        work.mkdir()
        async with turns, opened(sandbox, work) as session:
            answer = await session.execute(code, 3)
            again = await session.execute("1", 3)
        if answer.ending == "finished" or (answer.lost and not again.lost):
            faults.append(f"{name}: {answer} {again}")
        await anyio.to_thread.run_sync(remove, work)

    async with anyio.create_task_group() as tasks:
        for name, _, code in SESSIONS:
            tasks.start_soon(use, name, code)
    assert faults == []
    assert await anyio.to_thread.run_sync(os.listdir, tmp_path) == []


async def test_forged_messages_do_no_more_than_confuse_their_own_answer(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    needs_kernel()
    start = "k = get_ipython().kernel\np = k.get_parent()\nimport os\ns = os.environ['HOME']\n"
    async with opened(sandbox, tmp_path) as session:
        await session.execute("x = 41", 10)
        for name, _, forgery in FORGERIES:
            answer = await session.execute(start + forgery, 10)
            assert not answer.lost, (name, answer)
        assert (await session.execute("x + 1", 10)).text == "42\n"
    assert len(FORGERIES) > 10
