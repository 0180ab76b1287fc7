"""The library of documents: what is added, replaced, found, cancelled, and removed with all that it had."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bethink.documents.model import DocumentEdit, NewDocument, Scope
from bethink.documents.reading.messages import Extracted
from bethink.documents.records import CONTENTS, DOCUMENTS, PAGES, PASSAGES, USES
from bethink.errors import BadInput, Busy, DiskFull, TooLarge, UnknownId
from bethink.principal import Principal
from bethink.store import Change, Put, R, RecordPage, Scan, Store
from tests.reading import FakeExtraction, Reading, open_reading, until

pytestmark = pytest.mark.anyio

ROOF = "# Roof\n\nThe roof of the barn leaks above the third beam."
BOAT = "# Boat\n\nThe boat Albatross needs a new sail."


async def blobs_of(reading: Reading) -> list[str]:
    return [*await reading.library.contents.blobs.ids(reading.me.owner)]


async def test_what_is_added_is_read_and_found_with_its_page() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", f"{BOAT}\f{ROOF}", tags=("farm",))
        (first, *_) = await reading.library.search(reading.me, "Which beam leaks?")
        assert (first.document.id, first.page, first.owner) == (document.id, 2, None)
        pages = await reading.library.pages(reading.me, document.content)
        assert [page.text for page in pages] == [BOAT, ROOF]
        assert pages[1].text[first.begin : first.end] == first.text
        assert f"document:{document.id}?content={document.content}&page=2" in first.source
        state = await reading.library.state(reading.me, document.id)
        assert (state.content.stage, state.content.pages, state.content.title) == ("ready", 2, "Boat")


async def test_recall_shows_passages_beside_what_was_said() -> None:
    async with open_reading() as reading:
        await reading.add("barn.txt", ROOF)
        hits = await reading.house.app.recall.search(reading.me, "Which beam of the barn leaks?")
        assert [hit.kind for hit in hits] == ["passage"]


async def test_the_same_bytes_are_kept_read_and_embedded_once_whatever_their_names() -> None:
    async with open_reading() as reading:
        ids = {(await reading.add(f"copy {number}.txt", ROOF)).id for number in range(200)}
        assert len(ids) == 200
        assert len(await blobs_of(reading)) == 1
        assert reading.extraction.read_names == ["copy 0.txt"]
        assert await reading.count(CONTENTS) == 1
        assert len([text for text in reading.embeddings.texts if "third beam" in text]) == 1


async def test_one_file_a_thousand_times_is_one_document() -> None:
    async with open_reading() as reading:
        ids = {(await reading.add("barn.txt", ROOF)).id for _ in range(1_000)}
        assert len(ids) == 1


async def test_added_at_once_by_many_it_is_one_document() -> None:
    async with open_reading() as reading:
        ids: set[str] = set()

        async def add() -> None:
            ids.add((await reading.add("barn.txt", ROOF)).id)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(add)
        assert len(ids) == 1


async def test_a_new_version_takes_the_place_of_the_old_one_whose_citations_stay() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        (before, *_) = await reading.library.search(reading.me, "third beam")
        after = await reading.replaced(document.id, ROOF.replace("third", "seventh"))
        assert after.id == document.id
        assert [version.content for version in after.versions] == [document.content, after.content]
        assert "seventh beam" in (await reading.found("Which beam leaks?"))[0]
        assert not any("third beam" in text for text in await reading.found("third beam"))
        (page,) = await reading.library.pages(reading.me, before.content.id)
        assert page.text[before.begin : before.end] == before.text


async def test_while_a_new_version_is_read_the_old_one_is_found() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        reading.extraction.gate = anyio.Event()
        await reading.library.replace(reading.me, document.id, NewDocument(name="", content=BOAT.encode()))
        state = await reading.library.state(reading.me, document.id)
        assert (state.content.stage, state.next is None) == ("ready", False)
        assert "third beam" in (await reading.found("Which beam leaks?"))[0]
        reading.extraction.gate.set()
        await reading.settled((await reading.library.get(reading.me, document.id)).newest)
        assert "Albatross" in (await reading.found("What does the boat need?"))[0]


async def test_a_new_version_that_cannot_be_read_leaves_the_old_one_in_its_place() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        await reading.replaced(document.id, "BROKEN")
        state = await reading.library.state(reading.me, document.id)
        assert (state.content.stage, state.next and state.next.stage) == ("ready", "failed")
        assert "third beam" in (await reading.found("Which beam leaks?"))[0]


async def test_versions_that_follow_one_another_quickly_end_with_the_last() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        for number in range(5):
            text = ROOF.replace("third", f"beam{number}")
            await reading.library.replace(
                reading.me, document.id, NewDocument(name="", content=text.encode())
            )
        after = await reading.library.get(reading.me, document.id)
        for version in after.versions:
            await reading.settled(version.content)
        assert len(await reading.found("Which beam leaks?")) == 1
        assert "beam4" in (await reading.found("Which beam leaks?"))[0]
        assert (await reading.library.get(reading.me, document.id)).pending is None


async def test_an_older_version_comes_back() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        await reading.replaced(document.id, BOAT)
        await reading.replaced(document.id, ROOF)
        assert "third beam" in (await reading.found("Which beam leaks?"))[0]
        assert "Albatross" not in str(await reading.found("Albatross sail"))


async def test_of_a_changed_document_only_what_changed_is_embedded() -> None:
    async with open_reading() as reading:
        pages = [f"# Part {number}\n\n{ROOF} It has {number} tiles." for number in range(30)]
        document = await reading.add("barn.txt", "\f".join(pages))
        await reading.embedded()
        reading.embeddings.texts.clear()
        pages[7] = pages[7].replace("third", "seventh")
        await reading.replaced(document.id, "\f".join(pages))
        await reading.embedded()
        assert len([text for text in reading.embeddings.texts if "tiles" in text]) == 1


async def test_removed_nothing_of_it_is_left() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        await reading.replaced(document.id, BOAT)
        await reading.library.remove(reading.me, document.id)
        for collection in (DOCUMENTS, CONTENTS, USES, PAGES, PASSAGES):
            assert await reading.count(collection) == 0
        assert await blobs_of(reading) == []
        assert await reading.found("Albatross barn") == []
        with pytest.raises(UnknownId):
            await reading.library.get(reading.me, document.id)


async def test_what_another_document_has_stays() -> None:
    async with open_reading() as reading:
        first = await reading.add("barn.txt", ROOF)
        await reading.add("barn (copy).txt", ROOF)
        await reading.library.remove(reading.me, first.id)
        assert (await reading.found("Which beam leaks?"))[0].startswith("barn (copy).txt")
        assert len(await blobs_of(reading)) == 1


async def test_removed_while_it_is_read_it_does_not_come_back() -> None:
    async with open_reading() as reading:
        reading.extraction.gate = anyio.Event()
        document = await reading.library.add(reading.me, NewDocument(name="a.txt", content=ROOF.encode()))
        await until(lambda: bool(reading.extraction.read_names))
        await reading.library.remove(reading.me, document.id)
        reading.extraction.gate.set()
        await anyio.wait_all_tasks_blocked()
        assert [await reading.count(one) for one in (CONTENTS, PAGES, PASSAGES)] == [0, 0, 0]


async def test_added_again_while_its_only_document_is_removed_it_is_whole() -> None:
    async with open_reading() as reading:
        document = await reading.add("a.txt", ROOF)
        for number in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reading.library.remove, reading.me, document.id)
                new = NewDocument(name=f"{number}.txt", content=ROOF.encode())
                document = await reading.library.add(reading.me, new)
            held = await reading.settled(document.content)
            assert held is not None
            assert held.stage == "ready"
            assert (await reading.library.original(reading.me, document.content)).is_file()


async def test_what_cannot_be_read_says_so_and_is_tried_again_if_asked() -> None:
    async with open_reading() as reading:
        document = await reading.add("x.txt", "BROKEN")
        state = await reading.library.state(reading.me, document.id)
        assert (state.content.stage, state.content.error) == (
            "failed",
            "x.txt cannot be read: it is damaged.",
        )
        await reading.ingest.retry(reading.me, document.content)
        await reading.settled(document.content)
        assert len(reading.extraction.read_names) == 2
        with pytest.raises(Busy, match="not readable"):
            await reading.ingest.cancel(reading.me, document.content)


async def test_a_fault_in_the_reader_fails_that_document_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with open_reading() as reading:
        fault = await reading.add("x.txt", "FAULT")
        await reading.add("barn.txt", ROOF)
        assert (await reading.library.content(reading.me, fault.content)).stage == "failed"
        assert len(await reading.found("Which beam leaks?")) == 1
    assert "could not be read" in caplog.text


async def test_bytes_that_vanished_fail_with_a_sentence() -> None:
    async with open_reading() as reading:
        reading.extraction.gate = anyio.Event()
        document = await reading.library.add(reading.me, NewDocument(name="a.txt", content=ROOF.encode()))
        await reading.library.contents.blobs.delete(reading.me.owner, [document.content])
        reading.extraction.gate.set()
        held = await reading.settled(document.content)
        assert held is not None
        assert held.error == "The content of a.txt is not there any more."
        again = await reading.add("a.txt", ROOF)
        assert (await reading.library.content(reading.me, again.content)).stage == "ready"


async def test_cancelled_it_is_not_read_and_reads_on_when_asked() -> None:
    async with open_reading() as reading:
        reading.extraction.gate = anyio.Event()
        document = await reading.library.add(reading.me, NewDocument(name="a.txt", content=ROOF.encode()))
        await anyio.wait_all_tasks_blocked()
        await reading.ingest.cancel(reading.me, document.content)
        reading.extraction.gate.set()
        reading.extraction.gate = None
        await anyio.wait_all_tasks_blocked()
        assert (await reading.library.content(reading.me, document.content)).stage == "cancelled"
        assert await reading.count(PAGES) == 0
        await reading.ingest.retry(reading.me, document.content)
        await reading.settled(document.content)
        assert len(await reading.found("Which beam leaks?")) == 1


async def test_names_of_255_bytes_with_slashes_and_quotes_are_kept_without_their_path() -> None:
    names = {
        "../../etc/passwd": "passwd",
        "C:\\papers\\a.txt": "a.txt",
        "'; DROP TABLE--\".txt": "'; DROP TABLE--\".txt",
        "x" * 300 + ".txt": "x" * 251 + ".txt",
        "half \ud800.txt": "half  .txt",
        "evil\u202etxt.exe": "evil txt.exe",
        "dir/": "dir",
    }
    async with open_reading() as reading:
        for name, kept in names.items():
            new = NewDocument(name=name, content=name.encode("utf-8", "surrogatepass"))
            assert (await reading.library.add(reading.me, new)).name == kept
        for name in ("", "/", "\0", "\u202e"):
            with pytest.raises(BadInput, match="needs a name"):
                await reading.library.add(reading.me, NewDocument(name=name, content=b"x"))


async def test_too_large_too_many_and_empty_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    async with open_reading(documents_max_bytes=2_000_000, documents_quota_mb=3) as reading:
        add, me = reading.library.add, reading.me
        with pytest.raises(TooLarge, match="larger than 2 MB"):
            await add(me, NewDocument(name="a", content=b"a" * 2_000_001))
        await add(me, NewDocument(name="a", content=b"a" * 2_000_000))
        with pytest.raises(TooLarge, match="no room for b"):
            await add(me, NewDocument(name="b", content=b"b" * 1_500_000))
        # The same bytes need no more room.
        await add(me, NewDocument(name="again", content=b"a" * 2_000_000))
        with pytest.raises(BadInput, match="empty"):
            await add(me, NewDocument(name="c", content=b""))
        with pytest.raises(BadInput, match="cannot be read"):
            await add(me, NewDocument(name="d", content=tmp_path / "gone.txt"))
        assert await reading.count(CONTENTS) == 1
        assert len(await blobs_of(reading)) == 1


async def test_the_same_bytes_added_and_removed_at_once_leave_whole_documents() -> None:
    async with open_reading() as reading:
        added: list[str] = []

        async def one(number: int) -> None:
            new = NewDocument(name=f"{number % 3}.txt", content=ROOF.encode())
            document = await reading.library.add(reading.me, new)
            added.append(document.content)
            if number % 5 == 4:
                with suppress(UnknownId):  # somebody else removed it
                    await reading.library.remove(reading.me, document.id)

        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(one, number)
        documents = (await reading.library.list(reading.me)).items
        assert len({state.document.name for state in documents}) == len(documents)
        assert await reading.count(USES) == len(documents)
        assert await reading.count(CONTENTS) == len(await blobs_of(reading)) == 1
        await reading.settled(added[0])
        assert len(await reading.library.search(reading.me, "Which beam leaks?")) == 1


class RemovingStore:
    """A store in which a document is removed just before it is taken for the one to add."""

    def __init__(self, inner: Store, remove: Callable[[], Awaitable[object]]) -> None:
        self._inner, self._remove = inner, remove
        self.get, self.scan, self.scrub = inner.get, inner.scan, inner.scrub
        self.count, self.owners = inner.count, inner.owners
        self._removed = False

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        kept = {one.collection.name for one in changes if isinstance(one, Put)}
        if not self._removed and USES.name in kept and DOCUMENTS.name not in kept:
            self._removed = True
            await self._remove()
        await self._inner.commit(owner, changes)


async def test_a_document_that_is_removed_while_it_is_added_again_is_a_new_one() -> None:
    async with open_reading() as reading:
        (old, _) = [await reading.add(name, ROOF) for name in ("a.txt", "b.txt")]
        library = reading.library
        store = RemovingStore(library.store, lambda: library.remove(reading.me, old.id))
        racing = replace(library, contents=replace(library.contents, store=store))
        again = await racing.add(reading.me, NewDocument(name="a.txt", content=ROOF.encode()))
        assert (await library.get(reading.me, again.id)).name == "a.txt"
        assert await reading.count(USES) == await reading.count(DOCUMENTS) == 2


class CountingScans:
    """A store that counts how often all contents are read."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.scans = 0
        self.commit, self.get, self.scrub = inner.commit, inner.get, inner.scrub
        self.count, self.owners = inner.count, inner.owners

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        self.scans += sum(one.collection is CONTENTS and not one.where for one in scans)
        return await self._inner.scan(owner, *scans)


