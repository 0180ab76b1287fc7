"""Files of the corpus in each format: by well-known libraries, or as the standard says.

The same file is written the same way every time: no clock, no random identifiers.
"""

from __future__ import annotations

import csv
import html
import io
import json
import random
import zipfile
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, Any, Final, assert_never

from benchmarks.documents.corpus import Heading, Items, Paragraph, Table, markdown
from benchmarks.documents.message_file import message_file
from benchmarks.documents.pdf_file import pdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from benchmarks.documents.corpus import Block, CorpusFile, Kind, Page

_THEN: Final = (2024, 5, 17, 12, 0, 0)
_ENCODINGS: Final = ("utf-8", "utf-16", "cp1252", "utf-8-sig", "utf-16-le")
"""In turn those of text files."""


def written(file: CorpusFile) -> bytes:
    """A file's bytes."""
    return _WRITERS[file.kind](file)


def picture(file: CorpusFile, size: int | None = None) -> bytes:
    """A photograph in which nothing is written, a JPEG of about as many bytes as the file's pictures take."""
    from PIL import Image

    wanted = file.picture_bytes if size is None else size
    if not wanted:
        return b""
    # At this quality noise takes about a byte a pixel.
    side = max(16, int(wanted**0.5))
    noise = random.Random(file.number).randbytes(side * side)  # noqa: S311
    out = io.BytesIO()
    Image.frombytes("L", (side, side), noise).save(out, "JPEG", quality=75)
    return out.getvalue()


