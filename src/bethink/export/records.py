"""A fact as a document of an export file, and what a line of an import file turned out to be.

Every format calls this, and reads a file's lines through `lines`, however large it
is. What can be worked out from the rest (digest, weight) is not exported; times are
RFC 3339 with microseconds, so nothing is lost.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar, cast

import msgspec

from bethink.clock import checked_id, rfc3339, time_of, with_times
from bethink.errors import BadInput, NewerSchema
from bethink.memory import Fact, NewFact, Source
from bethink.memory.facts import EarlierShape
from bethink.memory.terms import check_span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.conversations.records import Conversation, StoredMessage
    from bethink.feature import DocumentForm
    from bethink.store import Record


_Known = TypeVar("_Known", Fact, EarlierShape)
SCHEMA = 1
"""Of export files; a file with a greater one is refused."""

DERIVED = frozenset({"digest", "weight", "slot"})
_MAX_PROJECT_CHARS = 200
_LIVING = frozenset(("active", "suggested"))
_CONTENT = ("content", "memory", "text", "fact")
_SAID_AT = ("created_at", "date", "timestamp", "time")


@dataclass(frozen=True, slots=True)
class KeptFact:
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
class KeptRecord:
    """A record of a feature that a Bethink exported; `kind` names its `DocumentForm`."""

    line: int
    kind: str
    record: Any


@dataclass(frozen=True, slots=True)
class StatedFact:
    """What another program, or a person, wrote down: it passes the gate like any new fact."""

    line: int
    fact: NewFact


class BadLine(msgspec.Struct, frozen=True):
    """A line that cannot be taken; `reason` says why and what would do."""

    line: int
    reason: str


ImportLine = KeptFact | KeptConversation | KeptMessage | KeptRecord | StatedFact | BadLine


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """What an export says of itself.

    `conversations` is None if they are left out. `at` and `consolidated_at`
    are RFC 3339, the latter None if never.
    """

    program: str
    at: str
    facts: int
    conversations: int | None = None
    consolidated_at: str | None = None


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Some facts to be written; `vectors` are float32 (n, d), only for a format that keeps them."""

    facts: Sequence[Fact]
    vectors: NDArray[np.float32] | None = None


class ExportWriter(Protocol):
    """Writes one file, in parts that follow one another."""

    def head(self, about: ExportHeader) -> str:
        """What stands before the facts."""
        ...

    def facts(self, batch: FactBatch) -> str:
        """More facts."""
        ...

    def tail(self) -> str:
        """What stands behind them: nothing, unless the format says otherwise."""
        return ""


def check_schema(schema: object) -> None:
    """Refuse a file that this Bethink may misread.

    Raises:
        NewerSchema: a newer one wrote it.
    """
    if not isinstance(schema, int) or schema > SCHEMA:
        raise NewerSchema(
            f"The file has schema {schema}; this Bethink reads up to {SCHEMA}. Import it with the newer "
            "version that wrote it."
        )


def document_of(record: Record, *, but: Collection[str] = DERIVED) -> dict[str, Any]:
    """Every field of a record that holds something else than nothing; of a fact without those worked out."""
    document: dict[str, Any] = msgspec.to_builtins(record)
    kept = {name: value for name, value in document.items() if name not in but and value not in (None, ())}
    return with_times(kept, rfc3339)


def kept_from(line: int, document: Mapping[str, Any]) -> ImportLine:
    """The fact of an exported document, checked as strictly as a new one; or why there is none."""
    try:
        links = [document.get("id")]
        for name in ("supersedes", "corrects", "depends_on"):
            found = document.get(name)
            links += cast("list[object]", found) if isinstance(found, list) else []
        if (by := document.get("superseded_by")) is not None:
            links.append(by)
        for id in links:
            checked_id(id)
        timed = with_times(dict(document), time_of)
        fact = msgspec.convert({**timed, "digest": "", "weight": 0}, Fact)
        checked_project(fact.project)
        if fact.state in _LIVING:
            # What is past may have been corrected before it began.
            check_span(fact.valid_from, fact.valid_until)
        before = fact.before and _checked(fact.before)
        return KeptFact(line, _checked(msgspec.structs.replace(fact, before=before)))
    except BadInput as error:
        return BadLine(line, error.message)
    except msgspec.ValidationError as error:
        return BadLine(line, f"{error}.")