async def test_a_quota_does_not_count_all_contents_for_each_that_is_added() -> None:
    async with open_reading(documents_quota_mb=1) as reading:
        store = CountingScans(reading.library.store)
        contents = replace(reading.library.contents, store=store)
        for number in range(30):
            text = f"{number:06}".encode() * 5_000
            await contents.keep(reading.me.owner, text, name="a", media_type="text/plain")
        assert store.scans == 1
        big = b"x" * 200_000
        with pytest.raises(TooLarge, match="no room"):
            await contents.keep(reading.me.owner, big, name="b", media_type="text/plain")
        # What was removed meanwhile makes room at once.
        kept = [item.record.id for item in await contents.all_of(reading.me.owner)]
        await reading.library.contents.drop_unused(reading.me.owner, kept[:10])
        await contents.keep(reading.me.owner, big, name="b", media_type="text/plain")


async def test_a_full_disk_leaves_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_reading() as reading:

        async def full(*_: object) -> None:
            raise DiskFull

        blobs = type(reading.library.contents.blobs)
        with monkeypatch.context() as patched:
            patched.setattr(blobs, "keep", full)
            with pytest.raises(DiskFull):
                await reading.library.add(reading.me, NewDocument(name="a", content=b"a"))
        assert await reading.count(CONTENTS) == 0
        await reading.add("a", ROOF)
        assert len(await reading.found("Which beam leaks?")) == 1


