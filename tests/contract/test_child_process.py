"""Child processes end with whoever started them: no zombie, no open pipe, however that was left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from bethink.child_process import ChildProcess
from bethink.documents.reading.extraction import Extraction
from bethink.internet.pages import read_apart
from bethink.internet.reading import ReadingTask
from tests.contract.sandboxes import SMALL, sandbox_named

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_WAITS = (sys.executable, "-I", "-S", "-c", "input()")


@contextmanager
def nothing_left() -> Generator[None]:
    """What was begun within the block is gone right behind it."""
    before = _children(), _pipes()
    yield
    assert (_children(), _pipes()) == before


async def test_one_that_prints_what_nobody_reads() -> None:
    with nothing_left():
        # The loop stops to read at more than twice the limit, and would not see the end of the pipe.
        child = await ChildProcess.start("head", "-c", "1000000", "/dev/zero", limit=16, stdout=PIPE)
        assert child.stdout is not None
        await child.stdout.readexactly(1)
        await child.end()
        assert child.returncode == -signal.SIGKILL


async def test_one_whose_own_child_holds_its_pipes() -> None:
    with nothing_left():
        child = await ChildProcess.start(
            "/bin/sh", "-c", "sleep 1000 0<&0 & echo $!; wait", stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
        assert child.stdin is not None
        assert child.stdout is not None
        grandchild = int(await child.stdout.readline())
        try:
            child.stdin.write(bytes(1_000_000))
            await child.end()
            assert child.returncode == -signal.SIGKILL
        finally:
            os.kill(grandchild, signal.SIGKILL)


async def test_one_that_has_ended_keeps_its_exit_code() -> None:
    with nothing_left():
        child = await ChildProcess.start("/bin/sh", "-c", "exit 3", stdout=PIPE)
        assert await child.wait() == 3
        await child.end()
        await child.end()
        assert child.returncode == 3


async def test_one_that_cannot_be_started_is_told() -> None:
    with nothing_left(), pytest.raises(FileNotFoundError):
        await ChildProcess.start("/nowhere/program", stdout=PIPE)


@pytest.mark.parametrize("turns", range(6))
async def test_a_scope_that_is_cancelled_while_it_starts_or_runs(turns: int) -> None:
    with nothing_left(), anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_later(turns / 500, scope.cancel)
        async with ChildProcess.opened(*_WAITS, stdin=PIPE, stdout=PIPE, stderr=PIPE):
            await anyio.sleep_forever()


@pytest.mark.parametrize("turns", range(6))
async def test_a_task_that_is_cancelled_again_and_again(turns: int) -> None:
    async def held() -> None:
        async with ChildProcess.opened(*_WAITS, stdin=PIPE, stdout=PIPE):
            await asyncio.sleep(60)

    with nothing_left():
        await _cancelled(asyncio.create_task(held()), after_s=turns / 500)


async def test_a_reader_of_pages_whose_scope_is_cancelled() -> None:
    before = _children()
    with nothing_left():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_apart, ReadingTask("html", "https://site.example/", 60), b"<p>Hello</p>")
            while _children() == before:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_a_reader_of_documents_whose_scope_is_cancelled(tmp_path: Path) -> None:
    document = tmp_path / "page.txt"
    document.write_text("Hello")
    before = _children()
    with nothing_left():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Extraction().read, document, "page.txt", "text/plain")
            while _children() == before:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_confined_code_whose_task_is_cancelled_again_and_again(tmp_path: Path) -> None:
    sandbox = sandbox_named("landlock")
    with nothing_left():
        running = asyncio.create_task(sandbox.run("while True: pass", tmp_path, SMALL))
        await _cancelled(running, after_s=0.2)


async def test_confined_code_whose_directory_is_gone(tmp_path: Path) -> None:
    sandbox = sandbox_named("landlock")
    with nothing_left(), pytest.raises(FileNotFoundError):
        await sandbox.run("1", tmp_path / "gone", SMALL)


async def _cancelled(task: asyncio.Task[object], *, after_s: float) -> None:
    await asyncio.wait({task}, timeout=after_s)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await task


def _children() -> set[str]:
    """Children of this process; one that nobody waited for is still one."""
    found = set[str]()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            found.update((task / "children").read_text().split())
    return found


def _pipes() -> set[str]:
    """Pipes that this process holds, by number."""
    found = set[str]()
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = os.readlink(file)  # noqa: PTH115 - what it names is no path
            if target.startswith("pipe:"):
                found.add(target)
    return found
