"""Facts as lines of Markdown: `- The content ^fact-abcdefghij`. Pure; `sheets` and `looking` call it.

What would hide a line from whoever reads the page, a comment or a fence of code
in a fact's words, is broken by a backslash, which reading takes out again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.memory.facts import clean
from bethink.vault.markdown.format import is_running, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.vault.markdown.format import Block, Document

NOW: Final = "-now"
"""Behind the id of the line that shows what the memory says, below the one that says something else."""
_NOTE: Final = "The memory says: "
_ID: Final = re.compile(r"(fact-[a-z2-7]{10,16})(-now)?")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FIRST: Final = re.compile(r"[-*+][ \t]+(?!\[[^\]\n]\][ \t])(?=\S)")
"""An item that is not indented and has no box to tick."""
_ANY_ID: Final = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]+[ \t]*$")
_MOST_LINES: Final = 20
"""Of one item, above the one that carries the id."""
_BEHIND: Final = (
    (re.compile(r"%(?=\\*%)"), "%\\\\", re.compile(r"%\\(?=\\*%)"), "%"),
    (re.compile(r"<(?=\\*!--)"), "<\\\\", re.compile(r"<\\(?=\\*!--)"), "<"),
    (
        re.compile(r"^(?=\\*(?:```|~~~|[-*+>#][ \t]|\d{1,9}[.)][ \t]))"),
        "\\\\",
        re.compile(r"^\\(?=\\*(?:```|~~~|[-*+>#][ \t]|\d{1,9}[.)][ \t]))"),
        "",
    ),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """An item of a page. `id` is that of its fact's line, "" where it has none.

    `start` is where its line begins, `text` where its words do, `stop` where
    the line ends that carries the id, without its ending. `is_note` is set for
    what the memory says beside a line that was changed, too.
    """

    id: str
    content: str
    start: int
    text: int
    stop: int
    is_note: bool = False


def shown_in(text: str) -> tuple[list[Shown], list[Shown]]:
    """The facts' lines of a page in order, and the items that could be facts and have no id."""
    document = parse(text)
    marked: list[Shown] = []
    taken: set[int] = set()
    for block in document.blocks:
        if (found := _ID.fullmatch(block.id)) is not None:
            one, lines = _marked(document, block, found[1], is_note=found[2] is not None)
            marked.append(one)
            taken |= lines
    return marked, [*_unmarked(document, taken)]


def rendered(content: str, id: str) -> str:
    """What stands behind the `- ` of a fact's line."""
    for broken, by, _, _ in _BEHIND:
        content = broken.sub(by, content)
    return f"{content} ^{id}"


def noted(content: str, id: str) -> str:
    """What stands behind the mark of the note below a line, where the memory says something else."""
    return rendered(f"{_NOTE}{content}", f"{id}{NOW}")


def read(text: str) -> str:
    """What a line's words say, as a fact's content."""
    content = clean(text)
    for _, _, whole, by in _BEHIND:
        content = whole.sub(by, content)
    return content


def _marked(document: Document, block: Block, id: str, *, is_note: bool) -> tuple[Shown, set[int]]:
    text, starts = document.text, document.lines.starts
    first = block.line
    while (item := _ITEM.match(text, starts[first - 1])) is None and block.line - first < _MOST_LINES:
        above = _line(document, first - 1) if first > 1 else ""
        if not above.strip() or above.startswith("#") or starts[first - 1] <= document.lines.body:
            break
        first -= 1
    if item is None:
        first = block.line
    begin = starts[first - 1]
    words = item.end() if item is not None else begin
    words = min(words, block.id_span[0])
    content = read(text[words : block.id_span[0]])
    shown = Shown(id, content, begin, words, block.span[1], is_note)
    return shown, {*range(first, block.line + 1)}


def _unmarked(document: Document, taken: set[int]) -> Iterator[Shown]:
    text, lines = document.text, document.lines
    for line in range(bisect_right(lines.starts, lines.body - 1) + 1, len(lines.starts) + 1):
        begin = lines.starts[line - 1]
        found = _FIRST.match(text, begin)
        if found is None or line in taken or not is_running(lines, begin):
            continue
        said = _line(document, line)[found.end() - begin :]
        if _ANY_ID.search(said):
            continue
        content = read(said)
        if content:
            yield Shown("", content, begin, found.end(), begin + len(_line(document, line)))


def _line(document: Document, line: int) -> str:
    begin, end = document.line_span(line)
    return document.text[begin:end]
