"""The two legs of a search over one owner's items: by words (`Lexical`) and by meaning (`Dense`).

`shard` holds one of each, numbers the items and says which pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from bethink.search.analysis import SCALE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

N = TypeVar("N", bound=np.generic)

_GROWTH = 1.25
"""Room is made in proportion, so that adding one by one costs the same per item at any size."""


class Column(Generic[N]):
    """Values of one type, shape (n, *width)."""

    def __init__(self, kind: type[N], *width: int) -> None:
        self._room: NDArray[N] = np.empty((0, *width), kind)
        self._values = self._room

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> NDArray[N]:
        """All values; a view, valid until the next change."""
        return self._values

    @property
    def nbytes(self) -> int:
        """Bytes of memory, spare room included."""
        return self._room.nbytes

    def reserve(self, length: int) -> None:
        """Make room for so many values in all."""
        if length > len(self._room):
            room = np.empty((length, *self._room.shape[1:]), self._room.dtype)
            room[: len(self._values)] = self._values
            self._room, self._values = room, room[: len(self._values)]

    def extend(self, values: ArrayLike) -> None:
        """Add values at the end, shape (m, *width)."""
        fresh: NDArray[Any] = np.asarray(values, self._room.dtype)
        start, end = len(self._values), len(self._values) + len(fresh)
        if end > len(self._room):
            self.reserve(max(end, int(end * _GROWTH)))
        self._room[start:end] = fresh
        self._values = self._room[:end]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop what the mask, shape (n,), does not say."""
        self._room = self._values[mask]
        self._values = self._room


K1 = 0.9
B = 0.4
"""For short turns better than the usual 1.2 and 0.75."""

MAX_QUESTION_TERMS = 32
"""The rarest terms of a question count: a pasted page must not cost what a page of questions costs."""

_DOCUMENTS = np.uint64((1 << 24) - 1)
"""A key is a term's upper 40 bits, then its document: 16 million an owner. Two of a million
different terms are taken for one another in one owner of two."""

_LAST = np.uint64((1 << 64) - 1)
"""Stands behind the last term, has no postings and equals none."""

_MOST = 65_535
"""More repetitions of a term in one document change nothing."""

_MERGE_SHARE = 8
_MERGE_LEAST = 4_096
_MERGE_MOST = 1 << 15
"""The run is merged when it holds one part in so many of the postings, but not below nor above these."""


_GROUP = 1 << 14
"""Postings that are scored before it is looked whether the rest can matter: among few documents, all."""

_LOOK_UP = 16
"""Looking a document up in a term's postings takes as long as scoring so many of them."""


