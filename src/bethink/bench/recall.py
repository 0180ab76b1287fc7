"""`bethink bench recall`: how much of what answers a question is found, beside each leg alone.

Every dialogue becomes one owner's conversations in a fresh data directory, a
session each, a message a turn; questions go to `app.recall.search` as they are
asked. The baselines are the legs of the same index: BM25 alone, vectors alone.
R@k is the share of the evidence turns among the first k, averaged over the
questions; questions without evidence are left out.
"""

from __future__ import annotations

import statistics
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.app import App, Ports, open_app
from bethink.clock import SystemClock
from bethink.conversations import KIND, PastMessage
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.index import IndexQuery
from bethink.maintenance.background import Vectors
from bethink.principal import Principal
from bethink.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bethink.bench.dialogues import Dialogue, Question
    from bethink.embeddings import EmbeddingModel, Embeddings

DEPTH = 50
_CUTS = (1, 5, 10, 20)
_HIT = 10
_PRODUCT, _WORDS, _MEANING = "bethink", "BM25 only", "vectors only"
_ADVERSARIAL = "adversarial"
_TAKEN_OVER_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Scored:
    """One question and what each way found, best first, by the set's own ids of turns."""

    dialogue: str
    question: Question
    ranked: dict[str, list[str]]
    ms: float
    embedding_ms: float


async def measure_recall(
    dialogues: Sequence[Dialogue], embeddings: Embeddings, directory: Path
) -> tuple[list[dict[str, Any]], bytes]:
    """A row for each ranking and category, the last one what it cost; and per question a line of JSON.

    `directory` is empty, and holds the data meanwhile.

    Raises:
        EmbeddingsUnavailable: the embedding model is not there.
    """
    await embeddings.load()
    found, spent = await scored(dialogues, embeddings, directory)
    items = sum(len(dialogue.turns) for dialogue in dialogues)
    ms = [one.ms for one in found]
    beyond = [one.ms - one.embedding_ms for one in found]
    cost = {
        "dialogues": len(dialogues),
        "items": items,
        "ingest_items_per_s": round(items / spent, 1),
        "query_ms_p50": round(statistics.median(ms), 2),
        "query_ms_p95": round(statistics.quantiles(ms, n=20)[-1], 2),
        "beyond_embedding_ms_p50": round(statistics.median(beyond), 2),
        "beyond_embedding_ms_p95": round(statistics.quantiles(beyond, n=20)[-1], 2),
    }
    return [*rows(found), cost], b"".join(map(_line, found))


async def scored(
    dialogues: Sequence[Dialogue], embeddings: Embeddings, directory: Path
) -> tuple[list[Scored], float]:
    """What was found for every question that has evidence, and the seconds that keeping the turns took."""
    timed = _Timed(embeddings)
    found: list[Scored] = []
    spent = 0.0
    async with _app(timed, directory) as (app, clock):
        for dialogue in dialogues:
            principal = Principal(dialogue.name)
            began = time.perf_counter()
            names = await _keep(app, principal, dialogue)
            spent += time.perf_counter() - began
            clock.moment = dialogue.now
            found += [
                await _ask(app, timed, dialogue, question=question, names=names)
                for question in dialogue.questions
                if question.evidence
            ]
    return found, spent


def rows(found: Sequence[Scored]) -> list[dict[str, Any]]:
    """The figures of each ranking: of all, of all but adversarial questions, and by category."""
    groups: dict[str, list[Scored]] = {"all": list(found)}
    categories = sorted({one.question.category for one in found})
    if _ADVERSARIAL in categories:
        groups["without adversarial"] = [one for one in found if one.question.category != _ADVERSARIAL]
    groups |= {name: [one for one in found if one.question.category == name] for name in categories}
    return [
        {"ranking": way, "category": name, "questions": len(group)} | _figures(group, way)
        for way in (_PRODUCT, _WORDS, _MEANING)
        for name, group in groups.items()
    ]


