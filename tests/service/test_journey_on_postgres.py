"""A person's way through two processes behind a proxy, over one PostgreSQL: talk, forget, come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import openai
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from tests.balancer import balanced
from tests.door import DONE, frames, said, text_of
from tests.postgres_server import PostgresServer, postgres_server
from tests.server_process import running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


async def said_to(http: httpx2.AsyncClient, content: str) -> str:
    """What is answered, streamed, in a new conversation; each request goes to the next process."""
    conversation = (await http.post("/conversations")).json()["id"]
    async with http.stream("POST", f"/conversations/{conversation}/chat", json=said(content)) as response:
        told = [frame async for frame in frames(response)]
    assert told[-1].data == DONE
    shown = (await http.get(f"/conversations/{conversation}")).json()
    assert [message["content"] for message in shown["messages"] if message["role"] == "user"] == [content]
    return text_of(told)


@pytest.mark.requirement("R171")
async def test_what_is_told_to_one_process_is_known_to_all_and_forgotten_by_all(
    tmp_path: Path, model: ScriptedProcess, postgres: PostgresServer
) -> None:
    told = {"BETHINK_DATABASE_URL": postgres.new_database()}
    async with AsyncExitStack() as stack:
        begin = stack.enter_async_context
        one, other = [await begin(running(tmp_path, model, **told)) for _ in range(2)]
        url = await begin(balanced([str(each.http.base_url) for each in (one, other)]))
        # A connection for each request, so that they take turns.
        limits = httpx2.Limits(max_keepalive_connections=0)
        http = await begin(httpx2.AsyncClient(base_url=url, timeout=60, limits=limits))
        client = await begin(openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0))
        await said_to(http, "My name is Alice and I live in Paris")
        answer = await client.chat.completions.create(
            model="bethink", messages=[{"role": "user", "content": "Where do I live?"}]
        )
        assert "Paris" in (answer.choices[0].message.content or "")
        # One dies, and is not missed.
        await one.kill()
        assert "Paris" in await said_to(http, "Where do I live?")
        items = (await http.get("/memories")).json()["items"]
        (home,) = [item["id"] for item in items if "Paris" in item["content"]]
        gone = await http.delete(f"/memories/{home}", params={"forget": True})
        assert gone.status_code == 200, gone.text
        assert await other.stop() == 0
    async with running(tmp_path, model, **told) as again:
        assert [item["content"] for item in (await again.get("/memories"))["items"]] == [
            "User's name is Alice."
        ]
        assert (
            "Paris" not in (await again.answer(await again.new(), "Where do I live?"))["message"]["content"]
        )
