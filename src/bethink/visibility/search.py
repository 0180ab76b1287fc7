"""What is found for a reader who may not see all: by what they see of it, and by nothing else.

An index holds facts and turns whole. Would a search go by that, whoever is restrained
could guess: a hit for the right word, a score, an order would tell what stands behind
`[hidden]`. So each word is searched alone, that it cannot lift what another one finds;
what is found is matched and weighed once more by the text that is shown, and what is
shown in part is found by its words only. `recall/service` and `recall/message_search` ask.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import EmbeddingsUnavailable
from bethink.search.analysis import Analyzer

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings
    from bethink.feature import Recallable
    from bethink.index import Candidate, Candidates, Index, IndexQuery

    Resolve = Callable[[Sequence[Candidate]], Awaitable[Mapping[str, Recallable]]]

_OF_A_WORD: Final = 50
"""Candidates that each word brings."""
_MOST_WORDS: Final = 16
_MOST_COMPARED: Final = 8
"""Texts that are shown in part and whose meaning is compared: each is embedded for it."""
_READ_CHARS: Final = 4_000
_K1, _B = 0.9, 0.4
"""As the indexes have it (`index.Candidate`)."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class VisibleSearch:
    """Candidates as they are for one who sees a part."""

    index: Index
    embeddings: Embeddings
    analyzer: Analyzer = field(default_factory=Analyzer, repr=False)

    async def visible(self, found: Candidates, query: IndexQuery, resolve: Resolve) -> Candidates:
        """What `query` finds by what `resolve` shows; `found` is what it found by all that there is."""
        words = await self.of_words(query, _OF_A_WORD)
        every = {one.id: one for part in words.values() for one in part.items}
        every |= {one.id: one for one in found.items}
        shown = await resolve([*every.values()])
        sums = await anyio.to_thread.run_sync(self._weighed, shown, words, found.searched)
        kept = [
            one for id, one in every.items() if id in shown and (id in sums.scores or not shown[id].is_part)
        ]
        near = await self._near([one for one in kept if shown[one.id].is_part], shown, query=query, sums=sums)
        ranked = [
            msgspec.structs.replace(
                one,
                lexical=sums.scores.get(one.id),
                met=sums.met.get(one.id, 0.0),
                dense=near.get(one.id) if shown[one.id].is_part else one.dense,
            )
            for one in kept
        ]
        return replace(found, items=tuple(ranked), lexical_ideal=sums.ideal)

    async def of_words(self, query: IndexQuery, limit: int) -> dict[tuple[str, ...], Candidates]:
        """What each word of a question finds alone, by the terms that it stands for."""
        alone: dict[tuple[str, ...], str] = {}
        for word in _WORD.findall(query.text):
            if terms := tuple(self.analyzer.question(word)):
                alone.setdefault(terms, word)
        return {
            terms: await self.index.search(replace(query, text=word, vector=None, model=None, limit=limit))
            for terms, word in [*alone.items()][:_MOST_WORDS]
        }

    def _weighed(
        self, shown: Mapping[str, Recallable], words: Mapping[tuple[str, ...], Candidates], searched: int
    ) -> _Sums:
        texts = {id: Counter(self.analyzer.document(one.searched[:_READ_CHARS])) for id, one in shown.items()}
        average = sum(text.total() for text in texts.values()) / max(len(texts), 1) or 1.0
        sums = _Sums()
        for terms, part in words.items():
            holding = [
                one.id
                for one in part.items
                if one.id in texts and any(term in texts[one.id] for term in terms)
            ]
            # Of a word that is so common the index knows better how common; and it is no secret.
            worth = part.lexical_ideal
            if len(part.items) < _OF_A_WORD:
                worth = math.log(
                    1 + (max(searched, len(holding)) - len(holding) + 0.5) / (len(holding) + 0.5)
                )
            sums.ideal += worth
            for id in holding:
                count = sum(texts[id][term] for term in terms)
                length = 1 - _B + _B * texts[id].total() / average
                score = worth * count * (_K1 + 1) / (count + _K1 * length)
                sums.scores[id] = sums.scores.get(id, 0.0) + score
                sums.met[id] = sums.met.get(id, 0.0) + worth
        sums.met = {id: met / sums.ideal if sums.ideal else 0.0 for id, met in sums.met.items()}
        return sums

    async def _near(
        self, parts: Sequence[Candidate], shown: Mapping[str, Recallable], *, query: IndexQuery, sums: _Sums
    ) -> dict[str, float]:
        """How near in meaning what is shown in part is to the question: of the best by their words."""
        best = sorted(parts, key=lambda one: (-sums.scores[one.id], one.id))[:_MOST_COMPARED]
        if not best or query.vector is None:
            return {}
        try:
            vectors = await self.embeddings.embed([shown[one.id].text for one in best])
        except EmbeddingsUnavailable:
            return {}
        return {
            one.id: round(float(vector @ query.vector), 4) for one, vector in zip(best, vectors, strict=True)
        }


@dataclass(slots=True)
class _Sums:
    """What words say of each candidate: its score, and the share of the question that it meets."""

    ideal: float = 0.0
    scores: dict[str, float] = field(default_factory=dict[str, float])
    met: dict[str, float] = field(default_factory=dict[str, float])
