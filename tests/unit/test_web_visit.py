"""A request whose key ends while it is answered, at the worst of moments."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import anyio.lowlevel
import pytest

from bethink.accounts import Accounts
from bethink.errors import BethinkError
from bethink.principal import Principal
from bethink.web.request_scope import READER_FILTER, REQUEST_SCOPE, RequestScope

pytestmark = pytest.mark.anyio

JSON = [(b"content-type", b"application/json")]
ME = Principal("ann", "rest", frozenset(), key="key")


class Ending:
    """Accounts whose every key can be ended."""

    def __init__(self) -> None:
        self.end: Callable[[], None] = lambda: None

    @contextmanager
    def watched(self, principal: Principal, end: Callable[[], None]) -> Generator[None]:
        assert principal is ME
        self.end = end
        yield


def told(error: BethinkError) -> bytes:
    return f"broken: {error.message}".encode()


def body(text: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": text, "more_body": more}


async def answered(app: Callable[..., Any], **state: object) -> list[dict[str, Any]]:
    """What is sent of an answer."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:  # noqa: ANN401 - an ASGI message
        sent.append(message)

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    scope = {"type": "http", "method": "GET", "path": "/memories", "headers": [], "state": state}
    await RequestScope().run(app, scope, receive, send)
    return sent


async def test_a_stream_tells_why_it_ends_though_the_end_of_its_run_is_there_first() -> None:
    async def app(scope: dict[str, Any], receive: object, send: Callable[..., Any]) -> None:
        visit, accounts = cast("RequestScope", scope["state"][REQUEST_SCOPE]), Ending()
        visit.enter(cast("Accounts", accounts), ME)
        visit.streams(told)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        accounts.end()
        # Nothing is waited for in between, as where a run's last events are at hand already.
        await send(body(b"cancelled"))

    start, last = await answered(app)
    assert start["status"] == 200
    assert last["body"].startswith(b"broken: The key or sign-in of this request has ended")
    assert last["more_body"] is False


async def test_an_answer_that_is_still_looked_through_when_its_key_ends_is_a_refusal() -> None:
    async def app(scope: dict[str, Any], receive: object, send: Callable[..., Any]) -> None:
        visit, accounts = cast("RequestScope", scope["state"][REQUEST_SCOPE]), Ending()
        visit.enter(cast("Accounts", accounts), ME)
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        await send(body(b'{"items": [', more=True))
        accounts.end()
        await anyio.lowlevel.checkpoint()

    start, last = await answered(app, **{READER_FILTER: "something"})
    assert start["status"] == 401
    assert b"has ended" in last["body"]


async def test_an_answer_that_was_sent_whole_when_its_key_ends_stands() -> None:
    async def app(scope: dict[str, Any], receive: object, send: Callable[..., Any]) -> None:
        visit, accounts = cast("RequestScope", scope["state"][REQUEST_SCOPE]), Ending()
        visit.enter(cast("Accounts", accounts), ME)
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        await send(body(b"{}"))
        accounts.end()
        await anyio.lowlevel.checkpoint()

    assert [message.get("status") or message["body"] for message in await answered(app)] == [200, b"{}"]
