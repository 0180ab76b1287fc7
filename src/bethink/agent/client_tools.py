"""Tools that a client runs itself, and which tool an answer has to begin with (`tool_choice`).

`agent/start` offers them beside Bethink's, `agent/loop` ends a run that calls one, and with the
client's answers `agent/runs` goes on.
Source: OpenAI API reference, `tool_choice` of chat completions and of responses.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import msgspec

from bethink.agent.context import unknown_outcome
from bethink.agent.records import RUNS
from bethink.agent.request import BranchPoint, RunOptions
from bethink.errors import BadInput, TooLarge
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from bethink.tool import OF_CLIENT, Tool, ToolContext

if TYPE_CHECKING:
    from bethink.agent.toolbox import Toolbox
    from bethink.conversations.records import StoredMessage
    from bethink.conversations.service import Conversations
    from bethink.llm import ToolSchema
    from bethink.principal import Principal


MAX_TOOLS: Final = 128
"""As many as OpenAI takes."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_SCHEMA_BYTES: Final = 64 * 1024
_TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_PARTS: Final = {
    "properties": dict,
    "required": list,
    "enum": list,
    "anyOf": list,
    "allOf": list,
    "oneOf": list,
}
_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """A client's calls that have no result yet; `message` is the owner's message that they serve."""

    message: str
    calls: Sequence[ToolCall]


def client_tools(schemas: Sequence[ToolSchema], own: Toolbox) -> list[Tool]:
    """The client's tools as a run offers them.

    One may stand in the place of a tool of Bethink's that only reads. The name
    of one that changes something it may not take: who asked for a memory to be
    deleted would be told that it was, and it would not.

    Raises:
        BadInput: a name or a schema is none, or the name is taken.
    """
    if len(schemas) > MAX_TOOLS:
        raise BadInput(f"{len(schemas)} tools were given; at most {MAX_TOOLS} are taken.")
    for schema in schemas:
        if (mine := own.get(schema.name)) is not None and mine.effect != "read":
            raise BadInput(
                f"Bethink has a tool {schema.name} of its own, which changes things: give yours another "
                "name, or switch Bethink's tools off for this request."
            )
    names = [schema.name for schema in schemas]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise BadInput(f"Two tools are called {twice}: give one of them another name.")
    return [_tool(schema) for schema in schemas]


async def open_calls(conversations: Conversations, principal: Principal, conversation: str) -> OpenCalls:
    """The calls that the last answer of a conversation left to its client.

    Raises:
        BadInput: it left none.
    """
    answered: set[str] = set()
    async with aclosing(_newest_first(conversations, principal, conversation)) as messages:
        async for stored in messages:
            match stored.message:
                case ToolMessage(call=call):
                    answered.add(call)
                case AssistantMessage(tool_calls=calls) if stored.stop_reason == "client_tools":
                    (run,) = await conversations.store.get(RUNS, principal.owner, [stored.run])
                    left = [call for call in calls if call.id not in answered]
                    if run is not None and left:
                        return OpenCalls(run.record.message, left)
                    break
                case _:
                    break
    raise BadInput("No call in this conversation waits for a result: its last answer made none.")


async def branch_point_of(
    conversations: Conversations, principal: Principal, conversation: str, *, calls: AbstractSet[str]
) -> BranchPoint | None:
    """Behind which message these calls were left to the client, open or not; None if they never were."""
    last_of: dict[str, str] = {}
    async with aclosing(_newest_first(conversations, principal, conversation)) as messages:
        async for stored in messages:
            last_of.setdefault(stored.run, stored.id)
            match stored.message:
                case AssistantMessage(tool_calls=left) if stored.stop_reason == "client_tools":
                    if calls <= {call.id for call in left}:
                        return BranchPoint(conversation, last_of[stored.run], "behind")
                case UserMessage():
                    return None
                case _:
                    pass
    return None


async def _newest_first(
    conversations: Conversations, principal: Principal, conversation: str
) -> AsyncGenerator[StoredMessage, None]:
    cursor: str | None = None
    while True:
        page = await conversations.messages(principal, conversation, limit=_PAGE, before=cursor)
        for item in page.items:
            yield item.record
        if (cursor := page.cursor) is None:
            return


def results_of(asked: OpenCalls, given: Sequence[ToolMessage], max_chars: int) -> list[ToolMessage]:
    """A result for each open call, in their order; one that the client left out is told to be unknown.

    What a client's tool tells comes from outside.

    Raises:
        BadInput: a result answers no open call.
        TooLarge: they are longer than `max_chars` together.
    """
    if sum(len(result.content) for result in given) > max_chars:
        raise TooLarge(f"The tools' results have more than {max_chars:,} characters together: shorten them.")
    answers = {result.call: result for result in given}
    if unknown := sorted(answers.keys() - {call.id for call in asked.calls}):
        raise BadInput(f"No call {unknown[0]!r} of this conversation waits for a result.")
    return [
        msgspec.structs.replace(answers[call.id], name=call.name, untrusted=True)
        if call.id in answers
        else unknown_outcome(call.id, call.name)
        for call in asked.calls
    ]


