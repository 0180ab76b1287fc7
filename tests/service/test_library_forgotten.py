"""Documents in a real data directory: behind a forgetting no file of it holds a byte of what is forgotten."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pptx
import pytest
import xlsxwriter

from bethink.app import open_app
from bethink.documents.model import NewDocument
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.forgetting.selection import ForgetRequest
from bethink.memory import NewFact
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings
from tests.papers import letter, pdf, with_part
from tests.traces import left_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SAID = "The Zyxomma contract ends in Quillemont"
WORDS = ("zyxomma", "quillemont")


async def test_forget_the_contract_leaves_no_byte_of_it_in_the_data_directory(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, vault=VaultSettings(mirror=False))
    sentence = f"The roof leaks. {SAID}. The barn is red."
    files = {
        "zyxomma-contract.pdf": pdf(["It ends in Quillemont."]),
        "plans.pdf": pdf([sentence], ["The second page."]),
        "letter.docx": with_part(letter(), "docProps/note.txt", b"Zyxomma"),
        "notes.md": f"# Notes\n\n{sentence}\n".encode(),
        "table.csv": f"what,when\n{SAID},May\nbarn,June\n".encode(),
        "other.txt": b"The barn is red.",
    }
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=HashingEmbeddings())) as app,
    ):
        me = await app.accounts.authenticate(audience="cli")
        ingest = app.features.of(Documents).ingest
        added = {
            name: await app.library.add(me, NewDocument(name=name, content=content))
            for name, content in files.items()
        }
        older = NewDocument(name="notes.md", content=f"# Notes, older\n\n{sentence}\n".encode())
        await app.library.replace(me, added["notes.md"].id, older)
        everything = [one.content for one in added.values()]
        notes = await app.library.get(me, added["notes.md"].id)
        await ingest.finish(me, [*everything, notes.newest])
        await app.library.remove(me, added["letter.docx"].id)  # its parts are packed: no page says it
        assert left_of(WORDS, tmp_path)

        wanted = ForgetRequest(query="the Zyxomma contract")
        preview = await app.forgetting.preview(me, wanted)
        receipt = await app.forgetting.confirm(me, wanted, preview.token)
        assert left_of(WORDS[:1], tmp_path) == []
        assert "Zyxomma" not in str(receipt)
        await ingest.finish(me, everything)
        assert left_of(WORDS, tmp_path) == []
        names = {state.document.name for state in (await app.library.list(me)).items}
        assert names == {"plans.pdf", "notes.md", "table.csv", "other.txt"}
        assert "barn" in str(await app.library.search(me, "What colour is the barn?"))
        told = " ".join(receipt.outside)
        assert "1 documents were removed as a whole." in told
        assert "original files of 2 documents were removed" in told


def presentation(hidden: str) -> bytes:
    """A PPTX of one slide whose properties say this."""
    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "The barn is red."
    deck.core_properties.comments = hidden
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def workbook(hidden: str) -> bytes:
    """An XLSX of one cell, with a comment that says this."""
    out = io.BytesIO()
    book: Any = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet()
    sheet.write("A1", "The barn is red.")
    sheet.write_comment("A1", hidden)
    book.close()
    return out.getvalue()


def subject(hidden: str) -> bytes:
    """A PDF that says this in a deflated part that no page shows."""
    packed = zlib.compress(b"<</Subject(%b)>>" % hidden.encode())
    part = b"99 0 obj\n<</Filter/FlateDecode/Length %d>>\nstream\n%b\nendstream\nendobj\n"
    return pdf(["The barn is red."]).replace(b"%PDF-1.4\n", b"%PDF-1.4\n" + part % (len(packed), packed), 1)


@pytest.mark.parametrize("by", ["question", "fact"])
async def test_what_no_page_shows_is_forgotten_with_the_original(tmp_path: Path, by: str) -> None:
    settings = Settings(data_dir=tmp_path, vault=VaultSettings(mirror=False))
    split = b"<w:p><w:r><w:t>The Zyx</w:t></w:r><w:r><w:t>omma contract ends in Quillemont.</w:t></w:r></w:p>"
    attached = io.BytesIO()
    with zipfile.ZipFile(attached, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("sheet.docx", with_part(letter(), "word/comments.xml", split))
    mail = EmailMessage()
    mail["Subject"] = "The barn is red."
    mail.set_content("The barn is red.")
    mail.add_attachment(attached.getvalue(), maintype="application", subtype="zip", filename="more.zip")
    files = {
        "letter.docx": with_part(letter(), "word/comments.xml", split),
        "deck.pptx": presentation(SAID),
        "sheet.xlsx": workbook(SAID),
        "paper.pdf": subject(SAID),
        "mail.eml": mail.as_bytes(),
        "innocent.docx": letter(),
        "innocent.pdf": pdf(["The barn is red."]),
    }
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=HashingEmbeddings())) as app,
    ):
        me = await app.accounts.authenticate(audience="cli")
        added = {
            name: await app.library.add(me, NewDocument(name=name, content=content))
            for name, content in files.items()
        }
        await app.features.of(Documents).ingest.finish(me, [one.content for one in added.values()])
        if by == "fact":
            fact = await app.memory.add(me, NewFact(SAID))
            receipt = await app.forgetting.forget(me, [fact.fact.id])
        else:
            wanted = ForgetRequest(query="the Zyxomma contract")
            preview = await app.forgetting.preview(me, wanted)
            assert "a part of a document that no page shows" in str(preview)
            receipt = await app.forgetting.confirm(me, wanted, preview.token)
        assert "original files of 5 documents were removed" in " ".join(receipt.outside)
        assert "Zyxomma" not in str(receipt)
        assert left_of(WORDS, tmp_path) == []
        kept = {name for name, one in added.items() if (await app.library.content(me, one.content)).original}
        assert kept == {"innocent.docx", "innocent.pdf"}
        states = (await app.library.list(me)).items
        assert {state.document.name for state in states} == files.keys()
        await app.features.of(Documents).ingest.finish(me, [one.content for one in added.values()])
        assert "leaks" in (await app.library.search(me, "Why does the roof leak?"))[0].text
