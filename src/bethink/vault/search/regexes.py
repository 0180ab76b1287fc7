"""Regular expressions that anybody may give, tried in a process that is killed when it takes long.

`searching` holds one for a search. Python's engine tries one way after another:
a pattern such as `(a+)+b` keeps it busy for years, and no thread can be stopped.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any, Final

import anyio

from bethink.child_process import ChildProcess
from bethink.errors import BadInput, BethinkError
from bethink.vault.search.excerpts import MAX_HITS
from bethink.vault.search.folding import LEAST_BYTES, folded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from bethink.vault.search.query import Span

_GUEST: Final = Path(__file__).with_name("regex_guest.py")
_TOO_LONG: Final = (
    "The regular expression takes too long on these pages: make it simpler (no repetition inside of a "
    "repetition), or narrow the search by a filter such as `entities/*`."
)
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest answer of a round: a hit takes some fifteen bytes."""


def required(pattern: str, *, case: bool) -> list[str]:
    """Folded texts that everything the pattern matches holds, long enough to look pages up by.

    Raises:
        BadInput: it is no regular expression of Python's.
    """
    try:
        compiled = re.compile(pattern, flags(case=case))
        # The parser that `re` itself stands on.
        parsed: Any = import_module("re._parser").parse(pattern, compiled.flags)
        runs = list(_runs(parsed))
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise BadInput(f"This is no regular expression: {error}.") from error
    return [text for run in runs if len((text := folded(run)).encode()) >= LEAST_BYTES]


def flags(*, case: bool) -> int:
    """`^` and `$` are those of lines."""
    return int(re.MULTILINE if case else re.MULTILINE | re.IGNORECASE)


def _runs(parsed: Iterable[tuple[Any, Any]]) -> list[str]:
    """The runs of characters that stand in every match."""
    found, run = list[str](), ""
    for operation, value in parsed:
        name = str(operation)
        if name == "LITERAL":
            run += chr(value)
            continue
        if name == "AT":
            continue
        found.append(run)
        run = ""
        if name == "SUBPATTERN":
            found += _runs(value[3])
        elif name == "ATOMIC_GROUP":
            found += _runs(value)
        elif name in _REPEATS and value[0]:
            found += _runs(value[2])
    return [text for text in (*found, run) if text]


@dataclass(frozen=True, slots=True)
class Trial:
    """An expression in its process. Made by `trying`."""

    _process: ChildProcess

    async def spans(self, texts: Sequence[str], within_s: float) -> list[list[Span]]:
        """Where it matches in each text.

        Raises:
            BadInput: it takes longer than that, or too much memory.
        """
        bodies = [text.encode("utf-8", "replace") for text in texts]
        heads = json.dumps([len(body) for body in bodies]).encode()
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BethinkError
        with anyio.move_on_after(max(within_s, 0)):
            with contextlib.suppress(ConnectionError):
                stdin.writelines((heads, b"\n", *bodies))
                await stdin.drain()
            if line := await stdout.readline():
                return [[(start, end) for start, end in hits] for hits in json.loads(line)]
        raise BadInput(_TOO_LONG)


@asynccontextmanager
async def trying(pattern: str, *, case: bool) -> AsyncGenerator[Trial]:
    """A process that tries this expression, gone when the block is left.

    Raises:
        BethinkError: it cannot be started.
    """
    try:
        process = await ChildProcess.start(
            *(sys.executable, "-I", "-S", str(_GUEST)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=_LINE_BYTES,
            env={},
        )
    except OSError as error:
        raise BethinkError(f"The search could not be started: {error.strerror}.") from error
    try:
        if process.stdin is not None:
            orders = {"pattern": pattern, "flags": flags(case=case), "most": MAX_HITS}
            process.stdin.write(json.dumps(orders).encode() + b"\n")
        yield Trial(process)
    finally:
        await process.end()
