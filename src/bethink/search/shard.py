"""One owner's items in memory, searched by both `legs` under filters.

The index's adapters keep a shard per owner, fill it from their rows and ask
it. A shard does no locking and no input or output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bethink.index import Candidate, Candidates, IndexQuery
from bethink.search.analysis import TERM_BYTES, Analyzer, Entries, Names, dimensions_of, model_key
from bethink.search.legs import Column, Dense, Lexical, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray


T = TypeVar("T")

MERGE_SHARE = 8
MERGE_MIN_GONE = 256
"""Merging rewrites everything: it waits until one item in so many is gone, and so many in all."""

_filters = attrgetter(
    "kinds", "conversation", "project", "part_of", "since", "until", "as_of", "model", "limit"
)

_BYTES_PER_ITEM = 250
"""Of Python's own objects: the id and its places in a dictionary and a list."""


class Shard:
    """Items by number; a replaced or removed one keeps its number, masked, until the next merge."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._kind_codes: dict[str, int] = {}
        self._name_codes: dict[Names, int] = {}
        self._names: list[Names] = []
        self._kinds = Column(np.int32)
        self._of_names = Column(np.int32)
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
        columns = sum(column.nbytes for column in self._columns)
        return legs + columns + (len(self._ids) + len(self._names)) * _BYTES_PER_ITEM

    @property
    def _columns(self) -> tuple[Column[Any], ...]:
        return self._kinds, self._of_names, self._at, self._alive

    def add(self, entries: Entries, expected: int = 0) -> None:
        """Add items, replacing those with the same id; so many more are `expected` soon."""
        start = len(self._ids)
        for column in self._columns:
            column.reserve(start + expected)
        for id in self._numbers.keys() & set(entries.ids):
            self.remove(id)
        self._numbers.update(zip(entries.ids, range(start, start + len(entries.ids)), strict=True))
        self._ids += entries.ids
        self._alive.extend(np.ones(len(entries.ids), np.bool_))
        self._kinds.extend(_coded(self._kind_codes, entries.kinds))
        self._of_names.extend(_coded(self._name_codes, entries.names))
        self._names = list(self._name_codes)
        self._at.extend(entries.at)
        lengths = np.fromiter(map(len, entries.terms), np.int64, len(entries.terms)) // TERM_BYTES
        self._lexical.add(np.frombuffer(b"".join(entries.terms), "<u8"), lengths)
        for model in {model for model in entries.models if model is not None}:
            self._add_vectors(entries, model, start, expected=expected)

    def _add_vectors(self, entries: Entries, model: str, start: int, *, expected: int) -> None:
        numbers = [number for number, of_item in enumerate(entries.models) if of_item == model]
        vectors = [entries.vectors[number] for number in numbers]
        rows = np.frombuffer(b"".join(vectors), "<i2").reshape(-1, dimensions_of(model))
        dense = self._dense.get(model)
        if dense is None:
            dense = self._dense[model] = Dense(rows.shape[1])
        documents = np.array(numbers) + start
        if len(rows) > len(documents):
            row_bytes = rows.shape[1] * rows.itemsize
            documents = np.repeat(documents, [len(vector) // row_bytes for vector in vectors])
        dense.add(documents, rows, expected=expected)

    def remove(self, id: str) -> None:
        """Remove an item; nothing happens if it is not there."""
        number = self._numbers.pop(id, None)
        if number is not None:
            self._alive.values[number] = False
            self._lexical.remove(number)

    def settle(self) -> None:
        """Merge what was added and removed, if it has become much. Call it after a round of changes."""
        if self._gone > max(MERGE_MIN_GONE, len(self._ids) // MERGE_SHARE) or self._lexical.is_to_be_merged:
            self._merge()

    def _merge(self) -> None:
        alive = self._alive.values.copy()
        places = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32) if self._gone else None
        self._lexical.merge(places)
        if places is None:
            return
        for model in list(self._dense):
            self._dense[model].merge(places)
            if not len(self._dense[model].documents):
                del self._dense[model]
        for column in self._columns:
            column.keep(alive)
        self._ids = list(compress(self._ids, alive))
        self._numbers = {id: number for number, id in enumerate(self._ids)}
        self._drop_unused_names()

    def _drop_unused_names(self) -> None:
        """Let go of the names of what is gone: a file that is often changed is a new whole each time."""
        is_used = np.bincount(self._of_names.values, minlength=len(self._names)) > 0
        self._of_names.values[:] = (np.cumsum(is_used) - 1)[self._of_names.values]
        self._names = list(compress(self._names, is_used))
        self._name_codes = {names: code for code, names in enumerate(self._names)}

    def search_all(self, queries: Sequence[IndexQuery], analyzer: Analyzer) -> list[Candidates]:
        """The best of both legs, for each of one owner's queries."""
        found: dict[int, Candidates] = {}
        alike: defaultdict[object, list[int]] = defaultdict(list)
        for place, query in enumerate(queries):
            alike[_filters(query), query.vector is None].append(place)
        for places in alike.values():
            found |= zip(places, self._search([queries[place] for place in places], analyzer), strict=True)
        return [found[place] for place in range(len(queries))]

    def _search(self, queries: Sequence[IndexQuery], analyzer: Analyzer) -> Iterator[Candidates]:
        """What is found for queries that have the same filters."""
        first = queries[0]
        of_kinds = self._of_kinds(first)
        passing = self._passing(first, of_kinds)
        searched = len(self._numbers) if passing is None else int(np.count_nonzero(passing))
        if not searched:
            yield from [Candidates()] * len(queries)
            return
        among = self._lexical.among(self._alive.values if self._gone else None, of_kinds)
        model = None if first.model is None else model_key(first.model)
        dense = None if model is None else self._dense.get(model)
        rows = None if dense is None or passing is None else dense.rows_of(passing)
        with_vector = 0 if dense is None else dense.count(rows)
        vectors = [np.asarray(query.vector, np.float32) for query in queries if query.vector is not None]
        nearest: Sequence[NDArray[np.int32] | None] = [None] * len(queries)
        if dense is not None and with_vector and vectors:
            nearest = dense.best_of_all(np.stack(vectors), rows, first.limit)
        for query, near in zip(queries, nearest, strict=True):
            terms = np.frombuffer(analyzer.digests(analyzer.question(query.text)), "<u8")
            scored = self._lexical.scored(terms, among, query.limit, passing=passing)
            numbers = scored.best(query.limit)
            cosines: Sequence[float | None] | None = None
            if dense is not None and near is not None:
                # Not numpy's union: it loads numpy.ma, which takes as long as a thousand items.
                numbers = np.array(sorted({*numbers.tolist(), *near.tolist()}), np.intp)
                cosines = dense.cosines(np.asarray(query.vector, np.float32), numbers)
            yield Candidates(
                self._candidates(numbers, scored, cosines),
                lexical_ideal=scored.ideal,
                searched=searched,
                without_vector=0 if model is None else searched - with_vector,
            )

    def _candidates(
        self, numbers: NDArray[np.intp], scored: Scored, cosines: Sequence[float | None] | None
    ) -> tuple[Candidate, ...]:
        kinds = list(self._kind_codes)
        places: list[int] = numbers.tolist()
        of_kind: list[int] = self._kinds.values[numbers].tolist()
        of_names: list[int] = self._of_names.values[numbers].tolist()
        moments: list[int] = self._at.values[numbers].tolist()
        scores, met = (of_numbers.tolist() for of_numbers in scored.of(numbers))
        return tuple(
            Candidate(
                self._ids[number],
                kinds[of_kind[place]],
                moments[place],
                (names := self._names[of_names[place]]).speaker,
                scores[place] or None,
                None if cosines is None else cosines[place],
                met[place],
                names.conversation,
            )
            for place, number in enumerate(places)
        )

    @property
    def _gone(self) -> int:
        """How many numbers are masked."""
        return len(self._ids) - len(self._numbers)

    def _of_kinds(self, query: IndexQuery) -> NDArray[np.bool_] | None:
        """The items of the kinds that are searched, as a mask; None if these are all kinds that there are."""
        if query.kinds is None or query.kinds.issuperset(self._kind_codes):
            return None
        return _is_one_of(
            self._kinds.values, [self._kind_codes[kind] for kind in query.kinds if kind in self._kind_codes]
        )

    def _passing(self, query: IndexQuery, of_kinds: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """The items that pass the filters, as a mask; None for all."""
        conditions: list[NDArray[np.bool_]] = [self._alive.values] if self._gone else []
        if of_kinds is not None:
            conditions.append(of_kinds)
        if query.conversation is not None or query.project is not None or query.part_of is not None:
            codes = [
                code
                for code, names in enumerate(self._names)
                if query.conversation in {None, names.conversation}
                and query.project in {None, names.project}
                and (query.part_of is None or names.part_of in query.part_of)
            ]
            conditions.append(_is_one_of(self._of_names.values, codes))
        if query.since is not None:
            conditions.append(self._at.values >= query.since)
        if query.until is not None:
            conditions.append(self._at.values < query.until)
        if query.as_of is not None:
            conditions.append(self._held(query.as_of))
        passing = conditions.pop() if conditions else None
        for condition in conditions:
            passing = condition if passing is None else passing & condition
        return passing

    def _held(self, moment: int) -> NDArray[np.bool_]:
        """The items that held at the moment, as a mask."""
        of_names = self._of_names.values
        since_said = np.array([names.held_from is None for names in self._names], np.bool_)[of_names]
        held = np.array([_held(names, moment) for names in self._names], np.bool_)[of_names]
        return held & (~since_said | (self._at.values <= moment))


def _held(names: Names, moment: int) -> bool:
    has_begun = names.held_from is None or names.held_from <= moment
    return has_begun and (names.held_until is None or moment < names.held_until)


def _coded(codes: dict[T, int], values: Sequence[T]) -> list[int]:
    """A number for each value, the same for equal ones; `codes` learns the new ones."""
    for value in dict.fromkeys(values):
        codes.setdefault(value, len(codes))
    return [codes[value] for value in values]


def _is_one_of(values: NDArray[np.int32], codes: Sequence[int]) -> NDArray[np.bool_]:
    """Which values are among the codes."""
    if len(codes) == 1:
        return values == codes[0]
    return np.isin(values, codes)
