"""Which tools a model is told of: those that fit and are likeliest wanted; the others it searches for.

`agent/toolbox` asks before every step. Schemas cost tokens in every request, and a model that is shown
a hundred tools takes the wrong one. So Bethink's own are offered in their order while they fit into
their room, those of servers and plug-ins while they are few; the rest is found by `search_tools`, and
stays on offer in the conversation in which it was found.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import log as logarithm
from typing import Annotated, Any, cast

import msgspec
from pydantic import Field

from bethink.llm import ToolSchema
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage, tokens_of_bytes
from bethink.tool import OF_CLIENT, Tool, ToolContext, ToolOutput, tool


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The tools that a model is told of in one request, and about how many tokens that takes."""

    schemas: tuple[ToolSchema, ...] = ()
    tokens: int = 0

    @classmethod
    def of(cls, offers: Sequence[ToolOffer]) -> ToolOffer:
        """Several as one."""
        schemas = tuple(schema for one in offers for schema in one.schemas)
        return cls(schemas, sum(one.tokens for one in offers))


NO_TOOLS = ToolOffer()
SEARCH_TOOLS = "search_tools"
_FORMER_NAME = "find_tools"
"""What conversations of earlier versions call it."""
_MOST_FOUND = 8
_WORD = re.compile(r"[a-z]+|\d+")
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME_WEIGHT = 3
"""A word of the name tells more than one of the description."""
_SHORTEST = 3
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class ToolRoom:
    """How much of the window tools may take, in tokens: Bethink's `own`, and `all` of them.

    In a `brief` one each is described by its first sentence alone.
    """

    own: int
    all: int
    brief: bool = False


