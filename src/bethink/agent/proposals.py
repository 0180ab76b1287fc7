"""What a model proposes to remember, read from its answer. `agent/extraction` asks for it and judges it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal, cast

import msgspec

from bethink.memory.facts import CATEGORIES

FACT_CHARS: Final = 300
THOUGHT: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_BEGINS: Final = re.compile(r"[\[{]")
_MOST_BEGINS: Final = 40


class Proposal(msgspec.Struct, frozen=True):
    """What a model proposes; `of` names known facts by the labels that it was given."""

    fact: Annotated[str, msgspec.Meta(max_length=FACT_CHARS)] = ""
    quote: Annotated[str, msgspec.Meta(max_length=1_000)] = ""
    do: Literal["add", "replace", "correct", "forget"] = "add"
    turn: int = 1
    about: Annotated[str, msgspec.Meta(max_length=100)] = "user"
    of: tuple[str, ...] = ()
    sure: bool = True
    category: str = "general"
    importance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    topics: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=8)
    ] = ()


def _listed(kind: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}}


_PROPERTIES: Final[dict[str, Any]] = {
    "do": {"type": "string", "enum": ["add", "replace", "correct", "forget"]},
    "turn": {"type": "integer"},
    "quote": {"type": "string"},
    "fact": {"type": "string"},
    "about": {"type": "string"},
    "of": _listed("string"),
    "sure": {"type": "boolean"},
    "category": {"type": "string", "enum": list(CATEGORIES)},
    "importance": {"type": "number"},
    "topics": _listed("string"),
}
_CHANGE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": list(_PROPERTIES),
    "additionalProperties": False,
}
FORMAT: Final[dict[str, Any]] = {
    "type": "json_schema",
    "json_schema": {
        "name": "changes",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"changes": {"type": "array", "items": _CHANGE}},
            "required": ["changes"],
            "additionalProperties": False,
        },
    },
}
"""Source: OpenAI's API reference, "Structured model outputs", the strict form."""


def parsed(text: str) -> Sequence[Proposal] | None:
    """The proposals in a model's answer, whatever stands around them; None if there is no list."""
    for raw in objects_in(text):
        entries = raw
        if isinstance(raw, dict):
            held = cast("dict[str, Any]", raw)
            entries = next((held[key] for key in ("changes", "facts") if key in held), [held])
        if not isinstance(entries, list):
            continue
        listed = cast("list[Any]", entries)
        found = [one for one in map(_proposal, listed) if one is not None]
        if found or not listed:
            return found
    return None


def objects_in(text: str) -> Iterator[Any]:
    """The JSON objects and lists in a model's answer, behind what it thought, whatever stands around them."""
    text = THOUGHT.sub(" ", text)
    decoder, end = json.JSONDecoder(), 0
    for begun in [*_BEGINS.finditer(text)][:_MOST_BEGINS]:
        if begun.start() < end:
            continue
        try:
            raw, end = decoder.raw_decode(text, begun.start())
        except (ValueError, RecursionError):
            continue
        yield raw


def _proposal(raw: object) -> Proposal | None:
    if not isinstance(raw, dict):
        return None
    held = cast("dict[str, Any]", raw)
    fields = {key: value for key, value in held.items() if value is not None}
    fields.setdefault("fact", fields.get("content", ""))
    try:
        one = msgspec.convert(fields, Proposal, strict=False)
    except msgspec.ValidationError:
        return None
    return one if one.fact.strip() or one.do == "forget" else None
