"""What a feature tells of itself to forgetting: how much there is, what of it holds words, how it goes.

A feature that keeps something an owner may want gone has a `forgettable`; `app`
hands them to `forgetting/service`, which names none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from bethink.store import Change

FORGOTTEN = "[forgotten]"
"""Stands where something was said that is forgotten."""

Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, in characters."""

Cut: TypeAlias = tuple[str, tuple[str, ...]]
"""A text without what is forgotten, and what was taken out of it."""

Holding: TypeAlias = "Callable[[str], Sequence[Span]]"
"""The sentences of a text that hold the words which are to be forgotten."""


class TextPlace(msgspec.Struct, frozen=True):
    """What of a thing holds words that are to be forgotten: one `field` of it, or all of it if that is "".

    Of a field `spans` are the sentences that hold them, while it has the text of this `digest`.
    """

    kind: str
    id: str
    field: str = ""
    spans: tuple[Span, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Removal:
    """The changes by which places hold nothing any more, and what goes: what it is, and its text.

    `notes` are sentences for the receipt, which quote nothing.
    """

    changes: Sequence[Change] = ()
    gone: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Forgettable:
    """One kind of things that go when their owner ticks it, all of them and for good.

    `kind` names it at all doors, `one` and `many` count it for a person. `lines` are
    at most so many of its names. `shared` is a sentence about who else uses what would
    go, "" if nobody does: it is never done without that being shown. `remove` may be
    cut short and called again.

    `find` gives the places that hold some words, if nothing else finds these by words, and `take` what
    goes of such places, where it still stands there.
    """

    kind: str
    one: str
    many: str
    count: Callable[[str], Awaitable[int]]
    lines: Callable[[str, int], Awaitable[Sequence[str]]]
    remove: Callable[[str], Awaitable[None]]
    shared: Callable[[str], Awaitable[str]] | None = None
    find: Callable[[str, Holding], Awaitable[Sequence[TextPlace]]] | None = None
    take: Callable[[str, Sequence[TextPlace]], Awaitable[Removal]] | None = None


def without(text: str, spans: Sequence[Span]) -> Cut:
    """The text with `[forgotten]` once in place of parts that follow one another, and these parts."""
    kept: list[str] = []
    done = 0
    for start, end in spans:
        between = text[done:start]
        if between.strip() or not kept:
            kept += [between, FORGOTTEN]
        done = end
    return "".join((*kept, text[done:])), tuple(text[start:end] for start, end in spans)


def places_in(kind: str, id: str, fields: Mapping[str, str], *, holding: Holding) -> list[TextPlace]:
    """The fields of a record that hold the words."""
    found = ((name, text, tuple(holding(text))) for name, text in fields.items())
    return [TextPlace(kind, id, name, spans, _digest(text)) for name, text, spans in found if spans]


def left_of(
    fields: Mapping[str, str], places: Sequence[TextPlace]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """What becomes of the fields that places name, and the sentences that go, by their fields."""
    left: dict[str, str] = {}
    gone: list[tuple[str, str]] = []
    for place in places:
        text = fields[place.field]
        if _digest(text) == place.digest:
            left[place.field], parts = without(text, place.spans)
            gone += [(place.field, part) for part in parts]
    return left, gone


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
