"""Invented facts for the measurements: texts of thirty words, and vectors about topics.

Half of a text are function words, which no search compares; the others are as
frequent as those of written language (Zipf's law, with Mandelbrot's shift).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bethink.embeddings import EmbeddingModel
from bethink.index import IndexItem
from bethink.search.analysis import STOP_WORDS
from bethink.store import Collection, Put, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DIMENSIONS = 384
MODEL = EmbeddingModel("synthetic", "1", DIMENSIONS)
OWNER = "bench"
BATCH = 1_000

_SEED = 20
_WORDS = 15
"""In a text, and as many function words beside them."""
_QUESTION_WORDS = 4
_VOCABULARY = 100_000
_SHIFT = 10
_EXPONENT = 1.05
_TOPICS = 200
_SPREAD = 1.2
"""Vectors lie about topics, as those of sentences do; this far, in units of the topics' own distances."""
_CONVERSATIONS = 50


class Fact(Record, frozen=True, kw_only=True):
    """Of the shape of a stored fact."""

    text: str
    state: str = "active"
    created_at: int = 0


FACTS = Collection("facts", Fact, ("state", "created_at"))


@dataclass(frozen=True, slots=True)
class Questions:
    """Texts, and vectors, shape (n, d)."""

    texts: list[str]
    vectors: NDArray[np.float32]


class Corpus:
    """The same texts and vectors every time."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(_SEED)
        self._topics = self._random.standard_normal((_TOPICS, DIMENSIONS), dtype=np.float32)
        shares = 1 / (np.arange(_VOCABULARY) + _SHIFT) ** _EXPONENT
        self._bounds = np.cumsum(shares / shares.sum())
        self._function_words = np.array(sorted(STOP_WORDS))

    def texts(self, count: int, words: int = _WORDS) -> list[str]:
        """Texts of so many words, and as many function words."""
        ranks = np.searchsorted(self._bounds, self._random.random((count, words)))
        function_words = self._random.choice(self._function_words, (count, words))
        return [
            " ".join((*(f"word{rank}" for rank in of_text), *beside))
            for of_text, beside in zip(ranks.tolist(), function_words.tolist(), strict=True)
        ]

    def vectors(self, count: int) -> NDArray[np.float32]:
        """Vectors, shape (n, d), normalised."""
        topics = self._topics[self._random.integers(_TOPICS, size=count)]
        vectors = topics + np.float32(_SPREAD) * self._random.standard_normal(
            (count, DIMENSIONS), dtype=np.float32
        )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def questions(self, count: int) -> Questions:
        """Short ones."""
        return Questions(self.texts(count, _QUESTION_WORDS), self.vectors(count))

    def batches(self, count: int) -> Iterator[list[Put[Fact]]]:
        """So many facts, `BATCH` at a time."""
        for start in range(0, count, BATCH):
            size = min(BATCH, count - start)
            made = zip(range(start, start + size), self.texts(size), self.vectors(size), strict=True)
            yield [put(*one) for one in made]


def put(number: int, text: str, vector: NDArray[np.float32]) -> Put[Fact]:
    """A new fact with its index item."""
    item = IndexItem("fact", text, number, vector, MODEL, conversation=f"c{number % _CONVERSATIONS}")
    return Put(FACTS, Fact(id=id_of(number), text=text, created_at=number), if_version=0, index=item)


def id_of(number: int) -> str:
    """The id of a fact, as long as a real one."""
    return f"{number:036}"


def number_of(id: str) -> int:
    """The number whose `id_of` this is."""
    return int(id)