def drawn(page: Page) -> Any:  # noqa: ANN401 - Pillow's picture
    """A page as a scanner sees it: 1,240 × 1,754 grey dots, which is A4 at 150 dots an inch."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (1240, 1754), 255)
    draw = ImageDraw.Draw(image)
    y = 90.0
    for block in page.blocks:
        size = 34 if isinstance(block, Heading) else 22
        font = ImageFont.load_default(size)
        for line in _lines(block):
            for part in _wrapped(line, 2_000 // size):
                draw.text((90, y), part, 0, font)
                y += size * 1.4
        y += size * 0.7
    return image


def _lines(block: Block) -> Iterable[str]:
    match block:
        case Heading(text):
            yield text
        case Paragraph():
            yield block.text
        case Items(items):
            yield from (f"• {item}" for item in items)
        case Table(rows):
            yield from ("   ".join(row) for row in rows)
        case _:
            assert_never(block)


def _wrapped(text: str, most: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, most) or [""]


# --- text ----------------------------------------------------------------------------------------------


def _md(file: CorpusFile) -> bytes:
    return "\n\n".join(map(markdown, file.pages)).encode()


def _txt(file: CorpusFile) -> bytes:
    text = "\n\n".join("\n".join(_lines(block)) for page in file.pages for block in page.blocks)
    return text.encode(_ENCODINGS[file.number % len(_ENCODINGS)])


def _py(file: CorpusFile) -> bytes:
    parts = [f'"""{file.title}."""\n']
    for page in file.pages:
        for number, block in enumerate(page.blocks):
            body = "\n".join(f"    # {line}" for line in getattr(block, "sentences", _lines(block)))
            parts.append(f"\ndef step_{number}(value: int) -> int:\n{body}\n    return value + {number}\n")
    return "\n".join(parts).encode()


def _json(file: CorpusFile) -> bytes:
    return json.dumps({"title": file.title, "records": list(_records(file))}, ensure_ascii=False).encode()


def _jsonl(file: CorpusFile) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in _records(file)).encode()


def _records(file: CorpusFile) -> Iterable[dict[str, object]]:
    lines = (sentence for page in file.pages for sentence in page.sentences)
    return ({"id": number, "text": line} for number, line in enumerate(lines))


def _csv(file: CorpusFile) -> bytes:
    out = io.StringIO()
    (table,) = (block for page in file.pages for block in page.blocks if isinstance(block, Table))
    dialect = "excel-tab" if file.kind == "tsv" else "excel"
    csv.writer(out, dialect, delimiter="\t" if file.kind == "tsv" else ",;"[file.number % 2]).writerows(
        table.rows
    )
    return out.getvalue().encode()


def _html(file: CorpusFile) -> bytes:
    body = "\n".join(map(_html_of, file.pages))
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{html.escape(file.title)}</title>"
        f"<style>td {{ border: 1px solid }}</style></head>\n<body><nav><a href='/'>Home</a> <a href='/about'>"
        f"About us</a></nav><main>\n{body}\n</main><footer>All rights reserved.</footer></body></html>\n"
    ).encode()


def _html_of(page: Page) -> str:
    return "\n".join(map(_html_block, page.blocks))


def _html_block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph():
            return f"<p>{html.escape(block.text)}</p>"
        case Items(items):
            return f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"
        case Table((head, *rows)):
            lines = "".join(
                f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows
            )
            return (
                f"<table><tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in head)}</tr>{lines}</table>"
            )
        case Table():
            return ""
        case _:
            assert_never(block)


def _rtf(file: CorpusFile) -> bytes:
    parts = ["{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Times New Roman;}}\n"]
    for page in file.pages:
        for block in page.blocks:
            if isinstance(block, Table):
                for row in block.rows:
                    cells = "".join(f"\\cellx{2000 * (at + 1)}" for at in range(len(row)))
                    texts = "".join(f"\\pard\\intbl {_rtf_text(cell)}\\cell" for cell in row)
                    parts.append(f"\\trowd{cells}{texts}\\row\n")
                continue
            mark = "{\\pntext\\bullet\\tab}" if isinstance(block, Items) else ""
            style = "\\b\\fs32 " if isinstance(block, Heading) else "\\b0\\fs22 "
            parts += [
                f"\\pard{style}{mark}{_rtf_text(line.removeprefix('• '))}\\par\n" for line in _lines(block)
            ]
    return "".join([*parts, "}"]).encode("ascii")


def _rtf_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")
    return "".join(char if char < "\x80" else f"\\u{ord(char)}?" for char in escaped)


# --- mail ----------------------------------------------------------------------------------------------


def _eml(file: CorpusFile) -> bytes:
    message = EmailMessage(policy=SMTP)
    message["Subject"] = file.title
    message["From"] = "Ada Adler <ada@example.org>"
    message["To"] = "bruno@example.com"
    message["Date"] = "Fri, 17 May 2024 12:00:00 +0000"
    first, *others = file.pages
    message.set_content("\n\n".join("\n".join(_lines(block)) for block in first.blocks))
    message.add_alternative(f"<html><body>{_html_of(first)}</body></html>", subtype="html")
    for number, page in enumerate(others, 2):
        message.add_attachment(markdown(page), subtype="markdown", filename=f"part-{number}.md")
    if image := picture(file):
        message.add_attachment(image, maintype="image", subtype="jpeg", filename="photograph.jpg")
    # Those of `email` are random.
    for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
        part.set_boundary(f"=-part-{file.number}-{number}")
    return message.as_bytes()


def _msg(file: CorpusFile) -> bytes:
    first, *others = file.pages
    attachments = [(f"part-{number}.md", markdown(page).encode()) for number, page in enumerate(others, 2)]
    if image := picture(file):
        attachments.append(("photograph.jpg", image))
    body = "\r\n\r\n".join("\r\n".join(_lines(block)) for block in first.blocks)
    return message_file(file.title, "Ada Adler", body=body, attachments=attachments)


# --- office --------------------------------------------------------------------------------------------


def _docx(file: CorpusFile) -> bytes:
    import docx

    document: Any = docx.Document()
    document.core_properties.title = file.title
    for page in file.pages:
        for block in page.blocks:
            _add_to_docx(document, block)
    if image := picture(file):
        document.add_picture(io.BytesIO(image))
    return _saved(document.save)


def _add_to_docx(document: Any, block: Block) -> None:  # noqa: ANN401 - the library has no types
    match block:
        case Heading(text, level):
            document.add_heading(text, level)
        case Paragraph():
            document.add_paragraph(block.text)
        case Items(items):
            for item in items:
                document.add_paragraph(item, style="List Bullet")
        case Table(rows):
            table = document.add_table(len(rows), len(rows[0]))
            for made, row in zip(table.rows, rows, strict=True):
                for cell, text in zip(made.cells, row, strict=True):
                    cell.text = text
        case _:
            assert_never(block)


def _pptx(file: CorpusFile) -> bytes:
    import pptx
    from pptx.util import Inches

    show: Any = pptx.Presentation()
    show.core_properties.title = file.title
    for page in file.pages:
        slide = show.slides.add_slide(show.slide_layouts[1])
        for block in page.blocks:
            _add_to_slide(slide, block)
        if page.notes:
            slide.notes_slide.notes_text_frame.text = page.notes
    if image := picture(file):
        show.slides[0].shapes.add_picture(io.BytesIO(image), Inches(6), Inches(1), Inches(2))
    return _saved(show.save)


def _add_to_slide(slide: Any, block: Block) -> None:  # noqa: ANN401 - the same
    from pptx.util import Inches

    match block:
        case Heading(text):
            slide.shapes.title.text = text
        case Paragraph():
            slide.placeholders[1].text = block.text
        case Items(items):
            slide.placeholders[1].text = "\n".join(items)
        case Table(rows):
            place = (Inches(1), Inches(4), Inches(8), Inches(2))
            table = slide.shapes.add_table(len(rows), len(rows[0]), *place).table
            for at, row in enumerate(rows):
                for column, cell in enumerate(row):
                    table.cell(at, column).text = cell
        case _:
            assert_never(block)


def _xlsx(file: CorpusFile) -> bytes:
    import datetime as dt

    import xlsxwriter

    out = io.BytesIO()
    book: Any = xlsxwriter.Workbook(out, {"in_memory": True})
    book.set_properties({"title": file.title, "created": dt.datetime(*_THEN)})  # noqa: DTZ001 - no zone there
    for page in file.pages:
        sheet = book.add_worksheet(page.label)
        for block in page.blocks:
            if isinstance(block, Table):
                sheet.write_row(0, 0, block.rows[0])
                for number, row in enumerate(block.rows[1:], 1):
                    sheet.write_number(number, 0, int(row[0]))
                    sheet.write_row(number, 1, row[1:])
    book.close()
    return _repacked(out.getvalue())


def _saved(save: Callable[[io.BytesIO], None]) -> bytes:
    out = io.BytesIO()
    save(out)
    return _repacked(out.getvalue())


def _repacked(content: bytes) -> bytes:
    """An archive whose parts were all made at one time."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return packed({name: archive.read(name) for name in archive.namelist()})


