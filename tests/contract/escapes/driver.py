"""Runs the attempts of `attempts.txt` in a sandbox and says which got through; a program for any user.

`python driver.py bubblewrap session` prints its results as JSON, so that a
test which runs as root can have them made by somebody else. `python driver.py
bubblewrap hidden` prints how code ends that writes where its user cannot look.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bethink.sandbox import MIB, CodeLimits
from bethink.sandbox.choice import LinuxSandbox
from bethink.sandbox.confinement import Bubblewrap, Landlock
from bethink.sandbox.folder import remove

HERE = Path(__file__).parent
CONFINEMENTS = {"bubblewrap": Bubblewrap(), "landlock": Landlock(), "landlock-1": Landlock(version=1)}
LIMITS = CodeLimits(
    timeout_s=8, memory_bytes=512 * MIB, disk_bytes=16 * MIB, files=500, output_chars=200_000, threads=32
)
Use = Literal["run", "session"]
_LINE = re.compile(r"^(\w+): (.*)$", re.MULTILINE)
_MISTAKES = ("NameError", "KeyError", "SyntaxError", "TypeError", "AttributeError", "IndexError")
"""An attempt that ends so was never made."""
_NEEDS_A_LATER_LANDLOCK = frozenset({"ok_move_to_another_directory"})


@dataclass(frozen=True, slots=True)
class Result:
    """How one attempt went; `detail` is its value or its error."""

    name: str
    is_through: bool
    detail: str

    @property
    def fault(self) -> str | None:
        """What is wrong with it; None where it went as it should."""
        if self.name.startswith("ok_"):
            return None if self.is_through else f"{self.name} does not work: {self.detail}"
        if self.is_through:
            return f"{self.name} got through: {self.detail}"
        if self.detail.startswith(_MISTAKES):
            return f"{self.name} was not tried: {self.detail}"
        return None


def attempts() -> list[tuple[str, str]]:
    """Names and expressions."""
    return _LINE.findall((HERE / "attempts.txt").read_text())


def calls() -> dict[str, int]:
    """Numbers of system calls on this machine; one it lacks is a number that no call has."""
    column = 2 if platform.machine() == "aarch64" else 1
    lines = (HERE / "calls.txt").read_text().split("\n")
    entries = [line.split() for line in lines if line and not line.startswith("#")]
    return {entry[0]: 1023 if entry[column] == "-" else int(entry[column]) for entry in entries}


def program(facts: dict[str, Any], tried: list[tuple[str, str]]) -> str:
    """The text to run."""
    orders = {"facts": facts, "calls": calls(), "attempts": tried}
    return (
        f"ORDERS = __import__('json').loads({json.dumps(orders)!r})\n{(HERE / 'attempting.txt').read_text()}"
    )


def results(text: str) -> list[Result]:
    """The results in what the program printed."""
    lines = [line for line in text.split("\n") if line.startswith('["RESULT"')]
    return [Result(*json.loads(line)[1:]) for line in lines]


@contextlib.contextmanager
def outside(place: Path) -> Generator[dict[str, Any]]:
    """Things of the host to be reached for, and afterwards what was done to them as `harm`."""
    data = place / "data"
    data.mkdir()
    canary = data / "canary"
    canary.write_text(secrets.token_hex(16))
    said = canary.read_text()
    first = os.open(canary, os.O_RDONLY)
    kept = os.dup2(first, 217, inheritable=True)
    os.close(first)
    decoy = subprocess.Popen(["sleep", "120"], env={"BETHINK_TEST_SECRET": said})
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        abstract = secrets.token_hex(8)
        unix.bind(str(data / "socket"))
        unix.listen()
        facts: dict[str, Any] = {
            "canary": str(canary),
            "data": str(data),
            "port": tcp.getsockname()[1],
            "pid": decoy.pid,
            "unix": str(data / "socket"),
            "abstract": abstract,
            "inherited": [kept],
            "place": str(place),
        }
        with socket.socket(socket.AF_UNIX) as hidden:
            hidden.bind("\0" + abstract)
            hidden.listen()
            yield facts
            facts["harm"] = [
                *(["the decoy died"] if decoy.poll() is not None else []),
                *([] if canary.read_text() == said else ["the canary changed"]),
                *([] if len(list(data.iterdir())) == 2 else ["the data directory changed"]),
                *([] if len(list(place.iterdir())) == 2 else ["something lies beside the work directory"]),
                *(f"{one} was reached" for one in (tcp, unix, hidden) if _was_reached(one)),
            ]
    os.close(kept)
    decoy.kill()
    decoy.wait()


async def tried(confinement: str, use: Use, place: Path) -> tuple[list[Result], list[str]]:
    """Every attempt's result, and the harm that was done outside.

    Where the process dies of an attempt, that one counts as blocked and the rest are tried in a new one.
    """
    sandbox, work = LinuxSandbox(CONFINEMENTS[confinement]), place / "work"
    work.mkdir()
    with outside(place) as facts:
        beyond = _NEEDS_A_LATER_LANDLOCK if confinement == "landlock-1" else ()
        rest, made = [one for one in attempts() if one[0] not in beyond], list[Result]()
        while rest:
            got = results(await _text(sandbox, use, work, program(facts, rest)))
            made += got
            rest = rest[len(got) :]
            if rest:
                made.append(Result(rest.pop(0)[0], False, "the process died"))
    return made, facts["harm"]


async def _text(sandbox: LinuxSandbox, use: Use, work: Path, code: str) -> str:
    if use == "run":
        return (await sandbox.run(code, work, LIMITS)).text
    async with opened(sandbox, work) as session:
        return (await session.execute(code, LIMITS.timeout_s)).text


@contextlib.asynccontextmanager
async def opened(sandbox: LinuxSandbox, work: Path) -> AsyncGenerator[Any]:
    """A session, closed afterwards."""
    session = await sandbox.open(work, LIMITS)
    try:
        yield session
    finally:
        await session.close()


def _was_reached(listener: socket.socket) -> bool:
    listener.setblocking(False)
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


_HIDDEN = """
import os
os.mkdir('d', 0o300)
for n in range(20): open(f'd/{n}', 'wb').write(bytes(8 << 20))
while True: pass
"""


def hidden(confinement: str) -> None:
    """Print as JSON how code ends that fills a directory which nobody may list, and what it leaves."""
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        outcome = asyncio.run(LinuxSandbox(CONFINEMENTS[confinement]).run(_HIDDEN, work, LIMITS))
        remove(work)
        print(json.dumps({"ending": outcome.ending, "left": [one.name for one in Path(place).iterdir()]}))  # noqa: T201


def main(confinement: str, use: Use) -> None:
    """Print the faults as JSON."""
    with tempfile.TemporaryDirectory() as place:
        made, harm = asyncio.run(tried(confinement, use, Path(place)))
    faults = [fault for result in made if (fault := result.fault)]
    print(json.dumps({"tried": len(made), "faults": faults, "harm": harm}))  # noqa: T201


if __name__ == "__main__":
    if sys.argv[2] == "hidden":
        hidden(sys.argv[1])
    else:
        main(sys.argv[1], "session" if sys.argv[2] == "session" else "run")
