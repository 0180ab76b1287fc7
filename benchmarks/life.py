"""`bethink bench life`: what is kept of invented lives, told in talk, in ten languages.

A life tells where somebody lives, their work, a pet and a hobby; it changes one, corrects one, has one
taken back, and says things that are not so: "if I lived in…", what a friend claims, a mail, a text to
translate. Months later it is asked. Lives are made of templates by seed (`life.toml`): even ones have the
wordings that were looked at while building, odd ones the others. Without a model a script plays the
extractor: it finds all that is told, and believes all the rest as well; so the figures are the upper bound of
the plumbing. With BETHINK_MODEL that model extracts, and is named in the rows.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bethink.app import open_app
from bethink.clock import FakeClock
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.llm.models import connect_models
from bethink.llm.scripted import ScriptedLlm
from bethink.ports import Ports
from bethink.principal import LOCAL_OWNER
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.app import App
    from bethink.embeddings import Embeddings
    from bethink.llm import Llm, LlmRequest
    from bethink.principal import Principal

LIVES: Final = 40
_TEMPLATES = Path(__file__).with_suffix(".toml")
_MONTHS_S = 120 * 86_400
_TOLD, _TRAPS = ("home", "job", "pet", "hobby"), ("if", "friend", "quote")
_ASKED = ("home", "job", "pet")
_FOUND = 5


@dataclass(frozen=True, slots=True)
class Event:
    """Something said: the words, those of them that a fact rests on, the fact, and how it stands to `old`."""

    kind: str
    said: str
    quote: str
    fact: str
    do: str = "add"
    old: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """What is said, in order, and what is asked at the end, each with the fact that answers."""

    language: str
    is_held_out: bool
    events: Sequence[Event]
    questions: Sequence[tuple[str, str]]


def lives(count: int) -> list[Life]:
    """So many lives, the languages in turn."""
    templates = tomllib.loads(_TEMPLATES.read_text(encoding="utf-8"))
    names = [*templates]
    return [_life(names[seed // 2 % len(names)], templates, seed) for seed in range(count)]


def _life(language: str, templates: Mapping[str, Any], seed: int) -> Life:
    told, rng, wording = templates[language], random.Random(seed), seed % 2  # noqa: S311 - it only varies lives
    home, later, *others = rng.sample(told["cities"], 5)
    wrong, right = rng.sample(told["pets"], 2)

    def event(kind: str, value: str = "", *, do: str = "add", old: str = "") -> Event:
        words, fact = told[kind][wording].format(value), told[kind][2].format(value)
        return Event(kind, words.replace("|", ""), words.split("|")[1], fact, do, old)

    begun = [event("home", home), event("job"), event("pet", wrong), event("hobby")]
    traps = [event(kind, city) for kind, city in zip(_TRAPS, others, strict=True)]
    changes = [
        event("move", later, do="replace", old=begun[0].fact),
        event("fix", right, do="correct", old=begun[2].fact),
    ]
    rng.shuffle(begun)
    rng.shuffle(traps)
    answers = {"home": changes[0].fact, "job": told["job"][2], "pet": changes[1].fact}
    questions = [(told[kind][3], answers[kind]) for kind in _ASKED]
    return Life(language, bool(wording), [*begun, traps[0], *changes, *traps[1:]], questions)


@dataclass(slots=True)
class _Extractor:
    """Proposes for each message what its life says of it, traps included: it believes everything."""

    events: Mapping[str, Event] = field(default_factory=dict[str, Event])

    def __call__(self, request: LlmRequest) -> str:
        if not request.system.startswith("You read messages"):
            return "I see."
        read = json.loads(request.messages[0].content)
        labels = {one["fact"]: one["id"] for one in read["known"]}
        changes: list[dict[str, Any]] = []
        for turn in read["turns"]:
            one = self.events[turn["message"]]
            # A pet is the owner's: whom its name is about is told by the fact itself.
            about = "user"
            of = [labels[one.old]] if one.old in labels else []
            changes.append(
                {"do": one.do, "turn": turn["turn"], "quote": one.quote, "fact": one.fact, "about": about}
                | {"of": of, "sure": True}
            )
        return json.dumps({"changes": changes})


async def measure_life(settings: Settings, embeddings: Embeddings, count: int) -> list[dict[str, Any]]:
    """Rows, one a half and one a language of the half that was never looked at.

    Raises:
        EmbeddingsUnavailable: the embedding model is not there.
    """
    await embeddings.load()
    model = settings.model or "the script"
    figures: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for life in lives(count):
        extractor = _Extractor({one.said: one for one in life.events})
        llm = connect_models(settings) or ScriptedLlm(extractor)
        lived = await _lived(life, llm, embeddings)
        half = "held out" if life.is_held_out else "looked at"
        for key in ((half, "all"), (half, life.language)):
            figures[key] += lived
            figures[key]["lives"] += 1
    return [_row(model, half, language, of=figures[half, language]) for half, language in sorted(figures)]


async def _lived(life: Life, llm: Llm, embeddings: Embeddings) -> Counter[str]:
    index, clock = MemoryIndex(), FakeClock()
    ports = Ports(MemoryStore(index), index, MemoryBus(), embeddings, llm, clock)
    async with open_app(Settings(extraction="auto"), ports) as app:
        me = app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench")
        counts = Counter[str]()
        hobby = next(one for one in life.events if one.kind == "hobby")
        conversation = (await app.conversations.create(me)).id
        for one in life.events:
            clock.advance(60)
            run = await app.runs.start(me, conversation, one.said)
            async for _ in app.runs.follow(me, run):
                pass
            await app.post_turn.finished()
            if one.kind in _TOLD:
                counts["told"] += 1
                counts["kept"] += one.fact in await _contents(app, me)
        await _retract(app, me, hobby.fact)
        clock.advance(_MONTHS_S)
        return counts + await _end_of(life, app, me)


async def _retract(app: App, me: Principal, content: str) -> None:
    page = await app.memory.list(me, where={"state": "active"})
    for item in page.items:
        if item.record.content == content:
            await app.memory.retract(me, item.record.id)


async def _end_of(life: Life, app: App, me: Principal) -> Counter[str]:
    counts = Counter[str]()
    held = await _contents(app, me)
    expected = {one.fact for one in life.events if one.kind not in _TRAPS}
    for one in life.events:
        if one.kind in {"move", "fix"}:
            counts["changes"] += 1
            counts["changed"] += one.fact in held and one.old not in held
        if one.kind in _TRAPS:
            counts["traps"] += 1
        if one.kind == "hobby":
            counts["deleted"] += 1
            counts["returned"] += one.fact in held
    counts["invented"] += len([content for content in held if content not in expected])
    for question, answer in life.questions:
        hits = await app.recall.search(me, question, _FOUND, kinds={"fact"})
        counts["questions"] += 1
        counts["recalled"] += answer in [hit.text for hit in hits]
    return counts


async def _contents(app: App, me: Principal) -> list[str]:
    page = await app.memory.list(me, where={"state": "active"})
    return [item.record.content for item in page.items]


def _row(model: str, half: str, language: str, *, of: Counter[str]) -> dict[str, Any]:
    return {
        "half": half,
        "language": language,
        "lives": of["lives"],
        "kept": of["kept"] / of["told"],
        "superseded": of["changed"] / of["changes"],
        "recalled": of["recalled"] / of["questions"],
        "traps": of["traps"],
        "invented": of["invented"],
        "returned": of["returned"],
        "extractor": model,
    }
