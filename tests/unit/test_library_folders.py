"""Watched folders: what other programs change in them, documents follow, and nothing is read twice."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.documents.folders import FolderChanges, Folders
from bethink.documents.records import DOCUMENTS, FOLDER_FILES, WatchedFolder
from bethink.documents.service import Documents
from bethink.errors import BadInput, NotAllowed
from bethink.forgetting.selection import ForgetRequest
from bethink.principal import Principal
from tests.reading import Reading, open_reading, until

pytestmark = pytest.mark.anyio


class Watched:
    """A folder, and the house that looks at it."""

    def __init__(self, reading: Reading, root: Path, folder: WatchedFolder) -> None:
        self.reading, self.root, self.folder = reading, root, folder

    @property
    def folders(self) -> Folders:
        return self.reading.house.app.features.of(Documents).folders

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def look(self) -> FolderChanges:
        """One look, all of it read."""
        owner = self.reading.me.owner
        changes = await self.folders.look(owner, self.folder)
        for item in await self.reading.library.contents.all_of(owner):
            await self.reading.settled(item.record.id)
        return changes

    async def names(self) -> dict[str, str]:
        """The ids of documents by their names."""
        page = await self.reading.library.list(self.reading.me)
        return {state.document.name: state.document.id for state in page.items}

    async def state(self) -> WatchedFolder:
        return (await self.folders.list(self.reading.me))[0].folder


@asynccontextmanager
async def watched(root: Path, *extensions: str, **settings: object) -> AsyncGenerator[Watched]:
    await anyio.Path(root).mkdir(exist_ok=True)
    async with open_reading(**settings) as reading:
        folders = reading.house.app.features.of(Documents).folders
        folder = await folders.add(reading.me, str(root), extensions=extensions)
        yield Watched(reading, Path(folder.path), folder)


async def test_files_are_added_changed_and_removed_with_their_folder(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        here.write("barn.txt", "The barn is red.")
        here.write("deep/er/boat.txt", "The boat is blue.")
        assert await here.look() == FolderChanges(added=2)
        assert "red" in str(await here.reading.found("What colour is the barn?"))
        before = await here.names()

        here.write("barn.txt", "The barn is green now.")
        (here.root / "deep/er/boat.txt").unlink()
        assert await here.look() == FolderChanges(changed=1, removed=1)
        assert await here.names() == {"barn.txt": before["barn.txt"]}
        assert "green" in str(await here.reading.found("What colour is the barn?"))
        assert await here.reading.count(FOLDER_FILES) == 1


async def test_unchanged_files_are_not_opened_again(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        for number in range(20):
            here.write(f"{number}.txt", f"Page {number}")
        await here.look()
        here.reading.extraction.read_names.clear()
        for number in range(20):
            (here.root / f"{number}.txt").chmod(0)  # root may read it all the same; what is read has names
        assert await here.look() == FolderChanges()
        assert here.reading.extraction.read_names == []


async def test_a_renamed_file_keeps_its_document(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        path = here.write("barn.txt", "The barn is red.")
        await here.look()
        (id,) = (await here.names()).values()
        path.rename(here.root / "stable.txt")
        assert await here.look() == FolderChanges(renamed=1)
        assert await here.names() == {"stable.txt": id}
        document = await here.reading.library.get(here.reading.me, id)
        assert document.origin.place == str(here.root / "stable.txt")
        # Moved by a copy: another inode, the same bytes.
        copy = here.write("copies/stable.txt", "The barn is red.")
        (here.root / "stable.txt").unlink()
        assert await here.look() == FolderChanges(renamed=1)
        assert await here.names() == {"stable.txt": id}
        assert (await here.reading.library.get(here.reading.me, id)).origin.place == str(copy)
        assert here.reading.extraction.read_names == ["barn.txt"]


async def test_equal_files_are_documents_of_their_own(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        for folder in ("a", "b"):
            here.write(f"{folder}/same.txt", "The barn is red.")
        await here.look()
        assert await here.reading.count(DOCUMENTS) == 2
        (here.root / "a/same.txt").unlink()
        await here.look()
        assert await here.reading.count(DOCUMENTS) == 1


async def test_a_folder_that_vanished_is_missing_and_loses_nothing(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        here.write("barn.txt", "The barn is red.")
        await here.look()
        here.root.rename(tmp_path / "elsewhere")
        assert await here.look() == FolderChanges()
        assert (await here.state()).is_missing
        assert await here.reading.count(DOCUMENTS) == 1
        here.root.mkdir()  # as a disk that is not mounted
        assert await here.look() == FolderChanges()
        assert "empty" in (await here.state()).note
        assert await here.reading.count(DOCUMENTS) == 1
        here.root.rmdir()
        (tmp_path / "elsewhere").rename(here.root)
        assert await here.look() == FolderChanges()
        state = await here.state()
        assert (state.is_missing, state.note) == (False, "")


async def test_a_file_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        path = here.write("barn.txt", "The barn is")
        now = here.reading.house.clock.now_us() / 1e6
        os.utime(path, (now, now))
        assert await here.look() == FolderChanges(is_settled=False)
        here.reading.house.clock.advance(2)
        assert await here.look() == FolderChanges(added=1)
        # Emptied before it is written anew: its document stays.
        path.write_text("")
        await here.look()
        assert await here.reading.count(DOCUMENTS) == 1


async def test_hidden_files_links_and_other_endings_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The secret is outside.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inner.txt").write_text("The secret is outside.")
    async with watched(tmp_path / "papers", "txt", ".MD") as here:
        here.write("barn.txt", "The barn is red.")
        here.write("NOTES.Md", "The boat is blue.")
        here.write("x.bin", "binary")
        here.write(".hidden.txt", "hidden")
        here.write(".git/config.txt", "hidden")
        (here.root / "link.txt").symlink_to(tmp_path / "secret.txt")
        (here.root / "links").symlink_to(outside)
        (here.root / "loop").symlink_to(here.root)
        os.mkfifo(here.root / "pipe.txt")
        assert await here.look() == FolderChanges(added=2)
        assert set(await here.names()) == {"barn.txt", "NOTES.Md"}


async def test_names_that_are_not_utf_8_are_documents_too(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        path = os.fsencode(here.root) + b'/caf\xe9 "quoted".txt'
        with open(path, "wb") as file:  # noqa: ASYNC230, PTH123 - a name of bytes
            file.write(b"The barn is red.")
        here.write("x" * 251 + ".txt", "The boat is blue.")
        assert await here.look() == FolderChanges(added=2)
        assert 'caf\ufffd "quoted".txt' in await here.names()
        assert await here.look() == FolderChanges()


async def test_what_cannot_be_read_says_so_and_does_not_stop_the_others(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers", documents_max_bytes=1_000) as here:
        here.write("bad.txt", "BROKEN")
        here.write("long.txt", "x" * 2_000)
        here.write("barn.txt", "The barn is red.")
        await here.look()
        (state,) = await here.folders.list(here.reading.me)
        assert (state.files, state.failed) == (2, 1)
        left_out = "1 file is left out: This file is larger than"
        assert state.folder.note.startswith(left_out)
        assert await here.look() == FolderChanges()
        assert (await here.folders.list(here.reading.me))[0].folder.note == state.folder.note
        here.write("long.txt", "x")
        await here.look()
        assert not (await here.folders.list(here.reading.me))[0].folder.note


async def test_what_was_forgotten_is_not_read_again_until_it_changes(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        path = here.write("notes.txt", "The Acme contract ends. The barn is red.")
        await here.look()
        me, forgetting = here.reading.me, here.reading.house.app.forgetting
        wanted = ForgetRequest(query="the Acme contract")
        preview = await forgetting.preview(me, wanted)
        receipt = await forgetting.confirm(me, wanted, preview.token)
        assert "watched folders" in " ".join(receipt.outside)
        os.utime(path, (1, 1))
        await here.look()
        assert "Acme" not in str(await here.reading.found("Acme contract"))
        assert "red" in str(await here.reading.found("What colour is the barn?"))
        here.write("notes.txt", "The barn is green.")
        await here.look()
        assert "green" in str(await here.reading.found("What colour is the barn?"))


async def test_a_document_that_was_removed_by_hand_stays_away_until_its_file_changes(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        here.write("barn.txt", "The barn is red.")
        await here.look()
        await here.reading.library.remove(here.reading.me, (await here.names())["barn.txt"])
        assert await here.look() == FolderChanges()
        assert await here.names() == {}
        here.write("barn.txt", "The barn is green.")
        await here.look()
        assert set(await here.names()) == {"barn.txt"}


async def test_which_folders_may_be_watched(tmp_path: Path) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed / "in", other, tmp_path / "data"):
        folder.mkdir(parents=True)
    (allowed / "out").symlink_to(other)
    async with open_reading(documents_folders=[allowed], data_dir=tmp_path / "data") as reading:
        folders = reading.house.app.features.of(Documents).folders
        await folders.add(reading.me, str(allowed / "in"))
        with pytest.raises(BadInput, match="watched already"):
            await folders.add(reading.me, str(allowed / "in" / ".." / "in"))
        for outside in (other, allowed / "out", tmp_path):
            with pytest.raises(NotAllowed, match="may be watched"):
                await folders.add(reading.me, str(outside))
        with pytest.raises(NotAllowed, match="Bethink's own"):
            await folders.add(reading.me, str(tmp_path / "data"))
        for wrong in ("in", str(tmp_path / "none"), str(tmp_path / "a\0b"), ""):
            with pytest.raises(BadInput):
                await folders.add(reading.me, wrong)
        reader = Principal(reading.me.owner, rights=frozenset({"read", "write"}))
        with pytest.raises(NotAllowed, match="administrator"):
            await folders.add(reader, str(allowed))


async def test_a_folder_is_removed_with_its_documents_or_without(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here:
        here.write("barn.txt", "The barn is red.")
        await here.look()
        me = here.reading.me
        assert await here.folders.remove(me, here.folder.id, documents=False) == 0
        assert await here.reading.count(DOCUMENTS) == 1
        again = await here.folders.add(me, str(here.root))
        await here.folders.sync(me, again.id)
        assert await here.folders.remove(me, again.id, documents=True) == 1
        assert await here.reading.count(FOLDER_FILES) == 0


@pytest.mark.timeout(30)
async def test_a_change_by_another_program_is_searchable_soon(tmp_path: Path) -> None:
    async with watched(tmp_path / "papers") as here, anyio.create_task_group() as tasks:
        tasks.start_soon(here.reading.house.app.features.of(Documents).watch.watch)

        async def until_found(text: str) -> None:
            with anyio.fail_after(20):
                while text not in str(await here.reading.found("What colour is the barn?")):  # noqa: ASYNC110
                    await anyio.sleep(0.05)

        here.write("barn.txt", "The barn is red.")
        await until_found("red")
        here.write("new/barn.txt", "The barn is yellow.")
        await until_found("yellow")
        # A change that cannot be told: its name is no text.
        await anyio.Path(os.fsdecode(os.fsencode(here.root) + b"/caf\xe9.txt")).write_text(
            "The boat is blue."
        )
        here.write("barn.txt", "The barn is green.")
        await until_found("green")
        assert here.reading.house.app.features.of(Documents).watch.fault is None
        tasks.cancel_scope.cancel()


@pytest.mark.timeout(30)
async def test_without_room_for_watches_folders_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    async def full(*_: object, ignore_permission_denied: bool, stop_event: anyio.Event, **__: object) -> Any:  # noqa: ANN401 - of watchfiles
        # As watchfiles does it: it leaves out all that it cannot watch if it may leave out anything.
        asked.append(ignore_permission_denied)
        if not ignore_permission_denied:
            why = 'OS file watch limit reached. about ["x"]' if len(asked) > 1 else None
            raise PermissionError("x") if why is None else OSError(why)
        await stop_event.wait()
        yield set[Any]()

    monkeypatch.setattr("watchfiles.awatch", full)
    monkeypatch.setattr("bethink.documents.folder_watch._COMPARE_S", 0.1)
    monkeypatch.setattr("bethink.documents.folder_watch._TURN_S", 0.1)
    async with watched(tmp_path / "papers") as here, anyio.create_task_group() as tasks:
        watch = here.reading.house.app.features.of(Documents).watch
        tasks.start_soon(watch.watch)
        await until(lambda: asked == [False, True])
        assert watch.fault is None
        # Folders that are watched anew are asked for strictly again.
        other = tmp_path / "other"
        other.mkdir()
        await here.folders.add(here.reading.me, str(other))
        await until(lambda: watch.fault is not None)
        assert watch.fault == (
            "Changes of watched folders are detected only every 0.1 seconds: OS file watch limit reached."
        )
        await anyio.Path(other / "barn.txt").write_text("The barn is green.")
        with anyio.fail_after(10):
            while not await here.reading.found("What colour is the barn?"):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()
