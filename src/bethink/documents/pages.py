"""Text into pages where a format has none: about 10,000 characters each, ended where a paragraph ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE_CHARS: Final = 10_000
"""As the program behind spec 002 has it."""
_PARAGRAPHS: Final = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def paragraphs(text: str) -> list[str]:
    """The parts of a text between empty lines."""
    return [part for part in _PARAGRAPHS.split(text.strip("\n")) if part.strip()]


def paged(blocks: Iterable[str], most: int = PAGE_CHARS) -> Iterator[str]:
    """Blocks as pages of at most `most` characters; only a longer block is cut, best at a line's end."""
    page: list[str] = []
    size = 0
    for block in (part for whole in blocks for part in _cut(whole, most)):
        if page and size + len(block) > most:
            yield "\n\n".join(page)
            page, size = [], 0
        page.append(block)
        size += len(block) + 2
    if page:
        yield "\n\n".join(page)


def _cut(block: str, most: int) -> Iterator[str]:
    start = 0
    while len(block) - start > most:
        end = block.rfind("\n", start + most // 2, start + most)
        if end < 0:
            end = block.rfind(" ", start + most // 2, start + most)
        end = start + most if end < 0 else end
        yield block[start:end]
        start = end + (block[end] in "\n ")
    yield block[start:]
