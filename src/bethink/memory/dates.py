"""What a fact's relative dates meant when it was said, and when it is true. `Memory` calls."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bethink import when
from bethink.clock import shown_in, to_datetime, to_us
from bethink.errors import BadInput

if TYPE_CHECKING:
    from bethink.memory.facts import NewFact
    from bethink.when import Mention

_AHEAD = re.compile(
    r"\b(?:will|shall|going to|about to|plans?|planning|wants?|hopes?|intends?|due|until|till|by)\b"
    r"|\b(?:is|am|are) (?:\w+ing|getting)\b",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:appointment|flight|exam|interview|party|trip|deadline|wedding|concert|arrives?|leaves?)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:was|were|did|had|ago|last|yesterday|\w{3,}ed|went|met|saw|bought|got|came|left|won|lost)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(r"\b(?:every|each|always|usually|often|sometimes|never)\b", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"\b(?:last|next|this|coming|past|previous|in|earlier|ago|from now|yesterday|to(?:day|night|morrow))\b",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(r"\s*\(\d{4}\b")
_MOVED = re.compile(
    r"\b(?:moved|relocated|started|joined|switched|changed|became|begun|began)\b", re.IGNORECASE
)
_FROM = re.compile(r"\b(?:from|between)\s+$", re.IGNORECASE)
_DAY = timedelta(days=1)


def dated(fact: NewFact, time_zone: str, now: int) -> NewFact:
    """The fact with the dates that its relative words meant beside them, and its time from what it says.

    What nobody can place ("on Monday" in "plays on Mondays") stays as it is.

    Raises:
        BadInput: a time that no calendar has, or that ends before it begins.
    """
    said = _said(fact.at or fact.source.at or now, time_zone)
    text = fact.content
    mentions = when.find(text, said, past_first=_is_told(text))
    for mention in reversed(mentions):
        if mention.relative and _is_placed(text, mention) and not _EXPLAINED.match(text, mention.end):
            text = f"{text[: mention.end]} ({_shown(mention)}){text[mention.end :]}"
    begun, ended = _bounds(fact.content, mentions)
    valid_from = begun if fact.valid_from is None else fact.valid_from
    valid_until = ended if fact.valid_until is None else fact.valid_until
    check_span(valid_from, valid_until)
    return replace(fact, content=text, valid_from=valid_from, valid_until=valid_until)


def check_span(valid_from: int | None, valid_until: int | None) -> None:
    """Refuse a time that cannot be.

    Raises:
        BadInput: a time that no calendar has, or that ends before it begins.
    """
    for name, at in (("valid_from", valid_from), ("valid_until", valid_until)):
        if at is not None:
            _checked(name, at)
    if valid_from is not None and valid_until is not None and valid_from >= valid_until:
        message = "The memory would end before it begins: check valid_from and valid_until."
        raise BadInput(message)


def _said(at: int, time_zone: str) -> datetime:
    moment = _checked("at", at)
    return shown_in(ZoneInfo(time_zone), moment)


def _checked(name: str, at: int) -> datetime:
    try:
        return to_datetime(at)
    except OverflowError as error:
        message = (
            f"{name} is {at} microseconds: no time that a calendar has. Give one of the years 1 to 9999."
        )
        raise BadInput(message) from error


def _is_told(text: str) -> bool:
    return _TOLD.search(text) is not None and _AHEAD.search(text) is None


def _is_placed(text: str, mention: Mention) -> bool:
    """Whether one day or stretch is meant, and not every one of its name."""
    if _QUALIFIED.search(mention.text):
        return True
    once = _EVENT.search(text) or _AHEAD.search(text) or _TOLD.search(text)
    return once is not None and _HABIT.search(text) is None


def _shown(mention: Mention) -> str:
    """The first and the last day, or the one that is known."""
    low, high = mention.low, mention.high
    if low is None or high is None:
        day = low or (high if mention.relation == "before" or high is None else high - _DAY)
        return "" if day is None else f"{day:%Y-%m-%d}"
    last = high - _DAY
    if low.date() == last.date():
        return f"{low:%Y-%m-%d}"
    if low.day == high.day == 1 and (high.year - low.year) * 12 + high.month - low.month == 1:
        return f"{low:%Y-%m}"
    return f"{low:%Y-%m-%d} to {last:%Y-%m-%d}"


def _bounds(text: str, mentions: list[Mention]) -> tuple[int | None, int | None]:
    """Since when and until when, where the words say each once."""
    begun: set[datetime] = set()
    ended: set[datetime] = set()
    for mention in mentions:
        spans = _FROM.search(text[: mention.start]) is not None
        starts = mention.relation == "since" or spans or (mention.relation == "in" and _MOVED.search(text))
        if starts and mention.low is not None:
            begun.add(mention.low)
        if (mention.relation == "until" or spans) and mention.high is not None:
            ended.add(mention.high)
    return _only(begun), _only(ended)


def _only(moments: set[datetime]) -> int | None:
    try:
        return to_us(moments.pop().astimezone(UTC)) if len(moments) == 1 else None
    except OverflowError:
        # The first day of year 1, east of UTC: in storage's time there is none before it.
        return None
