"""What the graph gains and costs: questions that need one step from what they name, plain ones, and time.

Passages and questions are those of the corpus (`corpus.hops` beside `corpus.corpus`), with the real embedding
model. Time is that of searches of a base in a whole Bethink over SQLite, whose passages have the corpus'
sentences and invented vectors, some of them alike.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import numpy as np

from benchmarks.documents.corpus import corpus, hops
from benchmarks.documents.retrieval import Collection, our_chunks
from benchmarks.meter import WARM_UP, Meter
from bethink.app import open_app
from bethink.clock import FakeClock
from bethink.documents.passages import PassageLimits
from bethink.documents.records import (
    CONTENTS,
    DOCUMENTS,
    KIND,
    PAGES,
    PASSAGES,
    USES,
    Content,
    Document,
    DocumentVersion,
    PageText,
    Passage,
    Use,
    page_id,
    passage_id,
    use_id,
)
from bethink.documents.service import Documents
from bethink.embeddings.windows import embed_windows
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.feature import GraphItem, GraphKind, Recallable, RecallKind
from bethink.graph.service import Graph
from bethink.index import IndexItem
from bethink.ports import Ports
from bethink.principal import Principal
from bethink.recall.service import Recall
from bethink.settings import Settings
from bethink.store import Put

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.documents.corpus import Question
    from bethink.embeddings import EmbeddingModel, Embeddings
    from bethink.store import Change

FILES_ASKED: Final = 300
HOPS: Final = 300
_FIRST_HOP: Final = 300
"""By those before it the weights of the graph were chosen."""
SIZES: Final = (1_000, 20_000)
_SIMILARITY: Final = 0.75
_DEPTH: Final = 10
_BATCH: Final = 64
_ME: Final = Principal("me")
_OF_A_DOCUMENT: Final = 40
_SENTENCES: Final = 10
_SEARCHES: Final = 60
_FILES: Final = 200
_SEED: Final = 56


# --- what it gains


@dataclass(frozen=True, slots=True)
class GraphedChunks:
    """The chunks of a collection as recall and the graph see them."""

    of: Collection

    @property
    def graph(self) -> Graph:
        """The graph over them."""
        kind = RecallKind(
            name="passage",
            resolve=self._recallables,
            graph=GraphKind(newest=self._newest, of_items=self._items, of_nodes=self._nodes),
        )
        recall = Recall(self.of.index, self.of.embeddings, FakeClock(), {"passage": kind})
        return Graph(recall=recall, filter_for=self._nothing_hidden, enabled=True, similarity=_SIMILARITY)

    def right(self, found: Sequence[tuple[str, float]], question: Question) -> list[bool]:
        """Which of the best hold the answer's place."""
        best = [self.of.chunks[int(id)] for id, _ in found[:_DEPTH]]
        return [one.file == question.file and question.page in {None, one.page} for one in best]

    async def _recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable]:
        del principal
        return [Recallable(self.of.chunks[int(id)].text, 0, 0.5, None, untrusted=True) for id in ids]

    async def _items(self, principal: Principal, ids: Sequence[str]) -> dict[str, GraphItem]:
        del principal
        return {id: self._item(int(id)) for id in ids}

    async def _nodes(self, principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        return [*(await self._items(principal, ids)).values()]

    async def _newest(
        self, principal: Principal, limit: int, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], int]:
        raise NotImplementedError  # nothing is drawn here

    async def _nothing_hidden(self, principal: Principal) -> None:
        del principal

    def _item(self, number: int) -> GraphItem:
        chunk = self.of.chunks[number]

        def beside(other: int) -> str | None:
            is_there = 0 <= other < len(self.of.chunks) and self.of.chunks[other].file == chunk.file
            return str(other) if is_there else None

        return GraphItem(
            id=str(number),
            kind="passage",
            label="",
            text=chunk.text,
            source="",
            items=(str(number),),
            names=(chunk.file,),
            before=beside(number - 1),
            behind=beside(number + 1),
        )


@dataclass(frozen=True, slots=True)
class GraphQuestions:
    """Chunks with the questions about them: plain ones, and those that need one step."""

    chunks: GraphedChunks
    plain: Sequence[Question]
    one_step: Sequence[Question]


async def asked_chunks(embeddings: Embeddings, files: int = FILES_ASKED) -> GraphQuestions:
    """The corpus and the pairs of files, in one collection."""
    there = [file for file in corpus(files) if file.is_readable]
    linked = [file for pair in hops(HOPS, _FIRST_HOP) for file in pair]
    limits = PassageLimits(pieces=embeddings.pieces)
    chunks = await anyio.to_thread.run_sync(our_chunks, [*there, *linked], limits)
    of = Collection(chunks, embeddings)
    vectors: list[NDArray[np.float32]] = []
    for start in range(0, len(chunks), _BATCH):
        texts = [chunk.searched for chunk in chunks[start : start + _BATCH]]
        vectors += await embed_windows(embeddings, texts)
    await of.fill(vectors)
    plain = [question for file in there for question in file.questions]
    return GraphQuestions(GraphedChunks(of), plain, [one for file in linked for one in file.questions])


