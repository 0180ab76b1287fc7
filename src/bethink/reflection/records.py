"""What reflection keeps: a receipt for each time, and what it need not look at again."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from bethink.store import Collection, Record

MOST_JUDGED: Final = 5_000
"""Pairs that were found to be different: they are not asked about again while they are among the last."""
MOST_KEPT: Final = 60
"""Receipts of one owner: two months of nights."""

ReflectionStatus = Literal["done", "proposed", "undone"]


class ProfileSentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence of the profile, and the ids of the facts that it is told from."""

    text: str
    facts: tuple[str, ...]


class MergedPair(msgspec.Struct, frozen=True, kw_only=True):
    """That a fact was taken into another, by their ids; `by_model` if a model said that they are the same."""

    kept: str
    gone: str
    by_model: bool = False


class Refusals(msgspec.Struct, frozen=True, kw_only=True):
    """What a model proposed and code did not take, counted."""

    merges: int = 0
    sentences: int = 0
    insights: int = 0
    answers: int = 0
    """Those that were not believed at all: unreadable, or wrong about pairs whose answer is known."""


class Reflection(Record, frozen=True, kw_only=True):
    """One time that a memory was put in order. `at` is when that was kept, microseconds UTC.

    It looked at so many `facts`. What it `proposed` waits for its owner; `undo` takes all of it back.
    `waiting` pairs were left for the next time. `faded` are the factors that it changed, as they were before.
    """

    schema: int = 1
    at: int
    status: ReflectionStatus = "done"
    asked: bool = False
    model: str = ""
    facts: int = 0
    merges: tuple[MergedPair, ...] = ()
    contradictions: tuple[tuple[str, str], ...] = ()
    insights: tuple[str, ...] = ()
    profile: tuple[ProfileSentence, ...] = ()
    faded: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    looked_at: int = 0
    waiting: int = 0
    refused: Refusals = Refusals()
    tokens: int = 0
    note: str = ""
    undo: str | None = None


REFLECTIONS: Final = Collection(
    "reflections", Reflection, ("at", "undo"), scans=(("at",), ("undo",)), searchable=False
)


class ReflectionState(Record, frozen=True, kw_only=True):
    """An owner's: which pairs were `judged` to be different, when it was last done, and of which facts.

    `day` is the local date of the last night, `revision` counts the changes of facts until then.
    """

    id: str = "state"
    schema: int = 1
    judged: tuple[str, ...] = ()
    at: int = 0
    day: str = ""
    revision: int = 0


STATES: Final = Collection("reflection_state", ReflectionState, searchable=False)
STATE: Final = "state"
