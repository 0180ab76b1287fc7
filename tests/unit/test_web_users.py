"""The web door of a Bethink with users: keys, what they may do, names and pages that are its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import httpx2
import pytest

from bethink.accounts import OWNER
from bethink.accounts.register import USUAL
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import CorruptDatabase
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.ports import Ports
from bethink.store import Collection, Record, Versioned
from tests.door import called, frames, said, served
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

R = TypeVar("R", bound=Record)
PEER = "203.0.113.9"
PUBLIC = "https://bethink.example"


@dataclass(frozen=True, slots=True)
class Shared:
    """A Bethink of Ann, who is its administrator, and Bob; how to ask it with a key."""

    house: House
    http: httpx2.AsyncClient

    async def key(self, name: str, scopes: Iterable[str] = USUAL) -> str:
        register = self.house.app.accounts.register
        user = (await register.refresh()).named(name)
        assert user is not None
        return (await register.add_key(user.id, "test", scopes=scopes)).text

    async def ask(self, method: str, path: str, key: str | None = None, **more: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return await self.http.request(method, path, headers=headers | more.pop("headers", {}), **more)

    async def status(self, method: str, path: str, key: str | None = None, **more: Any) -> int:  # noqa: ANN401 - httpx2's
        return (await self.ask(method, path, key, **more)).status_code


@asynccontextmanager
async def shared(
    llm: Llm | None = None, *, ports: Ports | None = None, peer: str = PEER, **settings: object
) -> AsyncGenerator[Shared]:
    async with open_house(llm, ports=ports, tools=(), **settings) as house, called(house, peer=peer) as http:
        for name in ("ann", "bob"):
            await house.app.accounts.register.add_user(name)
        yield Shared(house, http)


@pytest.mark.requirement("R183", "C17", "U7")
@pytest.mark.parametrize("peer", [PEER, "127.0.0.1"])
@pytest.mark.requirement("R205")
async def test_a_key_opens_its_owners_data_from_anywhere_and_nothing_opens_without(peer: str) -> None:
    async with shared(peer=peer) as door:
        ann, bob = await door.key("ann"), await door.key("bob")
        refused = await door.ask("GET", "/memories")
        assert (refused.status_code, refused.json()["type"]) == (401, "urn:bethink:error:not_signed_in")
        assert refused.headers["www-authenticate"] == 'Bearer realm="Bethink"'
        await door.ask("POST", "/memories", ann, json={"content": "Ann has a dog"})
        assert (await door.ask("GET", "/memories", ann)).json()["total"] == 1
        assert (await door.ask("GET", "/memories", bob)).json()["total"] == 0
        for name in ("api-key", "x-api-key"):
            other = await door.ask("GET", "/memories", headers={name: ann})
            assert other.json()["total"] == 1


@pytest.mark.requirement("R180")
async def test_the_first_user_finds_what_was_kept_before_there_was_one() -> None:
    async with open_house() as house, called(house) as http:
        await http.post("/memories", json={"content": "The owner has a dog"})
        register = house.app.accounts.register
        ann = await register.add_user("ann")
        key = (await register.add_key(ann.id, "laptop")).text
        assert (await http.get("/memories")).status_code == 401
        found = await http.get("/memories", headers={"Authorization": f"Bearer {key}"})
        assert [item["content"] for item in found.json()["items"]] == ["The owner has a dog"]


async def test_without_users_whatever_a_program_sends_as_its_key_is_passed_over() -> None:
    async with open_house() as house, called(house) as http:
        for headers in (
            {"Authorization": "Bearer sk-any"},
            {"api-key": "a"},
            {"Authorization": "Basic eA=="},
        ):
            assert (await http.get("/memories", headers=headers)).status_code == 200


async def test_two_different_keys_are_a_mistake_and_the_same_twice_is_none() -> None:
    async with shared() as door:
        ann, bob = await door.key("ann"), await door.key("bob")
        both = [("x-api-key", ann), ("api-key", bob)]
        twice = [("Authorization", f"Bearer {ann}"), ("Authorization", f"Bearer {bob}")]
        for headers in (both, twice):
            answer = await door.http.get("/memories", headers=headers)
            assert (answer.status_code, "two different keys" in answer.json()["detail"]) == (422, True)
        same = [("authorization", f"bearer  {ann} "), ("api-key", ann), ("x-api-key", ann)]
        assert (await door.http.get("/memories", headers=same)).status_code == 200


@pytest.mark.parametrize("name", ["key", "api_key", "access_token", "query"])
async def test_a_key_in_an_address_is_refused_even_beside_a_good_one(name: str) -> None:
    async with shared() as door:
        ann = await door.key("ann")
        for key in (None, ann):
            answer = await door.ask("GET", f"/recall?{name}={ann}", key)
            assert (answer.status_code, "address" in answer.json()["detail"]) == (422, True)
            assert ann not in answer.text


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer ", "Bearer é", "Bearer bk_" + "a" * 43, "Basic YTpi", "bk_", "Bearer " + "b" * 60_000],
)
async def test_a_header_that_is_no_key_opens_nothing(value: str) -> None:
    async with shared() as door:
        for name in ("Authorization", "api-key", "x-api-key"):
            answer = await door.http.get("/memories", headers=[(name.encode(), value.encode())])
            assert answer.status_code == 401
            assert "bbbb" not in answer.text


RIGHTS = [
    ("GET", "/memories", None, {"read"}),
    ("GET", "/recall?query=x", None, {"read"}),
    ("POST", "/memories", {"content": "x"}, {"write"}),
    ("DELETE", "/memories/x", None, {"write"}),
    ("PUT", "/tools/store_memory/rule", {"rule": None}, {"write"}),
    ("POST", "/conversations", {}, {"chat"}),
    ("POST", "/conversations/x/chat", {"message": {"content": "x"}}, {"chat"}),
    ("POST", "/runs/x/cancel", None, {"chat"}),
    ("POST", "/runs/x/approvals/y", {"decision": "approve"}, {"write"}),
    ("GET", "/runs/x/events", None, {"read", "chat"}),
    ("GET", "/metrics", None, {"admin"}),
    ("POST", "/mcp-servers/x/reconnect", None, {"admin"}),
    ("GET", "/models/downloads", None, {"admin"}),
    ("POST", "/models/downloads", {"path": "/none.gguf"}, {"admin"}),
    ("DELETE", "/models/downloads/x", None, {"admin"}),
]


@pytest.mark.requirement("R181")
@pytest.mark.parametrize(("method", "path", "body", "enough"), RIGHTS)
async def test_a_key_does_what_its_scopes_say_and_no_more(
    method: str, path: str, body: object, enough: set[str]
) -> None:
    async with shared() as door:
        for scope in ("read", "write", "chat", "admin"):
            answer = await door.ask(method, path, await door.key("ann", [scope]), json=body)
            assert (answer.status_code != 403) is (scope in enough), scope
            if scope not in enough:
                assert f"it has the scopes {scope}" in answer.json()["detail"]


async def test_a_key_that_may_not_write_cannot_have_the_model_write() -> None:
    wanted = ScriptedCall("store_memory", {"content": "Ann has a dog"})
    async with shared(ScriptedLlm([wanted, "Noted.", wanted, "Noted."]), extraction="store") as door:
        for scopes, count in ((["read", "chat"], 0), (["read", "chat", "write"], 1)):
            key = await door.key("ann", scopes)
            conversation = (await door.ask("POST", "/conversations", key)).json()["id"]
            url = f"/conversations/{conversation}/chat"
            answer = await door.ask("POST", url, key, json=said("I have a dog", stream=False))
            (call,) = answer.json()["tools_run"]
            assert (call["error"] is None) is bool(count)
            if not count:
                told = await door.ask("POST", url, key, json=said("/remember I have a dog", stream=False))
                assert told.json()["message"]["content"] == "This key may only read."
            assert (await door.ask("GET", "/memories", key)).json()["total"] == count


async def test_a_key_that_may_not_read_is_told_no_memory() -> None:
    secret = "Ann has a dog called Zanzibar"
    wanted = ScriptedCall("search_memory", {"query": "dog"})
    llm = ScriptedLlm(["Hm.", wanted, "Hm."] * 2)
    async with shared(llm, recall_min_score=0) as door:
        await door.ask("POST", "/memories", await door.key("ann"), json={"content": secret})
        for scopes, is_told in ((["chat"], False), (["chat", "read"], True)):
            key = await door.key("ann", scopes)
            conversation = (await door.ask("POST", "/conversations", key)).json()["id"]
            url = f"/conversations/{conversation}/chat"
            for text in ("Has Ann a dog?", "And what is the dog called?", "/recall dog"):
                answer = await door.ask("POST", url, key, json=said(text, stream=False))
                assert text.startswith("/") or bool(answer.json()["recalled"]) is is_told
            assert ("Zanzibar" in answer.text) is is_told
            seen = repr(llm.requests)
            assert ("Zanzibar" in seen) is is_told
            names = {tool.name for tool in llm.requests[-1].tools}
            assert ("search_memory" in names) is is_told
        key = await door.key("ann", ["write", "chat"])
        answer = await door.ask("POST", url, key, json=said("/forget dog", stream=False))
        assert (
            answer.json()["message"]["content"] == "This key may not read: it does not have the scope read."
        )


async def test_what_a_key_that_may_not_read_changes_tells_it_nothing_of_what_is_there() -> None:
    llm = ScriptedLlm([ScriptedCall("store_memory", {"content": "Ann lives in Quimper"}), "Noted."])
    event = {"title": "Zanzibar", "start": "2030-03-05T10:00:00Z", "end": "2030-03-05T11:00:00Z"}
    async with shared(llm) as door:
        whole, key = await door.key("ann"), await door.key("ann", ["write", "chat"])
        for content in ("Ann lives in Zanzibar", "Ann has a dog from Zanzibar"):
            await door.ask("POST", "/memories", whole, json={"content": content})
        await door.ask("POST", "/calendar/events", whole, json=event)
        now = await door.ask("POST", "/memories", key, json={"content": "Ann lives in Rennes"})
        assert (now.json()["change"], now.json()["others"], now.json()["near"]) == ("superseded", [], [])
        back = await door.ask("POST", "/memories/undo", key, json={"token": now.json()["undo"]})
        other = event | {"title": "Dentist"}
        taken = await door.ask("POST", "/calendar/events", key, json=other)
        both = await door.ask("POST", "/calendar/events", key, json=other | {"allow_conflict": True})
        assert (back.status_code, taken.status_code, both.status_code) == (200, 409, 201)
        conversation = (await door.ask("POST", "/conversations", key)).json()["id"]
        url = f"/conversations/{conversation}/chat"
        answer = await door.ask("POST", url, key, json=said("I live in Quimper", stream=False))
        (call,) = answer.json()["tools_run"]
        assert call["error"] is None
        told = (now.text, back.text, taken.text, both.text, answer.text, repr(llm.requests))
        assert [text for text in told if "Zanzibar" in text] == []
        assert "Zanzibar" in (await door.ask("GET", "/memories", whole)).text


class Slow(MemoryStore):
    """A store that takes its time, as one on a disk does."""

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        await anyio.lowlevel.checkpoint()
        return await super().get(collection, owner, ids)


async def test_no_more_answers_run_at_once_than_may_however_many_begin_together() -> None:
    held = anyio.Event()
    ports = ports_of(ScriptedLlm(lambda _: [held, "Well."]), store=Slow(MemoryIndex()))
    async with shared(ports=ports, runs_at_once=2) as door:
        key = await door.key("bob")
        made = [(await door.ask("POST", "/conversations", key)).json()["id"] for _ in range(6)]
        statuses: list[int] = []

        async def talk(conversation: str, content: str) -> None:
            url = f"/conversations/{conversation}/chat"
            statuses.append(await door.status("POST", url, key, json=said(content, stream=False)))
            if len(statuses) == len(made) - 2:
                held.set()

        async with anyio.create_task_group() as tasks:
            for conversation in made:
                tasks.start_soon(talk, conversation, "Hello")
        assert statuses == [429] * 4 + [200] * 2
        # Those that could not begin hold no place.
        for _ in range(3):
            assert await door.status("POST", "/conversations/x/chat", key, json=said("Hi")) == 404
        assert await door.status("POST", f"/conversations/{made[0]}/chat", key, json=said("Hi")) == 200


async def test_strangers_learn_from_health_only_that_it_works() -> None:
    async with shared() as door:
        told = (await door.ask("GET", "/health")).json()
        assert (told["status"], told["parts"]) == ("ok", None)
        assert (await door.ask("GET", "/health", "bk_wrong")).json()["parts"] is None
        assert (await door.ask("GET", "/health", await door.key("bob"))).json()["parts"]["store"]


class Unreadable(MemoryStore):
    """A store whose users cannot be read."""

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        if owner == OWNER:
            raise CorruptDatabase
        return await super().get(collection, owner, ids)


async def test_while_the_users_cannot_be_read_nobody_comes_in() -> None:
    ports = ports_of(store=Unreadable(MemoryIndex()))
    async with open_house(ports=ports) as house, called(house) as http:
        answer = await http.get("/memories")
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:bethink:error:corrupt_database")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("bethink.example", 200),
        ("BETHINK.example", 200),
        ("127.0.0.1:8484", 200),
        ("192.168.1.5:8484", 200),
        ("[2001:db8::1]:8484", 200),
        ("bethink.example:8484", 403),
        ("evil.example", 403),
        ("bethink.example.evil.example", 403),
        ("bethink.example@evil.example", 403),
        ("", 403),
    ],
)
async def test_with_users_the_settings_say_which_names_are_its_own(host: str, expected: int) -> None:
    async with shared(public_urls=[PUBLIC]) as door:
        key = await door.key("ann")
        assert await door.status("GET", "/memories", key, headers={"Host": host}) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (PUBLIC, 200),
        ("http://bethink.example", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("https://bethink.example.evil.example", 403),
    ],
)
async def test_behind_a_proxy_the_page_is_known_by_its_public_address(origin: str, expected: int) -> None:
    async with shared(public_urls=PUBLIC + "/") as door:
        key = await door.key("ann")
        headers = {
            "Host": "bethink.example",
            "Origin": origin,
            "X-Forwarded-For": "198.51.100.1",
            "X-Forwarded-Proto": "https",
        }
        assert await door.status("GET", "/memories", key, headers=headers) == expected


@pytest.mark.requirement("R183")
async def test_a_page_of_another_site_is_let_in_only_by_name_and_only_with_a_key() -> None:
    async with shared(cors_origins="https://app.example") as door:
        key = await door.key("ann")
        ours, other = {"Origin": "https://app.example"}, {"Origin": "https://evil.example"}
        asked = await door.ask("GET", "/memories", key, headers={**ours, "Sec-Fetch-Site": "cross-site"})
        assert asked.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in asked.headers
        assert (await door.ask("GET", "/memories", headers=ours)).status_code == 401
        refused = await door.ask("GET", "/memories", key, headers=other)
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)
        first = await door.ask(
            "OPTIONS", "/memories", headers={**ours, "Access-Control-Request-Method": "POST"}
        )
        assert (first.status_code, first.headers["access-control-max-age"]) == (204, "600")
        # OpenAI's own library adds a dozen headers; the star does not stand for this one.
        allowed = set(first.headers["access-control-allow-headers"].split(", "))
        assert allowed == {"authorization", "*"}
        assert asked.headers["access-control-expose-headers"] == "*"
        long = await door.ask("POST", "/memories", key, headers={**ours, "Content-Length": "99999999"})
        assert (long.status_code, long.headers["access-control-allow-origin"]) == (413, ours["Origin"])


async def test_no_page_of_another_site_is_let_in_while_there_are_no_users() -> None:
    async with open_house(cors_origins="https://app.example") as house, called(house) as http:
        answer = await http.get("/memories", headers={"Origin": "https://app.example"})
        assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (403, False)
        assert "once there is a user with a key" in answer.json()["detail"]


@pytest.mark.requirement("C17")
async def test_a_stream_and_its_run_end_when_the_key_is_revoked() -> None:
    async with (
        open_house(ScriptedLlm([["Once upon a time", anyio.Event()]])) as house,
        served(house) as (http, _),
    ):
        register = house.app.accounts.register
        made = await register.add_key((await register.add_user("ann")).id, "laptop")
        key = {"Authorization": f"Bearer {made.text}"}
        conversation = (await http.post("/conversations", headers=key)).json()["id"]
        url = f"/conversations/{conversation}/chat"
        told = await _read(http, url, key, lambda: register.revoke_key(made.key.id))
        assert told[-1] in ("warning", "run_done")
        assert (await http.get("/memories", headers=key)).status_code == 401
        while house.app.runs.live:
            await anyio.lowlevel.checkpoint()


async def _read(
    http: httpx2.AsyncClient, url: str, key: dict[str, str], on_text: Callable[[], Awaitable[object]]
) -> list[str]:
    kinds: list[str] = []
    async with http.stream("POST", url, json=said("Talk"), headers=key) as answer:
        async for frame in frames(answer):
            kinds.append(frame.kind)
            if frame.kind == "text_delta":
                await on_text()
    return kinds
