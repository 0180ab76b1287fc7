"""What the parts of one import share: whose it is and where it writes, what became of items, the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.items import ExportedConversation, ExportedPage, Skipped, TextPart
from bethink.importing.records import MAX_PROBLEMS, ImportProblem, ImportReport, ImportTally, ImportTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bethink.blobs import Blobs
    from bethink.clock import Clock
    from bethink.importing.records import KeyedDigest
    from bethink.principal import Principal
    from bethink.store import Store
    from bethink.vault import Vault

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
