"""What is to become of a line and its fact: what both said last, beside what each says now. Pure.

`passing` asks for each line that may have changed. Neither side wins by itself:
what changed on one side alone is carried over, and what changed on both stays
visible until the owner has decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bethink.mirror.records import said

if TYPE_CHECKING:
    from bethink.memory import Fact
    from bethink.mirror.lines import Shown
    from bethink.mirror.records import Line

Verdict = Literal[
    "nothing",  # both say what they said
    "settled",  # both were changed to the same
    "edit",  # the line was changed: it supersedes the fact
    "rewrite",  # the fact was changed: the line says so
    "conflict",  # both were changed
    "retract",  # the line was deleted: the fact is retracted
    "place",  # the fact has to have a line again
    "remove",  # the fact is gone: the line goes
    "vanished",  # both are gone
    "restore",  # the line is back: so is the fact
    "new",  # the line was changed, and its fact is gone: it is a fact of its own
    "waiting",  # nothing is done before its owner has decided
]


def judged(line: Line, shown: Shown | None, note: Shown | None, *, fact: Fact | None, known: bool) -> Verdict:
    """What is to be done.

    `shown` is the line as it is now, `note` what stands below it in a conflict;
    `fact` is what is in use of the fact and what became of it, None where nothing
    is; `known` says whether any of it is kept, or it was forgotten.
    """
    text = None if shown is None or not shown.content else said(shown.content)
    now = None if fact is None else said(fact.content)
    if line.state == "conflict" and note is not None:
        return _in_conflict(line, text, now, known=known)
    if line.state == "gone":
        return _of_a_pair_that_went(text, now, known=known)
    if text is None:
        return _of_none(line, now)
    if text == line.said:
        return _of_the_same(line, now)
    return _of_a_changed_line(line, text, now, known=known)


def _of_none(line: Line, now: str | None) -> Verdict:
    if now is None:
        return "vanished"
    if line.state == "held":
        return "waiting"
    return "retract" if now == line.said else "place"


def _of_the_same(line: Line, now: str | None) -> Verdict:
    if now is None:
        return "remove"
    if now != line.said:
        return "rewrite"
    return "nothing" if line.state == "kept" and not line.refused else "settled"


def _of_a_changed_line(line: Line, text: str, now: str | None, *, known: bool) -> Verdict:
    if now is None:
        return "new" if known else "remove"
    if text == now:
        return "settled"
    if now != line.said:
        return "conflict"
    return "nothing" if text == line.refused else "edit"


def _of_a_pair_that_went(text: str | None, now: str | None, *, known: bool) -> Verdict:
    if text is None:
        return "nothing" if now is None else "place"
    if now is None:
        return "restore" if known else "remove"
    return "settled" if text == now else "conflict"


def _in_conflict(line: Line, text: str | None, now: str | None, *, known: bool) -> Verdict:
    """While the note is there, its owner has not decided."""
    if now is None:
        return "new" if known and text is not None else "remove"
    if text is None:
        # The line was deleted, and what the memory says was left.
        return "rewrite"
    if text == now:
        return "settled"
    return "waiting" if now == line.said else "conflict"
