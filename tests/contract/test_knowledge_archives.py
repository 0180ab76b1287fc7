"""A knowledge base travels: what is exported on one engine says the same on every other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest

from bethink.documents.archive import manifest_of
from bethink.documents.library import NewDocument, Scope
from bethink.documents.records import CONTENTS, PAGES, PASSAGES
from bethink.errors import BadInput, NotAllowed, TooLarge, UnknownId
from tests.house import House
from tests.knowledge import ACME, ENGINES, ZEBRA, added, documents_of, exported, members, open_library
from tests.library import UNREADABLE, plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]

QUERIES = ("Acme contract renewed", "stripes", "standing")


async def answers(house: House, query: str, name: str = "Contracts") -> list[tuple[object, ...]]:
    base = await house.app.library.collection(house.me, name)
    hits = await house.app.library.search(house.me, query, 5, scope=Scope(collection=base.id))
    return [(hit.document.name, hit.page, hit.heading, hit.text, round(hit.score, 4)) for hit in hits]


async def filled(house: House) -> None:
    base = await house.app.library.create_collection(house.me, "Contracts", "What was signed")
    (acme, _) = await added(
        house, {"acme.md": ACME, "zebra.txt": ZEBRA}, collection=base.id, tags=("signed", "2026")
    )
    newer = NewDocument(name="acme.md", content=ACME + b"\nIt was renewed in June.\n")
    again = await house.app.library.replace(house.me, acme.id, newer)
    assert again.pending is not None
    await documents_of(house.app).ingest.finish(house.me, [again.pending], pause_s=0.001)
    await house.app.background.vectors.fill(house.me.owner)


@pytest.mark.requirement("R157", "C20", "U9")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("other", ENGINES)
async def test_a_base_answers_the_same_on_another_engine_and_gives_the_same_archive_again(
    tmp_path: Path, engine: str, other: str
) -> None:
    async with open_library(engine, tmp_path / "one") as house:
        await filled(house)
        said = [await answers(house, query) for query in QUERIES]
        archive = await exported(house, tmp_path / "kb.tar.gz", originals=True)
        assert await exported(house, tmp_path / "again.tar.gz", originals=True) != archive
        assert (tmp_path / "again.tar.gz").read_bytes() == archive.read_bytes()
    assert all(said)
    async with open_library(other, tmp_path / "two") as house:
        bases = documents_of(house.app).bases
        report = await bases.import_archive(house.me, archive)
        assert (report.name, report.counts.documents, report.counts.contents, report.note) == (
            *("Contracts", 2, 3, ""),
        )
        assert said == [
            await answers(house, query) for query in ("Acme contract renewed", "stripes", "standing")
        ]
        assert (
            await house.app.ports.index.missing_vectors(house.me.owner, house.app.ports.embeddings.model, 9)
            == ()
        )
        copy = await exported(house, tmp_path / "copy.tar.gz", originals=True)
        listed = (await house.app.library.list(house.me)).items
        acme, zebra = sorted(listed, key=lambda one: one.document.name)
        assert (acme.document.tags, len(acme.document.versions)) == (("signed", "2026"), 2)
        assert zebra.content.pages == 2
        before = acme.document.versions[0].content
        (page,) = await house.app.library.pages(house.me, before)
        assert "June" not in page.text
        original = await house.app.library.original(house.me, zebra.content.id)
        assert original.read_bytes() == ZEBRA
    assert copy.read_bytes() == archive.read_bytes()


async def test_without_originals_the_text_travels_alone(tmp_path: Path) -> None:
    async with open_library("memory", tmp_path) as house:
        await filled(house)
        archive = await exported(house, tmp_path / "kb.tar.gz")
    assert list(members(archive)) == ["manifest.json", "documents.jsonl", "contents.jsonl", "vectors.i16"]
    manifest = await anyio.to_thread.run_sync(manifest_of, archive)
    assert manifest is not None
    assert (manifest.name, manifest.counts.passages) == ("Contracts", 3)
    async with open_library("memory", tmp_path) as house:
        await documents_of(house.app).bases.import_archive(house.me, archive, name="Elsewhere")
        (state, _) = (await house.app.library.list(house.me)).items
        with pytest.raises(UnknownId, match="original file"):
            await house.app.library.original(house.me, state.content.id)
        assert await answers(house, "stripes", "Elsewhere")


async def test_vectors_of_another_model_are_made_anew(tmp_path: Path) -> None:
    async with open_library("memory", tmp_path, dimensions=64) as house:
        await filled(house)
        archive = await exported(house, tmp_path / "kb.tar.gz")
    async with open_library("memory", tmp_path) as house:
        report = await documents_of(house.app).bases.import_archive(house.me, archive)
        assert "another model" in report.note
        await house.app.background.vectors.fill(house.me.owner)
        assert (await answers(house, "stripes"))[0][0] == "zebra.txt"


async def test_what_is_here_already_is_kept_once_and_searched_in_both_places(tmp_path: Path) -> None:
    async with open_library("memory", tmp_path) as house:
        await filled(house)
        archive = await exported(house, tmp_path / "kb.tar.gz")
        bases = documents_of(house.app).bases
        with pytest.raises(BadInput, match="already"):
            await bases.import_archive(house.me, archive)
        await bases.import_archive(house.me, archive, name="Copy")
        assert await house.app.ports.store.count(house.me.owner, CONTENTS, {}) == 3
        assert await answers(house, "stripes") == await answers(house, "stripes", "Copy")
        assert await bases.remove(house.me, "Contracts") == 2
        assert await answers(house, "stripes", "Copy")
        assert await bases.remove(house.me, "Copy") == 2
        assert await house.app.ports.store.count(house.me.owner, CONTENTS, {}) == 0
        assert await house.app.ports.store.count(house.me.owner, PAGES, {}) == 0
        assert await house.app.ports.store.count(house.me.owner, PASSAGES, {}) == 0


async def test_what_could_not_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    async with open_library("memory", tmp_path) as house:
        base = await house.app.library.create_collection(house.me, "Contracts")
        await added(house, {"acme.md": ACME, "bad.pdf": UNREADABLE}, collection=base.id)
        summary = await documents_of(house.app).bases.get(house.me, "Contracts")
        assert (summary.documents, summary.failed, summary.waiting) == (2, 1, 0)
        with (tmp_path / "kb.tar.gz").open("wb") as file:
            report = await documents_of(house.app).bases.export(house.me, "Contracts", file)
    assert (report.counts.documents, report.note) == (
        1,
        "1 of 2 documents were not read (yet): they are left out.",
    )


async def test_who_does_not_see_all_exports_nothing(tmp_path: Path) -> None:
    async def something(_: object) -> object:
        return object()

    async with open_library("memory", tmp_path) as house:
        await filled(house)
        bases = documents_of(house.app).bases
        bases = replace(bases, library=replace(house.app.library, filter_for=something))
        with (tmp_path / "kb.tar.gz").open("wb") as file, pytest.raises(NotAllowed):
            await bases.export(house.me, "Contracts", file)


async def test_files_that_have_no_room_are_not_imported(tmp_path: Path) -> None:
    async with open_library("memory", tmp_path) as house:
        await filled(house)
        archive = await exported(house, tmp_path / "kb.tar.gz", originals=True)
    async with open_library("memory", tmp_path) as house:
        bases = documents_of(house.app).bases
        contents = replace(house.app.library.contents, quota_bytes=100)
        bases = replace(bases, library=replace(house.app.library, contents=contents))
        with pytest.raises(TooLarge, match="no room"):
            await bases.import_archive(house.me, archive)
        assert await house.app.ports.store.count(house.me.owner, CONTENTS, {}) == 0
