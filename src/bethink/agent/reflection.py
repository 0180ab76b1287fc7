"""When memory is put in order as a whole, and what the model judges of it; `reflection/service` keeps it.

At night, in the owner's time, if facts were changed since; or when they ask. It has the lowest priority: it
stops as soon as its owner says something, and goes on behind that. A model is believed only if it is right
about pairs whose answer is known, and says the same of a pair in both orders; of what it writes, what the
facts that it names bear out. Without a model the part that needs none is done. Nothing is written before the
end, and then all of it at once: what is killed on the way has done nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from zoneinfo import ZoneInfo

import anyio
import msgspec
from anyio.to_thread import run_sync

from bethink.agent.completion import ModelAnswer, answer_to
from bethink.agent.proposals import objects_in
from bethink.agent.request import prices_of
from bethink.clock import to_datetime
from bethink.errors import BethinkError, Busy, Refused
from bethink.llm import Llm, LlmRequest
from bethink.memory import FACTS, Fact, NewFact, Source
from bethink.messages import UserMessage, tokens_in
from bethink.reflection.grounding import cited_of, is_shown, is_told, told_in
from bethink.reflection.pairs import FactPair, may_contradict
from bethink.reflection.records import ProfileSentence, Reflection
from bethink.reflection.service import MOST_SENTENCES, MemoryView, ReflectionPlan, Reflections
from bethink.store import owners_of
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bethink.agent.post_turn import PostTurnQueue
    from bethink.bus import Bus
    from bethink.events import Usage
    from bethink.llm.models import OfferedModels
    from bethink.principal import OnBehalfOf, Principal
    from bethink.settings import Settings

_PAIRS_AT_ONCE: Final = 10
_MOST_PAIRS: Final = 200
"""Of one time; what is left is looked at the next night."""
_NOT_BELIEVED: Final = 2
"""After so many answers in a row that are wrong about known pairs no more are asked for."""
_OUTPUT_TOKENS: Final = 1_500
_READ_FACTS: Final = 60
_READ_CHARS: Final = 300
_LEAST_FACTS: Final = 3
"""Fewer make no profile."""
_MOST_INSIGHTS: Final = 3
_INSIGHT_IMPORTANCE: Final = 0.5
_FIRST_S: Final = 120.0
_LOOK_S: Final = 900.0
_NIGHT_HOURS: Final = 4
"""So long it may begin late; where a machine is off at night it is done after a day and a half, by day."""
_OVERDUE_US: Final = 36 * 3_600_000_000
_LEASE_S: Final = 7_200.0
_KNOWN: Final = (
    ("The user works as a nurse", "The user is employed as a nurse", "same"),
    ("The user likes red wine", "The user likes white wine", "different"),
    ("The user enjoys going for a swim", "The user likes to go swimming", "same"),
    ("The user is allergic to nuts", "The user visited Peru in 2019", "different"),
    ("The user owns a bicycle", "A bicycle belongs to the user", "same"),
    ("The user's dentist is Dr. Ito", "The user's dentist moved to the second floor", "different"),
)
"""Pairs whose answer is known: one of each kind stands among those of each request."""
_PART: Final = 2
_UNBELIEVED: Final = (
    "The model was wrong about pairs whose answer is known, so none of its judgements was used."
)
_BUSY: Final = "This memory is being put in order already."
_NO_MODEL: Final = "No model is set: what needs a model's judgement was left."
_NO_TOKENS: Final = "The tokens of one time were used up: the rest is looked at the next time."
_log = log("reflection")


def _format(name: str, **lists: dict[str, Any]) -> dict[str, Any]:
    """Of an answer that is an object of lists. Source: OpenAI's API reference, "Structured model outputs"."""

    def listed(fields: dict[str, Any]) -> dict[str, Any]:
        entry = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
        return {"type": "array", "items": entry}

    properties = {key: listed(fields) for key, fields in lists.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


_TOLD: Final[dict[str, Any]] = {
    "text": {"type": "string"},
    "from": {"type": "array", "items": {"type": "string"}},
}
_PAIRS_FORMAT: Final = _format(
    "pairs",
    pairs={
        "pair": {"type": "integer"},
        "is": {"type": "string", "enum": ["same", "different", "contradicts"]},
    },
)
_PROFILE_FORMAT: Final = _format("profile", sentences=_TOLD, insights=_TOLD)

Stage = Literal["waiting", "reading", "comparing", "writing", "keeping"]


@dataclass(frozen=True, slots=True)
class ReflectionProgress:
    """How far it is: of the `total` pairs, so many are compared."""

    stage: Stage
    done: int = 0
    total: int = 0


class _UsedUp(Exception):
    """The tokens of this time are used up."""


@dataclass(slots=True)
class _Asking:
    """The requests of one time, within their bound, while the owner is silent."""

    llm: Llm
    settings: Settings
    plan: ReflectionPlan
    queue: PostTurnQueue
    on_usage: Callable[[Usage], None]
    takes_format: bool = True

    async def answer(self, system: str, data: object, wanted: dict[str, Any]) -> list[Any]:
        """The JSON of the model's answer.

        Raises:
            _UsedUp: there are not enough tokens left.
            LlmError: the model did not answer.
        """
        text = msgspec.json.encode(data).decode()
        asked = LlmRequest(system=system, messages=(UserMessage(text),), max_output_tokens=_OUTPUT_TOKENS)
        least = tokens_in(system) + tokens_in(text) + _OUTPUT_TOKENS // _PART
        if self.plan.tokens + least > self.settings.reflection_tokens:
            raise _UsedUp
        ask = partial(self._answer, asked, wanted)
        answer = await self.queue.in_silence(self.plan.view.principal.owner, ask)
        usage = answer.usage(asked.messages)
        self.plan.tokens += usage.input_tokens + usage.output_tokens
        self.on_usage(usage)
        return [*objects_in(answer.message().content)]

    async def _answer(self, asked: LlmRequest, wanted: dict[str, Any]) -> ModelAnswer:
        ask = partial(answer_to, self.llm, job="reflection", prices=prices_of(self.settings))
        if self.takes_format:
            try:
                return await ask(replace(asked, response_format=wanted))
            except Refused:
                self.takes_format = False
        return await ask(asked)


@dataclass(slots=True)
class ReflectionRuns:
    """Puts the memories of all owners in order, as its `settings` say; `running` tells of this process."""

    settings: Settings
    models: OfferedModels
    reflections: Reflections
    queue: PostTurnQueue
    bus: Bus
    acting: OnBehalfOf
    prompts: tuple[str, str]
    on_usage: Callable[[Usage], None]
    on_written: Callable[[str], None]
    running: dict[str, ReflectionProgress] = field(default_factory=dict[str, ReflectionProgress])
    faults: dict[str, str] = field(default_factory=dict[str, str])
    """Why the last time of an owner came to nothing, as a sentence."""
    _tasks: TaskGroup | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[ReflectionRuns]:
        """What is started goes on inside."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def start(self, owner: str) -> None:
        """Begin, unless it is under way; `running` tells how far it is, and the receipts what came of it."""
        if owner not in self.running and self._tasks is not None:
            self.running[owner] = ReflectionProgress("waiting")
            self._tasks.start_soon(self._guarded, owner)

    async def _guarded(self, owner: str) -> None:
        del self.running[owner]
        with recorded(_log, "the memory could not be put in order"):
            try:
                await self.run(owner, asked=True)
            except BethinkError as error:
                self.faults[owner] = f"Nothing was changed: {error}"
                _log.warning("the memory was not put in order: %s", error)

    async def run(self, owner: str, *, asked: bool, day: str = "", profile_only: bool = False) -> Reflection:
        """Put an owner's memory in order now; the receipt.

        Raises:
            Busy: it is being put in order already.
            BethinkError: nothing was changed.
        """
        lease = f"reflection:{owner}"
        if owner in self.running:
            raise Busy(_BUSY)
        self.running[owner] = ReflectionProgress("reading")
        self.faults.pop(owner, None)
        try:
            if not await self.bus.claim(lease, _LEASE_S):
                raise Busy(_BUSY)
            view = await self.reflections.view(self._principal(owner))
            propose = self.settings.reflection == "suggest"
            plan = ReflectionPlan(view, asked=asked, propose=propose, day=day)
            if profile_only:
                view.pairs.same.clear()
                view.pairs.contradicting.clear()
                view.pairs.open.clear()
            await self._think(plan)
            self.running[owner] = ReflectionProgress("keeping")
            kept = await self.reflections.keep(plan)
            self.on_written(owner)
            return kept
        finally:
            self.running.pop(owner, None)
            with anyio.CancelScope(shield=True):
                await self.bus.release(lease)

    def _principal(self, owner: str) -> Principal:
        """Who sees what an agent of the owner's own page may see: the model is told no more."""
        return self.acting(owner, audience="web").reading()

    async def _think(self, plan: ReflectionPlan) -> None:
        """What the model says of it; if it says nothing, the rest is done all the same."""
        try:
            llm = (
                await self.models.find(self.settings.extraction_model)
                if self.settings.extraction_model
                else self.models.usual
            )
            if llm is None:
                plan.note = _NO_MODEL
                return
            plan.model = llm.name
            asking = _Asking(llm, self.settings, plan, self.queue, self.on_usage)
            if await self._compare(asking):
                await self._write(asking)
            else:
                plan.note = _UNBELIEVED
        except _UsedUp:
            plan.note = _NO_TOKENS
        except BethinkError as error:
            plan.note = f"The model did not answer: {error}"

    # --- comparing

    async def _compare(self, asking: _Asking) -> bool:
        """Have the open pairs judged; whether the model can be believed."""
        plan, owner = asking.plan, asking.plan.view.principal.owner
        pairs, unbelieved = plan.view.pairs.open[:_MOST_PAIRS], 0
        plan.waiting = len(plan.view.pairs.open)
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            self.running[owner] = ReflectionProgress("comparing", start, len(pairs))
            some = pairs[start : start + _PAIRS_AT_ONCE]
            verdicts = await self._verdicts(asking, some, turn=start)
            if verdicts is None:
                unbelieved += 1
                if unbelieved >= _NOT_BELIEVED:
                    return False
                continue
            unbelieved = 0
            telling = [pair for pair in some if verdicts.get(pair.key, "different") != "different"]
            again = await self._verdicts(asking, telling, turn=start + 1, is_swapped=True) if telling else {}
            # The words that are looked for are read on first use.
            await run_sync(partial(_take_in, plan, some, verdicts, again=again or {}))
        return not unbelieved

    async def _verdicts(
        self, asking: _Asking, pairs: Sequence[FactPair], *, turn: int, is_swapped: bool = False
    ) -> dict[str, str] | None:
        """What the model says of pairs, by their keys; None if it is wrong about those that are known."""
        half = len(_KNOWN) // _PART
        known = [_KNOWN[2 * (turn % half)], _KNOWN[2 * ((turn + 1) % half) + 1]]
        rows = [(pair.one.content, pair.other.content, pair.key, "") for pair in pairs]
        rows += [(one, other, one, expected) for one, other, expected in known]
        # Nothing tells those that are known by where they stand.
        rows.sort(key=lambda row: hashlib.blake2b(f"{turn} {row[2]}".encode()).digest())
        data = [
            {
                "pair": place,
                "a": (other if is_swapped else one)[:_READ_CHARS],
                "b": (one if is_swapped else other)[:_READ_CHARS],
            }
            for place, (one, other, _, _) in enumerate(rows, 1)
        ]
        said = _verdicts_in(await asking.answer(self.prompts[0], {"pairs": data}, _PAIRS_FORMAT))
        if any(expected and said.get(place) != expected for place, (*_, expected) in enumerate(rows, 1)):
            asking.plan.refused["answers"] += 1
            return None
        return {
            key: said[place]
            for place, (_, _, key, expected) in enumerate(rows, 1)
            if not expected and place in said
        }

    # --- writing

    async def _write(self, asking: _Asking) -> None:
        """Have a profile written, and insights."""
        plan = asking.plan
        self.running[plan.view.principal.owner] = ReflectionProgress("writing")
        facts = _worth_telling(plan)
        if len(facts) < _LEAST_FACTS or not await self._is_wanted(plan.view):
            return
        labels = {f"n{place}": fact for place, fact in enumerate(facts, 1)}
        data = [
            {"id": label, "note": fact.content[:_READ_CHARS], "about": fact.about}
            for label, fact in labels.items()
        ]
        plan.read = {fact.id for fact in facts}
        found = await asking.answer(self.prompts[1], {"notes": data}, _PROFILE_FORMAT)
        answer = next((cast("dict[str, Any]", raw) for raw in found if isinstance(raw, dict)), None)
        if answer is None:
            plan.refused["answers"] += 1
            return
        await run_sync(_take_in_told, plan, answer, labels)

    async def _is_wanted(self, view: MemoryView) -> bool:
        """Whether there is no profile of these very facts."""
        owner = view.principal.owner
        if await self.reflections.is_changed(owner, view.state.record):
            return True
        profile = await self.reflections.profile(view.principal)
        return profile is None or profile.lost > 0

    # --- at night

    async def keep_up(self, *, first_s: float = _FIRST_S) -> None:
        """Look for ever whose memory is due."""
        await anyio.sleep(first_s)
        while True:
            try:
                await self.do_due()
            except BethinkError as error:
                _log.error("not everybody's memory was put in order: %s", error)
            await anyio.sleep(_LOOK_S)

    async def do_due(self) -> None:
        """Put in order what is due, one owner after the other.

        Raises:
            StorageError: it cannot be said who they are.
        """
        if self.settings.reflection == "off":
            return
        async for owner in owners_of(self.reflections.store, FACTS):
            with recorded(_log, "the memory was not put in order"):
                try:
                    await self._do_due(owner)
                except BethinkError as error:
                    _log.warning("the memory was not put in order: %s", error)

    async def _do_due(self, owner: str) -> None:
        found = await self.reflections.state(owner)
        state = found.record if found else None
        if not await self.reflections.is_changed(owner, state):
            return
        principal, now = self._principal(owner), self.reflections.clock.now_us()
        here = to_datetime(now).astimezone(ZoneInfo(principal.time_zone))
        night = here - timedelta(hours=self.settings.reflection_hour)
        day = night.date().isoformat()
        is_night = night.hour < _NIGHT_HOURS and (state is None or state.day != day)
        if is_night or (state is not None and now - state.at > _OVERDUE_US):
            await self.run(owner, asked=False, day=day)
            return
        profile = await self.reflections.profile(principal)
        if profile is not None and profile.lost and self.models.usual is not None:
            # What it was told from is gone or was corrected.
            await self.run(owner, asked=False, profile_only=True)


def _take_in(
    plan: ReflectionPlan, pairs: Sequence[FactPair], verdicts: Mapping[str, str], *, again: Mapping[str, str]
) -> None:
    """Take in what was said of pairs in both orders; what was not said twice counts as `different`."""
    for pair in [one for one in pairs if one.key in verdicts]:
        plan.waiting -= 1
        verdict = verdicts[pair.key]
        is_said_twice = again.get(pair.key) == verdict
        if verdict != "different" and not (is_said_twice and (verdict == "same" or may_contradict(pair))):
            plan.refused["merges"] += 1
            verdict = "different"
        plan.judged(pair, verdict)


def _take_in_told(plan: ReflectionPlan, answer: object, labels: Mapping[str, Fact]) -> None:
    """Take in what a model wrote of facts, as far as those that it names bear it out."""
    for told in told_in(answer, "sentences")[:MOST_SENTENCES]:
        cited = cited_of(told, labels)
        if cited is not None and is_told(told[0], cited):
            plan.profile.append(ProfileSentence(text=told[0], facts=tuple(fact.id for fact in cited)))
        else:
            plan.refused["sentences"] += 1
    for told in told_in(answer, "insights")[:_MOST_INSIGHTS]:
        cited = cited_of(told, labels)
        if cited is not None and is_shown(told[0], cited):
            plan.insights.append(_insight(told[0], cited))
        else:
            plan.refused["insights"] += 1


def _worth_telling(plan: ReflectionPlan) -> list[Fact]:
    """The facts that a profile is made of, those that matter most first."""
    gone = {pair.gone.id for pair in plan.bounded()} if not plan.propose else set[str]()
    facts = [fact for fact in plan.view.records if fact.id not in gone and not fact.doubts]
    facts.sort(key=lambda fact: (-fact.weight, fact.category, -fact.created_at))
    return facts[:_READ_FACTS]


def _insight(text: str, cited: Sequence[Fact]) -> NewFact:
    projects = {fact.project for fact in cited}
    return NewFact(
        text,
        category="general",
        importance=_INSIGHT_IMPORTANCE,
        source=Source(kind="tool", id="reflection"),
        project=projects.pop() if len(projects) == 1 else None,
        depends_on=tuple(fact.id for fact in cited),
        suggested=True,
    )


def _verdicts_in(found: Sequence[Any]) -> dict[int, str]:
    """What an answer says of each pair, by its number; those of which it says nothing known are left out."""
    said: dict[int, str] = {}
    for raw in found:
        entries: Any = cast("dict[str, Any]", raw).get("pairs") if isinstance(raw, dict) else raw
        for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
            if not isinstance(entry, dict):
                continue
            held = cast("dict[str, Any]", entry)
            place, verdict = held.get("pair"), held.get("is")
            if isinstance(place, int) and verdict in {"same", "different", "contradicts"}:
                said.setdefault(place, verdict)
    return said
