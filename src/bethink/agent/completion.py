"""One question to a model: what is asked fits its window, what it answers is streamed and gathered.

`agent/loop` asks at each step, and once more when a bound has ended the calls.

`agent/context` and the memory tools give each memory a short label (`[m1]`). An answer's marks are taken
out of the text while it streams, so that no door shows one and no later turn reads labels that meant other
memories; the place of each is kept beside the text.

A summary of the earlier part of a long conversation is kept beside the messages that it covers, as a
message of a branch that no line shows (`SUMMARIES`): the originals stay where they are, and what forgets or
deletes messages reaches it. It holds for every line that begins with what it covers: an edit behind that
point goes on with it, one before it does not. The next is made of the last one and what came since.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.agent.client_tools import ANY
from bethink.agent.context import NO_IMAGES, Context, collect_images, summary_block, with_summary
from bethink.agent.request import Labels, MessagePlace, RunRequest, prices_of
from bethink.agent.tool_selection import NO_TOOLS, ToolOffer
from bethink.conversations.records import MESSAGES, SUMMARIES, StoredMessage
from bethink.errors import Conflict, ContextTooLong, InvalidResponse, LlmError
from bethink.events import (
    Event,
    Mark,
    MemoryUsed,
    ReasoningDelta,
    StopReason,
    TextDelta,
    TextSoFar,
    Usage,
    Warned,
)
from bethink.llm import Delta, Finish, Llm, LlmRequest, ToolCallDelta
from bethink.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
    tokens_in,
    tokens_of,
)
from bethink.store import Put

if TYPE_CHECKING:
    from bethink.agent.recorder import Recorder
    from bethink.agent.toolbox import Toolbox
    from bethink.files import Files
    from bethink.settings import Settings


_OUTPUT_TOKENS, _OUTPUT_SHARE = 900, 1 / 4
"""Of one answer with a summary, and of the window: a model that thinks first needs more than the summary."""
_WORDS_PER_TOKEN: Final = 4 / 9
_LEAST_READ: Final = 200
"""Tokens of messages, and twice those of a summary: with less room the history is trimmed instead."""
_READ_SHARE: Final = 0.75
"""Of the model's window, what one request for a summary takes: the rest is for counting otherwise."""
_KEPT_SHARE, _SUMMARY_SHARE = 0.5, 0.3
"""Of the room for history, what stays word for word, and the summary: so it is done every so many turns."""
_MOST_REQUESTS, SUMMARISED_WINDOWS = 8, 4
"""Made at once for one summary, and what they read at most, in windows of the model."""
_REPEATED_CHARS: Final = 160
"""Longer than what proposals of one shape have in common."""
_REPEATS: Final = 4
_TIMEOUT_S: Final = 120
_MOST_OF_ONE: Final = 8_000
"""Characters of one message that are read for it; a paste is not retold in full."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """Makes them as the settings want it. `flush` has facts looked for first in what waits for it."""

    settings: Settings
    prompt: str
    flush: Callable[[str], Awaitable[None]]

    async def condense(self, llm: Llm, request: RunRequest, room: int) -> AsyncGenerator[Event, None]:
        """Put a summary in place of the oldest part if the history exceeds its `room`; tell what it cost.

        What fails is told as a warning, and the history is trimmed instead.
        """
        room = min(room, int(self.settings.summary_share * llm.context_tokens))
        most = int(room * _SUMMARY_SHARE)
        prompt = self.prompt.format(words=int(min(most, _OUTPUT_TOKENS) * _WORDS_PER_TOKEN))
        written = min(_OUTPUT_TOKENS, int(llm.context_tokens * _OUTPUT_SHARE))
        read = int(llm.context_tokens * _READ_SHARE) - tokens_in(prompt) - written - min(most, written)
        has_room = min(read, 2 * most) >= _LEAST_READ
        if not self.settings.summaries or not has_room or (cut := self._cut(request, room)) == 0:
            return
        parts = _parts(request.messages[:cut], read)
        text, usage, reason = request.summary, list[Usage](), ""
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await self.flush(request.principal.owner)
                for part in parts[-_MOST_REQUESTS:]:
                    said = UserMessage(msgspec.json.encode({"summary": text, "messages": part}).decode())
                    asked = LlmRequest(system=prompt, messages=(said,), max_output_tokens=written)
                    answer = await answer_to(llm, asked, job="summary", prices=prices_of(self.settings))
                    usage.append(answer.usage(asked.messages))
                    text = _within(answer.message().content.strip(), most)
                    if not text or _repeats_itself(answer.text):
                        raise InvalidResponse("the model answered with nothing, or repeated itself")
        except (LlmError, TimeoutError) as error:
            reason = str(error) or "it took too long"
        for used in usage:
            yield used
        if reason:
            told = f"The earlier part of this conversation is not summarised: {reason}"
            yield Warned(part="summary", message=told)
            return
        if len(parts) > _MOST_REQUESTS or not request.is_whole:
            yield Warned(part="summary", message=_NOT_ALL)
        await request.condense(cut, text)

    def _cut(self, request: RunRequest, room: int) -> int:
        """How many of the history's messages are to be summarised: whole turns."""
        messages = request.messages
        sizes = [tokens_of(message) for message in messages]
        least = len(messages)
        if sum(sizes) + tokens_in(request.summary) > room:
            least = _fitting(sizes, room * _KEPT_SHARE)
        elif (most := self.settings.summary_after_messages) is not None and len(messages) > most:
            least = len(messages) - self.settings.summary_keep_messages
        else:
            return 0
        starts = [place for place, one in enumerate(messages) if isinstance(one, UserMessage)]
        return max((place for place in starts if place <= min(least, len(request.places))), default=0)


