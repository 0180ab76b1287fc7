"""Facts as lines for a person, or as a JSON object a line. `memory` prints through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bethink.cli.terminal import CHANGES, Screen, counted, document_of, rfc3339

if TYPE_CHECKING:
    from bethink.cli.session import Session
    from bethink.forgetting.selection import Preview, Receipt
    from bethink.memory import ConsolidationReport, Fact, FactChange
    from bethink.memory.facts import LogStep
    from bethink.reflection.records import Reflection

_FIRST = 20
"""Lines of all that would go, shown before it is agreed to."""
_INTERNAL = ("digest", "weight", "slot", "legacy_id", "before", "told_at", "told_about")
_BESIDE = {
    ("superseded", "superseded"): "replaces",
    ("corrected", "corrected"): "corrects",
    ("corrected", "superseded"): "replaces",
    ("corrected", "active"): "contradicts",
    ("merged", "merged"): "takes in",
    ("superseded", "active"): "contradicts",
    ("added", "active"): "contradicts",
    ("restored", "superseded"): "replaces again",
    ("restored", "active"): "restored too",
}
"""What is said of another memory that a change touched, by the change and by its state now."""
_DOUBTS = {
    "contradicts": "contradicted by {}",
    "depends": "depends on {}, which was changed or is in doubt",
    "unclear": "it is not certain",
}
_TIMES = ("created_at", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class FactLines:
    """Prints facts; times are shown in the owner's zone, in JSON as UTC (RFC 3339)."""

    session: Session

    @property
    def screen(self) -> Screen:
        """Where they are printed."""
        return self.session.screen

    def listed(self, fact: Fact) -> None:
        """A fact among others."""
        pin = " pinned" if fact.pinned else ""
        state = "" if fact.state == "active" else f" {fact.state}"
        doubted = " doubted" if fact.doubts else ""
        about = f"{fact.category} {fact.importance:g}{pin}{state}{doubted}"
        day = self.session.local(fact.created_at, "%Y-%m-%d")
        self.screen.result(_document(fact), f"{fact.id}  {day}  {about}  {fact.content}")

    def changed(self, result: FactChange, word: str | None = None) -> None:
        """What became of a fact, in a `word` or the usual one, and how to take it back."""
        told = f"{result.fact.content}  ({result.fact.id})"
        if result.count > 1:
            told = counted(result.count, "memory")
        lines = [f"{word or CHANGES.get(result.change, result.change)}: {told}"]
        lines += [
            f"  {beside}: {other.content}  ({other.id})"
            for other in result.others
            if (beside := _BESIDE.get((result.change, other.state)))
        ]
        others = [_document(other) for other in result.others]
        document = {"change": result.change, "undo": result.undo, "count": result.count, "others": others}
        self.screen.result({"memory": _document(result.fact), **document}, *lines)
        self.undo(result.undo)

    def undo(self, token: str | None) -> None:
        """How to take a change back, if it can be."""
        if token is not None:
            self.screen.remark(f"undo: bethink memory undo {token}")

    def step(self, step: LogStep, first: Fact | None) -> None:
        """A change of the past; `first` of the facts that it changed, None if that is forgotten."""
        document = {"id": step.id, "at": rfc3339(step.at), "change": step.change, "undo": step.undo}
        many = counted(len(step.facts), "memory") if len(step.facts) != 1 else ""
        about = many or (first.content if first else "(forgotten)")
        self.screen.result(
            document | {"facts": [touched.id for touched in step.facts]},
            f"{self.session.local(step.at)}  {CHANGES.get(step.change, step.change)}: {about}",
        )
        if step.undo is not None and step.facts:
            self.screen.remark(f"                  {step.undo}")

    def consolidated(self, done: ConsolidationReport, *, is_preview: bool) -> None:
        """What was merged, or would be."""
        merges = [
            {"kept": _document(merge.kept), "gone": [_document(fact) for fact in merge.gone]}
            for merge in done.merges
        ]
        lines: list[str] = []
        for merge in done.merges:
            lines += [f"{merge.kept.content}  ({merge.kept.id})"]
            lines += [f"  <- {fact.content}  ({fact.id})" for fact in merge.gone]
        word = "Would be merged" if is_preview else "Merged"
        self.screen.result(
            {"facts": done.facts, "merges": merges, "waiting": done.waiting, "undo": done.undo},
            *lines,
            f"{word} into others: {done.gone:,} of {done.facts:,} memories",
        )
        if done.waiting:
            self.screen.remark(f"{done.waiting:,} more duplicates: --share merges more at once")
        self.undo(done.undo)

    def reflected(self, done: Reflection) -> None:
        """What putting memory in order did, or undid."""
        ids = [id for pair in ((one.kept, one.gone) for one in done.merges) for id in pair]
        ids += [id for pair in done.contradictions for id in pair] + [*done.insights]
        found = self.session.mine(self.session.app.memory.get, ids)
        said = {fact.id: f"{fact.content}  ({fact.id})" for fact in found if fact is not None}

        def line(id: str) -> str:
            return said.get(id, f"[forgotten]  ({id})")

        lines: list[str] = []
        for one in done.merges:
            lines += [line(one.kept), f"  <- {line(one.gone)}"]
        for one, other in done.contradictions:
            lines += [f"contradict each other: {line(one)}", f"                        {line(other)}"]
        lines += [f"suggested: {line(id)}" for id in done.insights]
        lines += [one.text for one in done.profile]
        verb = {"done": "Put in order", "proposed": "Proposed", "undone": "Taken back"}[done.status]
        counts = f"{len(done.merges):,} merged, {len(done.contradictions):,} contradictions"
        counts += f", {len(done.insights):,} suggestions, {len(done.profile):,} sentences of profile"
        self.screen.result(
            document_of(done), *lines, f"{verb}: {done.facts:,} memories, {counts}, {done.tokens:,} tokens"
        )
        if done.note:
            self.screen.remark(done.note)
        if done.status != "undone":
            self.screen.remark(f"undo: bethink memory reflect --undo {done.id}")

    def shown(self, fact: Fact, history: Sequence[Fact]) -> None:
        """Everything about a fact; `history` is oldest first and holds the fact itself."""
        lines = [fact.content, *(f"  {name:<11} {value}" for name, value in self._properties(fact))]
        if len(history) > 1:
            lines.append("history:")
        for other in history if len(history) > 1 else ():
            here = "  <- this one" if other.id == fact.id else ""
            at = self.session.local(other.created_at)
            lines.append(f"  {at}  {other.state:<10}  {other.content}  ({other.id}){here}")
        self.screen.result(_document(fact) | {"history": [_document(other) for other in history]}, *lines)

    def doomed(self, preview: Preview) -> None:
        """What would be forgotten: for the person's eyes, never a result."""
        lines = self._going(preview)
        if preview.whole is not None and len(lines) > _FIRST:
            lines = [*lines[:_FIRST], f"and {len(lines) - _FIRST:,} more: --preview shows all of it"]
        for line in (*preview.counts, *lines):
            self.screen.note(f"  {line}", "")

    def preview(self, preview: Preview) -> None:
        """What would be forgotten, as the result."""
        kinds = preview.whole.counts if preview.whole else preview.held
        document = {
            "token": preview.token,
            "memories": [_document(fact) for fact in preview.facts],
            "versions": [_document(fact) for fact in preview.versions],
            "messages": [document_of(said) | {"at": rfc3339(said.at)} for said in preview.said],
            "conversations": preview.titles,
            "people": [
                {"person": told.id, "name": told.name, "parts": told.parts}
                for told in preview.records
                if told.kind == "people"
            ],
            "pages": preview.pages,
            "has_more": preview.has_more,
            "kinds": kinds,
        }
        self.screen.result(document, *preview.counts, *self._going(preview))

    def forgotten(self, receipt: Receipt) -> None:
        """The receipt: how much and which, never what it said."""
        document = {
            "forgotten": len(receipt.facts),
            "counts": receipt.counts,
            "at": rfc3339(receipt.at),
            "ids": receipt.facts,
            "messages": receipt.messages,
            "conversations": receipt.titles,
            "doubted": receipt.doubted,
            "people": receipt.records.get("people", ()),
            "pages": receipt.pages,
            "outside": receipt.outside,
            "has_more": receipt.has_more,
        }
        self.screen.result(document, receipt.summary)
        for line in receipt.outside:
            self.screen.remark(line)

    def _going(self, preview: Preview) -> list[str]:
        return [
            *(f"{fact.content}  ({fact.id})" for fact in preview.facts),
            *(f"{fact.content}  ({fact.state} version, {fact.id})" for fact in preview.versions),
            *(
                f"{'you' if said.by_owner else 'Bethink'} said, {self.session.local(said.at)}:"
                f" {' … '.join(said.sentences)}"
                for said in preview.said
            ),
            *(f"the record of {told.name}: {' … '.join(told.parts)}" for told in preview.records),
            *(f"the page {told.path}: {' … '.join(told.parts)}" for told in preview.pages),
            *(line for one in preview.held for line in one.lines),
            *(preview.whole.lines if preview.whole else ()),
        ]

    def _properties(self, fact: Fact) -> list[tuple[str, str]]:
        properties = [
            ("id", fact.id),
            ("state", fact.state),
            ("category", fact.category),
            ("importance", f"{fact.importance:g}" + (", pinned" if fact.pinned else "")),
            ("topics", ", ".join(fact.topics)),
            ("trust", "" if fact.trust == "owner" else fact.trust),
            ("project", fact.project or ""),
            ("doubt", "; ".join(_DOUBTS[doubt.kind].format(doubt.fact) for doubt in fact.doubts)),
            ("depends on", ", ".join(fact.depends_on)),
            ("learnt", self.session.local(fact.created_at)),
            ("true from", "" if fact.valid_from is None else self.session.local(fact.valid_from)),
            ("true until", "" if fact.valid_until is None else self.session.local(fact.valid_until)),
        ]
        sources = [
            (
                "source",
                " ".join((source.kind, source.id or "", self.session.local(source.at))).replace("  ", " "),
            )
            for source in fact.sources
        ]
        return [(name, value) for name, value in (*properties, *sources) if value]


def _document(fact: Fact) -> dict[str, Any]:
    document: dict[str, Any] = document_of(fact) | {"about": fact.about}
    for name in _INTERNAL:
        document.pop(name, None)
    for name in _TIMES:
        document[name] = rfc3339(document.get(name))
    for name in ("sources", "doubts"):
        document[name] = [part | {"at": rfc3339(part["at"] or None)} for part in document[name]]
    return document
