"""Who may speak to the web door, and what every answer carries."""

from __future__ import annotations

from collections.abc import AsyncGenerator, MutableMapping
from contextlib import nullcontext
from typing import Any

import pytest

from bethink.web import create_web
from tests.door import OWN, Door, called, open_door, open_server
from tests.house import open_house

pytestmark = pytest.mark.anyio

PLACES = ("/health", "/conversations", "/openapi.json", "/", "/nowhere")


async def status(door: Door, path: str, **headers: str) -> int:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await door.http.get(path, headers=sent)).status_code


@pytest.mark.parametrize("path", PLACES)
async def test_a_rebound_name_is_refused_everywhere(path: str) -> None:
    async with open_door() as door:
        answer = await door.http.get(path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:bethink:error:not_allowed")
    assert "evil.example" in answer.json()["detail"]


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8484", "127.0.0.1:1", "127.9.9.9", "[::1]:8484", "LOCALHOST", "a.localhost"],
)
async def test_this_machines_own_names_are_welcome(host: str) -> None:
    async with open_door() as door:
        assert await status(door, "/health", Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil@localhost",
        "[::1",
        "localhost/x",
        "10.0.0.1",
    ],
)
async def test_names_that_only_look_like_this_machine_are_refused(host: str) -> None:
    async with open_door() as door:
        assert await status(door, "/health", Host=host) == 403


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (OWN, 200),
        ("http://localhost:8484", 403),
        ("http://127.0.0.1:3000", 403),
        ("https://127.0.0.1:8484", 403),
        ("https://evil.example", 403),
        ("null", 403),
    ],
)
async def test_only_its_own_page_may_send_requests(origin: str, expected: int) -> None:
    async with open_door() as door:
        assert await status(door, "/health", Origin=origin) == expected


async def test_a_post_from_another_page_changes_nothing() -> None:
    async with open_door() as door:
        answer = await door.http.post(
            "/memories", json={"content": "I owe Eve a house"}, headers={"Origin": "https://evil.example"}
        )
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
        assert (await door.http.get("/memories")).json()["total"] == 0


async def test_another_sites_page_may_link_here_and_no_more() -> None:
    async with open_door() as door:
        other = {"Sec_Fetch_Site": "cross-site"}
        assert (
            await status(door, "/memories", **other, Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image") == 403
        )
        assert await status(door, "/", **other, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe") == 403
        assert await status(door, "/", **other, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document") == 200
        assert await status(door, "/health", Sec_Fetch_Site="same-origin") == 200


@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Prefix", "X-Real-IP"])
async def test_what_a_proxy_forwards_is_refused(name: str) -> None:
    async with open_door() as door:
        answer = await door.http.get("/health", headers={name: "127.0.0.1"})
    assert (answer.status_code, name.lower() in answer.json()["detail"]) == (403, True)


async def test_a_caller_on_another_machine_is_refused() -> None:
    async with open_house() as house:
        for peer, expected in (("10.0.0.9", 403), ("127.0.0.1", 200), ("::1", 200)):
            async with called(house, peer=peer) as http:
                answer = await http.get("/conversations")
            assert answer.status_code == expected


async def test_every_answer_carries_the_security_headers() -> None:
    async with open_door() as door:
        for path in PLACES:
            headers = (await door.http.get(path)).headers
            assert headers["content-security-policy"] == (
                "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
                "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
            )
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "server" not in headers
        assert (await door.http.get("/memories")).headers["cache-control"] == "no-store"


async def test_a_body_that_is_too_large_is_refused_by_its_length_and_by_its_bytes() -> None:
    async def endless() -> AsyncGenerator[bytes]:
        for _ in range(200):
            yield b"x" * 65_536

    async with open_server() as door:
        by_length = await door.http.post("/memories", content=b"x" * (12 * 1024 * 1024 + 1))
        by_bytes = await door.http.post("/memories", content=endless())
        after = await door.http.get("/health")
    for answer in (by_length, by_bytes):
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:bethink:error:too_large")
    assert after.status_code == 200


async def test_a_websocket_is_turned_away() -> None:
    sent: list[Any] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async with open_house() as house:
        await create_web(nullcontext(house.app))({"type": "websocket", "path": "/"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_apps_that_share_their_rooms_share_nothing_else() -> None:
    async with open_house() as house, called(house) as http, open_house() as other, called(other) as at_other:
        await http.post("/memories", json={"content": "The owner has a dog"})
        for client, kept in ((http, 1), (at_other, 0), (http, 1)):
            assert (await client.get("/memories")).json()["total"] == kept
