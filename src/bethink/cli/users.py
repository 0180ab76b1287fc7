"""`bethink users`: manage users and their keys. Everybody who can read the data directory is an operator.

A `serve` that runs beside it hears of each change at once.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from bethink.cli.commands import YES, Commands, arg
from bethink.cli.terminal import Screen, counted, one_line, piped_line, rfc3339
from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.accounts import Key, User
    from bethink.accounts.register import Grant
    from bethink.agent.removal import RemovedOwner
    from bethink.cli.session import Session

_EPILOG = """\
Without users, only this machine can connect, without a key. The first user that you add owns all
existing data; from then on every client needs a key."""
_DAYS = re.compile(r"(\d{1,5})d")
_COLUMN = 24
_NEXT = "From now on every client needs a key: bethink users key add {} --label laptop"
_ONCE = "This is the key. It is shown only once: copy it now."
_NOBODY = "This cannot be undone, and there is no terminal to ask: add --yes."
_BACKUPS = "Backups and exports that were made before still contain it."
COMMANDS = Commands(_EPILOG, is_operators=True)
_USER = arg("name NAME", "the user's name")


@COMMANDS.add("add", arg("--admin", "an administrator, as the first user always is"), _USER)
def _add(session: Session, options: Namespace) -> None:
    """Add a user."""
    user = session.call(session.app.accounts.register.add_user, options.name, is_admin=options.admin)
    _show_user(session, user, 0)
    session.screen.note(_NEXT.format(user.name))


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """List the users."""
    known = session.call(session.app.accounts.register.refresh)
    now = session.app.ports.clock.now_us()
    for user in known.users.values():
        _show_user(session, user, sum(key.is_live(now) for key in known.keys_of(user.id)))
    if not known.users:
        session.screen.note("There are no users: only this machine can connect, without a key.")


@COMMANDS.add("disable", _USER)
def _disable(session: Session, options: Namespace) -> None:
    """Keep a user out, at once; what they own stays."""
    _set_disabled(session, options, disabled=True)


@COMMANDS.add("enable", _USER)
def _enable(session: Session, options: Namespace) -> None:
    """Let a user in again."""
    _set_disabled(session, options, disabled=False)


def _set_disabled(session: Session, options: Namespace, *, disabled: bool) -> None:
    user, register = _named(session, options.name), session.app.accounts.register
    _show_user(session, session.call(register.change_user, user.id, disabled=disabled))


@COMMANDS.add("remove", arg("--with-data", "also erase all their data for good"), YES, _USER)
def _remove(session: Session, options: Namespace) -> None:
    """Remove a user with all keys; asks first."""
    from bethink.agent.removal import OwnerRemoval
    from bethink.principal import Principal

    app, register = session.app, session.app.accounts.register
    user = session.call(register.refresh).named(options.name.strip().lower())
    owner = user.id if user else options.name.strip()
    erasing = OwnerRemoval(
        app.runs,
        app.features,
        app.vault,
        app.passages,
        app.ports.interpreters,
        app.settings.data_dir,
        shares=app.sharing is not None,
    )
    counts = session.call(erasing.counted, owner)
    if user is None and not (options.with_data and any(counts.values())):
        raise _unknown(options.name)
    if not _is_agreed(session.screen, options, counts):
        session.screen.note("Nothing was removed.")
        return
    erased: RemovedOwner | None = None
    if options.with_data:
        if user is not None:
            # Nobody writes for them any more while everything goes.
            session.call(register.change_user, user.id, disabled=True)
        erased = session.call(erasing.erase, Principal(owner))
    if user is not None:
        session.call(register.remove_user, user.id)
    _show_removed(session.screen, user, erased, owner=owner)


def _is_agreed(screen: Screen, options: Namespace, counts: dict[str, int]) -> bool:
    if options.yes:
        return True
    if not screen.can_ask:
        raise BadInput(_NOBODY)
    if not options.with_data:
        return screen.agrees(f"Remove {options.name} with all keys and sign-ins? Their data is kept. [y/N] ")
    screen.note(f"All of this is erased for good: {_in_words(counts)}.")
    return (screen.ask(f"Type {options.name!r} to do it: ") or "").strip() == options.name


def _show_removed(screen: Screen, user: User | None, erased: RemovedOwner | None, *, owner: str) -> None:
    document = {"user": user.name if user else None, "owner": owner}
    lines = [] if user is None else [f"{user.name} is removed, with all keys and sign-ins."]
    notes = [f"Their data is kept. To erase it: bethink users remove {owner} --with-data"]
    if erased is not None:
        document |= {"erased": erased.counts, "left": erased.left}
        lines.append(f"Erased for good: {_in_words(erased.counts)}.")
        notes = [*erased.left, _BACKUPS]
    screen.result(document, *lines)
    for note in notes:
        screen.remark(note)


def _in_words(counts: dict[str, int]) -> str:
    from bethink.features import FEATURES

    one = {many: one for feature in FEATURES for many, (one, _) in feature.counted.items()}
    told = [f"{count:,} {one[name] if count == 1 else name}" for name, count in counts.items() if count]
    return ", ".join(told) or "nothing"


@COMMANDS.add("password", _USER)
def _set_password(session: Session, options: Namespace) -> None:
    """Give a user a password for the page; typed, or piped in."""
    user, accounts = _named(session, options.name), session.app.accounts
    hashed = session.call(accounts.signing.passwords.hashed, _typed_password(session.screen))
    session.call(accounts.register.change_user, user.id, password=hashed)
    told = f"{user.name} has a new password, and was signed out everywhere."
    session.screen.result({"user": user.name, "password": "set"}, told)


def _typed_password(screen: Screen) -> str:
    import getpass

    if not screen.can_ask:
        return piped_line("a password")
    try:
        first = getpass.getpass("New password: ")
        again = getpass.getpass("Again: ")
    except EOFError:
        raise BadInput("No password was typed: nothing was changed.") from None
    if first != again:
        raise BadInput("The two passwords differ: nothing was changed.")
    return first


COMMANDS.group("key", "keys of users")


@COMMANDS.add(
    "key add",
    _USER,
    arg("--label WORDS", "what the key is for, such as `laptop`", default="key"),
    arg("--scopes LIST", "of read, write, chat, admin, separated by commas (read,write,chat)"),
    arg("--expires WHEN", "a number of days (90d) or a time (2027-01-01)"),
)
def _add_key(session: Session, options: Namespace) -> None:
    """Make a key; it is shown this once."""
    from bethink.accounts.register import USUAL

    scopes = [part.strip() for part in options.scopes.split(",")] if options.scopes else USUAL
    expires, user = _end(session, options.expires), _named(session, options.name)
    register = session.app.accounts.register
    made = session.call(register.add_key, user.id, options.label, scopes=scopes, expires_at=expires)
    session.screen.remark(_ONCE)
    document, line = _shown_key(session, made.key)
    session.screen.result({**document, "key": made.text}, made.text)
    if not session.screen.is_data:
        Screen(out=session.screen.err).line(line)


@COMMANDS.add("key list", arg("name NAME?", "a user's; all without"))
def _list_keys(session: Session, options: Namespace) -> None:
    """List keys, never their text."""
    known = session.call(session.app.accounts.register.refresh)
    whose = _named(session, options.name).id if options.name else None
    keys = [key for key in known.keys.values() if whose in (None, key.user)]
    uses = session.call(session.app.accounts.last_uses, [key.id for key in keys])
    for key in keys:
        session.screen.result(*_shown_key(session, key, uses.get(key.id)))
    if not keys:
        session.screen.note("There are no keys.")


@COMMANDS.add("key revoke", arg("id ID", "the key's id"))
def _revoke_key(session: Session, options: Namespace) -> None:
    """End a key at once, in all processes."""
    key = session.call(session.app.accounts.register.revoke_key, options.id)
    session.screen.result(*_shown_key(session, key))


COMMANDS.group("grant", "programs that users let use /mcp")


@COMMANDS.add("grant list", arg("name NAME?", "a user's; all without"))
def _list_grants(session: Session, options: Namespace) -> None:
    """List the programs that users let use /mcp by signing in (OAuth)."""
    whose = _named(session, options.name).id if options.name else None
    session.call(session.app.accounts.register.refresh)
    grants = session.call(session.app.accounts.grants.of, whose)
    for grant in grants:
        session.screen.result(*_shown_grant(session, grant))
    if not grants:
        session.screen.note("No program was let in.")


@COMMANDS.add("grant revoke", arg("id ID", "the grant's id"))
def _revoke_grant(session: Session, options: Namespace) -> None:
    """End what a program may do at once, in all processes."""
    grant = session.call(session.app.accounts.register.end_grant, options.id)
    session.screen.result(*_shown_grant(session, grant))


def _named(session: Session, name: str) -> User:
    user = session.call(session.app.accounts.register.refresh).named(name.strip().lower())
    if user is None:
        raise _unknown(name)
    return user


def _unknown(name: str) -> UnknownId:
    return UnknownId(f"There is no user {name[:80]!r}: `bethink users list` shows them.")


def _end(session: Session, text: str | None) -> int | None:
    if text is not None and (days := _DAYS.fullmatch(text.strip())) is not None:
        try:
            return to_us(to_datetime(session.app.ports.clock.now_us()) + timedelta(days=int(days[1])))
        except OverflowError as error:
            raise BadInput(f"{text!r} is too far away.") from error
    end = session.moment(text)
    return None if end is None else to_us(end.astimezone(UTC))


def _show_user(session: Session, user: User, live: int | None = None) -> None:
    state = "disabled" if user.disabled_at is not None else "enabled"
    since = rfc3339(user.created_at) or ""
    document = {
        "id": user.id,
        "name": user.name,
        "admin": user.is_admin,
        "state": state,
        "created_at": since,
        **({} if live is None else {"live_keys": live}),
    }
    keys = "" if live is None else f", {counted(live, 'live key')}"
    role = "administrator" if user.is_admin else "user"
    session.screen.result(document, f"{state:<9} {user.name:<{_COLUMN}} {role}{keys}, since {since[:10]}")


def _shown_grant(session: Session, grant: Grant) -> tuple[dict[str, Any], str]:
    user = session.app.accounts.register.last_known.users.get(grant.user)
    name, renewed = user.name if user else grant.user, rfc3339(grant.renewed_at)
    document = {
        "id": grant.id,
        "user": name,
        "client": grant.client_name,
        "redirect_uri": grant.redirect_uri,
        "scopes": grant.scopes,
        "created_at": rfc3339(grant.created_at),
        "renewed_at": renewed,
    }
    told = f"{', '.join(grant.scopes)}, last renewed {(renewed or '')[:16]}"
    return document, f"{grant.id}  {name:<{_COLUMN}} {one_line(grant.client_name, 40)}: {told}"


def _shown_key(session: Session, key: Key, used: int | None = None) -> tuple[dict[str, Any], str]:
    user = session.app.accounts.register.last_known.users.get(key.user)
    name = user.name if user else key.user
    state = key.state(session.app.ports.clock.now_us())
    expires, last = rfc3339(key.expires_at), rfc3339(used)
    document = {
        "id": key.id,
        "user": name,
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes,
        "state": state,
        "created_at": rfc3339(key.created_at),
        "expires_at": expires,
        "last_used_at": last,
    }
    told = [", ".join(key.scopes)]
    told += [f"until {expires[:16]}"] if expires else []
    told += [f"last used {last[:16]}"] if last else []
    label = f"{one_line(key.name, 40)} (…{key.hint})"
    return document, f"{state:<9} {key.id}  {name:<{_COLUMN}} {label}: {', '.join(told)}"
