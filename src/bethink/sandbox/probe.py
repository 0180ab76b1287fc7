"""Does a sandbox hold, and run code? Asked of each at the start, of both its uses, before all other code.

A backend that lets one of these through is not used, and `/health` says which;
what is tried here is what a configuration mistake opens. The corpus of escapes
in `tests/contract/escapes` is far wider.
"""

from __future__ import annotations

import secrets
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import SandboxUnavailable
from bethink.sandbox import Limits
from bethink.sandbox.folder import remove

if TYPE_CHECKING:
    from bethink.sandbox import Answer, Sandbox

_ATTEMPTS: Final = """
import os, socket
def read_outside(): return open({canary!r}).read()
def write_outside(): return open({outside!r}, "w")
def list_outside(): return os.listdir({folder!r})
def connect(): return socket.create_connection(("127.0.0.1", {port}), 2)
def start_a_process(): return os.fork() or os._exit(0)
def run_a_program(): return os.execv("/bin/true", ["true"])
def signal_others(): return os.kill(os.getppid() or 1, 0) or True
def see_other_processes(): return [name for name in os.listdir("/proc") if name.isdigit()]
for attempt in (read_outside, write_outside, list_outside, connect, start_a_process, signal_others,
                see_other_processes, run_a_program):
    try:
        attempt()
    except OSError:
        continue
    print("open:", attempt.__name__.replace("_", " "))
open("inside", "w").write({token!r})
print("done")
"""
_LIMITS: Final = Limits(timeout_s=10)
_NO_SESSION: Final = "no interpreter starts in it: {}"


async def fault_of(sandbox: Sandbox, *, with_sessions: bool = False) -> str | None:
    """What is wrong with a sandbox here, as a part of a sentence; None where it holds.

    Takes about 0.2 s; with sessions, which an interpreter is started for, about 1.5 s.
    """
    place = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, "", "bethink-probe-"))
    try:
        # Whoever can connect is let in by the kernel: nobody need answer.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port: int = listener.getsockname()[1]
            fault = await _try(sandbox, place, port, in_session=False)
            return await _try(sandbox, place, port, in_session=True) if with_sessions and not fault else fault
    except OSError as error:
        return f"it does not start: {error}"
    except SandboxUnavailable as error:
        return _NO_SESSION.format(_last_line(str(error)))
    finally:
        await anyio.to_thread.run_sync(remove, place)


async def _try(sandbox: Sandbox, place: Path, port: int, *, in_session: bool) -> str | None:
    token = secrets.token_hex(16)
    work, canary = place / "work", place / "canary"

    def lay_out() -> None:
        work.mkdir(exist_ok=True)
        canary.write_text(secrets.token_hex(16))

    await anyio.to_thread.run_sync(lay_out)
    names = {"canary": str(canary), "outside": str(place / "written"), "folder": str(place)}
    tried = _ATTEMPTS.format(port=port, token=token, **names)
    outcome = (
        await _in_session(sandbox, tried, work) if in_session else await sandbox.run(tried, work, _LIMITS)
    )
    lines = outcome.text.split("\n")
    if opened := [line.removeprefix("open: ") for line in lines if line.startswith("open: ")]:
        return f"code in it could {' and '.join(opened)}"
    if outcome.ending != "finished" or "done" not in lines:
        return f"it does not run code: {_last_line(outcome.text) or outcome.ending}"
    return await anyio.to_thread.run_sync(_seen_outside, place, token)


async def _in_session(sandbox: Sandbox, tried: str, work: Path) -> Answer:
    session = await sandbox.open(work, _LIMITS)
    try:
        return await session.execute(tried, _LIMITS.timeout_s)
    finally:
        await session.close()


def _seen_outside(place: Path, token: str) -> str | None:
    if sorted(path.name for path in place.iterdir()) != ["canary", "work"]:
        return "code in it could write outside"
    inside = place / "work" / "inside"
    if inside.is_symlink() or not inside.is_file() or inside.read_text() != token:
        return "code in it cannot write to its own directory"
    return None


def _last_line(text: str) -> str:
    lines = text.strip().split("\n")
    return lines[-1][:300]
