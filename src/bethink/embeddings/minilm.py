"""The embedding model that Bethink runs itself: all-MiniLM-L6-v2, int8, without torch.

`app` makes one for the whole process; every feature that embeds shares it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.embeddings import EmbeddingModel
from bethink.embeddings.minilm_session import DIMENSIONS, MODEL_FILE, TOKENIZER_SHA256, MiniLmSession
from bethink.errors import EmbeddingsUnavailable
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

_MODEL = EmbeddingModel(
    id="all-minilm-l6-v2-int8-1", tokenizer=f"wordpiece-{TOKENIZER_SHA256[:12]}", dimensions=DIMENSIONS
)
_NOT_LOADED = "The embedding model is not loaded yet; until it is, search uses words only."

_log = log("embeddings")


class MiniLmEmbeddings:
    """Texts to 384 dimensions; a text counts up to its first 256 word pieces.

    `directory` holds the file that `minilm_build` makes. One thread works at a
    time, in short steps, so a question waits behind one step of a long job, not
    behind the job; a cancelled call stops after its step.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / MODEL_FILE
        self._session: MiniLmSession | None = None
        self._unavailable: str | None = _NOT_LOADED
        self._loading = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)

    @property
    def model(self) -> EmbeddingModel:
        """The identity kept beside every vector; known without loading the model."""
        return _MODEL

    @property
    def unavailable(self) -> str | None:
        """What the last `load` found, as a sentence; None once it has succeeded."""
        return self._unavailable

    async def load(self) -> None:
        """Open the model's file; calls at the same time share one attempt, a failed one is repeated.

        Raises:
            EmbeddingsUnavailable: the file is not there, is damaged, or does
                not run on this machine.
        """
        await self._loaded()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, float32, shape (len(texts), 384), L2-normalised; loads if need be.

        The same text has the same bytes on one machine, whatever it is embedded
        with; between kinds of processors vectors differ by the rounding of int8.

        Raises:
            EmbeddingsUnavailable: see `load`; or the model failed, and is opened anew for the next call.
        """
        session = await self._loaded()
        import numpy as np  # the session has imported it, on its thread

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        steps = session.embed_in_steps(texts)
        done = 0
        while done < len(texts):
            try:
                indices, rows = await anyio.to_thread.run_sync(next, steps, limiter=self._thread)
            except Exception as error:
                self._session = None
                raise self._without(error) from error
            vectors[indices] = rows
            done += len(indices)
        return vectors

    async def _loaded(self) -> MiniLmSession:
        if self._session is not None:
            return self._session
        async with self._loading:
            if self._session is None:
                self._session = await self._open()
            return self._session

    async def _open(self) -> MiniLmSession:
        try:
            session = await anyio.to_thread.run_sync(MiniLmSession, self._path, limiter=self._thread)
        except EmbeddingsUnavailable as error:
            self._unavailable = error.message
            raise
        except Exception as error:
            raise self._without(error) from error
        self._unavailable = None
        return session

    def _without(self, error: Exception) -> EmbeddingsUnavailable:
        """What is told of an error that nobody expected: search does without the model."""
        _log.error("the embedding model %s failed", self._path, exc_info=error)
        told = (
            f"The embedding model {self._path} failed ({type(error).__name__}: {error}); it is tried again."
        )
        self._unavailable = told
        return EmbeddingsUnavailable(told)
