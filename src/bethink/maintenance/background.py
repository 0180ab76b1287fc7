"""What goes on beside requests: vectors that are missing, the embedding model's set-up. `app` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from bethink.embeddings.e5 import E5
from bethink.embeddings.windows import embed_windows
from bethink.errors import BethinkError, EmbeddingsUnavailable
from bethink.principal import WaitingOwners
from bethink.store import Collection, SetVector, Store, owners_of, scrub
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.embeddings import Embeddings
    from bethink.embeddings.fetch import Progress
    from bethink.index import Index


_BATCH = 32
"""Items that get their vectors in one commit; the embedder itself lets a question in between its steps."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Fills in what is missing; safe to stop and to start again at any time.

    Long items of the kinds `by_parts` get a vector for each part that the embedder reads whole; of all others
    the beginning is embedded.
    """

    store: Store
    index: Index
    embeddings: Embeddings
    by_parts: frozenset[str] = frozenset()

    async def fill(self, owner: str) -> int:
        """Embed all of the owner's items that lack a vector; how many there were.

        Raises:
            EmbeddingsUnavailable: the model is not there.
        """
        model = self.embeddings.model
        done = 0
        while missing := await self.index.missing_vectors(owner, model, _BATCH):
            long = [one for one in missing if one.kind in self.by_parts]
            short = [one for one in missing if one.kind not in self.by_parts]
            vectors = [
                *await embed_windows(self.embeddings, [one.text for one in long]),
                *await self.embeddings.embed([one.text for one in short]),
            ]
            await self.store.commit(
                owner,
                [
                    SetVector(one.id, one.text, vector, model)
                    for one, vector in zip((*long, *short), vectors, strict=True)
                ],
            )
            done += len(missing)
        return done


_AGAIN_S = 60.0
"""Behind a scrub that failed: another program read the files, or Redis was away. And between two looks
for the embedding model."""
_FETCH_EACH = 64
"""Of so many looks for the embedding model one fetches it at least; at first each second, then fewer."""
_log = log("background")


@dataclass(slots=True)
class Background:
    """Vectors and the model that makes them; `progress` tells how far the model's set-up is.

    What is found by vectors is of the `searched` collections. The `next_model`, if any, is fetched for the
    next start.
    """

    vectors: Vectors
    models: Path
    searched: Sequence[Collection[Any]]
    model: str = E5.name
    next_model: str = ""
    progress: str | None = None
    again_s: float = _AGAIN_S
    _owners: WaitingOwners = field(default_factory=WaitingOwners)
    _traces: WaitingOwners = field(default_factory=WaitingOwners)

    @property
    def waiting(self) -> dict[str, int]:
        """Owners for whom something is still to be done, by what."""
        return {"vectors": len(self._owners), "traces": len(self._traces)}

    def ask_vectors(self, owner: str) -> None:
        """Have the owner's items given their vectors soon, if there is a model that makes them."""
        if not self.vectors.embeddings.unavailable:
            self._owners.add(owner)

    async def fill_vectors(self) -> None:
        """Work off what was asked for, for ever."""
        while True:
            owner = await self._owners.next()
            with recorded(_log, "an owner's vectors are still missing"):
                await self._fill(owner)

    async def _fill(self, owner: str) -> None:
        try:
            count = await self.vectors.fill(owner)
        except BethinkError as error:
            _log.warning("vectors are still missing: %s", error)
        else:
            if count:
                _log.info("gave %d items their vectors", count)

    def ask_scrub(self, owner: str) -> None:
        """Have the store leave no trace of what was deleted, soon: once for what an owner asks meanwhile."""
        self._traces.add(owner)

    async def scrub_always(self) -> None:
        """Work off what was asked for, for ever."""
        while True:
            owner = await self._traces.next()
            try:
                await scrub(self.vectors.store, owner)
            except BethinkError as error:
                self._traces.add(owner)
                _log.warning("traces of what was deleted stay for now: %s", error)
                await anyio.sleep(self.again_s)
            except BaseException:
                self._traces.add(owner)
                raise

    async def ready_embedder(self) -> None:
        """Load the embedding model; where its file is missing or damaged, fetch it first.

        Until it is there recall goes by words and says so. What failed is tried again: the file each
        minute, as somebody may put it there, the way to it less and less often.
        """
        self.progress = "The embedding model is being loaded."
        rounds, fetch_at = 0, 0
        while True:
            try:
                await self._load_or_fetch(may_fetch=rounds == fetch_at)
            except EmbeddingsUnavailable as error:
                if rounds == fetch_at:
                    _log.warning("%s", error)
            else:
                return
            finally:
                self.progress = None
            if rounds == fetch_at:
                fetch_at += min(max(fetch_at, 1), _FETCH_EACH)
            rounds += 1
            await anyio.sleep(self.again_s)

    async def _load_or_fetch(self, *, may_fetch: bool) -> None:
        embeddings = self.vectors.embeddings
        try:
            await embeddings.load()
        except EmbeddingsUnavailable:
            if not may_fetch:
                raise
            from bethink.embeddings.fetch import fetch_model

            await fetch_model(self.models, self._tell, model=self.model)
            await embeddings.load()
        async for owner in owners_of(self.vectors.store, *self.searched):
            self.ask_vectors(owner)
        if self.next_model:
            await self._fetch_next(self.next_model)

    async def _fetch_next(self, model: str) -> None:
        """Have the model there at the next start; until then the one that is there does its work."""
        from bethink.embeddings.fetch import fetch_model

        try:
            await fetch_model(self.models, self._tell, model=model)
        except EmbeddingsUnavailable as error:
            _log.warning("%s goes on: %s", self.vectors.embeddings.model.id, error)
        else:
            _log.info("%s is there: it is used from the next start on", model)

    def _tell(self, progress: Progress) -> None:
        self.progress = f"{progress.stage} ({progress.percent} %)"
        _log.info("embedding model: %s", self.progress)
