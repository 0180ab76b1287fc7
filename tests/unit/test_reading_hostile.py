"""Files that mean harm, or are not what they say: each fails alone, with a sentence that says what to do."""

from __future__ import annotations

import io
import random
import zipfile
from email.message import EmailMessage
from typing import Any

import pytest

from benchmarks.documents.formats import packed
from benchmarks.documents.message_file import Entry, compound_file, message_file
from bethink.documents.reading.messages import FOREIGN
from tests.papers import pdf, with_part
from tests.read_files import extracted, whole
from tests.unit.test_reading_formats import letter, sample, saved

XML_PARTS = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "odt": "content.xml",
    "odp": "content.xml",
    "epub": "OEBPS/book.opf",
}
DAMAGED = ("pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "eml", "msg", "rtf")
LOCAL = '<!ENTITY x SYSTEM "file:///etc/passwd">'
LAUGHS = '<!ENTITY x0 "lol">' + "".join(
    f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10)
).replace("x9", "x")


def entities(content: bytes, part: str, declared: str) -> bytes:
    """A package with a part that declares entities and uses one wherever text may stand."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read(part).decode().partition("?>")[2]
    doctype = f'<?xml version="1.0"?><!DOCTYPE any [{declared}]>'
    return with_part(content, part, (doctype + text.replace("</", "&x;</")).encode())


@pytest.mark.parametrize("declared", [LOCAL, LAUGHS])
@pytest.mark.parametrize("kind", XML_PARTS)
def test_xml_that_declares_entities_is_refused(kind: str, declared: str) -> None:
    got = extracted(entities(sample(kind)[1], XML_PARTS[kind], declared))
    # libxml2 itself refuses those that multiply.
    assert "declares entities, which no program writes" in got.note or "cannot be opened" in got.note
    assert not got.pages


@pytest.mark.parametrize("declared", [LOCAL, LAUGHS])
@pytest.mark.parametrize(
    ("kind", "part"), [("xlsx", "xl/sharedStrings.xml"), ("ods", "content.xml"), ("epub", "OEBPS/c0.xhtml")]
)
def test_entities_tell_nothing_where_another_parser_reads(kind: str, part: str, declared: str) -> None:
    got = extracted(entities(sample(kind)[1], part, declared))
    assert "root:" not in whole(got)
    assert "lollol" not in whole(got)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx", "odt", "epub"])
def test_what_unpacks_to_gigabytes_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.documents.reading.package._MAX_UNPACKED", 2_000_000)
    bomb = with_part(sample(kind)[1], "media/bomb.bin", bytes(20_000_000))
    assert "is larger than 2 MB" in extracted(bomb).note


def test_an_archive_of_very_many_parts_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"word/{number}", "")
    assert extracted(out.getvalue(), "a.docx").note == (
        "This DOCX file has 10,001 parts, more than 10,000: divide it."
    )


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Straße café naïve Übung größer", "latin-1"),
        ("Déjà vu: le garçon a mangé, où était l'été", "cp1252"),
        ("Año nuevo, mañana señor", "cp1252"),
        ("Pražský hrad, žluťoučký kůň úpěl", "cp1250"),
        ("Цапля летит над озером. " * 8, "cp1251"),
        ("これは日本語の文章です。鷺が湖の上を飛んでいます。" * 5, "shift_jis"),
    ],
)
def test_a_text_that_does_not_say_its_encoding_is_read(text: str, encoding: str) -> None:
    assert whole(extracted(text.encode(encoding), "a.txt")) == text.strip()


@pytest.mark.parametrize(
    "damaged", [b"caf\xc3\xa9 " * 50 + b"\xc3", b"gr\xc3\xbc\xc3\x9fe " * 20 + b"caf\xe9"]
)
def test_a_few_wrong_bytes_do_not_spoil_a_text(damaged: bytes) -> None:
    text = whole(extracted(damaged, "a.txt"))
    assert text.startswith(("café café", "grüße grüße"))
    assert text.count("\ufffd") == 1


def test_a_part_that_is_too_large_is_refused_and_photographs_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    content = sample("docx")[1]
    monkeypatch.setattr("bethink.documents.reading.package._MAX_UNPACKED", len(content) // 2)
    noise = random.Random(1).randbytes(len(content))  # noqa: S311
    assert extracted(with_part(content, "word/media/photo.jpg", noise)).pages
    monkeypatch.setattr("bethink.documents.reading.package._MAX_PART", 1_000)
    assert "a part of this DOCX file is larger than" in extracted(content).note


@pytest.mark.parametrize(
    "kind", ["pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "eml", "msg", "rtf"]
)
def test_half_a_file_and_a_damaged_one_say_something_and_never_fail_otherwise(kind: str) -> None:
    content = sample(kind)[1]
    luck = random.Random(kind)  # noqa: S311
    broken = [content[: len(content) // 2], content[:700]]
    for _ in range(6):
        damaged = bytearray(content)
        for _ in range(20):
            damaged[luck.randrange(8, len(damaged))] = luck.randrange(256)
        broken.append(bytes(damaged))
    for some in broken:
        try:
            got = extracted(some, f"a.{kind}")
        except FOREIGN:
            # What `main` turns into a sentence.
            continue
        assert got.pages or got.note.endswith((".", "`"))


def test_files_locked_with_a_password_say_so() -> None:
    locked = "locked with a password: save it without one."
    assert locked in extracted(compound_file([Entry("EncryptedPackage", 2, b"x" * 5000)])).note
    manifest = "<manifest><encryption-data/></manifest>"
    assert locked in extracted(with_part(sample("odt")[1], "META-INF/manifest.xml", manifest.encode())).note
    content = bytearray(packed({"word/document.xml": b"<x/>"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    assert locked in extracted(bytes(content)).note
    drm = b"<encryption><CipherReference URI='OEBPS/c0.xhtml'/></encryption>"
    assert (
        "protected against copying"
        in extracted(with_part(sample("epub")[1], "META-INF/encryption.xml", drm)).note
    )


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ("WordDocument", "save it as DOCX"),
        ("PowerPoint Document", "save it as PPTX"),
        ("x", "save it as PDF"),
    ],
)
def test_formats_of_before_2007_say_what_to_do(stream: str, said: str) -> None:
    assert said in extracted(compound_file([Entry(stream, 2, b"x" * 100)])).note


def test_macros_are_named_and_not_run() -> None:
    got = extracted(with_part(sample("docx")[1], "word/vbaProject.bin", b"Sub AutoOpen"))
    assert got.pages
    assert got.note == "It contains macros, which are neither run nor read."


def test_what_a_slide_refers_to_outside_is_not_fetched() -> None:
    rels = "ppt/slides/_rels/slide1.xml.rels"
    content = sample("pptx")[1]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read(rels).decode()
    link = '<Relationship Id="rId9" Type="x/notesSlide" Target="http://127.0.0.1:9/x" TargetMode="External"/>'
    broken = with_part(content, rels, text.replace("</Relationships>", f"{link}</Relationships>").encode())
    assert extracted(broken).count == extracted(content).count


def test_letters_in_letters_and_many_attachments_are_bounded() -> None:
    message = letter()
    for depth in range(10):
        outer = letter()
        outer.replace_header("Subject", f"Level {depth}")
        outer.add_attachment(message)
        message = outer
    got = extracted(message.as_bytes())
    assert 2 <= got.count <= 4
    assert "there is too much" in got.note
    crowd: EmailMessage = letter()
    for number in range(80):
        crowd.add_attachment(f"File {number}", filename=f"{number}.txt")
    got = extracted(crowd.as_bytes())
    assert got.count == 51
    assert got.note.count("is not read") == 30


def test_archives_in_letters_are_named_and_left_alone() -> None:
    message = letter()
    inner = packed({"inner.zip": packed({"a.txt": b"deep"})})
    message.add_attachment(inner, maintype="application", subtype="zip", filename="all.zip")
    got = extracted(message.as_bytes())
    assert "The attached all.zip is not read: It is an archive: unpack it" in got.note
    assert "deep" not in whole(got)


@pytest.mark.parametrize("charset", ["utf-8", "bogus", "utf-7", "cp1252"])
def test_a_letter_that_lies_about_its_characters_is_read(charset: str) -> None:
    body = "Grüße aus Évora, naïve Köche.\n" * 3
    content = (
        "From: a@b\nTo: c@d\nDate: x\nSubject: y\nMIME-Version: 1.0\n"
        f"Content-Type: text/plain; charset={charset}\n\n"
    ).encode() + body.encode()
    assert "Grüße aus Évora" in whole(extracted(content))


def test_names_of_255_bytes_with_slashes_and_quotes_are_kept_as_far_as_they_are_names() -> None:
    odd = "../" * 20 + "\"'`" * 20 + "ü" * 60 + ".txt"
    content = message_file("x", "y", body="z", attachments=[(odd, b"read"), ("\x00\u202e", b"too")])
    got = extracted(content, odd)
    assert [*got.labels.values()] == ["\"'`" * 20 + "ü" * 60 + ".txt", "file 2"]


def test_a_sheet_of_very_many_rows_ends_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.documents.reading.sheets.MAX_CHARS", 20_000)
    monkeypatch.setattr("bethink.documents.reading.reader.MAX_CHARS", 20_000)
    monkeypatch.setattr("bethink.documents.reading.tables.MAX_CHARS", 20_000)
    import xlsxwriter

    out = io.BytesIO()
    book: Any = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet("Rows")
    for number in range(5_000):
        sheet.write_row(number, 0, [number, "some words"])
    sheet.write(1_048_575, 3, "the last")
    book.close()
    got = extracted(out.getvalue())
    assert "Sheet Rows: It is not read behind row" in got.note
    rows = "".join(f"{number},some words\n" for number in range(50_000))
    assert "It is not read behind row" in extracted(rows.encode(), "a.csv").note


def test_cells_repeated_without_end_are_bounded() -> None:
    content = sample("odt")[1]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("content.xml").decode()
    cell = "<table:table-cell "
    huge = text.replace(cell, f'{cell}table:number-columns-repeated="99999999999" ')
    huge = huge.replace("<text:p>", '<text:p><text:s text:c="999999999"/>')
    got = extracted(with_part(content, "content.xml", huge.encode()))
    assert got.pages
    assert len(whole(got)) < 100_000


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<html>" + b"<div>" * 50_000 + b"deep", "a.html"),
        (b"<html>" + b"<table><tr><td>" * 5_000 + b"deep", "a.html"),
        (b"<html>" + b"<ul><li>" * 5_000 + b"deep", "a.html"),
        (b"{\\rtf1 " + b"{" * 100_000 + b"deep", "a.rtf"),
    ],
)
def test_what_nests_without_end_is_read_or_refused(content: bytes, name: str) -> None:
    from bethink.documents.reading.markup import html_blocks

    if name == "a.html":
        assert len(list(html_blocks(content.decode()))) < 10_000
    assert extracted(content, name).count <= 1_000


def test_ten_thousand_pages_are_read_in_parts() -> None:
    content = pdf(*[[f"Page {number}"] for number in range(1, 1_001)])
    got = extracted(content, seconds=0.2)
    assert got.count == 1_000
    assert got.pages[1] == "Page 1"
    assert len(got.pages) == 1_000 or "there was no time for more" in got.note


def test_a_table_of_very_many_rows_in_a_docx_is_read_as_far_as_it_fits() -> None:
    import docx

    document: Any = docx.Document()
    document.add_paragraph("before")
    content = saved(document)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("word/document.xml").decode()
    row = "<w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr>"
    table = f"<w:tbl>{row * 20_000}</w:tbl>"
    got = extracted(
        with_part(content, "word/document.xml", text.replace("<w:sectPr", f"{table}<w:sectPr").encode())
    )
    assert whole(got).count("| cell |") == 5_000
