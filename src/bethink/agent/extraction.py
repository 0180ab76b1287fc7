"""Facts that a finished turn tells, proposed by the model behind the answer's back.

`agent/post_turn` runs it. It reads what the owner said and what was
answered, never what was recalled or what tools returned, so that nothing known
comes back as news. What the model proposes must be in the owner's own words
(`provenance`), and passes the memory's one gate. What it did and cost is written
on the answer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import msgspec

from bethink.agent.answer import ModelAnswer
from bethink.conversations import CONVERSATIONS, MESSAGES, ChangedRef, charged, turn_of
from bethink.errors import BadInput, InvalidResponse, Refused
from bethink.llm import LlmRequest
from bethink.memory import CATEGORIES, NewFact, Source
from bethink.memory.compare import is_said, is_stated
from bethink.messages import UserMessage
from bethink.store import Put, retry_conflicts
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.agent.request import FinishedTurn
    from bethink.conversations import Conversations, StoredMessage
    from bethink.events import Usage
    from bethink.llm import Llm
    from bethink.memory import FactChange, Memory
    from bethink.principal import Principal
    from bethink.store import Versioned

Mode = Literal["off", "suggest", "store"]

_MOST_FACTS: Final = 5
_SAID_CHARS, _ANSWER_CHARS = 4_000, 2_000
"""How much of each is read: what people tell of themselves is short, what they paste is not."""
_OUTPUT_TOKENS: Final = 1_500
"""A third of it for the facts; a model that thinks first needs the rest."""
_LEAST_WINDOW: Final = 4_096
"""In tokens: the instructions, a message, its answer and the facts, for any tokenizer."""
_MOST_GARBAGE: Final = 3
_NEWS: Final = ("added", "superseded", "suggested")
"""Not what was known already, or was rejected before."""
_FENCE: Final = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)

_log = log("extraction")


class _Proposed(msgspec.Struct, frozen=True):
    content: Annotated[str, msgspec.Meta(min_length=3, max_length=300)]
    category: str = "general"
    importance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    topics: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=8)
    ] = ()


class _Found(msgspec.Struct, frozen=True):
    facts: tuple[_Proposed, ...]


_FACT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "category": {"type": "string", "enum": list(CATEGORIES)},
        "importance": {"type": "number"},
        "topics": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["content", "category", "importance", "topics"],
    "additionalProperties": False,
}
_FORMAT: Final[dict[str, Any]] = {
    "type": "json_schema",
    "json_schema": {
        "name": "facts",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"facts": {"type": "array", "items": _FACT}},
            "required": ["facts"],
            "additionalProperties": False,
        },
    },
}
"""Source: OpenAI's API reference, "Structured model outputs", the strict form."""


Forget = Callable[["Principal", "Sequence[str]"], Awaitable[object]]


