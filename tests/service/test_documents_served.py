"""The library behind a real server: uploads that are cut or killed, an answer that cites its page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests.papers import pdf
from tests.server_process import Running, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LEASE = pdf(["The landlord is Ines Prata."], ["The rent is due on the third of each month."])
_LOOKS, _PAUSE_S = 3_000, 0.02
RULES = (
    Rule(when="pay", after_tool=True, text="On the third of each month [m1]."),
    Rule(when="pay", tool_calls=(ScriptedCall("rag_search", {"query": "When is the rent due?"}),)),
)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


async def ready(bethink: Running, id: str) -> dict[str, Any]:
    for _ in range(_LOOKS):
        shown = await bethink.get(f"/documents/{id}")
        if shown["stage"] not in {"waiting", "reading", "indexing"}:
            return shown
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError(id)


async def until(fits: Callable[[], bool]) -> None:
    for _ in range(_LOOKS):
        if fits():
            return
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError


def kept(data: Path) -> list[Path]:
    folders = (data / "uploads", data / "documents", data / "files")
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


@pytest.mark.requirement("R88")
async def test_a_question_is_answered_with_the_page_of_an_uploaded_document(
    model: ScriptedProcess, tmp_path: Path
) -> None:
    await model.plays(*RULES)
    async with running(tmp_path, model) as bethink:
        answer = await bethink.http.post("/documents", files={"file": ("lease.pdf", LEASE)})
        document = await ready(bethink, answer.json()["id"])
        assert (document["stage"], document["kind"], document["pages"]) == ("ready", "pdf", 2)

        conversation = await bethink.new()
        frames = await bethink.told(conversation, "When do I pay?")
        (recalled,) = [frame.data for frame in frames if frame.kind == "memory_recalled"]
        item = recalled["items"][0]
        assert (item["title"], item["kind"]) == ("lease.pdf, page 2", "passage")
        (used,) = [frame.data for frame in frames if frame.kind == "memory_used"]
        assert used["ids"] == [item["id"]]
        place = httpx2.URL(f"http://x/?{item['source'].partition('?')[2]}").params
        pages = await bethink.get(
            f"/documents/{document['id']}/pages?content={place['content']}&first={place['page']}"
        )
        begin, _, end = place["at"].partition("-")
        assert "due on the third" in pages["items"][0]["text"][int(begin) : int(end)]
        shown = await bethink.get(f"/conversations/{conversation}")
        assert item["source"] in str(shown["messages"])

        client = openai.AsyncOpenAI(
            base_url=f"{str(bethink.http.base_url).rstrip('/')}/v1", api_key="any", max_retries=0
        )
        async with client:
            said = await client.chat.completions.create(
                model="bethink", messages=[{"role": "user", "content": "What do I pay, and on which day?"}]
            )
        assert "third" in str(said.choices[0].message.content)


async def test_an_upload_that_is_cut_leaves_nothing_and_one_in_parts_goes_on_behind_a_kill(
    tmp_path: Path,
) -> None:
    content = os.urandom(600_000).hex().encode()
    async with running(tmp_path) as bethink:
        begun = await bethink.http.post("/documents/uploads", json={"name": "x.txt", "size": len(content)})
        url = f"/documents/uploads/{begun.json()['id']}"
        first = await bethink.http.patch(url, content=content[:500_000], headers={"Upload-Offset": "0"})
        assert first.json()["offset"] == 500_000

        is_going = asyncio.Event()

        async def halting() -> AsyncIterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="cut.txt"\r\n\r\n'
            yield content[:300_000]
            is_going.set()
            await asyncio.sleep(60)

        async def send() -> None:
            headers = {"Content-Type": "multipart/form-data; boundary=x"}
            await bethink.http.post("/documents", content=halting(), headers=headers)

        cut = asyncio.create_task(send())
        await is_going.wait()
        await until(lambda: len(kept(tmp_path)) == 2)
        cut.cancel()
        await until(lambda: len(kept(tmp_path)) == 1)
        assert (await bethink.get("/documents"))["items"] == []

        is_going.clear()
        again = asyncio.create_task(send())
        await is_going.wait()
        await bethink.kill()
        again.cancel()  # it sends nothing that would tell it
        await asyncio.gather(again, return_exceptions=True)

    async with running(tmp_path) as bethink:
        assert (await bethink.get(url))["offset"] == 500_000
        assert (await bethink.get("/documents"))["items"] == []
        rest = await bethink.http.patch(url, content=content[500_000:], headers={"Upload-Offset": "500000"})
        document = await ready(bethink, rest.json()["document"]["id"])
        assert (document["stage"], document["size"]) == ("ready", len(content))
        original = await bethink.http.get(f"/documents/{document['id']}/file")
        assert original.content == content
