"""What a served Bethink takes for a folder of the corpus, and what a chat turn takes meanwhile.

A `bethink serve` of its own, with the real embedding model and a scripted language model, watches a folder.
Turns follow one another all the time: before, while files are read and indexed, and while their passages get
vectors. Then the folder is looked at again, and its knowledge base is exported, and imported by a second
server.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.documents.corpus import write_corpus
from benchmarks.process import can_measure, serving
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from benchmarks.process import Serving

FILES_SERVED: Final = 300
_IDLE_TURNS: Final = 100
_WARM_UP: Final = 10
_FEWEST: Final = 20
"""Turns of which something can be said."""
_LONGEST_S: Final = 60.0
"""Vectors take minutes; the turns of the first ones tell enough."""
_PAUSE_S: Final = 0.05
"""Between two turns."""
_FACTS: Final = 50
_BASE: Final = "corpus"
_SAID: Final = "Which of the things that I told you bears on number {}?"


async def measure_served(models: Path, files: int = FILES_SERVED) -> list[dict[str, Any]]:
    """A row for the folder, then one for the turns of each phase."""
    if not can_measure():
        return [{"served": "skipped", "why": "this machine does not tell what a process has used"}]
    with TemporaryDirectory(prefix="bethink-bench-") as directory, scripted_process() as llm:
        root = Path(directory)
        pages = sum(len(file.pages) for file in write_corpus(root, files))
        await llm.plays(Rule(text="Seven of them do."))
        environment = {
            "BETHINK_MODEL": "openai:scripted",
            "OPENAI_BASE_URL": llm.base_url,
            "OPENAI_API_KEY": "none",
        }
        async with serving(models, **environment) as server:
            folder, turns = await _followed(server, root)
            base, archive = await _exported(server)
        async with serving(models, **environment) as other:
            base |= await _imported(other, archive)
    folder |= {
        "files_per_s": round(files / folder["read_s"], 1),
        "pages_per_s": round(pages / folder["read_s"]),
    }
    return [{"served": f"{files} files"} | folder, {"base": _BASE} | base, *turns]


async def _followed(server: Serving, root: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a folder takes until it is read, and until all of it has vectors; and the turns meanwhile."""
    for number in range(_FACTS):
        await server.post(
            "/memories", {"content": f"Number {number} is the box in cellar {number * 7 % 31}."}
        )

    async def is_read() -> bool:
        now = await server.get("/documents/status")
        return bool(now["ready"]) and not now["waiting"] + now["reading"] + now["indexing"]

    async def has_vectors() -> bool:
        return not (await server.get("/documents/status"))["without_vector"]

    idle, _ = await _talked(server, turns=_WARM_UP + _IDLE_TURNS)
    del idle[:_WARM_UP]
    collection = await server.post("/documents/collections", {"name": _BASE})
    watched = await server.post("/documents/folders", {"path": str(root), "collection": collection["id"]})
    reading, read_s = await _talked(server, until=is_read)
    embedding, embedded_s = await _talked(server, until=has_vectors)
    begin = time.perf_counter()
    await server.post(f"/documents/folders/{watched['id']}/sync", {})
    looked_s = time.perf_counter() - begin
    status = await server.get("/documents/status")
    folder = {
        "read_s": round(read_s, 1),
        "failed": status["failed"],
        "passages": status["passages"],
        "vectors_s": round(embedded_s, 1),
        "without_vector": status["without_vector"],
        "unchanged_s": round(looked_s, 2),
        "server_mb": round(server.resident_mb()),
    }
    phases = {"idle": idle, "reading files": reading, "making vectors": embedding}
    return folder, [_row(name, turns, idle) for name, turns in phases.items() if len(turns) >= _FEWEST]


async def _talked(
    server: Serving, *, until: Callable[[], Awaitable[bool]] | None = None, turns: int = 1_000_000
) -> tuple[list[float], float]:
    """Milliseconds of each turn, one after the other in new conversations, and the seconds of all."""
    begin = time.perf_counter()
    took: list[float] = []
    while len(took) < turns and time.perf_counter() - begin < _LONGEST_S:
        if until is not None and await until():
            break
        conversation = (await server.post("/conversations", {}))["id"]
        body = {"message": {"role": "user", "content": _SAID.format(len(took) % _FACTS)}, "stream": True}
        start = time.perf_counter()
        async with server.session.post(
            f"{server.origin}/conversations/{conversation}/chat", json=body
        ) as answer:
            said = await answer.read()
        took.append((time.perf_counter() - start) * 1_000)
        if b'"reason":"answered"' not in said:
            message = f"the turn was not answered: {said[-300:]!r}"
            raise RuntimeError(message)
        await asyncio.sleep(_PAUSE_S)
    return took, time.perf_counter() - begin


def _row(name: str, turns: list[float], idle: list[float]) -> dict[str, Any]:
    p50, p95 = statistics.median(turns), statistics.quantiles(turns, n=20)[-1]
    return {
        "chat while": name,
        "turns": len(turns),
        "turn_ms_p50": round(p50, 1),
        "turn_ms_p95": round(p95, 1),
        "turn_ms_max": round(max(turns), 1),
        "p50_ratio": round(p50 / statistics.median(idle), 2),
        "p95_ratio": round(p95 / statistics.quantiles(idle, n=20)[-1], 2),
    }


async def _exported(server: Serving) -> tuple[dict[str, Any], bytes]:
    begin = time.perf_counter()
    async with server.session.get(f"{server.origin}/kb/{_BASE}/export") as answer:
        archive = await answer.read()
    took = time.perf_counter() - begin
    return {"export_s": round(took, 1), "archive_mb": round(len(archive) / 1_000_000, 1)}, archive


async def _imported(server: Serving, archive: bytes) -> dict[str, Any]:
    begin = time.perf_counter()
    headers = {"content-type": "application/gzip"}
    async with server.session.post(f"{server.origin}/kb/import", data=archive, headers=headers) as answer:
        answer.raise_for_status()
        report = await answer.json()
    return {"import_s": round(time.perf_counter() - begin, 1)} | report["counts"]
