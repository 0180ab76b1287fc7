"""BM25 over one owner's items: the lexical leg. `shard` calls it, under its lock.

Okapi BM25 (Robertson et al., Okapi at TREC-3, 1994), exact, with the
non-negative idf of Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)). A term is the
first 40 bits of its digest. Postings lie in flat arrays by term (CSR); what
came since the last merge lies in a sorted run beside them, and what was
removed is masked until then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bethink.index.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1 = 0.9
B = 0.4
"""For short turns better than the usual 1.2 and 0.75."""

MAX_QUESTION_TERMS = 32
"""The rarest terms of a question count: a pasted page must not cost what a page of questions costs."""

_DOCUMENT_BITS = np.uint64(24)
_DOCUMENTS = np.uint64((1 << 24) - 1)
"""A key is a term's upper 40 bits, then its document: 16 million an owner. Two of a million
different terms are taken for one another in one owner of two."""

_MOST = 65_535
"""More repetitions of a term in one document change nothing."""

_MERGE_SHARE = 8
_MERGE_LEAST = 4_096
_MERGE_MOST = 1 << 15
"""The run is merged when it holds one part in so many of the postings, but not below nor above these:
it is sorted anew whenever something came."""


Postings = tuple["NDArray[np.int32]", "NDArray[np.uint16]"]
"""Documents, in order, and how often each holds the term."""

_NONE: Postings = (np.zeros(0, np.int32), np.zeros(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Scored:
    """What every document has of a question: its BM25, and the idf of the words it holds, summed.

    The ideal is the score of a document of average length that holds every word
    once, and the sum of all words' idf.
    """

    scores: NDArray[np.float32]
    met: NDArray[np.float32]
    ideal: float

    def best(self, limit: int) -> NDArray[np.intp]:
        """The `limit` best documents that hold a word, in no order."""
        documents = np.flatnonzero(self.scores > 0)
        if len(documents) > limit:
            chosen = np.argpartition(self.scores[documents], -limit)[-limit:]
            documents = documents[chosen]
        return documents


class Lexical:
    """Postings of documents that are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._terms = np.zeros(0, np.uint64)
        self._starts = np.zeros(1, np.int64)
        self._documents = np.zeros(0, np.int32)
        self._frequencies = np.zeros(0, np.uint16)
        # A key for each occurrence.
        self._run = Column(np.uint64)
        self._run_is_sorted = True
        self._lengths = Column(np.float32)
        self._living = 0
        self._living_length = 0.0
        # What a document's length adds to a term's frequency; made when a question needs it.
        self._norms: NDArray[np.float32] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        arrays = (self._terms, self._starts, self._documents, self._frequencies, self._run, self._lengths)
        return sum(array.nbytes for array in arrays) + (0 if self._norms is None else self._norms.nbytes)

    def add(self, terms: NDArray[np.uint64], lengths: NDArray[np.int64]) -> None:
        """Add the next documents: all their terms, one after the other, and how many each has."""
        numbers = np.arange(len(self._lengths), len(self._lengths) + len(lengths), dtype=np.uint64)
        self._run.extend((terms & ~_DOCUMENTS) | np.repeat(numbers, lengths))
        self._run_is_sorted = False
        self._lengths.extend(lengths)
        self._living += len(lengths)
        self._living_length += float(lengths.sum())
        self._norms = None

    def remove(self, document: int) -> None:
        """Take a document out of the collection's statistics; `alive` masks it until the next merge."""
        self._living -= 1
        self._living_length -= float(self._lengths.values[document])
        self._norms = None

    def scored(
        self,
        terms: NDArray[np.uint64],
        alive: NDArray[np.bool_] | None,
        passing: NDArray[np.bool_] | None,
    ) -> Scored:
        """What every document has of the terms.

        `alive` masks removed documents, None if there are none; `passing` those
        that are asked for, None for all.
        """
        scores = np.zeros(len(self._lengths), np.float32)
        met = np.zeros(len(self._lengths), np.float32)
        if self._norms is None:
            mean = max(self._living_length / max(self._living, 1), 1.0)
            self._norms = self._lengths.values * np.float32(K1 * B / mean) + np.float32(K1 * (1 - B))
        found = sorted(self._postings(terms, alive), key=lambda pair: len(pair[0]))
        idfs = [math.log1p((self._living - len(pair[0]) + 0.5) / (len(pair[0]) + 0.5)) for pair in found]
        present = [(pair, idf) for pair, idf in zip(found, idfs, strict=True) if len(pair[0])]
        for (documents, frequencies), idf in present[:MAX_QUESTION_TERMS]:
            # Twice as quick to look up by as 32 bits.
            places, share = documents.astype(np.intp), frequencies.astype(np.float32)
            share /= share + self._norms.take(places)
            share *= np.float32(idf * (K1 + 1))
            scores[places] += share
            met[places] += np.float32(idf)
        if passing is not None:
            scores *= passing
        return Scored(scores, met, sum(idfs))

    def _postings(self, terms: NDArray[np.uint64], alive: NDArray[np.bool_] | None) -> list[Postings]:
        """Documents and frequencies of each term."""
        if not self._run_is_sorted:
            self._run.values.sort()
            self._run_is_sorted = True
        terms = terms & ~_DOCUMENTS
        places = np.searchsorted(self._terms, terms).tolist()
        starts = np.searchsorted(self._run.values, terms).tolist()
        ends = np.searchsorted(self._run.values, terms | _DOCUMENTS, "right").tolist()
        found: list[Postings] = []
        for term, place, start, end in zip(terms.tolist(), places, starts, ends, strict=True):
            documents, frequencies = _NONE
            if place < len(self._terms) and int(self._terms[place]) == term:
                span = slice(int(self._starts[place]), int(self._starts[place + 1]))
                documents, frequencies = self._documents[span], self._frequencies[span]
            if start < end:
                new_documents, new_frequencies = _counted(self._run.values[start:end])
                documents = np.concatenate((documents, new_documents))
                frequencies = np.concatenate((frequencies, new_frequencies))
            if alive is not None:
                kept = alive[documents]
                documents, frequencies = documents[kept], frequencies[kept]
            found.append((documents, frequencies))
        return found

    @property
    def is_to_be_merged(self) -> bool:
        """Whether much has been added since the last merge."""
        return len(self._run) > min(max(_MERGE_LEAST, len(self._documents) // _MERGE_SHARE), _MERGE_MOST)

    def merge(self, places: NDArray[np.int32] | None) -> None:
        """Take the run into the arrays and drop what was removed.

        `places[i]` is the new number of document i, -1 for a removed one; the
        order stays. None if all stay where they are.
        """
        kept = np.repeat(np.repeat(self._terms, np.diff(self._starts)), self._frequencies)
        kept |= np.repeat(self._documents, self._frequencies).astype(np.uint64)
        if not self._run_is_sorted:
            self._run.values.sort()
        # Two sorted runs: what numpy calls a stable sort merges them.
        keys = np.sort(np.concatenate((kept, self._run.values)), kind="stable")
        if places is not None:
            moved = places[(keys & _DOCUMENTS).astype(np.intp)]
            keys = ((keys & ~_DOCUMENTS) | moved.astype(np.uint64))[moved >= 0]
            self._lengths.keep(places >= 0)
        self._documents, self._frequencies = _counted(keys)
        keys = keys[_firsts(keys)] & ~_DOCUMENTS
        first = _firsts(keys)
        self._terms = keys[first]
        self._starts = np.append(first, len(keys))
        self._norms = None
        self._run = Column(np.uint64)
        self._run_is_sorted = True


def _firsts(values: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Where each new value of a sorted array begins."""
    differs = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def _counted(keys: NDArray[np.uint64]) -> Postings:
    """The documents of one term's sorted keys, and how often each holds it."""
    first = _firsts(keys)
    frequencies = np.minimum(np.diff(first, append=len(keys)), _MOST)
    return (keys[first] & _DOCUMENTS).astype(np.int32), frequencies.astype(np.uint16)
