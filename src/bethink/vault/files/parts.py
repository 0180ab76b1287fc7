"""A page in parts that are searched: sections, cut where they are long. `draft` keeps what is made here.

A part's text for the index begins with the page's name and the headings above
it: a line `- employer: Acme` says nothing of whom.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bethink.vault.files.paths import ENDING
from bethink.vault.files.records import KIND
from bethink.vault.markdown.format import parse, sections

MOST_CHARS: Final = 1_000
"""Of a part: what the embedding model reads whole of most languages (256 word pieces)."""
_LEAST_SHARE: Final = 0.4
"""A cut is not looked for before so much of the room: parts of a line each would tell nothing."""
_DIGEST_BYTES: Final = 9
FACT_LINE: Final = re.compile(r"^[^\n]*[ \t]\^fact-[a-z2-7]{10,16}(?:-now)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
"""A line that is the view of a fact, by its id (`mirror`): the fact is searched itself."""
_BREAKS: Final = ("\n\n", "\n", ". ", " ")
"""Where a long section is cut best."""


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of a page: where it stands, and what of it is searched."""

    start: int
    end: int
    line: int
    headings: tuple[str, ...]
    text: str


Items = Callable[[str, str, PagePart], Sequence[tuple[str, str]]]
"""From a page's path and text and one of its parts to the kinds and texts of its index items."""


def plain_items(path: str, text: str, part: PagePart) -> Sequence[tuple[str, str]]:
    """The items of an owner who hides nothing from anybody: one, with all of the part."""
    del path, text
    return [(KIND, part.text)]


def digest_of(items: Sequence[tuple[str, str]]) -> str:
    """Tells whether what is searched of a part changed."""
    said = "\0".join(f"{kind}\0{text}" for kind, text in items)
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def parts_of(path: str, text: str) -> list[PagePart]:
    """The parts of a page, in order. Those that hold nothing to search are left out."""
    name = title_of(path)
    parts: list[PagePart] = []
    document = parse(text)
    found = [(one.body, one.end, one.line, one.path) for one in sections(document)]
    if document.lines.body:
        # The front matter: names under which the page is known, and tags.
        found.insert(0, (0, document.lines.body, 1, ()))
    for begin, stop, line, headings in found:
        place = begin
        for start, end in _cut(text, begin, stop):
            line += text.count("\n", place, start)  # noqa: PLW2901 - counted on through the section
            place = start
            said = said_in(text[start:end])
            if any(char.isalnum() for char in said):
                parts.append(part_of(name, said, PagePart(start, end, line, headings, "")))
    return parts


def part_of(name: str, said: str, place: PagePart) -> PagePart:
    """A part with what is searched of it: what it says below the page's name and the headings above."""
    # ASCII, as most texts are: others are analysed at a fifth of the speed.
    above = place.headings
    if not above or above[0].casefold().replace("_", " ") != name.casefold():
        # A first heading that repeats the page's name stands for both.
        above = (name, *above)
    return replace(place, text=f"{' > '.join(above)}\n{said}")


def said_in(text: str) -> str:
    """What is searched of a text: facts that are kept elsewhere are searched there."""
    return FACT_LINE.sub("", text).strip()


def title_of(path: str) -> str:
    """A page's name in words."""
    return path.rpartition("/")[2].removesuffix(ENDING).replace("_", " ")


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where a section's parts begin and end."""
    while end - start > MOST_CHARS:
        least = start + int(MOST_CHARS * _LEAST_SHARE)
        place = -1
        for mark in _BREAKS:
            place = text.rfind(mark, least, start + MOST_CHARS)
            if place >= 0:
                place += len(mark)
                break
        cut = place if place > 0 else start + MOST_CHARS
        yield start, cut
        start = cut
    yield start, end
