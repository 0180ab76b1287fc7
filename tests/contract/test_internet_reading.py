"""PDF files and odd pages become text, or say why not."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import msgspec
from pypdf import PdfReader, PdfWriter

from bethink.internet.reading import PageReading, ReadingTask, read_html, read_pdf


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids: list[str] = []
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for text in pages:
        stream = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        resources = f"<< /Font << /F1 {font} >> >>"
        content = f"/Contents {len(objects)} 0 R"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {resources} {content} >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    body, offsets = "%PDF-1.7\n", list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_a_pdf_is_read_page_by_page() -> None:
    reading = read_pdf(pdf("High water at six", "Low water at noon"), seconds=60)
    assert reading.text == "## Page 1\n\nHigh water at six\n\n## Page 2\n\nLow water at noon"
    assert (reading.note, reading.error) == ("", "")


def test_a_pdf_whose_time_is_up_says_how_far_it_was_read() -> None:
    reading = read_pdf(pdf("one", "two"), seconds=-1)
    assert reading.error == "This PDF could not be read in time."


def test_pictures_of_text_are_told_from_text() -> None:
    assert read_pdf(pdf("", ""), seconds=60).error == "This PDF contains no text: its pages are images."


def test_a_locked_pdf_says_so() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    assert read_pdf(locked.getvalue(), seconds=60).error == "This PDF is locked with a password."


def test_a_page_of_links_keeps_them_in_words() -> None:
    reading = read_html(
        "<title>Index</title><ul><li><a href=/a>Alpha</a></li><li>Beta</li></ul>", "https://x.example"
    )
    assert reading.title == "Index"
    assert "Alpha" in reading.text
    assert "Beta" in reading.text


def test_scripts_and_styles_are_no_text() -> None:
    reading = read_html(
        "<html><style>p{}</style><script>alert(1)</script><p>Words</p><!-- no --></html>", "https://x.example"
    )
    assert reading.text == "Words"


def test_no_page_at_all_is_empty() -> None:
    assert read_html("", "https://x.example") == PageReading()


def test_a_document_that_wants_all_memory_ends_its_process_only() -> None:
    task = msgspec.json.encode(ReadingTask("html", "https://x.example", 5)) + b"\n"
    nested = b"<table>" * 3_000_000
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "bethink.internet.reading"],
        input=task + nested,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert not ended.stdout or msgspec.json.decode(ended.stdout, type=PageReading)
