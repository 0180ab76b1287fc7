"""The report of an import while it is made: what was counted, what is to be told. `running` fills it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.items import Left, Sheet, Talk, Words
from bethink.importing.records import MAX_PROBLEMS, Problem, Report, Tally, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.importing.conversations import Outcome

_NAMES = frozenset(Tally.__struct_fields__)


@dataclass(slots=True)
class Telling:
    """Counts; `report` is what they come to."""

    report: Report = field(default_factory=Report)
    _alike: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Where among the problems one stands that is told again."""

    def saw(self, item: Talk | Sheet) -> None:
        """A thing of the export: how long it is, and of what time."""
        if isinstance(item, Sheet):
            times = [item.at] if item.at else []
            characters = len(item.text)
        else:
            times = [at for at in (item.created_at, item.updated_at) if at]
            characters = sum(
                len(piece.text) for turn in item.turns for piece in turn.pieces if isinstance(piece, Words)
            )
        known = [at for at in (self.report.first, self.report.last) if at]
        self._change(
            characters=self.report.characters + characters,
            first=min((*known, *times), default=None),
            last=max((*known, *times), default=None),
        )

    def became(self, outcome: Outcome, *, pages: bool) -> None:
        """What became of some things."""
        name = "pages" if pages else "conversations"
        self._change(
            **{name: _added(getattr(self.report, name), outcome.counts)},
            messages=self.report.messages + outcome.messages,
            files=self.report.files + outcome.files,
        )
        for left in outcome.left:
            self.left(left)

    def left(self, left: Left) -> None:
        """Something that was not taken."""
        if left.whole is not None:
            name = "conversations" if left.whole == "talk" else "pages"
            self._change(**{name: _added(getattr(self.report, name), {"left": 1})})
        problems = list(self.report.problems)
        key = (left.name, left.why)
        if (place := self._alike.get(key)) is not None:
            problems[place] = msgspec.structs.replace(
                problems[place], count=problems[place].count + left.count
            )
        elif len(problems) < MAX_PROBLEMS:
            self._alike[key] = len(problems)
            problems.append(Problem(name=left.name, why=left.why, fault=left.is_fault, count=left.count))
        self._change(problems=tuple(problems), problem_count=self.report.problem_count + left.count)

    def read(self, done: int, size: int) -> None:
        """How far the reading is, in bytes."""
        self._change(read=min(done, size) if size else done, size=size)

    def topics(self, topics: Sequence[Topic], note: str = "") -> None:
        """What it is about, and why not more can be said of that."""
        self._change(topics=tuple(topics), note=note or self.report.note)

    def _change(self, **changes: object) -> None:
        self.report = msgspec.structs.replace(self.report, **changes)


def _added(tally: Tally, counts: Mapping[str, int]) -> Tally:
    return msgspec.structs.replace(
        tally, **{name: getattr(tally, name) + count for name, count in counts.items() if name in _NAMES}
    )
