"""What other programs save is found at once while the files are watched, and one process watches."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.bus import Bus
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.errors import StorageError
from bethink.principal import LOCAL_OWNER
from bethink.store import Change as StoreChange
from bethink.store import Put
from bethink.vault import Change, PageRecord
from bethink.vault.watch import FolderWatcher
from tests.vaults import Kept, kept_in

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@dataclass(slots=True)
class Heard:
    """Wakes who waits for a change of pages."""

    kept: Kept
    change: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.kept.vault.context.listeners.append(self.hear)

    def hear(self, owner: str, changes: Sequence[Change]) -> None:
        del owner, changes
        self.change.set()

    async def until(self, pages: set[str]) -> None:
        """Wait until there are these pages."""
        while {*await self.kept.vault.pages(LOCAL_OWNER)} != pages:
            await self.change.wait()
            self.change = anyio.Event()


@asynccontextmanager
async def watched(kept: Kept, bus: Bus | None = None) -> AsyncGenerator[FolderWatcher]:
    watching = FolderWatcher(kept.vault, bus or MemoryBus())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watching.watch)
        yield watching
        tasks.cancel_scope.cancel()


async def test_what_editors_do_is_taken_in(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("a.md", "one")
    kept.file("folder/b.md", "two")
    heard = Heard(kept)
    async with watched(kept):
        await heard.until({"a.md", "folder/b.md"})
        # As vim saves: a new file renamed over the old one, with traces beside it.
        kept.file(".a.md.swp", "x")
        kept.file("4913", "x")
        kept.file("a.md~", "one")
        kept.file(".obsidian/workspace.md", "x")
        kept.file(".a.md.new", "three")
        os.replace(kept.root / ".a.md.new", kept.root / "a.md")  # noqa: PTH105 - as others do
        kept.file("c.md", "four")
        await heard.until({"a.md", "folder/b.md", "c.md"})
        (kept.root / "folder").rename(kept.root / "other")
        await heard.until({"a.md", "other/b.md", "c.md"})
        (kept.root / "c.md").unlink()
        await heard.until({"a.md", "other/b.md"})
    versions = await kept.vault.history(LOCAL_OWNER, "a.md")
    assert (await kept.vault.version(LOCAL_OWNER, "a.md", versions[0].id)).text == "three"
    assert [version.what for version in await kept.vault.history(LOCAL_OWNER, "other/b.md")][:1] == ["moved"]


async def test_one_process_watches_and_another_takes_over(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("a.md", "one")
    bus, heard = MemoryBus(), Heard(kept)
    async with watched(kept, bus) as first:
        await heard.until({"a.md"})
        assert first.watches(LOCAL_OWNER)
        assert not first.watches("bob")
    assert not first.watches(LOCAL_OWNER)
    kept.file("b.md", "two")
    async with watched(kept, bus):
        await heard.until({"a.md", "b.md"})


async def test_a_folder_that_leaves_is_noticed_whatever_it_is_called(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("2024.06/a.md", "one")
    kept.file("notes.md/b.md", "two")
    kept.file("c.md", "three")
    heard = Heard(kept)
    async with watched(kept):
        await heard.until({"2024.06/a.md", "notes.md/b.md", "c.md"})
        (kept.root / "2024.06").rename(tmp_path / "away")
        await heard.until({"notes.md/b.md", "c.md"})
        (tmp_path / "away").rename(kept.root / "came.md")
        await heard.until({"came.md/a.md", "notes.md/b.md", "c.md"})


async def test_what_could_not_be_taken_in_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.vault.watch._LOOK_S", 0.01)
    store = BusyStore(MemoryIndex())
    kept = kept_in(tmp_path, store=store)
    kept.file("a.md", "one")
    heard = Heard(kept)
    async with watched(kept):
        await heard.until({"a.md"})
        kept.file(".b.new", "two")
        store.refused = "b.md"
        # One step, of which the system tells once.
        os.replace(kept.root / ".b.new", kept.root / "b.md")  # noqa: PTH105 - as others do
        await heard.until({"a.md", "b.md"})
    assert store.refused == ""


async def test_a_name_that_is_no_text_keeps_no_change_from_being_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # No look at what is watched is waited for.
    monkeypatch.setattr("bethink.vault.watch._LOOK_S", 3_600.0)
    kept = kept_in(tmp_path)
    kept.file("a.md", "one")
    heard = Heard(kept)
    async with watched(kept) as watching:
        await heard.until({"a.md"})
        bad = kept.root / os.fsdecode(b"bad\xff.md")
        for count in range(3):
            bad.write_bytes(b"two" * count)
            kept.file(f"b{count}.md", str(count))
            await heard.until({"a.md", *(f"b{one}.md" for one in range(count + 1))})
        assert watching.fault is None
    assert [path for path, _ in (await kept.vault.state(LOCAL_OWNER)).troubles] == ["bad?.md"]
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]


async def test_without_room_for_watches_files_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, ignore_permission_denied: bool, stop_event: anyio.Event, **__: object) -> Any:  # noqa: ANN401 - of watchfiles
        # As watchfiles does it: it leaves out all that it cannot watch if it may leave out anything.
        if not ignore_permission_denied:
            why = "OS file watch limit reached."
            raise OSError(why)
        await stop_event.wait()
        yield set[Any]()

    monkeypatch.setattr("watchfiles.awatch", full)
    monkeypatch.setattr("bethink.vault.watch._COMPARE_S", 0.05)
    kept = kept_in(tmp_path)
    kept.file("a.md", "one")
    heard = Heard(kept)
    async with watched(kept) as watching:
        await heard.until({"a.md"})
        kept.file("b.md", "two")
        await heard.until({"a.md", "b.md"})
        assert watching.fault == (
            "Changes of files are detected only every 0.05 seconds: OS file watch limit reached."
        )


class BusyStore(MemoryStore):
    """A store that refuses a page once."""

    refused = ""

    async def commit(self, owner: str, changes: Sequence[StoreChange]) -> None:
        """Keep it, but for the page."""
        for change in changes:
            match change:
                case Put(record=PageRecord(path=path)) if path == self.refused:
                    self.refused = ""
                    raise StorageError
                case _:
                    pass
        await super().commit(owner, changes)
