"""`bethink users`: who may come in, and with which keys. The operator is who can read the data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json, add_yes

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_EPILOG = """\
Without users a Bethink answers to its own machine only, without a key. The first user that you add
has what was kept until then; from then on everybody who comes over the network needs a key."""


def register(commands: Commands) -> None:
    """Add the commands."""
    family = commands.add("users", None, "who may come in, and with which keys", epilog=_EPILOG)
    under = commands.under(family)
    add = under.add("add", add_user, "add a user")
    add.add_argument("--admin", action="store_true", help="an administrator, as the first user always is")
    listing = under.add("list", list_users, "list the users")
    disable = under.add("disable", disable_user, "keep a user out, at once; what they own stays")
    enable = under.add("enable", enable_user, "let a user in again")
    remove = under.add("remove", remove_user, "remove a user with all keys; asks first")
    remove.add_argument("--with-data", action="store_true", help="erase all that they own for good, too")
    add_yes(remove)
    password = under.add("password", set_password, "give a user a password for the page; typed, or piped in")
    for parser in (add, disable, enable, remove, password):
        parser.add_argument("name", metavar="NAME", help="the user's name")
    keys = commands.under(under.add("key", None, "keys of users"))
    new = keys.add("add", add_key, "make a key; it is shown this once")
    new.add_argument("name", metavar="NAME", help="the user's name")
    new.add_argument("--label", default="key", metavar="WORDS", help="what the key is for, such as `laptop`")
    new.add_argument(
        "--scopes", metavar="LIST", help="of read, write, chat, admin, separated by commas (read,write,chat)"
    )
    new.add_argument("--expires", metavar="WHEN", help="a number of days (90d) or a time (2027-01-01)")
    listed = keys.add("list", list_keys, "list keys, never their text")
    listed.add_argument("name", metavar="NAME", nargs="?", help="a user's; all without")
    revoke = keys.add("revoke", revoke_key, "end a key at once, in all processes")
    revoke.add_argument("id", metavar="ID", help="the key's id")
    for parser in (add, listing, disable, enable, remove, password, new, listed, revoke):
        add_json(parser)


def add_user(options: argparse.Namespace) -> int:
    """Add a user."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.add_user)


def list_users(options: argparse.Namespace) -> int:
    """List all users."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.list_users)


def disable_user(options: argparse.Namespace) -> int:
    """Keep one out."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.disable)


def enable_user(options: argparse.Namespace) -> int:
    """Let one in again."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.enable)


def remove_user(options: argparse.Namespace) -> int:
    """Remove one, with what they own if that is asked for."""
    from bethink.cli import users_removing, users_tending

    return users_tending.run(options, users_removing.remove)


def set_password(options: argparse.Namespace) -> int:
    """Give one a password."""
    from bethink.cli import users_removing, users_tending

    return users_tending.run(options, users_removing.password)


def add_key(options: argparse.Namespace) -> int:
    """Make a key."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.add_key)


def list_keys(options: argparse.Namespace) -> int:
    """List keys."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.list_keys)


def revoke_key(options: argparse.Namespace) -> int:
    """End a key."""
    from bethink.cli import users_tending

    return users_tending.run(options, users_tending.revoke_key)
