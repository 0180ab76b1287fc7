"""An outside editor, the vault and a second process at the same pages at once: nobody's words are lost."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import Conflict
from bethink.principal import LOCAL_OWNER
from bethink.store import R, Scan
from bethink.store import RecordPage as StorePage
from bethink.vault import Authorship
from bethink.vault.files import folder
from bethink.vault.files.folder import Folder, Stat
from bethink.vault.files.page_writer import PageWriter
from bethink.vault.files.records import ONE, PAGES, VAULTS
from tests.vaults import ME, kept_in

pytestmark = pytest.mark.anyio


async def test_what_is_saved_while_a_write_is_flushed_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    write = folder._written  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the step before the file is replaced

    def slowly(parent: int, name: str, body: bytes, *, mode: int) -> Stat:
        written = write(parent, name, body, mode=mode)
        kept.file("a.md", "by the editor")
        return written

    monkeypatch.setattr(folder, "_written", slowly)
    with pytest.raises(Conflict):
        await kept.written("a.md", "two")
    monkeypatch.undo()
    assert (kept.root / "a.md").read_text() == "by the editor"
    assert [path.name for path in kept.root.glob("[!.]*")] == ["a.md"]


async def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    file = kept.file("a.md", "one")
    long_ago = 1_700_000_000_000_000_000
    os.utime(file, ns=(long_ago, long_ago))
    await kept.vault.sync(LOCAL_OWNER)
    file.write_text("two")
    os.utime(file, ns=(long_ago, long_ago))
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == 1
    (page,) = (await kept.vault.pages(LOCAL_OWNER)).values()
    assert page.version == (await kept.vault.read(LOCAL_OWNER, "a.md")).version
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == 0


@pytest.mark.parametrize("change", ["write", "move"])
async def test_a_page_that_was_changed_here_is_not_read_again(tmp_path: Path, change: str) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    path = "a.md"
    if change == "move":
        path = (await kept.vault.move(ME, "a.md", "b.md", by="person")).path
    file = kept.root / path
    known = (await kept.vault.pages(LOCAL_OWNER))[path]
    found = file.stat()
    assert (known.size, known.mtime, known.ctime) == (found.st_size, found.st_mtime_ns, found.st_ctime_ns)


async def test_what_is_saved_while_a_page_is_moved_is_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    move = Folder.move

    def late(self: Folder, path: str, to: str) -> Stat:
        # Long ago, as it is by the time where a disk is slow.
        os.utime(kept.file("a.md", "more"), ns=(1, 1))
        return move(self, path, to)

    monkeypatch.setattr(Folder, "move", late)
    await kept.vault.move(ME, "a.md", "b.md", by="person")
    monkeypatch.undo()
    await kept.vault.sync(LOCAL_OWNER)
    (page,) = (await kept.vault.pages(LOCAL_OWNER)).values()
    assert page.version == (await kept.vault.read(LOCAL_OWNER, "b.md")).version


class SlowStore(MemoryStore):
    """Holds back what it read of pages, once, until it is told to go on."""

    def __init__(self, index: MemoryIndex) -> None:
        super().__init__(index)
        self.holds = 0
        self.is_held, self.goes_on = anyio.Event(), anyio.Event()

    async def scan(self, owner: str, *scans: Scan[R]) -> list[StorePage[R]]:
        """Read at once, tell later."""
        found = await super().scan(owner, *scans)
        if self.holds and scans[0].collection is PAGES:
            self.holds -= 1
            self.is_held.set()
            await self.goes_on.wait()
        return found


async def test_a_reader_that_catches_up_slowly_disturbs_no_writer(tmp_path: Path) -> None:
    store = SlowStore(MemoryIndex())
    kept, other = kept_in(tmp_path, store=store), kept_in(tmp_path, store=store)
    await kept.written("a.md", "one")
    await other.written("a.md", "two")
    store.holds = 1
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kept.vault.pages, LOCAL_OWNER)
        await store.is_held.wait()
        # What nobody had seen is kept first: two commits of one change.
        kept.file("a.md", "by the editor")
        async with kept.vault.context.lock(LOCAL_OWNER) as draft:
            writer = PageWriter(draft, kept.vault.context.folder(LOCAL_OWNER), kept.vault.versions)
            now = await writer._now("a.md")  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            assert now is not None
            store.is_held, store.holds = anyio.Event(), 1
            store.goes_on.set()
            store.goes_on = anyio.Event()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            await writer.write("a.md", b"three", if_version=None, how=Authorship("person"))
        store.holds = 0
        store.goes_on.set()
    (page,) = (await kept.vault.pages(LOCAL_OWNER)).values()
    assert page.version == (await kept.vault.read(LOCAL_OWNER, "a.md")).version
    assert len(await kept.vault.history(LOCAL_OWNER, "a.md")) == 4


@pytest.mark.parametrize("path", ["a.md", "b.md"])
async def test_a_page_that_was_away_while_it_was_saved_is_not_trusted_more(tmp_path: Path, path: str) -> None:
    kept = kept_in(tmp_path)
    await kept.vault.put(ME, "a.md", "theirs", how=Authorship("agent", "", untrusted=True))
    (kept.root / "a.md").rename(tmp_path / "away.md")
    await kept.vault.sync(LOCAL_OWNER)
    (tmp_path / "away.md").rename(kept.root / path)
    await kept.vault.sync(LOCAL_OWNER)
    assert (await kept.vault.read(LOCAL_OWNER, path)).untrusted


async def test_an_empty_file_that_is_filled_a_moment_later_is_the_same_page(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    for text in ("", "two"):
        kept.file("a.md", text)
        await kept.vault.sync(LOCAL_OWNER)
    history = await kept.vault.history(LOCAL_OWNER, "a.md")
    assert [version.what for version in history] == ["written", "written", "created"]
    assert len({version.page for version in history}) == 1


async def test_who_reads_behind_a_commit_before_it_is_told_of_leaves_the_vault_usable(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    async with kept.vault.context.lock(LOCAL_OWNER) as draft:
        draft.lose(draft.known.pages["a.md"], by="outside")
        changes, vault = draft.changes()
        await kept.store.commit(LOCAL_OWNER, changes)
        assert await kept.vault.pages(LOCAL_OWNER) == {}
        draft.applied(vault)
        (stored,) = await kept.store.get(VAULTS, LOCAL_OWNER, [ONE])
        assert stored is not None
        assert draft.known.version == stored.version
    await kept.written("b.md", "two")
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"b.md"}