async def test_a_file_that_is_taken_goes_even_if_its_bytes_are_known(tmp_path: Path) -> None:
    async with open_reading() as reading:
        for number in range(2):
            path = tmp_path / f"{number}.txt"
            path.write_text(ROOF)
            new = NewDocument(name="a.txt", content=path, taken=True)
            await reading.library.add(reading.me, new)
            assert not path.exists()


async def test_what_a_process_left_before_its_document_goes_after_an_hour() -> None:
    async with open_reading() as reading:
        contents = reading.library.contents
        await contents.keep(reading.me.owner, b"left", name="left.txt", media_type="text/plain")
        await contents.sweep(reading.me.owner)
        assert len(await blobs_of(reading)) == 1
        reading.house.clock.advance(3_601)
        await contents.sweep(reading.me.owner)
        assert await blobs_of(reading) == []
        assert await reading.count(CONTENTS) == 0


async def test_only_the_scope_is_searched() -> None:
    async with open_reading() as reading:
        farm = await reading.library.create_collection(reading.me, "Farm")
        barn = await reading.add("barn.txt", ROOF, collection="farm", tags=("old", "roof"))
        await reading.add("barn2.txt", ROOF.replace("third", "fourth"), project="p")
        search = reading.library.search

        async def names(scope: Scope) -> list[str]:
            return [hit.document.name for hit in await search(reading.me, "Which beam leaks?", scope=scope)]

        assert await names(Scope(collection=farm.id)) == ["barn.txt"]
        assert await names(Scope(tags=("roof",))) == ["barn.txt"]
        assert await names(Scope(project="p")) == ["barn2.txt"]
        assert await names(Scope(documents=(barn.id,))) == ["barn.txt"]
        assert await names(Scope(kinds=("pdf",))) == []
        assert len(await names(Scope(kinds=("text",)))) == 2
        await reading.library.change(reading.me, barn.id, DocumentEdit(collection=None, name="new.txt"))
        assert await names(Scope(collection=farm.id)) == []
        assert (await reading.library.get(reading.me, barn.id)).name == "new.txt"


