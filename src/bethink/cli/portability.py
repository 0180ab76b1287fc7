"""`bethink memory export` and `import`: a file or a pipe, what becomes of it, and where it was not fit."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import anyio.to_thread
import msgspec

from bethink.cli.exits import Exit
from bethink.cli.terminal import counted
from bethink.errors import BadInput, BethinkError
from bethink.export import FORMATS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator

    from bethink.cli.fact_lines import FactLines
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.export import RestoreReport

_SPOOLED_BYTES = 8_000_000
_PERCENT = 100
_WORDS = {
    "restored": "put back as exported",
    "said": "conversations and messages put back",
    "added": "new",
    "merged": "more of what is known",
    "known": "known already",
    "differing": "changed here since, and left so",
    "refused": "not taken",
}


def export_memory(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Write everything that is known.

    Raises:
        BadInput: the file is there already, or cannot be written; or the format cannot hold all.
    """
    name = options.format or _format_of(options.output)

    async def write_to(write: Callable[[bytes], object]) -> None:
        parts = session.app.portability.export(session.principal, name, conversations=options.conversations)
        async for part in parts:
            await anyio.to_thread.run_sync(write, part.encode())

    if options.output in {None, "-"}:
        session.call(write_to, sys.stdout.buffer.write)
        return Exit.OK
    with new_file(Path(options.output)) as file:
        session.call(write_to, file.write)
    lines.screen.note(f"{options.output}: written as {name}. Keep it as private as the memory itself.")
    return Exit.OK


def import_memory(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    """Take in a file; bad input where a line of it was not fit, although the rest is kept.

    Raises:
        BadInput: the file cannot be read, or is of no known format.
    """
    screen = lines.screen
    with _opened(options.file) as file:
        size = file.seek(0, os.SEEK_END)

        def tell(report: RestoreReport, read: int) -> None:
            done = f" ({_PERCENT * min(read, size) // size} %)" if size else ""
            screen.status(
                f"… {report.lines:,} lines{done}, {report.restored + report.said + report.added:,} taken in"
            )

        report = session.call(
            session.app.portability.import_file,
            session.principal,
            file,
            format=options.format,
            preview=options.dry_run,
            tell=tell,
        )
    screen.status("")
    _show(report, screen, is_json=options.json)
    return Exit.USAGE if report.refused else Exit.OK


def _show(report: RestoreReport, screen: Screen, *, is_json: bool) -> None:
    if is_json:
        screen.line(msgspec.json.encode(msgspec.to_builtins(report) | {"undo": report.undo}).decode())
        return
    for bad in report.bad:
        screen.note(f"line {bad.line:,}: {bad.reason}", "red")
    if (more := report.refused - len(report.bad)) > 0:
        screen.note(f"and {more:,} more lines like these", "red")
    screen.line(f"{counted(report.lines, 'line')} of {report.format}{' would be' if report.preview else ''}:")
    for field, words in _WORDS.items():
        if count := getattr(report, field):
            screen.line(f"  {count:>9,}  {words}")
    if report.undo is not None:
        screen.note(f"undo: bethink memory undo {report.undo}")


def _format_of(output: str | None) -> str:
    """The format that the name of a file asks for; JSON Lines where it asks for none."""
    ending = Path(output or "").suffix
    return next((name for name, one in FORMATS.items() if one.suffix == ending), "jsonl")


@contextmanager
def new_file(path: Path) -> Generator[BinaryIO]:
    """A file for nobody else's eyes, there under its name only once it is whole."""
    if path.exists():
        message = f"{path} is there already: choose another name, or move it away."
        raise BadInput(message)
    part = path.with_name(f"{path.name}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123 - with a mode
            yield file
        part.replace(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise BethinkError(message) from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _opened(name: str) -> Generator[BinaryIO]:
    if name == "-":
        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
            yield spooled  # pyright: ignore[reportReturnType] - it does all that a file does
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror}."
        raise BadInput(message) from error
