"""Port: what can be searched, by words and by meaning, under filters.

`store` commits an `IndexItem` beside its record; `recall/service` asks for
candidates and does the fusing. An index is derived: it can always be rebuilt
from the records. The two legs come back separately, with their raw scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel


@dataclass(frozen=True, slots=True)
class IndexItem:
    """What the index keeps of one record.

    `text` is what its words are taken from; `vector` is float32, shape (d,) or
    (m, d) with one row for each part of a text that is longer than the model's
    window, L2-normalised, made by `model`, or None while no embedding model is
    there (the item is then found by words only until a `SetVector` brings it).
    `at`
    is microseconds UTC. An item's id is its record's id, so the ids of an
    owner's searchable records differ between collections too. `held_from`
    (None: `at`) and `held_until` (None: it still does) bound when it was true.

    Words are English-aware (stems, stop words) for words in Latin letters,
    plain otherwise (`analysis`); those behind the first million characters
    are not searched. `part_of` is the id of the whole that the item is a part
    of, such as a document's content.
    """

    kind: str
    text: str
    at: int
    vector: NDArray[np.float32] | None = None
    model: EmbeddingModel | None = None
    conversation: str | None = None
    project: str | None = None
    speaker: str | None = None
    held_from: int | None = None
    held_until: int | None = None
    part_of: str | None = None


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """What is sought, in one owner's items only.

    A leg without input stays empty: no `vector`, no dense candidates. `kinds`,
    `conversation`, `project`, `part_of` (items of one of these wholes), `since`
    (inclusive) and `until` (exclusive, both microseconds UTC, of an item's `at`)
    and `as_of` (what held then) are enforced inside the search, before `limit`
    is applied.
    """

    owner: str
    text: str = ""
    vector: NDArray[np.float32] | None = None
    model: EmbeddingModel | None = None
    kinds: frozenset[str] | None = None
    conversation: str | None = None
    project: str | None = None
    part_of: frozenset[str] | None = None
    since: int | None = None
    until: int | None = None
    as_of: int | None = None
    limit: int = 50


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One item that a leg found, with the scores of both.

    `lexical` is BM25 (k1 0.9, b 0.4; Robertson et al., Okapi at TREC-3), None
    where the item holds no word of the question; `dense` the cosine of the two
    vectors (the best, if the item has several), None if there is nothing to
    compare. `met` is the share of the question's words that it holds, 0..1,
    each counted by its idf.
    """

    id: str
    kind: str
    at: int
    speaker: str | None
    lexical: float | None
    dense: float | None
    met: float = 0.0
    conversation: str | None = None


class WithoutVector(NamedTuple):
    """An item that is found by its words only."""

    id: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """The items that are among the best of a leg, in no particular order.

    `searched` counts the items that passed the filters; `without_vector` how
    many of them have no vector of the query's model, so that a caller can say
    that meaning was not searched everywhere. `lexical_ideal` is the BM25 score
    of an imagined item of average length that holds each word of the query
    once (a word that no item holds counts with the idf of zero items): a
    score's share of it tells how much of the question was met.
    """

    items: tuple[Candidate, ...] = ()
    lexical_ideal: float = 0.0
    searched: int = 0
    without_vector: int = 0


class Index(Protocol):
    """Candidates for recall, from one owner's items."""

    async def search(self, query: IndexQuery) -> Candidates:
        """The best `limit` of each leg; sees every commit that was acknowledged before.

        Also those of other processes on the same data. A dense score is exact
        to four decimals for what comes back.
        """
        ...

    async def search_all(self, queries: Sequence[IndexQuery]) -> list[Candidates]:
        """What `search` gives of each, which are of one owner; many cost much less than one by one."""
        ...

    async def missing_vectors(
        self, owner: str, model: EmbeddingModel, limit: int
    ) -> tuple[WithoutVector, ...]:
        """At most `limit` items that have no vector of `model`.

        Those without any vector first, then by the model that made theirs;
        within these, oldest first.
        """
        ...

    async def vectors(
        self, owner: str, model: EmbeddingModel, ids: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        """The vectors of those of these items that have any of `model`, float32 (m, d), by id.

        A row for each part of its text, in order: mostly one.
        """
        ...

    async def items(self, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        """What was put with these ids, by id, and its vectors with as many bits as the engine keeps."""
        ...
