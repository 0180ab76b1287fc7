"""`bethink bench life`: what is kept of invented lives (`lives`), told in talk, in ten languages.

Without a model a script plays the extractor: it finds all that is told, and believes all the rest as
well; so the figures are the upper bound of the plumbing. With BETHINK_MODEL that model extracts, while the
answers stay a script's, and is named in the rows. `--owners` says how many lives, `--parts` which languages
and which half (`looked-at`, `held-out`). What went wrong is printed of few lives, and of none held out.

`careful` has the script leave out what is not so, for which the memory then needs no checks of its own.
With `--peer-python` other memories that this Python has (mem0, langmem) live the same lives: `life_others`.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.life_others import Script, told_by_peers
from benchmarks.lives import LANGUAGES, LIVES, has, lives
from bethink.app import open_app
from bethink.clock import FakeClock
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.errors import BadInput
from bethink.llm import LlmWrapper
from bethink.llm.models import connect_models
from bethink.llm.scripted import ScriptedLlm
from bethink.ports import Ports
from bethink.principal import LOCAL_OWNER
from bethink.recall.service import answering
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.life_others import Told
    from benchmarks.lives import Life, Question, Said
    from bethink.app import App
    from bethink.embeddings import Embeddings
    from bethink.llm import Delta, Llm, LlmRequest
    from bethink.principal import Principal

_LOOKED_AT, _HELD_OUT, _CAREFUL = "looked-at", "held-out", "careful"
_MONTHS_S: Final = 120 * 86_400
_FOUND: Final = 5
_USED, _WAITING = "active", "suggested"
_SHOWN: Final = 40
"""With more lives than this, what went wrong is not printed."""


@dataclass(slots=True)
class _Extractor:
    """Proposes for each message what its life says of it; it believes traps as well, unless it is careful."""

    said: Mapping[str, Said] = field(default_factory=dict[str, "Said"])
    is_careful: bool = False
    read: str = ""
    """What the model that answers was last given."""

    def __call__(self, request: LlmRequest) -> str:
        if not request.system.startswith("You read messages"):
            self.read = "\n".join(message.content for message in request.messages)
            return "I see."
        read = json.loads(request.messages[0].content)
        changes: list[dict[str, Any]] = []
        for turn in read["turns"]:
            one = self.said[turn["message"]]
            if self.is_careful and one.does == "none":
                continue
            of = [known["id"] for known in read["known"] if one.old and has(known["fact"], one.old)]
            do = "add" if one.does == "none" else one.does
            changes.append(
                {"do": do, "turn": turn["turn"], "quote": one.quote, "fact": one.fact, "about": one.about}
                | {"of": of, "sure": True}
            )
        return json.dumps({"changes": changes})


class _OnlyExtracts(LlmWrapper):
    """A model that is asked for facts; a script answers the rest."""

    def __init__(self, inner: Llm, script: ScriptedLlm) -> None:
        super().__init__(inner)
        self._script = script

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta]:
        """See `Llm.stream`."""
        is_for_facts = request.system.startswith(("You read messages", "Tell again"))
        by = self._inner if is_for_facts else self._script
        async with aclosing(by.stream(request)) as deltas:
            async for delta in deltas:
                yield delta


@dataclass(frozen=True, slots=True)
class Held:
    """A fact that a memory holds: one that it changes becomes another."""

    id: str
    content: str
    state: str = _USED


@dataclass(slots=True)
class Lived:
    """What became of a life: counts, and what went wrong in words."""

    counts: Counter[str] = field(default_factory=Counter[str])
    misses: list[str] = field(default_factory=list[str])

    def note(self, what: str, of: str, *, done: bool, about: str) -> None:
        """Count something, and whether it was done."""
        self.counts[of] += 1
        self.counts[what] += done
        if not done:
            self.misses.append(f"{what}: {about}")

    def tell(self, one: Said, before: Iterable[Held], now: Sequence[Held]) -> None:
        """What the memory made of a message."""
        known = {fact.id for fact in before}
        new = [fact for fact in now if fact.id not in known]
        right = [fact for fact in new if has(fact.content, one.value)]
        if one.does == "add":
            kept = any(fact.state == _USED for fact in now if has(fact.content, one.value))
            waits = any(fact.state == _WAITING for fact in right)
            self.note(
                "kept", "told", done=kept, about=f"{one.topic}{' waits' if waits else ''}: {one.text!r}"
            )
            self.counts["in review"] += waits and not kept
        is_trap = one.does == "none"
        self.counts["traps"] += is_trap
        for fact in new if is_trap else [fact for fact in new if fact not in right]:
            state = "invented" if fact.state == _USED else "offered"
            self.counts[state] += 1
            self.misses.append(f"{state}: {one.topic} {one.text!r} -> {fact.content!r}")

    def end(self, life: Life, now: Iterable[Held]) -> None:
        """What holds when all is told."""
        held = [fact.content for fact in now if fact.state == _USED]
        for one in life.said:
            is_over = not any(has(content, one.old) for content in held)
            is_new = any(has(content, one.value) for content in held)
            match one.does:
                case "replace":
                    self.note("superseded", "changes", done=is_over and is_new, about=f"{one.text!r}: {held}")
                case "correct":
                    self.note(
                        "corrected", "corrections", done=is_over and is_new, about=f"{one.text!r}: {held}"
                    )
                case "forget":
                    self.note("forgotten", "deletions", done=is_over, about=f"{one.text!r}: {held}")
                case _:
                    pass

    def ask(self, question: Question, found: Iterable[str]) -> list[int]:
        """Whether the answer is among what was found: its places."""
        right = [place for place, content in enumerate(found) if has(content, question.value)]
        self.note("recalled", "questions", done=bool(right), about=f"{question.text} {question.value}")
        return right


def lived_by_peer(life: Life, told: Told) -> Lived:
    """What became of a life in another memory, by what it reported."""
    lived, before = Lived(Counter({"failed": told.failed, "seconds": round(told.took_s)})), list[Held]()
    for one, step in zip(life.said, told.steps, strict=True):
        now = [Held(f"{id} {content}", content) for id, content in step.items()]
        lived.tell(one, before, now)
        before = now
    lived.end(life, before)
    for question, found in zip(life.questions, told.found, strict=True):
        if question.value:
            lived.ask(question, found)
    if told.fault:
        lived.misses.append(f"{told.name}: {told.failed} messages were refused, at last: {told.fault}")
    return lived


async def measure_life(
    settings: Settings,
    embeddings: Embeddings,
    count: int | None,
    *,
    parts: Collection[str] = (),
    peer_python: Path | None = None,
) -> list[dict[str, Any]]:
    """Rows, one a half and one a language of each half; of each memory.

    Raises:
        BadInput: there is no such part.
        EmbeddingsUnavailable: the embedding model is not there.
    """
    is_careful = _CAREFUL in parts
    wanted = _wanted(count or LIVES, {*parts} - {_CAREFUL})
    await embeddings.load()
    figures: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)

    def count_in(memory: str, life: Life, lived: Lived) -> None:
        if _half(life) == _LOOKED_AT and len(wanted) <= _SHOWN:
            named = f"{memory} {life.language} {life.seed}"
            print(*(f"{named}: {miss}" for miss in lived.misses), sep="\n", flush=True)
        for key in ((memory, _half(life), "all"), (memory, _half(life), life.language)):
            figures[key].update(lived.counts, lives=1)

    for life in wanted:
        started = time.perf_counter()
        lived = await lived_of(life, settings, embeddings, is_careful=is_careful)
        lived.counts["seconds"] += round(time.perf_counter() - started)
        count_in("Bethink", life, lived)
    if peer_python is not None:
        script = Script.of(wanted, is_careful=is_careful)
        for told_lives in await told_by_peers(
            peer_python, wanted, settings, script=script, embeddings=embeddings
        ):
            for life, told in zip(wanted, told_lives, strict=False):
                count_in(told.name, life, lived_by_peer(life, told))
    extractor = settings.model or ("a careful script" if is_careful else "the script")
    return [_row(key, extractor, of=figures[key]) for key in sorted(figures)]


def _wanted(count: int, parts: set[str]) -> list[Life]:
    known = (_LOOKED_AT, _HELD_OUT, _CAREFUL, *LANGUAGES)
    if unknown := sorted(parts - set(known)):
        raise BadInput(f"There is no part {unknown[0]!r} of life; there are {', '.join(known)}.")
    languages, halves = parts & set(LANGUAGES), parts - set(LANGUAGES)
    return [
        one
        for one in lives(count)
        if (not languages or one.language in languages) and (not halves or _half(one) in halves)
    ]


def _half(life: Life) -> str:
    return _HELD_OUT if life.is_held_out else _LOOKED_AT


async def lived_of(
    life: Life, settings: Settings, embeddings: Embeddings, *, is_careful: bool = False
) -> Lived:
    """A life, lived in an app of its own."""
    extractor = _Extractor({one.text: one for one in life.said}, is_careful)
    script, model = ScriptedLlm(extractor), connect_models(settings)
    llm = script if model is None else _OnlyExtracts(model, script)
    index, clock = MemoryIndex(), FakeClock()
    ports = Ports(MemoryStore(index), index, MemoryBus(), embeddings, llm, clock)
    lived = Lived()
    async with open_app(Settings(extraction="auto"), ports) as app:
        me = app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench")
        stage = _Stage(app, me, clock, (await app.conversations.create(me)).id)
        for one in life.said:
            await stage.tell(one, lived)
        lived.end(life, await stage.facts())
        clock.advance(_MONTHS_S)
        for question in life.questions:
            await stage.ask(question, extractor, lived)
    return lived


@dataclass(frozen=True, slots=True)
class _Stage:
    """The app of a life, and its conversation."""

    app: App
    me: Principal
    clock: FakeClock
    conversation: str

    async def tell(self, one: Said, lived: Lived) -> None:
        """Say it, and look what the memory made of it."""
        before = await self.facts()
        await self._say(self.conversation, one.text)
        lived.tell(one, before, await self.facts())

    async def ask(self, question: Question, extractor: _Extractor, lived: Lived) -> None:
        """Ask in a new conversation: whether the answer is found, and reaches the model."""
        found = await self.app.memory.search(self.me, question.text, k=_FOUND)
        answers = answering([score for _, score in found])
        if not question.value:
            lived.note("near misses told", "near misses", done=not answers, about=question.text)
            return
        await self._say((await self.app.conversations.create(self.me)).id, question.text)
        right = lived.ask(question, [fact.content for fact, _ in found])
        lived.counts["recalled in context"] += has(extractor.read, question.value)
        lived.counts["answers doubted"] += bool(right) and right[0] >= answers

    async def _say(self, conversation: str, text: str) -> None:
        self.clock.advance(60)
        run = await self.app.runs.start(self.me, conversation, text)
        async for _ in self.app.runs.follow(self.me, run):
            pass
        await self.app.post_turn.finished()

    async def facts(self) -> list[Held]:
        """What the memory holds now, or proposes."""
        facts = [one.record for one in (await self.app.memory.list(self.me, limit=200)).items]
        return [Held(one.id, one.content, one.state) for one in facts if one.state in (_USED, _WAITING)]


def _row(key: tuple[str, str, str], extractor: str, *, of: Counter[str]) -> dict[str, Any]:
    memory, half, language = key

    def share(done: str, among: str) -> float | None:
        return round(of[done] / of[among], 3) if of[among] and done in of else None

    return {
        "memory": memory,
        "half": half,
        "language": language,
        "lives": of["lives"],
        "kept": share("kept", "told"),
        "in_review": share("in review", "told"),
        "superseded": share("superseded", "changes"),
        "corrected": share("corrected", "corrections"),
        "forgotten": share("forgotten", "deletions"),
        "recalled": share("recalled", "questions"),
        "in_context": share("recalled in context", "questions"),
        "near_misses_told": share("near misses told", "near misses"),
        "answers_doubted": share("answers doubted", "questions"),
        "traps": of["traps"],
        "invented": of["invented"],
        "offered": of["offered"],
        "refused": of.get("failed"),
        "s_a_life": round(of["seconds"] / of["lives"], 1),
        "extractor": extractor,
    }
