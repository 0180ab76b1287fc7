"""Signing a browser in and out, and what its cookie is good for."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel
import httpx2
import pytest

from bethink.accounts.register import SCOPES, Register
from bethink.accounts.sign_ins import Buckets, Passwords, Queue
from bethink.errors import BadInput, TooManyRequests
from bethink.settings import Settings
from bethink.web.security.credentials import peer_of
from tests.door import called
from tests.house import House, open_house

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("quick_passwords")]

PEER = "203.0.113.9"
PASSWORD = "correct horse battery"
PUBLIC = "https://bethink.example"


@pytest.fixture
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords at a hundredth of their costs, for what is not about these."""
    monkeypatch.setattr("bethink.accounts.sign_ins._COSTS", (2**10, 8, 1))


async def with_ann(house: House, *, password: str | None = None) -> str:
    """Ann's key."""
    register = house.app.accounts.register
    kept = await house.app.accounts.signing.passwords.hashed(password) if password else None
    ann = await register.add_user("ann", password=kept)
    return (await register.add_key(ann.id, "laptop")).text


async def signed(http: httpx2.AsyncClient, **shown: str) -> httpx2.Response:
    return await http.post("/session", json=shown)


@pytest.mark.requirement("U7")
async def test_a_browser_signs_in_with_a_key_and_out_again() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        assert (await http.get("/session")).json() == {
            "needed": True,
            "user": None,
            "rights": [],
            "by_key": False,
        }
        answer = await signed(http, key=f" {key} ")
        assert (answer.status_code, answer.json()["user"]["name"]) == (201, "ann")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("bethink_session=bs_")
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=2592000"))
        assert "Secure" not in cookie
        assert key not in answer.text + cookie
        assert (await http.get("/memories")).status_code == 200
        held = http.cookies["bethink_session"]
        assert (await http.delete("/session")).status_code == 204
        assert (await http.get("/memories")).status_code == 401
        http.cookies.set("bethink_session", held)
        assert (await http.get("/memories")).status_code == 401


@pytest.mark.parametrize("ending", ["end_sign_in", "revoke_key", "change_user"])
async def test_what_ends_its_own_sign_in_or_key_is_answered(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        accounts = house.app.accounts
        ann = await accounts.register.add_user("ann", is_admin=True)
        made = await accounts.register.add_key(ann.id, "laptop", scopes=SCOPES)
        await signed(http, key=made.text)
        came = await accounts.authenticate(audience="web", credential=http.cookies["bethink_session"])
        end = getattr(Register, ending)

        async def noticed(register: Register, *given: str, **named: object) -> object:
            """Comes back when all who came by what it ends have been broken off."""
            broken = anyio.Event()
            with accounts.watched(came, broken.set):
                done = await end(register, *given, **named)
                await broken.wait()
            return done

        monkeypatch.setattr(Register, ending, noticed)
        answer = await {
            "end_sign_in": lambda: http.delete("/session"),
            "revoke_key": lambda: http.delete(f"/keys/{made.key.id}"),
            "change_user": lambda: http.patch(f"/users/{ann.id}", json={"password": PASSWORD}),
        }[ending]()
        assert answer.is_success, answer.text
        assert (await http.get("/memories")).status_code == 401


async def test_behind_https_the_cookie_travels_by_https_alone() -> None:
    async with open_house(public_urls=PUBLIC) as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        headers = {"Host": "bethink.example", "Origin": PUBLIC}
        answer = await http.post("/session", json={"key": key}, headers=headers)
        assert "Secure" in answer.headers["set-cookie"]


async def test_a_password_gives_what_its_user_may_and_is_told_of_nothing_where_it_is_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "bethink")
    async with open_house() as house, called(house, peer=PEER) as http:
        await with_ann(house, password=PASSWORD)
        wrong = await signed(http, name="ann", password="not this one")
        nobody = await signed(http, name="eve", password="not this one")
        assert (wrong.status_code, wrong.json()) == (401, nobody.json())
        right = await signed(http, name=" Ann ", password=PASSWORD)
        assert right.json()["rights"] == ["admin", "chat", "read", "write"]
        assert (await http.get("/users")).json()["items"][0]["has_password"]
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "a sign-in as 'ann' from 203.0.113.9 failed" in told
    assert "ann signed in from 203.0.113.9" in told
    assert PASSWORD not in told
    assert "bs_" not in told


