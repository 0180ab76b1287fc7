"""Port: a language model that streams. `agent/loop` is its caller.

An adapter turns one provider's wire into these deltas and its failures into
the `LlmError` family. Text and reasoning deltas are events already, so that a
token passes through the loop as the object that the adapter made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from bethink.events import ReasoningDelta, TextDelta, Warned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

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
    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture], repr=False)


class ToolCallDelta(msgspec.Struct, frozen=True):
    """A piece of a tool call: pieces of one call share `index`, and are joined in order.

    `id` and `name` come with the first piece, and again empty later.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""Why a complete answer ends."""


class Finish(msgspec.Struct, frozen=True):
    """The last delta of a complete answer. Tokens are None where the provider did not count."""

    reason: FinishReason
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


Delta = TextDelta | ReasoningDelta | ToolCallDelta | Warned | Finish


class Llm(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """What the owner calls it: `provider:name`."""
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens the model's window holds, answer included."""
        ...

    @property
    def sees(self) -> bool:
        """Whether the model is shown the pictures of a request; one that does not is told their names."""
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
