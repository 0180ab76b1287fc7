"""`bethink users`: users and keys at the command line."""

from __future__ import annotations

import anyio
import pytest

from bethink.app import open_app
from bethink.settings import Settings
from tests.command_line import CommandLine
from tests.traces import left_of


@pytest.mark.requirement("R181")
def test_a_user_and_their_key_are_made_listed_and_ended(plain: CommandLine) -> None:
    plain("memory", "add", "The owner has a dog")
    (ann,) = plain("users", "add", "Ann", "--json").documents
    assert (ann["id"], ann["name"], ann["admin"], ann["live_keys"]) == ("local", "ann", True, 0)
    (key,) = plain(
        "users",
        "key",
        "add",
        "ann",
        "--label",
        "laptop",
        "--expires",
        "90d",
        "--scopes",
        "read,chat",
        "--json",
    ).documents
    assert key["key"].startswith("bk_")
    assert (key["name"], key["scopes"], key["state"]) == ("laptop", ["read", "chat"], "live")
    listed = plain("users", "key", "list", "--json")
    assert key["key"] not in listed.out
    assert [one["id"] for one in listed.documents] == [key["id"]]
    assert plain("users", "key", "revoke", key["id"], "--json").documents[0]["state"] == "revoked"
    assert plain("users", "disable", "ann", "--json").documents[0]["state"] == "disabled"
    assert plain("users", "enable", "ann", "--json").documents[0]["state"] == "enabled"


def test_a_key_is_the_only_thing_on_standard_output(plain: CommandLine) -> None:
    plain("users", "add", "ann")
    made = plain("users", "key", "add", "ann")
    assert made.out.startswith("bk_")
    assert made.out.count("\n") == 1
    assert "only once" in made.err
    for path in plain.data.rglob("*"):
        if path.is_file():
            assert made.out.strip().encode() not in path.read_bytes()


def test_what_cannot_be_is_bad_usage(plain: CommandLine) -> None:
    plain("users", "add", "ann")
    assert plain("users", "add", "ANN").code == 2
    assert plain("users", "add", "a b").code == 2
    assert plain("users", "disable", "eve").code == 2
    assert plain("users", "key", "add", "eve").code == 2
    assert plain("users", "key", "revoke", "x").code == 2
    assert plain("users", "key", "add", "ann", "--scopes", "all").code == 2
    assert plain("users", "key", "add", "ann", "--expires", "2020-01-01").code == 2
    assert plain("users", "key", "add", "ann", "--expires", "99999d").code == 0
    assert plain("users", "key", "add", "ann", "--expires", "soon").code == 2


def test_the_command_line_acts_for_the_user_who_is_named(plain: CommandLine) -> None:
    plain("memory", "add", "The owner has a dog")
    plain("users", "add", "ann")
    plain("users", "add", "bob")
    bob = plain.setting(BETHINK_USER="bob")
    assert bob.facts() == set()
    bob("memory", "add", "Bob has a cat")
    assert plain("memory", "list", "--all", "--json", "--user", "bob").out.count("\n") == 1
    assert plain.facts() == {"The owner has a dog"}
    assert plain("memory", "list", "--user", "eve").code == 2
    assert plain("users", "list", "--user", "eve", "--json").code == 0
    assert "live" in plain("users", "list").out


def test_a_removed_user_is_gone_and_what_they_own_stays_until_it_is_erased(plain: CommandLine) -> None:
    plain("users", "add", "ann")
    (bob,) = plain("users", "add", "bob", "--json").documents
    plain("users", "key", "add", "bob")
    plain("memory", "add", "The user was a clerk at Zembrovia", "--user", "bob")
    assert plain("users", "remove", "bob").code == 2
    assert "add --yes" in plain("users", "remove", "bob").err
    assert plain("users", "remove", "eve", "--yes").code == 2
    removed = plain("users", "remove", "bob", "--yes")
    assert "removed, with all keys" in removed.out
    assert f"bethink users remove {bob['id']} --with-data" in removed.err
    assert [user["name"] for user in plain("users", "list", "--json").documents] == ["ann"]
    assert plain("users", "key", "list", "--json").documents == []
    assert left_of(["zembrovia"], plain.data)
    (erased,) = plain("users", "remove", bob["id"], "--with-data", "--yes", "--json").documents
    assert (erased["user"], erased["owner"]) == (None, bob["id"])
    assert erased["erased"]["memories"] == 1
    assert left_of(["zembrovia"], plain.data) == []
    assert plain("users", "remove", bob["id"], "--with-data", "--yes").code == 2


def test_a_user_is_removed_with_all_data_at_once(plain: CommandLine) -> None:
    plain("memory", "add", "The user was a clerk at Zembrovia")
    plain("users", "add", "ann")
    told = plain("users", "remove", "ann", "--with-data", "--yes")
    assert "Erased for good: 1 memory" in told.out
    assert "Backups" in told.err
    assert left_of(["zembrovia"], plain.data) == []
    assert plain("users", "list", "--json").documents == []


def test_a_password_is_piped_in_and_opens_the_door(plain: CommandLine) -> None:
    plain("users", "add", "ann")
    assert plain("users", "password", "ann", piped="short\n").code == 2
    assert plain("users", "password", "ann").code == 2
    assert plain("users", "password", "eve", piped="correct horse battery\n").code == 2
    told = plain("users", "password", "ann", piped="correct horse battery\n")
    assert "new password" in told.out
    assert "horse" not in told.out + told.err

    async def fits(password: str) -> bool:
        async with open_app(Settings(data_dir=plain.data)) as app:
            user = (await app.accounts.register.refresh()).named("ann")
            return user is not None and await app.accounts.signing.passwords.fits(password, user.password)

    assert anyio.run(fits, "correct horse battery")
    assert not anyio.run(fits, "correct horse")
