"""What documents say is forgotten: by words, with a fact, as a whole; and nothing brings it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import anyio
import msgspec
import pytest

from bethink.documents.model import NewDocument
from bethink.documents.records import COLLECTIONS, CONTENTS, DOCUMENTS, PAGES, PASSAGES, USES
from bethink.errors import JustForgotten
from bethink.forgetting.selection import ForgetRequest, Receipt
from bethink.memory import NewFact
from bethink.store import Collection, Put, Scan, records_of
from tests.reading import Reading, open_reading

pytestmark = pytest.mark.anyio

ACME = "The Acme contract ends in May."
NOTES = f"# Notes\n\nThe roof leaks. {ACME} The barn is red."


async def forgotten(reading: Reading, query: str) -> Receipt:
    wanted = ForgetRequest(query=query)
    forgetting = reading.house.app.forgetting
    preview = await forgetting.preview(reading.me, wanted)
    receipt = await forgetting.confirm(reading.me, wanted, preview.token)
    for item in await reading.library.contents.all_of(reading.me.owner):
        await reading.settled(item.record.id)
    return receipt


async def kept_bytes(reading: Reading) -> bytes:
    blobs = reading.library.contents.blobs
    return b"".join(
        [
            await anyio.Path(await blobs.opened(reading.me.owner, id)).read_bytes()
            for id in await blobs.ids(reading.me.owner)
        ]
    )


async def said(reading: Reading) -> str:
    """All that records say."""
    store = reading.library.store
    texts: list[str] = []
    said_in = cast("tuple[Collection[Any], ...]", (DOCUMENTS, CONTENTS, PAGES, PASSAGES, COLLECTIONS))
    for collection in said_in:
        texts += [str(one) async for one in records_of(store, reading.me.owner, Scan(collection))]
    return "\n".join(texts)


async def test_a_sentence_goes_from_its_page_and_the_rest_is_searched() -> None:
    async with open_reading() as reading:
        document = await reading.add("notes.txt", NOTES)
        receipt = await forgotten(reading, "the Acme contract")
        (page,) = await reading.library.pages(reading.me, document.content)
        assert page.text == "# Notes\n\nThe roof leaks. [forgotten] The barn is red."
        assert "Acme" not in str(await reading.found("Acme contract"))
        assert "barn" in str(await reading.found("What colour is the barn?"))
        assert b"Acme" not in await kept_bytes(reading)
        assert b"barn" in await kept_bytes(reading)
        assert [(one.kind, one.count) for one in receipt.held] == [("documents", 1)]
        assert "1 pages of documents were cut." in receipt.outside
        assert "Acme" not in str(receipt)


async def test_what_is_no_plain_text_loses_its_original() -> None:
    async with open_reading() as reading:
        document = await reading.add("notes.txt", NOTES)
        content = (await reading.library.contents.held(reading.me.owner, document.content)).record
        as_pdf = Put(CONTENTS, msgspec.structs.replace(content, kind="pdf"))
        await reading.library.store.commit(reading.me.owner, [as_pdf])
        receipt = await forgotten(reading, "the Acme contract")
        assert await kept_bytes(reading) == b""
        held = await reading.library.content(reading.me, content.id)
        assert (held.original, held.is_cut, held.stage) == (False, True, "ready")
        assert any("original files of 1 documents were removed" in one for one in receipt.outside)


async def test_a_document_of_that_name_goes_whole_with_its_old_versions() -> None:
    async with open_reading() as reading:
        document = await reading.add("acme-contract.txt", "It ends in May.")
        await reading.replaced(document.id, "It ends in June.")
        await reading.add("barn.txt", "The barn is red.")
        receipt = await forgotten(reading, "forget the Acme contract")
        assert [state.document.name for state in (await reading.library.list(reading.me)).items] == [
            "barn.txt"
        ]
        assert await kept_bytes(reading) == b"The barn is red."
        assert "May" not in await said(reading)
        assert "1 documents were removed as a whole." in receipt.outside


async def test_a_document_of_that_title_goes_whole() -> None:
    async with open_reading() as reading:
        await reading.add("x.txt", "# The Acme contract\n\nIt ends in May.")
        await forgotten(reading, "the Acme contract")
        assert await kept_bytes(reading) == b""


async def test_old_versions_say_it_no_more() -> None:
    async with open_reading() as reading:
        document = await reading.add("notes.txt", NOTES)
        await reading.replaced(document.id, "# Notes\n\nThe roof leaks.")
        await forgotten(reading, "the Acme contract")
        (page,) = await reading.library.pages(reading.me, document.content)
        assert "[forgotten]" in page.text
        assert b"Acme" not in await kept_bytes(reading)
        assert "Acme" not in await said(reading)


async def test_tags_projects_and_collections_say_it_no_more() -> None:
    async with open_reading() as reading:
        await reading.library.create_collection(reading.me, "Acme contract", "All of the Acme contract.")
        await reading.add(
            "a.txt",
            "It is red.",
            collection="Acme contract",
            tags=("acme contract", "red"),
            project="Acme contract",
        )
        await forgotten(reading, "the Acme contract")
        assert "acme" not in (await said(reading)).casefold()
        (state,) = (await reading.library.list(reading.me)).items
        assert (state.document.tags, state.document.project) == (("red",), None)


async def test_what_a_fact_says_goes_from_documents_too() -> None:
    async with open_reading() as reading:
        stored = await reading.house.app.memory.add(reading.me, NewFact("The Acme contract ends in May"))
        await reading.add("notes.txt", NOTES)
        receipt = await reading.house.app.forgetting.forget(reading.me, [stored.fact.id])
        assert "Acme" not in await said(reading)
        assert b"Acme" not in await kept_bytes(reading)
        assert "documents" in receipt.records


async def test_everything_goes_if_it_is_ticked() -> None:
    async with open_reading() as reading:
        await reading.library.create_collection(reading.me, "Farm")
        await reading.add("notes.txt", NOTES, collection="Farm")
        forgetting = reading.house.app.forgetting
        await forgetting.forget_all(reading.me, ForgetRequest(everything=True))
        assert await reading.count(DOCUMENTS) == 1
        receipt = await forgetting.forget_all(
            reading.me, ForgetRequest(everything=True, kinds=("documents",)), is_shown=True
        )
        assert receipt.whole is not None
        assert receipt.whole.by_kind["documents"] == 1
        for collection in (DOCUMENTS, USES, CONTENTS, PAGES, PASSAGES, COLLECTIONS):
            assert await reading.count(collection) == 0
        assert await kept_bytes(reading) == b""


async def test_what_is_being_read_does_not_bring_it_back() -> None:
    async with open_reading() as reading:
        document = await reading.add("notes.txt", NOTES)
        reading.extraction.gate = anyio.Event()
        newer = NOTES.replace("red", "blue")
        await reading.library.replace(reading.me, document.id, NewDocument(name="", content=newer.encode()))
        await anyio.wait_all_tasks_blocked()
        wanted = ForgetRequest(query="notes.txt")
        forgetting = reading.house.app.forgetting
        preview = await forgetting.preview(reading.me, wanted)
        await forgetting.confirm(reading.me, wanted, preview.token)
        reading.extraction.gate.set()
        await anyio.wait_all_tasks_blocked()
        assert await said(reading) == ""
        assert await kept_bytes(reading) == b""


async def test_the_same_bytes_do_not_come_back_from_a_folder_but_by_hand(tmp_path: Path) -> None:
    async with open_reading() as reading:
        await reading.add("notes.txt", NOTES)
        await forgotten(reading, "the Acme contract")
        path = tmp_path / "notes.txt"
        path.write_text(NOTES)
        with pytest.raises(JustForgotten):
            await reading.library.add(
                reading.me, NewDocument(name="notes.txt", content=path, folder="folder")
            )
        assert b"Acme" not in await kept_bytes(reading)
        await reading.add("again.txt", NOTES)
        assert "Acme" in str(await reading.found("Acme contract"))


async def test_what_says_nothing_of_it_stays_as_it_is() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", "The barn is red. A contract was signed in Rome.")
        before = await reading.library.content(reading.me, document.content)
        await reading.add("notes.txt", NOTES)
        await forgotten(reading, "the Acme contract")
        assert await reading.library.content(reading.me, document.content) == before
