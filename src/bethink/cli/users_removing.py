"""`bethink users remove` and `bethink users password`: what asks first, or reads what nobody may see."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

import msgspec

from bethink.agent.removal import OwnerRemoval
from bethink.cli.exits import Exit
from bethink.errors import BadInput, UnknownId
from bethink.features import FEATURES
from bethink.principal import Principal

if TYPE_CHECKING:
    import argparse

    from bethink.accounts import User
    from bethink.agent.removal import RemovedOwner
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen

_NOBODY = "This cannot be undone, and nobody is here to agree to it: add --yes."
_ONE = {many: one for feature in FEATURES for many, (one, _) in feature.counted.items()}
_BACKUPS = "Backups and exports that were made before still hold it."


def remove(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Remove a user with all keys and sign-ins, after it was agreed to; and what they own if asked for."""
    register = session.app.accounts.register
    known = session.call(register.refresh)
    user = known.named(options.name.strip().lower())
    owner = user.id if user else options.name.strip()
    erasing = _erasing(session)
    counts = session.call(erasing.counted, owner)
    if user is None and not (options.with_data and any(counts.values())):
        message = f"There is no user {options.name[:80]!r}: `bethink users list` shows them."
        raise UnknownId(message)
    if not _agreed(screen, options, counts):
        screen.note("Nothing was removed.")
        return Exit.OK
    erased: RemovedOwner | None = None
    if options.with_data:
        if user is not None:
            # Nobody writes for them any more while everything goes.
            session.call(register.change_user, user.id, disabled=True)
        erased = session.call(erasing.erase, Principal(owner))
    if user is not None:
        session.call(register.remove_user, user.id)
    _tell(screen, user, erased, owner=owner)
    return Exit.OK


def password(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Give a user a password, typed twice or piped in; they are signed out everywhere."""
    register = session.app.accounts.register
    user = session.call(register.refresh).named(options.name.strip().lower())
    if user is None:
        message = f"There is no user {options.name[:80]!r}: `bethink users list` shows them."
        raise UnknownId(message)
    hashed = session.call(session.app.accounts.signing.passwords.hashed, _typed(screen))
    session.call(register.change_user, user.id, password=hashed)
    if options.json:
        screen.line(msgspec.json.encode({"user": user.name, "password": "set"}).decode())
    else:
        screen.line(f"{user.name} has a new password, and was signed out everywhere.")
    return Exit.OK


def _typed(screen: Screen) -> str:
    """The password.

    Raises:
        BadInput: none was given, or the two differ.
    """
    if not screen.can_ask:
        piped = sys.stdin.readline().rstrip("\r\n")
        if not piped:
            message = "Nobody is here to type a password: pipe it in as one line."
            raise BadInput(message)
        return piped
    first = getpass.getpass("New password: ")
    if first != getpass.getpass("Again: "):
        message = "The two are not the same: nothing was changed."
        raise BadInput(message)
    return first


def _erasing(session: Session) -> OwnerRemoval:
    app = session.app
    return OwnerRemoval(
        *(app.runs, app.features, app.vault, app.passages, app.ports.interpreters, app.settings.data_dir),
        shares=app.sharing is not None,
    )


def _agreed(screen: Screen, options: argparse.Namespace, counts: dict[str, int]) -> bool:
    if options.yes:
        return True
    if not screen.can_ask:
        raise BadInput(_NOBODY)
    if not options.with_data:
        question = f"Remove {options.name} with all keys and sign-ins? What they own is kept. [y/N] "
        return (screen.ask(question) or "").strip().lower() in ("y", "yes")
    screen.note(f"All of it goes for good: {_in_words(counts)}.")
    return (screen.ask(f"Type {options.name!r} to do it: ") or "").strip() == options.name


def _tell(screen: Screen, user: User | None, erased: RemovedOwner | None, *, owner: str) -> None:
    if screen.is_data:
        told = {"user": user.name if user else None, "owner": owner}
        shown = told if erased is None else {**told, "erased": erased.counts, "left": erased.left}
        screen.line(msgspec.json.encode(shown).decode())
        return
    if user is not None:
        screen.line(f"{user.name} is removed, with all keys and sign-ins.")
    if erased is None:
        screen.note(f"What they own is kept. To erase it: bethink users remove {owner} --with-data")
        return
    screen.line(f"Erased for good: {_in_words(erased.counts)}.")
    for line in (*erased.left, _BACKUPS):
        screen.note(line)


def _in_words(counts: dict[str, int]) -> str:
    told = [f"{count:,} {_ONE[name] if count == 1 else name}" for name, count in counts.items() if count]
    return ", ".join(told) or "nothing"