def _tool(schema: ToolSchema) -> Tool:
    if not _NAME.fullmatch(schema.name):
        raise BadInput(
            f"{schema.name[:80]!r} is not a tool name: use 1 to 64 letters, digits, underscores or dashes."
        )
    if len(msgspec.json.encode(schema.parameters)) > _MAX_SCHEMA_BYTES:
        raise BadInput(f"The parameters of {schema.name} are larger than {_MAX_SCHEMA_BYTES // 1024} kB.")
    if schema.parameters.get("type", "object") != "object":
        raise BadInput(f'The parameters of {schema.name} are not an object: they need "type": "object".')
    if (fault := _fault(schema.parameters, "parameters")) is not None:
        raise BadInput(f"The schema of {schema.name} is not valid: {fault}.")
    return Tool(
        name=schema.name,
        description=schema.description,
        parameters=schema.parameters,
        effect="write",
        trust="untrusted",
        timeout_s=None,
        label=schema.name,
        check=_unchecked,
        handler=_never,
        origin=OF_CLIENT,
    )


def _fault(schema: object, place: str) -> str | None:
    """What is wrong with a JSON Schema, as far as models and their servers stumble over it."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f"{place} is not a schema"
    known = cast("dict[str, Any]", schema)
    if not _are_types(known.get("type", [])):
        return f"{place}.type is {known['type']!r}"
    for name, kind in _PARTS.items():
        if name in known and not isinstance(known[name], kind):
            return f"{place}.{name} is no {'object' if kind is dict else 'list'}"
    properties: dict[str, Any] = known.get("properties", {})
    inner: list[tuple[str, object]] = [
        (f"{place}.properties.{name}", one) for name, one in properties.items()
    ]
    inner += [(f"{place}.{name}", known[name]) for name in ("items", "additionalProperties") if name in known]
    inner += [
        (f"{place}.{name}", part) for name in ("anyOf", "allOf", "oneOf") for part in known.get(name, [])
    ]
    return next((fault for where, part in inner if (fault := _fault(part, where)) is not None), None)


def _are_types(types: object) -> bool:
    named = cast("list[object]", types) if isinstance(types, list) else [types]
    return all(isinstance(name, str) and name in _TYPES for name in named)


def _unchecked(written: str) -> NoReturn:
    raise BadInput(written)


async def _never(context: ToolContext) -> NoReturn:
    raise BadInput(context.call)


ANY: Final = "*"
"""As a wish: some tool. It can be no tool's name."""
_KINDS: Final = "none, auto, required or a function's name"


def with_tool_choice(options: RunOptions, tools: Sequence[ToolSchema], choice: object) -> RunOptions:
    """The options with the functions that a client offers, and what it says of their use.

    `none` takes away Bethink's tools as well: nothing is called then.

    Raises:
        BadInput: the choice is none of those that there are.
    """
    match choice:
        case None | "auto":
            first = None
        case "none":
            return msgspec.structs.replace(options, tools=False)
        case "required":
            first = ANY
        case _:
            first = _named(choice)
    return msgspec.structs.replace(options, client_tools=tuple(tools), first_call=first)


def check_first(first: str | None, toolbox: Toolbox) -> None:
    """Refuse what no answer could begin with.

    Raises:
        BadInput: no tool is offered, or none of that name.
    """
    offered = [schema.name for schema in toolbox.offer.schemas]
    if first is None or first in offered or (first == ANY and offered):
        return
    shown = ", ".join(offered) or "none"
    asked = "asks for a call" if first == ANY else f"names {first[:80]!r}"
    raise BadInput(f"tool_choice {asked}, and that is not offered here. Offered are: {shown}.")


def _named(choice: object) -> str:
    """The function that a choice names, in chat completions' words or in those of responses.

    Raises:
        BadInput: it names none.
    """
    if isinstance(choice, dict):
        given = cast("dict[str, Any]", choice)
        function: Any = given.get("function")
        about = cast("dict[str, Any]", function) if isinstance(function, dict) else given
        name: Any = about.get("name")
        if given.get("type") == "function" and isinstance(name, str) and name and name != ANY:
            return name
        kind = given.get("type")
        raise BadInput(f"tool_choice of the type {str(kind)[:60]!r} is not known here: give {_KINDS}.")
    raise BadInput(f"tool_choice {str(choice)[:60]!r} is not known here: give {_KINDS}.")
