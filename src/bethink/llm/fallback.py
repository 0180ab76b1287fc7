"""Several models as one: what one cannot answer now, the same asked again or the next one does.

`app` wraps the owner's models in it, also a single one: the retries are here
and nowhere else.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.errors import ContextTooLong, InvalidResponse, LlmError, RateLimited, Unreachable
from bethink.events import Warned
from bethink.llm import Delta, LlmRequest, ToolCallDelta
from bethink.messages import ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from bethink.llm import Llm
    from bethink.messages import Message

SHORT_CHARACTERS: Final = 4_000
"""What is left of a tool's result in a simplified request: about a thousand tokens."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently one model is asked.

    The pause before retry n is drawn evenly from 0 to `first_pause_s` · 2ⁿ, at
    most `longest_pause_s` (full jitter: many conversations that failed together
    do not come back together). A longer wait that the provider itself asks for
    is kept up to `longest_wait_s`; beyond that the next model answers.
    """

    attempts: int = 3
    first_pause_s: float = 0.5
    longest_pause_s: float = 8
    longest_wait_s: float = 30
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    draw: Callable[[], float] = random.random  # noqa: S311 it only spreads retries

    def pause_s(self, failures: int, error: LlmError) -> float | None:
        """How long to wait after this failure, the `failures`-th; None is not to ask again."""
        if failures >= self.attempts or not isinstance(error, RateLimited | Unreachable):
            return None
        wait_s = getattr(error, "retry_after_s", None)
        if wait_s is not None and wait_s > self.longest_wait_s:
            return None
        longest = min(self.first_pause_s * 2.0 ** (failures - 1), self.longest_pause_s)
        return (wait_s or 0) + self.draw() * longest


class _Turn:
    """Whom to ask next, and what."""

    def __init__(self, models: tuple[Llm, ...], retries: Retries, request: LlmRequest) -> None:
        self.model = models[0]
        self.request = request
        self.pause_s = 0.0
        self._rest = list(models[1:])
        self._retries = retries
        self._whole = request
        self._failures = 0

    def after(self, error: LlmError) -> Warned | None:
        """Move on after a failure and say how; None when nothing is left to try."""
        self._failures += 1
        self.pause_s = 0
        if isinstance(error, ContextTooLong):
            return None
        if isinstance(error, InvalidResponse) and self.request is self._whole:
            self.request = simplified(self._whole)
            return _warned(f"{error} Asking {self.model.name} again with a shortened conversation.")
        pause_s = self._retries.pause_s(self._failures, error)
        if pause_s is not None:
            self.pause_s = pause_s
            return _warned(f"{error} Asking again in {pause_s:.1f} s.")
        if not self._rest:
            return None
        self.model = self._rest.pop(0)
        self.request = self._whole
        self._failures = 0
        return _warned(f"{error} Asking {self.model.name} instead.")


class FallbackLlm:
    """Models in the order of preference, asked until one answers.

    A failure is mended only while nothing of an answer was passed on: after
    that it is raised, and nothing is said twice. Tool calls before any text
    are held back until they are complete, so that half a call can be asked for
    again. `ContextTooLong` is raised at once: the caller can trim. Whatever is
    tried is told in a `Warned`.
    """

    def __init__(self, models: Sequence[Llm], *, retries: Retries | None = None) -> None:
        if not models:
            raise ValueError("a chain of models needs at least one")
        self._models = tuple(models)
        self._retries = retries or Retries()

    @property
    def name(self) -> str:
        """The preferred model's; `Finish.model` says who answered."""
        return self._models[0].name

    @property
    def context_tokens(self) -> int:
        """The preferred model's window."""
        return self._models[0].context_tokens

    @property
    def sees(self) -> bool:
        """Whether the preferred model sees; another one that does not leaves the pictures out itself."""
        return self._models[0].sees

    async def learn(self) -> None:
        """See `Llm.learn`: of the preferred model; of another one when it is its turn."""
        await self._models[0].learn()

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`; raises the last model's error."""
        turn = _Turn(self._models, self._retries, request)
        while True:
            held: list[ToolCallDelta] = []
            said = False
            if turn.model is not self._models[0]:
                await turn.model.learn()
            deltas = turn.model.stream(turn.request)
            try:
                async for delta in deltas:
                    if not said and isinstance(delta, ToolCallDelta):
                        held.append(delta)
                        continue
                    if isinstance(delta, Warned):
                        yield delta
                        continue
                    said = True
                    while held:
                        yield held.pop(0)
                    yield delta
                return
            except LlmError as error:
                if isinstance(error, ContextTooLong):
                    error.window = turn.model.context_tokens
                warning = None if said else turn.after(error)
                if warning is None:
                    raise
            finally:
                await deltas.aclose()
            yield warning
            await self._retries.sleep(turn.pause_s)

    async def probe(self) -> str | None:
        """None as soon as one model answers, otherwise why none does."""
        reasons: list[str] = []
        for model in self._models:
            reason = await model.probe()
            if reason is None:
                return None
            reasons.append(reason)
        return " ".join(reasons)

    async def close(self) -> None:
        """Close every model, whatever one of them says."""
        async with AsyncExitStack() as stack:
            for model in self._models:
                stack.push_async_callback(model.close)


def simplified(request: LlmRequest) -> LlmRequest:
    """The system prompt and the current turn alone, its tools' results shortened.

    Source: spec 004, "Error Handling": an invalid response is retried with simplified context.
    """
    messages = request.messages
    users = [place for place, message in enumerate(messages) if isinstance(message, UserMessage)]
    turn = messages[users[-1] :] if users else messages
    return replace(request, messages=tuple(_shortened(message) for message in turn))


def _shortened(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or len(message.content) <= SHORT_CHARACTERS:
        return message
    return msgspec.structs.replace(message, content=message.content[:SHORT_CHARACTERS] + "\n… (shortened)")


def _warned(message: str) -> Warned:
    return Warned(part="model", message=message)
