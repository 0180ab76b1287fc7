"""`bethink bench habits`: whether memory works without being asked for, with the model of BETHINK_MODEL.

A person tells things in passing (`habits.toml`), each in a conversation of its own, and asks for them four
months later; between, they say what is no reason to remember, look up or forget anything. What counts is
what the product does, by the model's own calls of tools or by its own means: learning after the turn and
recall before it. `by_tools` is the share that the model did itself. Source: spec 002's testing.md, which
wants more than 0.8 stored and more than 0.9 searched.
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bethink.app import open_app
from bethink.clock import FakeClock
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.errors import BadInput
from bethink.events import RunDone, TextDelta, ToolFinished
from bethink.llm import LlmWrapper
from bethink.llm.models import connect_models
from bethink.ports import Ports
from bethink.principal import LOCAL_OWNER

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from bethink.app import App
    from bethink.embeddings import Embeddings
    from bethink.events import Event
    from bethink.llm import Delta, Llm, LlmRequest
    from bethink.principal import Principal
    from bethink.settings import Settings

_MONTHS_S: Final = 120 * 86_400
_FOR_LEARNING: Final = ("You read messages", "Tell again")
_MEMORY_TOOLS: Final = frozenset(("store_memory", "search_memory", "delete_all_memories"))


class _Reader(LlmWrapper):
    """A model, and what it was last given to answer."""

    read: str = ""

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta]:
        """See `Llm.stream`."""
        if not request.system.startswith(_FOR_LEARNING):
            self.read = "\n".join(message.content for message in request.messages)
        async with aclosing(self._inner.stream(request)) as deltas:
            async for delta in deltas:
                yield delta


async def measure_habits(
    settings: Settings, embeddings: Embeddings, parts: Collection[str] = ()
) -> list[dict[str, Any]]:
    """A row for each language; none if no model is set.

    Raises:
        BadInput: there is no such part.
        EmbeddingsUnavailable: the embedding model is not there.
    """
    cases = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    if unknown := sorted({*parts} - {*cases}):
        raise BadInput(f"There is no part {unknown[0]!r} of habits; there are {', '.join(cases)}.")
    await embeddings.load()
    rows: list[dict[str, Any]] = []
    for language in parts or cases:
        if (model := connect_models(settings)) is None:
            print("habits: set BETHINK_MODEL to measure a model", flush=True)
            break
        with TemporaryDirectory(prefix="bethink-habits-") as home:
            own = settings.model_copy(update={"extraction": "auto", "data_dir": Path(home)})
            row = await _measured(cases[language], own, model=model, embeddings=embeddings)
        rows.append({"language": language} | row)
    return rows


async def _measured(
    cases: Mapping[str, Any], settings: Settings, *, model: Llm, embeddings: Embeddings
) -> dict[str, Any]:
    reader, index, clock = _Reader(model), MemoryIndex(), FakeClock()
    ports = Ports(MemoryStore(index), index, MemoryBus(), embeddings, reader, clock)
    started = time.perf_counter()
    told: Sequence[Sequence[str]] = cases["told"]
    async with open_app(settings, ports) as app:
        stage = _Stage(app, app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench"), clock, reader)
        for said, value, _ in told:
            await stage.tell(said, value)
        for said in cases["nothing"]:
            await stage.idle(said)
        clock.advance(_MONTHS_S)
        for _, value, question in told:
            await stage.ask(question, value)
        off = app.extraction.off
    await model.close()
    of, took = stage.counts, time.perf_counter() - started
    turns = 2 * len(told) + len(cases["nothing"])
    return {
        "stored": round(of["stored"] / len(told), 2),
        "in_review": round(of["in review"] / len(told), 2),
        "searched": round(of["searched"] / len(told), 2),
        "by_tools": f"{of['stored by tools'] / len(told):.2f}, {of['searched by tools'] / len(told):.2f}",
        "answered": round(of["answered"] / len(told), 2),
        "did_nothing": f"{of['idle']} of {len(cases['nothing'])}",
        "failed": of["failed"],
        "s_a_turn": round(took / turns, 1),
        "model": settings.model,
        "learning": "ended" if off else "on",
    }


@dataclass(frozen=True, slots=True)
class _Stage:
    """The app of a model, and what it did."""

    app: App
    me: Principal
    clock: FakeClock
    reader: _Reader
    counts: Counter[str] = field(default_factory=Counter[str])

    async def tell(self, said: str, value: str) -> None:
        """Say something, and look whether it is kept."""
        known = {*await self._facts("active"), *await self._facts("suggested")}
        called = _calls(await self._say(said))
        kept = [fact for fact in await self._facts("active") if fact not in known]
        is_kept = _has(kept, value)
        self.counts["stored"] += is_kept
        self.counts["stored by tools"] += is_kept and "store_memory" in called
        self.counts["in review"] += not is_kept and _has(await self._facts("suggested"), value)
        if not is_kept:
            print(f"not stored: {said!r}; new: {kept}", flush=True)

    async def idle(self, said: str) -> None:
        """Say what is no reason to do anything, and look whether nothing is done."""
        before = [await self._facts(state) for state in ("active", "suggested")]
        called = _calls(await self._say(said))
        is_same = before == [await self._facts(state) for state in ("active", "suggested")]
        self.counts["idle"] += is_same and not called
        if called or not is_same:
            print(f"did something: {said!r}; called: {sorted(called)}", flush=True)

    async def ask(self, question: str, value: str) -> None:
        """Ask in a new conversation: whether the answer reaches the model, and is given."""
        events = await self._say(question)
        is_told = _has([self.reader.read], value)
        found = any(
            event.name == "search_memory" and _has([event.text], value) for event in _finished(events)
        )
        answer = "".join(event.text for event in events if isinstance(event, TextDelta))
        self.counts["searched"] += is_told or found
        self.counts["searched by tools"] += "search_memory" in _calls(events)
        self.counts["answered"] += _has([answer], value)
        if not (is_told or found):
            print(f"not found: {question!r} {value!r}", flush=True)

    async def _say(self, text: str) -> list[Event]:
        self.clock.advance(60)
        conversation = await self.app.conversations.create(self.me)
        run = await self.app.runs.start(self.me, conversation.id, text)
        events = [one.event async for batch in self.app.runs.follow(self.me, run) for one in batch]
        await self.app.post_turn.finished()
        self.counts["failed"] += any(
            isinstance(event, RunDone) and event.reason in {"failed", "interrupted"} for event in events
        )
        return events

    async def _facts(self, state: str) -> list[str]:
        page = await self.app.memory.list(self.me, where={"state": state}, limit=200)
        return [one.record.content for one in page.items]


def _finished(events: Sequence[Event]) -> list[ToolFinished]:
    return [event for event in events if isinstance(event, ToolFinished) and event.error is None]


def _calls(events: Sequence[Event]) -> set[str]:
    return {event.name for event in _finished(events)} & _MEMORY_TOOLS


def _has(texts: Sequence[str], value: str) -> bool:
    return any(value.casefold() in text.casefold() for text in texts)
