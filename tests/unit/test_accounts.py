"""Who may come in: names and addresses, keys, users, and that what is over is over at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from bethink.accounts import Accounts, Register, is_loopback
from bethink.accounts.register import OWNER
from bethink.clock import FakeClock, Ids
from bethink.engines.memory import MemoryBus, MemoryHub, MemoryIndex, MemoryStore
from bethink.errors import BadInput, NotAllowed, NotSignedIn, UnknownId
from bethink.principal import Principal
from bethink.store import Store
from bethink.telemetry import Supervisor

pytestmark = pytest.mark.anyio

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
PEER = "203.0.113.9"


class Ticks:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def accounts_of(
    store: Store | None = None,
    *,
    clock: FakeClock | None = None,
    hub: MemoryHub | None = None,
    ticks: Ticks | None = None,
    needs_users: bool = False,
    user: str = "",
) -> Accounts:
    clock = clock or FakeClock()
    register = Register(
        store or MemoryStore(MemoryIndex()), clock, MemoryBus(hub), Ids(clock), ticks or Ticks()
    )
    return Accounts(register, "Europe/Paris", user, needs_users)


async def came_in(accounts: Accounts, credential: str | None, *, peer: str = PEER) -> Principal:
    return await accounts.authenticate(audience="web", peer=peer, credential=credential)


@pytest.mark.parametrize("host", LOOPBACK)
async def test_names_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)
    accounts = accounts_of()
    await accounts.check_bind(host)
    principal = await came_in(accounts, None, peer=host)
    assert (principal.owner, principal.audience, principal.time_zone) == ("local", "web", "Europe/Paris")


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("host", ELSEWHERE)
async def test_whatever_may_be_another_machine_is_refused(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(NotAllowed, match="only from its own machine"):
        await came_in(accounts_of(), None, peer=host)
    assert await accounts_of().check_bind(host), "the first user is to be made before anything else"


async def test_a_caller_in_this_process_is_the_local_owner() -> None:
    principal = await accounts_of().authenticate(audience="cli")
    assert (principal.owner, principal.rights) == ("local", {"read", "write", "chat", "admin"})


async def test_who_works_in_this_process_may_act_for_any_user() -> None:
    store = MemoryStore(MemoryIndex())
    accounts = accounts_of(store)
    await accounts.register.add_user("ann")
    bob = await accounts.register.add_user("bob")
    assert (await accounts_of(store, user=" BOB ").authenticate(audience="cli")).owner == bob.id
    assert (await accounts_of(store).authenticate(audience="cli")).owner == "local"
    with pytest.raises(BadInput, match="no user 'eve'"):
        await accounts_of(store, user="eve").authenticate(audience="cli")


async def test_the_first_user_has_what_the_local_owner_had_and_others_begin_anew() -> None:
    register = accounts_of().register
    ann, bob = await register.add_user("Ann"), await register.add_user("bob")
    assert (ann.id, ann.name, ann.is_admin) == ("local", "ann", True)
    assert bob.id not in ("local", OWNER)
    assert not bob.is_admin


@pytest.mark.parametrize(
    "name", ["", " ", "~accounts", "a b", "-x", "é", "ａnn", "a" * 65, "a/b", "\u202eann", "a\0"]
)
async def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be a user's name"):
        await accounts_of().register.add_user(name)


async def test_two_users_cannot_have_one_name() -> None:
    register = accounts_of().register
    await register.add_user("ann")
    with pytest.raises(BadInput, match="already"):
        await register.add_user("ANN")


async def test_two_processes_that_add_a_user_at_once_make_only_one_the_first() -> None:
    store = MemoryStore(MemoryIndex())
    one, other = accounts_of(store).register, accounts_of(store).register
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.add_user, "ann")
        tasks.start_soon(other.add_user, "bob")
    known = await one.refresh()
    assert sorted(user.name for user in known.users.values()) == ["ann", "bob"]
    assert [user.is_admin for user in known.users.values() if user.id == "local"] == [True]


@pytest.mark.requirement("C17")
async def test_with_a_user_nobody_comes_in_without_a_key() -> None:
    accounts = accounts_of()
    user = await accounts.register.add_user("ann")
    made = await accounts.register.add_key(user.id, "laptop")
    for peer in (PEER, "127.0.0.1"):
        with pytest.raises(NotSignedIn, match="needs a key"):
            await came_in(accounts, None, peer=peer)
        principal = await came_in(accounts, made.text, peer=peer)
        assert (principal.owner, principal.key) == ("local", made.key.id)
        assert principal.rights == {"read", "write", "chat"}


@pytest.mark.parametrize(
    "shown",
    ["", "bk_", "bs_", "bk_" + "a" * 43, "bs_" + "a" * 43, "é" * 46, "x" * 10_000_000, "bk_\0", "Bearer x"],
)
async def test_what_is_no_key_opens_nothing(shown: str) -> None:
    accounts = accounts_of()
    await accounts.register.add_key((await accounts.register.add_user("ann")).id, "laptop")
    with pytest.raises(NotSignedIn):
        await came_in(accounts, shown)


async def test_a_key_is_kept_as_a_digest_and_never_shown_again() -> None:
    store = MemoryStore(MemoryIndex())
    register = accounts_of(store).register
    made = await register.add_key((await register.add_user("ann")).id, "laptop")
    assert made.text.startswith("bk_")
    assert len(made.text) == 46
    assert made.text not in repr(made)
    assert made.text not in repr(await register.refresh())
    assert made.text.endswith(made.key.hint)


async def test_a_key_ends_at_the_very_moment_it_says_whatever_the_machine_counts() -> None:
    clock = FakeClock()
    accounts = accounts_of(clock=clock)
    user = await accounts.register.add_user("ann")
    end = clock.now_us() + 1_000_000
    made = await accounts.register.add_key(user.id, "laptop", expires_at=end)
    clock.advance(0.999999)
    assert await came_in(accounts, made.text)
    clock.advance(0.000001)
    with pytest.raises(NotSignedIn, match="expired"):
        await came_in(accounts, made.text)
    with pytest.raises(BadInput, match="already have expired"):
        await accounts.register.add_key(user.id, "late", expires_at=clock.now_us())


async def test_a_revoked_key_and_a_disabled_user_are_refused_at_once() -> None:
    accounts = accounts_of()
    register = accounts.register
    user = await register.add_user("ann")
    one, other = await register.add_key(user.id, "one"), await register.add_key(user.id, "other")
    await register.revoke_key(one.key.id)
    with pytest.raises(NotSignedIn):
        await came_in(accounts, one.text)
    assert await came_in(accounts, other.text)
    await register.change_user(user.id, disabled=True)
    with pytest.raises(NotSignedIn):
        await came_in(accounts, other.text)
    await register.change_user(user.id, disabled=False)
    assert await came_in(accounts, other.text)
    assert (await register.refresh()).keys[one.key.id].revoked_at is not None


async def test_another_process_refuses_a_revoked_key_within_half_a_second_though_no_notice_came() -> None:
    store, ticks = MemoryStore(MemoryIndex()), Ticks()
    here, elsewhere = accounts_of(store), accounts_of(store, ticks=ticks)
    made = await here.register.add_key((await here.register.add_user("ann")).id, "laptop")
    assert await came_in(elsewhere, made.text)
    await here.register.revoke_key(made.key.id)
    ticks.now_s += 0.5
    with pytest.raises(NotSignedIn):
        await came_in(elsewhere, made.text)


async def test_a_key_of_somebody_else_cannot_be_revoked_and_is_not_told_of() -> None:
    register = accounts_of().register
    ann, bob = await register.add_user("ann"), await register.add_user("bob")
    made = await register.add_key(ann.id, "laptop")
    with pytest.raises(UnknownId):
        await register.revoke_key(made.key.id, user=bob.id)
    with pytest.raises(UnknownId):
        await register.revoke_key("nothing")


@pytest.mark.parametrize("scopes", [(), ("admin",), ("read", "all"), ("",)])
async def test_scopes_that_there_are_not_or_that_are_not_for_this_user_are_refused(
    scopes: tuple[str, ...],
) -> None:
    register = accounts_of().register
    await register.add_user("ann")
    bob = await register.add_user("bob")
    with pytest.raises(BadInput, match="scope"):
        await register.add_key(bob.id, "laptop", scopes=scopes)


async def test_who_is_no_administrator_any_more_has_no_such_keys() -> None:
    accounts = accounts_of()
    register = accounts.register
    ann = await register.add_user("ann")
    made = await register.add_key(ann.id, "laptop", scopes=("admin", "read"))
    assert (await came_in(accounts, made.text)).rights == {"admin", "read"}
    await register.change_user(ann.id, is_admin=False)
    assert (await came_in(accounts, made.text)).rights == {"read"}


async def test_an_address_of_others_may_be_bound_once_somebody_has_a_way_in() -> None:
    clock = FakeClock()
    accounts = accounts_of(clock=clock)
    register = accounts.register
    user = await register.add_user("ann")
    with pytest.raises(NotAllowed):
        await accounts.check_bind("10.0.0.1")
    made = await register.add_key(user.id, "laptop", expires_at=clock.now_us() + 1_000_000)
    await accounts.check_bind("10.0.0.1")
    await register.change_user(user.id, disabled=True)
    with pytest.raises(NotAllowed):
        await accounts.check_bind("10.0.0.1")
    await register.change_user(user.id, disabled=False)
    await accounts.check_bind("10.0.0.1")
    clock.advance(1)
    with pytest.raises(NotAllowed):
        await accounts.check_bind("10.0.0.1")
    assert made.key.id


async def test_where_others_are_let_in_the_machine_itself_needs_a_key_too() -> None:
    accounts = accounts_of(needs_users=True)
    with pytest.raises(NotSignedIn):
        await came_in(accounts, None, peer="127.0.0.1")
    assert await accounts.check_bind("127.0.0.1")
    await accounts.register.add_user("ann")
    with pytest.raises(NotAllowed, match="public_urls"):
        await accounts.check_bind("127.0.0.1")


@asynccontextmanager
async def two(store: Store) -> AsyncGenerator[tuple[Accounts, Accounts]]:
    """The accounts of two processes that hear each other."""
    hub = MemoryHub()
    async with (
        accounts_of(store, hub=hub).opened(Supervisor().supervise) as one,
        accounts_of(store, hub=hub).opened(Supervisor().supervise) as other,
    ):
        yield one, other


@pytest.mark.parametrize("how", ["revoke", "disable", "remove"])
async def test_what_runs_for_a_key_is_ended_in_every_process_when_the_key_is(how: str) -> None:
    async with two(MemoryStore(MemoryIndex())) as (one, other):
        user = await one.register.add_user("ann")
        made = await one.register.add_key(user.id, "laptop")
        kept = await one.register.add_key((await one.register.add_user("bob")).id, "laptop")
        await other.register.refresh()
        ended, still = anyio.Event(), anyio.Event()
        with (
            other.watched(await came_in(other, made.text), ended.set),
            other.watched(await came_in(other, kept.text), still.set),
        ):
            match how:
                case "revoke":
                    await one.register.revoke_key(made.key.id)
                case "disable":
                    await one.register.change_user(user.id, disabled=True)
                case _:
                    await one.register.remove_user(user.id)
            await ended.wait()
        assert not still.is_set()


async def test_what_runs_for_a_key_is_ended_when_its_time_is_over() -> None:
    clock = FakeClock()
    async with accounts_of(clock=clock, ticks=Ticks()).opened(Supervisor().supervise) as accounts:
        user = await accounts.register.add_user("ann")
        made = await accounts.register.add_key(user.id, "l", expires_at=clock.now_us() + 1_000_000)
        ended = anyio.Event()
        with accounts.watched(await came_in(accounts, made.text), ended.set):
            clock.advance(1)
            await ended.wait()


async def test_when_a_key_was_last_used_is_written_at_the_end_not_at_each_use() -> None:
    store = MemoryStore(MemoryIndex())
    clock = FakeClock()
    async with accounts_of(store, clock=clock).opened(Supervisor().supervise) as accounts:
        made = await accounts.register.add_key((await accounts.register.add_user("ann")).id, "laptop")
        assert await accounts.last_uses([made.key.id]) == {}
        await came_in(accounts, made.text)
        assert await accounts.last_uses([made.key.id]) == {made.key.id: clock.now_us()}
        assert await accounts_of(store).last_uses([made.key.id]) == {}
    assert await accounts_of(store).last_uses([made.key.id]) == {made.key.id: clock.now_us()}


async def test_what_is_done_in_a_browser_that_signed_in_with_a_key_is_a_use_of_the_key() -> None:
    clock = FakeClock()
    accounts = accounts_of(clock=clock)
    made = await accounts.register.add_key((await accounts.register.add_user("ann")).id, "laptop")
    signed = await accounts.signing.with_key(made.text, peer="203.0.113.9")
    await came_in(accounts, signed.text)
    assert await accounts.last_uses([made.key.id]) == {made.key.id: clock.now_us()}


async def test_sign_ins_that_are_over_are_cleared_and_others_stay() -> None:
    clock = FakeClock()
    accounts = accounts_of(clock=clock)
    register = accounts.register
    user = await register.add_user("ann")
    key = await register.add_key(user.id, "laptop")
    old = await accounts.signing.with_key(key.text, peer=PEER)
    clock.advance(20 * 86_400)
    new = await accounts.signing.with_key(key.text, peer=PEER)
    assert await register.clear_ended() == 0
    clock.advance(11 * 86_400)
    assert await register.clear_ended() == 1
    assert await register.sign_in(old.record.id) is None
    assert await register.sign_in(new.record.id) is not None
