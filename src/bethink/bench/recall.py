"""`bethink bench recall`: how much of what answers a question is found, beside each leg alone.

Every dialogue becomes one owner's conversations in a fresh data directory, a
session each, a message a turn; questions go to `app.recall.search` as they are
asked. The baselines are the legs of the same index: BM25 alone, vectors alone.
R@k is the share of the evidence turns among the first k, averaged over the
questions; questions without evidence are left out. `in context` is the share that the
model would be shown at the default settings.

No set is shipped: a path leads to the file or directory as its makers publish it. Every
reader keeps the words and the dates as they are; evidence names turns.

- LoCoMo: Maharana et al. 2024, `locomo10.json` or a file a conversation.
- REALTALK: Lee et al. 2025, `data/Chat_*.json`.
- BEAM: Tavakoli et al. 2025, `chats/100K`, a directory a conversation.
- LongMemEval: Wu et al. 2024, `longmemeval_s.json` and its sisters.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bethink.agent.context import Context, Prompts
from bethink.app import App, open_app
from bethink.clock import SystemClock, to_us
from bethink.conversations.records import KIND
from bethink.conversations.service import ConversationStart, PastMessage
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput
from bethink.index import IndexQuery
from bethink.maintenance.background import Vectors
from bethink.ports import Ports
from bethink.principal import Principal
from bethink.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel, Embeddings


Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `id` is the set's own; `session` groups what was said in one go."""

    id: str
    session: str
    text: str
    at: int
    role: Role = "user"
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class BenchQuestion:
    """A question as it is asked, and the ids of the turns that answer it."""

    text: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Everything two speakers said, oldest first, and what is asked about it `now`."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[BenchQuestion, ...]
    now: int


def read_dialogues(path: Path, form: str) -> list[Dialogue]:
    """All dialogues at a path, in the order of their names.

    Raises:
        BadInput: the form is unknown, or the files are not of that form.
    """
    reader = FORMATS.get(form)
    if reader is None:
        raise BadInput(f"Unknown format {form!r}: there are {', '.join(FORMATS)}.")
    try:
        dialogues = list(reader(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not of the format {form}: {type(error).__name__}: {error}") from error
    if not dialogues:
        raise BadInput(f"{path} holds no {form} conversation.")
    return dialogues


def _files(path: Path, pattern: str) -> list[Path]:
    return sorted(path.glob(pattern)) if path.is_dir() else [path]


def _json(file: Path) -> Any:  # noqa: ANN401 - JSON of others
    return json.loads(file.read_text(encoding="utf-8"))


# --- LoCoMo and REALTALK: people in sessions ------------------------------------

_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "*.json"):
        data = _json(file)
        for number, sample in enumerate([data] if "qa" in data else data):
            name = sample.get("sample_id") or (file.stem if not number else f"{file.stem}-{number}")
            yield _of_people(name, sample, _locomo_turn)


def _realtalk(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "Chat_*.json"):
        yield _of_people(file.stem, _json(file), _realtalk_turn)


def _of_people(
    name: str, sample: Mapping[str, Any], turn: Callable[[dict[str, Any], str, datetime], Turn]
) -> Dialogue:
    turns: list[Turn] = []
    sessions: Mapping[str, Any] = sample.get("conversation", sample)
    numbers = sorted(int(found[1]) for key in sessions if (found := _SESSION.fullmatch(key)))
    for session in (f"session_{number}" for number in numbers):
        began = _date(sessions[f"{session}_date_time"])
        turns += [
            turn(said, session, began + timedelta(seconds=30 * place))
            for place, said in enumerate(sessions[session])
        ]
    known = {turn.id for turn in turns}
    questions = tuple(
        BenchQuestion(
            one["question"],
            LOCOMO_CATEGORIES.get(int(one["category"]), str(one["category"])),
            tuple(id for id in dict.fromkeys(_EVIDENCE.findall(str(one.get("evidence", "")))) if id in known),
        )
        for one in sample["qa"]
    )
    return Dialogue(name, tuple(turns), questions, _a_day_after(turns))


def _locomo_turn(said: dict[str, Any], session: str, at: datetime) -> Turn:
    caption = said.get("blip_caption")
    text = f"{said['text']} [image: {caption}]" if caption else said["text"]
    return Turn(said["dia_id"], session, text, to_us(at), speaker=said["speaker"])


def _realtalk_turn(said: dict[str, Any], session: str, at: datetime) -> Turn:
    at = _date(said["date_time"]) if said.get("date_time") else at
    return Turn(said["dia_id"], session, said["clean_text"], to_us(at), speaker=said["speaker"])


# --- BEAM: the owner and an assistant --------------------------------------------

_MARK = re.compile(r"\s*->->.*$", re.DOTALL)
"""At the end of the owner's messages: which bullet of its plan one was made from."""


def _beam(path: Path) -> Iterator[Dialogue]:
    directories = sorted(chat.parent for chat in path.rglob("chat.json"))
    for directory in directories:
        turns = _beam_turns(_json(directory / "chat.json"))
        known = {turn.id for turn in turns}
        asked = _json(directory / "probing_questions" / "probing_questions.json")
        questions = tuple(
            BenchQuestion(
                one["question"],
                category,
                tuple(
                    id
                    for id in dict.fromkeys(map(str, _leaves(one.get("source_chat_ids", []))))
                    if id in known
                ),
            )
            for category, several in asked.items()
            for one in several
        )
        yield Dialogue(f"beam-{directory.name}", tuple(turns), questions, _a_day_after(turns))


def _beam_turns(batches: list[dict[str, Any]]) -> list[Turn]:
    turns: list[Turn] = []
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for batch in batches:
        for said in (said for exchange in batch["turns"] for said in exchange):
            if said.get("time_anchor"):
                at = max(at, _date(said["time_anchor"]))
            text = _MARK.sub("", said["content"])
            turns.append(Turn(str(said["id"]), str(batch["batch_number"]), text, to_us(at), said["role"]))
            at += timedelta(minutes=1)
    return turns


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON of others
    if isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType] - JSON of others
            yield from _leaves(one)  # pyright: ignore[reportUnknownArgumentType] - JSON of others
    else:
        yield value


