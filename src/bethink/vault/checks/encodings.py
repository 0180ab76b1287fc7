"""In which encoding a file that is no UTF-8 may be written. Pure: the check of the vault offers it."""

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN: Final = "cp1252"
"""What Windows wrote for decades where it was set to a language of Western Europe."""
_SAMPLE: Final = 65_536
_ENOUGH: Final = 8
"""With fewer letters that are not ASCII a guess is no better than the commonest encoding."""
DAMAGED: Final = "utf-8, damaged"
"""UTF-8 in which some bytes are broken: each is shown as U+FFFD."""


def detected(body: bytes) -> list[str]:
    """The encodings in which the bytes are text, the likeliest first; none for what is no text."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return [name] if read_as(body, name) is not None else []
    zeros = body[:_SAMPLE].count(0)
    if zeros:
        # Latin letters have a zero in each pair of bytes, and text none elsewhere.
        name = "utf-16-le" if body[1:_SAMPLE:2].count(0) > body[:_SAMPLE:2].count(0) else "utf-16-be"
        is_text = zeros * 4 > min(len(body), _SAMPLE) and read_as(body, name) is not None
        return [name] if is_text else []
    shown = body.decode("utf-8", "replace")
    strange = shown.count("\ufffd")
    letters = len(shown) - len(shown.encode("ascii", "ignore")) - strange
    if letters > strange:
        return [DAMAGED]
    guesses = [_guessed(body[:_SAMPLE])] if strange >= _ENOUGH else []
    return [name for name in dict.fromkeys((*guesses, _WESTERN, "latin-1")) if name and read_as(body, name)][
        :2
    ]


def read_as(body: bytes, encoding: str) -> str | None:
    """The bytes as text, from which they could be made again; None where they are none in this encoding."""
    if encoding == DAMAGED:
        return body.decode("utf-8", "replace")
    try:
        text = body.decode(encoding)
        is_same = text.encode(encoding) == body
    except (UnicodeError, LookupError):
        return None
    return text if is_same or encoding in {"utf-16", "utf-32"} else None


def _guessed(sample: bytes) -> str | None:
    with suppress(ModuleNotFoundError):
        from charset_normalizer import from_bytes

        if (best := from_bytes(sample).best()) is not None:
            return best.encoding
    return None