@dataclass(slots=True)
class Extraction:
    """Looks for facts. `mode` says what becomes of one: nothing, a suggestion, a memory.

    `forget` removes facts for good, `on_usage` is told what each request cost,
    `on_written` of an owner whose answer was written anew. `off` says why nothing is looked for, if so.
    """

    mode: Mode
    llm: Llm | None
    memory: Memory
    conversations: Conversations
    prompt: str
    prices: Mapping[str, tuple[float, float]]
    forget: Forget
    on_usage: Callable[[Usage], None]
    on_written: Callable[[str], None]
    off: str | None = field(init=False)
    _garbage: int = 0
    _takes_schema: bool = True

    def __post_init__(self) -> None:
        self.off = _why_off(self.mode, self.llm)

    async def do(self, turn: FinishedTurn) -> None:
        """Look one turn through and keep what it tells.

        What was forgotten or deleted meanwhile is not kept.

        Raises:
            LlmError: the model did not answer, or answered with what are no facts.
            StorageError: the store cannot be used.
        """
        said, answered = await self._read(turn)
        if said is None or answered is None or self.llm is None:
            return
        proposed, usage = await self._ask(
            self.llm, said.record.message.content, answered.record.message.content
        )
        facts = [
            _fact(one, said.record, is_suggested=self.mode == "suggest")
            for one in proposed[:_MOST_FACTS]
            if _is_theirs(one.content, said.record, answered.record)
        ]
        with anyio.CancelScope(shield=True):
            changed = await self._keep(turn, facts, was=(said.version, answered.version))
            refs = [ChangedRef(change=one.change, ids=(one.fact.id,), undo=one.undo) for one in changed]
            await self._write(turn, refs, usage)
            self.on_written(turn.principal.owner)

    @retry_conflicts
    async def _write(self, turn: FinishedTurn, changed: Sequence[ChangedRef], usage: Usage) -> None:
        """Write on the answer what was done for it; nothing happens if it is gone."""
        _, found = await self._read(turn)
        if found is None:
            return
        was = found.record
        now = msgspec.structs.replace(was, changed=(*was.changed, *changed), usage=(*was.usage, usage))
        held = await self.conversations.get(turn.principal, now.conversation)
        put = Put(MESSAGES, now, if_version=found.version, index=turn_of(held.record, now))
        paid = Put(CONVERSATIONS, charged(held.record, [usage]), if_version=held.version)
        await self.conversations.store.commit(turn.principal.owner, [put, paid])

    async def _read(self, turn: FinishedTurn) -> Sequence[Versioned[StoredMessage] | None]:
        ids = (turn.said, turn.answered)
        return await self.conversations.store.get(MESSAGES, turn.principal.owner, ids)

    async def _keep(
        self, turn: FinishedTurn, facts: Sequence[NewFact], *, was: tuple[int, int]
    ) -> list[FactChange]:
        if not facts or not await self._is_unchanged(turn, was):
            return []
        changed: list[FactChange] = []
        for fact in facts:
            try:
                changed.append(await self.memory.add(turn.principal, fact))
            except BadInput as error:
                _log.info("a proposed fact is not kept: %s", error)
        news = [one for one in changed if one.change in _NEWS]
        if news and not await self._is_unchanged(turn, was):
            # The owner forgot something of this turn just now: nothing of it comes back.
            await self.forget(turn.principal, [one.fact.id for one in news])
            return []
        return news

    async def _is_unchanged(self, turn: FinishedTurn, was: tuple[int, int]) -> bool:
        return [found and found.version for found in await self._read(turn)] == list(was)

    async def _ask(self, llm: Llm, said: str, answered: str) -> tuple[tuple[_Proposed, ...], Usage]:
        read = {"message": said[:_SAID_CHARS], "answer": answered[:_ANSWER_CHARS]}
        request = LlmRequest(
            system=self.prompt,
            messages=(UserMessage(msgspec.json.encode(read).decode()),),
            max_output_tokens=_OUTPUT_TOKENS,
            response_format=_FORMAT if self._takes_schema else None,
        )
        try:
            answer = await self._answer(llm, request)
        except Refused:
            if request.response_format is None:
                raise
            answer = await self._answer(llm, replace(request, response_format=None))
            self._takes_schema = False
        usage = answer.usage(request.messages)
        self.on_usage(usage)
        return self._parsed(answer.message().content), usage

    async def _answer(self, llm: Llm, request: LlmRequest) -> ModelAnswer:
        answer = ModelAnswer(job="extraction", prices=self.prices)
        async with aclosing(llm.stream(request)) as deltas:
            async for delta in deltas:
                answer.take(delta)
        return answer

    def _parsed(self, text: str) -> tuple[_Proposed, ...]:
        fenced = _FENCE.fullmatch(text.strip())
        try:
            found = msgspec.json.decode(fenced[1] if fenced else text, type=_Found)
        except msgspec.DecodeError as error:
            self._garbage += 1
            if self._garbage >= _MOST_GARBAGE:
                self.off = (
                    f"Facts are not looked for any more: {_MOST_GARBAGE} times in a row the model answered"
                    " with what are no facts. Set a larger model and start again, or BETHINK_EXTRACTION=off."
                )
                _log.warning("%s", self.off)
            raise InvalidResponse(f"The model's answer holds no facts: {error}") from error
        self._garbage = 0
        return found.facts


def _is_theirs(content: str, said: StoredMessage, answered: StoredMessage) -> bool:
    """Whether the owner said it; word for word, where the answer may tell what came from outside."""
    text = said.message.content
    return is_said(content, text) and (not answered.untrusted or is_stated(content, [text]))


def _why_off(mode: Mode, llm: Llm | None) -> str | None:
    if mode == "off":
        return "Facts are not looked for in what you say; BETHINK_EXTRACTION=suggest has them proposed."
    if llm is None:
        return "Facts are not looked for in what you say: no model is set."
    if llm.context_tokens < _LEAST_WINDOW:
        return (
            f"Facts are not looked for in what you say: {llm.name} is too small for it, its window"
            f" holds {llm.context_tokens:,} tokens and {_LEAST_WINDOW:,} are needed."
        )
    return None


def _fact(proposed: _Proposed, said: StoredMessage, *, is_suggested: bool) -> NewFact:
    return NewFact(
        content=proposed.content,
        category=proposed.category if proposed.category in CATEGORIES else "general",
        importance=proposed.importance,
        topics=proposed.topics,
        source=Source(kind="conversation", id=said.conversation, message=said.id, at=said.at),
        suggested=is_suggested,
        at=said.at,
    )
