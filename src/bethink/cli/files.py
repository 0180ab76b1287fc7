"""Files and pipes that commands write whole, and read. `memory` and `conversations` export through it."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bethink.errors import BadInput, BethinkError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Generator

    from bethink.cli.session import Session

_SPOOLED_BYTES = 8_000_000


def write_out(session: Session, parts: AsyncIterable[str], output: str | None) -> bool:
    """Write all parts to a new file, or to standard output if none or `-` is named; whether it is a file.

    Raises:
        BadInput: the file is there already.
        BethinkError: it cannot be written.
    """
    import anyio.to_thread

    async def write_to(write: Callable[[bytes], object]) -> None:
        async for part in parts:
            await anyio.to_thread.run_sync(write, part.encode())

    if output in {None, "-"}:
        session.call(write_to, sys.stdout.buffer.write)
        return False
    with _new_file(Path(output or "")) as file:
        session.call(write_to, file.write)
    return True


@contextmanager
def _new_file(path: Path) -> Generator[BinaryIO]:
    """A file for nobody else's eyes, there under its name only once it is whole."""
    if path.exists():
        raise BadInput(f"{path} is there already: choose another name, or move it away.")
    part = path.with_name(f"{path.name}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123 - with a mode
            yield file
        part.replace(path)
    except OSError as error:
        raise BethinkError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def opened_file(name: str) -> Generator[BinaryIO]:
    """A file to read, or what is piped in if its name is `-`; one can go back in both.

    Raises:
        BadInput: it cannot be read.
    """
    if name == "-":
        import tempfile

        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
            yield spooled  # pyright: ignore[reportReturnType] - it does all that a file does
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error
