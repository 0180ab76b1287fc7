"""Spreadsheets as Markdown tables: each sheet's rows, a page at a time, under its head. `reader` calls it.

calamine reads XLSX, XLSB, XLS and ODS, many times faster than what is written in Python.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from bethink.documents.reading.messages import FOREIGN, MAX_CHARS, FileText, UnfitError
from bethink.documents.reading.tables import table_pages
from bethink.internet.decoder import visible

_MAX_SHEETS: Final = 200
_LOCKED: Final = "This spreadsheet is locked with a password: save it without one."
_DAMAGED: Final = "This spreadsheet is damaged: it cannot be opened."
_MIDNIGHT: Final = dt.time()


def read_sheets(content: bytes, title: str = "") -> FileText:
    """The sheets in their order; hidden ones say that they are.

    Raises:
        UnfitError: it is damaged or locked.
    """
    python_calamine: Any = import_module("python_calamine")

    try:
        book = python_calamine.load_workbook(io.BytesIO(content))
    except python_calamine.PasswordError as error:
        raise UnfitError(_LOCKED) from error
    except (python_calamine.CalamineError, *FOREIGN) as error:
        raise UnfitError(_DAMAGED) from error
    pages: list[str] = []
    labels: list[str] = []
    notes: list[str] = []
    left = MAX_CHARS
    for sheet in book.sheets_metadata[:_MAX_SHEETS]:
        if sheet.typ != python_calamine.SheetTypeEnum.WorkSheet:
            continue
        name = visible(sheet.name)
        if left <= 0:
            notes.append(f"Sheet {name} is not read: the text is too long.")
            continue
        try:
            rows = _rows(book.get_sheet_by_name(sheet.name))
            found, said = table_pages(rows, left)
        except (python_calamine.CalamineError, *FOREIGN):
            notes.append(f"Sheet {name} is damaged and not read.")
            continue
        is_hidden = sheet.visible != python_calamine.SheetVisibleEnum.Visible
        pages += found
        labels += [f"Sheet {name}{', hidden' if is_hidden else ''}"] * len(found)
        left -= sum(map(len, found))
        if said:
            notes.append(f"Sheet {name}: {said}")
    return FileText(pages, labels, title, " ".join(notes))


def _rows(sheet: Any) -> Iterator[list[str]]:  # noqa: ANN401 - the library's sheet
    for row in sheet.iter_rows():
        cells = [_cell(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        yield cells


def _cell(value: object) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - beyond it digits are lost
            return str(int(value))
        case dt.datetime() if value.time() == _MIDNIGHT:
            return value.date().isoformat()
        case dt.datetime():
            return value.isoformat(" ", "seconds")
        case _:
            return visible(str(value))
