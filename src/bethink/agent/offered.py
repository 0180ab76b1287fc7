"""Which tools a model is told of: all while they are few, else Bethink's own and those that were found.

`agent/loop` asks before every step. Schemas cost tokens in every request, and a
model that is shown a hundred tools takes the wrong one; so with more than a few,
those of servers and plug-ins are found by `find_tools`, and stay on offer in the
conversation in which they were found.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import log as logarithm
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from bethink.messages import AssistantMessage, ToolMessage
from bethink.tool import ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bethink.messages import Message
    from bethink.tool import Tool

FIND_TOOLS = "find_tools"
_MOST_FOUND = 8
_WORD = re.compile(r"[a-z]+|\d+")
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME_WEIGHT = 3
"""A word of the name tells more than one of the description."""
_SHORTEST = 3
_SHOWN_CHARS = 200


def offered(tools: Sequence[Tool], messages: Sequence[Message], most: int) -> list[Tool]:
    """The tools to tell the model of, in their order.

    All without `find_tools` where they are at most `most`; else those of
    Bethink itself, and those that were found or called in `messages`.
    """
    search = [one for one in tools if one.name == FIND_TOOLS]
    others = [one for one in tools if one.name != FIND_TOOLS]
    if len(others) <= most or not search:
        return others
    known = _found(messages)
    return [one for one in others if not one.source or one.name in known] + search


def reads(one: Tool) -> bool:
    """Whether a tool reads what is the owner's: of such a key without the scope `read` has none."""
    return one.effect == "read" and one.name != FIND_TOOLS


def _found(messages: Sequence[Message]) -> set[str]:
    """The names that searches of the conversation gave, and those that were called."""
    names: set[str] = set()
    for message in messages:
        match message:
            case ToolMessage(name=name, content=content, error=None) if name == FIND_TOOLS:
                names |= set(_listed(content))
            case AssistantMessage():
                names |= {call.name for call in message.tool_calls}
            case _:
                pass
    return names


def _listed(content: str) -> list[str]:
    """The names in what `find_tools` answered: the first word of each line of its list."""
    return re.findall(r"^- ([A-Za-z0-9_-]+):", content, re.MULTILINE)


def search_tool(tools: Callable[[], Sequence[Tool]]) -> Tool:
    """`find_tools` over all tools that there are when it is called."""

    @tool(effect="read", label="Look for tools: {query}")
    async def find_tools(
        context: ToolContext,
        query: Annotated[
            str, Field(description="What the tool should do, in a few words.", min_length=1, max_length=500)
        ],
    ) -> ToolOutput:
        """Find more tools by what they do.

        There are more tools than those listed here. Call this when none of
        them does what is asked for; the tools found can be called from the
        next step on.
        """
        del context
        best = found(tools(), query)
        if not best:
            return ToolOutput("No tool fits. Try other words.")
        lines = [f"- {one.name}: {' '.join(one.description.split())[:_SHOWN_CHARS]}" for one in best]
        return ToolOutput(
            "\n".join(("These tools can be called now:", *lines)),
            # What a server says of its tools are its words as much as what they answer.
            untrusted=any(one.trust == "untrusted" for one in best),
        )

    return find_tools


def found(tools: Sequence[Tool], query: str) -> list[Tool]:
    """The tools of servers and plug-ins that fit best, best first: by words, the rarer the weightier."""
    foreign = [one for one in tools if one.source]
    words = [_words_of(one) for one in foreign]
    spread = Counter(word for counted in words for word in counted)
    wanted = set(_words(query))

    def score(counted: Counter[str]) -> float:
        return sum(
            counted[word] * logarithm(1 + len(foreign) / spread[word]) for word in wanted & counted.keys()
        )

    ranked = sorted(
        (
            (score(counted), -place, one)
            for place, (counted, one) in enumerate(zip(words, foreign, strict=True))
        ),
        key=lambda entry: entry[:2],
        reverse=True,
    )
    return [one for points, _, one in ranked[:_MOST_FOUND] if points > 0]


def _words_of(one: Tool) -> Counter[str]:
    parameters: Any = one.parameters.get("properties", {})
    told = set(_words(f"{one.description} {json.dumps(list(parameters))}"))
    return Counter(dict.fromkeys(_words(f"{one.source} {one.name}"), _NAME_WEIGHT)) + Counter(told)


def _words(text: str) -> list[str]:
    """Words in small letters, without the endings that change nothing of what they mean here."""
    return [_stem(word) for word in _WORD.findall(_CASES.sub(" ", text).lower()) if len(word) >= _SHORTEST]


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > _SHORTEST else word