@pytest.mark.requirement("R183")
async def test_failures_are_slowed_down_by_name_and_address_and_others_still_come_in() -> None:
    async with open_house() as house:
        await with_ann(house, password=PASSWORD)
        async with called(house, peer=PEER) as http:
            for _ in range(5):
                assert (await signed(http, name="ann", password="wrong wrong")).status_code == 401
            slowed = await signed(http, name="ann", password=PASSWORD)
            assert (slowed.status_code, slowed.json()["type"]) == (429, "urn:bethink:error:too_many_requests")
            assert 1 <= int(slowed.headers["retry-after"]) <= 60
        async with called(house, peer="198.51.100.7") as http:
            assert (await signed(http, name="ann", password=PASSWORD)).status_code == 201


async def test_strangers_behind_one_proxy_that_nobody_named_lock_nobody_out() -> None:
    async with open_house() as house, called(house, peer=PEER) as stranger:
        key = await with_ann(house, password=PASSWORD)
        async with called(house, peer=PEER) as ann:
            assert (await signed(ann, name="ann", password=PASSWORD)).status_code == 201
            for number in range(29):
                assert (await signed(stranger, name=f"nobody{number}", password="wrong")).status_code == 401
            guessed = [(await signed(stranger, key="bk_" + "a" * 43)).status_code for _ in range(31)]
            assert guessed == 30 * [401] + [429]
            # A key, another browser with the right password, which waits for two seconds.
            assert (await signed(stranger, key=key)).status_code == 201
            stranger.cookies.clear()
            assert (await signed(stranger, name="ann", password=PASSWORD)).status_code == 201
            stranger.cookies.clear()
            for number in range(5):
                assert (await signed(stranger, name="ann", password=f"wrong {number}")).status_code == 401
            assert (await signed(stranger, name="ann", password=PASSWORD)).status_code == 429
            assert (await signed(ann, name="ann", password=PASSWORD)).status_code == 201


async def test_a_known_browser_may_not_guess_more_than_others_and_is_unknown_after_a_new_password() -> None:
    async with open_house() as house, called(house, peer=PEER) as http, called(house, peer=PEER) as other:
        await with_ann(house, password=PASSWORD)
        set_cookies = (await signed(http, name="ann", password=PASSWORD)).headers.get_list("set-cookie")
        (cookie,) = [one for one in set_cookies if one.startswith("bethink_browser=")]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/session"))
        for expected in (401, 401, 401, 401, 401, 429):
            assert (await signed(http, name="ann", password="wrong wrong")).status_code == expected
        assert (await signed(other, name="ann", password=PASSWORD)).status_code == 201
        new = await house.app.accounts.signing.passwords.hashed("another good one")
        await house.app.accounts.register.change_user("local", password=new)
        for _ in range(5):
            assert (await signed(other, name="ann", password="wrong wrong")).status_code == 401
        assert (await signed(http, name="ann", password="another good one")).status_code == 429


async def test_tries_of_one_address_wait_for_their_turn_and_only_a_long_queue_refuses() -> None:
    now, slept = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    queue = Queue(Buckets(2, monotonic_s=lambda: now), longest=2, sleep=sleep)
    for _ in range(3):
        async with queue.turn("198.51.100.7", "ann"):
            pass
    assert slept == [30.0]
    async with queue.turn("198.51.100.7", "ann"), queue.turn("198.51.100.7", "ann"):
        with pytest.raises(TooManyRequests, match="at once from this address"):
            async with queue.turn("198.51.100.7", "ann"):
                pass
        async with queue.turn("198.51.100.7", "bob"), queue.turn("203.0.113.9", "ann"):
            pass


async def test_names_of_one_address_are_let_in_by_turns_and_who_is_gone_is_not_waited_for() -> None:
    now, come, tick = 0.0, list[str](), anyio.Event()

    async def sleep(_seconds: float) -> None:
        await tick.wait()

    async def is_gone() -> bool:
        return True

    queue = Queue(Buckets(1, monotonic_s=lambda: now), sleep=sleep)

    async def enter(name: str) -> None:
        async with queue.turn(PEER, name):
            come.append(name)

    async def leave() -> None:
        with pytest.raises(TooManyRequests):
            async with queue.turn(PEER, "gone", is_gone=is_gone):
                come.append("gone")

    async with anyio.create_task_group() as group:
        for name in ("ann", "ann", "ann", "ann", "bob", "eve"):
            group.start_soon(enter, name)
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        group.start_soon(leave)
        for _ in range(5):
            await anyio.wait_all_tasks_blocked()
            now += 60
            waited, tick = tick, anyio.Event()
            waited.set()
        await anyio.wait_all_tasks_blocked()
    assert come == ["ann", "ann", "bob", "eve", "ann", "ann"]


