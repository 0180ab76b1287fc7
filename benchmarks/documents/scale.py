"""What searching many passages costs one owner: 100,000 of some 250 words, with two vectors each.

Sentences are those of the corpus, vectors are invented (`benchmarks.corpus`): how well is measured by
`retrieval`. Passages are kept as the library keeps them, without the pages that they are cut from.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import numpy as np

from benchmarks.cold import resident_mb
from benchmarks.corpus import MODEL, OWNER
from benchmarks.documents.corpus import corpus
from benchmarks.meter import WARM_UP, Meter
from bethink.documents.records import KIND, PASSAGES, Passage, passage_id
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexItem, IndexQuery
from bethink.store import Put

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bethink.index import Index
    from bethink.store import Change

PASSAGES_KEPT: Final = 100_000
_OF_A_DOCUMENT: Final = 40
_SENTENCES: Final = 22
_VECTORS: Final = 2
_BATCH: Final = 200
_SEARCHES: Final = 200
_FILES: Final = 200
_LIMIT: Final = 100
"""As recall asks."""
_SEED: Final = 54


async def measure_scale(count: int = PASSAGES_KEPT) -> list[dict[str, Any]]:
    """One row each: searching all of them, those of ten documents, and those of half of all."""
    made = _Made([said for file in corpus(_FILES) for page in file.pages for said in page.sentences])
    contents = [f"{number:064x}" for number in range(-(-count // _OF_A_DOCUMENT))]
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with open_database(Path(directory)) as database:
            started = time.perf_counter()
            for batch in made.batches(count, contents):
                await database.store.commit(OWNER, batch)
            kept_s = time.perf_counter() - started
            first = Meter()
            stop = first.start()
            await database.index.search(IndexQuery(OWNER, made.sentences[0], None, MODEL))
            stop()
            among = {
                "all": None,
                "10 documents": frozenset(contents[:10]),
                "half": frozenset(contents[::2]),
            }
            rows = [
                {"among": name, **await _searched(database.index, made, part_of)}
                for name, part_of in among.items()
            ]
        size = await anyio.to_thread.run_sync(_bytes_in, Path(directory))
    rows[0] |= {
        "passages": count,
        "kept_per_s": round(count / kept_s),
        "bytes_each": round(size / count),
        "first_search_ms": round(first.wall_ms[0]),
        "first_search_cpu_ms": round(first.cpu_ms[0]),
        "resident_mb": resident_mb(),
    }
    return rows


def _bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*.sqlite3*"))


@dataclass(frozen=True, slots=True)
class _Made:
    """Invents passages and questions, always the same."""

    sentences: Sequence[str]
    luck: random.Random = field(default_factory=lambda: random.Random(_SEED))  # noqa: S311 - invented documents
    numbers: np.random.Generator = field(default_factory=lambda: np.random.default_rng(_SEED))

    def batches(self, count: int, contents: Sequence[str]) -> Iterator[list[Change]]:
        """Passages, some of each content, with their vectors."""
        for start in range(0, count, _BATCH):
            places = range(start, min(start + _BATCH, count))
            vectors = self.vectors(_VECTORS * len(places)).reshape(len(places), _VECTORS, -1)
            yield [self._put(place, contents, vectors[place - start]) for place in places]

    def _put(self, place: int, contents: Sequence[str], vectors: NDArray[np.float32]) -> Change:
        number, content = place % _OF_A_DOCUMENT, contents[place // _OF_A_DOCUMENT]
        text = " ".join(self.luck.choices(self.sentences, k=_SENTENCES))
        id = passage_id(content, number)
        kept = Passage(id=id, content=content, number=number, page=1, begin=0, end=len(text))
        return Put(PASSAGES, kept, index=IndexItem(KIND, text, 0, vectors, MODEL, part_of=content))

    def vectors(self, count: int) -> NDArray[np.float32]:
        """Of length one, shape (count, d)."""
        rows = self.numbers.standard_normal((count, MODEL.dimensions), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def _searched(index: Index, made: _Made, part_of: frozenset[str] | None) -> dict[str, Any]:
    meter = Meter()
    found = None
    for vector in made.vectors(WARM_UP + _SEARCHES):
        text = made.luck.choice(made.sentences)
        stop = meter.start()
        found = await index.search(IndexQuery(OWNER, text, vector, MODEL, part_of=part_of, limit=_LIMIT))
        stop()
    return {"searched": found.searched if found else 0, **meter.figures()}
