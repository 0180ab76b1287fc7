"""Documents made for tests: PDF files written by hand, DOCX files by python-docx."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx


def pdf(*pages: Sequence[str], table: Sequence[Sequence[str]] = ()) -> bytes:
    """A PDF with these lines a page; the first page has the table, ruled, below them."""
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%b]>>" % (count, kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, lines in enumerate(pages):
        drawn = _ruled(table) if table and not number else ""
        content = (
            f"BT /F1 10 Tf 60 780 Td 14 TL {' '.join(f'({line}) Tj T*' for line in lines)} ET{drawn}".encode()
        )
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(content), content))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]"
            b"/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>" % len(objects)
        )
    return _written(objects)


def drawn(content: str, *, rotated: int = 0) -> bytes:
    """A PDF of one page, 400 points wide and high, with this content and a font `/F1`."""
    stream = content.encode()
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Rotate %d"
        b"/Resources<</Font<</F1 3 0 R>>>>/Contents 4 0 R>>" % rotated
    )
    return _written(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[5 0 R]>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream),
            page,
        ]
    )


def _ruled(table: Sequence[Sequence[str]]) -> str:
    width, height = 100, 25
    rows, columns = len(table), len(table[0])
    left, bottom = 60, 100
    right, top = left + width * columns, bottom + height * rows
    lines = [f"{left + width * n} {bottom} m {left + width * n} {top} l S" for n in range(columns + 1)]
    lines += [f"{left} {bottom + height * n} m {right} {bottom + height * n} l S" for n in range(rows + 1)]
    cells = [
        f"1 0 0 1 {left + 6 + width * c} {top - 18 - height * r} Tm ({cell}) Tj"
        for r, row in enumerate(table)
        for c, cell in enumerate(row)
    ]
    return "\n" + "\n".join([*lines, "BT /F1 10 Tf", *cells, "ET"])


def _written(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def letter() -> bytes:
    """A DOCX with headings, a list and a table."""
    document = docx.Document()
    document.add_heading("A letter", 0)
    document.add_heading("Why", 1)
    document.add_paragraph("Because the roof leaks.")
    document.add_paragraph("buckets", style="List Bullet")
    table = document.add_table(2, 2)
    for row, texts in zip(table.rows, (["Room", "Wet"], ["Attic", "very | much"]), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    document.add_paragraph("Yours")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def with_part(document: bytes, name: str, content: bytes) -> bytes:
    """A DOCX one of whose parts is another."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(document)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, content if part == name else old.read(part))
        if name not in old.namelist():
            new.writestr(name, content)
    return out.getvalue()
