"""What the commands of `bethink memory` do: each a call or two of the app, and its result as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.exits import Exit
from bethink.cli.fact_lines import FactLines
from bethink.cli.forget import forget
from bethink.cli.keeping import consolidate, show_health, show_log, show_numbers
from bethink.cli.portability import export_memory, import_memory
from bethink.cli.review import review
from bethink.cli.search import search
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, read_stdin
from bethink.errors import BadInput, UnknownId
from bethink.memory import NewFact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from bethink.cli.session import Session
    from bethink.memory import Fact
    from bethink.store import Key

_BATCH = 256
"""As many as the memory keeps in one step: what is printed is on the disk."""
_PAGE = 500
_NONE_YET = "There are no memories yet: `bethink memory add TEXT` keeps one."


def run(options: argparse.Namespace) -> int:
    """Do what `options.action` names."""
    with opened(options) as session:
        screen = Screen.of_process(is_data=options.json)
        lines = FactLines(screen, session.principal.time_zone, is_json=options.json)
        return _ACTIONS[options.action](session, lines, options)


def _add(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    text = read_stdin() if options.content == ["-"] else " ".join(options.content)
    contents = [line for line in text.splitlines() if line.strip()] if options.lines else [text]
    facts = [
        NewFact(
            content=content,
            category=options.category or "general",
            importance=0.5 if options.importance is None else options.importance,
            topics=tuple(options.topic or ()),
            pinned=bool(options.pin),
            depends_on=tuple(options.depends_on or ()),
        )
        for content in contents
    ]
    for fact in facts:
        fact.checked()
    for start in range(0, len(facts), _BATCH):
        batch = facts[start : start + _BATCH]
        for changed in session.call(session.app.memory.add_many, session.principal, batch):
            lines.changed(changed)
    return Exit.OK


def _list(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    if options.limit < 1:
        message = f"--limit is {options.limit}: give a number from 1."
        raise BadInput(message)
    where: dict[str, Key] = {} if options.state == "all" else {"state": options.state}
    if options.category is not None:
        where["category"] = options.category
    if options.project is not None:
        where["project"] = options.project
    if options.doubted:
        where["doubted"] = 1
    shown = 0
    for fact in _listed(session, where, limit=None if options.all else options.limit):
        lines.listed(fact)
        shown += 1
    total = session.call(session.app.memory.count, session.principal, where)
    if shown < total:
        lines.screen.note(f"{shown:,} of {total:,} shown: --limit and --all show more")
    elif not total:
        lines.screen.note(_NONE_YET if where == {"state": "active"} else "There are no such memories.")
    return Exit.OK


def _listed(session: Session, where: Mapping[str, Key], *, limit: int | None) -> Iterator[Fact]:
    cursor: str | None = None
    while limit is None or limit > 0:
        size = _PAGE if limit is None else min(_PAGE, limit)
        page = session.call(
            session.app.memory.list, session.principal, limit=size, cursor=cursor, where=where
        )
        yield from (item.record for item in page.items)
        limit = None if limit is None else limit - len(page.items)
        if (cursor := page.cursor) is None:
            return


def _show(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    fact = _fact(session, options.id)
    lines.shown(fact, session.call(session.app.memory.history, session.principal, fact.id))
    return Exit.OK


def _history(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    for fact in session.call(session.app.memory.history, session.principal, options.id):
        lines.listed(fact)
    return Exit.OK


def _edit(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    old = _fact(session, options.id)
    asks_only_properties = any(
        value is not None for value in (options.category, options.importance, options.topic, options.pin)
    )
    content = " ".join(options.content)
    if not content:
        content = old.content if asks_only_properties else _edited(lines.screen, old.content)
    correction = NewFact(
        content=content,
        category=options.category or old.category,
        importance=old.importance if options.importance is None else options.importance,
        topics=old.topics if options.topic is None else tuple(options.topic),
        project=old.project,
        pinned=old.pinned if options.pin is None else options.pin,
        depends_on=old.depends_on,
    )
    changed = session.call(session.app.memory.edit, session.principal, old.id, correction)
    lines.changed(changed, "Changed" if changed.fact.id == old.id else None)
    return Exit.OK


def _edited(screen: Screen, content: str) -> str:
    if not screen.can_ask:
        message = "Say what the memory should be: `bethink memory edit ID TEXT`, or change its properties."
        raise BadInput(message)
    return screen.edit(content, ".txt")


def _retract(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    for id in options.ids:
        lines.changed(session.call(session.app.memory.retract, session.principal, id))
    return Exit.OK


def _undo(session: Session, lines: FactLines, options: argparse.Namespace) -> int:
    lines.changed(session.call(session.app.memory.undo, session.principal, options.token))
    return Exit.OK


def _fact(session: Session, id: str) -> Fact:
    """The fact with this id, whatever its state.

    Raises:
        UnknownId: there is none.
    """
    (fact,) = session.call(session.app.memory.get, session.principal, [id])
    if fact is None:
        message = f"No memory has the id {id}: it may have been forgotten. `bethink memory list` shows ids."
        raise UnknownId(message)
    return fact


_ACTIONS: dict[str, Callable[[Session, FactLines, argparse.Namespace], int]] = {
    "add": _add,
    "search": search,
    "list": _list,
    "show": _show,
    "history": _history,
    "log": show_log,
    "health": show_health,
    "stats": show_numbers,
    "consolidate": consolidate,
    "edit": _edit,
    "retract": _retract,
    "forget": forget,
    "review": review,
    "undo": _undo,
    "export": export_memory,
    "import": import_memory,
}
