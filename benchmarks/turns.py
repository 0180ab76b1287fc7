"""How long the memory service takes: `python -m benchmarks.turns [TURNS]` stores so many, then asks.

Turns are random words, so that every question has many near answers. Prints milliseconds.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bethink.app import App, open_app
from bethink.redaction import COMMON_WORDS
from bethink.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bethink.conversations.entries import MemoryEntry
    from bethink.principal import Principal
    from bethink.recall.conversation_memory import ConversationMemory

_OF_A_CONVERSATION = 20
_QUESTIONS = 30
_LOOK_S = 2
_WORDS = sorted(COMMON_WORDS)


def _text(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


def _told(name: str, took: list[float]) -> None:
    took.sort()
    middle, high = (took[int(share * (len(took) - 1))] for share in (0.5, 0.95))
    figures = f"p50 {middle * 1e3:.1f}, p95 {high * 1e3:.1f}, longest {took[-1] * 1e3:.1f} ms"
    sys.stdout.write(f"{name}: {figures}\n")


async def _timed(name: str, asked: list[str], ask: Callable[[str], Awaitable[object]]) -> None:
    took: list[float] = []
    for one in asked:
        begun = time.perf_counter()
        await ask(one)
        took.append(time.perf_counter() - begun)
    _told(name, took)


async def _searched(
    memory: ConversationMemory, me: Principal, query: str, *, filters: dict[str, str]
) -> list[MemoryEntry]:
    return await memory.search_conversations(me, query, filters)


async def _measure(app: App, turns: int, folder: Path) -> None:
    rng = random.Random(1)  # noqa: S311 - the same words each time
    me, memory = await app.accounts.authenticate(audience="cli"), app.conversation_memory
    await app.ports.embeddings.load()
    took: list[float] = []
    for number in range(turns):
        place = number // _OF_A_CONVERSATION
        metadata = {"user_id": f"u{number % 7}", "session_id": f"s{place}"}
        said, answer = _text(rng, 20), _text(rng, 40)
        begun = time.perf_counter()
        await memory.store_conversation(me, f"c{place}", said, answer, metadata)
        took.append(time.perf_counter() - begun)
    _told("store_conversation", took)
    while await app.ports.index.missing_vectors(me.owner, app.ports.embeddings.model, 1):  # noqa: ASYNC110 - the index tells nobody
        await anyio.sleep(_LOOK_S)
    asked = [_text(rng, 6) for _ in range(_QUESTIONS)]
    await _timed("retrieve_context", asked, lambda one: memory.retrieve_context(me, one))
    for name, filters in {
        "search_conversations": {},
        "of one conversation": {"conversation_id": "c7"},
        "by common metadata": {"user_id": "u3"},
        "by rare metadata": {"session_id": "s3"},
    }.items():
        ask = partial(_searched, memory, me, filters=filters)
        await _timed(name, asked, ask)
    path = folder / "turns.tar.gz"
    await _timed("export_knowledge_base", [""], lambda _: memory.export_knowledge_base(me, path))
    sys.stdout.write(f"archive: {path.stat().st_size:,} bytes\n")


async def _main(turns: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bethink-turns-") as name:
        async with open_app(load_settings(data_dir=Path(name))) as app:
            await _measure(app, turns, Path(name))


if __name__ == "__main__":
    anyio.run(_main, int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
