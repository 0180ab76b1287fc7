"""Whether a request's JSON is such that it can be stored and sent on. All of `/v1` asks before it reads one.

JSON may say what neither UTF-8, nor a 64-bit number, nor a walk of bounded depth can hold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

from fastapi import Request

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_DEPTH: Final = 64
_MAX_INTEGER: Final = 2**63


async def sound(request: Request) -> None:
    """Refuse a body that cannot be kept; one that is not JSON is left to what reads it.

    Raises:
        BadInput: half a character, a number that is too large or none, or too deep.
    """
    try:
        given: object = await request.json()
    except (ValueError, RecursionError):
        return
    check_sound(given)


def check_sound(given: object) -> None:
    """As `sound`, of a value.

    Raises:
        BadInput: it is not sound.
    """
    level: list[object] = [given]
    for _ in range(_MAX_DEPTH):
        if not level:
            return
        level = [inner for value in level for inner in _within(value)]
    if level:
        message = f"The request is nested deeper than {_MAX_DEPTH} levels."
        raise BadInput(message)


def _within(value: object) -> Iterable[object]:
    match value:
        case dict():
            pairs = cast("dict[str, Any]", value)
            return (*pairs.keys(), *pairs.values())
        case list():
            return cast("list[Any]", value)
        case str():
            _check_text(value)
        case int():
            if not -_MAX_INTEGER <= value < _MAX_INTEGER:
                message = "A number of the request has more than 64 bits."
                raise BadInput(message)
        case float():
            if not math.isfinite(value):
                message = "A number of the request is no number, or is infinite."
                raise BadInput(message)
        case _:
            pass
    return ()


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"A text of the request has half a character (a lone surrogate) at {error.start}."
        raise BadInput(message) from error
