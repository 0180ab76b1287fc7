"""Searches in a large owner's tables (`large`). `index` calls it.

Words: the rarest terms of a question choose up to `CANDIDATES` items by a GIN index; these are scored exactly
as `search.legs` does. Meaning: an HNSW index of 16-bit floats (Malkov and Yashunin, 2016), or a full
comparison if filters leave few. Both legs see the filters before the limit.
"""
# ruff: noqa: S608 - the names of schemas are numbers of ours

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import numpy as np

from bethink.engines.postgres.large import literal
from bethink.index import Candidate, Candidates, IndexQuery
from bethink.search.analysis import dimensions_of, model_key
from bethink.search.legs import K1, MAX_QUESTION_TERMS, B

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bethink.engines.postgres.connection import DatabaseSession

CANDIDATES: Final = 5_000
"""Items that are scored by words at most: ten milliseconds. The 50 best of a question are among them unless
all of its terms are common."""

_CANDIDATES_SHARE: Final = 50
"""One in so many of those that are searched is scored, if that is more: terms are commoner among more."""

COMPARED: Final = 10
"""Vectors that are compared in full in the time in which one is visited in the graph. What filters hold back
is visited, too."""

_VISITED: Final = 400
"""Vectors that HNSW keeps in view (`ef_search`): 93 in 100 of the ten nearest among a million; with 200 it
is 87, with 1,000 it is 94."""


class _Parameters(list[object]):
    """The values of a statement; called with one, it gives its place in the statement's text."""

    def __call__(self, value: object) -> str:
        self.append(value)
        return f"${len(self)}"


