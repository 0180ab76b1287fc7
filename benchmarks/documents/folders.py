"""What watched folders cost: adding many small files, and looking at a folder in which nothing changed.

`python -m benchmarks.documents.folders [FILES]`; a SQLite data directory, words and pages of real size, the
hashing embedder, and the real process that reads files (unless `--fake`, which reads in this one).
"""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast

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

    from bethink.documents.reading.extraction import Extraction
    from bethink.documents.reading.messages import Kind

_FILES: Final = 10_000
_IN_A_FOLDER: Final = 100
_WORDS: Final = 120
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


async def main(count: int, *, fake: bool) -> None:
    """Print the figures."""
    with TemporaryDirectory() as home:
        root = Path(home, "notes")
        await anyio.to_thread.run_sync(_write, root, count)
        settings = Settings(data_dir=Path(home, "data"), vault=VaultSettings(mirror=False))
        async with (
            open_ports(settings) as ports,
            open_app(settings, replace(ports, embeddings=HashingEmbeddings())) as app,
        ):
            me = await app.accounts.authenticate(audience="bench")
            documents = app.features.of(Documents)
            if fake:
                documents.ingest.extraction = cast("Extraction", _InProcess())
            folder = await documents.folders.add(me, str(root))
            began = time.perf_counter()
            await documents.folders.sync(me, folder.id)
            added = time.perf_counter()
            _say(f"{count:,} files added: {added - began:.1f} s, {count / (added - began):.0f} a second")
            slowest = 0.0
            while await app.ports.store.count(me.owner, CONTENTS, {"stage": "ready"}) < count:
                asked = time.perf_counter()
                await app.ports.store.count(me.owner, CONTENTS, {"stage": "waiting"})
                slowest = max(slowest, time.perf_counter() - asked)
                await anyio.sleep(0.1)
            read = time.perf_counter()
            _say(
                f"read and indexed: {read - added:.1f} s more, {count / (read - began):.0f} a second in all;"
                f" the slowest other read of the store meanwhile {slowest * 1e3:.0f} ms"
            )
            for _ in range(3):
                began, busy = time.perf_counter(), time.process_time()
                await documents.folders.sync(me, folder.id)
                _say(
                    f"nothing changed: {time.perf_counter() - began:.2f} s"
                    f" ({time.process_time() - busy:.2f} s CPU)"
                )
            change = root / "000" / "note 0.md"
            await anyio.to_thread.run_sync(change.write_text, "# Note 0\n\nThe heron is grey.")
            await anyio.sleep(1.1)
            began = time.perf_counter()
            await documents.folders.sync(me, folder.id)
            while not any("heron" in hit.text for hit in await app.library.search(me, "grey heron")):  # noqa: ASYNC110
                await anyio.sleep(0.02)
            _say(f"one changed file found: {time.perf_counter() - began:.2f} s behind the look")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    anyio.run(lambda: main(numbers[0] if numbers else _FILES, fake="--fake" in sys.argv))