async def measure_graph(embeddings: Embeddings, files: int = FILES_ASKED) -> list[dict[str, Any]]:
    """Shares of questions whose place is among the best 5 and 10, then what searches cost."""
    asked = await asked_chunks(embeddings, files)
    rows: list[dict[str, Any]] = []
    for name, questions in (("one step", asked.one_step), ("plain", asked.plain)):
        for is_widened in (False, True):
            found = [await _found(asked.chunks, question, is_widened=is_widened) for question in questions]
            rows.append({"questions": name, "graph": is_widened, **_shares(found)})
    return [*rows, *[await _cost(embeddings, size) for size in SIZES]]


async def _found(chunks: GraphedChunks, question: Question, *, is_widened: bool) -> list[bool]:
    graph = chunks.graph
    found = await graph.recall.find(_ME, question.text, _DEPTH, kind="passage")
    if is_widened:
        found = await graph.widened(_ME, question.text, found, kind="passage")
    return chunks.right(found, question)


def _shares(found: Sequence[Sequence[bool]]) -> dict[str, Any]:
    count = len(found)
    return {
        "asked": count,
        "r_1": round(sum(any(one[:1]) for one in found) / count, 3),
        "r_5": round(sum(any(one[:5]) for one in found) / count, 3),
        "r_10": round(sum(map(any, found)) / count, 3),
    }


# --- what it costs


async def _cost(embeddings: Embeddings, size: int) -> dict[str, Any]:
    """Searches of a whole library of so many passages, by turns without the graph and with it."""
    files = [file for file in corpus(_FILES) if file.is_readable]
    sentences = [said for file in files for page in file.pages for said in page.sentences]
    luck = random.Random(_SEED)  # noqa: S311 - invented documents
    questions = [question.text for file in files for question in file.questions]
    plain, widened = Meter(), Meter()
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with open_database(Path(directory)) as database:
            ports = Ports(database.store, database.index, MemoryBus(), embeddings, None)
            settings = Settings(data_dir=Path(directory), graph_enabled=True)
            async with open_app(settings, ports) as app:
                me = await app.accounts.authenticate(audience="bench")
                for changes in _library(embeddings, sentences, size):
                    await database.store.commit(me.owner, changes)
                search = partial(app.features.of(Documents).bases.search, me, None, limit=5)
                for question in luck.choices(questions, k=WARM_UP + _SEARCHES):
                    await _timed(plain, search(question))
                    await _timed(widened, search(question, graph=True))
    without, with_it = plain.figures(), widened.figures()
    return {
        "passages": size,
        "ms": without["wall_ms_p50"],
        "ms_p95": without["wall_ms_p95"],
        "graph_ms": with_it["wall_ms_p50"],
        "graph_ms_p95": with_it["wall_ms_p95"],
        "ratio": round(with_it["wall_ms_p50"] / without["wall_ms_p50"], 1),
        "cpu_ratio": round(with_it["cpu_ms_mean"] / without["cpu_ms_mean"], 1),
    }


async def _timed(meter: Meter, search: Awaitable[object]) -> None:
    stop = meter.start()
    await search
    stop()


def _library(embeddings: Embeddings, sentences: Sequence[str], size: int) -> Iterator[list[Change]]:
    """Documents as the library keeps them, one after another; what is of one is alike."""
    luck = random.Random(_SEED)  # noqa: S311 - invented documents
    numbers = np.random.default_rng(_SEED)
    for document in range(-(-size // _OF_A_DOCUMENT)):
        texts = [" ".join(luck.choices(sentences, k=_SENTENCES)) for _ in range(_OF_A_DOCUMENT)]
        middle = numbers.standard_normal(embeddings.model.dimensions)
        rows = middle + numbers.standard_normal((_OF_A_DOCUMENT, embeddings.model.dimensions)) / 2
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield _document(f"{document:064x}", texts, rows.astype(np.float32), model=embeddings.model)


def _document(
    content: str, texts: Sequence[str], rows: NDArray[np.float32], *, model: EmbeddingModel
) -> list[Change]:
    id, name = f"document-{content[-8:]}", f"report-{content[-8:]}.md"
    kept = Content(
        id=content,
        name=name,
        media_type="text/markdown",
        size=sum(map(len, texts)),
        stage="ready",
        pages=1,
        done=1,
        passages=len(texts),
        at=0,
    )
    versions = (DocumentVersion(content=content, at=0),)
    changes: list[Change] = [
        Put(
            DOCUMENTS,
            Document(id=id, name=name, content=content, versions=versions, created_at=0, updated_at=0),
        ),
        Put(USES, Use(id=use_id(content, id), content=content, document=id)),
        Put(CONTENTS, kept),
        Put(PAGES, PageText(id=page_id(content, 1), content=content, number=1, text="\n".join(texts))),
    ]
    begin = 0
    for number, (text, row) in enumerate(zip(texts, rows, strict=True)):
        end = begin + len(text)
        passage = Passage(
            id=passage_id(content, number), content=content, number=number, page=1, begin=begin, end=end
        )
        item = IndexItem(KIND, f"{name}\n{text}", 0, row, model, part_of=content)
        changes.append(Put(PASSAGES, passage, index=item))
        begin = end + 1
    return changes
