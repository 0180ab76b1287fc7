"""All tools that there are, by name and as a model is told of them. `agent/toolbox` keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec

from bethink.agent.offered import SEARCH_TOOLS
from bethink.llm import ToolSchema
from bethink.messages import tokens_of_bytes
from bethink.tools import documents, images, people, web

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.tool import Tool

_ALIASES = (
    {"search_memories": "search_memory", "find_tools": "search_tools"}
    | documents.ALIASES
    | images.ALIASES
    | people.ALIASES
    | web.ALIASES
)
"""Other names that the source documents and their code have for the same tools."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a model is told of in one request, and about how many tokens that takes."""

    schemas: tuple[ToolSchema, ...] = ()
    tokens: int = 0


NO_TOOLS = Offer()


@dataclass(frozen=True, slots=True)
class Known:
    """All tools as the sources gave them; made anew when one of them gives another tuple."""

    given: tuple[Sequence[Tool], ...]
    by_name: Mapping[str, Tool]
    offer: Offer
    schemas: Mapping[str, Offer]


def known(given: tuple[Sequence[Tool], ...], last: Known | None = None) -> Known:
    """All tools; what was worked out in `last` for one that is still there is not worked out again."""
    by_name: dict[str, Tool] = {}
    for tool in (tool for tools in given for tool in tools):
        by_name.setdefault(tool.name, tool)

    def alone(name: str, tool: Tool) -> Offer:
        if last is not None and last.by_name.get(name) is tool and name in last.schemas:
            return last.schemas[name]
        return _alone(tool)

    single = {name: alone(name, tool) for name, tool in by_name.items()}
    few = [one for name, one in single.items() if name != SEARCH_TOOLS]
    aliases = {alias: by_name[of] for alias, of in _ALIASES.items() if of in by_name}
    offer = Offer(tuple(one.schemas[0] for one in few), sum(one.tokens for one in few))
    return Known(given, aliases | by_name, offer, single)


def brief(schema: ToolSchema) -> Offer:
    """The tool as a model with a small window is told of it: by the first sentence alone."""
    first = schema.description.partition("\n\n")[0]
    return _offer(ToolSchema(schema.name, first, _without_descriptions(schema.parameters)))


def _alone(tool: Tool) -> Offer:
    parameters = tool.parameters if tool.source else _plain(tool.parameters, tool.parameters.get("$defs", {}))
    return _offer(ToolSchema(tool.name, tool.description, parameters))


def _offer(schema: ToolSchema) -> Offer:
    function = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return Offer(
        (schema,), tokens_of_bytes(len(msgspec.json.encode({"type": "function", "function": function})))
    )


_UNSAID = frozenset({"$defs", "title"})


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of our own in fewer words: what may be left out is not said to be null as well."""
    if "$ref" in schema:
        named = definitions[str(schema["$ref"]).rpartition("/")[2]]
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    plain = {key: value for key, value in schema.items() if key not in _UNSAID}
    match plain.get("anyOf"):
        case [one, {"type": "null"}]:
            del plain["anyOf"]
            plain = _plain(cast("dict[str, Any]", one), definitions) | plain
        case _:
            pass
    if plain.get("default", "") is None:
        del plain["default"]
    for key, value in plain.items():
        if key == "properties":
            plain[key] = {name: _plain(one, definitions) for name, one in value.items()}
        elif isinstance(value, dict):
            plain[key] = _plain(cast("dict[str, Any]", value), definitions)
    return plain


def _without_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _without_descriptions(one) for name, one in value.items()}
        elif key not in {"description", "default"}:
            kept[key] = value
    return kept