def record_from(line: int, document: Mapping[str, Any], form: DocumentForm) -> ImportLine:
    """The record of a feature's exported document; or why there is none."""
    try:
        return KeptRecord(line, form.kind, form.parse(document))
    except (BadInput, msgspec.ValidationError) as error:
        return BadLine(line, f"{error}")


def stated_from(line: int, document: Mapping[str, Any]) -> ImportLine:
    """What a foreign document states; names of fields are taken as other programs write them."""
    content = next((document[name] for name in _CONTENT if document.get(name)), None)
    if not isinstance(content, str):
        return BadLine(line, "there is no `content`: give the fact's sentence under that name.")
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
            about=_text(document, "about"),
            at=said_at,
        )
        return StatedFact(line, stated.checked())
    except BadInput as error:
        return BadLine(line, error.message)


def checked_project(project: str | None) -> None:
    """Refuse what no project is called.

    Raises:
        BadInput: it is empty, long or cannot be stored.
    """
    if project is not None and (not 0 < len(project) <= _MAX_PROJECT_CHARS or "\0" in project):
        raise BadInput(f"project is {project[:40]!r}: give 1 to {_MAX_PROJECT_CHARS} characters.")


def _checked(known: _Known) -> _Known:
    """The same with its words as those of a new fact would be kept, those of its sources too."""
    new = NewFact(
        known.content, known.category, known.importance, known.topics, about=known.told_about
    ).checked()
    sources = tuple(
        one if one.said is None else msgspec.structs.replace(one, said=NewFact(one.said).checked().content)
        for one in known.sources
    )
    return msgspec.structs.replace(
        known,
        content=new.content,
        category=new.category,
        topics=new.topics,
        sources=sources,
        told_about=new.about,
    )


def _optional_time(value: object) -> int | None:
    return None if value in (None, "") else time_of(value)


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is None or isinstance(value, str):
        return value or None
    raise BadInput(f"`{name}` is {str(value)[:40]!r}: give a text.")


def _importance(value: object) -> float:
    if value in (None, ""):
        return 0.5
    try:
        return float(cast("str | float", value))
    except (TypeError, ValueError) as error:
        raise BadInput(f"importance is {str(value)[:40]!r}: give a number from 0 to 1.") from error


def _topics(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(re.split(r"[,;]", value))
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(topic, str) for topic in cast("list[object]", value)):
        return tuple(cast("list[str]", value))
    raise BadInput("topics are a list of words.")


MAX_LINE_BYTES = 8_000_000
"""A fact with all its sources and its history, or a long message, stays far below this."""

_SNIFFED = 4_096


def opening(file: BinaryIO) -> str:
    """The first characters of a file, without what marks its encoding; the file is back at its start.

    Raises:
        BadInput: it is not UTF-8.
    """
    file.seek(0)
    head = file.read(_SNIFFED)
    file.seek(0)
    # Every other byte of the beginning is zero in UTF-16 without a mark.
    pairs = head[:64]
    is_wide = len(pairs) >= 4 and not (any(pairs[::2]) and any(pairs[1::2]))  # noqa: PLR2004 - two characters
    if is_wide or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput(
            "The file is UTF-16, as some editors and spreadsheets write it. Save it as UTF-8, "
            "or convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW-FILE"
        )
    return codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head).lstrip()


def lines(file: BinaryIO) -> Iterator[tuple[int, str] | BadLine]:
    """Each line with its number from 1 and without its end; or why it cannot be read.

    A line that is too long is skipped without being held.
    """
    file.seek(0)
    number = 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while (more := file.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
                pass
            yield BadLine(number, f"the line is longer than {MAX_LINE_BYTES // 1_000_000} MB.")
            continue
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            yield BadLine(number, f"this is not UTF-8 (at byte {error.start + 1:,} of the line).")
            continue
        yield number, text.removesuffix("\n").removesuffix("\r")