# --- LongMemEval: a history a question ---------------------------------------------


def _longmemeval(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "*.json"):
        yield from map(_history, _json(file))


def _history(one: dict[str, Any]) -> Dialogue:
    turns: list[Turn] = []
    evidence: list[str] = []
    sessions = zip(one["haystack_session_ids"], one["haystack_dates"], one["haystack_sessions"], strict=True)
    for place, (session, date, messages) in enumerate(sessions):
        for number, said in enumerate(messages):
            at = _date(date) + timedelta(seconds=30 * number)
            id = f"{place}:{session}#{number}"
            turns.append(Turn(id, f"{place}:{session}", said["content"], to_us(at), said["role"]))
            if said.get("has_answer"):
                evidence.append(id)
    turns.sort(key=lambda turn: turn.at)
    name = one["question_id"]
    category = "abstention" if name.endswith("_abs") else one["question_type"]
    question = BenchQuestion(one["question"], category, tuple(evidence))
    return Dialogue(name, tuple(turns), (question,), to_us(_date(one["question_date"])))


FORMATS: dict[str, Callable[[Path], Iterator[Dialogue]]] = {
    "locomo": _locomo,
    "beam": _beam,
    "realtalk": _realtalk,
    "longmemeval": _longmemeval,
}

_DATES = (
    "%I:%M %p on %d %B, %Y",  # LoCoMo
    "%d.%m.%Y, %H:%M:%S",  # REALTALK
    "%B-%d-%Y",  # BEAM
    "%Y/%m/%d (%a) %H:%M",  # LongMemEval
)


def _date(text: str) -> datetime:
    for form in _DATES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no date of these sets")


def _a_day_after(turns: list[Turn]) -> int:
    return max(turn.at for turn in turns) + 86_400_000_000


DEPTH = 50
_CUTS = (1, 5, 10, 20)
_HIT = 10
_PRODUCT, _WORDS, _MEANING = "bethink", "BM25 only", "vectors only"
_ADVERSARIAL = "adversarial"
_TAKEN_OVER_AT_ONCE = 500
_NO_PROMPTS = Prompts("", "", "", "")


@dataclass(frozen=True, slots=True)
class Scored:
    """One question and what each way found, best first, by the set's own ids of turns."""

    dialogue: str
    question: BenchQuestion
    ranked: dict[str, list[str]]
    in_context: list[str]
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
        **_in_context(group, way),
        f"hit@{_HIT}": round(statistics.fmean(hits), 4),
        "MRR": round(statistics.fmean(reciprocal), 4),
    }


def _in_context(group: Sequence[Scored], way: str) -> dict[str, float]:
    """What reaches the model of what recall found; the legs alone have no score to cut by."""
    if way != _PRODUCT:
        return {}
    shares = [
        len(set(one.question.evidence).intersection(one.in_context)) / len(one.question.evidence)
        for one in group
    ]
    return {
        "in context": round(statistics.fmean(shares), 4),
        "items in context": round(statistics.fmean(len(one.in_context) for one in group), 1),
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
        conversation = await app.conversations.create(principal, ConversationStart(title=session))
        for start in range(0, len(places), _TAKEN_OVER_AT_ONCE):
            turns = [dialogue.turns[place] for place in places[start : start + _TAKEN_OVER_AT_ONCE]]
            said = [PastMessage(turn.text, turn.at, turn.role, turn.speaker) for turn in turns]
            ids = await app.conversations.take_over(principal, conversation.id, said)
            names |= dict(zip(ids, (turn.id for turn in turns), strict=True))
    await Vectors(app.ports.store, app.ports.index, app.ports.embeddings).fill(principal.owner)
    return names


async def _ask(
    app: App, timed: _Timed, dialogue: Dialogue, *, question: BenchQuestion, names: dict[str, str]
) -> Scored:
    principal = Principal(dialogue.name)
    timed.ms = 0.0
    began = time.perf_counter()
    hits = await app.recall.search(principal, question.text, DEPTH, kinds={KIND})
    ms = (time.perf_counter() - began) * 1_000
    embedding_ms = timed.ms
    context = Context.of(app.settings, app.memory, app.recall, clock=app.ports.clock, prompts=_NO_PROMPTS)
    told = await context.recalled(principal, question.text)
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
        [names[item.id] for item in told],
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

    @property
    def window(self) -> int:
        return self.inner.window

    def pieces(self, word: str) -> int:
        return self.inner.pieces(word)

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
