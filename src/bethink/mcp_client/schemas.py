"""A foreign JSON Schema as models and the check of arguments take it: plain, closed in itself, bounded.

What stays means the same; what goes makes it looser, never stricter, since the
server checks for itself. References are written out. Regular expressions go
into the description: matching a hostile one can take for ever. `tools/mcp.py`
and `sdk_session.py` use it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgspec

from bethink.tool import has_secrets

_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_NUMBERS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    }
)
_SECRET: dict[str, Any] = {"writeOnly": True}
"""What is secret is masked by it (`masking`): it stays, however much of the schema goes."""
_MAX_BYTES = 24_000
"""A longer schema costs more than what it says is worth: about 7,000 tokens in every request."""
_MAX_ENUM = 200
_MAX_VALUE_BYTES = 500
_MAX_PATTERN_CHARS = 100


class _Bounds(NamedTuple):
    depth: int
    nodes: int
    description: int


_BOUNDS = (_Bounds(10, 1_500, 600), _Bounds(4, 300, 120), _Bounds(1, 200, 60))
"""The first under which the schema is short enough."""


def plain(schema: object) -> dict[str, Any]:
    """The schema of an object, for a model and for checking arguments."""
    made: dict[str, Any] = {}
    cut = _SECRET if has_secrets(schema) else {}
    for bounds in _BOUNDS:
        made = _Writer(schema, bounds, cut).root()
        if len(msgspec.json.encode(made)) <= _MAX_BYTES:
            return made
    if not cut:
        return {"type": "object", "properties": {}}
    members: object = cast("dict[str, Any]", schema).get("properties")
    names = list(cast("dict[str, Any]", members)) if isinstance(members, dict) else []
    return {"type": "object", "properties": dict.fromkeys(names, _SECRET)}


class _Writer:
    """Writes one schema plainly."""

    def __init__(self, schema: object, bounds: _Bounds, cut: dict[str, Any]) -> None:
        self._document = schema
        self._cut = cut
        self._bounds = bounds
        self._nodes = 0

    def root(self) -> dict[str, Any]:
        """The whole, as an object without alternatives at its top: several models refuse those."""
        made = self._written(self._document, 0, ())
        properties = cast("dict[str, Any]", made.get("properties", {}))
        required = list(cast("list[str]", made.get("required", [])))
        is_closed = made.get("additionalProperties") is False
        for key in ("allOf", "anyOf"):
            branches = cast("list[dict[str, Any]]", made.pop(key, []))
            for branch in branches:
                properties = branch.get("properties", {}) | properties
                is_closed = is_closed and branch.get("additionalProperties") is False
            demands = [set[str](branch.get("required", [])) for branch in branches]
            # What all the branches demand together, or what each of them does.
            join = set[str].union if key == "allOf" else set[str].intersection
            required += sorted(join(*demands)) if demands else []
        for extra in ("enum", "const", "default", "items"):
            made.pop(extra, None)
        made |= {"type": "object", "properties": properties}
        made["required"] = [name for name in dict.fromkeys(required) if name in properties]
        if not is_closed:
            made.pop("additionalProperties", None)
        if not made["required"]:
            del made["required"]
        return made

    def _written(self, schema: object, depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        self._nodes += 1
        if not isinstance(schema, dict) or depth > self._bounds.depth or self._nodes > self._bounds.nodes:
            return self._cut
        part = cast("dict[str, Any]", schema)
        if isinstance(reference := part.get("$ref"), str):
            target = {} if reference in within else self._found(reference)
            rest = {key: value for key, value in part.items() if key != "$ref"}
            return self._written(target | rest, depth, (*within, reference))
        made = self._kind(part) | self._limits(part)
        made |= self._members(part, depth, within)
        return made | self._alternatives(part, depth, within)

    def _found(self, reference: str) -> dict[str, Any]:
        """What a reference inside the schema leads to; nothing is loaded for one that leads outside."""
        if not reference.startswith("#"):
            return {}
        place: Any = self._document
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, dict) or name not in place:
                return {}
            place = cast("dict[str, Any]", place)[name]
        return cast("dict[str, Any]", place) if isinstance(place, dict) else {}

    def _kind(self, part: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        kind = part.get("type")
        if isinstance(kind, list):
            kind = [one for one in cast("list[Any]", kind) if isinstance(one, str) and one in _TYPES]
        if (isinstance(kind, str) and kind in _TYPES) or (isinstance(kind, list) and kind):
            made["type"] = kind
        elif isinstance(part.get("properties"), dict):
            made["type"] = "object"
        elif isinstance(part.get("items"), dict):
            made["type"] = "array"
        found, pattern = part.get("description"), part.get("pattern")
        text = found if isinstance(found, str) else ""
        if isinstance(pattern, str) and len(pattern) <= _MAX_PATTERN_CHARS:
            text = f"{text} (pattern: {pattern})".strip()
        most = self._bounds.description
        if text:
            made["description"] = text if len(text) <= most else f"{text[: most - 1]}…"
        return made

    @staticmethod
    def _limits(part: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {
            key: part[key]
            for key in _NUMBERS & part.keys()
            if isinstance(part[key], int | float) and not isinstance(part[key], bool)
        }
        if part.get("writeOnly") is True:
            made |= _SECRET
        if isinstance(part.get("format"), str):
            made["format"] = part["format"]
        enum = part.get("enum")
        if isinstance(enum, list) and 0 < len(cast("list[Any]", enum)) <= _MAX_ENUM:
            made["enum"] = enum
        for key in ("const", "default"):
            if key in part and len(msgspec.json.encode(part[key])) <= _MAX_VALUE_BYTES:
                made[key] = part[key]
        return made

    def _members(self, part: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        properties = part.get("properties")
        if isinstance(properties, dict):
            members = cast("dict[str, Any]", properties)
            made["properties"] = {
                name: self._written(member, depth + 1, within)
                for name, member in members.items()
                if member is not False
            }
        demanded = part.get("required")
        names = cast("list[Any]", demanded) if isinstance(demanded, list) else []
        if kept := [name for name in names if isinstance(name, str)]:
            made["required"] = kept
        if isinstance(part.get("items"), dict):
            made["items"] = self._written(part["items"], depth + 1, within)
        others: object = part.get("additionalProperties")
        if isinstance(others, dict):
            made["additionalProperties"] = self._written(cast("object", others), depth + 1, within)
        elif others is False and "patternProperties" not in part:
            made["additionalProperties"] = False
        return made

    def _alternatives(self, part: dict[str, Any], depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        """`oneOf` becomes `anyOf`: without what was left out, more than one may fit."""
        made: dict[str, Any] = {}
        for key, name in (("oneOf", "anyOf"), ("anyOf", "anyOf"), ("allOf", "allOf")):
            branches = part.get(key)
            if isinstance(branches, list) and branches:
                found = [self._written(branch, depth + 1, within) for branch in cast("list[Any]", branches)]
                made[name] = made.get(name, []) + found
        return made
