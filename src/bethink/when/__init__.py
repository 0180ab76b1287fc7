"""Time expressions of English text as ranges of time: "last May", "three weeks ago", "since 2019".

The gate of memory writes down what a relative date meant when it was said;
recall turns those of a question into a soft range. Ranges are half-open and
begin and end at midnight in the zone of `now`. What names no real date (31
February), or can be read in two ways (5/8/2023), is not a mention. Seasons are
those of the northern hemisphere, weeks begin on Monday (ISO 8601).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

from bethink.when.forms import FORMS, Day, cues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.when.forms import Read, Span

Relation = Literal["in", "since", "until", "before", "after"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One time expression: `text` is `source[start:end]`, without the "since" or "before" that led to it.

    `low` (inclusive) and `high` (exclusive) are None where it is open: "since
    2019" has no `high`, "before May" no `low`. `relative` tells that the words
    mean another time on another day.
    """

    start: int
    end: int
    text: str
    low: datetime | None
    high: datetime | None
    relation: Relation
    relative: bool


def find(text: str, now: datetime, *, past_first: bool = True) -> list[Mention]:
    """The time expressions of `text`, in reading order, none overlapping another.

    `now` is aware. Where an expression names no year or side ("on Monday", "in
    May"), `past_first` takes the last one before `now`, else the next.
    """
    if not (told := cues(text)):
        return []
    day = Day(now.date(), past_first)
    found = [
        _Found(*match.span("x"), _span(form.read, match, day), form.relative)
        for form in FORMS
        if not form.cues.isdisjoint(told)
        for match in form.pattern.finditer(text)
    ]
    return list(_joined(text, _apart(found), now))


class _Found(NamedTuple):
    """What a form found at a place; no span where it cannot be a time."""

    start: int
    end: int
    span: Span | None
    relative: bool


def _span(read: Read, match: re.Match[str], day: Day) -> Span | None:
    try:
        return read(match, day)
    except (ValueError, OverflowError):
        # A day that no calendar has.
        return None


def _apart(found: list[_Found]) -> list[_Found]:
    """Of overlapping ones the leftmost, and of those the longest."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


_LEAD = re.compile(
    r"\b(since|until|till|up to|before|prior to|after|from|by|between)\s+"
    r"(?:about |around |early |late |mid[- ]|the (?:beginning|start|end) of |the )?$",
    re.IGNORECASE,
)
_LEAD_CHARS = 40
"""Longer than any lead."""
_TO = re.compile(r"\s*(?:to|until|till|and|through|-|–)\s*(?:the )?", re.IGNORECASE)
_RELATIONS: dict[str, Relation] = {
    "since": "since",
    "from": "since",
    "between": "in",
    "until": "until",
    "till": "until",
    "up to": "until",
    "by": "until",
    "before": "before",
    "prior to": "before",
    "after": "after",
}


def _joined(text: str, found: list[_Found], now: datetime) -> Iterator[Mention]:
    """Mentions with the word that leads to them; "from … to …" and "between … and …" become one."""
    rest = zip_longest(found, found[1:])
    for one, following in rest:
        if one.span is None:
            continue
        lead = _LEAD.search(text, max(0, one.start - _LEAD_CHARS), one.start)
        word = lead.group(1).lower() if lead else ""
        relation, whole = _RELATIONS.get(word, "in"), one
        if word in {"from", "between"} and following is not None and following.span is not None:
            high = following.span[1]
            if _TO.fullmatch(text, one.end, following.start) and high > one.span[0]:
                relative = one.relative or following.relative
                relation, whole = "in", _Found(one.start, following.end, (one.span[0], high), relative)
                next(rest)
        yield _mention(text, whole, relation, now=now)


def _mention(text: str, found: _Found, relation: Relation, *, now: datetime) -> Mention:
    low, high = (datetime.combine(day, time(), now.tzinfo) for day in found.span or ())
    bounds: dict[Relation, tuple[datetime | None, datetime | None]] = {
        "in": (low, high),
        "since": (low, None),
        "until": (None, high),
        "before": (None, low),
        "after": (high, None),
    }
    return Mention(
        found.start,
        found.end,
        text[found.start : found.end],
        *bounds[relation],
        relation,
        relative=found.relative,
    )