def packed(parts: Mapping[str, bytes | str], *, stored: Iterable[str] = ("mimetype",)) -> bytes:
    """An archive of these parts, in their order; those in `stored` are not deflated."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            info = zipfile.ZipInfo(name, _THEN)
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, part)
    return out.getvalue()


# --- Open Document (ISO/IEC 26300) and EPUB -----------------------------------------------------------------

_NAMESPACES: Final = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (
        *(("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing")),
        *(("presentation", "presentation"), ("meta", "meta"), ("svg", "svg-compatible")),
    )
)
_OPEN: Final = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}


def _open_document(file: CorpusFile) -> bytes:
    form = _OPEN[file.kind]
    pages = "".join(map(_ODF_PAGES[form], file.pages))
    media_type = f"application/vnd.oasis.opendocument.{form}"
    parts: dict[str, bytes | str] = {
        "mimetype": media_type,
        "content.xml": f'<?xml version="1.0"?><office:document-content {_NAMESPACES} office:version="1.3">'
        f"<office:body><office:{form}>{pages}</office:{form}></office:body></office:document-content>",
        "meta.xml": f'<?xml version="1.0"?><office:document-meta {_NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<office:meta><dc:title>{html.escape(file.title)}</dc:title></office:meta></office:document-meta>",
        "META-INF/manifest.xml": '<?xml version="1.0"?><manifest:manifest '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{media_type}"/></manifest:manifest>',
    }
    if image := picture(file):
        parts["Pictures/1.jpg"] = image
    return packed(parts)


def _odf_blocks(blocks: Iterable[Block]) -> str:
    return "".join(map(_odf_block, blocks))


def _odf_block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f'<text:h text:outline-level="{level}">{html.escape(text)}</text:h>'
        case Paragraph():
            return _odf_p(block.text)
        case Items(items):
            found = "".join(f"<text:list-item>{_odf_p(item)}</text:list-item>" for item in items)
            return f"<text:list>{found}</text:list>"
        case Table():
            return _odf_table(block, "Table")
        case _:
            assert_never(block)


def _odf_p(text: str) -> str:
    return f"<text:p>{html.escape(text)}</text:p>"


def _odf_table(table: Table, name: str) -> str:
    rows = "".join(f"<table:table-row>{''.join(map(_odf_cell, row))}</table:table-row>" for row in table.rows)
    columns = f'<table:table-column table:number-columns-repeated="{len(table.rows[0])}"/>'
    return f'<table:table table:name="{html.escape(name)}">{columns}{rows}</table:table>'


def _odf_cell(cell: str) -> str:
    if not cell:
        return "<table:table-cell/>"
    return f'<table:table-cell office:value-type="string">{_odf_p(cell)}</table:table-cell>'


def _odf_sheet(page: Page) -> str:
    return "".join(_odf_table(block, page.label) for block in page.blocks if isinstance(block, Table))


def _odf_slide(page: Page) -> str:
    frames: list[str] = []
    for block in page.blocks:
        if isinstance(block, Heading):
            inside = f"<draw:text-box>{_odf_p(block.text)}</draw:text-box>"
            frames.append(f'<draw:frame presentation:class="title">{inside}</draw:frame>')
        elif isinstance(block, Table):
            frames.append(f"<draw:frame>{_odf_block(block)}</draw:frame>")
        else:
            inside = f"<draw:text-box>{_odf_block(block)}</draw:text-box>"
            frames.append(f'<draw:frame presentation:class="outline">{inside}</draw:frame>')
    inside = f"<draw:text-box>{_odf_p(page.notes)}</draw:text-box>"
    notes = f'<draw:frame presentation:class="notes">{inside}</draw:frame>'
    spoken = f"<presentation:notes>{notes}</presentation:notes>" if page.notes else ""
    return f'<draw:page draw:name="{html.escape(page.label)}">{"".join(frames)}{spoken}</draw:page>'


_ODF_PAGES: Final[dict[str, Callable[[Page], str]]] = {
    "text": lambda page: _odf_blocks(page.blocks),
    "spreadsheet": _odf_sheet,
    "presentation": _odf_slide,
}


def _epub(file: CorpusFile) -> bytes:
    """Its chapters lie in the archive in another order than they are read in (EPUB 3.3, "spine")."""
    numbers = range(len(file.pages))
    chapters = {
        f"OEBPS/c{number}.xhtml": '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>'
        f"<title>{page.label}</title></head><body>{_html_of(page)}</body></html>"
        for number, page in enumerate(file.pages)
    }
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    points = "".join(
        f'<navPoint id="n{n}" playOrder="{n}"><navLabel><text>{file.pages[n].label}</text></navLabel>'
        f'<content src="c{n}.xhtml"/></navPoint>'
        for n in numbers
    )
    parts: dict[str, bytes | str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<?xml version="1.0"?><container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>',
        **dict(reversed(chapters.items())),
        "OEBPS/toc.ncx": '<?xml version="1.0"?>'
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1">'
        f"<navMap>{points}</navMap></ncx>",
        "OEBPS/book.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="2.0" '
        'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:title>{html.escape(file.title)}</dc:title><dc:language>en</dc:language><dc:identifier id="id">'
        f"corpus-{file.number}</dc:identifier></metadata><manifest>{items}"
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f'<spine toc="ncx">{spine}</spine></package>',
    }
    if image := picture(file):
        parts["OEBPS/photograph.jpg"] = image
    return packed(parts)


def _png(file: CorpusFile) -> bytes:
    out = io.BytesIO()
    drawn(file.pages[0]).save(out, "PNG")
    return out.getvalue()


def _pdf(file: CorpusFile) -> bytes:
    return pdf(file, picture=picture(file), drawn=drawn)


_WRITERS: Final[dict[Kind, Callable[[CorpusFile], bytes]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "odt": _open_document,
    "ods": _open_document,
    "odp": _open_document,
    "epub": _epub,
    "html": _html,
    "eml": _eml,
    "msg": _msg,
    "md": _md,
    "rtf": _rtf,
    "csv": _csv,
    "tsv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "py": _py,
    "txt": _txt,
    "png": _png,
}
