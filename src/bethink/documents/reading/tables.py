"""Tables as Markdown: those of CSV files, and those that other readers find; blocks of Markdown as pages."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bethink.documents.reading.messages import MAX_CHARS, TOO_LONG

PAGE_CHARS: Final = 10_000
"""As the program behind spec 002 has it."""
_ITEM: Final = re.compile(r"\s*(?:- |\d+\. )")
_PARAGRAPHS: Final = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def paragraphs(text: str) -> list[str]:
    """The parts of a text between empty lines."""
    return [part for part in _PARAGRAPHS.split(text.strip("\n")) if part.strip()]


def with_whole_lists(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks, with the items of a list that follow each other as one."""
    items: list[str] = []
    for block in blocks:
        if _ITEM.match(block):
            items.append(block)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield block
    if items:
        yield "\n".join(items)


def bounded(blocks: Iterable[str]) -> tuple[list[str], str]:
    """Blocks, as long as there is not too much of them, and what is said of the others."""
    kept: list[str] = []
    left = MAX_CHARS
    for block in blocks:
        kept.append(block)
        left -= len(block)
        if left < 0:
            return kept, TOO_LONG
    return kept, ""


def paged(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks as pages of at most `PAGE_CHARS`; only a longer block is cut, best at a line's end."""
    page: list[str] = []
    size = 0
    for block in (part for whole in blocks for part in _cut(whole)):
        if page and size + len(block) > PAGE_CHARS:
            yield "\n\n".join(page)
            page, size = [], 0
        page.append(block)
        size += len(block) + 2
    if page:
        yield "\n\n".join(page)


def _cut(block: str) -> Iterator[str]:
    start, most = 0, PAGE_CHARS
    while len(block) - start > most:
        end = block.rfind("\n", start + most // 2, start + most)
        if end < 0:
            end = block.rfind(" ", start + most // 2, start + most)
        end = start + most if end < 0 else end
        yield block[start:end]
        start = end + (block[end] in "\n ")
    yield block[start:]


_SAMPLE: Final = 16_384
_DELIMITERS: Final = ",;\t|"
_MAX_CELL: Final = 1_000
"""Characters of a cell that are shown."""
_MAX_LINE: Final = 200_000
"""Of a longer line, its beginning: it is none of a table."""
_MAX_COLUMNS: Final = 200


def as_markdown(rows: Sequence[Sequence[str | None]]) -> str:
    """A table whose first row is its head; rows are as long as the longest."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def csv_pages(text: str, name: str) -> tuple[list[str], str]:
    """A CSV file's pages, each a table under the file's own head, and what is not in them."""
    csv.field_size_limit(_MAX_LINE)
    rows = csv.reader(_lines(text), _dialect(text[:_SAMPLE], name))
    pages, note = table_pages(rows, MAX_CHARS)
    if any(len(line) > _MAX_LINE for line in text.split("\n")):
        note = f"{note} Lines are read to their {_MAX_LINE:,}th character.".strip()
    return pages, note


def table_pages(rows: Iterator[list[str]], most: int) -> tuple[list[str], str]:
    """Rows as pages, each a table under their head, of `most` characters in all; what is not in them."""
    try:
        head = next((row for row in rows if any(row)), None)
    except csv.Error:
        return [], "This is not a readable table."
    if head is None:
        return [], ""
    notes: list[str] = []
    pages = list(_pages(head[:_MAX_COLUMNS], rows, notes, most=most))
    if len(head) > _MAX_COLUMNS:
        notes.append(f"Only the first {_MAX_COLUMNS} of {len(head):,} columns are shown.")
    return pages, " ".join(notes)


def _pages(head: list[str], rows: Iterator[list[str]], notes: list[str], *, most: int) -> Iterator[str]:
    """Pages of rows under their head; bounded in all."""
    first, total = 1, 0
    above = f"{_line(head)}\n|{' --- |' * len(head)}"
    lines: list[str] = []
    size = len(above)
    for number in itertools.count(1):
        try:
            row = next(rows, None)
        except csv.Error as error:
            notes.append(f"It is not read behind row {number - 1:,}: {error}.")
            row = None
        is_over = row is None or total > most
        line = "" if row is None else _line([*row, *[""] * (len(head) - len(row))][:_MAX_COLUMNS])
        if is_over or (lines and size + len(line) > PAGE_CHARS):
            if lines or first == 1:
                yield "\n".join([f"Rows {first:,} to {number - 1:,}", "", above, *lines])
            first, lines, size = number, [], len(above)
        if is_over:
            if row is not None:
                notes.append(f"It is not read behind row {number - 1:,}: the table is too long, divide it.")
            return
        lines.append(line)
        size += len(line) + 1
        total += len(line)


def _dialect(sample: str, name: str) -> type[csv.Dialect] | str:
    if name.lower().endswith((".tsv", ".tab")):
        return "excel-tab"
    # Whole lines: the sniffer counts what every line has equally often.
    whole = (
        "\n".join(line[:_MAX_CELL] for line in sample.rpartition("\n")[0].split("\n")[:50])
        or sample[:_MAX_CELL]
    )
    try:
        found = csv.Sniffer().sniff(whole, _DELIMITERS)
    except csv.Error:
        return "excel"
    # It guesses this one wrong where no cell of the sample is quoted.
    found.doublequote = True
    return found


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start : min(end, start + _MAX_LINE)] + "\n"
        start = end + 1


def _line(row: Sequence[str | None]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in row) + " |"


def _cell(cell: str | None) -> str:
    text = " ".join((cell or "")[: 2 * _MAX_CELL].split()).replace("|", "\\|")
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"
