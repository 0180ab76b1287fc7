"""CSV for spreadsheets (RFC 4180): what people sort by in columns of its own, all else in the last one.

A cell that a spreadsheet would take for a formula begins with an apostrophe,
and so does one that began with apostrophes before such a sign: reading takes
exactly one away (OWASP, "CSV Injection"). Files of other programs are read
too, with commas, semicolons or tabs, when a column is named `content`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from bethink.errors import BadInput
from bethink.export.records import (
    SCHEMA,
    BadLine,
    ExportWriter,
    check_schema,
    document_of,
    kept_from,
    lines,
    stated_from,
)

if TYPE_CHECKING:
    from bethink.export.records import ExportHeader, FactBatch, ImportLine

_COLUMNS = (
    "id",
    "content",
    "category",
    "importance",
    "topics",
    "state",
    "pinned",
    "created_at",
    "valid_from",
    "valid_until",
    "project",
)
_MORE = "bethink_memory_"
"""The last column's name, before the schema's number; JSON of everything that has no column."""

CONTENT_NAMES = frozenset({"content", "memory", "text", "fact"})
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Also the full-width signs, which spreadsheets take for the same."""
_GUARDED = re.compile(f"'{_FORMULA.pattern}")
_DELIMITERS = ",;\t"


class CsvWriter(ExportWriter):
    """Writes one file."""

    def head(self, about: ExportHeader) -> str:
        """The names of the columns."""
        del about
        return _row([*_COLUMNS, f"{_MORE}{SCHEMA}"])

    def facts(self, batch: FactBatch) -> str:
        """More facts, a row each."""
        rows: list[str] = []
        for fact in batch.facts:
            document = document_of(fact)
            cells = {name: document.pop(name, "") for name in _COLUMNS}
            cells["pinned"] = "true" if fact.pinned else "false"
            cells["topics"] = "; ".join(re.sub(r"([\\;])", r"\\\1", topic) for topic in fact.topics)
            shown = [str(cell) for cell in cells.values()]
            guarded = [f"'{cell}" if _FORMULA.match(cell) else cell for cell in shown]
            rows.append(_row([*guarded, msgspec.json.encode(document).decode()]))
        return "".join(rows)


def read(file: BinaryIO) -> Iterator[ImportLine]:
    """What each row says, in order; a row's number is that of its first line.

    Raises:
        BadInput: no column has the content.
        NewerSchema: a newer Bethink wrote the file.
    """
    feed = _CsvLines(file)
    rows = _rows(feed)
    names = next((row for _, row in rows if isinstance(row, list)), list[str]())
    columns = [name.strip().lower().replace(" ", "_") for name in names]
    if not CONTENT_NAMES.intersection(columns):
        raise BadInput("No column of the table is named `content`: rename the column with the facts.")
    more = next((name for name in columns if name.startswith(_MORE)), None)
    if more is not None:
        schema = more.removeprefix(_MORE)
        check_schema(int(schema) if schema.isdecimal() else None)
    for number, row in rows:
        if isinstance(row, BadLine):
            yield row
        elif any(row):
            yield _line(number, columns, row, more=more)
    yield from feed.bad


class _CsvLines:
    """The file's lines for the CSV reader, which wants text only; `number` is the last one's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.number = 0
        self.bad: list[BadLine] = []

    def __iter__(self) -> Iterator[str]:
        for found in lines(self._file):
            if isinstance(found, BadLine):
                self.number = found.line
                self.bad.append(found)
            else:
                self.number, text = found
                yield f"{text}\n"


def delimiter_of(first_line: str) -> str | None:
    """What separates the columns of a table whose first line names one `content`; None if none does."""
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([first_line], delimiter=delimiter), list[str]())
        except csv.Error:
            # No line of a table: a line break in the middle of it, say.
            return None
        if CONTENT_NAMES.intersection(name.strip().lower() for name in names):
            return delimiter
    return None


def _rows(feed: _CsvLines) -> Iterator[tuple[int, list[str] | BadLine]]:
    texts = iter(feed)
    first = next(texts, "")
    before = [first]

    def all_texts() -> Iterator[str]:
        yield from before
        yield from texts

    reader = csv.reader(all_texts(), delimiter=delimiter_of(first) or ",", strict=True)
    last = 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = f"{error}; lines {last + 1:,} to {feed.number:,} make no row. Is a quote not closed?"
            yield last + 1, BadLine(last + 1, reason)
        else:
            yield last + 1, row
        while feed.bad:
            bad = feed.bad.pop(0)
            yield bad.line, bad
        last = feed.number


def _line(number: int, columns: list[str], row: list[str], *, more: str | None) -> ImportLine:
    if len(row) > len(columns):
        return BadLine(number, f"the row has {len(row)} cells, and the table {len(columns)} columns.")
    # A spreadsheet leaves out empty cells at the end of a row.
    cells = {
        name: cell[1:] if _GUARDED.match(cell) else cell
        for name, cell in zip(columns, row, strict=False)
        if cell
    }
    if more is None:
        return stated_from(number, cells)
    try:
        rest: dict[str, Any] = msgspec.json.decode(cells.pop(more, "{}"), type=dict[str, Any])
        known = {name: cells[name] for name in _COLUMNS if name in cells}
        topics = re.findall(r"(?:[^\\;]|\\.)+", cells.get("topics", ""))
        typed: dict[str, Any] = {
            **known,
            "importance": float(cells.get("importance", 0.5)),
            "pinned": cells.get("pinned", "").lower() == "true",
            "topics": [re.sub(r"\\(.)", r"\1", topic.strip()) for topic in topics],
        }
    except (msgspec.DecodeError, ValueError) as error:
        return BadLine(number, f"a cell is not as Bethink wrote it: {error}.")
    return kept_from(number, {**rest, **typed})


def _row(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
