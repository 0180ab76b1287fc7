"""`bethink bench life`: what is kept of invented lives (`lives`), told in talk, in ten languages.

Without a model a script plays the extractor: it finds all that is told, and believes all the rest as
well; so the figures are the upper bound of the plumbing. With BETHINK_MODEL that model extracts, while the
answers stay a script's, and is named in the rows. `--owners` says how many lives, `--parts` which languages
and which half (`looked-at`, `held-out`). What went wrong is printed of few lives, and of none held out.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

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
from bethink.recall.answerable import answering
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from benchmarks.lives import Life, Question, Said
    from bethink.app import App
    from bethink.embeddings import Embeddings
    from bethink.llm import Delta, Llm, LlmRequest
    from bethink.memory import Fact
    from bethink.principal import Principal

_LOOKED_AT, _HELD_OUT = "looked-at", "held-out"
_MONTHS_S: Final = 120 * 86_400
_FOUND: Final = 5
_USED, _WAITING = "active", "suggested"
_SHOWN: Final = 40
"""With more lives than this, what went wrong is not printed."""


@dataclass(slots=True)
class _Extractor:
    """Proposes for each message what its life says of it, traps included: it believes everything."""

    said: Mapping[str, Said] = field(default_factory=dict[str, "Said"])
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


async def measure_life(
    settings: Settings,
    embeddings: Embeddings,
    count: int | None,
    *,
    parts: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Rows, one a half and one a language of each half.

    Raises:
        BadInput: there is no such part.
        EmbeddingsUnavailable: the embedding model is not there.
    """
    known = (_LOOKED_AT, _HELD_OUT, *LANGUAGES)
    if unknown := sorted(set(parts) - set(known)):
        raise BadInput(f"There is no part {unknown[0]!r} of life; there are {', '.join(known)}.")
    await embeddings.load()
    wanted = lives(count or LIVES)
    if languages := set(parts) & set(LANGUAGES):
        wanted = [one for one in wanted if one.language in languages]
    if halves := set(parts) - set(LANGUAGES):
        wanted = [one for one in wanted if _half(one) in halves]
    figures: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for life in wanted:
        lived = await lived_of(life, settings, embeddings)
        if _half(life) == _LOOKED_AT and len(wanted) <= _SHOWN:
            print(*(f"{life.language} {life.seed}: {miss}" for miss in lived.misses), sep="\n", flush=True)
        for key in ((_half(life), "all"), (_half(life), life.language)):
            figures[key] += lived.counts + Counter(lives=1)
    extractor = settings.model or "the script"
    return [_row(half, language, extractor, of=figures[half, language]) for half, language in sorted(figures)]


def _half(life: Life) -> str:
    return _HELD_OUT if life.is_held_out else _LOOKED_AT


async def lived_of(life: Life, settings: Settings, embeddings: Embeddings) -> Lived:
    """A life, lived in an app of its own."""
    extractor = _Extractor({one.text: one for one in life.said})
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
        await stage.end_of(life, lived)
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
        before = {fact.id for fact in await self._facts()}
        await self._say(self.conversation, one.text)
        new = [fact for fact in await self._facts() if fact.id not in before]
        right = [fact for fact in new if has(fact.content, one.value)]
        if one.does == "add":
            kept = any(fact.state == _USED for fact in await self._facts() if has(fact.content, one.value))
            waits = any(fact.state == _WAITING for fact in right)
            lived.note(
                "kept", "told", done=kept, about=f"{one.topic}{' waits' if waits else ''}: {one.text!r}"
            )
            lived.counts["in review"] += waits and not kept
        is_trap = one.does == "none"
        made_up = [fact for fact in new if is_trap or fact not in right]
        lived.counts["traps"] += is_trap
        for fact in made_up:
            state = "invented" if fact.state == _USED else "offered"
            lived.counts[state] += 1
            lived.misses.append(f"{state}: {one.topic} {one.text!r} -> {fact.content!r}")

    async def end_of(self, life: Life, lived: Lived) -> None:
        """What holds when all is told."""
        held = [fact.content for fact in await self._facts(_USED)]
        for one in life.said:
            is_over = not any(has(content, one.old) for content in held)
            is_new = any(has(content, one.value) for content in held)
            match one.does:
                case "replace":
                    lived.note(
                        "superseded", "changes", done=is_over and is_new, about=f"{one.text!r}: {held}"
                    )
                case "correct":
                    lived.note(
                        "corrected", "corrections", done=is_over and is_new, about=f"{one.text!r}: {held}"
                    )
                case "forget":
                    lived.note("forgotten", "deletions", done=is_over, about=f"{one.text!r}: {held}")
                case _:
                    pass

    async def ask(self, question: Question, extractor: _Extractor, lived: Lived) -> None:
        """Ask in a new conversation: whether the answer is found, and reaches the model."""
        found = await self.app.memory.search(self.me, question.text, k=_FOUND)
        answers = answering([score for _, score in found])
        if not question.value:
            lived.note("near misses told", "near misses", done=not answers, about=question.text)
            return
        await self._say((await self.app.conversations.create(self.me)).id, question.text)
        right = [place for place, (fact, _) in enumerate(found) if has(fact.content, question.value)]
        lived.note("recalled", "questions", done=bool(right), about=f"{question.text} {question.value}")
        lived.counts["recalled in context"] += has(extractor.read, question.value)
        lived.counts["answers doubted"] += bool(right) and right[0] >= answers

    async def _say(self, conversation: str, text: str) -> None:
        self.clock.advance(60)
        run = await self.app.runs.start(self.me, conversation, text)
        async for _ in self.app.runs.follow(self.me, run):
            pass
        await self.app.post_turn.finished()

    async def _facts(self, *states: str) -> Sequence[Fact]:
        page = await self.app.memory.list(self.me, limit=200)
        return [one.record for one in page.items if one.record.state in (states or (_USED, _WAITING))]


def _row(half: str, language: str, extractor: str, *, of: Counter[str]) -> dict[str, Any]:
    def share(done: str, among: str) -> float | None:
        return round(of[done] / of[among], 3) if of[among] else None

    return {
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
        "extractor": extractor,
    }
