"""The exit codes of the command line, for scripts. `main` ends every command with one of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Self

from bethink.errors import BadInput, BethinkError, Conflict, NoModel, StorageError


class Exit(IntEnum):
    """What a command's exit code says; `meaning` is the sentence of the documentation."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """An exit code with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "It is done."
    FAILED = 1, "It failed, or it waits for a decision; standard error says why."
    USAGE = 2, "The command line or the input is not valid, or nothing has the given id."
    NO_MODEL = 3, "It needs a language model, and none is set."
    BUSY = 4, "Somebody else is changing the same thing; repeat it later."
    STORAGE = 5, "The data directory cannot be used: damaged, full, not writable, or of a newer Bethink."
    INTERRUPTED = 130, "It was stopped with Ctrl-C."


def exit_of(error: type[BethinkError]) -> Exit:
    """The exit code of a command that ended in this kind of error."""
    exits = {BadInput: Exit.USAGE, NoModel: Exit.NO_MODEL, Conflict: Exit.BUSY, StorageError: Exit.STORAGE}
    return next((code for kind, code in exits.items() if issubclass(error, kind)), Exit.FAILED)


def exit_of_code(code: str) -> Exit:
    """The same for an error's `code`, as a failed run names it."""
    return next((exit_of(error) for error in _tree(BethinkError) if error.code == code), Exit.FAILED)


def _tree(error: type[BethinkError]) -> Iterator[type[BethinkError]]:
    yield error
    for narrower in error.__subclasses__():
        yield from _tree(narrower)