def _within(text: str, tokens: int) -> str:
    """The text up to the last sentence that fits into so many tokens."""
    kept = text.encode(errors="replace")[: tokens * 3].decode(errors="ignore")
    return kept if len(kept) == len(text) else kept[: max(map(kept.rfind, ".!?。।\n")) + 1] or kept


def _fitting(sizes: Sequence[int], room: float) -> int:
    """From which on the messages fit into the room."""
    used = 0
    for place in range(len(sizes) - 1, -1, -1):
        used += sizes[place]
        if used > room:
            return place + 1
    return 0


def _parts(messages: Sequence[Message], room: int) -> list[list[dict[str, str]]]:
    """The messages as the model reads them, in parts that fit into the room."""
    parts: list[list[dict[str, str]]] = [[]]
    left = room
    for message in messages:
        shown = _shown(message, min(_MOST_OF_ONE, room))
        size = sum(map(tokens_in, shown.values()))
        if size > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append(shown)
        left -= size
    return parts


def _shown(message: Message, most: int) -> dict[str, str]:
    match message:
        case UserMessage():
            return {"person": message.content[:most]}
        case AssistantMessage():
            asked = ", ".join(call.name for call in message.tool_calls)
            return {"assistant": message.content[:most]} | ({"asked for": asked} if asked else {})
        case ToolMessage():
            return {"tool": message.name, "told": message.content[:most]}


async def keep_summary(recorder: Recorder, text: str, last: MessagePlace) -> None:
    """Keep a run's summary, unless something was forgotten meanwhile: then the next run makes another."""
    conversations, barrier = recorder.conversations, recorder.barrier
    stored = StoredMessage(
        id=conversations.new_id(),
        conversation=recorder.run.conversation,
        branch=SUMMARIES,
        position=last.position + 1,
        at=conversations.clock.now_us(),
        run=recorder.run.id,
        message=AssistantMessage(text),
        aside=True,
        untrusted=recorder.outside,
        covers=last.branch,
    )
    try:
        await conversations.store.commit(
            recorder.principal.owner, [Put(MESSAGES, stored, if_version=0), *barrier.expected]
        )
    except Conflict:
        await barrier.listen()


_LABEL: Final = re.compile(r"[mM]\d{1,4}")
_LABELS: Final = r"\s*+m\d{1,4}(?:[\s,;&–-]{1,5}(?:(?:and|und|et) )?m\d{1,4})*\s*"
_MARK: Final = re.compile(
    rf"(?P<lead>(?<! )[ ]*+)(?P<labels>\[\[{_LABELS}\]\]|(?<!\[)\[{_LABELS}\]|[【［]{_LABELS}[】］])",
    re.IGNORECASE,
)
"""Models are told to write `[m1]`; some write their own brackets, or links."""
_OPENINGS: Final = frozenset("[【［")
_PERHAPS: Final = re.compile(r"[ ]{0,8}(?:(?:\[\[?|[【［])[mM\d,;&–\-\sanduet]{0,40}\]?)?\Z")
"""The end of a piece of text that may be the beginning of a mark, with the space before it."""
_LABELLED: Final = re.compile(r" \[m\d{1,4}\]$", re.MULTILINE)


