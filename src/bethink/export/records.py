"""A fact as a document of an export file, and what a line of an import file turned out to be.

Every format calls this. What can be worked out from the rest (digest, weight)
is not exported; times are RFC 3339 with microseconds, so nothing is lost.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput
from bethink.memory import Fact, NewFact, Source
from bethink.memory.dates import check_span
from bethink.memory.facts import EarlierShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.conversations import Conversation, StoredMessage
    from bethink.people import Person

_Known = TypeVar("_Known", Fact, EarlierShape)
SCHEMA = 1
"""Of export files; a file with a greater one is refused."""

DERIVED = frozenset({"digest", "weight", "slot"})
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until", "at"})
_MAX_PROJECT_CHARS = 200
_LIVING = frozenset(("active", "suggested"))
_CONTENT = ("content", "memory", "text", "fact")
_SAID_AT = ("created_at", "date", "timestamp", "time")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SECONDS_BELOW, _MILLISECONDS_BELOW = 1e11, 1e14
"""Numbers below these are taken for seconds and milliseconds since 1970: both lie beyond the year 5000."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact that a Bethink exported, to be put back as it was."""

    line: int
    fact: Fact


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation that a Bethink exported, without its messages; `shown` are ids of facts shown in it."""

    line: int
    conversation: Conversation
    shown: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The conversation's id."""
        return self.conversation.id


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message that a Bethink exported."""

    line: int
    message: StoredMessage

    @property
    def place(self) -> str:
        """Its conversation's id."""
        return self.message.conversation


@dataclass(frozen=True, slots=True)
class KeptPerson:
    """A person whose record a Bethink exported."""

    line: int
    person: Person


@dataclass(frozen=True, slots=True)
class Stated:
    """What another program, or a person, wrote down: it passes the gate like any new fact."""

    line: int
    fact: NewFact


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that cannot be taken; `reason` says why and what would do."""

    line: int
    reason: str


Line = Kept | KeptConversation | KeptMessage | KeptPerson | Stated | Bad


@dataclass(frozen=True, slots=True)
class About:
    """What an export says of itself.

    `conversations` is None where they are left out. `at` and `consolidated_at`
    are RFC 3339, the latter None if never.
    """

    program: str
    at: str
    facts: int
    conversations: int | None = None
    consolidated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some facts to be written; `vectors` are float32 (n, d), only for a format that keeps them."""

    facts: Sequence[Fact]
    vectors: NDArray[np.float32] | None = None


def document_of(fact: Fact) -> dict[str, Any]:
    """Every field of a fact that holds something else than nothing."""
    document: dict[str, Any] = msgspec.to_builtins(fact)
    kept = {
        name: value for name, value in document.items() if name not in DERIVED and value not in (None, ())
    }
    return with_times(kept, rfc3339)


def kept_from(line: int, document: Mapping[str, Any]) -> Line:
    """The fact of an exported document, checked as strictly as a new one; or why there is none."""
    try:
        return Kept(line, _fact(document))
    except BadInput as error:
        return Bad(line, error.message)
    except msgspec.ValidationError as error:
        return Bad(line, f"{error}.")


def stated_from(line: int, document: Mapping[str, Any]) -> Line:
    """What a foreign document states; names of fields are taken as other programs write them."""
    content = next((document[name] for name in _CONTENT if document.get(name)), None)
    if not isinstance(content, str):
        return Bad(line, "there is no `content`: give the fact's sentence under that name.")
    try:
        said_at = next((time_of(document[name]) for name in _SAID_AT if document.get(name)), None)
        stated = NewFact(
            content=content,
            category=_text(document, "category") or "general",
            importance=_importance(document.get("importance")),
            topics=_topics(document.get("topics", document.get("tags"))),
            source=Source(kind="import", at=said_at or 0),
            project=_text(document, "project"),
            pinned=document.get("pinned") is True,
            valid_from=_optional_time(document.get("valid_from")),
            valid_until=_optional_time(document.get("valid_until")),
            at=said_at,
        )
        return Stated(line, stated.checked())
    except BadInput as error:
        return Bad(line, error.message)


