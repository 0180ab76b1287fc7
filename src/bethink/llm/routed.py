"""Tools for a model whose chat template knows none: which one is asked by a schema, the answer plainly.

`llamacpp` puts this around such a model, a setting around any other. Such a template leaves tools out
without a word. A schema that the server enforces cannot be left out: each tool is one branch of it,
and so is answering without one. The answer itself is then asked for plainly, since a small
model that must write its sentences within JSON writes worse ones.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.errors import InvalidResponse, Refused
from bethink.events import TextDelta, TextSoFar, Warned
from bethink.llm import NO_OPTIONS, Delta, Finish, LlmRequest, LlmWrapper, ToolCallDelta, with_spent
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage

if TYPE_CHECKING:
    from bethink.llm import ToolSchema

NO_TOOL: Final = "answer"
"""The branch for answering at once."""
_ROUTE_TOKENS: Final = 2_000
"""A page may be written with a call; a model that repeats itself would fill its whole window."""
_KEPT: Final = frozenset({"type", "enum", "const", "required", "additionalProperties"})
"""Of a schema, what grammars are made of everywhere. Lengths and patterns would make them huge; the
arguments are checked against the whole schema before the call is made."""
_HEAD: Final = """\
# Tools
Decide what to do next. Write one JSON object:
{"tool": "NAME", "arguments": {…}} to have a tool called,
or {"tool": "answer", "arguments": {}} when what you know is enough to answer, or when a tool has told it.

"""
_EXAMPLES: Final = """
Examples of deciding:
Hello! -> {"tool": "answer", "arguments": {}}"""
_ASKED: Final = "Which tool is to be called next? Use what the tools above have told."
_ANSWER: Final = "Now answer in plain words, from what was said and what the tools told."


class _Route(msgspec.Struct):
    tool: str
    arguments: dict[str, Any] = {}


class RoutedLlm(LlmWrapper):
    """A model without tools of its own."""

    _takes_schema = True

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`. A request that offers tools costs two answers where none of them is called."""
        spent: list[Finish] = []
        if request.tools and self._takes_schema:
            try:
                route = await self._route(request, spent)
            except Refused as refused:
                self._takes_schema = False
                yield Warned(part="model", message=f"{refused} Going on without tools: it takes no schema.")
            else:
                if route.tool != NO_TOOL:
                    arguments = msgspec.json.encode(route.arguments).decode()
                    yield ToolCallDelta(0, self._new_id(), route.tool, arguments)
                    yield msgspec.structs.replace(spent[-1], reason="tool_calls")
                    return
        async with aclosing(self._inner.stream(plainly(request))) as deltas:
            async for delta in deltas:
                yield with_spent(delta, spent) if isinstance(delta, Finish) else delta

    async def _route(self, request: LlmRequest, spent: list[Finish]) -> _Route:
        """Which tool, if any.

        Raises:
            InvalidResponse: the model wrote something else.
        """
        texts: list[str] = []
        async with aclosing(self._inner.stream(routing(request))) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextDelta):
                    texts.append(delta.text)
                elif isinstance(delta, TextSoFar):
                    texts[:] = [delta.text]
                elif isinstance(delta, Finish):
                    spent.append(delta)
        try:
            route = msgspec.json.decode("".join(texts), type=_Route)
        except msgspec.DecodeError as error:
            raise InvalidResponse(f"{self.name} was to choose a tool and wrote no such choice.") from error
        known = {tool.name for tool in request.tools} | {NO_TOOL}
        if route.tool not in known:
            raise InvalidResponse(f"{self.name} chose {route.tool[:80]!r}, which is not a tool.")
        return route


def routing(request: LlmRequest) -> LlmRequest:
    """The question which tool is to be called."""
    told = "\n".join(_described(tool) for tool in request.tools)
    messages = in_words(request.messages)
    if messages and isinstance(request.messages[-1], ToolMessage):
        messages = _joined([*messages, UserMessage(_ASKED)])
    return replace(
        request,
        system=f"{request.system.rstrip()}\n\n{_HEAD}{told}\n{_EXAMPLES}".strip(),
        messages=tuple(messages),
        tools=(),
        must_call=False,
        temperature=0,
        options=NO_OPTIONS,
        max_output_tokens=_ROUTE_TOKENS,
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "next_step",
                "strict": True,
                "schema": schema_of(request.tools, must_call=request.must_call),
            },
        },
    )


def plainly(request: LlmRequest) -> LlmRequest:
    """The request for the answer itself: calls and results told in words, nothing offered."""
    messages = in_words(request.messages)
    if request.messages and isinstance(request.messages[-1], ToolMessage):
        messages = _joined([*messages, UserMessage(_ANSWER)])
    return replace(request, messages=tuple(messages), tools=(), must_call=False)


def schema_of(tools: Sequence[ToolSchema], *, must_call: bool = False) -> dict[str, Any]:
    """One branch a tool, and one for answering unless a tool must be called."""
    branches = [
        _branch(tool.name, _plain(tool.parameters, tool.parameters.get("$defs", {}))) for tool in tools
    ]
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    return {"anyOf": branches if must_call else [*branches, _branch(NO_TOOL, nothing)]}


def _branch(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


_MOST_DEPTH: Final = 8


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """The schema without what no grammar needs, its references in place."""
    if depth > _MOST_DEPTH:
        return {}
    if "$ref" in schema:
        named = str(schema["$ref"]).rpartition("/")[2]
        return _plain(definitions.get(named, {}), definitions, depth + 1)
    plain: dict[str, Any] = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in schema:
        plain["properties"] = {
            name: _plain(one, definitions, depth + 1) for name, one in schema["properties"].items()
        }
    if "items" in schema:
        plain["items"] = _plain(schema["items"], definitions, depth + 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            plain["anyOf"] = [_plain(one, definitions, depth + 1) for one in schema[choice]]
    return plain


def _described(tool: ToolSchema) -> str:
    """A tool in words, short: small models lose themselves in long prompts."""
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    lines = [f"- {tool.name}: {tool.description.partition(chr(10) * 2)[0]}"]
    for name, schema in properties.items():
        told = " ".join(str(schema.get("description", "")).split())
        lines.append(f"    {name}{'' if name in required else ' (may be left out)'}: {told}")
    return "\n".join(lines)


def in_words(messages: Sequence[Message]) -> list[Message]:
    """What was said, with calls as the model writes them and results as somebody tells them."""
    told: list[Message] = []
    for message in messages:
        match message:
            case ToolMessage():
                told.append(UserMessage(f"[{message.name} told]\n{message.content}"))
            case AssistantMessage(tool_calls=calls) if calls:
                written = [_choice(call.name, call.arguments) for call in calls]
                told.append(AssistantMessage("\n".join(filter(None, (message.content, *written)))))
            case _:
                told.append(message)
    return _joined(told)


def _joined(messages: Sequence[Message]) -> list[Message]:
    """The messages, turn about: many templates refuse two of one side in a row."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            both = (*last.attachments, *message.attachments)
            joined[-1] = UserMessage(f"{last.content}\n\n{message.content}", both)
        else:
            joined.append(message)
    return joined


def _choice(name: str, arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        given = {}
    return json.dumps({"tool": name, "arguments": given}, ensure_ascii=False)
