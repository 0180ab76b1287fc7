"""What was changed when: the log of changes, by ids alone, from which changes of many facts are taken back.

Every commit of facts brings its step with it. What one step did to a fact
holds until the fact is changed again, which its version tells.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bethink.memory.facts import ChangeKind, State
from bethink.store import Collection, Record

StepKind = ChangeKind | Literal["imported", "consolidated", "expired", "undone"]


class FactStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a step did to one fact.

    `version` is what it made. Before it the fact was in the state `was`, None
    where there was none, superseded `by` another, with other duplicates in its
    `merges`; `in_place` where its `before` tells the rest.
    """

    id: str
    version: int
    was: State | None = None
    by: str | None = None
    merges: tuple[str, ...] = ()
    in_place: bool = False


class LogStep(Record, frozen=True, kw_only=True):
    """One change. `at` is microseconds UTC; `undo` the token that takes it back.

    Steps with the same `undo` belong together where it names many facts' change.
    """

    at: int
    change: StepKind
    undo: str | None = None
    facts: tuple[FactStep, ...] = ()


STEPS = Collection(
    "memory_steps",
    LogStep,
    ("at", "change", "undo"),
    scans=(("at",), ("change", "at"), ("undo", "at")),
    searchable=False,
)


def import_token(source: str) -> str:
    """The token that takes back what the import of this name added."""
    return f"import:{source}"
