"""What watched folders cost: adding many small files, and looking at a folder in which nothing changed.

A SQLite data directory, words and pages of real size, the hashing embedder; files are read in this process.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.to_thread

from bethink.app import open_app
from bethink.documents.reading.messages import Extracted
from bethink.documents.records import CONTENTS
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.app import App
    from bethink.documents.reading.extraction import Extraction
    from bethink.documents.reading.messages import Kind
    from bethink.principal import Principal

_FILES: Final = 10_000
_IN_A_FOLDER: Final = 100
_WORDS: Final = 120
_LOOKS: Final = 3
_OLD: Final = 1_700_000_000


class _InProcess:
    """Reads texts without a process of its own."""

    state = ""

    @asynccontextmanager
    async def kept_warm(self) -> AsyncGenerator[None]:
        yield

    async def kind(self, path: Path, name: str, media_type: str) -> Kind | None:
        del path, name, media_type
        return "text"

    async def read(
        self, path: Path, name: str, media_type: str, *, first: int = 1, last: int = 1
    ) -> Extracted:
        del name, media_type, first, last
        return Extracted(1, {1: await anyio.Path(path).read_text()})


def _write(root: Path, count: int) -> None:
    chance = random.Random(15)  # noqa: S311 - the same files each time
    words = [f"word{number}" for number in range(5_000)]
    for number in range(count):
        folder = root / f"{number // _IN_A_FOLDER:03}"
        folder.mkdir(parents=True, exist_ok=True)
        said = " ".join(chance.choices(words, k=_WORDS))
        file = folder / f"note {number}.md"
        file.write_text(f"# Note {number}\n\n{said}.\n")
        os.utime(file, (_OLD, _OLD))  # one that was just written is waited for


async def measure_folders(count: int = _FILES) -> list[dict[str, Any]]:
    """One row: files of a folder are added, looked at again without a change, and one of them is changed."""
    with TemporaryDirectory(prefix="bethink-bench-") as home:
        root = Path(home, "notes")
        await anyio.to_thread.run_sync(_write, root, count)
        settings = Settings(data_dir=Path(home, "data"), vault=VaultSettings(mirror=False))
        async with (
            open_ports(settings) as ports,
            open_app(settings, replace(ports, embeddings=HashingEmbeddings())) as app,
        ):
            me = await app.accounts.authenticate(audience="bench")
            documents = app.features.of(Documents)
            documents.ingest.extraction = cast("Extraction", _InProcess())
            folder = await documents.folders.add(me, str(root))
            began = time.perf_counter()
            await documents.folders.sync(me, folder.id)
            added = time.perf_counter()
            slowest = await _read_by_now(app, me.owner, count)
            read = time.perf_counter()
            looks = [await _looked(documents, me, folder.id) for _ in range(_LOOKS)]
            change = root / "000" / "note 0.md"
            await anyio.to_thread.run_sync(change.write_text, "# Note 0\n\nThe heron is grey.")
            await anyio.sleep(1.1)  # one that was just written is waited for
            changed = time.perf_counter()
            await documents.folders.sync(me, folder.id)
            while not any("heron" in hit.text for hit in await app.library.search(me, "grey heron")):  # noqa: ASYNC110
                await anyio.sleep(0.02)
            return [
                {
                    "folder": f"{count} files",
                    "added_per_s": round(count / (added - began)),
                    "read_and_indexed_per_s": round(count / (read - began)),
                    "slowest_other_read_ms": round(slowest * 1_000),
                    "unchanged_s": round(min(wall for wall, _ in looks), 2),
                    "unchanged_cpu_s": round(min(cpu for _, cpu in looks), 2),
                    "changed_found_s": round(time.perf_counter() - changed, 2),
                }
            ]


async def _read_by_now(app: App, owner: str, count: int) -> float:
    """Wait until all is read; the seconds that the slowest other read of the store took meanwhile."""
    slowest = 0.0
    while await app.ports.store.count(owner, CONTENTS, {"stage": "ready"}) < count:
        asked = time.perf_counter()
        await app.ports.store.count(owner, CONTENTS, {"stage": "waiting"})
        slowest = max(slowest, time.perf_counter() - asked)
        await anyio.sleep(0.1)
    return slowest


async def _looked(documents: Documents, me: Principal, folder: str) -> tuple[float, float]:
    """Seconds that a look takes, and those of the processor."""
    began, busy = time.perf_counter(), time.process_time()
    await documents.folders.sync(me, folder)
    return time.perf_counter() - began, time.process_time() - busy
