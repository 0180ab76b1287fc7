"""Who may come in."""

from __future__ import annotations

import pytest

from bethink.accounts import Accounts, is_loopback
from bethink.errors import NotAllowed

LOOPBACK = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "localhost",
    "LOCALHOST.",
    "app.localhost",
]
ELSEWHERE = [
    "",
    "0.0.0.0",  # noqa: S104 - refused
    "::",
    "::ffff:192.0.2.1",
    "::ffff:0.0.0.0",
    "192.168.1.5",
    "10.0.0.1",
    "169.254.0.1",
    "fe80::1",
    "2001:db8::1",
    "localhost.example.org",
    "notlocalhost",
    "127.0.0.1.example.org",
    "128.0.0.1",
    "2130706433",
    "example.org",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_names_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)
    Accounts().check_bind(host)
    principal = Accounts("Europe/Paris").authenticate(audience="web", peer=host)
    assert (principal.owner, principal.audience, principal.time_zone) == ("local", "web", "Europe/Paris")


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("host", ELSEWHERE)
def test_whatever_may_be_another_machine_is_refused(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(NotAllowed, match="only to the machine"):
        Accounts().authenticate(audience="web", peer=host)
    with pytest.raises(NotAllowed, match=r"Bind 127\.0\.0\.1"):
        Accounts().check_bind(host)


def test_a_caller_in_this_process_is_the_local_owner() -> None:
    assert Accounts().authenticate(audience="cli").owner == "local"
