"""Port: a language model that streams. `agent/loop` is its caller.

An adapter turns one provider's wire into these deltas and its failures into
the `LlmError` family. Text and reasoning deltas are events already, so that a
token passes through the loop as the object that the adapter made.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from bethink.events import ReasoningDelta, TextDelta, TextSoFar, Warned
from bethink.messages import Origin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from bethink.messages import Message


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
    origin: Origin | None = None


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
