"""Gives items their vectors when the embedding model came later than they did.

`app` runs `fill` in the background, asked for by recall whenever an owner has
items without a vector of the present model; also after a change of model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.store import SetVector

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.store import Store

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Vectors:
    """Fills in what is missing; safe to stop and to start again at any time."""

    store: Store
    index: Index
    embeddings: Embeddings

    async def fill(self, owner: str) -> int:
        """Embed all of the owner's items that lack a vector; how many there were.

        Raises:
            EmbeddingsUnavailable: the model is not there.
        """
        model = self.embeddings.model
        done = 0
        while missing := await self.index.missing_vectors(owner, model, _BATCH):
            vectors = await self.embeddings.embed([text for _, text in missing])
            await self.store.commit(
                owner,
                [SetVector(id, text, vectors[row], model) for row, (id, text) in enumerate(missing)],
            )
            done += len(missing)
        return done
