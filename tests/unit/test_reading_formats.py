"""What readers give of each format: the text, the tables, the headings, what pages are called."""

from __future__ import annotations

import io
from email.message import EmailMessage
from functools import cache
from typing import Any

import docx
import pptx
import pytest
from inline_snapshot import snapshot

from benchmarks.documents.corpus import PAGED, CorpusFile, Heading, Items, Paragraph, Table, corpus
from benchmarks.documents.formats import packed, written
from benchmarks.documents.message_file import message_file
from bethink.documents.reading.markup import html_blocks
from bethink.documents.reading.messages import Extracted, Kind
from tests.read_files import extracted, whole

KINDS = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "html", "eml", "msg", "md", "rtf", "csv", "pdf")
WITHOUT_HEADINGS = {"eml", "msg", "rtf"}


@cache
def sample(kind: str, layout: str = "plain") -> tuple[CorpusFile, bytes]:
    """The smallest file of its kind."""
    chosen = (file for file in corpus(150) if (file.kind, file.layout) == (kind, layout))
    file = min(chosen, key=lambda file: (len(file.pages), file.picture_bytes))
    return file, written(file)


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_a_file_says_is_read_in_its_order(kind: str) -> None:
    file, content = sample(kind)
    got = extracted(content, f"renamed.{'pdf' if kind == 'docx' else kind}")
    text = whole(got)
    lines = {" ".join(line.split()) for page in got.pages.values() for line in page.split("\n")}
    at = 0
    for page in file.pages:
        for sentence in page.sentences:
            assert (at := text.find(sentence, at)) >= 0, sentence
        for block in page.blocks:
            if isinstance(block, Table) and kind != "msg":
                assert {" ".join(f"| {' | '.join(row)} |".split()) for row in block.rows} <= lines
            elif isinstance(block, Heading) and kind not in WITHOUT_HEADINGS:
                assert f"{'#' * block.level} {block.text}" in lines
            elif isinstance(block, Items) and kind not in WITHOUT_HEADINGS:
                assert {f"- {item}" for item in block.items} <= lines
    if kind in PAGED:
        assert got.count == len(file.pages)


@pytest.mark.parametrize(
    "kind", ["pdf", "docx", "pptx", "odt", "odp", "epub", "html", "eml", "msg", "md", "xlsx"]
)
def test_a_file_says_its_title(kind: str) -> None:
    file, content = sample(kind)
    assert extracted(content, f"a.{kind}").title == file.title


def test_pages_are_called_what_people_call_them() -> None:
    assert extracted(sample("pptx")[1]).labels[2] == "Slide 2"
    assert extracted(sample("epub")[1]).labels[2] == "Chapter 2"
    file, content = sample("ods")
    assert extracted(content).labels[1] == f"Sheet {file.pages[0].label}"


def test_tables_of_a_pdf_stand_where_they_are() -> None:
    file, content = sample("pdf", "tables")
    for page, text in zip(file.pages, extracted(content).pages.values(), strict=True):
        before, table, after = page.blocks[-3:]
        assert isinstance(table, Table)
        assert isinstance(before, Items | Paragraph)
        assert isinstance(after, Paragraph)
        words = [before.items[-1] if isinstance(before, Items) else before.sentences[0], after.sentences[0]]
        first, last = (text.replace("\n", " ").index(said) for said in words)
        assert first < text.index(f"| {' | '.join(table.rows[1])} |") < last


def test_columns_of_a_pdf_are_read_one_after_the_other() -> None:
    file, content = sample("pdf", "columns")
    text = whole(extracted(content))
    places = [text.index(sentence) for sentence in file.pages[0].sentences]
    assert places == sorted(places)


def test_scanned_pages_and_fonts_without_a_mapping_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.documents.reading.pdf.recogniser", lambda: None)
    scanned = extracted(sample("pdf", "scanned")[1])
    assert not whole(scanned)
    assert scanned.note.startswith(f"Pages 1-{scanned.count} are images without text: `pip install")
    mapped = extracted(sample("pdf", "unmapped font")[1])
    assert not whole(mapped)
    assert "left out: the fonts do not say which letters they show" in mapped.note


