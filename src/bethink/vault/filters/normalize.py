"""A text as it is read, whatever signs it is written with, and where each part of it stands. `patterns` asks.

Emphasis, escapes, tags of HTML, characters that are not seen, accents, wide forms and
letters of other scripts that look alike do not keep a reader, or a model, from an address
or a number; so they must not keep a filter from it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bethink.vault.regex import Span

_SIGNS: Final = re.compile(
    r"<[^<>\n]{1,200}>|&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});|%40|[*`~\\]+"
    r"|(?<=\w)[ \t]{1,20}@[ \t]{0,20}|[^\x00-\x7f\u3040-\u9fff\uac00-\ud7a3]"
)
"""What may be read as something else, or not at all; Chinese, Japanese and Korean letters are not."""
_SPLIT: Final = re.compile(r"(?<=\d)[ \t]{0,20}[\n\r|_/,][ \t\n\r|_/,>]{0,20}(?=\d)")
"""What parts a number: a cell of a table, a line's end."""
_ALIKE: Final = str.maketrans("аеорсухіјѕһԁԛԝкмтвнαορυνικ", "aeopcyxijshdqwkmtbhaopuvik")
_DASHES: Final = frozenset("\u00b7\u2212\u2022\u2043\u30fb\u02d7")
_ASCII: Final = 128


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A text as it is read.

    `starts` are where parts of it begin, `places` and `ends` where these stand in the text itself.
    A part is as long in both, or was read as something else as a whole.
    """

    text: str
    starts: list[int]
    places: list[int]
    ends: list[int]

    def spans(self, spans: Iterable[Span]) -> list[Span]:
        """Where these parts stand in the text itself."""
        return [
            (self._place(start, is_end=False), self._place(end - 1, is_end=True))
            for start, end in spans
            if start < end
        ]

    def _place(self, at: int, *, is_end: bool) -> int:
        part = bisect_right(self.starts, at) - 1
        start, place, end = self.starts[part], self.places[part], self.ends[part]
        following = self.starts[part + 1] if part + 1 < len(self.starts) else len(self.text)
        if following - start == end - place:
            return place + at - start + is_end
        return end if is_end else place


def folded(text: str) -> NormalizedText | None:
    """The text as it is read; None where that is just what is written."""
    return _replaced(text, _SIGNS)


def plainly(text: str) -> str:
    """A short text as it is read."""
    read = folded(text)
    return text if read is None else read.text


def in_one(text: str) -> NormalizedText | None:
    """The text with numbers in one piece that are parted by cells of a table or ends of lines; else None."""
    return _replaced(text, _SPLIT)


def _replaced(text: str, signs: re.Pattern[str]) -> NormalizedText | None:
    read: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    ends: list[int] = []
    size = done = 0
    for match in signs.finditer(text):
        new = " " if signs is _SPLIT else _read(match.group())
        if new == match.group():
            continue
        for piece, place, end in ((text[done : match.start()], done, match.start()), (new, *match.span())):
            if piece:
                starts.append(size)
                places.append(place)
                ends.append(end)
                read.append(piece)
                size += len(piece)
        done = match.end()
    if not done:
        return None
    if done < len(text):
        starts.append(size)
        places.append(done)
        ends.append(len(text))
        read.append(text[done:])
    return NormalizedText("".join(read), starts, places, ends)


@lru_cache(maxsize=4_096)
def _read(sign: str) -> str:
    """What a sign is read as; nothing for what is not seen."""
    if sign == "%40" or sign.strip() == "@":
        return "@"
    if sign[0] == "&":
        shown = html.unescape(sign)
        return sign if shown == sign else "".join(map(_read, shown))
    if sign[0] in "<*`~\\":
        return ""
    if ord(sign[0]) < _ASCII:
        return sign
    kind = unicodedata.category(sign)
    if kind in {"Cf", "Mn", "Me"}:
        return ""
    if kind == "Pd" or sign in _DASHES:
        return "-"
    if kind == "Zs":
        return " "
    if kind == "Nd":
        return str(unicodedata.digit(sign))
    plain = unicodedata.normalize("NFKD", sign)
    return "".join(char for char in plain if unicodedata.category(char) != "Mn").translate(_ALIKE)