async def test_a_collection_goes_with_its_documents_or_without() -> None:
    async with open_reading() as reading:
        library, me = reading.library, reading.me
        for name in ("Farm", "Sea"):
            await library.create_collection(me, name)
            await reading.add("a.txt", f"{name} {ROOF}", collection=name)
        with pytest.raises(BadInput, match="already"):
            await library.create_collection(me, "farm")
        farm, sea = await library.collections(me)
        assert await library.remove_collection(me, farm.id, documents=True) == 1
        assert await library.remove_collection(me, sea.id, documents=False) == 0
        page = await library.list(me)
        assert [state.document.collection for state in page.items] == [None]


async def test_nobody_else_sees_it() -> None:
    async with open_reading() as reading:
        document = await reading.add("barn.txt", ROOF)
        other = Principal("somebody-else")
        assert await reading.library.search(other, "Which beam leaks?") == []
        assert (await reading.library.list(other)).items == []
        for call in (reading.library.get, reading.library.remove):
            with pytest.raises(UnknownId):
                await call(other, document.id)
        for call in (reading.library.content, reading.library.pages, reading.library.original):
            with pytest.raises(UnknownId):
                await call(other, document.content)


async def test_each_owner_gets_their_turn() -> None:
    async with open_reading() as reading:
        reading.extraction.gate = anyio.Event()
        others = [Principal(f"user {number}") for number in range(3)]
        for number in range(20):
            await reading.library.add(reading.me, NewDocument(name=f"mine {number}", content=b"%d" % number))
        for other in others:
            await reading.library.add(other, NewDocument(name=other.owner, content=other.owner.encode()))
        reading.extraction.gate.set()
        for other in others:
            document = (await reading.library.list(other)).items[0].document
            await reading.settled(document.content, who=other)
        for state in (await reading.library.list(reading.me)).items:
            await reading.settled(state.document.content)
        read = reading.extraction.read_names
        assert max(read.index(other.owner) for other in others) < 12
        assert len(read) == 23


async def test_what_is_said_of_each_portion_of_a_long_document_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bethink.documents.ingest._PORTION", 1)
    whole = FakeExtraction.read

    async def remarking(
        self: FakeExtraction, path: Path, name: str, media_type: str, *, first: int = 1, last: int = 1
    ) -> Extracted:
        read = await whole(self, path, name, media_type, first=first, last=last)
        remarks = "" if first == 2 else f"Page {first} is an image."
        return replace(read, remarks=remarks, note=f"{remarks} There was no time.".strip())

    monkeypatch.setattr(FakeExtraction, "read", remarking)
    async with open_reading() as reading:
        document = await reading.add("scan.pdf", "a\fb\fc")
        content = await reading.settled(document.content)
        assert content is not None
        assert content.note == "Page 1 is an image. Page 3 is an image. There was no time."
