"""Arguments of calls as they may be kept and shown: what is secret in them is masked.

A property of a tool's schema that says `"writeOnly": true` (JSON Schema 2020-12,
validation, 9.4) holds what goes in and never comes out. `agent/toolbox` masks it
in every call before anything is stored, sent on or shown, of Bethink's own tools
and of foreign ones alike; in texts of such a call card numbers are masked, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_DIGITS = re.compile(r"(?<![\w+*-])\d(?:[ -]?\d){12,18}(?![\w-])")
_SHOWN_DIGITS = 4
_LEAST_DIGITS = 13
"""A shorter number is not shown in part: four digits of a code would be the code."""
HIDDEN = "***"
UNREADABLE = "{}"
"""Stands for arguments that are no JSON: nobody can tell what of them is secret."""

Schema = Mapping[str, Any]


def has_card_number(text: str) -> bool:
    """Whether a text holds digits that can be a payment card's number."""
    return any(has_check_digit(match.group()) for match in _DIGITS.finditer(text))


def has_secrets(schema: Schema) -> bool:
    """Whether some property of the arguments is secret."""
    match schema:
        case {"writeOnly": True}:
            return True
        case _:
            return any(_holds(value) for value in schema.values())


def masked(arguments: str, schema: Schema) -> str:
    """The arguments, JSON text, with what is secret by the schema masked."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        return UNREADABLE
    return json.dumps(masked_value(given, schema, schema), ensure_ascii=False)


def masked_value(value: Any, schema: Schema, root: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A value with what is secret by its schema masked; `root` holds what `$ref` points to."""
    shapes = list(_shapes(schema, root))
    if any(shape.get("writeOnly") is True for shape in shapes):
        return _hidden(value)
    if any(has_secrets(shape) for shape in shapes):
        return _parted(value, shapes, root)
    match value:
        case dict():
            known = {name: part for shape in shapes for name, part in shape.get("properties", {}).items()}
            return {name: masked_value(part, known.get(name, {}), root) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
        case list():
            items: Schema = {}
            for shape in shapes:
                items = shape.get("items") or items
            return [masked_value(part, items, root) for part in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case str():
            return _DIGITS.sub(_masked_card, value)
        case _:
            return value


def restored(edited: Any, shown: Any, whole: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a person made of a masked value, with what stayed as it was `shown` as it is in the `whole`."""
    if edited == shown:
        return whole
    match edited, shown, whole:
        case dict(), dict(), dict():
            return {
                name: restored(part, shown[name], whole[name]) if name in shown and name in whole else part
                for name, part in edited.items()  # pyright: ignore[reportUnknownVariableType] - JSON
            }
        case list(), list(), list() if len(edited) == len(shown) == len(whole):  # pyright: ignore[reportUnknownArgumentType] - JSON
            return [restored(*parts) for parts in zip(edited, shown, whole, strict=True)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case _:
            return edited


def _parted(value: Any, shapes: list[Schema], root: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A value with secret parts: of what does not have its shape nobody can tell which they are."""
    known = {name: part for shape in shapes for name, part in shape.get("properties", {}).items()}
    items = next((shape["items"] for shape in shapes if "items" in shape), None)
    match value:
        case dict() if known:
            given = cast("dict[str, Any]", value)
            return {
                name: masked_value(part, known[name], root) if name in known else _hidden(part)
                for name, part in given.items()
            }
        case list() if items is not None:
            return [masked_value(part, items, root) for part in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return _hidden(value)


def _holds(value: object) -> bool:
    match value:
        case dict():
            return has_secrets(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        case list():
            return any(_holds(part) for part in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
        case _:
            return False


def _shapes(schema: Schema, root: Schema) -> list[Schema]:
    """The schema with all that it may be instead."""
    found: list[Schema] = []
    left = [schema]
    while left:
        shape = left.pop()
        if any(shape is known for known in found):
            continue
        found.append(shape)
        for way in ("anyOf", "oneOf", "allOf"):
            left += [part for part in shape.get(way, ()) if isinstance(part, dict)]
        if (to := str(shape.get("$ref", ""))).startswith("#/$defs/"):
            left += [root.get("$defs", {}).get(to.removeprefix("#/$defs/"), {})]
    return found


def _hidden(value: object) -> object:
    if value is None:
        return None
    digits = re.sub(r"\D", "", str(value))
    return HIDDEN if len(digits) < _LEAST_DIGITS else f"****-{digits[-_SHOWN_DIGITS:]}"


def _masked_card(match: re.Match[str]) -> str:
    number = match.group()
    return f"****-{number[-_SHOWN_DIGITS:]}" if has_check_digit(number) else number


def has_check_digit(text: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812-1, annex B)."""
    digits = [int(char) for char in reversed(text) if char.isdecimal()]
    doubled = [2 * digit - 9 * (digit > _HALF) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0 and any(digits)


_HALF = 4
