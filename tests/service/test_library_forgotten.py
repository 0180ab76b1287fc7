"""Documents in a real data directory: behind a forgetting no file of it holds a byte of what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bethink.app import open_app
from bethink.documents.model import NewDocument
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.forgetting.selection import ForgetRequest
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
