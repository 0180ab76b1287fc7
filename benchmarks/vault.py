"""`bethink bench vault`: what a large vault costs: first index, edits, search, watching at rest, a power cut.

The pages are invented (`corpus`), the same every time; vectors come from the
hashing embedder, so that no figure holds the embedding model's time.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from benchmarks import CLONE
from benchmarks.cold import resident_mb
from benchmarks.corpus import Corpus
from benchmarks.meter import Meter
from benchmarks.vault_search import measure_vault_search
from bethink.clock import Ids, SystemClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexQuery
from bethink.principal import LOCAL_OWNER, Principal
from bethink.settings import Settings, VaultSettings
from bethink.store import SetVector
from bethink.vault import KIND, Vault
from bethink.vault.watch import FolderWatcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.engines.sqlite.store import SqliteDatabase
    from bethink.vault import Change

SIZES: Final = (10_000,)
_PAGE_BYTES: Final = 10_000
_FOLDER_PAGES: Final = 100
_SEED: Final = 3
_LINES_MADE: Final = 20_000
_LINES: Final = 8
"""Of a section, each of some thirty words."""
_EDITS: Final = 30
_SEARCHES: Final = 100
_SAVES: Final = 20
_REST_S: Final = 20.0
_MINUTE_S: Final = 60.0
_MOST_FILLED: Final = 20_000
"""So many parts get vectors: the legs' cost shows, and the run ends."""
_BATCH: Final = 1_000
_ME: Final = Principal(LOCAL_OWNER)
_KILL_SHARE: Final = 0.4
"""Of the time of a first index, after which it is killed."""


