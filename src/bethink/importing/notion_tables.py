"""A database of Notion, a CSV file, as a page with a table. `notion` calls it."""

from __future__ import annotations

import codecs
import csv
import re
from typing import TYPE_CHECKING

from bethink.errors import BadInput, TooLarge
from bethink.importing.fields import clean
from bethink.importing.items import Left, Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item
    from bethink.importing.json_stream import Readable

_MOST_BYTES = 900_000
"""Of a page's table: a little less than a file of the vault may have."""
_MAX_CELL = 1_000
_MAX_FIELD = 10_000_000
_READ_AT_ONCE = 1 << 16
_ALL = re.compile(r"_all(?=\.csv$)", re.IGNORECASE)


def tables_of(names: list[str]) -> list[str]:
    """The tables, each once: of a database's view and the whole of it (`_all`) the whole."""
    whole = {_ALL.sub("", name) for name in names if _ALL.search(name)}
    return [name for name in names if _ALL.search(name) or name not in whole]


def read_table(
    archive: Archive, name: str, *, path: str, key: str, rows: Mapping[str, str]
) -> Iterator[Item]:
    """The pages of a database; `rows` are the pages of its rows by their titles, to which it links."""
    title = path.rpartition("/")[2].removesuffix(".md")
    number, lines, size, head = 1, list[str](), 0, ""
    changed = archive.members[name].changed
    try:
        with archive.open(name) as file:
            for place, row in enumerate(_rows(file)):
                line = _line([_cell(cell) for cell in row], rows)
                if not place:
                    head = line + "\n|" + " --- |" * len(row)
                    continue
                if size + len(line.encode()) > _MOST_BYTES:
                    yield _page(title, path, key, number=number, text=[head, *lines], changed=changed)
                    number, lines, size = number + 1, [], 0
                lines.append(line)
                size += len(line.encode()) + 1
    except TooLarge:
        raise
    except (BadInput, csv.Error) as error:
        yield Left(name, f"It is no table that can be read ({error}).")
    if head:
        yield _page(title, path, key, number=number, text=[head, *lines], changed=changed)


def _rows(file: Readable) -> Iterator[list[str]]:
    csv.field_size_limit(_MAX_FIELD)
    return (row for row in csv.reader(_lines(file)) if row)


def _lines(file: Readable) -> Iterator[str]:
    """The lines of a file, with their ends; one without an end is cut."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    while part := file.read(_READ_AT_ONCE):
        *lines, rest = (rest + decoder.decode(part)).splitlines(keepends=True) or [""]
        yield from lines
        if len(rest) > _MAX_FIELD:
            yield rest
            rest = ""
    yield rest + decoder.decode(b"", final=True)


def _cell(cell: str) -> str:
    line = " ".join(clean(cell).split()).replace("|", "\\|")
    return line if len(line) <= _MAX_CELL else line[:_MAX_CELL] + "…"


def _line(cells: list[str], rows: Mapping[str, str]) -> str:
    page = rows.get(cells[0]) if cells else None
    first = cells[0] if page is None else f"[[{page}\\|{cells[0]}]]"
    return "| " + " | ".join((first, *cells[1:])) + " |"


def _page(title: str, path: str, key: str, *, number: int, text: list[str], changed: int | None) -> Sheet:
    more = "" if number == 1 else f" {number}"
    return Sheet(
        key=f"{key}{more.replace(' ', ':')}",
        path=f"{path.removesuffix('.md')}{more.replace(' ', '_')}.md",
        title=f"{title}{more}",
        text=f"# {title}{more}\n\n" + "\n".join(text) + "\n",
        at=changed,
    )
