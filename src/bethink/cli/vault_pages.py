"""What the commands of `bethink vault` do with pages: a call or two of the vault, its result as lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from bethink.cli.exits import Exit
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, counted, one_line
from bethink.clock import shown_in, to_datetime
from bethink.errors import BadInput, NoSuchPage
from bethink.vault.files.context import GONE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from bethink.cli.session import Session
    from bethink.vault import Change, Entry, PageVersion

_WHO = {
    "person": "you",
    "agent": "the agent",
    "outside": "another program",
    "import": "an import",
    "mirror": "a memory",
}


def run(options: argparse.Namespace) -> int:
    """Do what `options.action` names, on the files as they are now."""
    with opened(options) as session:
        screen = Screen.of_process(is_data=options.json)
        if options.action != "sync":
            session.call(session.app.vault.sync, session.principal.owner)
        return _ACTIONS[options.action](session, screen, options)


def _init(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    made = session.call(session.app.vault.begin, session.principal)
    root = str(session.app.vault.root(session.principal.owner))
    synced = session.call(session.app.vault.sync, session.principal.owner)
    if options.json:
        _json(screen, {"path": root, "made": made, "pages": synced.pages})
    else:
        screen.line(
            f"The vault is at {root}" + ("" if made else f" already, with {counted(synced.pages, 'page')}")
        )
    return Exit.OK


def _list(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault, owner = session.app.vault, session.principal.owner
    entries = session.call(vault.listed, owner, options.folder, deep=options.deep)
    for entry in entries:
        if options.json:
            _json(screen, msgspec.to_builtins(entry))
        else:
            screen.line(_listed(entry, session.principal.time_zone))
    if not entries and session.call(vault.is_lost, owner):
        screen.note(GONE)
    elif not entries:
        screen.note("There are no pages here yet: `bethink vault init` makes the first one.")
    return Exit.OK


def _listed(entry: Entry, zone: str) -> str:
    if entry.is_folder:
        return f"{'':>16}  {'':>9}  {one_line(entry.path)}/"
    told = f"  ({entry.trouble})" if entry.trouble else ""
    when = _when(entry.changed, zone) if entry.changed else ""
    return f"{when:>16}  {entry.size:>9,}  {one_line(entry.path)}{told}"


def _show(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault, owner = session.app.vault, session.principal.owner
    if options.version is None:
        page = session.call(vault.read, owner, options.path)
    else:
        page = session.call(vault.version, owner, options.path, options.version)
    if options.json:
        _json(screen, msgspec.to_builtins(page))
    else:
        screen.text(page.text)
    return Exit.OK


def _history(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    for version in session.call(session.app.vault.history, session.principal.owner, options.path):
        if options.json:
            _json(screen, msgspec.to_builtins(version))
        else:
            screen.line(_told(version, session.principal.time_zone))
    return Exit.OK


def _told(version: PageVersion, zone: str) -> str:
    what = f"moved from {version.was}" if version.was else version.what
    note = f"  {one_line(version.note)}" if version.note else ""
    return f"{version.id}  {_when(version.at, zone)}  {what} by {_WHO[version.by]}{note}"


def _diff(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault, owner = session.app.vault, session.principal.owner
    id = options.version
    if id is None:
        id = session.call(vault.history, owner, options.path)[0].id
    diff = session.call(vault.versions.diff, owner, options.path, id, against=options.against)
    if options.json:
        _json(screen, {"path": options.path, "version": id, "diff": diff})
    else:
        screen.text(diff)
    return Exit.OK


def _edit(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault, me = session.app.vault, session.principal
    try:
        page = session.call(vault.read, me.owner, options.path)
    except NoSuchPage:
        page = None
    old = "" if page is None else page.text
    if options.stdin:
        text = _piped()
    elif screen.can_ask and screen.editor:
        text = screen.edit(old, ".md")
    else:
        raise BadInput("Set EDITOR to edit a page, or pipe it in with --stdin.")
    change = session.call(
        vault.write,
        me,
        options.path,
        text,
        if_version="" if page is None else page.version,
        by="person",
        note=options.note,
    )
    return _changed(screen, change, options)


def _piped() -> str:
    """What is piped in, to the byte: a mark at its beginning is the page's own."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"What is piped in is not UTF-8 text (at byte {error.start:,}).") from error


def _move(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    if options.links:
        mover = session.app.vault_tools.moving
        moved, followed = session.call(mover.move, session.principal, options.path, options.to, by="person")
        for change in followed:
            _changed(screen, change, options)
    else:
        moved = session.call(session.app.vault.move, session.principal, options.path, options.to, by="person")
    return _changed(screen, moved, options)


def _delete(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    deleted = session.call(session.app.vault.delete, session.principal, options.path, by="person")
    return _changed(screen, deleted, options)


def _restore(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault = session.app.vault
    return _changed(
        screen, session.call(vault.restore, session.principal, options.path, options.version), options
    )


def _undo(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    for token in options.token:
        _changed(screen, session.call(session.app.vault.undo, session.principal, token), options)
    return Exit.OK


def _changed(screen: Screen, change: Change, options: argparse.Namespace) -> int:
    if options.json:
        _json(screen, msgspec.to_builtins(change))
        return Exit.OK
    if change.before == change.after and change.moved_from is None:
        screen.line(f"Nothing changed: {change.path}")
        return Exit.OK
    if change.moved_from is not None:
        screen.line(f"Moved: {change.moved_from} is {change.path} now")
    elif change.after is None:
        screen.line(f"Deleted: {change.path}")
    else:
        screen.line(f"{'Written' if change.before else 'Created'}: {change.path}")
    if change.undo is not None:
        screen.note(f"undo: bethink vault undo {change.undo}")
    return Exit.OK


def _vouch(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    change = session.call(session.app.vault.vouch, session.principal, options.path)
    if options.json:
        _json(screen, {"path": change.path, "vouched": change.undo is not None})
    else:
        screen.line(f"{change.path} counts as your own words.")
    return Exit.OK


def _sync(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    vault, owner = session.app.vault, session.principal.owner
    synced = session.call(vault.sync, owner, rebuild=options.rebuild)
    session.app.background.ask_vectors(owner)
    if options.json:
        _json(screen, msgspec.to_builtins(synced))
        return Exit.OK
    screen.line(
        f"{counted(synced.pages, 'page')}: {synced.taken:,} read anew, {synced.moved:,} moved,"
        f" {synced.lost:,} gone"
    )
    for path, why in session.call(vault.state, owner).troubles:
        screen.note(f"not read: {one_line(path)}: {why}", "yellow")
    return Exit.OK


def _when(at: int, zone: str) -> str:
    return f"{shown_in(ZoneInfo(zone), to_datetime(at)):%Y-%m-%d %H:%M}"


def _json(screen: Screen, value: dict[str, Any]) -> None:
    screen.line(msgspec.json.encode(value).decode())


_ACTIONS: dict[str, Callable[[Session, Screen, argparse.Namespace], int]] = {
    "init": _init,
    "list": _list,
    "show": _show,
    "history": _history,
    "diff": _diff,
    "edit": _edit,
    "move": _move,
    "delete": _delete,
    "restore": _restore,
    "vouch": _vouch,
    "undo": _undo,
    "sync": _sync,
}
