"""What is offered to MCP clients, by family: a feature with tools. `bethink mcp --only` names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bethink.errors import BadInput
from bethink.features import FEATURES
from bethink.mcp_server.memory import conversation_tools, memory_tools

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.tool import Tool

Make = Callable[["App"], Sequence["Tool"]]


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that belong together: the toolbox's of that family, and some made for programs."""

    summary: str
    made: Sequence[Make] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a client is told of it; `output` is the schema of its structured answer."""

    tool: Tool
    output: dict[str, Any] | None = None


_MADE: dict[str, Sequence[Make]] = {"memory": (memory_tools, conversation_tools)}
FAMILIES: dict[str, Family] = {
    feature.name: Family(feature.mcp_summary, _MADE.get(feature.name, ()))
    for feature in FEATURES
    if feature.mcp_summary
}


def offers(app: App, only: Sequence[str] = ()) -> dict[str, Offer]:
    """What there is to offer now, by name; `only` names families. What is switched off is left out."""
    found: dict[str, Offer] = {}
    for name in only or FAMILIES:
        family = FAMILIES[name]
        made = [tool for make in family.made for tool in make(app)]
        for tool in (*made, *(tool for tool in app.toolbox.all if tool.family == name)):
            found.setdefault(tool.name, Offer(tool, tool.output_schema))
    return found


def families_of(text: str | None) -> tuple[str, ...]:
    """The families that a comma-separated list names, none for all.

    Raises:
        BadInput: there is no such family.
    """
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if name not in FAMILIES:
            raise BadInput(f"There is no family {name!r}: there are {', '.join(FAMILIES)}.")
    return names


def instructions(only: Sequence[str] = ()) -> str:
    """What a client's model is told of this server."""
    return "\n".join(FAMILIES[name].summary for name in only or FAMILIES)
