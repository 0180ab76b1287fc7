"""All tools that there are, by name and as a model is told of them. `agent/toolbox` keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.agent.offered import FIND_TOOLS
from bethink.llm import ToolSchema
from bethink.messages import tokens_in
from bethink.tools import documents, images, people, web

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.tool import Tool

_ALIASES = (
    {"search_memories": "search_memory"} | documents.ALIASES | images.ALIASES | people.ALIASES | web.ALIASES
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
    few = [one for name, one in single.items() if name != FIND_TOOLS]
    aliases = {alias: by_name[of] for alias, of in _ALIASES.items() if of in by_name}
    offer = Offer(tuple(one.schemas[0] for one in few), sum(one.tokens for one in few))
    return Known(given, aliases | by_name, offer, single)


def _alone(tool: Tool) -> Offer:
    schema = ToolSchema(tool.name, tool.description, tool.parameters)
    return Offer((schema,), tokens_in(str(schema.parameters) + schema.description))