@dataclass(frozen=True)
class LargeSearch:
    """One search in an owner's tables; `terms` are the question's digests as signed numbers."""

    session: DatabaseSession
    place: int
    query: IndexQuery
    terms: Sequence[int]

    @cached_property
    def _items(self) -> str:
        return f"index_{self.place}.items"

    @cached_property
    def _model(self) -> str | None:
        return None if self.query.model is None else model_key(self.query.model)

    async def candidates(self) -> Candidates:
        """The best of both legs."""
        query = self.query
        # What fits depends on how many items hold a term, or are of a conversation.
        await self.session.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        every = await self.session.fetch(
            f"SELECT kind, model, items, rows, words FROM index_{self.place}.counts WHERE items > 0"
        )
        counts = [row for row in every if query.kinds is None or row["kind"] in query.kinds]
        searched, with_vector = await self._passing(counts)
        if not searched:
            return Candidates()
        words = await self._words(counts)
        is_few = self._is_narrow and searched <= CANDIDATES
        most = max(CANDIDATES, searched // _CANDIDATES_SHARE)
        found = await self._by_words(words, most, is_few=is_few)
        near: set[str] = set()
        if query.vector is not None and with_vector:
            near = await self._near(with_vector, [row for row in every if row["model"] == self._model])
        items = await self._read(
            {*found, *near}, words, is_compared=query.vector is not None and with_vector > 0
        )
        return Candidates(
            items,
            lexical_ideal=words.ideal,
            searched=searched,
            without_vector=0 if self._model is None else searched - with_vector,
        )

    async def _passing(self, counts: Sequence[Any]) -> tuple[int, int]:
        """How many items pass the filters, and how many of them have a vector of the query's model."""
        if not self._is_narrow:
            return (
                sum(row["items"] for row in counts),
                sum(row["items"] for row in counts if row["model"] == self._model is not None),
            )
        values = _Parameters()
        model, condition = values(self._model), self._condition(values)
        return await self.session.fetchrow(
            f"SELECT count(*), count(*) FILTER (WHERE model = {model}::text) FROM {self._items} "
            f"WHERE part = 0{condition}",
            *values,
        )

    @cached_property
    def _is_narrow(self) -> bool:
        query = self.query
        names = (query.conversation, query.project, query.part_of)
        return any(one is not None for one in (*names, query.since, query.until, query.as_of))

    def _condition(self, values: _Parameters) -> str:
        query = self.query
        conditions: list[str] = []
        if query.kinds is not None:
            conditions.append(f"kind = ANY({values(list(query.kinds))})")
        if query.part_of is not None:
            conditions.append(f"part_of = ANY({values(list(query.part_of))})")
        for name, value in (("conversation", query.conversation), ("project", query.project)):
            if value is not None:
                conditions.append(f"{name} = {values(value)}")
        if query.since is not None:
            conditions.append(f"at >= {values(query.since)}")
        if query.until is not None:
            conditions.append(f"at < {values(query.until)}")
        if query.as_of is not None:
            moment = values(query.as_of)
            conditions.append(f"coalesce(held_from, at) <= {moment}")
            conditions.append(f"(held_until IS NULL OR held_until > {moment})")
        return "".join(f" AND {condition}" for condition in conditions)

    async def _words(self, counts: Sequence[Any]) -> _Words:
        """What the question's terms are worth among the items of the searched kinds."""
        living = sum(row["items"] for row in counts)
        mean = sum(row["words"] for row in counts) / max(living, 1)
        values = _Parameters((list(self.terms),))
        kinds = "" if self.query.kinds is None else f" AND kind = ANY({values(list(self.query.kinds))})"
        held = dict(
            await self.session.fetch(
                f"SELECT term, sum(items)::bigint FROM index_{self.place}.terms "
                f"WHERE term = ANY($1){kinds} GROUP BY term",
                *values,
            )
        )
        every = np.array([held.get(term, 0) for term in self.terms], np.float64)
        ideal = float(np.log1p((living - every + 0.5) / (every + 0.5)).sum())
        rarest = sorted((count, term) for term, count in held.items() if count > 0)[:MAX_QUESTION_TERMS]
        idfs = {term: float(np.log1p((living - count + 0.5) / (count + 0.5))) for count, term in rarest}
        return _Words(ideal, max(mean, 1.0), idfs, {term: count for count, term in rarest})

    async def _by_words(self, words: _Words, most: int, *, is_few: bool) -> list[str]:
        """The ids of the best by words among so many; if few pass the filters, all of them are scored."""
        rare: list[int] = []
        count = 0
        for term, held in words.held.items():
            count += held
            if rare and count > most:
                break
            rare.append(term)
        if not rare:
            return []
        values = _Parameters()
        condition = self._condition(values)
        passing = f"SELECT id, words, array_send(terms) FROM {self._items} WHERE part = 0{condition}"
        sought = f"{passing} AND terms"
        ways = [passing] if is_few else [f"({sought} && {values(rare)} LIMIT {most})"]
        if count > most and len(words.held) > 1 and not is_few:
            # Those that hold the two rarest come first.
            both = list(words.held)[:2]
            ways.insert(0, f"({sought} @> {values(both)} LIMIT {most})")
        rows = await self.session.fetch(" UNION ALL ".join(ways), *values)
        kept = list({row[0]: row for row in rows}.values())
        scores, _ = await anyio.to_thread.run_sync(words.scores, kept)
        best = np.flatnonzero(scores > 0)
        if len(best) > self.query.limit:
            best = best[np.argpartition(scores[best], -self.query.limit)[-self.query.limit :]]
        return [kept[place][0] for place in best.tolist()]

    async def _near(self, with_vector: int, counts: Sequence[Any]) -> set[str]:
        """The ids of the nearest of so many that pass; `counts` are those of the model."""
        values = _Parameters()
        items, rows = sum(row["items"] for row in counts), sum(row["rows"] for row in counts)
        # The vectors of one item may all be near.
        limit = self.query.limit * -(-rows // items)
        visited = _VISITED + limit * items / with_vector
        dimensions = dimensions_of(self._model or "")
        vector = (
            f"{values(np.asarray(self.query.vector, np.float32).tolist())}::real[]::halfvec({dimensions})"
        )
        passing = f"SELECT id, vector::halfvec({dimensions}) AS vector FROM {self._items} WHERE model = "
        passing += f"{literal(self._model or '')}{self._condition(values)}"
        if with_vector <= COMPARED * visited:
            nearest = f"WITH passing AS MATERIALIZED ({passing}) SELECT id FROM passing"
        else:
            await self.session.execute(
                f"SET LOCAL hnsw.ef_search = {min(1_000, max(_VISITED, limit))};"
                "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL enable_seqscan = off"
            )
            nearest = f"SELECT id FROM ({passing}) AS passing"
        rows = await self.session.fetch(f"{nearest} ORDER BY vector <#> {vector} LIMIT {limit}", *values)
        return set(list(dict.fromkeys(id for (id,) in rows))[: self.query.limit])

    async def _read(self, ids: set[str], words: _Words, *, is_compared: bool) -> tuple[Candidate, ...]:
        """The candidates with these ids, with the scores of both legs."""
        rows = await self.session.fetch(
            f"SELECT id, part, kind, at, speaker, conversation, words, array_send(terms) AS terms, "
            f"CASE WHEN model = $2 THEN halfvec_send(vector) END AS vector "
            f"FROM {self._items} WHERE id = ANY($1) ORDER BY id, part",
            list(ids),
            self._model,
        )
        firsts = [row for row in rows if row["part"] == 0]
        scores, met = words.scores([(row["id"], row["words"], row["terms"]) for row in firsts])
        cosines: dict[str, float] = {}
        if is_compared:
            compared = [row for row in rows if row["vector"] is not None]
            nearness = _vectors([row["vector"] for row in compared]) @ np.asarray(
                self.query.vector, np.float32
            )
            for row, cosine in zip(compared, nearness.tolist(), strict=True):
                cosines[row["id"]] = max(cosine, cosines.get(row["id"], -1.0))
        return tuple(
            Candidate(
                row["id"],
                row["kind"],
                row["at"],
                row["speaker"],
                score or None,
                cosines.get(row["id"]),
                share,
                row["conversation"],
            )
            for row, score, share in zip(firsts, scores.tolist(), met.tolist(), strict=True)
        )


_TERMS_AT: Final = 20
_TERM_SENT: Final = 12
_HALVES_AT: Final = 4


def _vectors(sent: Sequence[bytes]) -> NDArray[np.float32]:
    joined = b"".join(one[_HALVES_AT:] for one in sent)
    return np.frombuffer(joined, ">f2").astype(np.float32).reshape(len(sent), -1)


@dataclass(frozen=True, slots=True)
class _Words:
    """What a question's terms are worth: of the rarest, rarest first, idf and how many items hold them."""

    ideal: float
    mean: float
    idfs: dict[int, float]
    held: dict[int, int]

    def scores(self, rows: Sequence[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """BM25 and the share of the ideal that is met; a row is an id, a length and terms as sent."""
        sizes = [max(0, len(row[2]) - _TERMS_AT) // _TERM_SENT for row in rows]
        joined = b"".join(row[2][_TERMS_AT:] for row in rows)
        sent = np.frombuffer(joined, np.uint8).reshape(-1, _TERM_SENT)
        terms = sent[:, _TERM_SENT - 8 :].copy().view(">i8").ravel()
        of_row = np.repeat(np.arange(len(rows)), sizes)
        norms = K1 * (1 - B) + K1 * B / self.mean * np.array([row[1] for row in rows], np.float64)
        scores, met = np.zeros(len(rows)), np.zeros(len(rows))
        for term, idf in self.idfs.items():
            held = np.bincount(of_row[terms == term], minlength=len(rows))
            scores += idf * (K1 + 1) * held / (held + norms)
            met += idf * (held > 0)
        return scores.astype(np.float32), met / (self.ideal or 1.0)
