"""What a tool of spec 002 is ("Tool Base Classes"), and one as a tool of Bethink's.

`ToolCallParams` is a dataclass: the SDK's stages cannot be fields of a Pydantic model.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bethink.errors import BadInput
from bethink.events import ToolProgress
from bethink.telemetry import log
from bethink.tool import Tool, ToolContext, ToolOutput, foreign_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aidial_sdk.chat_completion import Choice, Message

_log = log("dial")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What is called; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call, in the shape of OpenAI's; the client library's own type does as well."""

    id: str
    function: FunctionCall
    type: str = "function"


class StageProcessor(Protocol):
    """What a tool may do with its stage; the SDK's `Stage` does it, too."""

    def append_content(self, content: str) -> None:
        """Show more."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCallParams:
    """What a tool is called with."""

    tool_call: Any
    stage: StageProcessor
    choice: Choice | None
    api_key: str
    conversation_id: str


class BaseTool(ABC):
    """A tool: implement `_execute`, and say what it is called and takes."""

    @abstractmethod
    async def _execute(self, params: ToolCallParams) -> str | Message:
        """Do it; the text, or a message whose content it is."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which the model calls it."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What the model reads, at most 1,024 characters."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""

    @property
    def schema(self) -> dict[str, Any]:
        """The function as OpenAI's API has it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    @property
    def create_tool_stage(self) -> bool:
        """Whether its calls are stages of the answer."""
        return True

    @property
    def show_in_stage(self) -> bool:
        """Whether those show arguments and response."""
        return True

    async def execute(self, params: ToolCallParams) -> Message:
        """The result as a message; what goes wrong becomes its content."""
        from aidial_sdk.chat_completion import Message, Role

        text, _ = await _executed(self, params)
        call = params.tool_call
        return Message(role=Role.TOOL, tool_call_id=call.id, name=call.function.name, content=text)


async def _executed(base: BaseTool, params: ToolCallParams) -> tuple[str, bool]:
    """What the tool says, and whether it failed."""
    try:
        said = await base._execute(params)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - spec 002's name
    except Exception as error:  # noqa: BLE001 - a tool call: recorded, and told to the model
        _log.exception("tool %s failed", base.name)
        return f"ERROR during tool call execution: {error}", True
    return said if isinstance(said, str) else str(said.content or ""), False


@dataclass(frozen=True, slots=True)
class _Progress:
    """A stage that tells what it is given as progress of the run."""

    context: ToolContext

    def append_content(self, content: str) -> None:
        self.context.emit(ToolProgress(call=self.context.call, text=content.rstrip("\n")))


def as_tool(base: BaseTool, *, api_key: str, conversation_id: str, choice: Choice | None = None) -> Tool:
    """A tool of spec 002 as one of Bethink's, for one request."""

    async def handler(context: ToolContext, **arguments: object) -> ToolOutput:
        call = ToolCall(context.call, FunctionCall(base.name, json.dumps(arguments)))
        params = ToolCallParams(call, _Progress(context), choice, api_key, conversation_id)
        text, failed = await _executed(base, params)
        return ToolOutput(text, error="tool_failed" if failed else None)

    return foreign_tool(
        handler,
        name=base.name,
        description=base.description,
        parameters=base.parameters,
        effect="write",
        trust="owner",
        label=base.name,
        source="",
        timeout_s=None,
    )


def arguments_of(params: ToolCallParams) -> Mapping[str, Any]:
    """A call's arguments.

    Raises:
        BadInput: they are no JSON object.
    """
    try:
        return msgspec.json.decode(params.tool_call.function.arguments, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadInput(f"The arguments are no JSON object: {error}.") from error
