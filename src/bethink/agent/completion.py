"""One question to the model: what is asked fits its window, and what it answers is streamed.

`agent/loop` asks at each step, and once more when a bound has ended the calls.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bethink.agent.client_tools import at_this_step
from bethink.agent.context import behind, summary_block
from bethink.agent.images import NO_IMAGES, collect_images
from bethink.agent.tool_selection import NO_TOOLS
from bethink.errors import ContextTooLong
from bethink.events import Event, Warned
from bethink.messages import tokens_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.agent.answer import ModelAnswer
    from bethink.agent.context import Context
    from bethink.agent.request import RunRequest
    from bethink.agent.tool_selection import ToolOffer
    from bethink.agent.toolbox import Toolbox
    from bethink.files import Files
    from bethink.llm import Llm, LlmRequest

_MOST_TRIES = 3
_LAST_TOKENS = 1_000
_LAST_WINDOW = 16_384
_CONCLUDING = (
    "No tool can be called any more. Answer the person now from what is there, say plainly what is missing, "
    "and that they may ask you to go on."
)
_LAST_ANSWER_S = 120
"""What the answer may take that ends a run whose bound is reached."""
_LEFT_OUT = "The conversation is too long for the model: its oldest part is left out."
_WITHOUT_TOOLS = "The message leaves no room for tools in the model's window: it is answered without them."


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
                if answer.begun:
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

    async def _asked(self, request: RunRequest, window: int) -> tuple[LlmRequest, Sequence[Event]]:
        """What the model is asked, and what is told of it.

        Raises:
            ContextTooLong: what was said last does not fit, with or without tools.
        """
        before = summary_block(request.summary)
        room = window - (tokens_in(before) if before else 0)
        sight = await collect_images(self.files, request.principal, request.messages, sees=self.llm.sees)
        context = self.context if sight is NO_IMAGES else replace(self.context, sight=sight)
        offer, must_call = at_this_step(
            self.first_call,
            self.toolbox.offer_in(request.messages, request.principal, context.room_for_tools(window)),
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

        told: list[Event] = []
        try:
            asked = within(offer)
        except ContextTooLong:
            if must_call or not offer.schemas:
                raise
            offer, asked = NO_TOOLS, within(NO_TOOLS)
            told.append(Warned(part="model", message=_WITHOUT_TOOLS))
        asked = replace(behind(asked, before), must_call=must_call)
        told += request.told_once(context.filling(asked, request, tools=offer, window=window))
        return asked, told

    def concluding(self, reached: str) -> Completion:
        """The same without tools, for the answer that ends a run; `reached` says which bound was."""
        told = f"# Answer now\n{reached} {_CONCLUDING}"
        context = replace(
            self.context,
            added=f"{self.context.added}\n{told}\n",
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
