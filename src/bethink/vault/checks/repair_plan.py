"""What a repair of the vault is: a choice that is offered, and its steps, shown before they are taken.

`checking` offers choices, `mending` plans and makes them, doors show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from bethink.vault.files.records import ASIDE
from bethink.vault.files.versions import unified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.vault.files.records import Change

Way = Literal["lead", "create", "unlink", "merge", "mend", "aside", "split", "rename", "convert"]
_SHOWN: Final = 40
"""Lines of a page that is new or goes: what it says stands elsewhere, too."""


@dataclass(frozen=True, slots=True)
class RepairOption:
    """One way to mend something on the page at `path`; `said` says which, in words.

    `target` is the name that a broken link has. `to` is the page that is led to, made or merged into, the
    new path, or the encoding. `is_sure` where it leaves no doubt: these are made without a question.
    """

    way: Way
    path: str
    said: str = ""
    target: str = ""
    to: str = ""
    is_sure: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """A page holds this text in place of `old`, which is that of `version`; "" for a page that is new."""

    path: str
    version: str
    old: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """A page goes; its history stays."""

    path: str
    version: str
    old: str


@dataclass(frozen=True, slots=True)
class Move:
    """A page gets another path."""

    path: str
    version: str
    to: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A file that cannot be a page is kept beside, too, by a name that is none of a page's."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Replace:
    """A page with this text takes the place of a file that was kept beside."""

    path: str
    version: str
    text: str


Step = Write | Remove | Move | Aside | Replace


@dataclass(frozen=True, slots=True)
class Repair:
    """All that a choice would do, in order. `id` stands for exactly this, on pages as they are.

    Wherever the steps end, nothing is lost, and the same choice does the rest.
    """

    choice: RepairOption
    steps: Sequence[Step]

    @property
    def id(self) -> str:
        """The same only for the same steps from the same versions."""
        return sha256(repr(self.steps).encode()).hexdigest()

    @property
    def shown(self) -> list[RepairPreview]:
        """What would become of each page."""
        return [RepairPreview(_said(step), step.path, _diff(step)) for step in self.steps]


class RepairPreview(NamedTuple):
    """A step in words, and as a unified diff; of a page that is new or goes, the first lines of it."""

    said: str
    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What a repair did. Taken back in this order, `undo` brings everything back."""

    changes: tuple[Change, ...]
    undo: tuple[str, ...]


def _said(step: Step) -> str:
    match step:
        case Write():
            return f"{step.path} changes" if step.version else f"{step.path} is made"
        case Replace():
            return f"{step.path} is made"
        case Remove():
            return f"{step.path} goes; its history stays"
        case Move():
            return f"{step.path} becomes {step.to}, with its history"
        case Aside():
            return f"{step.path} stays as it is beside its page, as {step.path}{ASIDE}"


def _diff(step: Step) -> str:
    match step:
        case Write():
            diff = unified(step.old, step.text, path=step.path)
            return diff if step.version else _clipped(diff)
        case Replace():
            return _clipped(unified("", step.text, path=step.path))
        case Remove():
            return _clipped(unified(step.old, "", path=step.path))
        case Move() | Aside():
            return ""


def _clipped(diff: str) -> str:
    lines = diff.splitlines(keepends=True)
    rest = len(lines) - _SHOWN
    return diff if rest <= 1 else "".join(lines[:_SHOWN]) + f"\\ {rest:,} lines more\n"
