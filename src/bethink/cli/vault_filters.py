"""`bethink vault filters …`: what is hidden in the vault, and from whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bethink.cli.commands import add_json
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.vault.filters.rules import Rule

_NAMES = ("path", "section", "field", "pattern", "text")
_ACTIONS = ("hide", "mask", "generalise")


def register(family: Commands) -> None:
    """`filters` and the commands below it."""
    below = family.under(family.add("filters", None, "say what is hidden in the vault, and from whom"))
    add = below.add("add", _run, "hide something; what is not named does not narrow it")
    add.add_argument("--path", default="", metavar="GLOB", help="a page or a folder: private, entities/*.md")
    add.add_argument("--section", default="", metavar="TITLE", help="a section, with all below its heading")
    add.add_argument("--field", default="", metavar="NAME", help="a fact, front matter key or table column")
    add.add_argument(
        "--pattern",
        default="",
        metavar="WHAT",
        help="email, phone, card, birth_date, number or a regular expression",
    )
    add.add_argument("--text", default="", metavar="WORDS", help="words for the model alone: no protection")
    add.add_argument(
        "--action", choices=_ACTIONS, default="hide", help="hide (unless told), mask or generalise"
    )
    add.add_argument(
        "--from",
        dest="audiences",
        action="append",
        default=[],
        metavar="AUDIENCE",
        help="mcp-http:claude, openai, web/agent …; may be repeated. All but you unless told",
    )
    add.add_argument("--note", default="", metavar="WORDS", help="why, for yourself")
    add.set_defaults(act=_add)
    listing = below.add("list", _run, "list the filters, in their order")
    listing.set_defaults(act=_list)
    remove = below.add("remove", _run, "remove a filter")
    remove.add_argument("id", metavar="ID", help="the filter's id, as `list` shows it")
    remove.set_defaults(act=_remove)
    test = below.add("test", _run, "show a page as an audience sees it")
    test.add_argument("path", metavar="PATH", help="of the page in the vault, such as entities/jane_doe.md")
    test.add_argument("--as", dest="audience", required=True, metavar="AUDIENCE", help="such as web/agent")
    test.set_defaults(act=_test)
    reset = below.add("reset", _run, "remove all filters")
    reset.set_defaults(act=_reset)
    for one in (add, listing, remove, test, reset):
        add_json(one)


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.session import opened
    from bethink.cli.terminal import Screen

    with opened(options) as session:
        return options.act(session, Screen.of_process(is_data=options.json), options)


def _add(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    from bethink.vault.filters.rules import Rule

    given = {name: getattr(options, name) for name in (*_NAMES, "action", "note")}
    asked = Rule(**given, audiences=tuple(options.audiences))
    rule = session.call(session.app.visibility.filters.add, session.principal, asked)
    _caught_up(session)
    _show(screen, rule, is_json=options.json)
    if rule.text and not options.json:
        screen.note("This is told to the model, which may not heed it: nothing is hidden by it.", "yellow")
    return Exit.OK


def _list(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    rules = session.call(session.app.visibility.filters.list, session.principal)
    for rule in rules:
        _show(screen, rule, is_json=options.json)
    if not rules and not options.json:
        screen.note("Nothing is hidden from anybody.")
    return Exit.OK


def _remove(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    rule = session.call(session.app.visibility.filters.remove, session.principal, options.id)
    _caught_up(session)
    _show(screen, rule, is_json=options.json)
    return Exit.OK


def _reset(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    count = session.call(session.app.visibility.filters.reset, session.principal)
    _caught_up(session)
    if options.json:
        _json(screen, {"removed": count})
    else:
        screen.line(f"Removed {count} filter{'' if count == 1 else 's'}: nothing is hidden from anybody.")
    return Exit.OK


def _test(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    reader = replace(session.principal, audience=options.audience)
    seen = session.call(session.app.visibility.views.tried, reader, options.path)
    if options.json:
        import msgspec

        marks = [msgspec.to_builtins(mark) for mark in seen.marks]
        _json(screen, {"hidden": seen.is_hidden, "text": seen.text, "marks": marks})
        return Exit.OK
    if seen.is_hidden:
        screen.note(f"{options.audience} does not see that this page is there.", "yellow")
        return Exit.OK
    screen.line(seen.text.removesuffix("\n"))
    for mark in seen.marks:
        line = seen.raw.count("\n", 0, mark.start) + 1
        why = f"by {mark.rule}" if mark.rule else "a link to a hidden page"
        screen.note(f"line {line}: {mark.action} {seen.raw[mark.start : mark.end]!r}, {why}")
    return Exit.OK


def _caught_up(session: Session) -> None:
    """Have what is searched follow the filters before the command ends: no other process may be there to."""
    session.call(session.app.vault.sync, session.principal.owner)
    session.call(session.app.visibility.indexing.catch_up, session.principal.owner)


def _show(screen: Screen, rule: Rule, *, is_json: bool) -> None:
    if is_json:
        import msgspec

        _json(screen, msgspec.to_builtins(rule) | {"audiences": list(rule.audiences), "action": rule.action})
        return
    what = ", ".join(f"{name} {value!r}" for name in _NAMES if (value := getattr(rule, name)))
    action = "tell the model" if rule.text else rule.action
    whom = ", ".join(rule.audiences) or "everybody but you"
    note = f"  ({rule.note})" if rule.note else ""
    screen.line(f"{rule.id}  {action}: {what}  from {whom}{note}")


def _json(screen: Screen, document: dict[str, Any]) -> None:
    import msgspec

    screen.line(msgspec.json.encode(document).decode())
