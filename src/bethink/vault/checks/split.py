"""A page that is too large becomes several, cut at its headings; together they say what it said. Pure.

The repairs of the vault call it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from bethink.vault.markdown.format import new_line_of, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST: Final = "beginning"
_NOT_WORD: Final = re.compile(r"[\W_]+")
_IN_LINKS: Final = re.compile(r"[\[\]|#^\r\n]+")
_MOST_NAME: Final = 60
_INTRO: Final = 4
"""What is above the first cut stays on the page of contents where it is no more than this part of a page."""


class Piece(NamedTuple):
    """A part of a page: the name of its own page, without ending, what it is called, and its text."""

    name: str
    title: str
    text: str


def snake(name: str) -> str:
    """A name in snake_case: lower case, words joined by underscores; "" where nothing is left."""
    return _NOT_WORD.sub("_", name.lower()).strip("_")


def split(text: str, most: int) -> tuple[str, list[Piece]]:
    """What stays at the head of a page, front matter and all, and the pieces of the rest, in order.

    No piece has more than `most` bytes as far as there are lines to cut between; head and pieces in their
    order are the text, character by character.
    """
    document = parse(text)
    start = document.lines.body
    cuts = _cuts(text, start)
    head = cuts[0] if cuts and _bytes(text[start : cuts[0]]) * _INTRO <= most else start
    bounds = [*dict.fromkeys((head, *cuts)), len(text)]
    found = [part for low, high in pairwise(bounds) for part in _parts(text[low:high], most)]
    names: Counter[str] = Counter()
    pieces: list[Piece] = []
    for title, part in found:
        name = snake(title)[:_MOST_NAME].strip("_") or _FIRST
        names[name] += 1
        count = names[name]
        pieces.append(Piece(name if count == 1 else f"{name}_{count}", title or _FIRST, part))
    return text[:head], pieces


def contents(head: str, folder: str, pieces: Sequence[Piece]) -> str:
    """The page of contents: the head of the page that was split, and a link to each piece."""
    new_line = new_line_of(head)
    lines = [f"- [[{folder}/{one.name}|{_IN_LINKS.sub(' ', one.title).strip()}]]" for one in pieces]
    gap = "" if not head.strip() else new_line if head.endswith(("\n", "\r")) else new_line * 2
    return f"{head}{gap}{new_line.join(lines)}{new_line}"


def _cuts(text: str, start: int) -> list[int]:
    """Where the topmost headings stand of which there are several."""
    headings = [one for one in parse(text).headings if one.span[0] >= start]
    for level in sorted({one.level for one in headings}):
        if sum(one.level == level for one in headings) > 1:
            return [one.span[0] for one in headings if one.level <= level][(headings[0].level < level) :]
    return []


def _parts(text: str, most: int) -> Iterator[tuple[str, str]]:
    """A part with what it is called; one that is too large in smaller ones."""
    headings = parse(text).headings
    title = headings[0].title if headings and not text[: headings[0].span[0]].strip() else ""
    if _bytes(text) <= most:
        if text:
            yield title, text
        return
    cuts = [cut for cut in _cuts(text, 0) if cut]
    if cuts:
        bounds = [0, *cuts, len(text)]
        for low, high in pairwise(bounds):
            yield from _parts(text[low:high], most)
        return
    chunk = ""
    size = 0
    for line in text.splitlines(keepends=True):
        if chunk and size + _bytes(line) > most:
            yield title, chunk
            chunk, size = "", 0
        chunk += line
        size += _bytes(line)
    if chunk:
        yield title, chunk


def _bytes(text: str) -> int:
    return len(text.encode())
