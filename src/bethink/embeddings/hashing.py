"""Deterministic embeddings without a model: the fake behind tests and demonstrations.

It ships in the package so that whoever builds on Bethink can test without
the model's files. Texts that share words, or pieces of words, are near each
other; meaning beyond spelling it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING
from zlib import crc32

import anyio
import anyio.to_thread

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.windows import estimated_pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_WINDOW_CHARACTERS = 4_096
_WINDOW_TOKENS = 1_000
_GRAM = 3
# Equal words give 1, "travel" and "travelled" about 0.5, unrelated words about 0.
_WORD_WEIGHT = 1.0
_GRAM_WEIGHT = 1.5
_TEXTS_A_STEP = 64


class HashingEmbeddings:
    """Words and three-letter pieces hashed into signed buckets.

    Source: Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask
    Learning". A text counts up to its first 4,096 characters.
    """

    def __init__(self, dimensions: int = 384) -> None:
        self._model = EmbeddingModel(
            id=f"hashing-{dimensions}-1", tokenizer="words-and-trigrams-1", dimensions=dimensions
        )
        self._limiter = anyio.CapacityLimiter(1)

    @property
    def model(self) -> EmbeddingModel:
        """The identity kept beside every vector."""
        return self._model

    @property
    def unavailable(self) -> str | None:
        """None: nothing has to be fetched or loaded."""
        return None

    @property
    def window(self) -> int:
        """How many tokens of a text count."""
        return _WINDOW_TOKENS

    def pieces(self, word: str) -> int:
        """About how many tokens a word takes in other models."""
        return estimated_pieces(word)

    async def load(self) -> None:
        """See that numpy is imported, on a thread: the event loop must not wait for it."""
        await anyio.to_thread.run_sync(import_module, "numpy", limiter=self._limiter)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, float32, shape (len(texts), dimensions), L2-normalised."""
        await self.load()
        import numpy as np

        vectors = np.empty((len(texts), self._model.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_A_STEP):
            step = texts[start : start + _TEXTS_A_STEP]
            vectors[start : start + len(step)] = await anyio.to_thread.run_sync(
                self._embed, step, limiter=self._limiter
            )
        return vectors

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        matrix = np.array([self._row(text) for text in texts])
        lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
        return (matrix / lengths).astype(np.float32)

    def _row(self, text: str) -> list[float]:
        row = [0.0] * self._model.dimensions
        for feature, weight in _features(text[:_WINDOW_CHARACTERS]):
            bucket = crc32(feature.encode("utf-8", "replace"))
            row[(bucket >> 1) % self._model.dimensions] += weight if bucket & 1 else -weight
        if not any(row):
            row[0] = 1.0  # a text without words still needs a direction of length one
        return row


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        yield word, _WORD_WEIGHT
        marked = f"<{word}>"
        pieces = max(1, len(marked) - _GRAM + 1)
        weight = _GRAM_WEIGHT / pieces**0.5
        for start in range(pieces):
            yield f"#{marked[start : start + _GRAM]}", weight
