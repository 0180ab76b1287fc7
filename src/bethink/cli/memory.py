"""`bethink memory`: search, edit and manage memories."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bethink.cli.commands import YES, Commands, arg, at_most, repeated
from bethink.cli.exits import Exit
from bethink.cli.facts import FactLines
from bethink.cli.terminal import Screen, counted, document_of, one_line, opened_file, read_stdin
from bethink.clock import to_us
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    from argparse import Namespace
    from datetime import datetime

    from bethink.cli.session import Session
    from bethink.export.service import RestoreReport
    from bethink.forgetting.selection import Preview
    from bethink.memory import Fact
    from bethink.recall.service import Hit
    from bethink.store import Key

_BATCH = 256
"""As many as the memory keeps in one step: what is printed is on the disk."""
_PAGE = 500
_NONE_YET = "There are no memories yet: `bethink memory add TEXT` adds one."
_FORMATS = "jsonl|md|csv|data.json"
_STATES = "active|suggested|superseded|corrected|merged|retracted|all"
_SHOWN_CHARS = 300
"""Of a text on the screen; JSON has all of it."""
_SHOWN_COUNTS = 10
_MB = 1_000_000
_PERCENT = 100
_FORGET = "forget"
_REVIEW = "Accept it? [y]es, [n]o, [l]ater, [q]uit: "
_TAKEN = {
    "restored": "restored",
    "said": "conversations and messages restored",
    "added": "new",
    "merged": "merged with known memories",
    "known": "known already",
    "differing": "changed here since, not overwritten",
    "refused": "not taken",
}
COMMANDS = Commands()
_ID = arg("id ID", "its id, as `list` and `search` print it")
_PROPERTIES = (
    arg("--category NAME", "such as preferences, personal_info, goals, plans"),
    arg("--importance 0..1", "importance from 0 to 1 (0.5)", type=float),
    arg("--topic WORD", "a topic; may be repeated", action="append"),
    arg("--pin", "include it in every conversation", default=None),
    arg("--about NAME", "whom it is about: owner, a name, or what they are to you, such as sister"),
)
_LINKS = ("depends_on", "repeats", "replaces", "corrects")


# --- looking ----------------------------------------------------------------


@COMMANDS.add(
    "search",
    arg("query QUERY+", "a question or words"),
    arg("-k --k N", "at most this many (BETHINK_MEMORY_SEARCH_LIMIT, 10)", type=int),
    arg("--kinds KIND,KIND", "such as fact,turn; all by default"),
    arg("--since TIME", "said since this time: 2026-05-01, or with T14:30"),
    arg("--until TIME", "said before this time"),
    arg("--as-of TIME", "what was true at this time, whenever it was said"),
    arg("--conversation ID", "only what was said in this conversation"),
    arg("--project NAME", "only this project"),
    arg("--budget TOKENS", "at most so much text in all", type=int),
    arg("--all", "also unrelated results"),
)
def _search(session: Session, options: Namespace) -> None:
    """Find what answers a question, remembered or said, the best first."""
    from bethink.recall.service import RecallQuestion

    kinds = None if options.kinds is None else {kind.strip() for kind in options.kinds.split(",")} - {""}
    question = RecallQuestion(
        " ".join(options.query),
        session.app.settings.memory_search_limit if options.k is None else options.k,
        kinds=kinds,
        since=session.moment(options.since),
        until=session.moment(options.until),
        as_of=session.moment(options.as_of),
        conversation=options.conversation,
        project=options.project,
        budget=options.budget,
    )
    if not question.text.strip():
        raise BadInput("Say what to look for: a question or words.")
    answer, screen = session.mine(session.app.recall.ask, question), session.screen
    shown = [hit for hit in answer.hits if hit.score > 0 or options.all]
    for hit in shown:
        screen.result(replace(hit, score=round(hit.score, 4)), _hit_line(session, hit))
    if not shown:
        screen.note(f"No memories found matching: {question.text}")
    if left_out := answer.left_out:
        screen.note(f"{left_out:,} more do not fit into {options.budget:,} tokens.")
    if warning := session.app.recall.warning:
        screen.note(f"warning: {warning}", "yellow")


def _hit_line(session: Session, hit: Hit) -> str:
    """Score, kind, date and text; then who said it, when it held, its source and its id."""

    def day(at: datetime) -> str:
        return session.local(at, "%Y-%m-%d")

    text = one_line(hit.text, _SHOWN_CHARS)
    told = [
        f"{hit.speaker}, with a text that they pasted" if hit.pasted else hit.speaker,
        hit.valid_from and f"from {day(hit.valid_from)}",
        hit.valid_until and f"until {day(hit.valid_until)}",
        hit.doubt,
        # A turn's source names the conversation, and the turn by the id that follows.
        hit.title or (hit.source or "").partition("#")[0],
        hit.id,
    ]
    return f"{hit.score:.2f}  {hit.kind}  {day(hit.at)}  {text}  ({', '.join(filter(None, told))})"


@COMMANDS.add(
    "list",
    arg("--category NAME", "only this category"),
    arg("--project NAME", "only this project"),
    arg("--about NAME", "only about this person or thing; owner is you"),
    arg("--doubted", "only memories in doubt"),
    arg(f"--state {_STATES}", "active by default", default="active"),
    at_most(50),
    arg("--all", "all of them"),
)
def _list(session: Session, options: Namespace) -> None:
    """List memories, the newest first."""
    named: dict[str, Key | None] = {
        "state": None if options.state == "all" else options.state,
        "category": options.category,
        "project": options.project,
        "about": options.about,
        "doubted": 1 if options.doubted else None,
    }
    where = {name: value for name, value in named.items() if value is not None}
    lines, shown = FactLines(session), 0
    most = None if options.all else options.limit
    page = min(most or _PAGE, _PAGE)
    for item in islice(session.each(session.app.memory.list, limit=page, where=where), most):
        lines.listed(item.record)
        shown += 1
    total = session.mine(session.app.memory.count, where)
    if shown < total:
        session.screen.note(f"{shown:,} of {total:,} shown: --limit and --all show more")
    elif not total:
        session.screen.note(_NONE_YET if where == {"state": "active"} else "No memories match.")


@COMMANDS.add("show", _ID)
def _show(session: Session, options: Namespace) -> None:
    """Show one memory with its sources and its history."""
    fact = _fact(session, options.id)
    FactLines(session).shown(fact, session.mine(session.app.memory.history, fact.id))


@COMMANDS.add("history", arg("id ID", "its id"))
def _history(session: Session, options: Namespace) -> None:
    """Show what a memory was, what it became and what was merged into it."""
    for fact in session.mine(session.app.memory.history, options.id):
        FactLines(session).listed(fact)


@COMMANDS.add("log", at_most(20, "changes"))
def _log(session: Session, options: Namespace) -> None:
    """Show what was changed, the newest first, and how to take it back."""
    page = session.mine(session.app.memory.log, limit=options.limit)
    steps = [item.record for item in page.items]
    asked = [step.facts[0].id for step in steps if step.facts]
    known = {fact.id: fact for fact in session.mine(session.app.memory.get, asked) if fact is not None}
    for step in steps:
        FactLines(session).step(step, known.get(step.facts[0].id) if step.facts else None)
    if not steps:
        session.screen.note("Nothing was changed yet.")


def _fact(session: Session, id: str) -> Fact:
    """The fact with this id, whatever its state."""
    (fact,) = session.mine(session.app.memory.get, [id])
    if fact is None:
        raise UnknownId(
            f"No memory has the id {id}: it may have been forgotten. `bethink memory list` shows ids."
        )
    return fact


# --- changing ---------------------------------------------------------------


@COMMANDS.add(
    "add",
    arg("content TEXT+", "what to remember; `-` reads it from a pipe"),
    arg("--lines", "each line is a separate memory"),
    repeated(
        "--depends-on ID",
        "a memory that it depends on: if that changes, this one is doubted; may be repeated",
    ),
    repeated("--repeats ID", "a memory that says the same in other words: they become one; may be repeated"),
    repeated("--replaces ID", "a memory that was true and is past now; may be repeated"),
    repeated("--corrects ID", "a memory that never was true; may be repeated"),
    arg("--since TIME", "true since this time: 2026-05-01"),
    *_PROPERTIES,
)
def _add(session: Session, options: Namespace) -> None:
    """Keep a memory."""
    from bethink.memory import NewFact

    text = read_stdin() if options.content == ["-"] else " ".join(options.content)
    contents = [line for line in text.splitlines() if line.strip()] if options.lines else [text]
    properties = _properties(options)
    links = {name: tuple(getattr(options, name)) for name in _LINKS}
    since = session.moment(options.since)
    begun = since and to_us(since)
    facts = [NewFact(content, valid_from=begun, **links, **properties) for content in contents]
    for fact in facts:
        fact.checked()
    for start in range(0, len(facts), _BATCH):
        for changed in session.mine(session.app.memory.add_many, facts[start : start + _BATCH]):
            FactLines(session).changed(changed)


@COMMANDS.add(
    "edit",
    _ID,
    arg("content TEXT*", "the new text; without it, an editor opens"),
    arg("--wrong", "the old one never was true; else it was true until now"),
    *_PROPERTIES,
    arg("--no-pin", "include it only if it is relevant", dest="pin", action="store_false"),
)
def _edit(session: Session, options: Namespace) -> None:
    """Change a memory; the old one is kept in its history."""
    old = _fact(session, options.id)
    changes = _properties(options)
    if content := " ".join(options.content):
        changes["content"] = content
    elif not changes:
        if not session.screen.can_ask:
            raise BadInput(
                "Give the corrected text: `bethink memory edit ID TEXT`, or change its properties."
            )
        changes["content"] = session.screen.edit(old.content, ".txt")
    statement = replace(old.statement, **changes)
    changed = session.mine(session.app.memory.edit, old.id, statement, wrong=options.wrong)
    FactLines(session).changed(changed, "Changed" if changed.fact.id == old.id else None)


def _properties(options: Namespace) -> dict[str, Any]:
    """What is said of a fact beside its words, by the names of `NewFact`."""
    said = {
        "category": options.category or None,
        "importance": options.importance,
        "topics": None if options.topic is None else tuple(options.topic),
        "pinned": options.pin,
        "about": options.about,
    }
    return {name: value for name, value in said.items() if value is not None}


@COMMANDS.add("retract", arg("ids ID+", "their ids"))
def _retract(session: Session, options: Namespace) -> None:
    """Take memories out of use; this can be undone."""
    for id in options.ids:
        FactLines(session).changed(session.mine(session.app.memory.retract, id))


@COMMANDS.add("undo", arg("token TOKEN", "the token that was printed with the change"))
def _undo(session: Session, options: Namespace) -> None:
    """Take back a change."""
    FactLines(session).changed(session.mine(session.app.memory.undo, options.token))


@COMMANDS.add(
    "review",
    arg("--accept ID+", "keep these", default=[]),
    arg("--reject ID+", "never suggest these again", default=[]),
)
def _review(session: Session, options: Namespace) -> None:
    """Accept or reject memories that were suggested."""
    lines, memory = FactLines(session), session.app.memory
    if options.accept or options.reject:
        for id in options.accept:
            lines.changed(session.mine(memory.accept, id), "Accepted")
        for id in options.reject:
            lines.changed(session.mine(memory.reject, id), "Rejected")
        return
    listed = session.each(memory.list, limit=_PAGE, where={"state": "suggested"})
    suggested = [item.record for item in listed][::-1]
    if not suggested:
        session.screen.note("No memory waits for your review.")
    elif session.screen.can_ask:
        _ask_about(session, suggested)
    else:
        for fact in suggested:
            lines.listed(fact)


def _ask_about(session: Session, suggested: list[Fact]) -> None:
    lines, memory, screen = FactLines(session), session.app.memory, session.screen
    for place, fact in enumerate(suggested, 1):
        screen.note(f"{place} of {len(suggested)}")
        lines.listed(fact)
        while True:
            match (screen.ask(_REVIEW) or "q").strip().lower():
                case "y" | "yes":
                    lines.changed(session.mine(memory.accept, fact.id), "Accepted")
                case "n" | "no":
                    lines.changed(session.mine(memory.reject, fact.id), "Rejected")
                case "l" | "later":
                    pass
                case "q" | "quit":
                    return
                case _:
                    screen.note("Answer y, n, l or q.")
                    continue
            break


# --- forgetting -------------------------------------------------------------


@COMMANDS.add(
    "forget",
    arg("ids ID*", "their ids"),
    arg("--query TEXT", "memories and messages that match this"),
    arg("-k --k N", "at most this many results (20)", type=int, default=20),
    arg("--since TIME", "learnt since this time: 2026-05-01, or with 14:30"),
    arg("--until TIME", "learnt before this time"),
    arg("--all", "all memories and all messages"),
    arg("--kinds KIND+", "with --all: these too (pages, files, people)", default=[]),
    arg(
        "--conversations keep|remove",
        "with --all: keep what was said to be read, out of recall (the default), or remove it",
    ),
    arg("--preview", "show what would be forgotten and change nothing"),
    YES,
)
def _forget(session: Session, options: Namespace) -> None:
    """Remove memories for good; this cannot be undone.

    Raises:
        BadInput: nothing or two things were asked for, or nobody is there to agree.
        UnknownId: no memory has one of the ids.
        Conflict: what would go changed while it was looked at.
    """
    from bethink.forgetting.selection import MAX_FOUND, ForgetRequest

    forgetting, screen, lines = session.app.forgetting, session.screen, FactLines(session)
    wanted = ForgetRequest(
        ids=options.ids,
        query=options.query,
        since=session.moment(options.since),
        until=session.moment(options.until),
        everything=options.all,
        k=options.k,
        kinds=options.kinds,
        conversations=options.conversations,
    )
    wanted.check()
    for id, fact in zip(wanted.ids, session.mine(session.app.memory.get, wanted.ids), strict=True):
        if fact is None:
            raise UnknownId(f"No memory has the id {id}; nothing was forgotten.")
    preview = session.mine(forgetting.preview, wanted)
    if preview.is_empty:
        asked = f"No memories found matching: {options.query}"
        screen.note("There were no memories to forget." if options.query is None else asked)
        return
    if preview.has_more:
        screen.note(f"There are more matches: -k N finds up to N, at most {MAX_FOUND}.")
    if options.preview:
        lines.preview(preview)
        return
    lines.doomed(preview)
    if options.yes or _is_agreed(screen, preview, everything=options.all):
        lines.forgotten(session.mine(forgetting.confirm, wanted, preview.token))
    else:
        screen.note("Nothing was forgotten.")


def _is_agreed(screen: Screen, preview: Preview, *, everything: bool) -> bool:
    if not screen.can_ask:
        raise BadInput("Forgetting cannot be undone, and there is no terminal to ask: add --yes.")
    if everything:
        question = screen.styled(f"All of it is forgotten for good. Type {_FORGET!r} to do it: ", "red")
        return (screen.ask(question) or "").strip().lower() == _FORGET
    count = len(preview.facts) + len(preview.versions)
    few = ("what was said of it", "this memory")
    what = few[count] if count < len(few) else f"these {count:,} memories"
    return screen.agrees(f"Forget {what} for good? [y/N] ")


# --- files ------------------------------------------------------------------


@COMMANDS.add(
    "export",
    arg(
        f"--format {_FORMATS}",
        "jsonl contains everything, md is for reading, csv for spreadsheets; all three can be imported",
    ),
    arg(
        "--conversations",
        "with all that was said, as jsonl: everything that Bethink knows of you",
    ),
    arg("--output FILE", "a new file; its extension chooses the format"),
)
def _export(session: Session, options: Namespace) -> None:
    """Write all memories to a file, or to standard output."""
    from bethink.export.service import FORMATS

    ending = Path(options.output or "").suffix
    named = next((name for name, one in FORMATS.items() if one.suffix == ending), "jsonl")
    name = options.format or named
    parts = session.app.portability.export(session.principal, name, conversations=options.conversations)
    if session.write_out(parts, options.output):
        session.screen.note(f"{options.output}: written as {name}. Keep it as private as the memory itself.")


@COMMANDS.add(
    "import",
    arg("file FILE", "the file; `-` reads a pipe"),
    arg(f"--format auto|{_FORMATS}", "detected from the content by default", default="auto"),
    arg("--dry-run", "show the result and write nothing"),
)
def _import(session: Session, options: Namespace) -> Exit:
    """Take in a file; what is known already changes nothing."""
    screen = session.screen
    with opened_file(options.file) as file:
        size = file.seek(0, os.SEEK_END)

        def tell(report: RestoreReport, read: int) -> None:
            done = f" ({_PERCENT * min(read, size) // size} %)" if size else ""
            taken = report.restored + report.said + report.added
            screen.status(f"… {report.lines:,} lines{done}, {taken:,} imported")

        report = session.mine(
            session.app.portability.import_file,
            file,
            format=options.format,
            preview=options.dry_run,
            tell=tell,
        )
    screen.status("")
    for bad in report.bad:
        screen.remark(f"line {bad.line:,}: {bad.reason}", "red")
    if (more := report.refused - len(report.bad)) > 0:
        screen.remark(f"and {more:,} more lines like these", "red")
    would = " would be" if report.preview else ""
    counts = [(getattr(report, field), words) for field, words in _TAKEN.items()]
    screen.result(
        document_of(report) | {"undo": report.undo},
        f"{counted(report.lines, 'line')} of {report.format}{would}:",
        *(f"  {count:>9,}  {words}" for count, words in counts if count),
    )
    FactLines(session).undo(report.undo)
    return Exit.USAGE if report.refused else Exit.OK


# --- looking after ----------------------------------------------------------


@COMMANDS.add("health")
def _health(session: Session, options: Namespace) -> None:
    """Check the memory: duplicates, contradictions, secrets and more."""
    found = session.mine(session.app.features.check)
    for finding in found:
        examples = () if finding.trouble == "vectors" else (f"         {' '.join(finding.examples)}",)
        about = f"{finding.count:>7,}  {finding.about}"
        session.screen.result(finding, about, f"         {finding.mend}", *examples)
    if not found and not options.json:
        session.screen.line("No problems found.")


@COMMANDS.add("stats")
def _stats(session: Session, options: Namespace) -> None:
    """Show the memory in numbers."""
    screen, numbers = session.screen, session.mine(session.app.statistics.numbers, "memory")
    if options.json:
        screen.result(numbers)
        return
    screen.line(
        f"{numbers['facts']:>9,}  memories, {numbers['pinned']:,} pinned, {numbers['doubted']:,} in doubt"
    )
    for title, counts in (
        ("by state", numbers["states"]),
        ("in use, by category", numbers["categories"]),
        ("by source", numbers["sources"]),
        ("in use, by month learnt", numbers["months"]),
    ):
        if counts:
            screen.line(f"{title}:")
        items = list(counts.items())
        for name, count in items[-_SHOWN_COUNTS:] if counts is numbers["months"] else items[:_SHOWN_COUNTS]:
            screen.line(f"{count:>9,}  {name}")
        if (more := len(counts) - _SHOWN_COUNTS) > 0:
            screen.note(f"           and {more:,} more")
    screen.line(f"{numbers['bytes_on_disk'] / _MB:>9,.1f}  MB on disk, including all other data")
    if numbers["warning"]:
        screen.note(f"warning: {numbers['warning']}", "yellow")


@COMMANDS.add("known")
def _known(session: Session, options: Namespace) -> None:
    """Show month by month how well you are known."""
    del options
    from bethink.reflection.months import months_of

    months = session.call(months_of, session.app.ports.store, session.owner)
    names = ("known", "learnt", "recalled", "used", "corrected", "forgotten")
    lines = [f"{one.month}  " + "".join(f"{getattr(one, name):>10,}" for name in names) for one in months]
    head = "month    " + "".join(f"{name:>10}" for name in names)
    session.screen.result({"months": [document_of(one) for one in months]}, head, *lines)


@COMMANDS.add(
    "questions",
    arg("--answer ID", "keep the answer in --text as a memory of your own"),
    arg("--text TEXT", "the answer, in a sentence"),
    arg("--dismiss ID", "leave it unanswered; it is not asked again"),
)
def _questions(session: Session, options: Namespace) -> None:
    """Show what you asked of your memory and it did not know; answer it once, or dismiss it."""
    from bethink.memory import NewFact, Source
    from bethink.reflection.questions import OpenQuestions

    questions = session.app.features.of(OpenQuestions)
    if options.answer:
        session.mine(questions.get, options.answer)
        fact = NewFact(options.text or "", source=Source(kind="person"))
        changed = session.mine(session.app.memory.add, fact)
        session.mine(questions.close, options.answer, fact=changed.fact.id)
        FactLines(session).changed(changed)
    elif options.dismiss:
        done = session.mine(questions.close, options.dismiss)
        session.screen.result(document_of(done), f"Dismissed: {done.text}")
    else:
        for one in session.mine(questions.open):
            session.screen.result(document_of(one), f"{one.text}  ({one.id})")


@COMMANDS.add("reflect", arg("--undo ID", "take back what one time did, by the id of its receipt"))
def _reflect(session: Session, options: Namespace) -> None:
    """Put memory in order now: duplicates, contradictions, a profile. This can be undone."""
    from bethink.reflection.service import Reflections

    if options.undo:
        done = session.mine(session.app.features.of(Reflections).undo, options.undo)
    else:
        done = session.call(session.app.reflection.run, session.owner, asked=True)
    FactLines(session).reflected(done)


@COMMANDS.add(
    "consolidate",
    arg("--preview", "show the result and write nothing"),
    arg("--threshold 0..1", "minimum similarity of two memories to compare them (0.75)", type=float),
    arg("--share 0..1", "largest share of all memories to merge (0.2)", type=float),
)
def _consolidate(session: Session, options: Namespace) -> None:
    """Merge memories that say the same; this can be undone."""
    from bethink.memory import LARGEST_SHARE, THRESHOLD

    done = session.mine(
        session.app.memory.consolidate,
        threshold=THRESHOLD if options.threshold is None else options.threshold,
        share=LARGEST_SHARE if options.share is None else options.share,
        preview=options.preview,
    )
    FactLines(session).consolidated(done, is_preview=options.preview)
