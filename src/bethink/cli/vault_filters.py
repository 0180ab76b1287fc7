"""`bethink vault filters …`: what is hidden in the vault, and from whom. `vault` lists the commands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, repeated
from bethink.cli.terminal import document_of

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.vault.filters.rules import Rule

_NAMES = ("path", "section", "field", "pattern", "text")
COMMANDS = Commands()
COMMANDS.group("filters", "say what is hidden in the vault, and from whom")


@COMMANDS.add(
    "filters add",
    arg("--path GLOB", "a page or a folder: private, entities/*.md", default=""),
    arg("--section TITLE", "a section, with all below its heading", default=""),
    arg("--field NAME", "a fact, front matter key or table column", default=""),
    arg("--pattern WHAT", "email, phone, card, birth_date, number or a regular expression", default=""),
    arg("--text WORDS", "words for the model alone: no protection", default=""),
    arg("--action hide|mask|generalise", "hide (unless told), mask or generalise", default="hide"),
    repeated(
        "--from AUDIENCE",
        "mcp-http:claude, openai, web/agent …; may be repeated. All but you unless told",
        dest="audiences",
    ),
    arg("--note WORDS", "why, for yourself", default=""),
)
def _add(session: Session, options: Namespace) -> None:
    """Hide something; what is not named does not narrow it."""
    from bethink.vault.filters.rules import Rule

    given = {name: getattr(options, name) for name in (*_NAMES, "action", "note")}
    asked = Rule(**given, audiences=tuple(options.audiences))
    rule = session.mine(session.app.visibility.filters.add, asked)
    _catch_up(session)
    _show(session, rule)
    if rule.text and not options.json:
        warning = "This is told to the model, which may not heed it: nothing is hidden by it."
        session.screen.note(warning, "yellow")


@COMMANDS.add("filters list")
def _list(session: Session, options: Namespace) -> None:
    """List the filters, in their order."""
    rules = session.mine(session.app.visibility.filters.list)
    for rule in rules:
        _show(session, rule)
    if not rules and not options.json:
        session.screen.note("Nothing is hidden from anybody.")


@COMMANDS.add("filters remove", arg("id ID", "the filter's id, as `list` shows it"))
def _remove(session: Session, options: Namespace) -> None:
    """Remove a filter."""
    rule = session.mine(session.app.visibility.filters.remove, options.id)
    _catch_up(session)
    _show(session, rule)


@COMMANDS.add("filters reset")
def _reset(session: Session, _: Namespace) -> None:
    """Remove all filters."""
    count = session.mine(session.app.visibility.filters.reset)
    _catch_up(session)
    told = f"Removed {count} filter{'' if count == 1 else 's'}: nothing is hidden from anybody."
    session.screen.result({"removed": count}, told)


@COMMANDS.add(
    "filters test",
    arg("path PATH", "of the page in the vault, such as entities/jane_doe.md"),
    arg("--as AUDIENCE", "such as web/agent", dest="audience", required=True),
)
def _test(session: Session, options: Namespace) -> None:
    """Show a page as an audience sees it."""
    screen = session.screen
    reader = replace(session.principal, audience=options.audience)
    seen = session.call(session.app.visibility.views.tried, reader, options.path)
    if options.json:
        screen.result({"hidden": seen.is_hidden, "text": seen.text, "marks": seen.marks})
        return
    if seen.is_hidden:
        screen.note(f"{options.audience} does not see that this page is there.", "yellow")
        return
    screen.line(seen.text.removesuffix("\n"))
    for mark in seen.marks:
        line = seen.raw.count("\n", 0, mark.start) + 1
        why = f"by {mark.rule}" if mark.rule else "a link to a hidden page"
        screen.note(f"line {line}: {mark.action} {seen.raw[mark.start : mark.end]!r}, {why}")


def _catch_up(session: Session) -> None:
    """Have what is searched follow the filters before the command ends: no other process may be there to."""
    session.call(session.app.vault.sync, session.owner)
    session.call(session.app.visibility.indexing.catch_up, session.owner)


def _show(session: Session, rule: Rule) -> None:
    what = ", ".join(f"{name} {value!r}" for name in _NAMES if (value := getattr(rule, name)))
    action = "tell the model" if rule.text else rule.action
    whom = ", ".join(rule.audiences) or "everybody but you"
    note = f"  ({rule.note})" if rule.note else ""
    document = document_of(rule) | {"audiences": list(rule.audiences), "action": rule.action}
    session.screen.result(document, f"{rule.id}  {action}: {what}  from {whom}{note}")
