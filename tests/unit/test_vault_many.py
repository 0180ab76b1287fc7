"""Many pages written in one go: as each by itself, but for the time that it takes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import BadInput, Conflict, NoSuchPage, StorageError, TooLarge
from bethink.principal import LOCAL_OWNER
from bethink.store import Change as StoreChange
from bethink.vault import Authorship, Change, PageToDelete, PageToWrite
from tests.vaults import ME, kept_in

pytestmark = pytest.mark.anyio
MINE = Authorship("import", "Imported", untrusted=None)
THEIRS = Authorship("import", "Imported", untrusted=True)


class CountingStore(MemoryStore):
    """Counts commits; from the one numbered `dies_at` on it refuses."""

    def __init__(self, index: MemoryIndex) -> None:
        super().__init__(index)
        self.commits = 0
        self.dies_at = 1_000

    async def commit(self, owner: str, changes: Sequence[StoreChange]) -> None:
        """Commit, if this store still lives."""
        self.commits += 1
        if self.commits >= self.dies_at:
            raise StorageError
        await super().commit(owner, changes)


async def test_many_pages_are_written_each_with_its_history_and_its_undo(tmp_path: Path) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    await kept.written("b.md", "old")
    version = (await kept.vault.read(LOCAL_OWNER, "b.md")).version
    before = store.commits
    became = await kept.vault.write_many(
        ME,
        [
            PageToWrite("a/new.md", "# New", THEIRS, ""),
            PageToWrite("b.md", "changed", MINE, version),
            *(PageToWrite(f"c/{n}.md", f"# {n}", MINE, "") for n in range(30)),
        ],
    )
    assert store.commits - before == 2
    first, second, *_ = became
    assert isinstance(first, Change)
    assert isinstance(second, Change)
    page = await kept.vault.read(LOCAL_OWNER, "a/new.md")
    assert (page.text, page.untrusted, first.after) == ("# New", True, page.version)
    assert [one.by for one in await kept.vault.history(LOCAL_OWNER, "b.md")] == ["import", "person"]
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == 0
    assert second.undo is not None
    await kept.vault.undo(ME, second.undo)
    assert (await kept.vault.read(LOCAL_OWNER, "b.md")).text == "old"
    assert len(await kept.vault.pages(LOCAL_OWNER)) == 32


async def test_of_many_pages_one_that_is_refused_keeps_no_other(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, max_file_bytes=1_000, max_directory_bytes=2_500)
    await kept.written("there.md", "x")
    await kept.written("Deep/x.md", "x")
    became = await kept.vault.write_many(
        ME,
        [
            PageToWrite("there.md", "mine", MINE, ""),
            PageToWrite("../out.md", "no", MINE, ""),
            PageToWrite("large.md", "x" * 1_001, MINE, ""),
            PageToWrite("a/1.md", "x" * 999, MINE, ""),
            PageToWrite("a/2.md", "x" * 999, MINE, ""),
            PageToWrite("a/3.md", "x" * 999, MINE, ""),
            PageToWrite("deep/y.md", "twin", MINE, ""),
            PageToWrite("half.md", "\ud800", MINE, ""),
            PageToWrite("a/4.md", "fits", MINE, ""),
        ],
    )
    expected = [Conflict, BadInput, TooLarge, Change, Change, TooLarge, Conflict, BadInput, Change]
    assert [type(one) for one in became] == expected
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"there.md", "Deep/x.md", "a/1.md", "a/2.md", "a/4.md"}
    assert (await kept.vault.read(LOCAL_OWNER, "there.md")).text == "x"


async def test_among_many_pages_what_nobody_had_seen_becomes_a_version_first(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    kept.file("a.md", "by the editor")
    kept.file("new.md", "by the editor, too")
    became = await kept.vault.write_many(
        ME,
        [
            PageToWrite("a.md", "two", MINE),
            PageToWrite("new.md", "mine", MINE, ""),
            PageToWrite("b.md", "b", MINE),
            PageToWrite("b.md", "c", MINE),
        ],
    )
    assert [type(one) for one in became] == [Change, Conflict, Change, Change]
    assert [one.by for one in await kept.vault.history(LOCAL_OWNER, "a.md")] == [
        "import",
        "outside",
        "person",
    ]
    assert (await kept.vault.read(LOCAL_OWNER, "new.md")).text == "by the editor, too"
    assert (await kept.vault.read(LOCAL_OWNER, "b.md")).text == "c"


async def test_pages_whose_writing_was_cut_short_are_known_later_as_what_they_are(tmp_path: Path) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    await kept.written("first.md", "first")
    store.dies_at = store.commits + 2
    with pytest.raises(StorageError):
        await kept.vault.write_many(ME, [PageToWrite(f"{n}.md", f"# {n}", THEIRS, "") for n in range(3)])
    store.dies_at = 1_000
    again = kept_in(tmp_path, store=store)
    await again.vault.write_many(ME, [PageToWrite("other.md", "mine", MINE, "")])
    assert (await again.vault.sync(LOCAL_OWNER)).taken == 3
    for n in range(3):
        page = await again.vault.read(LOCAL_OWNER, f"{n}.md")
        assert (page.text, page.untrusted) == (f"# {n}", True)
        (version,) = await again.vault.history(LOCAL_OWNER, f"{n}.md")
        assert (version.by, version.note) == ("import", "Imported")
    assert {path.name for path in kept.root.glob("[!.]*")} == {"0.md", "1.md", "2.md", "first.md", "other.md"}
    known = await again.vault.context.known(LOCAL_OWNER)
    assert known.vault.meant == ()


async def test_what_a_stranger_had_written_stays_untrusted_where_the_process_ends_before_its_record(
    tmp_path: Path,
) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    await kept.written("mine.md", "I like tea.")
    store.dies_at = store.commits + 2
    with pytest.raises(StorageError):
        await kept.vault.put(ME, "mine.md", "I like spam.", how=Authorship("agent", "Asked", untrusted=True))
    store.dies_at = 1_000
    again = kept_in(tmp_path, store=store)
    await again.vault.sync(LOCAL_OWNER)
    page = await again.vault.read(LOCAL_OWNER, "mine.md")
    assert (page.text, page.untrusted) == ("I like spam.", True)
    assert {one.by for one in await again.vault.history(LOCAL_OWNER, "mine.md")} == {"person", "agent"}


async def test_many_pages_are_deleted_in_one_commit_each_with_its_undo(tmp_path: Path) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    names = [f"a/{n}.md" for n in range(30)]
    await kept.vault.write_many(ME, [PageToWrite(name, f"# {name}", MINE, "") for name in names])
    await kept.written("stays.md", "mine")
    before = store.commits
    unwanted = [PageToDelete(name, lambda _: True) for name in (*names, names[0], "none.md", "../x.md")]
    unwanted.append(PageToDelete("stays.md", lambda version: version == "another"))
    became = await kept.vault.delete_many(ME, unwanted, by="import", note="Back")
    assert store.commits - before == 1
    assert [type(one) for one in became[30:]] == [NoSuchPage, NoSuchPage, BadInput, Conflict]
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"stays.md"}
    assert sorted(file.name for file in kept.root.rglob("*.md")) == ["stays.md"]
    gone = became[3]
    assert isinstance(gone, Change)
    assert (gone.path, gone.after) == ("a/3.md", None)
    assert [one.note for one in await kept.vault.history(LOCAL_OWNER, "a/3.md")] == ["Back", "Imported"]
    await kept.vault.undo(ME, gone.undo or "")
    assert (await kept.vault.read(LOCAL_OWNER, "a/3.md")).text == "# a/3.md"
    assert not (await kept.vault.sync(LOCAL_OWNER)).is_news


async def test_what_another_program_saved_is_a_version_before_it_goes_with_the_others(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.vault.write_many(ME, [PageToWrite(name, "one", MINE, "") for name in ("a.md", "b.md")])
    kept.file("b.md", "two")
    kept.file("c.md", "three")
    unwanted = [PageToDelete(name, lambda _: True) for name in ("a.md", "b.md", "c.md")]
    became = await kept.vault.delete_many(ME, unwanted, by="person")
    assert all(isinstance(one, Change) for one in became)
    for path, was in (("b.md", b"two"), ("c.md", b"three")):
        deleted, *_ = await kept.vault.history(LOCAL_OWNER, path)
        assert deleted.what == "deleted"
        assert await kept.vault.versions.content(LOCAL_OWNER, deleted.before) == was


async def test_pages_whose_deletion_was_cut_short_are_gone_at_the_next_look(tmp_path: Path) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    await kept.vault.write_many(ME, [PageToWrite(name, "one", MINE, "") for name in ("a.md", "b.md")])
    store.dies_at = store.commits + 1
    with pytest.raises(StorageError):
        await kept.vault.delete_many(ME, [PageToDelete("a.md", lambda _: True)], by="import")
    store.dies_at = store.commits + 100
    again = await kept.vault.delete_many(ME, [PageToDelete("a.md", lambda _: True)], by="import")
    assert [type(one) for one in again] == [NoSuchPage]
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"b.md"}
    assert [one.what for one in await kept.vault.history(LOCAL_OWNER, "a.md")] == ["deleted", "created"]


async def test_a_page_whose_deletion_or_move_cannot_be_recorded_stays_where_it_was(tmp_path: Path) -> None:
    store = CountingStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    await kept.written("mine.md", "I like tea.")
    version = (await kept.vault.read(LOCAL_OWNER, "mine.md")).version
    store.dies_at = store.commits + 1
    with pytest.raises(StorageError):
        await kept.vault.delete(ME, "mine.md", if_version=version, by="person")
    with pytest.raises(StorageError):
        await kept.vault.move(ME, "mine.md", "yours.md", by="person")
    assert {path.name for path in kept.root.glob("[!.]*")} == {"mine.md"}
    store.dies_at = 1_000
    again = kept_in(tmp_path, store=store)
    await again.vault.sync(LOCAL_OWNER)
    assert (await again.vault.read(LOCAL_OWNER, "mine.md")).text == "I like tea."
    assert len(await again.vault.history(LOCAL_OWNER, "mine.md")) == 1


async def test_a_name_in_another_form_of_unicode_is_the_page_that_is_there(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    names = [unicodedata.normalize(form, "Zoë.md") for form in ("NFC", "NFD")]
    became = await kept.vault.write_many(ME, [PageToWrite(name, name, MINE) for name in names])
    assert [isinstance(one, Change) for one in became] == [True, True]
    assert [*await kept.vault.pages(LOCAL_OWNER)] == names[:1]
    assert (await kept.vault.read(LOCAL_OWNER, names[0])).text == names[1]
