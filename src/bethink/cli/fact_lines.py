"""Facts as lines for a person, or as a JSON object a line. `facts` and `forget` print through it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from bethink.cli.render import changed
from bethink.cli.terminal import counted
from bethink.clock import shown_in, to_datetime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.cli.terminal import Screen
    from bethink.forgetting.receipt import MessageExcerpt, Preview, Receipt
    from bethink.memory import ConsolidationReport, Doubt, Fact, FactChange, LogStep, Merge

_FIRST = 20
"""Lines of all that would go, shown before it is agreed to."""
_INTERNAL = ("digest", "weight", "slot", "legacy_id", "before")
_BESIDE = {
    ("superseded", "superseded"): "replaces",
    ("superseded", "active"): "contradicts",
    ("added", "active"): "contradicts",
    ("restored", "superseded"): "replaces again",
    ("restored", "active"): "restored too",
}
"""What is said of another memory that a change touched, by the change and by its state now."""
_DOUBTS = {
    "contradicts": "contradicted by {}",
    "depends": "rests on {}, which was changed or is in doubt",
    "unclear": "it is not certain",
}
_TIMES = ("created_at", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class FactLines:
    """Prints facts; times are shown in the owner's zone, in JSON as UTC (RFC 3339)."""

    screen: Screen
    time_zone: str
    is_json: bool

    def listed(self, fact: Fact) -> None:
        """A fact among others."""
        if self.is_json:
            self._json(_document(fact))
            return
        pin = " pinned" if fact.pinned else ""
        state = "" if fact.state == "active" else f" {fact.state}"
        doubted = " doubted" if fact.doubts else ""
        self.screen.line(
            f"{fact.id}  {self._date(fact.created_at)}  {fact.category} {fact.importance:g}"
            f"{pin}{state}{doubted}"
            f"  {fact.content}"
        )

    def changed(self, result: FactChange, word: str | None = None) -> None:
        """What became of a fact, in a `word` or the usual one, and how to take it back."""
        if self.is_json:
            told: dict[str, Any] = {"change": result.change, "undo": result.undo, "count": result.count}
            told["others"] = [_document(other) for other in result.others]
            self._json({"memory": _document(result.fact)} | told)
            return
        if result.count > 1:
            self.screen.line(f"{word or changed(result.change)}: {counted(result.count, 'memory')}")
        else:
            self.screen.line(f"{word or changed(result.change)}: {result.fact.content}  ({result.fact.id})")
        for other in result.others:
            beside = _BESIDE.get((result.change, other.state))
            if beside is not None:
                self.screen.line(f"  {beside}: {other.content}  ({other.id})")
        if result.undo is not None:
            self.screen.note(f"undo: bethink memory undo {result.undo}")

    def step(self, step: LogStep, first: Fact | None) -> None:
        """A change of the past; `first` of the facts that it changed, None where that is forgotten."""
        if self.is_json:
            told = {"id": step.id, "at": _rfc3339(step.at), "change": step.change, "undo": step.undo}
            self._json(told | {"facts": [touched.id for touched in step.facts]})
            return
        many = counted(len(step.facts), "memory") if len(step.facts) != 1 else ""
        about = many or (first.content if first else "(forgotten)")
        self.screen.line(f"{self._time(step.at)}  {changed(step.change)}: {about}")
        if step.undo is not None and step.facts:
            self.screen.note(f"                  {step.undo}")

    def merge(self, merge: Merge) -> None:
        """A fact and the duplicates that were taken into it, or would be."""
        self.screen.line(f"{merge.kept.content}  ({merge.kept.id})")
        for fact in merge.gone:
            self.screen.line(f"  <- {fact.content}  ({fact.id})")

    def consolidated(self, done: ConsolidationReport) -> None:
        """What was merged, or would be, as one object."""
        merges = [
            {"kept": _document(merge.kept), "gone": [_document(fact) for fact in merge.gone]}
            for merge in done.merges
        ]
        self._json({"facts": done.facts, "merges": merges, "waiting": done.waiting, "undo": done.undo})

    def shown(self, fact: Fact, history: Sequence[Fact]) -> None:
        """Everything about a fact; `history` is oldest first and holds the fact itself."""
        if self.is_json:
            self._json(_document(fact) | {"history": [_document(other) for other in history]})
            return
        self.screen.line(fact.content)
        for name, value in self._properties(fact):
            self.screen.line(f"  {name:<11} {value}")
        if len(history) > 1:
            self.screen.line("history:")
        for other in history if len(history) > 1 else ():
            here = "  <- this one" if other.id == fact.id else ""
            self.screen.line(
                f"  {self._time(other.created_at)}  {other.state:<10}  {other.content}  ({other.id}){here}"
            )

    def doomed(self, preview: Preview) -> None:
        """What would be forgotten: for the person's eyes, never a result."""
        lines = self._going(preview)
        if preview.whole is not None and len(lines) > _FIRST:
            lines = [*lines[:_FIRST], f"and {len(lines) - _FIRST:,} more: --preview shows all of it"]
        for line in (*preview.counts, *lines):
            self.screen.note(f"  {line}", "")

    def preview(self, preview: Preview) -> None:
        """What would be forgotten, as the result."""
        if not self.is_json:
            for line in (*preview.counts, *self._going(preview)):
                self.screen.line(line)
            return
        self._json(
            {
                "token": preview.token,
                "memories": [_document(fact) for fact in preview.facts],
                "versions": [_document(fact) for fact in preview.versions],
                "messages": [msgspec.to_builtins(said) | {"at": _rfc3339(said.at)} for said in preview.said],
                "conversations": list(preview.titles),
                "people": [
                    {"person": told.id, "name": told.name, "parts": list(told.parts)}
                    for told in preview.records
                    if told.kind == "people"
                ],
                "pages": [msgspec.to_builtins(told) for told in preview.pages],
                "has_more": preview.has_more,
                "kinds": [
                    msgspec.to_builtins(one)
                    for one in (preview.whole.counts if preview.whole else preview.held)
                ],
            }
        )

    def forgotten(self, receipt: Receipt) -> None:
        """The receipt: how much and which, never what it said."""
        if self.is_json:
            self._json(
                {
                    "forgotten": len(receipt.facts),
                    "counts": receipt.counts,
                    "at": _rfc3339(receipt.at),
                    "ids": list(receipt.facts),
                    "messages": list(receipt.messages),
                    "conversations": list(receipt.titles),
                    "doubted": list(receipt.doubted),
                    "people": list(receipt.records.get("people", ())),
                    "pages": list(receipt.pages),
                    "outside": list(receipt.outside),
                    "has_more": receipt.has_more,
                }
            )
            return
        self.screen.line(receipt.summary)
        for line in receipt.outside:
            self.screen.note(line)

    def _going(self, preview: Preview) -> list[str]:
        return [
            *(f"{fact.content}  ({fact.id})" for fact in preview.facts),
            *(f"{fact.content}  ({fact.state} version, {fact.id})" for fact in preview.versions),
            *(self._said(said) for said in preview.said),
            *(f"the record of {told.name}: {' … '.join(told.parts)}" for told in preview.records),
            *(f"the page {told.path}: {' … '.join(told.parts)}" for told in preview.pages),
            *(line for one in preview.held for line in one.lines),
            *(preview.whole.lines if preview.whole else ()),
        ]

    def _said(self, said: MessageExcerpt) -> str:
        who = "you" if said.by_owner else "Bethink"
        return f"{who} said, {self._time(said.at)}: {' … '.join(said.sentences)}"

    def _properties(self, fact: Fact) -> list[tuple[str, str]]:
        properties = [
            ("id", fact.id),
            ("state", fact.state),
            ("category", fact.category),
            ("importance", f"{fact.importance:g}" + (", pinned" if fact.pinned else "")),
            ("topics", ", ".join(fact.topics)),
            ("trust", "" if fact.trust == "owner" else fact.trust),
            ("project", fact.project or ""),
            ("doubt", "; ".join(_doubt(doubt) for doubt in fact.doubts)),
            ("rests on", ", ".join(fact.depends_on)),
            ("learnt", self._time(fact.created_at)),
            ("true from", "" if fact.valid_from is None else self._time(fact.valid_from)),
            ("true until", "" if fact.valid_until is None else self._time(fact.valid_until)),
        ]
        sources = [
            ("source", " ".join((source.kind, source.id or "", self._time(source.at))).replace("  ", " "))
            for source in fact.sources
        ]
        return [(name, value) for name, value in (*properties, *sources) if value]

    def _date(self, at: int) -> str:
        return self._time(at).split()[0]

    def _time(self, at: int) -> str:
        return shown_in(ZoneInfo(self.time_zone), to_datetime(at)).strftime("%Y-%m-%d %H:%M")

    def _json(self, document: dict[str, Any]) -> None:
        self.screen.line(msgspec.json.encode(document).decode())


def _doubt(doubt: Doubt) -> str:
    return _DOUBTS[doubt.kind].format(doubt.fact)


def _document(fact: Fact) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(fact)
    for name in _INTERNAL:
        document.pop(name, None)
    for name in _TIMES:
        document[name] = _rfc3339(document.get(name))
    for name in ("sources", "doubts"):
        document[name] = [part | {"at": _rfc3339(part["at"] or None)} for part in document[name]]
    return document


def _rfc3339(at: int | None) -> str | None:
    return None if at is None else to_datetime(at).astimezone(UTC).isoformat().replace("+00:00", "Z")
