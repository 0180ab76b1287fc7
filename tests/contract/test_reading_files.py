"""What is read of files: pages, tables, encodings; and what is said of those that cannot be read."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from inline_snapshot import snapshot
from pypdf import PdfReader, PdfWriter

from bethink.documents.reading.extraction import Extraction
from bethink.documents.reading.messages import NEEDS_OCR, Extracted
from bethink.documents.reading.tables import PAGE_CHARS, paged, paragraphs
from bethink.errors import DocumentError
from tests.papers import letter, pdf, with_part

# A process is started for each test, on machines where others are at work.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

READABLE = "PDF, Office, Open Document, EPUB, HTML, mail, RTF, CSV, JSON and text files are."
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
TABLE = [["Year", "Profit"], ["2024", "7"], ["2025", "9"]]


async def read(
    tmp_path: Path, content: bytes | str, name: str, media_type: str = "application/octet-stream", **more: int
) -> Extracted:
    path = tmp_path / "content"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return await Extraction(20).read(path, name, media_type, **more)


async def refusal(tmp_path: Path, content: bytes | str, name: str, media_type: str = "a/b") -> str:
    with pytest.raises(DocumentError) as caught:
        await read(tmp_path, content, name, media_type)
    return str(caught.value)


@pytest.mark.requirement("R87")
async def test_a_pdf_has_its_own_pages_and_its_tables_as_tables(tmp_path: Path) -> None:
    got = await read(tmp_path, pdf(["One", "below"], ["Two"], table=TABLE), "report.pdf")
    assert dict(got.pages) == snapshot(
        {
            1: """\
One
below

| Year | Profit |
| --- | --- |
| 2024 | 7 |
| 2025 | 9 |\
""",
            2: "Two",
        }
    )
    assert (got.count, got.note) == (2, "")


async def test_pages_of_a_pdf_can_be_read_apart(tmp_path: Path) -> None:
    got = await read(tmp_path, pdf(["One"], ["Two"], ["Three"]), "report.pdf", first=2, last=2)
    assert (dict(got.pages), got.count) == ({2: "Two"}, 3)


@pytest.mark.requirement("R87", "R212")
async def test_a_docx_has_headings_lists_and_tables(tmp_path: Path) -> None:
    got = await read(tmp_path, letter(), "letter.docx")
    assert got.pages[1] == snapshot(
        """\
# A letter

# Why

Because the roof leaks.

- buckets

| Room | Wet |
| --- | --- |
| Attic | very \\| much |

Yours\
"""
    )


async def test_a_docx_says_what_was_inserted_and_not_what_was_deleted(tmp_path: Path) -> None:
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = (
        f'<w:document xmlns:w="{w}"><w:body><w:sdt><w:sdtContent><w:p><w:r><w:t>kept</w:t></w:r>'
        '<w:ins><w:r><w:t xml:space="preserve"> added</w:t></w:r></w:ins>'
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p></w:sdtContent></w:sdt></w:body></w:document>"
    )
    got = await read(tmp_path, with_part(letter(), "word/document.xml", body.encode()), "a.docx")
    assert got.pages[1] == "kept added"


@pytest.mark.requirement("R87", "C14")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'name,town\n"Smith, Anna",Paris\nBo,Rome\n'),
        ("a.csv", 'name;town\n"Smith, Anna";Paris\nBo;Rome\n'),
        ("a.tsv", "name\ttown\nSmith, Anna\tParis\nBo\tRome\n"),
    ],
)
async def test_a_csv_is_a_table_whatever_parts_its_columns(tmp_path: Path, name: str, content: str) -> None:
    got = await read(tmp_path, content, name)
    assert got.pages[1] == snapshot(
        """\
Rows 1 to 2