def select_tools(
    tools: Sequence[Tool],
    wanted: WantedTools,
    most: int,
    *,
    room: ToolRoom,
    size: Callable[[Tool], int],
    has_files: bool,
) -> list[Tool]:
    """The tools to tell the model of, in their order.

    All without `search_tools` if they are at most `most`, fit, and none is rare. Else, while they fit:
    the client's, which it must see; those that were found or called, the latest first;
    Bethink's own in their order, those for files only if it `has_files`, or their owner documents; rare
    ones that fit what the user says; the others if all fit. What fits stands behind the usual ones, so that
    a provider's cache of these holds on.
    """
    search = [one for one in tools if one.name == SEARCH_TOOLS]
    others = [one for one in tools if one.name != SEARCH_TOOLS]
    own = [one for one in others if not one.source]
    fits = sum(map(size, own)) <= room.own and sum(map(size, others)) <= room.all
    if not search or (fits and len(others) <= most and not any(one.rare for one in others)):
        return others
    by_name = {one.name: one for one in others}
    chosen = {one.name: one for one in (*search, *others) if one in search or one.origin == OF_CLIENT}
    taken = sum(map(size, chosen.values()))

    def take(wanted: Sequence[Tool], limit: int) -> None:
        """As many of them, in their order, as fit."""
        nonlocal taken
        for one in wanted:
            if one.name not in chosen:
                if taken + size(one) > limit:
                    return
                chosen[one.name] = one
                taken += size(one)

    take([by_name[name] for name in wanted.found if name in by_name], room.all)
    before = taken
    fitting = [by_name[name] for name in wanted.fitting if name in by_name and name not in chosen]
    # In a small window they leave the other half to the usual ones.
    for one in fitting:
        take([one], min(before + room.own // 2, room.all))
    usual = [one for one in own if not one.rare and (has_files or not one.needs_files)]
    take(usual, min(room.own + taken - before, room.all))
    foreign = [one for one in others if one.source and one.name not in chosen]
    if len(chosen) + len(foreign) <= most and taken + sum(map(size, foreign)) <= room.all:
        chosen |= {one.name: one for one in foreign}
    last = [one for one in fitting if one.name in chosen]
    return [one for one in (*others, *search) if one.name in chosen and one not in last] + last


_MOST_FITTING = 8
_MESSAGES = 6
"""How many of the user's messages say what a tool is wanted for: what was offered stays for a while."""
_CHARS = 2_000
_SAID = re.compile(r"\w+")
_LONG_CUE = 6
"""German puts words together: a long one may end another."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of rare tools by their first words: a cue is said if a word begins with each of its own."""

    words: frozenset[str]
    by_first: Mapping[str, Sequence[tuple[frozenset[str], str]]]
    order: Mapping[str, int]
    """The tools' places."""

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Cues:
        """The cues of these tools."""
        by_first: dict[str, list[tuple[frozenset[str], str]]] = {}
        words: set[str] = set()
        order: dict[str, int] = {}
        for one in tools:
            order[one.name] = len(order)
            for cue in one.cues if one.rare else ():
                parts = cue.split()
                words.update(parts)
                by_first.setdefault(parts[0], []).append((frozenset(parts), one.name))
        return cls(frozenset(words), by_first, order)

    def said_in(self, words: AbstractSet[str]) -> Counter[str]:
        """How many cues of each tool are said, by the tools' names."""
        pieces = {word[:end] for word in words for end in range(1, len(word) + 1)}
        pieces |= {word[start:] for word in words for start in range(len(word) - _LONG_CUE + 1)}
        said = self.words & pieces
        return Counter(
            name for first in said for parts, name in self.by_first.get(first, ()) if parts <= said
        )


@dataclass(frozen=True, slots=True)
class WantedTools:
    """Names of tools that a conversation calls for: those it `found`, those `fitting` its words.

    The found ones come the latest first, the fitting ones in the order in which they came to fit.
    """

    found: Sequence[str]
    fitting: Sequence[str]

    @classmethod
    def of(cls, messages: Sequence[Message], cues: Cues) -> WantedTools:
        """What these messages call for."""
        return cls(_found(messages), _fitting(messages, cues))


def _fitting(messages: Sequence[Message], cues: Cues) -> list[str]:
    """The rare tools that the user's last messages have a cue of, in the order in which they came to fit."""
    said = [message.content for message in messages if isinstance(message, UserMessage)][-_MESSAGES:]
    found: dict[str, tuple[int, int]] = {}
    for age, text in enumerate(reversed(said)):
        points = cues.said_in({word.casefold() for word in _SAID.findall(text[:_CHARS])})
        for place, name in enumerate(sorted(points, key=lambda name: (-points[name], cues.order[name]))):
            if name in found or len(found) < _MOST_FITTING:
                found[name] = (-age, found.get(name, (0, place))[1])
    return sorted(found, key=lambda name: found[name])


def _found(messages: Sequence[Message]) -> list[str]:
    """The names that searches of the conversation gave, and those that were called; the latest first."""
    names: list[str] = []
    for message in reversed(messages):
        match message:
            case ToolMessage(name=name, content=content, error=None) if name in {SEARCH_TOOLS, _FORMER_NAME}:
                # The first word of each line of its list.
                names += re.findall(r"^- ([A-Za-z0-9_-]+):", content, re.MULTILINE)
            case AssistantMessage():
                names += [call.name for call in message.tool_calls]
            case _:
                pass
    return list(dict.fromkeys(names))


def holds_files(messages: Sequence[Message]) -> bool:
    """Whether files came with what was said."""
    return any(message.attachments for message in messages if isinstance(message, UserMessage))


def reads(one: Tool) -> bool:
    """Whether a tool reads what is the owner's: of such a key without the scope `read` has none."""
    return one.effect == "read" and one.name != SEARCH_TOOLS


def search_tool(tools: Callable[[], Sequence[Tool]]) -> Tool:
    """`search_tools` over all tools that there are when it is called."""

    @tool(effect="read", label="Look for tools: {query}", aliases=(_FORMER_NAME,))
    async def search_tools(
        context: ToolContext,
        query: Annotated[
            str, Field(description="What the tool should do, in a few words.", min_length=1, max_length=500)
        ],
    ) -> ToolOutput:
        """Find more tools by what they do: there are more than those listed here.

        Call it before you say that you cannot do something. The tools found can be called from the
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

    return search_tools


def found(tools: Sequence[Tool], query: str) -> list[Tool]:
    """The tools that fit best, best first: by words, the rarer the weightier."""
    known = [one for one in tools if one.name != SEARCH_TOOLS]
    words = [_words_of(one) for one in known]
    spread = Counter(word for counted in words for word in counted)
    wanted = set(_words(query))

    def score(counted: Counter[str]) -> float:
        return sum(
            counted[word] * logarithm(1 + len(known) / spread[word]) for word in wanted & counted.keys()
        )

    ranked = sorted(
        (
            (score(counted), -place, one)
            for place, (counted, one) in enumerate(zip(words, known, strict=True))
        ),
        key=lambda entry: entry[:2],
        reverse=True,
    )
    return [one for points, _, one in ranked[:_MOST_FOUND] if points > 0]


def _words_of(one: Tool) -> Counter[str]:
    parameters: Any = one.parameters.get("properties", {})
    described = set(_words(f"{one.description} {json.dumps(list(parameters))}"))
    return Counter(dict.fromkeys(_words(f"{one.source} {one.name}"), _NAME_WEIGHT)) + Counter(described)


def _words(text: str) -> list[str]:
    """Words in small letters, without the endings that change nothing of what they mean here."""
    return [_stem(word) for word in _WORD.findall(_CASES.sub(" ", text).lower()) if len(word) >= _SHORTEST]


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > _SHORTEST else word


@dataclass(frozen=True, slots=True)
class ToolSnapshot:
    """All tools as the sources gave them; made anew when one of them gives another tuple."""

    given: tuple[Sequence[Tool], ...]
    by_name: Mapping[str, Tool]
    all: Sequence[Tool]
    schemas: Mapping[str, ToolOffer]
    cues: Cues


def snapshot_of(given: tuple[Sequence[Tool], ...], last: ToolSnapshot | None = None) -> ToolSnapshot:
    """All tools; what was worked out in `last` for one that is still there is not worked out again."""
    by_name: dict[str, Tool] = {}
    for one in (one for tools in given for one in tools):
        by_name.setdefault(one.name, one)

    def alone(name: str, tool: Tool) -> ToolOffer:
        if last is not None and last.by_name.get(name) is tool and name in last.schemas:
            return last.schemas[name]
        return _alone(tool)

    single = {name: alone(name, tool) for name, tool in by_name.items()}
    aliases = {alias: one for one in by_name.values() for alias in one.aliases}
    tools = tuple(by_name.values())
    return ToolSnapshot(given, aliases | by_name, tools, single, Cues.of(tools))


def brief(schema: ToolSchema) -> ToolOffer:
    """The tool as a model with a small window is told of it: by the first sentence alone."""
    first = schema.description.partition("\n\n")[0]
    return _offer(ToolSchema(schema.name, first, _without_descriptions(schema.parameters)))


def _alone(tool: Tool) -> ToolOffer:
    parameters = tool.parameters if tool.source else _plain(tool.parameters, tool.parameters.get("$defs", {}))
    return _offer(ToolSchema(tool.name, tool.description, parameters))


def _offer(schema: ToolSchema) -> ToolOffer:
    function = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return ToolOffer(
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
