"""Values of foreign JSON, whatever they turn out to be: nothing here raises. Readers of exports call it."""

from __future__ import annotations

from typing import cast

from bethink.document_fields import time_of
from bethink.errors import BadInput

_CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_EARLIEST_US = 0


def mapping(value: object) -> dict[str, object]:
    """An object's members; none where it is no object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """A list's values; none where it is no list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """A text fit to be kept: without lone surrogates and control characters; "" for what is none."""
    return clean(value) if isinstance(value, str) else ""


def clean(value: str) -> str:
    """The text without what no file and no database keeps."""
    if value.isascii() and value.isprintable():
        return value
    tidy = value.replace("\r\n", "\n").translate(_CONTROLS)
    return tidy if tidy.isascii() else tidy.encode("utf-8", "ignore").decode()


def moment(value: object) -> int | None:
    """Microseconds UTC of a time as exports write it; None where there is none, or one before 1970."""
    if value is None or value == "":
        return None
    try:
        us = time_of(value)
    except BadInput:
        return None
    return us if us > _EARLIEST_US else None


def one_line(value: str, limit: int = 200) -> str:
    """The text folded into one line of at most `limit` characters."""
    line = " ".join(value.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
