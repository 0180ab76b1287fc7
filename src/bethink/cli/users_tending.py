"""What `bethink users` does, beside a `serve` that may run: it hears of each change at once."""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from bethink.accounts.rights import USUAL
from bethink.cli.exits import Exit
from bethink.cli.moments import moment
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, one_line
from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from bethink.accounts import Key, Register, User
    from bethink.cli.session import Session

_DAYS = re.compile(r"(\d{1,5})d")
_COLUMN = 24
_NEXT = "Nobody comes in over the network without a key from now on: bethink users key add {} --label laptop"
_ONCE = "This is the key. It is shown this once and kept nowhere: put it where it belongs now."


def run(options: argparse.Namespace, command: Callable[[Session, Screen, argparse.Namespace], int]) -> int:
    """A command on an open session."""
    # Who acts here is the operator, whatever user the environment names.
    options.user = ""
    with opened(options) as session:
        return command(session, Screen.of_process(is_data=options.json), options)


def add_user(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Add a user, and say what is next."""
    user = session.call(_register(session).add_user, options.name, is_admin=options.admin)
    _tell_user(screen, user, 0, is_json=options.json)
    screen.note(_NEXT.format(user.name))
    return Exit.OK


def list_users(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """A line for each user."""
    known = session.call(_register(session).refresh)
    now = session.app.ports.clock.now_us()
    for user in known.users.values():
        live = sum(key.is_live(now) for key in known.keys_of(user.id))
        _tell_user(screen, user, live, is_json=options.json)
    if not known.users:
        screen.note("There are no users: this Bethink answers to its own machine, without a key.")
    return Exit.OK


def disable(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Keep one out."""
    return _set_disabled(session, screen, options, disabled=True)


def enable(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Let one in again."""
    return _set_disabled(session, screen, options, disabled=False)


def add_key(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Make a key and show it this once."""
    scopes = [part.strip() for part in options.scopes.split(",")] if options.scopes else USUAL
    expires = _end(session, options.expires)
    user = _named(session, options.name)
    made = session.call(_register(session).add_key, user.id, options.label, scopes=scopes, expires_at=expires)
    if options.json:
        screen.line(msgspec.json.encode({**_shown_key(session, made.key), "key": made.text}).decode())
        return Exit.OK
    screen.note(_ONCE)
    screen.line(made.text)
    _tell_key(session, Screen(out=screen.err), made.key, is_json=False)
    return Exit.OK


def list_keys(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """A line for each key."""
    known = session.call(_register(session).refresh)
    whose = _named(session, options.name).id if options.name else None
    keys = [key for key in known.keys.values() if whose in (None, key.user)]
    uses = session.call(session.app.accounts.last_uses, [key.id for key in keys])
    for key in keys:
        _tell_key(session, screen, key, is_json=options.json, used=uses.get(key.id))
    if not keys:
        screen.note("There are no keys.")
    return Exit.OK


def revoke_key(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """End a key."""
    key = session.call(_register(session).revoke_key, options.id)
    _tell_key(session, screen, key, is_json=options.json)
    return Exit.OK


def _register(session: Session) -> Register:
    return session.app.accounts.register


def _named(session: Session, name: str) -> User:
    user = session.call(_register(session).refresh).named(name.strip().lower())
    if user is None:
        message = f"There is no user {name[:80]!r}: `bethink users list` shows them."
        raise UnknownId(message)
    return user


def _set_disabled(session: Session, screen: Screen, options: argparse.Namespace, *, disabled: bool) -> int:
    user = session.call(_register(session).change_user, _named(session, options.name).id, disabled=disabled)
    _tell_user(screen, user, None, is_json=options.json)
    return Exit.OK


def _end(session: Session, text: str | None) -> int | None:
    if text is None:
        return None
    if (days := _DAYS.fullmatch(text.strip())) is not None:
        try:
            return to_us(to_datetime(session.app.ports.clock.now_us()) + timedelta(days=int(days[1])))
        except OverflowError as error:
            message = f"{text!r} is too far away."
            raise BadInput(message) from error
    end = moment(text, ZoneInfo(session.principal.time_zone))
    return None if end is None else to_us(end.astimezone(UTC))


def _tell_user(screen: Screen, user: User, live: int | None, *, is_json: bool) -> None:
    state = "disabled" if user.disabled_at is not None else "enabled"
    if is_json:
        shown: dict[str, Any] = {
            "id": user.id,
            "name": user.name,
            "admin": user.is_admin,
            "state": state,
            "created_at": _time(user.created_at),
        }
        screen.line(msgspec.json.encode(shown if live is None else {**shown, "live_keys": live}).decode())
        return
    keys = "" if live is None else f", {live} live {'key' if live == 1 else 'keys'}"
    role = "administrator" if user.is_admin else "user"
    screen.line(f"{state:<9} {user.name:<{_COLUMN}} {role}{keys}, since {_time(user.created_at)[:10]}")


def _tell_key(session: Session, screen: Screen, key: Key, *, is_json: bool, used: int | None = None) -> None:
    shown = _shown_key(session, key, used)
    if is_json:
        screen.line(msgspec.json.encode(shown).decode())
        return
    end = f", until {shown['expires_at'][:16]}" if shown["expires_at"] else ""
    last = f", last used {shown['last_used_at'][:16]}" if shown["last_used_at"] else ""
    screen.line(
        f"{shown['state']:<9} {key.id}  {shown['user']:<{_COLUMN}} {one_line(key.name, 40)} (…{key.hint}): "
        f"{', '.join(key.scopes)}{end}{last}"
    )


def _shown_key(session: Session, key: Key, used: int | None = None) -> dict[str, Any]:
    user = _register(session).last_known.users.get(key.user)
    now = session.app.ports.clock.now_us()
    state = "revoked" if key.revoked_at is not None else "live" if key.is_live(now) else "expired"
    return {
        "id": key.id,
        "user": user.name if user else key.user,
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes,
        "state": state,
        "created_at": _time(key.created_at),
        "expires_at": key.expires_at and _time(key.expires_at),
        "last_used_at": used and _time(used),
    }


def _time(at: int) -> str:
    return to_datetime(at).isoformat().replace("+00:00", "Z")