@dataclass(slots=True)
class Citations:
    """The marks of one answer. `said` is the list that its text is gathered in, without them."""

    labels: Labels
    said: Sequence[str]
    marks: list[Mark] = field(default_factory=list[Mark])
    held: str = ""

    def take(self, text: str) -> str:
        """What of the answer can be shown after one more piece of it.

        A piece without `_OPENINGS`, and without a space at its end, needs no asking if nothing is `held`.
        """
        text, self.held = self.held + text, ""
        shown: list[str] = []
        place = 0
        for found in _MARK.finditer(text):
            if self._cite(found, [*self.said, *shown, text[place : found.start()]]):
                shown.append(text[place : found.start()])
                place = found.end()
        perhaps = _PERHAPS.search(text, place)
        end = perhaps.start() if perhaps else len(text)
        self.held = text[end:]
        return "".join((*shown, text[place:end]))

    def end(self) -> str:
        """What was held back, once the answer is complete; a mark that was cut off stays away."""
        held, self.held = self.held, ""
        return re.split(r"[\[【［]", held, maxsplit=1)[0] if "m" in held.lower() else held

    def _cite(self, found: re.Match[str], before: Sequence[str]) -> bool:
        """Whether this is a mark; one that names nothing is taken out too, and leads nowhere."""
        text = "".join(before)
        line = text[text.rfind("\n") + 1 :]
        if text.count("```") % 2 or line.count("`") % 2:
            return False
        ids = [id for label in _LABEL.findall(found["labels"]) if (id := self.labels.named(label))]
        is_index = not ids and text[-1:].isalnum() and not found["lead"]
        self.marks += [Mark(id=id, after=len(text)) for id in ids]
        return not is_index


def unlabelled(message: Message) -> Message:
    """A message of an earlier run, without the labels that meant something only there."""
    if not isinstance(message, ToolMessage) or " [m" not in message.content:
        return message
    return msgspec.structs.replace(message, content=_LABELLED.sub("", message.content))


_MILLION = 1_000_000