| name | town |
| --- | --- |
| Smith, Anna | Paris |
| Bo | Rome |\
"""
    )


async def test_every_page_of_a_long_csv_has_the_head(tmp_path: Path) -> None:
    got = await read(tmp_path, "id,word\n" + "".join(f"{n},word{n}\n" for n in range(2_000)), "a.csv")
    assert got.count > 2
    assert all("| id | word |" in page and len(page) < PAGE_CHARS + 200 for page in got.pages.values())
    assert "Rows 1 to " in got.pages[1]
    assert "| 1999 | word1999 |" in got.pages[got.count]


async def test_one_endless_line_of_a_csv_is_cut(tmp_path: Path) -> None:
    got = await read(tmp_path, "a,b\n" + "x" * 3_000_000 + ",y\n1,2\n", "a.csv")
    assert sum(map(len, got.pages.values())) < 10_000
    assert "character" in got.note


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("grüße ☀".encode(), "grüße ☀"),
        (b"\xef\xbb\xbfbom", "bom"),
        ("mit Zeichen".encode("utf-16"), "mit Zeichen"),
        ("ohne Zeichen".encode("utf-16-le"), "ohne Zeichen"),
        ("naïve café\n".encode("cp1252") * 20, "naïve café"),
        ("Привет, как дела? Сегодня хорошая погода.\n".encode("cp1251") * 20, "Привет, как дела"),
    ],
)
async def test_text_is_read_whatever_it_is_written_in(tmp_path: Path, content: bytes, text: str) -> None:
    assert (await read(tmp_path, content, "note.txt")).pages[1].startswith(text)


@pytest.mark.requirement("C14")
async def test_html_is_read_as_markdown_and_json_indented(tmp_path: Path) -> None:
    html = (
        f"<html><head><title>News</title></head><body><h1>Rain</h1><p>{'It rains. ' * 20}</p></body></html>"
    )
    assert (await read(tmp_path, html, "news.html")).pages[1].startswith("# News\n\n")
    assert (await read(tmp_path, '{"a":[1]}', "a.json")).pages[1] == json.dumps({"a": [1]}, indent=1)
    assert (await read(tmp_path, '{"a":', "a.json")).pages[1] == '{"a":'
    assert (await read(tmp_path, "[" * 100_000, "a.json")).count > 1


@pytest.mark.parametrize(
    "part", [b"<w:document", b"<?xml version=\"1.0\"?><w:document xmlns:w='x'/>", b"\xff"]
)
async def test_a_docx_with_a_damaged_document_is_said(tmp_path: Path, part: bytes) -> None:
    assert "damaged" in await refusal(tmp_path, with_part(letter(), "word/document.xml", part), "a.docx")


async def test_half_a_character_does_not_hide_the_rest(tmp_path: Path) -> None:
    assert (await read(tmp_path, '["\\ud800 and"]', "a.json")).pages[1] == '[\n "? and"\n]'


async def test_code_keeps_its_indentation(tmp_path: Path) -> None:
    assert (await read(tmp_path, "def f():\n    return 1\n", "f.py")).pages[1] == "def f():\n    return 1"


@pytest.mark.requirement("C14")
def test_pages_end_where_paragraphs_end() -> None:
    text = "\n\n".join(f"{n} " + "word " * 300 for n in range(30))
    pages = list(paged(paragraphs(text)))
    assert "".join(page.replace("\n", "") for page in pages) == text.replace("\n", "")
    assert all(len(page) <= PAGE_CHARS and page[0].isdigit() for page in pages)


def test_a_paragraph_without_an_end_is_cut() -> None:
    assert [len(page) for page in paged(["x" * 25_000])] == [10_000, 10_000, 5_000]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (
            b"\x89PNG\r\n\x1a\n\0\0",
            "a.png",
            f"a.png is an image: {NEEDS_OCR}",
        ),
        (b"PK\x03\x04\0", "a.xlsx", "a.xlsx: This XLSX file is damaged: it cannot be unpacked."),
        (EMPTY_ZIP, "a.xlsx", "a.xlsx: It is an archive: unpack it and give the files in it."),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "a.doc", "a.doc: This file is damaged: it cannot be opened."),
        (
            bytes(range(256)) * 9,
            "a.bin",
            f"a.bin (a/b) is not a kind of file that can be read. {READABLE}",
        ),
        (b"%PDF-1.4 and nothing", "a.pdf", "a.pdf: This PDF is damaged: it cannot be opened."),
        (b"PK\x03\x04 and nothing", "a.docx", "a.docx: This DOCX file is damaged: it cannot be unpacked."),
    ],
)
async def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes, name: str, said: str) -> None:
    assert await refusal(tmp_path, content, name) == said


async def test_a_locked_pdf_says_that_it_is_locked(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["secret"]))))
    writer.encrypt("key", algorithm="AES-128")
    out = io.BytesIO()
    writer.write(out)
    assert "locked with a password" in await refusal(tmp_path, out.getvalue(), "a.pdf")


async def test_a_pdf_without_its_table_of_objects_is_read(tmp_path: Path) -> None:
    content = pdf(["One"], ["Two"])
    broken = content.replace(b"xref", b"xxxx").replace(b"startxxxx", b"startxref")
    assert (await read(tmp_path, broken, "a.pdf")).pages[2] == "Two"


async def test_a_docx_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    bomb = with_part(letter(), "word/media/bomb.bin", bytes(201_000_000))
    assert len(bomb) < 1_000_000
    assert "larger than 200 MB" in await refusal(tmp_path, bomb, "a.docx")


async def test_a_docx_whose_entities_multiply_tells_nothing_of_them(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = (
        f'<!DOCTYPE d [<!ENTITY a0 "lol">{entities}]><w:document xmlns:w="{w}"><w:body><w:p><w:r>'
        "<w:t>before &a11;</w:t></w:r></w:p></w:body></w:document>"
    )
    with suppress(DocumentError):
        got = await read(tmp_path, with_part(letter(), "word/document.xml", body.encode()), "a.docx")
        assert "lol" not in "".join(got.pages.values())


async def test_reading_ends_with_its_time_and_tells_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(pdf(*[[f"page {n}"] for n in range(300)]))
    got = await Extraction(0.001).read(path, "a.pdf", "a/b")
    assert 0 < len(got.pages) < got.count == 300
    assert got.note.endswith("there was no time for more.")


async def test_reading_ends_with_its_memory(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(b"word " * 8_000_000)
    with pytest.raises(DocumentError, match="too much memory"):
        await Extraction(20, memory=100 * 2**20).read(path, "a.txt", "a/b")


async def test_files_that_ask_for_too_much_memory_fail_alone(tmp_path: Path) -> None:
    out = io.BytesIO()
    book: Any = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet()
    sheet.write(0, 0, "the first")
    sheet.write(1_048_575, 16_383, "the last of 17 billion cells")
    book.close()
    wide = await refusal(tmp_path, out.getvalue(), "a.xlsx")
    assert "Save it anew, or in parts." in wide or "it asks for too much memory" in wide
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{w}"><w:body>{"<w:p/>" * 1_500_000}</w:body></w:document>'
    path = tmp_path / "content"
    path.write_bytes(with_part(letter(), "word/document.xml", body.encode()))
    with pytest.raises(DocumentError, match="too much memory"):
        await Extraction(20, memory=128 * 2**20).read(path, "a.docx", "a/b")
    assert (await read(tmp_path, "still here", "a.txt")).pages == {1: "still here"}


async def test_names_that_are_no_names_are_only_said(tmp_path: Path) -> None:
    odd = "../" * 40 + "\"'`$(x)\n" * 10 + "ü" * 40
    for name in (odd, "half \ud800 a pair.txt", "long" * 20_000):
        assert (await read(tmp_path, "text", name)).pages == {1: "text"}
    assert odd in await refusal(tmp_path, bytes(range(256)) * 9, odd)


async def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not there any more"):
        await Extraction().read(tmp_path / "none", "a.pdf", "a/b")
    assert await Extraction().kind(tmp_path / "none", "a.pdf", "a/b") is None
