"""Port: a language model that streams. `agent/loop` is its caller.

An adapter turns one provider's wire into these deltas and its failures into
the `LlmError` family. Text and reasoning deltas are events already, so that a
token passes through the loop as the object that the adapter made.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, Protocol

import msgspec

from bethink.events import ReasoningDelta, TextDelta, TextSoFar, Warned
from bethink.messages import AssistantMessage, Message, ModelOrigin, ToolMessage, UserMessage
from bethink.telemetry import Span, span


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a model is shown: PNG, JPEG, GIF or WebP. Its content is never printed."""

    media_type: str
    content: bytes = field(repr=False)


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What else may be asked of a model, in OpenAI's words; what is None or empty is not sent."""

    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None

    def over(self, usual: Options) -> Options:
        """These, and the usual ones for what is not given here."""
        return msgspec.structs.replace(
            usual,
            **{
                name: value for name, value in msgspec.structs.asdict(self).items() if value not in (None, ())
            },
        )


NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """One request to a model.

    `messages` are oldest first. With `must_call` the answer is to be a call of one of the
    `tools`. `response_format` is OpenAI's, passed through.
    `pictures` are shown where an attachment of a user's message has their address.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    must_call: bool = False
    temperature: float | None = None
    max_output_tokens: int | None = None
    response_format: dict[str, Any] | None = None
    options: Options = NO_OPTIONS
    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture], repr=False)


class ToolCallDelta(msgspec.Struct, frozen=True):
    """A piece of a tool call: pieces of one call share `index`, and are joined in order.

    `id` and `name` come with the first piece, and again empty later. `extra` is
    whole, and comes with one of them: see `ToolCall.extra`.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = {}


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""Why a complete answer ends."""


class Finish(msgspec.Struct, frozen=True):
    """The last delta of a complete answer. Tokens are None where the provider did not count.

    `origin` is what to keep with the answer, so that its provider gets it back.
    """

    reason: FinishReason
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    origin: ModelOrigin | None = None


Delta = TextDelta | ReasoningDelta | TextSoFar | ToolCallDelta | Warned | Finish
"""`TextSoFar` replaces all text and reasoning of the answer that came before it."""


class Llm(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """What the owner calls it: `provider:name`."""
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens the model's window holds, answer included; a guess until `learn` has asked."""
        ...

    @property
    def sees(self) -> bool:
        """Whether the model is shown the pictures of a request; one that does not is told their names."""
        ...

    async def learn(self) -> None:
        """Ask the server what it knows of the model, its window above all; once, and in vain without harm."""
        ...

    def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """The answer as deltas, ended by one `Finish`; close it (`aclosing`) to cancel.

        An answer that breaks off without its end raises; what came before it
        stands.

        Raises:
            LlmError: one of its family; see errors.py.
        """
        ...

    async def probe(self) -> str | None:
        """Why the model cannot be reached, as a sentence; None when it answers. Costs no tokens."""
        ...

    async def close(self) -> None:
        """Free connections."""
        ...


class LlmWrapper:
    """A model inside another protocol: all of `Llm` but the stream. `new_id` names calls of tools."""

    def __init__(self, inner: Llm, *, new_id: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._inner = inner
        self._new_id = new_id

    @property
    def name(self) -> str:
        """The model's own."""
        return self._inner.name

    @property
    def context_tokens(self) -> int:
        """The model's own."""
        return self._inner.context_tokens

    @property
    def sees(self) -> bool:
        """Whether the model does."""
        return self._inner.sees

    async def learn(self) -> None:
        """See `Llm.learn`."""
        await self._inner.learn()

    async def probe(self) -> str | None:
        """See `Llm.probe`."""
        return await self._inner.probe()

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


def with_spent(finish: Finish, earlier: Sequence[Finish]) -> Finish:
    """The end of an answer with the tokens and cost of earlier requests for it; None if one is unknown."""

    def total(name: str) -> float | None:
        counts: list[float | None] = [getattr(one, name) for one in (*earlier, finish)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    if not earlier:
        return finish
    totals = {name: total(name) for name in ("input_tokens", "output_tokens", "cost_usd")}
    return msgspec.structs.replace(finish, **totals)


_PROVIDERS = {"azure": "azure.ai.openai"}
"""Where OpenTelemetry has another name for a provider than we have."""


async def traced(llm: Llm, request: LlmRequest) -> AsyncGenerator[Delta, None]:
    """The answer's deltas, as they come, and a span of the request; see `Llm.stream`."""
    provider, _, model = llm.name.partition(":")
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model or llm.name,
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": request.max_output_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.top_p": request.options.top_p,
        "gen_ai.request.seed": request.options.seed,
        "gen_ai.request.stop_sequences": request.options.stop or None,
        "gen_ai.request.reasoning.level": request.options.reasoning_effort,
    }
    began = perf_counter()
    texts: list[str] = []
    with span(f"chat {model or llm.name}", told, kind="client") as kept:
        kept.tell("gen_ai.system_instructions", lambda: [_text(request.system)])
        kept.tell("gen_ai.input.messages", lambda: [_shown(message) for message in request.messages])
        async with aclosing(llm.stream(request)) as deltas:
            has_begun = False
            async for delta in deltas:
                if not has_begun and isinstance(
                    delta, TextDelta | ReasoningDelta | TextSoFar | ToolCallDelta
                ):
                    has_begun = True
                    kept.set({"gen_ai.response.time_to_first_chunk": perf_counter() - began})
                if isinstance(delta, TextDelta):
                    texts.append(delta.text)
                elif isinstance(delta, Finish):
                    _finish(kept, delta, texts)
                yield delta


def _finish(kept: Span, finish: Finish, texts: list[str]) -> None:
    kept.set(
        {
            "gen_ai.response.model": finish.model,
            "gen_ai.response.finish_reasons": [finish.reason],
            "gen_ai.usage.input_tokens": finish.input_tokens,
            "gen_ai.usage.output_tokens": finish.output_tokens,
        }
    )
    answer = {"role": "assistant", "finish_reason": finish.reason}
    kept.tell("gen_ai.output.messages", lambda: [answer | {"parts": [_text("".join(texts))]}])


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _shown(message: Message) -> dict[str, Any]:
    """A message in the shape of the conventions."""
    match message:
        case UserMessage():
            return {"role": "user", "parts": [_text(message.content)]}
        case ToolMessage():
            part = {"type": "tool_call_response", "id": message.call, "response": message.content}
            return {"role": "tool", "parts": [part]}
        case AssistantMessage():
            calls = [
                {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                for call in message.tool_calls
            ]
            return {"role": "assistant", "parts": [_text(message.content), *calls]}