@dataclass(frozen=True, slots=True)
class Among:
    """The documents whose words are counted for what is rare and what is long.

    What is not searched must not make the words of what is searched common. `mask` is None for all documents;
    `norms` are what a document's length adds to a term's frequency. `held` remembers, by the beginning of a
    term's postings, in how many of the documents it is.
    """

    living: int
    norms: NDArray[np.float32]
    mask: NDArray[np.bool_] | None
    held: dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Scored:
    """What the documents have of a question, as far as it tells which are the best.

    `scores` is every document's BM25 by the terms that were scored, `ideal` that of a document of average
    length that holds every word once: the sum of all words' idf. `documents` are those of every posting that
    was scored, `idfs` its word's. Documents below `least` are not among the best, whatever they have of the
    terms that were not: `unscored` gives that of documents in order, their score and the sum of their idf.
    """

    scores: NDArray[np.float32]
    ideal: float
    documents: NDArray[np.intp]
    idfs: NDArray[np.float32]
    least: np.float32
    unscored: Callable[[NDArray[np.intp]], tuple[NDArray[np.float32], NDArray[np.float64]]]

    def best(self, limit: int) -> NDArray[np.intp]:
        """The `limit` best documents that hold a word, in their order."""
        documents = np.flatnonzero(self.scores >= self.least if self.least > 0 else self.scores > 0)
        if len(documents) > limit:
            scores = self.scores[documents]
            if self.least > 0:
                scores += self.unscored(documents)[0]
            documents = np.sort(documents[np.argpartition(scores, -limit)[-limit:]])
        return documents

    def of(self, documents: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """The scores of documents, in order, and the share of the ideal that each has: its words' idf."""
        asked = np.zeros(len(self.scores), np.bool_)
        asked[documents] = True
        postings = np.flatnonzero(asked[self.documents])
        places = np.searchsorted(documents, self.documents[postings])
        scores, met = self.scores[documents], np.bincount(places, self.idfs[postings], len(documents))
        if self.least > 0:
            more, more_met = self.unscored(documents)
            scores, met = scores + more, met + more_met
        return scores, met / (self.ideal or 1.0)


Counted = tuple["NDArray[np.uint64]", "NDArray[np.uint16]"]
"""Different keys in order, and how often each occurs."""


class Lexical:
    """Okapi BM25 (Robertson et al., Okapi at TREC-3, 1994), exact.

    With the non-negative idf of Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)). Documents are numbered in the
    order in which they are added. A term is the first 40 bits of its digest. Postings lie in flat arrays by
    term (CSR); what came since the last merge lies in a sorted run beside them, and what was removed is
    masked until then.
    """

    def __init__(self) -> None:
        self._terms = np.array([_LAST])
        self._starts = np.zeros(2, np.int64)
        self._documents = np.zeros(0, np.int32)
        self._frequencies = np.zeros(0, np.uint16)
        # Keys in order, and how often each occurs; beside them a key for each occurrence that came since.
        self._run = np.zeros(0, np.uint64)
        self._of_run = np.zeros(0, np.uint16)
        self._fresh: list[NDArray[np.uint64]] = []
        self._lengths = Column(np.float32)
        self._living = 0
        self._living_length = 0.0
        # What a document's length adds to a term's frequency; made when a question needs it.
        self._norms: NDArray[np.float32] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        postings = (self._terms, self._starts, self._documents, self._frequencies)
        arrays = (*postings, self._run, self._of_run, *self._fresh, self._lengths)
        return sum(array.nbytes for array in arrays) + (0 if self._norms is None else self._norms.nbytes)

    def add(self, terms: NDArray[np.uint64], lengths: NDArray[np.int64]) -> None:
        """Add the next documents: all their terms, one after the other, and how many each has."""
        numbers = np.arange(len(self._lengths), len(self._lengths) + len(lengths), dtype=np.uint64)
        self._fresh.append((terms & ~_DOCUMENTS) | np.repeat(numbers, lengths))
        self._lengths.extend(lengths)
        self._living += len(lengths)
        self._living_length += float(lengths.sum())
        self._norms = None

    def remove(self, document: int) -> None:
        """Take a document out of the collection's statistics; `alive` masks it until the next merge."""
        self._living -= 1
        self._living_length -= float(self._lengths.values[document])
        self._norms = None

    def among(self, alive: NDArray[np.bool_] | None, of_kinds: NDArray[np.bool_] | None) -> Among:
        """The documents of the kinds that are searched, which a mask names; None for all kinds.

        `alive` masks removed documents, None if there are none.
        """
        if of_kinds is None:
            if self._norms is None:
                self._norms = _norms(self._lengths.values, self._living_length / max(self._living, 1))
            return Among(self._living, self._norms, alive, {})
        counts = of_kinds if alive is None else of_kinds & alive
        living = int(np.count_nonzero(counts))
        length = float(self._lengths.values[counts].sum(dtype=np.float64))
        return Among(living, _norms(self._lengths.values, length / max(living, 1)), counts, {})

    def scored(
        self, terms: NDArray[np.uint64], among: Among, limit: int, *, passing: NDArray[np.bool_] | None
    ) -> Scored:
        """What the documents that pass (None for all) have of the terms: enough to tell the `limit` best.

        Rare terms come first. The others are left unscored as soon as they can bring no other document among
        the best (MaxScore; Turtle and Flood, Query evaluation, 1995).
        """
        every = self._spans(terms & ~_DOCUMENTS)
        held = every[:, 1] - every[:, 0] + every[:, 3] - every[:, 2]
        order = np.argsort(held)
        counted = order[held[order] > 0][:MAX_QUESTION_TERMS]
        ends, spans = np.cumsum(held[counted]), every[counted].tolist()
        if among.mask is not None:
            held[counted] = [self._held(span, among) for span in spans]
        every_idf = np.log1p((among.living - held + 0.5) / (held + 0.5))
        idfs = every_idf[counted].astype(np.float32)
        scores = np.zeros(len(self._lengths), np.float32)
        documents: list[NDArray[np.intp]] = []
        of_words: list[NDArray[np.float32]] = []
        least, begin = np.float32(0), 0
        while not documents or (begin < len(spans) and least <= 0):
            before = ends[begin - 1] if begin else 0
            end = min(int(np.searchsorted(ends, before + _GROUP)) + 1, len(spans))
            found, shares, words = self._shares(
                spans[begin:end], idfs[begin:end], among.norms, passing=passing
            )
            np.add.at(scores, found, shares)
            documents.append(found)
            of_words.append(words)
            begin = end
            if end < len(spans):
                most = self._most(spans[end:], idfs[end:], among.norms)
                left = int(ends[-1] - ends[end - 1]) // (len(spans) - end)
                least = _least(scores, most, limit, postings=left)
        unscored = partial(self._of_single, spans=spans[begin:], idfs=idfs[begin:], norms=among.norms)
        ideal = float(every_idf.sum())
        return Scored(scores, ideal, np.concatenate(documents), np.concatenate(of_words), least, unscored)

    def _shares(
        self,
        spans: Sequence[Sequence[int]],
        idfs: NDArray[np.float32],
        norms: NDArray[np.float32],
        *,
        passing: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32]]:
        """Each posting's document, if it passes, what that adds to its score, and the term's idf."""
        documents, frequencies = self._postings(spans)
        lengths = [end - start + run_end - run_start for start, end, run_start, run_end in spans]
        words = np.repeat(idfs, lengths)
        if passing is not None:
            kept = passing[documents]
            documents, frequencies, words = documents[kept], frequencies[kept], words[kept]
        share = frequencies.astype(np.float32)
        share /= share + norms.take(documents)
        share *= words
        share *= np.float32(K1 + 1)
        return documents, share, words

    def _most(
        self, spans: Sequence[Sequence[int]], idfs: NDArray[np.float32], norms: NDArray[np.float32]
    ) -> float:
        """No document's score by these terms is greater."""
        shortest = float(norms.min())
        most = 0.0
        for (start, end, run_start, run_end), idf in zip(spans, idfs.tolist(), strict=True):
            frequent = self._frequencies[start:end].max(initial=0)
            frequent = float(self._of_run[run_start:run_end].max(initial=frequent))
            most += idf * (K1 + 1) * frequent / (frequent + shortest)
        return most

    def _held(self, span: Sequence[int], among: Among) -> int:
        """In how many of the documents among which is searched a term is."""
        start, end, run_start, run_end = span
        key = start, run_start
        held = among.held.get(key)
        if held is None and among.mask is not None:
            held = int(np.count_nonzero(among.mask[self._documents[start:end]]))
            held += int(np.count_nonzero(among.mask[_documents(self._run[run_start:run_end])]))
            among.held[key] = held
        return held or 0

    def _of_single(
        self,
        documents: NDArray[np.intp],
        *,
        spans: Sequence[Sequence[int]],
        idfs: NDArray[np.float32],
        norms: NDArray[np.float32],
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """What documents, in order, have of these terms: their score, and the sum of their idf."""
        scores, met = np.zeros(len(documents), np.float32), np.zeros(len(documents))
        # Compared in the types of the postings: else all of these would be converted.
        here, in_run = documents.astype(np.int32), documents.astype(np.uint64)
        for (start, end, run_start, run_end), idf in zip(spans, idfs, strict=True):
            counts = _counts_of(here, self._documents[start:end], self._frequencies[start:end])
            if run_end > run_start:
                keys = (self._run[run_start] & ~_DOCUMENTS) | in_run
                counts += _counts_of(keys, self._run[run_start:run_end], self._of_run[run_start:run_end])
            scores += idf * np.float32(K1 + 1) * counts / (counts + norms[documents])
            met += idf * (counts > 0)
        return scores, met

    def _spans(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Where each term's postings begin and end, in the arrays and in the run, shape (n, 4)."""
        self._take_fresh()
        places = np.searchsorted(self._terms, terms)
        spans = np.empty((len(terms), 4), np.int64)
        spans[:, 0] = self._starts[places]
        spans[:, 1] = self._starts[places + (self._terms[places] == terms)]
        spans[:, 2] = np.searchsorted(self._run, terms)
        spans[:, 3] = np.searchsorted(self._run, terms | _DOCUMENTS, "right")
        return spans

    def _postings(self, spans: Sequence[Sequence[int]]) -> tuple[NDArray[np.intp], NDArray[np.uint16]]:
        """Documents and frequencies of all spans, one after the other."""
        documents: list[NDArray[np.int32] | NDArray[np.uint64]] = []
        frequencies: list[NDArray[np.uint16]] = []
        for start, end, run_start, run_end in spans:
            documents += self._documents[start:end], _documents(self._run[run_start:run_end])
            frequencies += self._frequencies[start:end], self._of_run[run_start:run_end]
        if not documents:
            return np.zeros(0, np.intp), np.zeros(0, np.uint16)
        # Twice as quick to look up by as 32 bits.
        return np.concatenate(documents, dtype=np.intp), np.concatenate(frequencies)

    def _take_fresh(self) -> None:
        """Take what came into the run; of a document that came, nothing was there."""
        if self._fresh:
            came = _counted(np.sort(np.concatenate(self._fresh)))
            self._run, self._of_run = _merged((self._run, self._of_run), came)
            self._fresh = []

    @property
    def is_to_be_merged(self) -> bool:
        """Whether much has been added since the last merge."""
        added = len(self._run) + sum(map(len, self._fresh))
        return added > min(max(_MERGE_LEAST, len(self._documents) // _MERGE_SHARE), _MERGE_MOST)

    def merge(self, places: NDArray[np.int32] | None) -> None:
        """Take the run into the arrays and drop what was removed.

        `places[i]` is the new number of document i, -1 for a removed one; the
        order stays. None if all stay where they are.
        """
        self._take_fresh()
        old = np.repeat(self._terms, np.diff(self._starts)) | self._documents.astype(np.uint64)
        keys, frequencies = _merged((old, self._frequencies), (self._run, self._of_run))
        if places is not None:
            moved = places[_documents(keys)]
            keys, frequencies = (
                ((keys & ~_DOCUMENTS) | moved.astype(np.uint64))[moved >= 0],
                frequencies[moved >= 0],
            )
            self._lengths.keep(places >= 0)
        self._documents, self._frequencies = _documents(keys), frequencies
        keys &= ~_DOCUMENTS
        first = _firsts(keys)
        self._terms = np.append(keys[first], _LAST)
        self._starts = np.append(first, (len(keys), len(keys)))
        self._norms = None
        self._run, self._of_run = np.zeros(0, np.uint64), np.zeros(0, np.uint16)


def _counts_of(wanted: NDArray[N], keys: NDArray[N], counts: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The counts of the wanted ones among keys in order; 0 of those that are not there."""
    if not len(keys):
        return np.zeros(len(wanted), np.float32)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, counts[places], 0).astype(np.float32)


def _least(scores: NDArray[np.float32], most: float, limit: int, *, postings: int) -> np.float32:
    """Below this no document is among the best, if the terms that are left give `most`.

    0 if they might bring others, or so many are not below it that all their `postings` are scored as soon.
    """
    better = scores[scores > most]
    if len(better) < limit:
        return np.float32(0)
    least = np.partition(better, -limit)[-limit] - np.float32(most)
    return least if np.count_nonzero(scores >= least) * _LOOK_UP < postings else np.float32(0)


def _norms(lengths: NDArray[np.float32], mean: float) -> NDArray[np.float32]:
    return lengths * np.float32(K1 * B / max(mean, 1.0)) + np.float32(K1 * (1 - B))


def _documents(keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    return (keys & _DOCUMENTS).astype(np.int32)


def _firsts(values: NDArray[np.uint64] | NDArray[np.int32]) -> NDArray[np.intp]:
    """Where each new value of a sorted array begins."""
    differs = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def _counted(keys: NDArray[np.uint64]) -> Counted:
    """The different keys of a sorted array."""
    first = _firsts(keys)
    return keys[first], np.minimum(np.diff(first, append=len(keys)), _MOST).astype(np.uint16)


def _merged(one: Counted, other: Counted) -> Counted:
    """Two of these that have no key in common, as one."""
    keys, counts = one
    if not len(keys):
        return other
    places = np.searchsorted(keys, other[0])
    return np.insert(keys, places, other[0]), np.insert(counts, places, other[1])


SCAN_ROWS = 4_000
"""Where comparing bits first becomes quicker than comparing everything."""

_CANDIDATES = 20.0
_CANDIDATES_POWER = 0.4
"""So many times the rows to this power are compared after the bits: 800 of 10,000, 5,000 of a million."""

_FEW = 4
"""Below one row in so many it is quicker to look up those that pass than to measure all."""

_FAR = np.iinfo(np.uint16).max // 8
"""More than the signs of any vector can differ."""

_MANY = 4

_SAMPLE = 8_192
"""Distances looked at to find the one below which the candidates lie."""

_WORD_BITS = 64
_SIGNED_AT_ONCE = 1_000


class Dense:
    """Cosines over vectors of one model, each belonging to a document number, in the order of their adding.

    A document's vectors lie beside one another, and documents in the order of their numbers. Its cosine is
    that of the nearest of its vectors.

    Vectors are kept as 16-bit integers (`entry.quantized`), which moves a cosine by some
    hundred-thousandths. Up to `SCAN_ROWS` rows every vector is compared. Above, one bit per dimension (its
    sign; Charikar 2002) picks candidates by Hamming distance, and those are compared: the choice is nearly
    exact.
    """

    def __init__(self, dimensions: int) -> None:
        self._vectors = Column(np.int16, dimensions)
        self._documents = Column(np.int32)
        # One column per 64 dimensions, so that each is read in one run; made when first needed.
        self._signs = [Column(np.uint64) for _ in range(-(-dimensions // _WORD_BITS))]
        # The row of each document's first vector; None while every document has one only.
        self._firsts: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._vectors.nbytes + self._documents.nbytes + sum(signs.nbytes for signs in self._signs)

    @property
    def documents(self) -> NDArray[np.int32]:
        """The document of every row."""
        return self._documents.values

    def add(self, documents: ArrayLike, vectors: NDArray[np.int16], *, expected: int = 0) -> None:
        """Add rows: document numbers, shape (n,), and their vectors, shape (n, d); so many are to come."""
        for column in (self._documents, self._vectors):
            column.reserve(len(column) + expected)
        start = len(self)
        self._documents.extend(documents)
        self._vectors.extend(vectors)
        firsts = _firsts(self.documents[start:])
        if self._firsts is not None:
            self._firsts = np.concatenate((self._firsts, firsts + start))
        elif len(firsts) < len(vectors):
            self._firsts = np.concatenate((np.arange(start), firsts + start))

    def rows_of(self, documents: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows of those documents that a mask names, as a mask."""
        # Where each document has one vector, its row has its number.
        is_aligned = self._firsts is None and len(self) == len(documents)
        return documents if is_aligned else documents[self.documents]

    def count(self, rows: NDArray[np.bool_] | None) -> int:
        """How many documents have the rows of a mask that `rows_of` gave; of all, if it is None."""
        if rows is None:
            return len(self) if self._firsts is None else len(self._firsts)
        return int(np.count_nonzero(rows if self._firsts is None else rows[self._firsts]))

    def best_of_all(
        self, queries: NDArray[np.float32], passing: NDArray[np.bool_] | None, limit: int
    ) -> list[NDArray[np.int32]]:
        """What `best` gives of each of the queries, shape (m, d).

        A row is read once for all of them, so that no choice by bits is quicker.
        """
        if len(queries) == 1:
            return [self.best(queries[0], passing, limit)]
        best = np.full((len(queries), limit), -np.inf, np.float32)
        numbers = np.full((len(queries), limit), -1, np.int32)
        scaled = np.ascontiguousarray(queries.T) / np.float32(SCALE)
        for documents, vectors in self._blocks(passing):
            cosines = np.matmul(vectors.astype(np.float32), scaled)
            if self._firsts is not None:
                firsts = _firsts(documents)
                cosines, documents = np.maximum.reduceat(cosines, firsts), documents[firsts]  # noqa: PLW2901
            # After some blocks few are better than what was found by then.
            better = np.flatnonzero((cosines > best.min(axis=1)).any(axis=1))
            every = np.concatenate((best, cosines[better].T), axis=1)
            named = np.broadcast_to(documents[better], (len(queries), len(better)))
            chosen = np.argpartition(every, -limit, axis=1)[:, -limit:]
            best = np.take_along_axis(every, chosen, axis=1)
            numbers = np.take_along_axis(np.concatenate((numbers, named), axis=1), chosen, axis=1)
        return [of_query[of_query >= 0] for of_query in numbers]

    def _blocks(
        self, passing: NDArray[np.bool_] | None
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int16]]]:
        """Documents and vectors of the rows that pass, some at a time; a document's lie together."""
        rows = None if passing is None else np.flatnonzero(passing)
        documents = self.documents if rows is None else self.documents[rows]
        start = 0
        while start < len(documents):
            end = start + SCAN_ROWS
            while self._firsts is not None and end < len(documents) and documents[end - 1] == documents[end]:
                end += 1
            vectors = self._vectors.values
            yield documents[start:end], vectors[start:end] if rows is None else vectors[rows[start:end]]
            start = end

    def best(
        self,
        query: NDArray[np.float32],
        passing: NDArray[np.bool_] | None,
        limit: int,
    ) -> NDArray[np.int32]:
        """The `limit` best documents; `passing` masks rows, None for all."""
        rows = None if passing is None else np.flatnonzero(passing)
        count = len(self._vectors) if rows is None else len(rows)
        if count > SCAN_ROWS:
            least = limit if self._firsts is None else limit * len(self) // len(self._firsts)
            wanted = min(count, max(round(_CANDIDATES * count**_CANDIDATES_POWER), least))
            if passing is None or rows is None:
                rows = _nearest(self._distances(query, None), wanted)
            elif count < len(passing) // _FEW:
                rows = rows[_nearest(self._distances(query, rows), wanted)]
            else:
                distances = self._distances(query, None)
                np.putmask(distances, ~passing, _FAR)
                rows = _nearest(distances, wanted)
        documents = self.documents if rows is None else self.documents[rows]
        scores = self._scores(query, rows)
        if self._firsts is not None and len(scores):
            firsts = _firsts(documents)
            scores, documents = np.maximum.reduceat(scores, firsts), documents[firsts]
        if len(scores) > limit:
            chosen = np.argpartition(scores, -limit)[-limit:]
            documents = documents[chosen]
        return documents

    def _distances(self, query: NDArray[np.float32], rows: NDArray[np.intp] | None) -> NDArray[np.uint16]:
        """In how many signs each of the rows (None for all) differs from the query."""
        have = len(self._signs[0])
        if have < len(self._vectors):
            for signs, fresh in zip(self._signs, _sign_words(self._vectors.values[have:]), strict=True):
                signs.extend(fresh)
        distances = np.zeros(len(self._vectors) if rows is None else len(rows), np.uint16)
        for signs, wanted in zip(self._signs, _sign_words(query[np.newaxis]), strict=True):
            distances += np.bitwise_count((signs.values if rows is None else signs.values[rows]) ^ wanted)
        return distances

    def _scores(self, query: NDArray[np.float32], rows: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """The cosines of these rows, None for all."""
        vectors = self._vectors.values
        return _cosines(vectors if rows is None else vectors.take(rows, axis=0), query)

    def cosines(self, query: NDArray[np.float32], documents: NDArray[np.intp]) -> list[float | None]:
        """The cosine of each document, in their order; None of those that have no vector."""
        rows = np.minimum(np.searchsorted(self.documents, documents.astype(np.int32)), len(self) - 1)
        has_vector = (self.documents[rows] == documents).tolist()
        if self._firsts is None:
            cosines = self._scores(query, rows)
        else:
            ends = np.searchsorted(self.documents, documents.astype(np.int32), "right")
            counts: NDArray[np.intp] = np.maximum(ends - rows, 1)
            starts = counts.cumsum() - counts
            first = (rows - starts).repeat(counts)
            every = first + np.arange(len(first))
            cosines = np.maximum.reduceat(self._scores(query, every), starts)
        return [one if has else None for one, has in zip(cosines.tolist(), has_vector, strict=True)]

    def merge(self, places: NDArray[np.int32]) -> None:
        """Renumber documents (`places[i]` is the new number of document i) and drop those that become -1."""
        moved = places[self.documents]
        kept = moved >= 0
        if not kept.all():
            self._vectors.keep(kept)
            self._documents.keep(kept)
            for signs in self._signs:
                signs.keep(kept[: len(signs)])
        self.documents[:] = moved[kept]
        if self._firsts is not None:
            firsts = _firsts(self.documents)
            self._firsts = firsts if len(firsts) < len(self) else None


def _nearest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Places of the `count` least distances, roughly, in their order; never one that is `_FAR`."""
    sample = distances[:: max(1, len(distances) // _SAMPLE)]
    below = np.cumsum(np.bincount(sample))
    bound = min(int(np.searchsorted(below, count * len(sample) / len(distances))), _FAR - 1)
    found = np.flatnonzero(distances <= bound)
    if len(found) > _MANY * count:
        # Thousands that are all alike: some of them will do.
        nearer, as_near = np.flatnonzero(distances < bound), np.flatnonzero(distances == bound)
        found = np.sort(np.concatenate((nearer[:count], as_near[: max(0, count - len(nearer))])))
    return found


def _cosines(vectors: NDArray[np.int16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    scores = np.matmul(vectors.astype(np.float32), query)
    scores /= SCALE
    return scores


def _sign_words(vectors: NDArray[np.float32] | NDArray[np.int16]) -> NDArray[np.uint64]:
    """One bit per dimension, padded to whole words, shape (words, n)."""
    words = -(-vectors.shape[1] // _WORD_BITS)
    padded = np.zeros((len(vectors), words * _WORD_BITS // 8), np.uint8)
    # Some rows at a time: what is compared on the way stays in the processor's cache.
    for start in range(0, len(vectors), _SIGNED_AT_ONCE):
        bits = np.packbits(vectors[start : start + _SIGNED_AT_ONCE] > 0, axis=1)
        padded[start : start + len(bits), : bits.shape[1]] = bits
    return padded.view(np.uint64).T
