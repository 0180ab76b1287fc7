"""The doctor's look at users and keys: can who should come in do so, and does anything lie about?"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from bethink.accounts import is_loopback
from bethink.cli.check import Check, broken, off, ok
from bethink.cli.session import opened
from bethink.errors import BethinkError

if TYPE_CHECKING:
    from bethink.accounts.register import AccountsSnapshot
    from bethink.settings import Settings

_PART = "users and keys"


def users(options: Namespace, settings: Settings) -> Check:
    """How many users and keys there are, and what keeps somebody out."""
    # Who looks is the operator, whatever user the environment names.
    asked = Namespace(**{**vars(options), "user": ""})
    try:
        with opened(asked) as session:
            known = session.call(session.app.accounts.register.refresh)
            now = session.app.ports.clock.now_us()
    except BethinkError as error:
        return broken(_PART, error.message)
    is_bound = settings.needs_users or not is_loopback(settings.host)
    if is_bound and not known.has_way_in(now):
        message = "others can reach this Bethink, but nobody has a live key: `bethink users key add NAME`"
        return broken(_PART, message if known.users else f"{message}, after `bethink users add NAME`")
    if not known.users:
        return ok(_PART, "none: it answers to its own machine, without a key")
    told = _counted(known, now)
    if shut := _shut_out(known, now):
        message = f"{told}; {', '.join(shut)} cannot come in: `bethink users key add NAME` makes a key."
        return off(_PART, message)
    return ok(_PART, told)


def _counted(known: AccountsSnapshot, now_us: int) -> str:
    keys = known.keys.values()
    live = sum(key.is_live(now_us) for key in keys)
    revoked = sum(key.revoked_at is not None for key in keys)
    disabled = sum(user.disabled_at is not None for user in known.users.values())
    users = f"{len(known.users)} {'user' if len(known.users) == 1 else 'users'}"
    shut = f", {disabled} disabled" if disabled else ""
    ended = f"{len(keys) - live - revoked} expired, {revoked} revoked"
    return f"{users}{shut}; {live} live {'key' if live == 1 else 'keys'}, {ended}"


def _shut_out(known: AccountsSnapshot, now_us: int) -> list[str]:
    """Enabled users with neither a live key nor a password, administrators said to be such."""
    return [
        f"{user.name} (administrator)" if user.is_admin else user.name
        for user in known.users.values()
        if user.disabled_at is None
        and user.password is None
        and not any(key.is_live(now_us) for key in known.keys_of(user.id))
    ]
