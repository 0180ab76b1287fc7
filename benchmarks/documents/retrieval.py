"""How well passages are found: questions whose file and page are known, and questions that nothing answers.

Every way searches the same texts with the same embedding model: Bethink's passages by its own recall, by
words alone and by meaning alone, its passages with one vector each, and the pieces of LlamaIndex's splitter
(windows of 1,024 tokens where no Python has it), by meaning alone, as it searches of itself. The texts are
what a faultless reader gives (`corpus.markdown`): reading is measured apart.
"""

from __future__ import annotations

import json
import subprocess
import time
import tomllib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import numpy as np

from benchmarks.documents.corpus import PAGED, corpus, markdown
from bethink.clock import FakeClock
from bethink.documents.passages import PassageLimits, above, passages_of
from bethink.embeddings.windows import WORD, embed_windows
from bethink.engines.memory import MemoryIndex
from bethink.feature import Recallable, RecallKind
from bethink.index import IndexItem, IndexQuery
from bethink.principal import Principal
from bethink.recall.service import AnswerCheck, Recall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.documents.corpus import CorpusFile, Question
    from bethink.embeddings import Embeddings
    from bethink.index import Candidate

    Search = Callable[[str], Awaitable[list[int]]]
    Embed = Callable[[Sequence[str]], Awaitable[list[NDArray[np.float32]]]]

FILES_ASKED: Final = 300
_UNKNOWN: Final = 100
"""Files that are not there: nothing answers the questions about them."""
_DEPTH: Final = 10
_BATCH: Final = 64
_KIND: Final = "passage"
_ME: Final = Principal("me")
_OTHER_THINGS: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))[
    "other_things"
]
_FIXED, _FIXED_OVERLAP = 1_024, 20
_PEER: Final = Path(__file__).with_name("peer_splitter.py")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file: what it says, and the page on which it does, None if the file has none."""

    file: str
    page: int | None
    text: str
    searched: str


@dataclass(slots=True)
class Collection:
    """Chunks in an index of their own."""

    chunks: Sequence[Chunk]
    embeddings: Embeddings
    index: MemoryIndex = field(default_factory=MemoryIndex)
    vectors: int = 0

    async def fill(self, vectors: Sequence[NDArray[np.float32]]) -> None:
        """Take the chunks into the index."""
        model = self.embeddings.model
        self.vectors = sum(map(len, vectors))
        for number, (chunk, vector) in enumerate(zip(self.chunks, vectors, strict=True)):
            item = IndexItem(_KIND, chunk.searched, 0, vector, model)
            self.index.put(_ME.owner, "", self.index.entry(str(number), item))

    async def by_words(self, question: str) -> list[int]:
        """The best by BM25 alone."""
        found = await self.index.search(IndexQuery(_ME.owner, question, limit=_DEPTH))
        return _order(found.items, "lexical")

    async def by_meaning(self, question: str) -> list[int]:
        """The best by the vectors alone."""
        (vector,) = await self.embeddings.embed([question])
        query = IndexQuery(_ME.owner, "", vector, self.embeddings.model, limit=_DEPTH)
        return _order((await self.index.search(query)).items, "dense")

    async def by_recall(self, question: str) -> list[int]:
        """The best as Bethink finds them."""
        return [number for number, _ in await self.recalled(question)]

    async def recalled(self, question: str) -> list[tuple[int, float]]:
        """The best as Bethink finds them, each with its score."""
        kinds = {_KIND: RecallKind(name=_KIND, resolve=self._recallables)}
        recall = Recall(self.index, self.embeddings, FakeClock(), kinds)
        return [(int(id), score) for id, score in await recall.find(_ME, question, _DEPTH, kind=_KIND)]

    async def _recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable]:
        del principal
        return [Recallable(self.chunks[int(id)].text, 0, 0.5, None, untrusted=True) for id in ids]


def _order(items: Sequence[Candidate], leg: str) -> list[int]:
    scored = [(getattr(one, leg), int(one.id)) for one in items if getattr(one, leg) is not None]
    return [number for _, number in sorted(scored, key=lambda pair: (-pair[0], pair[1]))][:_DEPTH]


def pages_of(file: CorpusFile) -> dict[int, str]:
    """What a faultless reader gives: pages where the format has any, else one."""
    texts = {number: markdown(page) for number, page in enumerate(file.pages, 1) if not page.is_image}
    return texts if file.kind in PAGED else {1: "\n\n".join(texts.values())}


def our_chunks(files: Sequence[CorpusFile], limits: PassageLimits) -> list[Chunk]:
    """Bethink's passages."""
    chunks: list[Chunk] = []
    for file in files:
        pages = pages_of(file)
        for span in passages_of(pages, limits):
            page = pages[span.page]
            said = page[span.begin : span.end]
            searched = (file.name, above(page, span.begin, span.heading), said)
            number = span.page if file.kind in PAGED else None
            chunks.append(Chunk(file.name, number, said, "\n".join(filter(None, searched))))
    return chunks


