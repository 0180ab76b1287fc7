"""BM25 over one owner's items: the lexical leg. `shard` calls it, under its lock.

Okapi BM25 (Robertson et al., Okapi at TREC-3, 1994), exact, with the
non-negative idf of Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)). Postings lie
in flat arrays by term (CSR); what came since the last merge lies in a Python
dict beside them, and what was removed is masked until then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bethink.index.column import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

K1 = 0.9
B = 0.4
"""For short turns better than the usual 1.2 and 0.75."""

MAX_QUESTION_TERMS = 32
"""The rarest terms of a question count: a pasted page must not cost what a page of questions costs."""


class Lexical:
    """Postings of documents that are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._starts = np.zeros(1, np.int64)
        self._documents = np.zeros(0, np.int32)
        self._frequencies = np.zeros(0, np.float32)
        self._tail: dict[str, tuple[list[int], list[int]]] = {}
        self._tail_postings = 0
        self._lengths = Column(np.float32)
        self._living = 0
        self._living_length = 0.0
        # What a document's length adds to a term's frequency; made when a question needs it.
        self._norms: NDArray[np.float32] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of memory, roughly."""
        arrays = (
            self._starts.nbytes + self._documents.nbytes + self._frequencies.nbytes + self._lengths.nbytes
        )
        return arrays + (len(self._terms) + self._tail_postings) * 100

    def add(self, terms: Sequence[str]) -> None:
        """Add the next document."""
        document = len(self._lengths)
        counts: dict[str, int] = {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        for term, count in counts.items():
            postings = self._tail.get(term)
            if postings is None:
                postings = self._tail[term] = ([], [])
            postings[0].append(document)
            postings[1].append(count)
        self._tail_postings += len(counts)
        self._lengths.extend((len(terms),))
        self._living += 1
        self._living_length += len(terms)
        self._norms = None

    def remove(self, document: int) -> None:
        """Take a document out of the collection's statistics; `alive` masks it until the next merge."""
        self._living -= 1
        self._living_length -= float(self._lengths.values[document])
        self._norms = None

    def scores(
        self, terms: Iterable[str], alive: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], float]:
        """BM25 of every document, shape (documents,), 0 where no term occurs; and the ideal.

        The ideal is the score of a document of average length that holds every
        term once. `alive` masks removed documents, None if there are none.
        """
        scores = np.zeros(len(self._lengths), np.float32)
        if self._norms is None:
            mean = max(self._living_length / max(self._living, 1), 1.0)
            self._norms = self._lengths.values * np.float32(K1 * B / mean) + np.float32(K1 * (1 - B))
        found = sorted((self._postings(term, alive) for term in terms), key=lambda pair: len(pair[0]))
        idfs = [math.log1p((self._living - len(pair[0]) + 0.5) / (len(pair[0]) + 0.5)) for pair in found]
        present = [(pair, idf) for pair, idf in zip(found, idfs, strict=True) if len(pair[0])]
        for (documents, frequencies), idf in present[:MAX_QUESTION_TERMS]:
            share = frequencies / (frequencies + self._norms[documents])
            share *= np.float32(idf * (K1 + 1))
            scores[documents] += share
        return scores, sum(idfs)

    def _postings(
        self, term: str, alive: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        number = self._terms.get(term, -1)
        start, end = (0, 0) if number < 0 else (self._starts[number], self._starts[number + 1])
        documents, frequencies = self._documents[start:end], self._frequencies[start:end]
        tail = self._tail.get(term)
        if tail is not None:
            documents = np.concatenate((documents, np.array(tail[0], np.int32)))
            frequencies = np.concatenate((frequencies, np.array(tail[1], np.float32)))
        if alive is None:
            return documents, frequencies
        kept = alive[documents]
        return documents[kept], frequencies[kept]

    @property
    def tail_postings(self) -> int:
        """How much has been added since the last merge."""
        return self._tail_postings

    @property
    def postings(self) -> int:
        """How much was there at the last merge."""
        return len(self._documents)

    def merge(self, places: NDArray[np.int32]) -> None:
        """Take the tail into the arrays and drop what was removed, words that occur no more included.

        `places[i]` is the new number of document i, -1 for a removed one; the
        order stays.
        """
        for term in self._tail:
            self._terms.setdefault(term, len(self._terms))
        numbers, documents, frequencies = self._flat()
        moved = places[documents]
        kept = moved >= 0
        numbers, documents, frequencies = numbers[kept], moved[kept], frequencies[kept]
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=len(self._terms))
        used = counts > 0
        if not used.all():
            self._terms = {
                term: place
                for place, term in enumerate(term for term, number in self._terms.items() if used[number])
            }
            counts = counts[used]
        self._starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        self._documents = documents[order]
        self._frequencies = frequencies[order]
        self._lengths.keep(places >= 0)
        self._norms = None
        self._tail = {}
        self._tail_postings = 0

    def _flat(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """All postings as (term, document, frequency), those of one term in the documents' order."""
        lengths = [len(postings[0]) for postings in self._tail.values()]
        tail_numbers = np.repeat(np.array([self._terms[term] for term in self._tail], np.int32), lengths)
        tail_documents = [document for postings in self._tail.values() for document in postings[0]]
        tail_frequencies = [frequency for postings in self._tail.values() for frequency in postings[1]]
        numbers = np.repeat(np.arange(len(self._starts) - 1, dtype=np.int32), np.diff(self._starts))
        return (
            np.concatenate((numbers, tail_numbers)),
            np.concatenate((self._documents, np.array(tail_documents, np.int32))),
            np.concatenate((self._frequencies, np.array(tail_frequencies, np.float32))),
        )
