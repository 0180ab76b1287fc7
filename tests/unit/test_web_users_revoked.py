"""A key that is revoked while its request is being answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from bethink.accounts.register import Register
from bethink.llm.scripted import ScriptedLlm
from tests.door import said, served
from tests.house import open_house

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("path", ["/conversations/{id}/chat", "/v1/chat/completions"]),
]


def talk(path: str, *, stream: bool) -> dict[str, Any]:
    if path.startswith("/v1"):
        return {"model": "bethink", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    return said("Hi", stream=stream)


@asynccontextmanager
async def visited(script: Sequence[Any]) -> AsyncGenerator[tuple[httpx2.AsyncClient, Register, str]]:
    """A served house, a client of it with a key, who may revoke it, and the key's id."""
    async with open_house(ScriptedLlm(lambda _: [*script])) as house, served(house) as (http, _):
        register = house.app.accounts.register
        made = await register.add_key((await register.add_user("ann")).id, "test")
        http.headers["Authorization"] = f"Bearer {made.text}"
        yield http, register, made.key.id


async def new(http: httpx2.AsyncClient) -> str:
    return (await http.post("/conversations")).json()["id"]


async def test_a_request_whose_key_is_revoked_is_told_so(path: str) -> None:
    begun = anyio.Event()

    class Begun:
        async def wait(self) -> None:
            begun.set()
            await anyio.sleep_forever()

    async with visited(["Well, ", Begun()]) as (http, register, key):
        url = path.format(id=await new(http))
        answers: list[httpx2.Response] = []

        async def ask() -> None:
            answers.append(await http.post(url, json=talk(path, stream=False)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await begun.wait()
            await register.revoke_key(key)
        (answer,) = answers
        assert "has ended" in answer.text
        assert answer.status_code == 401
        kind = "application/json" if path.startswith("/v1") else "application/problem+json"
        assert answer.headers["content-type"] == kind
        assert ("invalid_api_key" in answer.text) is path.startswith("/v1")


async def test_a_stream_whose_key_is_revoked_is_told_so_once_it_has_begun(path: str) -> None:
    async with visited(["Well, ", anyio.Event()]) as (http, register, key):
        url = path.format(id=await new(http))
        told, is_revoked = "", False
        async with http.stream("POST", url, json=talk(path, stream=True)) as answer:
            assert answer.status_code == 200
            async for text in answer.aiter_text():
                told += text
                # Revoked before the answer begins, it would be a 401 as for any other request.
                if "Well, " in told and not is_revoked:
                    is_revoked = True
                    await register.revoke_key(key)
        assert "has ended" in told
        assert "[DONE]" not in told