@dataclass(slots=True)
class ModelAnswer:
    """One answer of the model, growing delta by delta; `labels` are those of the run's memories."""

    job: str
    prices: Mapping[str, tuple[float, float]]
    labels: Labels = field(default_factory=Labels)
    _texts: list[str] = field(default_factory=list[str])
    _reasonings: list[str] = field(default_factory=list[str])
    _calls: dict[int, list[str]] = field(default_factory=dict[int, "list[str]"])
    _extras: dict[int, dict[str, Any]] = field(default_factory=dict[int, "dict[str, Any]"])
    _finish: Finish | None = None
    _citations: Citations | None = None

    def __post_init__(self) -> None:
        if self.labels:
            self._citations = Citations(self.labels, self._texts)

    @property
    def has_begun(self) -> bool:
        """Whether anything came."""
        return bool(self._texts or self._reasonings or self._calls)

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._texts)

    def take(self, delta: Delta) -> Event | None:
        """Add a delta; the event that a reader sees of it, if any."""
        match delta:
            case TextDelta():
                text, cites = delta.text, self._citations
                # Asked for every token: only what may be a mark, or follows one, goes the longer way.
                if cites is not None and (cites.held or text[-1:] == " " or not _OPENINGS.isdisjoint(text)):
                    return self._said(cites.take(text))
                self._texts.append(text)
                return delta
            case ReasoningDelta():
                self._reasonings.append(delta.text)
                return delta
            case TextSoFar():
                self._texts[:], self._reasonings[:] = [], [delta.reasoning]
                if self._citations is not None:
                    self._citations = Citations(self.labels, self._texts)
                said = delta.text if self._citations is None else self._citations.take(delta.text)
                self._texts.append(said)
                return TextSoFar(text=said, reasoning=delta.reasoning)
            case Warned():
                return delta
            case ToolCallDelta():
                call = self._calls.setdefault(delta.index, ["", "", ""])
                call[0] = call[0] or delta.id
                call[1] = call[1] or delta.name
                call[2] += delta.arguments
                if delta.extra:
                    self._extras[delta.index] = delta.extra
            case Finish():
                self._finish = delta
                return self._said(self._citations.end() if self._citations else "")
        return None

    def _said(self, text: str) -> TextDelta | None:
        if not text:
            return None
        self._texts.append(text)
        return TextDelta(text=text)

    def message(self) -> AssistantMessage:
        """The answer as a message.

        Raises:
            InvalidResponse: it has no end.
        """
        if self._finish is None:
            raise InvalidResponse("The model's answer broke off before its end. Try again.")
        calls = tuple(
            ToolCall(id, name, arguments, self._extras.get(index, {}))
            for index, (id, name, arguments) in sorted(self._calls.items())
        )
        return AssistantMessage("".join(self._texts), calls, "".join(self._reasonings), self._finish.origin)

    def used_memories(self) -> list[MemoryUsed]:
        """The memories that it cites, as an event; none if it cites nothing."""
        marks = tuple(self._citations.marks) if self._citations else ()
        return [MemoryUsed(ids=tuple(dict.fromkeys(mark.id for mark in marks)), marks=marks)] if marks else []

    @property
    def stop_reason(self) -> StopReason:
        """Why the run ends with this answer."""
        match self._finish:
            case Finish(reason="length" | "content_filter" as reason):
                return reason
            case _:
                return "answered"

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and arguments of the calls that it asks for."""
        return [(name, arguments) for _, name, arguments in self._calls.values()]

    def usage(self, asked: Sequence[Message]) -> Usage:
        """What it cost; estimated from `asked` and the answer if the provider did not count."""
        finish = self._finish
        model = finish.model if finish else ""
        is_counted = False
        if finish is not None and finish.input_tokens is not None and finish.output_tokens is not None:
            inputs, outputs, is_counted = finish.input_tokens, finish.output_tokens, True
        else:
            inputs = sum(tokens_of(message) for message in asked)
            outputs = tokens_of(AssistantMessage("".join(self._texts))) + sum(
                len(call[2]) // 4 for call in self._calls.values()
            )
        cost = finish.cost_usd if finish else None
        if cost is None and (price := self.prices.get(model)):
            cost = (inputs * price[0] + outputs * price[1]) / _MILLION
        return Usage(
            job=self.job,
            model=model,
            input_tokens=inputs,
            output_tokens=outputs,
            cost_usd=cost,
            estimated=not is_counted,
        )


_MOST_TRIES = 3
_LAST_TOKENS = 1_000
_LAST_WINDOW = 16_384
_CONCLUDING = (
    "No tool can be called any more. Answer the person now from what is there, say plainly what is missing, "
    "and that they may ask you to go on."
)
_LAST_ANSWER_S = 120
"""What the answer may take that ends a run whose bound is reached."""
_NOT_ALL = "The new summary begins late: what was said long before is not in it. All of it is kept."
_LEFT_OUT = "The conversation is too long for the model: its oldest part is left out."
_WITHOUT_TOOLS = "The message leaves no room for tools in the model's window: it is answered without them."


def at_this_step(
    first: str | None, offer: ToolOffer, *, request: RunRequest, toolbox: Toolbox
) -> tuple[ToolOffer, bool]:
    """What the model is told of now, and whether its answer must be a call.

    A named tool is called once, and then the model is free. Where a call is required
    and the client brought functions, it is one of theirs that has to come: Bethink's
    own tools may be called first, once.
    """
    is_first = request.spent.steps == 0
    if first is None or (first != ANY and not is_first):
        return offer, False
    if first == ANY and is_first:
        return offer, bool(offer.schemas)
    theirs = (schema.name for schema in offer.schemas if toolbox.is_of_client(schema.name))
    wanted = toolbox.alone(*(theirs if first == ANY else (first,)))
    return (wanted, True) if wanted.schemas else (offer, False)


async def answer_to(
    llm: Llm, asked: LlmRequest, *, job: str, prices: Mapping[str, tuple[float, float]]
) -> ModelAnswer:
    """The whole answer to a request that no person waits for; one that only repeats itself is ended.

    Raises:
        LlmError: the model does not answer.
    """
    answer = ModelAnswer(job=job, prices=prices)
    async with aclosing(llm.stream(asked)) as deltas:
        async for delta in deltas:
            answer.take(delta)
            if _repeats_itself(answer.text):
                answer.take(Finish("length", llm.name))
                break
    return answer


def _repeats_itself(text: str) -> bool:
    """Whether the last words came again and again: small models do so until their tokens end."""
    return len(text) >= _REPEATED_CHARS * _REPEATS and text.count(text[-_REPEATED_CHARS:]) >= _REPEATS


@dataclass(frozen=True, slots=True)
class Completion:
    """Asks one model, with a toolbox's tools; `first_call` is the tool to begin with (`client_tools`)."""

    llm: Llm
    toolbox: Toolbox
    files: Files
    context: Context
    first_call: str | None = None

    async def ask(self, request: RunRequest, answer: ModelAnswer) -> AsyncGenerator[Event, None]:
        """Stream one answer; with less of the history if it was too long for the model.

        How tokens are counted is the model's secret: what was refused is asked again within the window
        that the refusal named, or within half of it.
        """
        window = self.llm.context_tokens
        refused: ContextTooLong | None = None
        for _ in range(_MOST_TRIES):
            try:
                asked, events = await self._asked(request, window)
            except ContextTooLong as error:
                raise refused or error from error
            for event in events:
                yield event
            try:
                async with aclosing(self._stream(asked, answer)) as deltas:
                    async for event in deltas:
                        yield event
            except ContextTooLong as error:
                if answer.has_begun:
                    raise
                if refused is None:
                    yield Warned(part="model", message=_LEFT_OUT)
                refused, known = error, error.window or self.llm.context_tokens
                window = known if known < window else window // 2
            else:
                return
        if refused is not None:
            raise refused

    async def _stream(self, asked: LlmRequest, answer: ModelAnswer) -> AsyncGenerator[Event, None]:
        async with aclosing(self.llm.stream(asked)) as deltas:
            async for delta in deltas:
                if (event := answer.take(delta)) is not None:
                    yield event

    async def room_for_history(self, request: RunRequest) -> int:
        """The tokens that the model's window has for what was said, at the first step of a run."""
        window = self.llm.context_tokens
        room = self.context.room_for_tools(window)
        offer = await self.toolbox.offer_in(request.messages, request.principal, room)
        return self.context.room_for_history(window, request, offer)

    async def _asked(self, request: RunRequest, window: int) -> tuple[LlmRequest, Sequence[Event]]:
        """What the model is asked, and the events that say so.

        Raises:
            ContextTooLong: what was said last does not fit, with or without tools.
        """
        before = summary_block(request.summary)
        room = window - (tokens_in(before) if before else 0)
        images = await collect_images(self.files, request.principal, request.messages, sees=self.llm.sees)
        context = self.context if images is NO_IMAGES else replace(self.context, images=images)
        offer, must_call = at_this_step(
            self.first_call,
            await self.toolbox.offer_in(request.messages, request.principal, context.room_for_tools(window)),
            request=request,
            toolbox=self.toolbox,
        )

        request.outside = request.outside or self.toolbox.has_unreviewed(offer)

        def within(offer: ToolOffer) -> LlmRequest:
            return context.request(
                request.principal,
                request.messages,
                recalled=request.recalled,
                labels=request.labels,
                tools=offer,
                context_tokens=room,
            )

        events: list[Event] = []
        try:
            asked = within(offer)
        except ContextTooLong:
            if must_call or not offer.schemas:
                raise
            offer, asked = NO_TOOLS, within(NO_TOOLS)
            events.append(Warned(part="model", message=_WITHOUT_TOOLS))
        asked = replace(with_summary(asked, before), must_call=must_call)
        if not request.has_told_filling:
            request.has_told_filling = True
            events += context.filling(asked, request, tools=offer, window=window)
        return asked, events

    def concluding(self, reached: str) -> Completion:
        """The same without tools, for the answer that ends a run; `reached` says which bound was."""
        instruction = f"# Answer now\n{reached} {_CONCLUDING}"
        context = replace(
            self.context,
            added=f"{self.context.added}\n{instruction}\n",
            max_output_tokens=min(self.context.max_output_tokens or _LAST_TOKENS, _LAST_TOKENS),
        )
        toolbox = replace(self.toolbox, enabled=False)
        return replace(self, context=context, toolbox=toolbox, first_call=None)

    async def ask_once(self, request: RunRequest, answer: ModelAnswer) -> AsyncGenerator[Event, None]:
        """Stream an answer within a small reserve of tokens and time: the one that ends a run at its bound.

        Raises:
            LlmError: the model does not answer.
            TimeoutError: it takes too long.
        """
        asked, _ = await self._asked(request, min(self.llm.context_tokens, _LAST_WINDOW))
        over = asyncio.get_running_loop().time() + _LAST_ANSWER_S
        async with aclosing(self._stream(asked, answer)) as events:
            while True:
                async with asyncio.timeout_at(over):
                    event = await anext(events, None)
                if event is None:
                    return
                yield event
