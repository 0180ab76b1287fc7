"""RTF files as Markdown: paragraphs, and tables as tables. `reader` calls it.

Source: Rich Text Format 1.9.1; striprtf takes the marks out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from bethink.documents.reading.messages import FOREIGN, MAX_CHARS, TOO_LONG, FileText, UnfitError
from bethink.documents.reading.tables import as_markdown, paged
from bethink.internet.decoder import visible

_TITLE: Final = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_CELL: Final = "|"
"""What striprtf writes behind each cell; a row ends its line."""
_PICTURE: Final = re.compile(r"\\bin\d+ ?|[0-9a-fA-F\s]{2000,}")
"""Pictures are written as digits: megabytes that say nothing."""
_BULLET: Final = re.compile(r"^[•·▪◦‣]\s*")


def read_rtf(content: bytes) -> FileText:
    """The text of an RTF file.

    Raises:
        UnfitError: it is damaged.
    """
    striprtf: Any = import_module("striprtf.striprtf")
    source = _PICTURE.sub("", content.decode("latin-1"))
    try:
        text: str = striprtf.rtf_to_text(source, errors="ignore")
    except FOREIGN as error:
        raise UnfitError("This RTF file is damaged: it cannot be read.") from error
    text = visible(text)
    note = TOO_LONG if len(text) > MAX_CHARS else ""
    found = _TITLE.search(source[:100_000])
    return FileText(list(paged(_blocks(text[:MAX_CHARS]))), title=found[1] if found else "", note=note)


def _blocks(text: str) -> Iterator[str]:
    rows: list[list[str]] = []
    items: list[str] = []
    for line in text.split("\n"):
        is_row, is_item = line.endswith(_CELL), _BULLET.match(line)
        if rows and not is_row:
            yield as_markdown(rows)
            rows = []
        if items and not is_item:
            yield "\n".join(items)
            items = []
        if is_row:
            rows.append([cell.strip() for cell in line.split(_CELL)[:-1]])
        elif is_item:
            items.append(f"- {_BULLET.sub('', line)}")
        elif line.strip():
            yield line.strip()
    if rows:
        yield as_markdown(rows)
    if items:
        yield "\n".join(items)
