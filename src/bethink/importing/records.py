"""What is kept of imports, and what the parts of one import share.

A record is kept of each import, of each thing that was taken, and of each that
changed: by these a second import of the same changes nothing, one that was cut
short goes on, and a whole import can be taken back. They hold ids, digests and
places, and of texts only what the report tells: names of what was left.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.clock import Clock, hashed_id
from bethink.conversations.records import Branch
from bethink.importing.items import ExportedConversation, ExportedPage, Skipped, TextPart
from bethink.store import Collection, Record, Store

if TYPE_CHECKING:
    from bethink.blobs import Blobs
    from bethink.principal import Principal
    from bethink.vault import Vault


State = Literal["reading", "ready", "applying", "done", "stopped", "failed", "undoing", "undone"]
Into = Literal["conversations", "vault", "both"]
TopicMethod = Literal["keywords", "meaning", "none"]
SourceName = Literal["chatgpt", "claude", "notion", "obsidian", "markdown"]
SOURCES: tuple[SourceName, ...] = ("chatgpt", "claude", "notion", "obsidian", "markdown")

WORKING: frozenset[State] = frozenset({"reading", "applying", "undoing"})
"""States that pass by themselves."""
MAX_PROBLEMS = 200
"""Of a report; more are counted."""


class ImportProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What was not taken, and why; `count` of its kind. A `fault` is worth a look, the rest is told only."""

    name: str
    why: str
    fault: bool = True
    count: int = 1


class ImportTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic of an import: its name, made of its keywords, and how many things belong to it."""

    name: str
    keywords: tuple[str, ...]
    count: int = 0


class ImportTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many are `new`, `grown` since an earlier import, `known` already, and `kept` as changed here.

    `duplicates` say the same as another one; `left` could not be taken.
    """

    new: int = 0
    grown: int = 0
    known: int = 0
    kept: int = 0
    duplicates: int = 0
    left: int = 0


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds, or what became of it.

    `size` is the bytes of its members, `read` how many were gone through so far.
    `problems` are the first `MAX_PROBLEMS` of `problem_count`.
    """

    conversations: ImportTally = ImportTally()
    pages: ImportTally = ImportTally()
    messages: int = 0
    files: int = 0
    characters: int = 0
    size: int = 0
    read: int = 0
    first: int | None = None
    last: int | None = None
    topics: tuple[ImportTopic, ...] = ()
    problems: tuple[ImportProblem, ...] = ()
    problem_count: int = 0
    note: str = ""


class Import(Record, frozen=True, kw_only=True):
    """One import. `source` is what it came from, `name` the file's; times are microseconds UTC.

    `staged` says that the file lies with us still, `chosen` what its owner said
    that it came from, `process` who works on it. `error` is why it stopped, for a person.
    """

    at: int
    state: State
    source: str
    name: str
    into: Into = "conversations"
    topics: TopicMethod = "keywords"
    preview: ImportReport | None = None
    report: ImportReport | None = None
    staged: bool = False
    error: str | None = None
    chosen: SourceName | None = None
    process: str = ""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is wanted of an export. What is None is chosen by what it is."""

    source: SourceName | None = None
    into: Into | None = None
    topics: TopicMethod = "keywords"


class ImportedItem(Record, frozen=True, kw_only=True):
    """A thing of an export that is here: the conversation, page or file at `place`, of the import `batch`.

    `digest` is of what the export said, `same` equal for things that say the
    same, `written` of the page's version as it was written, or how many messages
    the conversation had.
    """

    batch: str
    kind: Literal["talk", "page", "file"]
    place: str
    digest: str
    same: str
    written: str


class ImportedUpdate(Record, frozen=True, kw_only=True):
    """That an import changed what an earlier one had taken: what it was, and what takes it back.

    Of a conversation `messages` came, `branches`, `branch` and `count` were its
    record's; of a page `undo` is the vault's token.
    """

    batch: str
    before: ImportedItem
    messages: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    branch: int = 0
    count: int = 0
    undo: str = ""


IMPORTS = Collection("imports", Import, ("at",), scans=(("at",),), searchable=False)
TAKEN = Collection(
    "imports_taken", ImportedItem, ("batch", "same"), scans=(("batch",), ("same",)), searchable=False
)
GROWN = Collection("imports_grown", ImportedUpdate, ("batch",), scans=(("batch",),), searchable=False)


