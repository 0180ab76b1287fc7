"""The index in memory, beside `store.memory`, which tells it of every commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.index import Candidates
from bethink.search.analysis import Analyzer
from bethink.search.entry import Entries, Entry, entry_of, model_key, vector_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import IndexItem, IndexQuery
    from bethink.search.shard import Shard


class MemoryIndex:
    """Items of one process, gone with it."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._kept: dict[str, dict[str, tuple[str, Entry]]] = {}
        # What a shard has still to learn: None for a removed item.
        self._news: dict[str, dict[str, Entry | None]] = {}
        self._shards: dict[str, Shard] = {}

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg."""
        if not self._kept.get(query.owner):
            return Candidates()
        terms = self._analyzer.digests(self._analyzer.question(query.text))
        model = None if query.model is None else model_key(query.model)
        return self._shard(query.owner).search(query, terms, model)

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[tuple[str, str], ...]:
        """At most `limit` pairs (id, text) that have no vector of `model`."""
        wanted = model_key(model)
        missing = sorted(
            (entry.model or "", entry.at, id, text)
            for id, (text, entry) in self._kept.get(owner, {}).items()
            if entry.model != wanted
        )
        return tuple((id, text) for _, _, id, text in missing[:limit])

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have one of `model`, by id."""
        kept, wanted = self._kept.get(owner, {}), model_key(model)
        entries = [kept[id][1] for id in ids if id in kept]
        return {entry.id: vector_of(entry.vector) for entry in entries if entry.model == wanted}

    def entry(self, id: str, item: IndexItem) -> Entry:
        """What `put` keeps of an item.

        Raises:
            BadInput, ValueError: see `entry_of`.
        """
        return entry_of(id, item, self._analyzer)

    def put(self, owner: str, text: str, entry: Entry) -> None:
        """Keep an item, replacing one with the same id."""
        self._kept.setdefault(owner, {})[entry.id] = (text, entry)
        self._news.setdefault(owner, {})[entry.id] = entry

    def delete(self, owner: str, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        if self._kept.get(owner, {}).pop(id, None) is not None:
            self._news.setdefault(owner, {})[id] = None

    def drop(self, owner: str) -> None:
        """Hold nothing of an owner any more."""
        for kept in (self._kept, self._news, self._shards):
            kept.pop(owner, None)

    def set_vector(self, owner: str, id: str, *, text: str, key: str, vector: bytes) -> None:
        """Give an item its vector of the model `key`, if its text is still `text`."""
        kept = self._kept.get(owner, {}).get(id)
        if kept is not None and kept[0] == text:
            self.put(owner, text, kept[1]._replace(model=key, vector=vector))

    def _shard(self, owner: str) -> Shard:
        shard = self._shards.get(owner)
        if shard is None:
            from bethink.search.shard import Shard

            shard = self._shards[owner] = Shard()
        news = self._news.pop(owner, {})
        for id, entry in news.items():
            if entry is None:
                shard.remove(id)
        if fresh := [entry for entry in news.values() if entry is not None]:
            shard.add(Entries(*zip(*fresh, strict=True)))
        shard.settle()
        return shard