async def measure_vault(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Rows for each number of pages of 10 kB."""
    return [row for size in sizes for row in await _of(size)]


def settings_for(directory: Path) -> Settings:
    """Those of a vault that may be as large as is measured."""
    sizes = VaultSettings(max_bytes=2_000_000_000, max_directory_bytes=100_000_000)
    return Settings(data_dir=directory, vault=sizes)


async def _of(pages: int) -> list[dict[str, Any]]:
    with TemporaryDirectory(prefix="bethink-bench-") as name:
        directory = Path(name)
        total = await anyio.to_thread.run_sync(write_pages, directory / "vault", pages)
        mb = round(total / 1e6, 1)
        rows: list[dict[str, Any]] = [{"what": f"{pages:,} pages", "mb": mb}]
        async with _opened(directory) as (vault, database):
            before = resident_mb()
            rows.append(row := await _timed("first index", vault.sync(LOCAL_OWNER)))
            row["mb_per_s"] = round(total / 1e3 / row["wall_ms"], 1)
            row["resident_mb"] = round(resident_mb() - before)
            first_s = row["wall_ms"] / 1000
            rows.append(await _timed("nothing changed", vault.sync(LOCAL_OWNER)))
            filled = await _fill(database)
            rows.append(await _searched(database, filled))
            rows[-1]["resident_mb"] = round(resident_mb() - before)
            rows += [await _edited(vault, database), await _written(vault)]
            rows += await measure_vault_search(vault)
            rows += await _watched(vault)
        rows[0]["database_mb"] = await anyio.to_thread.run_sync(_database_mb, directory)
    return [*rows, await _killed(pages, after_s=first_s * _KILL_SHARE)]


def write_pages(root: Path, pages: int) -> int:
    """Write so many pages below a folder; how many bytes they have."""
    lines, chosen, total = Corpus().texts(_LINES_MADE), random.Random(_SEED), 0  # noqa: S311 - no secret
    for number in range(pages):
        file = root / f"area_{number // _FOLDER_PAGES:03}" / f"page_{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        total += file.write_bytes(_page(lines, chosen, number).encode())
    return total


def _page(lines: Sequence[str], chosen: random.Random, number: int) -> str:
    texts = [f"# Page {number}\n\n- number: {number}\n- next: [[page_{number + 1:05}]]\n"]
    size, section = 0, 0
    while size < _PAGE_BYTES:
        section += 1
        said = "".join(f"{line}.\n" for line in chosen.choices(lines, k=_LINES))
        texts.append(f"\n## Section {section}\n\n{said}")
        size += len(texts[-1])
    return "".join(texts)[:_PAGE_BYTES]


@asynccontextmanager
async def _opened(directory: Path) -> AsyncGenerator[tuple[Vault, SqliteDatabase]]:
    clock = SystemClock()
    async with open_database(directory) as database:
        yield Vault.of(settings_for(directory), database.store, clock, new_id=Ids(clock)), database


async def _timed(what: str, doing: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever is awaited
    wall, cpu = time.perf_counter(), time.process_time()
    await doing
    return {
        "what": what,
        "wall_ms": round((time.perf_counter() - wall) * 1000, 1),
        "cpu_ms": round((time.process_time() - cpu) * 1000, 1),
    }


async def _fill(database: SqliteDatabase) -> int:
    """Give parts their vectors, as the background does; how many have one."""
    embeddings, done = HashingEmbeddings(), 0
    while done < _MOST_FILLED:
        missing = await database.index.missing_vectors(LOCAL_OWNER, embeddings.model, _BATCH)
        if not missing:
            break
        vectors = await embeddings.embed([one.text for one in missing])
        changes = [
            SetVector(one.id, one.text, vectors[row], embeddings.model) for row, one in enumerate(missing)
        ]
        await database.store.commit(LOCAL_OWNER, changes)
        done += len(missing)
    return done


async def _searched(database: SqliteDatabase, filled: int) -> dict[str, Any]:
    embeddings, meter = HashingEmbeddings(), Meter()
    searched = 0
    for text in Corpus().texts(_SEARCHES, 4):
        vector = (await embeddings.embed([text]))[0]
        query = IndexQuery(LOCAL_OWNER, text, vector, embeddings.model, kinds=frozenset({KIND}))
        stop = meter.start()
        searched = (await database.index.search(query)).searched
        stop()
    return {"what": "search of the index", "parts": searched, "vectors": filled, **meter.figures()}


async def _edited(vault: Vault, database: SqliteDatabase) -> dict[str, Any]:
    """A line added by another program, taken in and found: all but the embedding of one part."""
    meter = Meter()
    for number in range(_EDITS):
        path = f"area_000/page_{number:05}.md"
        file = vault.root(LOCAL_OWNER) / path
        await anyio.to_thread.run_sync(_append, file, f"\nedit{number} by hand.\n")
        stop = meter.start()
        await vault.sync(LOCAL_OWNER, [path])
        await database.index.search(IndexQuery(LOCAL_OWNER, f"edit{number}"))
        stop()
    return {"what": "one edit, taken in and found", **meter.figures()}


async def _written(vault: Vault) -> dict[str, Any]:
    meter = Meter()
    for number in range(_EDITS):
        path = f"area_001/page_{_FOLDER_PAGES + number:05}.md"
        page = await vault.read(LOCAL_OWNER, path)
        stop = meter.start()
        await vault.write(_ME, path, f"{page.text}\nmore\n", if_version=page.version, by="agent")
        stop()
    return {"what": "one page written, durable", **meter.figures()}


@dataclass(slots=True)
class _Heard:
    """Wakes who waits for a change of pages."""

    change: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, owner: str, changes: Sequence[Change]) -> None:
        del owner, changes
        self.change.set()


async def _watched(vault: Vault) -> list[dict[str, Any]]:
    """How soon a saved file is taken in, and what watching costs where nothing happens."""
    heard, meter = _Heard(), Meter()
    vault.context.listeners.append(heard)
    file = vault.root(LOCAL_OWNER) / "area_002" / "page_00200.md"
    watching, used = FolderWatcher(vault, MemoryBus()), 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watching.watch)
        await asyncio.sleep(_SETTLE_S)
        for number in range(_SAVES):
            heard.change = anyio.Event()
            stop = meter.start()
            await anyio.to_thread.run_sync(_append, file, f"\nsave{number}\n")
            await heard.change.wait()
            stop()
        await asyncio.sleep(1)
        cpu = time.process_time()
        await asyncio.sleep(_REST_S)
        used = time.process_time() - cpu
        tasks.cancel_scope.cancel()
    rest = {"what": "watching at rest", "cpu_s_a_minute": round(used / _REST_S * _MINUTE_S, 3)}
    return [{"what": "saved by an editor, then known", **meter.figures()}, rest]


_SETTLE_S: Final = 3.0


async def _killed(pages: int, *, after_s: float) -> dict[str, Any]:
    """A first index that ends like in a power cut, and the one that goes on from there."""
    with TemporaryDirectory(prefix="bethink-bench-") as name:
        directory = Path(name)
        await anyio.to_thread.run_sync(write_pages, directory / "vault", pages)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.vault", name, cwd=CLONE
        )
        await asyncio.sleep(after_s)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        async with _opened(directory) as (vault, _):
            kept = len(await vault.pages(LOCAL_OWNER))
            row = await _timed("killed in the first index, then finished", vault.sync(LOCAL_OWNER))
            row |= {"kept": kept, "pages": len(await vault.pages(LOCAL_OWNER))}
            row["faults"] = "; ".join(await vault.faults(LOCAL_OWNER)) or "none"
    return row


def _database_mb(directory: Path) -> int:
    return round(sum(file.stat().st_size for file in directory.glob("*.sqlite3*")) / 1e6)


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


async def _index(directory: Path) -> None:
    async with _opened(directory) as (vault, _):
        await vault.sync(LOCAL_OWNER)


if __name__ == "__main__":
    asyncio.run(_index(Path(sys.argv[1])))
