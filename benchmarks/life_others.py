"""Other memories that live the lives beside Bethink: they are told the same messages, each by its own Python.

`life` measures what they report by the same rules. Their model is that of Bethink, or a script that answers
their own prompts as Bethink's is answered: it finds all that is told, and believes all the rest as well.
They embed by the same model. `life_peer` runs in their Python.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from benchmarks.life_peer import PEERS
from benchmarks.lives import has

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from benchmarks.lives import Life, Said
    from bethink.embeddings import Embeddings
    from bethink.settings import Settings

_PEER_S: Final = 1_800
"""What a peer has not lived through by then is left out."""
_OUTPUT_TOKENS: Final = 500
"""A fact takes thirty; a small model that repeats itself ends here."""
_SCRIPT: Final = "script"
_INSTANCE: Final = re.compile(r'<instance id=(\S+) schema_type="Memory">\n(.*?)\n</instance>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """What a peer reported of a life."""

    name: str
    steps: Sequence[Mapping[str, str]]
    """All that it held after each message, by id."""
    found: Sequence[Sequence[str]]
    failed: int
    fault: str
    took_s: float


async def told_by_peers(
    python: Path, wanted: Sequence[Life], settings: Settings, *, script: Script, embeddings: Embeddings
) -> list[list[Told]]:
    """What each peer that this Python has reported of the lives, in order; fewer if its time ended."""
    async with _served(script, embeddings) as url:
        own = not settings.model or not settings.model_base_url
        model = _SCRIPT if own else settings.model.partition(":")[2]
        task = {
            "model": model,
            "model_url": url if own else str(settings.model_base_url),
            "embeddings_url": url,
            "dimensions": embeddings.model.dimensions,
            "output_tokens": _OUTPUT_TOKENS,
            "lives": [
                {"said": [one.text for one in life.said], "asked": [one.text for one in life.questions]}
                for life in wanted
            ],
        }
        return [await _told(python, name, task) for name in PEERS]


async def _told(python: Path, name: str, task: dict[str, Any]) -> list[Told]:
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        place = Path(directory)
        told, given, heard = place / "told.jsonl", place / "task.json", place / "errors.txt"
        task = task | {"directory": str(place), "told": str(told)}
        await asyncio.to_thread(given.write_text, json.dumps(task), "utf-8")
        script = Path(__file__).with_name("life_peer.py")
        with heard.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                python, script, name, given, stdout=errors, stderr=errors
            )
            try:
                await asyncio.wait_for(process.wait(), _PEER_S)
            except TimeoutError:
                process.kill()
                await process.wait()
        if process.returncode:
            print(f"{name} ended with {process.returncode}: {heard.read_text(errors='replace')[-600:]}")
        return read(told.read_text(encoding="utf-8")) if told.exists() else []


def read(lines: str) -> list[Told]:
    """What a peer wrote, one life a line; a line that was cut off is none."""
    return [Told(**json.loads(line)) for line in lines.splitlines(keepends=True) if line.endswith("\n")]


@dataclass(frozen=True, slots=True)
class Script:
    """Answers the prompts of the peers from what the lives tell. It believes all, unless it is careful."""

    said: Mapping[str, Said]
    is_careful: bool = False

    @classmethod
    def of(cls, wanted: Sequence[Life], *, is_careful: bool = False) -> Script:
        """The script of some lives; where two say the same, they tell the same."""
        return cls({one.text: one for life in wanted for one in life.said}, is_careful)

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The message that answers a request of mem0 (one object of JSON) or of langmem (calls of tools)."""
        read = "\n".join(str(message.get("content") or "") for message in body["messages"])
        _, _, new = read.rpartition("## New Messages")
        one = max((one for one in self.said.values() if one.text in new), key=_length, default=None)
        if one is not None and one.does == "none" and self.is_careful:
            one = None
        if not body.get("tools"):
            memories = [] if one is None or one.does == "forget" else [{"id": "0", "text": one.fact}]
            return {"role": "assistant", "content": json.dumps({"memory": memories})}
        calls = [] if one is None else [*_calls(one, dict(_INSTANCE.findall(read)))]
        return {
            "role": "assistant",
            "content": None if calls else "Nothing.",
            "tool_calls": [
                {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for place, (name, arguments) in enumerate(calls)
            ],
        }


def _length(one: Said) -> int:
    return len(one.text)


def _calls(one: Said, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What langmem's tools are to do: change or delete what holds no more, else keep the fact."""
    old = [id for id, text in known.items() if one.old and has(text, one.old)]
    if one.does == "forget":
        yield from (("RemoveDoc", json.dumps({"json_doc_id": id})) for id in old)
    elif old:
        patch = {"op": "replace", "path": "/content", "value": one.fact}
        edit = {"json_doc_id": old[0], "planned_edits": "The fact changed.", "patches": [patch]}
        yield "PatchDoc", json.dumps(edit)
    else:
        yield "Memory", json.dumps({"content": one.fact})


@asynccontextmanager
async def _served(script: Script, embeddings: Embeddings) -> AsyncGenerator[str]:
    """The script and the embedding model at an address of loopback, as OpenAI's API has them."""

    async def complete(request: web.Request) -> web.Response:
        message = script.answer(await request.json())
        end = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": end}
        head = {"id": "0", "object": "chat.completion", "created": 0, "model": _SCRIPT}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    async def embed(request: web.Request) -> web.Response:
        given = (await request.json())["input"]
        vectors = await embeddings.embed([given] if isinstance(given, str) else given)
        data = [
            {"object": "embedding", "index": place, "embedding": vector.tolist()}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return web.json_response({"object": "list", "data": data, "model": "bench", "usage": usage})

    app = web.Application(client_max_size=16 * 1024 * 1024)
    app.add_routes([web.post("/v1/chat/completions", complete), web.post("/v1/embeddings", embed)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        _, port, *_ = runner.addresses[0]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()
