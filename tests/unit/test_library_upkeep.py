"""Documents in export files, their old versions, and what of them needs a look."""

from __future__ import annotations

import io

import pytest

from bethink.documents.records import CONTENTS, DOCUMENTS
from tests.reading import Reading, open_reading

pytestmark = pytest.mark.anyio

ROOF = "# Roof\n\nThe roof of the barn leaks above the third beam."
BOAT = "# Boat\n\nThe boat Albatross needs a new sail."


async def exported(reading: Reading) -> bytes:
    portability = reading.house.app.portability
    return "".join([part async for part in portability.export(reading.me, "jsonl")]).encode()


async def test_a_jsonl_export_brings_documents_back_searchable() -> None:
    async with open_reading() as reading:
        await reading.library.create_collection(reading.me, "Farm", "All of it.")
        first = await reading.add("barn.txt", f"{ROOF}\f{BOAT}", collection="Farm", tags=("old",))
        await reading.add("copy.txt", f"{ROOF}\f{BOAT}")
        await reading.replaced(first.id, f"{ROOF}\fIt is new.")
        file = await exported(reading)
    async with open_reading() as reading:
        portability = reading.house.app.portability
        preview = await portability.import_file(reading.me, io.BytesIO(file), preview=True)
        assert await reading.count(DOCUMENTS) == 0
        report = await portability.import_file(reading.me, io.BytesIO(file))
        assert (report.said, report.refused) == (preview.said, 0) == (7, 0)
        for item in await reading.library.contents.all_of(reading.me.owner):
            held = await reading.settled(item.record.id)
            assert held is not None
            assert (held.stage, held.original, held.pages) == ("ready", False, 2)
        assert any("Albatross" in text for text in await reading.found("What does the boat need?"))
        document = await reading.library.get(reading.me, first.id)
        (farm,) = await reading.library.collections(reading.me)
        assert (document.name, document.tags, document.collection) == ("barn.txt", ("old",), farm.id)
        assert reading.extraction.read_names == []
        again = await portability.import_file(reading.me, io.BytesIO(file))
        assert (again.known, again.said) == (7, 0)


async def test_lines_that_no_export_wrote_are_refused() -> None:
    async with open_reading() as reading:
        await reading.add("barn.txt", ROOF)
        lines = (await exported(reading)).decode().splitlines()
        bad = [line.replace('"content":"', '"content":"../') for line in lines]
    async with open_reading() as reading:
        file = io.BytesIO("\n".join(bad).encode())
        report = await reading.house.app.portability.import_file(reading.me, file)
        assert report.refused == 2
        assert await reading.count(CONTENTS) == 0


async def test_old_versions_go_behind_their_days() -> None:
    async with open_reading(documents_versions_days=30) as reading:
        document = await reading.add("barn.txt", ROOF)
        for text in (BOAT, "The newest."):
            reading.house.clock.advance(20 * 86_400)
            await reading.replaced(document.id, text)
        drop = next(
            rule.drop for rule in reading.house.app.features.retention if "old versions of doc" in rule.log
        )
        assert await drop(reading.me) == 0
        reading.house.clock.advance(15 * 86_400)
        assert await drop(reading.me) == 1
        after = await reading.library.get(reading.me, document.id)
        assert len(after.versions) == 2
        assert await reading.count(CONTENTS) == 2
        assert len(await reading.library.contents.blobs.ids(reading.me.owner)) == 2


async def test_what_could_not_be_read_is_a_finding_and_numbers_are_counted() -> None:
    async with open_reading() as reading:
        await reading.add("barn.txt", ROOF)
        bad = await reading.add("x.txt", "BROKEN")
        features = reading.house.app.features
        (finding,) = [
            one for one in await features.check(reading.me) if one.trouble == "documents_unreadable"
        ]
        assert (finding.count, finding.examples) == (1, (bad.id,))
        numbers = (await features.statistics(reading.me))["documents"]
        assert (numbers["documents"], numbers["contents"], numbers["pages"]) == (2, 2, 1)
