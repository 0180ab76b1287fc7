"""What a running call asks its owner: a form of plain fields, a page to visit, or leave to use their model.

MCP servers ask (`mcp_client`), `agent/runs` has them answered, doors show them. An answer goes to
who asked and is kept nowhere. Source: "Elicitation" of the Model Context Protocol, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec

from bethink.errors import BadInput

Value = str | int | float | bool | list[str]
Action = Literal["accept", "decline", "cancel"]
"""`decline` is a no, `cancel` that nobody decided."""
Mode = Literal["form", "url", "model"]

_MAX_FIELDS: Final = 20
_MAX_CHOICES: Final = 200
_NAME_CHARS: Final = 100
_ABOUT_CHARS: Final = 500
_TEXT_CHARS: Final = 4_000
_URL_CHARS: Final = 2_000
_VALUE_CHARS: Final = 10_000
_SECRET: Final = re.compile(
    r"passw|passphrase|secret|credential|api.?key|(access|private|security).?(key|code)|"
    r"(?<!max.)token(?!s)|\b(pin|otp|cvv|cvc)\b|(card|account).?number|\biban\b|\bssn\b",
    re.IGNORECASE,
)
"""Names of what may only be asked for on a page of the server's own."""
_FORMATS: Final = ("email", "uri", "date", "date-time")
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class QuestionChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What may be chosen."""

    value: str
    title: str


class QuestionField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a form. `least` and `most` bound a number, a text's characters, or how many are chosen."""

    name: str
    kind: Literal["text", "number", "integer", "boolean", "choice", "choices"]
    title: str = ""
    description: str = ""
    required: bool = False
    default: Value | None = None
    choices: tuple[QuestionChoice, ...] = ()
    format: Literal["", "email", "uri", "date", "date-time"] = ""
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What `source` asks; `text` are its words. It is taken as cancelled after `wait_s` seconds."""

    source: str
    mode: Mode
    text: str
    fields: tuple[QuestionField, ...] = ()
    url: str = ""
    wait_s: float = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What the owner decided; `values` are only those of an accepted form."""

    action: Action
    values: dict[str, Value] = field(default_factory=dict[str, Value], repr=False)


class GivenAnswer(msgspec.Struct, frozen=True):
    """An answer as a door hands it in, to the question of this id; its values are not checked yet."""

    question: str
    action: Action
    values: dict[str, Any] = {}


CANCELLED: Final = Answer("cancel")


async def ask_nobody(context: object, question: Question) -> Answer:
    """Where nobody can be asked."""
    del context, question
    return CANCELLED


def form(source: str, text: str, schema: dict[str, Any]) -> Question:
    """A form of a server's schema of plain fields.

    Raises:
        BadInput: it has other fields than plain ones, too many, or one that asks for a secret.
    """
    found = schema.get("properties")
    members = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if not members or len(members) > _MAX_FIELDS:
        raise BadInput(f"A form has 1 to {_MAX_FIELDS} fields.")
    demanded = schema.get("required")
    required = cast("list[Any]", demanded) if isinstance(demanded, list) else []
    fields = tuple(_field(name, part, required=name in required) for name, part in members.items())
    return Question(source, "form", text[:_TEXT_CHARS], fields)


def page(source: str, text: str, url: str) -> Question:
    """A page to visit.

    Raises:
        BadInput: its address is none of the web, or hides where it leads.
    """
    host = host_of(url)
    if not host or len(url) > _URL_CHARS or not url.isprintable() or " " in url:
        raise BadInput("The address of a page begins with https:// and the name of a host.")
    return Question(source, "url", text[:_TEXT_CHARS], url=url)