async def test_tries_of_many_names_at_once_do_not_keep_another_with_the_right_password_out() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        kept = await house.app.accounts.signing.passwords.hashed(PASSWORD)
        await house.app.accounts.register.add_user("bob", password=kept)
        wrong = [(name, "wrong wrong") for name in ["ann"] * 12 + [f"nobody{each}" for each in range(24)]]
        answers = dict[int, int]()

        async def attempt(number: int, name: str, password: str) -> None:
            answers[number] = (await signed(http, name=name, password=password)).status_code

        async with anyio.create_task_group() as group:
            for number, (name, password) in enumerate([*wrong, ("bob", PASSWORD)]):
                group.start_soon(attempt, number, name, password)
    assert answers[len(wrong)] == 201
    assert sorted(answers.values()) == [201, *29 * [401], *7 * [429]]


async def test_a_proxy_that_is_trusted_tells_who_fails_and_no_other_does() -> None:
    async with open_house(trusted_proxies=PEER) as house, called(house, peer=PEER) as http:
        await with_ann(house, password=PASSWORD)
        for number in range(7):
            shown = {"name": "ann", "password": "wrong wrong"}
            forged = {"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.7"}
            answer = await http.post("/session", json=shown, headers=forged)
            assert answer.status_code == (401 if number < 5 else 429)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"key": "a", "name": "b", "password": "c"},
        {"name": "ann"},
        {"password": "x"},
        {"key": "x" * 201},
        {"name": "ann", "password": "x" * 2001},
        {"key": 1},
    ],
)
async def test_what_is_no_sign_in_is_refused(body: object) -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        await with_ann(house)
        assert (await http.post("/session", json=body)).status_code == 422


async def test_a_form_of_another_site_signs_nobody_in() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        evil = await http.post("/session", json={"key": key}, headers={"Origin": "https://evil.example"})
        form = await http.post("/session", data={"key": key})
        assert (evil.status_code, form.status_code) == (403, 422)


async def test_a_cookie_does_nothing_for_another_sites_page_even_one_that_may_come_with_a_key() -> None:
    async with open_house(cors_origins="https://app.example") as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        await signed(http, key=key)
        assert (await http.get("/memories")).status_code == 200
        for origin, expected in (("https://app.example", 401), ("https://evil.example", 403)):
            answer = await http.get("/memories", headers={"Origin": origin})
            assert answer.status_code == expected
        theirs = {"Origin": "https://app.example"}
        assert (await http.post("/session", json={"key": key}, headers=theirs)).status_code == 403


async def test_what_the_cookie_holds_is_no_key_and_a_key_is_no_cookie() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        await signed(http, key=key)
        held = http.cookies["bethink_session"]
        http.cookies.clear()
        assert (await http.get("/memories", headers={"Authorization": f"Bearer {held}"})).status_code == 401
        http.cookies.set("bethink_session", key)
        assert (await http.get("/memories")).status_code == 401


@pytest.mark.parametrize("how", ["revoked", "disabled", "new password", "over"])
async def test_a_sign_in_ends_with_what_it_came_from(how: str) -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        key = await with_ann(house, password=PASSWORD)
        register = house.app.accounts.register
        if how == "revoked":
            await signed(http, key=key)
        else:
            await signed(http, name="ann", password=PASSWORD)
        assert (await http.get("/memories")).status_code == 200
        match how:
            case "revoked":
                (kept,) = (await register.refresh()).keys
                await register.revoke_key(kept)
            case "disabled":
                await register.change_user("local", disabled=True)
            case "new password":
                await register.change_user("local", password="scrypt:1:1:1::")
            case _:
                house.clock.advance(30 * 86_400)
        assert (await http.get("/memories")).status_code == 401
        assert (await http.get("/session")).json()["user"] is None


async def test_without_users_nobody_signs_in_and_nobody_need() -> None:
    async with open_house() as house, called(house) as http:
        told = (await http.get("/session")).json()
        assert (told["needed"], told["user"], len(told["rights"])) == (False, None, 4)
        answer = await signed(http, key="bk_" + "a" * 43)
        assert (answer.status_code, "no users" in answer.json()["detail"]) == (422, True)
        assert (await http.post("/keys", json={"name": "x"})).status_code == 422


@pytest.mark.requirement("R181")
async def test_a_person_makes_sees_and_revokes_their_own_keys() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        key = await with_ann(house)
        with_key = {"Authorization": f"Bearer {key}"}
        assert (await http.post("/keys", json={"name": "more"}, headers=with_key)).status_code == 403
        await signed(http, key=key)
        grown = await http.post("/keys", json={"name": "more", "scopes": ["admin"]})
        assert (grown.status_code, "more rights" in grown.json()["detail"]) == (403, True)
        made = (await http.post("/keys", json={"name": "phone", "scopes": ["read"]})).json()
        assert (made["scopes"], made["state"], made["key"][-4:]) == (["read"], "live", made["hint"])
        listed = await http.get("/keys")
        assert [item["name"] for item in listed.json()["items"]] == ["laptop", "phone"]
        assert made["key"] not in listed.text
        assert (await http.delete(f"/keys/{made['id']}")).json()["state"] == "revoked"
        assert (await http.delete("/keys/nothing")).status_code == 404


