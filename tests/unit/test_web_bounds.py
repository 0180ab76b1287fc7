"""What a stranger or a program may send: whatever it is, nothing of a second runs on the event loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from bethink.agent.completion import Citations
from bethink.agent.policy import _links  # pyright: ignore[reportPrivateUsage]
from bethink.agent.request import Labels
from bethink.llm.markup import calls_in
from bethink.memory.compare import is_stated
from bethink.memory.facts import secret_in
from bethink.redaction import redaction_of
from bethink.web.security.guard import MAX_TURN_VALUES, MAX_VALUES, STRANGER_BYTES
from tests.door import called, open_door, open_server
from tests.house import open_house

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PEER = "203.0.113.9"
JSON = {"content-type": "application/json"}
MOST_CPU_S = 1.0
"""Of one turn of the loop, in seconds of this thread's own work, which other programs do not lengthen."""
MOST_ANSWER = 20_000
"""Bytes of any refusal."""


@contextmanager
def longest_turn() -> Generator[Callable[[], float]]:
    """Gives the CPU time of the longest callback that the event loop ran inside the block."""
    longest = 0.0
    run: Any = asyncio.Handle._run  # noqa: SLF001 - where every callback of the loop passes

    def timed(self: asyncio.Handle) -> None:
        nonlocal longest
        begun = time.thread_time()
        try:
            run(self)
        finally:
            longest = max(longest, time.thread_time() - begun)

    asyncio.Handle._run = timed  # noqa: SLF001
    try:
        yield lambda: longest
    finally:
        asyncio.Handle._run = run  # noqa: SLF001


def many_fields(count: int) -> bytes:
    return b"{" + b",".join([b'"field_%d":%d' % (number, number) for number in range(count)]) + b"}"


MANY = many_fields(600_000)
DEEP = b'{"content": ' + b"[" * 3_000_000 + b"]" * 3_000_000 + b"}"
WRONG_ITEMS = b'{"model": "x", "messages": [' + b"1," * 3_000_000 + b"1]}"


