"""One owner's items in memory, searched by both legs under filters.

The index's adapters keep a shard per owner, fill it from their rows and ask
it. A shard does no locking and no input or output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bethink.index import Candidate, Candidates
from bethink.index.column import Column
from bethink.index.dense import Dense
from bethink.index.lexical import Lexical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bethink.index import IndexQuery
    from bethink.index.entry import Entry

MERGE_SHARE = 8
"""Merging rewrites everything: it waits until what is new or gone is one part in so many of the rest."""

MERGE_MIN_POSTINGS = 4_096
MERGE_MIN_GONE = 256
"""Below these, what a merge would save is not measurable."""

_BYTES_PER_ITEM = 400
"""Of Python's own objects: the id, the speaker and their places in dictionaries and lists."""


class Shard:
    """Items by number; a replaced or removed one keeps its number, masked, until the next merge."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._speakers: list[str | None] = []
        self._codes: dict[str | None, int] = {}
        self._names: list[str | None] = []
        self._kinds = Column(np.int32)
        self._conversations = Column(np.int32)
        self._projects = Column(np.int32)
        self._at = Column(np.int64)
        self._alive = Column(np.bool_)
        self._lexical = Lexical()
        self._dense: dict[str, Dense] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, roughly."""
        legs = self._lexical.nbytes + sum(dense.nbytes for dense in self._dense.values())
        return legs + len(self._ids) * _BYTES_PER_ITEM

    def add(self, entries: Sequence[Entry]) -> None:
        """Add items, replacing those with the same id."""
        start = len(self._ids)
        self._alive.extend([True] * len(entries))
        for number, entry in enumerate(entries, start):
            self.remove(entry.id)
            self._numbers[entry.id] = number
            self._ids.append(entry.id)
            self._speakers.append(entry.speaker)
            self._lexical.add(entry.terms.split())
        self._kinds.extend([self._code(entry.kind) for entry in entries])
        self._conversations.extend([self._code(entry.conversation) for entry in entries])
        self._projects.extend([self._code(entry.project) for entry in entries])
        self._at.extend([entry.at for entry in entries])
        self._add_vectors(entries, start)

    def _add_vectors(self, entries: Sequence[Entry], start: int) -> None:
        by_model: dict[str, tuple[list[int], list[bytes]]] = {}
        for number, entry in enumerate(entries, start):
            if entry.model is not None and entry.vector is not None:
                documents, vectors = by_model.setdefault(entry.model, ([], []))
                documents.append(number)
                vectors.append(entry.vector)
        for model, (documents, vectors) in by_model.items():
            rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
            dense = self._dense.get(model)
            if dense is None:
                dense = self._dense[model] = Dense(rows.shape[1])
            dense.add(documents, rows)

    def remove(self, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        number = self._numbers.pop(id, None)
        if number is not None:
            self._alive.values[number] = False
            self._lexical.remove(number)

    def settle(self) -> None:
        """Merge what was added and removed, if it has become much. Call it after a round of changes."""
        gone, fresh = self._gone, self._lexical.tail_postings
        if gone > max(MERGE_MIN_GONE, len(self._ids) // MERGE_SHARE) or fresh > max(
            MERGE_MIN_POSTINGS, self._lexical.postings // MERGE_SHARE
        ):
            self._merge()

    def _merge(self) -> None:
        alive = self._alive.values
        places = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
        self._lexical.merge(places)
        for model in list(self._dense):
            self._dense[model].merge(places)
            if not len(self._dense[model].documents):
                del self._dense[model]
        if not alive.all():
            kept = alive.copy()
            for column in (self._kinds, self._conversations, self._projects, self._at, self._alive):
                column.keep(kept)
            places_kept = np.flatnonzero(kept).tolist()
            self._ids = [self._ids[place] for place in places_kept]
            self._speakers = [self._speakers[place] for place in places_kept]
            self._numbers = {id: number for number, id in enumerate(self._ids)}

    def search(self, query: IndexQuery, terms: Sequence[str], model: str | None) -> Candidates:
        """The best of both legs. `terms` are the question's, `model` names the vectors to compare."""
        passing = self._passing(query)
        searched = len(self._numbers) if passing is None else int(np.count_nonzero(passing))
        if not searched:
            return Candidates()
        lexical, ideal = self._lexical_best(terms, passing, query.limit)
        dense = self._dense.get(model) if model is not None else None
        with_vector = 0
        if dense is not None:
            documents = dense.documents
            with_vector = len(documents) if passing is None else int(np.count_nonzero(passing[documents]))
        near: dict[int, float] = {}
        if dense is not None and query.vector is not None and with_vector:
            documents, cosines = dense.best(np.asarray(query.vector, np.float32), passing, query.limit)
            near = dict(zip(documents.tolist(), cosines.tolist(), strict=True))
        return Candidates(
            self._candidates(lexical, near),
            lexical_ideal=ideal,
            searched=searched,
            without_vector=0 if model is None else searched - with_vector,
        )

    def _candidates(self, lexical: dict[int, float], near: dict[int, float]) -> tuple[Candidate, ...]:
        numbers = list(lexical | near)
        kinds: list[int] = self._kinds.values[numbers].tolist()
        at: list[int] = self._at.values[numbers].tolist()
        return tuple(
            Candidate(
                self._ids[number],
                self._names[kind] or "",
                moment,
                self._speakers[number],
                lexical.get(number),
                near.get(number),
            )
            for number, kind, moment in zip(numbers, kinds, at, strict=True)
        )

    def _lexical_best(
        self, terms: Sequence[str], passing: NDArray[np.bool_] | None, limit: int
    ) -> tuple[dict[int, float], float]:
        if not terms:
            return {}, 0.0
        scores, ideal = self._lexical.scores(terms, self._alive.values if self._gone else None)
        if passing is not None:
            scores *= passing
        if len(scores) > limit:
            found = np.argpartition(scores, -limit)[-limit:]
            found = found[scores[found] > 0]
        else:
            found = np.flatnonzero(scores)
        return dict(zip(found.tolist(), scores[found].tolist(), strict=True)), ideal

    @property
    def _gone(self) -> int:
        """How many numbers are masked."""
        return len(self._ids) - len(self._numbers)

    def _passing(self, query: IndexQuery) -> NDArray[np.bool_] | None:
        """The items that pass the filters, as a mask; None for all."""
        asked = (query.kinds, query.conversation, query.project, query.since, query.until)
        if not self._gone and all(condition is None for condition in asked):
            return None
        passing = self._alive.values
        if query.kinds is not None:
            kinds = [self._codes[kind] for kind in query.kinds if kind in self._codes]
            passing = passing & np.isin(self._kinds.values, kinds)
        if query.conversation is not None:
            passing = passing & (self._conversations.values == self._codes.get(query.conversation, -1))
        if query.project is not None:
            passing = passing & (self._projects.values == self._codes.get(query.project, -1))
        if query.since is not None:
            passing = passing & (self._at.values >= query.since)
        if query.until is not None:
            passing = passing & (self._at.values < query.until)
        return passing

    def _code(self, name: str | None) -> int:
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = len(self._names)
            self._names.append(name)
        return code