async def measure_retrieval(
    embeddings: Embeddings, files: int = FILES_ASKED, peer_python: Path | None = None
) -> list[dict[str, Any]]:
    """A row for each way: shares of the questions whose file and page are among the best 5 and 10.

    `says_5` is the share whose answer stands in one of the best five, word for word; `other_words_5` the same
    as `r_5`, of questions that use other words than the answer. The last row is of questions that nothing
    answers: how many get none, and how many of the others do.
    """
    made = list(corpus(files + _UNKNOWN))
    there, absent = [file for file in made[:files] if file.is_readable], made[files:]
    limits = PassageLimits(pieces=embeddings.pieces)
    chunks = await anyio.to_thread.run_sync(our_chunks, there, limits)
    peer, pieces = await anyio.to_thread.run_sync(_peer_chunks, there, peer_python, limits)
    ours, single, peers = (Collection(one, embeddings) for one in (chunks, chunks, pieces))
    await ours.fill(await _embedded(chunks, partial(embed_windows, embeddings)))
    await single.fill(await _embedded(chunks, partial(_one_each, embeddings)))
    await peers.fill(await _embedded(pieces, partial(_one_each, embeddings)))
    questions = [question for file in there for question in file.questions if _is_told(question, file)]
    ways = {
        "bethink": (ours, ours.by_recall),
        "words alone": (ours, ours.by_words),
        "meaning alone": (ours, ours.by_meaning),
        "bethink, one vector": (single, single.by_recall),
        "meaning alone, one vector": (single, single.by_meaning),
        peer: (peers, peers.by_meaning),
        "its pieces, our recall": (peers, peers.by_recall),
    }
    rows = [{"way": name, **await _figures(of, search, questions)} for name, (of, search) in ways.items()]
    unknown = [question for file in absent for question in file.questions]
    return [*rows, await _answerable(ours, questions, unknown)]


def _is_told(question: Question, file: CorpusFile) -> bool:
    """Whether the answer stands in what a reader gives."""
    return any(question.answer in text for text in pages_of(file).values())


async def _one_each(embeddings: Embeddings, texts: Sequence[str]) -> list[NDArray[np.float32]]:
    return [*(await embeddings.embed(texts))[:, np.newaxis]]


async def _embedded(chunks: Sequence[Chunk], embed: Embed) -> list[NDArray[np.float32]]:
    vectors: list[NDArray[np.float32]] = []
    for start in range(0, len(chunks), _BATCH):
        vectors += await embed([chunk.searched for chunk in chunks[start : start + _BATCH]])
    return vectors


async def _figures(of: Collection, search: Search, questions: Sequence[Question]) -> dict[str, Any]:
    hits = dict.fromkeys(("r_5", "r_10", "says_5", "other_words_5"), 0)
    started = time.perf_counter()
    for question in questions:
        best = [of.chunks[number] for number in await search(question.text)]
        right = [chunk.file == question.file and question.page in {None, chunk.page} for chunk in best]
        hits["r_5"] += any(right[:5])
        hits["r_10"] += any(right)
        hits["says_5"] += any(question.answer in chunk.text for chunk in best[:5])
        hits["other_words_5"] += question.asked == "other words" and any(right[:5])
    took = time.perf_counter() - started
    others = sum(question.asked == "other words" for question in questions)
    counts = {name: others if name == "other_words_5" else len(questions) for name in hits}
    return {
        **{name: round(hit / counts[name], 3) for name, hit in hits.items()},
        "ms": round(took / len(questions) * 1_000, 1),
        "chunks": len(of.chunks),
        "vectors": of.vectors,
    }


async def _answerable(
    of: Collection, known: Sequence[Question], unknown: Sequence[Question]
) -> dict[str, Any]:
    """How many questions are told that nothing answers: with an answer, without, and about other things."""
    check = AnswerCheck()

    async def refused(texts: Sequence[str]) -> float:
        count = 0
        for text in texts:
            found = [(of.chunks[number].searched, score) for number, score in await of.recalled(text)]
            count += not check.verdict(text, found).answers
        return round(count / len(texts), 3)

    return {
        "way": "told that nothing answers",
        "with_answer": await refused([question.text for question in known]),
        "same_form_other_names": await refused([question.text for question in unknown]),
        "other_things": await refused(_OTHER_THINGS),
    }


# --- the pieces of another splitter


def _peer_chunks(
    files: Sequence[CorpusFile], python: Path | None, limits: PassageLimits
) -> tuple[str, list[Chunk]]:
    """What they are called, and the pieces."""
    texts = [(file, number, text) for file in files for number, text in pages_of(file).items()]
    name, cut = "pieces of 1,024 tokens", None
    if python is not None:
        task = json.dumps([text for _, _, text in texts]).encode()
        done = subprocess.run([python, _PEER], input=task, capture_output=True, check=False)
        if not done.returncode:
            name, cut = "llamaindex", json.loads(done.stdout.splitlines()[-1])
    if cut is None:
        cut = [_fixed(text, limits) for _, _, text in texts]
    return name, [
        Chunk(file.name, number if file.kind in PAGED else None, piece, f"{file.name}\n{piece}")
        for (file, number, _), pieces in zip(texts, cut, strict=True)
        for piece in pieces
    ]


def _fixed(text: str, limits: PassageLimits) -> list[str]:
    """Windows of 1,024 tokens that overlap by 20, whatever is in them."""
    words = [(match.start(), match.end(), limits.pieces(match[0])) for match in WORD.finditer(text)]
    pieces: list[str] = []
    first = 0
    while first < len(words):
        last, size = first, 0
        while last < len(words) and (size + words[last][2] <= _FIXED or last == first):
            size += words[last][2]
            last += 1
        pieces.append(text[words[first][0] : words[last - 1][1]])
        if last == len(words):
            break
        first = max(first + 1, last - _FIXED_OVERLAP)
    return pieces
