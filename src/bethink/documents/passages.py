"""Pages of Markdown as passages: what is searched of a document, and shown of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLOCK = re.compile(r"\S(?:.|\n(?!\s*\n))*")
_HEADING = re.compile(r"#{1,6} (.+)")
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How long a passage may be, and how much of the one before it repeats, in tokens."""

    tokens: int = 500
    overlap: int = 50


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """Characters `begin` to `end` of a page, below a heading."""

    page: int
    begin: int
    end: int
    heading: str = ""


def passages_of(pages: Mapping[int, str], limits: PassageLimits) -> list[PassageSpan]:
    """The passages of all pages, in order."""
    most = limits.tokens * _CHARS_PER_TOKEN
    spans: list[PassageSpan] = []
    heading = ""
    for number in sorted(pages):
        begin = end = -1
        for block in _BLOCK.finditer(pages[number]):
            if found := _HEADING.match(block[0]):
                heading = found[1].strip()
            if begin >= 0 and block.end() - begin > most:
                spans.append(PassageSpan(number, begin, end, heading))
                begin = -1
            begin = block.start() if begin < 0 else begin
            end = block.end()
        if begin >= 0:
            spans.append(PassageSpan(number, begin, end, heading))
    return spans