@pytest.mark.parametrize(
    "path", ["/session", "/memories", "/v1/chat/completions", "/mcp", "/users", "/nowhere"]
)
@pytest.mark.parametrize("body", [MANY, DEEP, WRONG_ITEMS], ids=["fields", "depth", "items"])
@pytest.mark.parametrize("has_users", [True, False])
async def test_a_huge_body_is_refused_without_holding_the_loop_and_in_few_words(
    path: str, body: bytes, *, has_users: bool
) -> None:
    async with open_house() as house, called(house, peer=PEER if has_users else "127.0.0.1") as http:
        if has_users:
            await house.app.accounts.register.add_user("ann", is_admin=True)
        with longest_turn() as longest:
            answer = await http.post(path, content=body, headers=JSON)
    assert 400 <= answer.status_code < 500
    assert len(answer.content) < MOST_ANSWER
    assert longest() < MOST_CPU_S


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memories", many_fields(MAX_VALUES // 2)),
        ("/memories/forget", json.dumps({"ids": [1] * (MAX_VALUES - 10)}).encode()),
        ("/v1/chat/completions", WRONG_ITEMS[:MAX_TURN_VALUES] + b"1]}"),
        (
            "/v1/chat/completions",
            json.dumps(
                {
                    "model": "x",
                    "messages": [{"role": "user", "content": [{"type": 1}] * (MAX_TURN_VALUES // 4)}],
                }
            ).encode(),
        ),
        ("/v1/responses", json.dumps({"input": [{"content": [{}] * (MAX_TURN_VALUES // 4)}]}).encode()),
        ("/v1/embeddings", json.dumps({"model": "x", "input": [[""]] * (MAX_TURN_VALUES // 4)}).encode()),
        ("/memories", b'{"' + b"k" * 1_000_000 + b'": 1}'),
        ("/vault/user.md", b'{"text": "' + b"\\u00e9" * 1_900_000 + b'"}'),
        ("/memories", b'{"content": 1.' + b"1" * 1_000_000 + b"}"),
    ],
)
async def test_the_most_wrong_body_that_is_read_does_not_hold_the_loop(path: str, body: bytes) -> None:
    async with open_door() as door:
        with longest_turn() as longest:
            answer = await door.http.request(
                "PUT" if "vault" in path else "POST", path, content=body, headers=JSON
            )
    assert 400 <= answer.status_code < 500
    assert len(answer.content) < MOST_ANSWER
    assert longest() < MOST_CPU_S


async def test_a_stranger_is_read_no_further_than_it_takes_to_sign_in() -> None:
    sent = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal sent
        for _ in range(2_000):
            sent += 8_192
            yield b" " * 8_192

    async with open_house() as house, called(house, peer=PEER) as http:
        ann = await house.app.accounts.register.add_user("ann", is_admin=True)
        key = (await house.app.accounts.register.add_key(ann.id, "laptop")).text
        for headers in ({}, {"Authorization": f"Bearer {key[:-3]}xyz"}):
            sent = 0
            answer = await http.post("/memories", content=endless(), headers=JSON | headers)
            assert answer.status_code in {401, 413}
            assert sent <= 2 * STRANGER_BYTES + 8_192
        text = "A long memory. " * 2_000
        known = await http.post(
            "/memories",
            content=json.dumps({"content": text}),
            headers=JSON | {"Authorization": f"Bearer {key}"},
        )
        assert "larger than 16 KB" not in known.text


async def test_while_a_stranger_sends_a_million_fields_others_are_answered() -> None:
    answered: list[int] = []

    async with open_server() as door:
        await door.house.app.accounts.register.add_user("ann", is_admin=True)

        async def body() -> AsyncGenerator[bytes]:
            for start in range(0, len(MANY), 262_144):
                answered.append((await door.http.get("/health")).status_code)
                yield MANY[start : start + 262_144]

        with longest_turn() as longest:
            answer = await door.http.post("/session", content=body(), headers=JSON)
        after = (await door.http.get("/health")).status_code
    assert answer.status_code == 413
    assert {*answered, after} == {200}
    assert longest() < MOST_CPU_S


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/recall?query=" + "x" * 40_000, {}),
        ("/recall?" + "&".join("a" for _ in range(5_000)), {}),
        ("/" + "x/" * 20_000, {}),
        ("/health", {f"x-{number}": "1" for number in range(1_000)}),
        ("/conversations/x/files", {"content-type": 'multipart/form-data; boundary="' + ";" * 60_000}),
    ],
    ids=["long", "parameters", "path", "headers", "media type"],
)
async def test_a_head_that_nobody_sends_is_refused(path: str, headers: dict[str, str]) -> None:
    async with open_door() as door:
        with longest_turn() as longest:
            answer = await door.http.request(
                "POST" if "type" in str(headers) else "GET", path, headers=headers
            )
    assert answer.status_code in {413, 422}
    assert len(answer.content) < MOST_ANSWER
    assert longest() < MOST_CPU_S


@pytest.mark.parametrize("sent", ['"' + "\\" * 60_000 + '"', '"' + '\\"' * 30_000 + '"', "; " * 60_000])
@pytest.mark.parametrize("name", ["bethink_session", "another"])
@pytest.mark.parametrize("path", ["/session", "/health", "/mcp", "/nowhere"])
@pytest.mark.parametrize("is_owner", [True, False])
async def test_a_cookie_that_nobody_made_does_not_hold_the_loop(
    path: str, sent: str, name: str, *, is_owner: bool
) -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        if not is_owner:
            await house.app.accounts.register.add_user("ann", is_admin=True)
        with longest_turn() as longest:
            answer = await http.get(path, headers={"cookie": f"{name}={sent}"})
    assert answer.status_code < 500
    assert longest() < MOST_CPU_S


@pytest.mark.parametrize(
    "sent", ["a" * 20_000 + "@", "gzip;" + " " * 20_000 + "@", "a;q" + " " * 20_000 + "@", "*," * 20_000]
)
async def test_encodings_that_nobody_accepts_do_not_hold_the_loop(sent: str) -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        for path in ("/health", "/"):
            with longest_turn() as longest:
                answer = await http.get(path, headers={"accept-encoding": sent})
            assert answer.status_code < 500
            assert longest() < MOST_CPU_S


async def test_a_sign_in_is_found_among_cookies_of_other_programs() -> None:
    async with open_house() as house, called(house, peer=PEER) as http:
        ann = await house.app.accounts.register.add_user("ann", is_admin=True)
        key = (await house.app.accounts.register.add_key(ann.id, "laptop")).text
        signed = await http.post("/session", json={"key": key})
        value = signed.cookies["bethink_session"]
        http.cookies.clear()
        sent = f'other="a\\"b\\073"; bethink_session={value} ;last; =x'
        known = await http.get("/session", headers={"cookie": sent})
        assert known.json()["user"]["name"] == "ann"


async def test_of_many_faults_the_first_are_told_and_the_others_counted() -> None:
    async with open_door() as door:
        answer = await door.http.post("/memories", json={f"wrong_{number}": 1 for number in range(150)})
    told = answer.json()
    assert (answer.status_code, len(told["errors"])) == (422, 20)
    assert "and 131 more faults" in told["detail"]


@pytest.mark.parametrize("run", ["a", " ", ".", "!", "a.", "a-", "::", "1", "\\\\", "<", "["])
@pytest.mark.parametrize(
    "read",
    [
        lambda text: redaction_of([text]),
        lambda text: is_stated("User likes tea", [text]),
        secret_in,
        lambda text: Citations(Labels(), []).take(text),
        lambda text: _links([text]),
        lambda text: calls_in(f"[TOOL_CALLS]a{text}", {}),
        lambda text: calls_in(f"<｜tool▁call▁begin｜>a{text}<｜tool▁call▁end｜>", {}),
    ],
    ids=["sentences", "said", "secrets", "citations", "links", "mistral", "deepseek"],
)
def test_a_long_run_of_one_mark_is_read_in_linear_time(read: Callable[[str], object], run: str) -> None:
    begun = time.thread_time()
    read(run * (20_000 // len(run)) + "\x00")
    assert time.thread_time() - begun < MOST_CPU_S
