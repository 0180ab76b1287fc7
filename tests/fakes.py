"""Embeddings that are not there, or not yet: what tests of degradation put in the port's place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import EmbeddingsUnavailable


class NoEmbeddings:
    """Unavailable until `arrive` is called; then as the hashing fake. `embedded` counts texts."""

    def __init__(self) -> None:
        self._inner = HashingEmbeddings()
        self.unavailable: str | None = "The embedding model is not there."
        self.embedded = 0

    @property
    def model(self) -> EmbeddingModel:
        return self._inner.model

    @property
    def window(self) -> int:
        return self._inner.window

    def pieces(self, word: str) -> int:
        return self._inner.pieces(word)

    def arrive(self) -> None:
        self.unavailable = None

    def leave(self) -> None:
        self.unavailable = "The embedding model is not there."

    async def load(self) -> None:
        if self.unavailable:
            raise EmbeddingsUnavailable(self.unavailable)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        await self.load()
        self.embedded += len(texts)
        return await self._inner.embed(texts)
