"""Port: texts to vectors. `recall/service` embeds questions, `memory` embeds facts.

An adapter says who it is with every vector (`EmbeddingModel`), so that a
changed model can never be mixed with an older one's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Which model made a vector: two vectors compare only if these are equal."""

    id: str
    tokenizer: str
    dimensions: int


class Embeddings(Protocol):
    """Texts to vectors of one model."""

    @property
    def model(self) -> EmbeddingModel:
        """The identity kept beside every vector; known without loading the model."""
        ...

    @property
    def unavailable(self) -> str | None:
        """Why texts cannot be embedded now, as a sentence; None when they can."""
        ...

    @property
    def window(self) -> int:
        """How many tokens of a text count; `windows.windows_of` cuts longer ones."""
        ...

    def pieces(self, word: str) -> int:
        """How many tokens a word (`windows.WORD`) takes.

        Call it on a thread: the first call may take a tenth of a second.
        """
        ...

    async def load(self) -> None:
        """Make `embed` ready ahead of its first use; idempotent.

        Raises:
            EmbeddingsUnavailable: the model's files are not there or are damaged.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, float32, shape (len(texts), dimensions), L2-normalised.

        Row i belongs to text i and does not depend on the other texts. A text
        longer than the model's window is cut. Never blocks the event loop.

        Raises:
            EmbeddingsUnavailable: see `unavailable`.
        """
        ...