def _figures(group: Sequence[Scored], way: str) -> dict[str, float]:
    shares: dict[int, list[float]] = {cut: [] for cut in _CUTS}
    hits: list[bool] = []
    reciprocal: list[float] = []
    for one in group:
        evidence, ranked = set(one.question.evidence), one.ranked[way]
        for cut in _CUTS:
            shares[cut].append(len(evidence.intersection(ranked[:cut])) / len(evidence))
        first = next((place for place, id in enumerate(ranked, 1) if id in evidence), None)
        hits.append(first is not None and first <= _HIT)
        reciprocal.append(1 / first if first else 0.0)
    return {
        **{f"R@{cut}": round(statistics.fmean(values), 4) for cut, values in shares.items()},
        f"hit@{_HIT}": round(statistics.fmean(hits), 4),
        "MRR": round(statistics.fmean(reciprocal), 4),
    }


def _line(one: Scored) -> bytes:
    record = {
        "conversation": one.dialogue,
        "question": one.question.text,
        "category": one.question.category,
        "evidence": one.question.evidence,
        "ranked": one.ranked[_PRODUCT],
    }
    return msgspec.json.encode(record) + b"\n"


async def _keep(app: App, principal: Principal, dialogue: Dialogue) -> dict[str, str]:
    """Keep the dialogue as conversations, with their vectors; the turns' ids by the messages' ids."""
    sessions: dict[str, list[int]] = {}
    for place, turn in enumerate(dialogue.turns):
        sessions.setdefault(turn.session, []).append(place)
    names: dict[str, str] = {}
    for session, places in sessions.items():
        conversation = await app.conversations.create(principal, title=session)
        for start in range(0, len(places), _TAKEN_OVER_AT_ONCE):
            turns = [dialogue.turns[place] for place in places[start : start + _TAKEN_OVER_AT_ONCE]]
            said = [PastMessage(turn.text, turn.at, turn.role, turn.speaker) for turn in turns]
            ids = await app.conversations.take_over(principal, conversation.id, said)
            names |= dict(zip(ids, (turn.id for turn in turns), strict=True))
    await Vectors(app.ports.store, app.ports.index, app.ports.embeddings).fill(principal.owner)
    return names


async def _ask(
    app: App, timed: _Timed, dialogue: Dialogue, *, question: Question, names: dict[str, str]
) -> Scored:
    principal = Principal(dialogue.name)
    timed.ms = 0.0
    began = time.perf_counter()
    hits = await app.recall.search(principal, question.text, DEPTH, kinds={KIND})
    ms = (time.perf_counter() - began) * 1_000
    embedding_ms = timed.ms
    vector = (await timed.embed([question.text]))[0]
    by_leg = {
        _WORDS: await _leg(app, IndexQuery(principal.owner, question.text, limit=DEPTH)),
        _MEANING: await _leg(app, IndexQuery(principal.owner, "", vector, timed.model, limit=DEPTH)),
    }
    ranked = {_PRODUCT: [hit.id for hit in hits], **by_leg}
    return Scored(
        dialogue.name,
        question,
        {way: [names[id] for id in ids] for way, ids in ranked.items()},
        ms,
        embedding_ms,
    )


async def _leg(app: App, query: IndexQuery) -> Iterable[str]:
    found = (await app.ports.index.search(query)).items
    best = sorted(found, key=lambda item: (-(item.lexical or item.dense or 0.0), item.id))
    return [item.id for item in best]


@dataclass(slots=True)
class _Now:
    """A clock set to when a question is asked."""

    moment: int = field(default_factory=lambda: SystemClock().now_us())

    def now_us(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        return self.moment


@dataclass(slots=True)
class _Timed:
    """Embeds, and says how long that took; what the port has else comes from what it wraps."""

    inner: Embeddings
    ms: float = 0.0

    @property
    def model(self) -> EmbeddingModel:
        return self.inner.model

    @property
    def unavailable(self) -> str | None:
        return self.inner.unavailable

    async def load(self) -> None:
        await self.inner.load()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        began = time.perf_counter()
        vectors = await self.inner.embed(texts)
        self.ms += (time.perf_counter() - began) * 1_000
        return vectors


@asynccontextmanager
async def _app(embeddings: Embeddings, directory: Path) -> AsyncGenerator[tuple[App, _Now]]:
    clock = _Now()
    async with open_database(directory) as database:
        ports = Ports(database.store, database.index, MemoryBus(), embeddings, None, clock)
        async with open_app(load_settings(data_dir=directory, model=""), ports) as app:
            yield app, clock