def host_of(url: str) -> str:
    """The host of an address of the web, as it is shown; "" for any other, or one with a user's name."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme not in {"https", "http"} or "@" in parts.netloc or "\\" in url:
        return ""
    try:
        # Letters that look alike are shown as what they are.
        return host.encode("idna").decode()
    except UnicodeError:
        return ""


def _field(name: str, part: object, *, required: bool) -> QuestionField:
    if not isinstance(part, dict) or not 0 < len(name) <= _NAME_CHARS:
        raise BadInput("A field of a form has a name and a type.")
    said = cast("dict[str, Any]", part)
    title, about = _text(said.get("title"), _NAME_CHARS), _text(said.get("description"), _ABOUT_CHARS)
    is_secret = said.get("format") == "password" or said.get("writeOnly") is True
    if is_secret or _SECRET.search(name.replace("_", " ")) or _SECRET.search(title):
        raise BadInput(f"A form may not ask for a secret ({name}): that needs a page of the server's own.")
    kind, choices = _kind(name, said)
    form_of, least, most = _bounds(said, kind)
    fresh = QuestionField(
        name=name,
        kind=kind,
        title=title,
        description=about,
        required=required,
        choices=choices,
        format=form_of,
        least=least,
        most=most,
    )
    try:
        return msgspec.structs.replace(fresh, default=_checked(fresh, said.get("default")))
    except BadInput:
        return fresh


def _kind(
    name: str, said: dict[str, Any]
) -> tuple[Literal["text", "number", "integer", "boolean", "choice", "choices"], tuple[QuestionChoice, ...]]:
    match said.get("type"):
        case "array":
            items = said.get("items")
            choices = _choices(cast("dict[str, Any]", items)) if isinstance(items, dict) else ()
            if choices:
                return "choices", choices
        case "string":
            choices = _choices(said)
            return ("choice", choices) if choices else ("text", ())
        case "number" | "integer" | "boolean" as kind:
            return kind, ()
        case _:
            pass
    raise BadInput(f"The field {name} of a form is neither a text, a number, a yes or no, nor a choice.")


def _choices(said: dict[str, Any]) -> tuple[QuestionChoice, ...]:
    listed = said.get("enum")
    if isinstance(listed, list):
        values = [one for one in cast("list[Any]", listed) if isinstance(one, str)][:_MAX_CHOICES]
        named = said.get("enumNames")
        names = cast("list[Any]", named) if isinstance(named, list) else []
        titles = [names[at] if at < len(names) else value for at, value in enumerate(values)]
        pairs = [(value, _text(title, _ABOUT_CHARS)) for value, title in zip(values, titles, strict=True)]
        return tuple(QuestionChoice(value=value, title=title or value) for value, title in pairs)
    found = said.get("oneOf", said.get("anyOf"))
    options = cast("list[Any]", found) if isinstance(found, list) else []
    made: list[QuestionChoice] = []
    for option in options[:_MAX_CHOICES]:
        match option:
            case {"const": str(value), **more}:
                title = _text(cast("dict[str, Any]", more).get("title"), _ABOUT_CHARS)
                made.append(QuestionChoice(value=value, title=title or value))
            case _:
                pass
    return tuple(made)


def _bounds(
    said: dict[str, Any], kind: str
) -> tuple[Literal["", "email", "uri", "date", "date-time"], float | None, float | None]:
    names = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}
    low, high = names.get(kind, ("minimum", "maximum"))
    least, most = (
        value if isinstance(value := said.get(key), int | float) and not isinstance(value, bool) else None
        for key in (low, high)
    )
    found = said.get("format")
    return (found if found in _FORMATS and kind == "text" else ""), least, most


def _text(value: object, most: int) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""


def checked(fields: Sequence[QuestionField], given: dict[str, Any]) -> dict[str, Value]:
    """The values of a form as who asked may have them; an empty one that need not be given is left out.

    Raises:
        BadInput: there is no such field, one is missing, or a value does not fit.
    """
    known = {one.name: one for one in fields}
    for name in given:
        if name not in known:
            raise BadInput(f"The form has no field {name[:_NAME_CHARS]}.")
    values = {name: _checked(one, given.get(name)) for name, one in known.items()}
    for name, one in known.items():
        if one.required and values[name] is None:
            raise BadInput(f"{one.title or name}: this is needed.")
    return {name: value for name, value in values.items() if value is not None}


def checked_answer(fields: Sequence[QuestionField], given: GivenAnswer) -> Answer:
    """What was handed in, as who asked may have it.

    Raises:
        BadInput: see `checked`; only values that are accepted count.
    """
    return Answer(given.action, checked(fields, given.values) if given.action == "accept" else {})


def _checked(one: QuestionField, value: object) -> Value | None:
    if value is None or value in ("", []):
        return None
    made = _of_kind(one, value)
    size = len(made) if isinstance(made, str | list) else made
    if one.kind in {"number", "integer", "text", "choices"} and (
        (one.least is not None and size < one.least) or (one.most is not None and size > one.most)
    ):
        bounds = " to ".join(f"{bound:g}" if bound is not None else "…" for bound in (one.least, one.most))
        raise BadInput(f"{one.title or one.name}: this is not within its bounds ({bounds}).")
    return made


def _of_kind(one: QuestionField, value: object) -> Value:
    allowed = {choice.value for choice in one.choices}
    match one.kind, value:
        case "boolean", bool():
            return value
        case ("integer", int()) | ("number", int() | float()) if not isinstance(value, bool):
            return value
        case "choice", str() if value in allowed:
            return value
        case "choices", list():
            chosen = [each for each in cast("list[Any]", value) if each in allowed]
            if len(chosen) == len(cast("list[Any]", value)):
                return chosen
        case "text", str() if len(value) <= _VALUE_CHARS and _has_format(value, one.format):
            return value
        case _:
            pass
    raise BadInput(f"{one.title or one.name}: this does not fit the field ({one.format or one.kind}).")


def _has_format(text: str, format: str) -> bool:
    try:
        match format:
            case "email":
                return _EMAIL.fullmatch(text) is not None
            case "uri":
                return bool(urlsplit(text).scheme)
            case "date":
                date.fromisoformat(text)
            case "date-time":
                datetime.fromisoformat(text)
            case _:
                pass
    except ValueError:
        return False
    return True