@dataclass(frozen=True, slots=True)
class KeyedDigest:
    """Digests by which things are known again. Made with a key, so that nobody can test a guess by them."""

    secret: bytes

    def of(self, value: object) -> str:
        """Equal for equal plain data."""
        said = msgspec.msgpack.encode(value)
        return hashlib.blake2b(said, digest_size=16, key=self.secret).hexdigest()

    def id(self, source: str, kind: str, key: str) -> str:
        """Under which a thing of an export is known: the same for the same thing of any later export."""
        return self.of((source, kind, key))


def stable_id(at: int, *parts: str) -> str:
    """An id of the time `at` that is the same for the same thing."""
    return hashed_id(at, "\0".join(parts).encode())


_COUNTED = frozenset(ImportTally.__struct_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportContext:
    """One import, `batch`, of one owner; a `preview` writes nothing. `source` is "" until it is known."""

    principal: Principal
    store: Store
    blobs: Blobs
    vault: Vault
    clock: Clock
    marks: KeyedDigest
    max_file_bytes: int
    batch: str
    source: str = ""
    preview: bool = False

    @property
    def owner(self) -> str:
        """Whose import it is."""
        return self.principal.owner


@dataclass(slots=True)
class ImportOutcome:
    """What became of some items: counts by the names of `ImportTally`, and what was skipped."""

    counts: Counter[str] = field(default_factory=Counter[str])
    messages: int = 0
    files: int = 0
    left: list[Skipped] = field(default_factory=list[Skipped])
    places: dict[str, str] = field(default_factory=dict[str, str])
    """By the items' keys, where they are."""


@dataclass(slots=True)
class ReportBuilder:
    """Counts what an import finds and does. `tell` hears the report whenever it is `shown`."""

    tell: Callable[[ImportReport], None]
    report: ImportReport = field(default_factory=ImportReport)
    _places: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """By name and reason, where among the problems one stands."""

    def show(self, **changes: object) -> None:
        """Tell the report, changed for the one who watches only."""
        self.tell(msgspec.structs.replace(self.report, **changes))

    def change(self, **changes: object) -> None:
        """Set fields of the report."""
        self.report = msgspec.structs.replace(self.report, **changes)

    def found(self, item: ExportedConversation | ExportedPage) -> None:
        """Count an item of the export: how long it is, and of what time."""
        if isinstance(item, ExportedPage):
            times, characters = [item.at], len(item.text)
        else:
            times = [item.created_at, item.updated_at]
            pieces = [piece for message in item.messages for piece in message.pieces]
            characters = sum(len(piece.text) for piece in pieces if isinstance(piece, TextPart))
        known = [at for at in (self.report.first, self.report.last, *times) if at]
        self.change(
            characters=self.report.characters + characters,
            first=min(known, default=None),
            last=max(known, default=None),
        )

    def became(self, outcome: ImportOutcome, *, pages: bool) -> None:
        """Count what became of some items."""
        self._count(outcome.counts, pages=pages)
        self.change(messages=self.report.messages + outcome.messages, files=self.report.files + outcome.files)
        for left in outcome.left:
            self.skipped(left)

    def skipped(self, left: Skipped) -> None:
        """Count and name what was not taken; what is skipped for the same reason stands there once."""
        if left.whole is not None:
            self._count({"left": 1}, pages=left.whole == "page")
        problems = list(self.report.problems)
        place = self._places.setdefault((left.name, left.why), len(problems))
        if place < len(problems):
            count = problems[place].count + left.count
            problems[place] = msgspec.structs.replace(problems[place], count=count)
        elif len(problems) < MAX_PROBLEMS:
            problems.append(
                ImportProblem(name=left.name, why=left.why, fault=left.is_fault, count=left.count)
            )
        self.change(problems=tuple(problems), problem_count=self.report.problem_count + left.count)

    def topics(self, topics: Sequence[ImportTopic], note: str = "") -> None:
        """Set the topics, and why there are no better ones."""
        self.change(topics=tuple(topics), note=note or self.report.note)

    def _count(self, counts: Mapping[str, int], *, pages: bool) -> None:
        name = "pages" if pages else "conversations"
        tally: ImportTally = getattr(self.report, name)
        added = {one: getattr(tally, one) + count for one, count in counts.items() if one in _COUNTED}
        self.change(**{name: msgspec.structs.replace(tally, **added)})