async def test_an_administrator_adds_and_disables_users_but_not_themselves() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        await with_ann(house, password=PASSWORD)
        await signed(http, name="ann", password=PASSWORD)
        bob = (await http.post("/users", json={"name": "bob", "password": "bobs own secret"})).json()
        assert (bob["admin"], bob["has_password"], bob["disabled"]) == (False, True, False)
        assert (await http.post("/users", json={"name": "BOB"})).status_code == 422
        gone = (await http.patch(f"/users/{bob['id']}", json={"disabled": True})).json()
        assert gone["disabled"]
        assert (await http.patch("/users/local", json={"disabled": True})).status_code == 403
        assert (await http.patch("/users/local", json={"admin": False})).status_code == 403
        assert (await http.patch("/users/nobody", json={"disabled": True})).status_code == 404


@pytest.mark.requirement("R183")
async def test_too_many_requests_of_a_key_or_an_owner_wait() -> None:
    async with (
        open_house(requests_per_minute=2, owner_requests_per_minute=3) as house,
        called(house, peer=PEER) as http,
    ):
        key = await with_ann(house)
        (kept,) = (await house.app.accounts.register.refresh()).users
        other = (await house.app.accounts.register.add_key(kept, "phone")).text
        asked = [
            (await http.get("/memories", headers={"api-key": one})).status_code
            for one in (key, key, key, other, other)
        ]
        assert asked == [200, 200, 429, 200, 429]
        assert (await http.get("/health")).status_code == 200


async def test_a_password_is_kept_so_that_it_cannot_be_read_and_has_ten_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passwords = Passwords()
    quick = await passwords.hashed(PASSWORD)
    assert quick.startswith("scrypt:1024:8:1:")
    monkeypatch.undo()
    # What was kept at other costs is tried at those.
    assert await passwords.fits(PASSWORD, quick)
    assert not await passwords.fits(PASSWORD + " ", quick)
    kept = await passwords.hashed(PASSWORD)
    assert kept.startswith("scrypt:32768:8:3:")
    assert PASSWORD not in kept
    assert kept != await passwords.hashed(PASSWORD)
    assert await passwords.fits(PASSWORD, kept)
    assert not await passwords.fits(PASSWORD + " ", kept)
    assert not await passwords.fits("", None)
    for unfit in ("short", "x" * 1001):
        with pytest.raises(BadInput, match="10 to 1,000"):
            await passwords.hashed(unfit)


@pytest.mark.parametrize(
    ("peer", "forwarded", "told"),
    [
        ("10.1.2.3", ["198.51.100.7"], "198.51.100.7"),
        ("10.1.2.3", ["6.6.6.6, 198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("10.1.2.3", ["6.6.6.6", "198.51.100.7"], "198.51.100.7"),
        ("10.1.2.3", ["10.4.4.4, 10.9.9.9"], "10.4.4.4"),
        ("10.1.2.3", ["198.51.100.7:5123"], "198.51.100.7"),
        ("10.1.2.3", ["[2001:db8::7]:443"], "2001:db8::7"),
        ("10.1.2.3", ["2001:db8::7"], "2001:db8::7"),
        ("10.1.2.3", ["6.6.6.6, unknown"], "10.1.2.3"),
        ("10.1.2.3", ["' or 1=1"], "10.1.2.3"),
        ("10.1.2.3", [], "10.1.2.3"),
        ("::ffff:10.1.2.3", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1%eth0", ["198.51.100.7"], "198.51.100.7"),
        ("192.0.2.5", ["198.51.100.7"], "198.51.100.7"),
        ("192.0.2.6", ["198.51.100.7"], "192.0.2.6"),
        ("11.0.0.1", ["198.51.100.7"], "11.0.0.1"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_only_proxies_of_trusted_networks_tell_for_whom_they_ask(
    peer: str, forwarded: list[str], told: str
) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": (peer, 1) if peer else None, "headers": headers}
    assert peer_of(scope, ["10.0.0.0/8", "192.0.2.5", "fd00::/8"]) == told


@pytest.mark.parametrize("given", ["localhost", "10.0.0.0/33", "10.0.0", "*"])
def test_a_trusted_proxy_that_is_no_address_is_refused_with_what_to_write(given: str) -> None:
    with pytest.raises(ValueError, match=r"write it as 10\.0\.0\.2, 10\.0\.0\.0/8"):
        Settings(trusted_proxies=[given])
