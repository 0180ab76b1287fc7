"""The earlier part of a long conversation, told in short by the model. `agent/loop` asks for it.

A summary is kept beside the messages that it covers, as a message of a branch
that no line shows (`SUMMARIES`): the originals stay where they are, and what
forgets or deletes messages reaches it. It holds for every line that begins with
what it covers, so an edit behind that point goes on with it and an edit before
it does not. The next one is made of the last one and what came since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.agent.answer import ModelAnswer
from bethink.conversations import MESSAGES, SUMMARIES, StoredMessage
from bethink.errors import Conflict, InvalidResponse, LlmError
from bethink.events import Usage, Warned
from bethink.llm import LlmRequest
from bethink.messages import AssistantMessage, ToolMessage, UserMessage, tokens_in, tokens_of
from bethink.store import Put

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bethink.agent.recorder import Recorder
    from bethink.agent.request import MessagePlace, RunRequest
    from bethink.events import Event
    from bethink.llm import Llm
    from bethink.messages import Message
    from bethink.settings import Settings

JOB: Final = "summary"
_OUTPUT_TOKENS: Final = 900
_READ_SHARE: Final = 0.6
"""Of the model's window, what one request for a summary reads: the rest is for counting otherwise."""
_KEPT_SHARE: Final = 0.5
"""Of the share that history may fill, what stays word for word: so that it is done every so many turns."""
_MOST_REQUESTS: Final = 4
_TIMEOUT_S: Final = 120
_MOST_OF_ONE: Final = 8_000
"""Characters of one message that are read for it; a paste is not retold in full."""


Flush = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Summaries:
    """Makes them. `share` is how much of the window history may fill, 0..1.

    With `after_messages` also a history of more messages than that is summarised; `keep_messages`
    of the newest stay word for word then. `flush` has facts looked for first in what waits for it.
    """

    is_on: bool
    share: float
    after_messages: int | None
    keep_messages: int
    prompt: str
    prices: Mapping[str, tuple[float, float]]
    flush: Flush

    @classmethod
    def of(
        cls,
        settings: Settings,
        prompt: str,
        *,
        prices: Mapping[str, tuple[float, float]],
        flush: Flush,
    ) -> Summaries:
        """As the settings want them."""
        return cls(
            is_on=settings.summaries,
            share=settings.summary_share,
            after_messages=settings.summary_after_messages,
            keep_messages=settings.summary_keep_messages,
            prompt=prompt,
            prices=prices,
            flush=flush,
        )

    async def condense(self, llm: Llm, request: RunRequest) -> AsyncGenerator[Event, None]:
        """Put a summary in place of the oldest part where the history is too long; tell what it cost.

        What fails is told as a warning, and the history is trimmed instead.
        """
        if not self.is_on or (cut := self._cut(llm, request)) == 0:
            return
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await self.flush(request.principal.owner)
                text, usage = await self._told(llm, request.summary, request.messages[:cut])
        except (LlmError, TimeoutError) as error:
            reason = str(error) or "it took too long"
            yield Warned(
                part="summary",
                message=f"The earlier part of this conversation is not summarised: {reason}",
            )
            return
        for used in usage:
            yield used
        await request.condense(cut, text)

    def _cut(self, llm: Llm, request: RunRequest) -> int:
        """How many of the history's messages are to be summarised: whole turns."""
        messages, known = request.messages, request.known
        sizes = [tokens_of(message) for message in messages]
        room = self.share * llm.context_tokens
        least = len(messages)
        if sum(sizes) + tokens_in(request.summary) > room:
            least = _fitting(sizes, room * _KEPT_SHARE)
        elif self.after_messages is not None and len(messages) > self.after_messages:
            least = len(messages) - self.keep_messages
        else:
            return 0
        starts = [place for place, one in enumerate(messages) if isinstance(one, UserMessage)]
        return max((place for place in starts if place <= min(least, known)), default=0)

    async def _told(self, llm: Llm, before: str, messages: Sequence[Message]) -> tuple[str, list[Usage]]:
        """The summary of what was told before and of these messages, and what each request cost."""
        room = int(llm.context_tokens * _READ_SHARE) - tokens_in(self.prompt) - _OUTPUT_TOKENS
        usage: list[Usage] = []
        parts = _parts(messages, room)
        for part in parts[-_MOST_REQUESTS:]:
            read = {"summary": before, "messages": part}
            asked = LlmRequest(
                system=self.prompt,
                messages=(UserMessage(msgspec.json.encode(read).decode()),),
                max_output_tokens=_OUTPUT_TOKENS,
            )
            answer = ModelAnswer(job=JOB, prices=self.prices)
            async with aclosing(llm.stream(asked)) as deltas:
                async for delta in deltas:
                    answer.take(delta)
            usage.append(answer.usage(asked.messages))
            before = answer.message().content.strip()
            if not before:
                message = "the model answered with nothing"
                raise InvalidResponse(message)
        return before, usage


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


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """Keeps summaries that one run makes."""

    recorder: Recorder

    async def __call__(self, text: str, last: MessagePlace) -> None:
        """Keep it, unless something was forgotten meanwhile: then the next run makes another."""
        recorder = self.recorder
        conversations, hush = recorder.conversations, recorder.hush
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
                recorder.principal.owner, [Put(MESSAGES, stored, if_version=0), *hush.expected]
            )
        except Conflict:
            await hush.listen()