def time_of(value: object) -> int:
    """Microseconds UTC of a time as files write it: RFC 3339, a date, or a number since 1970.

    A time without a zone counts as UTC.

    Raises:
        BadInput: it is no time, or not one of the years 1 to 9999.
    """
    try:
        match value:
            case str():
                moment = datetime.fromisoformat(value.strip())
                return to_us(moment.replace(tzinfo=moment.tzinfo or UTC))
            case int() | float() if not isinstance(value, bool) and math.isfinite(value):
                unit = 1e6 if abs(value) < _SECONDS_BELOW else 1e3 if abs(value) < _MILLISECONDS_BELOW else 1
                us = round(value * unit)
                to_datetime(us)
                return us
            case _:
                pass
    except (ValueError, OverflowError):
        pass
    message = f"{str(value)[:40]!r} is no time: write it like 2026-11-02T09:30:00Z."
    raise BadInput(message)


def checked_id(id: object) -> None:
    """Refuse what is no id.

    Raises:
        BadInput: it is none.
    """
    if not isinstance(id, str) or not _ID.fullmatch(id):
        message = f"{str(id)[:40]!r} is no id."
        raise BadInput(message)


def checked_project(project: str | None) -> None:
    """Refuse what no project is called.

    Raises:
        BadInput: it is empty, long or cannot be stored.
    """
    if project is not None and (not 0 < len(project) <= _MAX_PROJECT_CHARS or "\0" in project):
        message = f"project is {project[:40]!r}: give 1 to {_MAX_PROJECT_CHARS} characters."
        raise BadInput(message)


def _fact(document: Mapping[str, Any]) -> Fact:
    for id in (document.get("id"), *_linked(document)):
        checked_id(id)
    timed = with_times(dict(document), time_of)
    fact = msgspec.convert({**timed, "digest": "", "weight": 0}, Fact)
    checked_project(fact.project)
    if fact.state in _LIVING:
        # What is past may have been corrected before it began.
        check_span(fact.valid_from, fact.valid_until)
    return _checked(msgspec.structs.replace(fact, before=fact.before and _checked(fact.before)))


def _checked(known: _Known) -> _Known:
    """The same with its words as those of a new fact would be kept, those of its sources too."""
    new = NewFact(known.content, known.category, known.importance, known.topics).checked()
    sources = tuple(
        one if one.said is None else msgspec.structs.replace(one, said=NewFact(one.said).checked().content)
        for one in known.sources
    )
    return msgspec.structs.replace(
        known, content=new.content, category=new.category, topics=new.topics, sources=sources
    )


def _linked(document: Mapping[str, Any]) -> list[object]:
    links: list[object] = []
    for name in ("supersedes", "depends_on"):
        found = document.get(name)
        links += cast("list[object]", found) if isinstance(found, list) else []
    by = document.get("superseded_by")
    return links if by is None else [*links, by]


def with_times(value: Any, change: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON of any shape
    """The same JSON with `change` done to what stands under the names of times."""
    if isinstance(value, dict):
        return {key: with_times(inner, change, key) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [with_times(inner, change) for inner in cast("Sequence[Any]", value)]
    return change(value) if name in _TIMES and value is not None else value


def rfc3339(us: int) -> str:
    """The time as text, in UTC."""
    return to_datetime(us).isoformat().replace("+00:00", "Z")


def _optional_time(value: object) -> int | None:
    return None if value in (None, "") else time_of(value)


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is None or isinstance(value, str):
        return value or None
    message = f"`{name}` is {str(value)[:40]!r}: give a text."
    raise BadInput(message)


def _importance(value: object) -> float:
    if value in (None, ""):
        return 0.5
    try:
        return float(cast("str | float", value))
    except (TypeError, ValueError) as error:
        message = f"importance is {str(value)[:40]!r}: give a number from 0 to 1."
        raise BadInput(message) from error


def _topics(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(re.split(r"[,;]", value))
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(topic, str) for topic in cast("list[object]", value)):
        return tuple(cast("list[str]", value))
    message = "topics are a list of words."
    raise BadInput(message)
