"""What is masked in calls and their results before anybody is shown, sent or keeps them: secrets, numbers.

A property of a tool's schema that says `"writeOnly": true` (JSON Schema 2020-12,
validation, 9.4) holds what goes in and never comes out. `agent/toolbox` masks it
in every call before anything is stored, sent on or shown, of Bethink's own tools
and of foreign ones alike; in texts of such a call card numbers are masked, too.

Personal numbers in what tools return have a shape and, if there is one, a check digit: ids, dates, prices
and code stay as they are. Files that a tool made are not looked into.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, cast

from bethink.tool import Schema, ToolOutput, has_secrets

if TYPE_CHECKING:
    from bethink.settings import Redacted


_DIGITS = re.compile(r"(?<![\w+*-])\d(?:[ -]?\d){12,18}(?![\w-])")
_SHOWN_DIGITS = 4
_LEAST_DIGITS = 13
"""A shorter number is not shown in part: four digits of a code would be the code."""
HIDDEN = "***"
UNREADABLE = "{}"
"""Stands for arguments that are no JSON: nobody can tell what of them is secret."""


def has_card_number(text: str) -> bool:
    """Whether a text holds digits that can be a payment card's number."""
    return any(has_check_digit(match.group()) for match in _DIGITS.finditer(text))


def masked(arguments: str, schema: Schema) -> str:
    """The arguments, JSON text, with what is secret by the schema masked."""
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError:
        return UNREADABLE
    return json.dumps(masked_value(parsed, schema, schema), ensure_ascii=False)


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
            members = cast("dict[str, Any]", value)
            return {
                name: masked_value(part, known[name], root) if name in known else _hidden(part)
                for name, part in members.items()
            }
        case list() if items is not None:
            return [masked_value(part, items, root) for part in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return _hidden(value)


def _shapes(schema: Schema, root: Schema) -> list[Schema]:
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


Counts = Counter[str]
"""How many of each kind were masked."""

# Each begins with what is rare in texts, and looks back from there: that is several times as fast.
_CARD: Final = re.compile(
    r"[2-9](?=[0-9]{3}[0-9 .\u00a0-])(?<![^\W_][0-9])(?<![_+/][0-9])(?<!\w[.-][0-9])"
    r"(?:[0-9]{12,18}"
    r"|[0-9]{3}(?P<by>[ .\u00a0-])[0-9]{4}(?P=by)[0-9]{4}(?P=by)[0-9]{4}(?:(?P=by)[0-9]{3}(?!\w))?"
    r"|[0-9]{3}(?P<of>[ .\u00a0-])[0-9]{6}(?P=of)[0-9]{4,5})"
    r"(?!\w|\.[0-9]|-\w)"
)
"""No card begins with 0 or 1, but times in milli- and microseconds do."""
_LONG: Final = 19
_SSN: Final = re.compile(
    r"[0-8](?=[0-9]{2}-[0-9]{2}-)(?<!\w[0-8])(?<![+/.,-][0-8])[0-9]{2}(?<!000)(?<!666)"
    r"-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w/-]|\.[0-9])"
)
"""Numbers that can have been given out (SSA, POMS RM 10201.035): no area 000, 666 or 9xx, no zero part."""
_NAMED_SSN: Final = re.compile(
    r"(?P<name>(?<!\w)(?:ssn|social[ _-]security(?:[ _-](?:number|no))?)\b\W{1,6}(?:is\s)?)"
    r"(?!000|666|9)[0-9]{3} ?(?!00)[0-9]{2} ?(?!0000)[0-9]{4}(?!\w)",
    re.IGNORECASE,
)
_ABROAD: Final = re.compile(
    r"\+(?<!\w\+)(?!\d{4}-\d\d-\d\d)[1-9](?:[ \u00a0./-]?\(?[0-9]\)?){7,14}(?![\w]|\.[0-9])"
)
"""ITU-T E.164: a country's code, at most 15 digits."""
_AT_HOME: Final = re.compile(
    r"[(02-9](?<![\w.+/-][(0-9])(?:(?<=\()[2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}"
    r"|(?<=[2-9])[0-9]{2}(?P<by>[.-])[2-9][0-9]{2}(?P=by)[0-9]{4}"
    r"|(?<=0)[1-9](?: [0-9]{2}){4}"
    r"|(?<=\()0[1-9][0-9]{1,4}\) ?[0-9]{3,4}[ -]?[0-9]{3,4}"
    r"|(?<=0)[1-9][0-9]{1,3} [0-9]{3,4}[ -][0-9]{3,4})(?![\w/-]|[.,][0-9])"
)
"""As numbers are written in North America, in France, and in Britain and Germany."""
_EMAIL: Final = re.compile(
    r"(?<![\w.%+-])(?!git@)[\w%+-][\w.%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w@-])"
)
_IBAN: Final = re.compile(r"[A-Z](?<!\w[A-Z])[A-Z][0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IBAN_LENGTHS: Final = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24
    FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
    LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24
    SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22 XK20
"""
"""Of each country (SWIFT, IBAN registry)."""
_LENGTHS: Final = {one[:2]: int(one[2:]) for one in _IBAN_LENGTHS.split()}


def _card(match: re.Match[str]) -> str | None:
    digits = re.sub(r"[^0-9]", "", match.group())
    if has_check_digit(digits):
        return f"XXXX-XXXX-XXXX-{digits[-4:]}"
    # A security code often stands behind: it is no part of the number.
    if len(digits) == _LONG and match["by"] and has_check_digit(digits[:-3]):
        return f"XXXX-XXXX-XXXX-{digits[-7:-3]} XXX"
    return None


def _iban(match: re.Match[str]) -> str | None:
    """Checked by remainder of 97 (ISO 7064, as ISO 13616 has it)."""
    number = match.group().replace(" ", "")
    if len(number) != _LENGTHS.get(number[:2]):
        return None
    moved = int("".join(str(int(char, 36)) for char in number[4:] + number[:4]))
    return f"{number[:2]}XX-XXXX-{number[-4:]}" if moved % 97 == 1 else None


_Mask = Callable[[re.Match[str]], "str | None"]


@dataclass(frozen=True, slots=True)
class _Finder:
    """What finds numbers of a kind. Only a text with one of `signs`, where they are given, can have some."""

    kind: Redacted
    pattern: re.Pattern[str]
    mask: _Mask
    signs: tuple[str, ...] = ()


_FINDERS: Final = (
    _Finder("email", _EMAIL, lambda _match: "[e-mail address]", ("@",)),
    _Finder("iban", _IBAN, _iban),
    _Finder("card", _CARD, _card),
    _Finder("ssn", _SSN, lambda _match: "XXX-XX-XXXX", ("-",)),
    _Finder("ssn", _NAMED_SSN, lambda match: f"{match['name']}XXX-XX-XXXX", ("ssn", "social")),
    _Finder("phone", _ABROAD, lambda _match: "[phone number]", ("+",)),
    _Finder("phone", _AT_HOME, lambda _match: "[phone number]"),
)


def redacted(text: str, kinds: Sequence[Redacted], counts: Counts) -> str:
    """The text with what is of these kinds masked; how many is added to `counts`."""
    lowered = text.lower()
    for finder in _FINDERS:
        if finder.kind in kinds and any(sign in lowered for sign in finder.signs or ("",)):
            text = _masked(text, finder, counts)
    return text


def _masked(text: str, finder: _Finder, counts: Counts) -> str:
    def put(match: re.Match[str]) -> str:
        instead = finder.mask(match)
        if instead is None:
            return match.group()
        counts[finder.kind] += 1
        return instead

    return finder.pattern.sub(put, text)


def redacted_value(value: Any, kinds: Sequence[Redacted], counts: Counts) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The same of a JSON value: its texts, its names, and numbers that are a card's."""
    match value:
        case str():
            return redacted(value, kinds, counts)
        case bool() | None:
            return value
        case int():
            shown = redacted(str(value), kinds, counts)
            return value if shown == str(value) else shown
        case Mapping():
            return {
                redacted(str(name), kinds, counts): redacted_value(part, kinds, counts)  # pyright: ignore[reportUnknownArgumentType] - JSON
                for name, part in value.items()  # pyright: ignore[reportUnknownVariableType] - JSON
            }
        case list() | tuple():
            return [redacted_value(part, kinds, counts) for part in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return value


@dataclass(frozen=True, slots=True)
class NumberMask:
    """What is masked in results: `kinds`, but for the tools that `exceptions` name, by name or pattern."""

    kinds: Sequence[Redacted] = ()
    exceptions: Mapping[str, Sequence[Redacted]] = field(default_factory=dict[str, "Sequence[Redacted]"])

    def kinds_of(self, tool: str) -> Sequence[Redacted]:
        """What is masked in this tool's results: a name goes before a pattern, a longer one first."""
        fitting = [name for name in self.exceptions if fnmatchcase(tool, name)]
        if not fitting:
            return self.kinds
        return self.exceptions[max(fitting, key=lambda name: ("*" not in name, len(name)))]

    def text(self, tool: str, text: str) -> str:
        """What a tool tells on its way, masked."""
        return redacted(text, self.kinds_of(tool), Counter())

    def output(self, tool: str, output: ToolOutput) -> tuple[ToolOutput, dict[str, int]]:
        """A result, masked in its text and its structure; and how many of each kind were."""
        kinds, counts, again = self.kinds_of(tool), Counter[str](), Counter[str]()
        if not kinds:
            return output, {}
        text = redacted(output.text, kinds, counts)
        structured = output.structured and redacted_value(output.structured, kinds, again)
        if not counts and not again:
            return output, {}
        # The structure says the same as the text: what stands in both is one.
        return replace(output, text=text, structured=structured), dict(counts | again)