def test_text_in_images_is_recognised_where_something_does(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []

    def recognise(image: Any) -> str:  # noqa: ANN401 - Pillow's
        sizes.append(image.size)
        return "Seen."

    for module in ("pdf", "recognition"):
        monkeypatch.setattr(f"bethink.documents.reading.{module}.recogniser", lambda: recognise)
    scanned = extracted(sample("pdf", "scanned")[1])
    assert set(scanned.pages.values()) == {"Seen."}
    assert (
        scanned.note == f"The text of pages 1-{scanned.count} was recognised in images: it may have errors."
    )
    assert sizes[0] == (1654, 2339)  # A4 at 200 dots an inch
    assert extracted(sample("png")[1]).pages == {1: "Seen."}


def test_slides_have_their_notes_and_say_that_they_are_hidden() -> None:
    show: Any = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "Costs"
    box = slide.shapes.add_textbox(0, 0, 99, 99)
    box.text_frame.text = "Paper is dear."
    slide.notes_slide.notes_text_frame.text = "Ask Bruno."
    slide.element.set("show", "0")
    got = extracted(saved(show))
    assert (got.pages, got.labels) == snapshot(
        ({1: "# Costs\n\nPaper is dear.\n\nNotes: Ask Bruno."}, {1: "Slide 1, hidden"})
    )


def test_lists_of_a_docx_keep_their_depth_and_their_numbers() -> None:
    document: Any = docx.Document()
    for text, style in (("First", "List Number"), ("Second", "List Number"), ("below", "List Bullet 2")):
        document.add_paragraph(text, style=style)
    assert extracted(saved(document)).pages[1].split("\n") == ["1. First", "1. Second", "- below"]


def test_html_keeps_lists_in_lists_tables_and_what_was_set_as_it_is() -> None:
    html = (
        "<html><h2>Plan</h2><p>One<br>two</p><ol start=3><li>three<ul><li>inner</ul><li><p>four</ol>"
        "<table><caption>Prices</caption><tr><th>a<th>b<tr><td>1 | 2<td><ul><li>x<li>y</ul></table>"
        "<pre>kept   as\n  it is</pre><p style='display:none'>hidden</p><script>no()</script>after"
    )
    assert "\n\n".join(html_blocks(html)) == snapshot(
        """\
## Plan

One
two

3. three
  - inner
4. four

Prices

| a | b |
| --- | --- |
| 1 \\| 2 | x y |

```
kept   as
  it is
```

after\
"""
    )


def letter() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Roof"
    message["From"] = "Ada <ada@example.org>"
    message["To"] = "bo@example.org"
    message["Date"] = "Fri, 17 May 2024 12:00:00 +0000"
    message.set_content("It leaks.")
    return message


def test_what_is_attached_to_a_letter_is_read_too() -> None:
    inner = letter()
    inner.replace_header("Subject", "Bill")
    inner.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename='odd/"name".csv')
    message = letter()
    message.add_attachment(inner)
    message.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="photo.png")
    got = extracted(message.as_bytes(), "saved.bin")
    assert got.kind == "eml"
    assert got.title == "Roof"
    assert "It leaks." in got.pages[1]
    assert [*got.labels.values()] == ["Bill.eml, page 1", 'Bill.eml, "name".csv']
    assert "| 1 | 2 |" in got.pages[3]
    assert got.note == "The attached photo.png is not read."


def test_a_letter_of_outlook_has_its_attachments() -> None:
    content = message_file("Offer", "Ada", body="See below.", attachments=[("a.csv", b"x,y\n1,2\n")])
    got = extracted(content, "offer.txt")
    assert (got.kind, got.title, got.labels) == ("msg", "Offer", {2: "a.csv"})


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b"<!DOCTYPE html><title>x</title>", "a.txt", "html"),
        (b"{\\rtf1 Hi}", "a.doc", "rtf"),
        (b"From: a\nTo: b\nDate: c\nSubject: d\n\nHi", "", "eml"),
        (b"From: a\nTo: b\n\nThe minutes", "minutes.txt", "text"),
        (b"print(1)", "a.py", "text"),
        (b"a,b", "a.csv", "csv"),
    ],
)
def test_files_are_told_apart_by_what_is_in_them(content: bytes, name: str, kind: Kind) -> None:
    assert extracted(content, name).kind == kind


def test_an_empty_file_says_so() -> None:
    assert extracted(b"", "a.txt") == Extracted(0, {}, "It contains no text.")


def test_an_archive_and_pages_of_apple_say_what_to_do() -> None:
    assert extracted(packed({"a.txt": b"x"})).note == "It is an archive: unpack it and give the files in it."
    assert "export it as PDF" in extracted(packed({"Index/Document.iwa": b"x"})).note


def saved(document: Any) -> bytes:  # noqa: ANN401 - a library's, which has no types
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
