"""Watched folders: the files of a folder are documents, and follow it when other programs change it.

What is known of a file is its size, time and inode, so that unchanged files are never read twice. A file
that was renamed keeps its document, one that is being written is waited for, one that is deleted goes with
its document; a folder that vanished is missing, and keeps all of them. `watch_folders` runs this.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.contents import hash_of
from bethink.documents.model import NewDocument
from bethink.documents.records import DOCUMENTS, FOLDER_FILES, FOLDERS, FolderFile, Origin, WatchedFolder
from bethink.errors import BadInput, Conflict, NotAllowed, UnknownId
from bethink.principal import AccountHolder, PerKey, Principal
from bethink.store import Delete, DeleteAll, Put, Scan, Store, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.documents.library import Library, Signal
    from bethink.documents.reading.messages import Kind

MAX_FILES: Final = 100_000
"""Of one folder; the others are left out, and that is said."""
_MAX_FOLDERS: Final = 50
_MAX_DEPTH: Final = 64
_SETTLED_S: Final = 1.0
"""A file that was changed less long ago may still be written."""
_LOOKS: Final = 4
"""Of one `sync`, while a file is being written."""
_PAGE: Final = 1_000
_TOGETHER: Final = 50
"""Files that are put down in one commit: of so many it is found out again after a kill."""
_TOO_MANY: Final = f"Only {MAX_FILES:,} files are read: watch parts of this folder one by one."
_EMPTY: Final = "The folder is empty: its documents are kept until a file is there, or it is removed."
_UNREAD: Final = "{:,} folders in it could not be read ({}): nothing is removed until they can."
_UNREADABLE: Final = "Not a format that is read (images are with the extra `ocr`)."
_MOST_REASONS: Final = 5
_NO_FOLDER: Final = "Watched folder not found: it may have been removed."


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a folder: its path in it, and what tells whether it changed."""

    path: Path
    name: str
    size: int
    mtime_ns: int
    inode: int

    def is_as(self, known: FolderFile) -> bool:
        """Whether it has not changed since."""
        return (self.size, self.mtime_ns, self.inode) == (known.size, known.mtime_ns, known.inode)


@dataclass(frozen=True, slots=True)
class FolderLook:
    """What is in a folder: files by the digests of their paths.

    With a `note` of what was left out, nobody knows which files are gone.
    """

    files: Mapping[str, FoundFile]
    is_there: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class FolderState:
    """A watched folder, how many documents its files are, and how many of these could not be read."""

    folder: WatchedFolder
    files: int
    failed: int


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """What a look at a folder led to. `is_settled` unless a file is being written: then look again."""

    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    is_settled: bool = True


@dataclass(slots=True)
class _Difference:
    """What is new in a folder, what changed, what was renamed from what, and what is gone."""

    new: dict[str, FoundFile] = field(default_factory=dict[str, FoundFile])
    changed: dict[str, FoundFile] = field(default_factory=dict[str, FoundFile])
    renamed: dict[str, tuple[FoundFile, FolderFile]] = field(
        default_factory=dict[str, "tuple[FoundFile, FolderFile]"]
    )
    gone: dict[str, FolderFile] = field(default_factory=dict[str, FolderFile])
    is_settled: bool = True


@dataclass(slots=True, kw_only=True)
class Folders:
    """The watched folders of all owners.

    `roots` are the folders below which any may be watched; without any, a Bethink that has no users watches
    whatever its owner names. `kind` says how a file is read. `changed` is told when there are others.
    """

    library: Library
    kind: Callable[[Path, str, str], Awaitable[Kind | None]]
    digest: Callable[[str], Awaitable[str]]
    find_user: Callable[[str], Awaitable[AccountHolder | None]]
    data_dir: Path
    roots: Sequence[Path]
    changed: Signal
    _alone: PerKey[str, anyio.Lock] = field(default_factory=lambda: PerKey(anyio.Lock), repr=False)

    @property
    def store(self) -> Store:
        """Where the records are."""
        return self.library.store

    async def add(
        self,
        principal: Principal,
        path: str,
        *,
        collection: str | None = None,
        extensions: Sequence[str] = (),
    ) -> WatchedFolder:
        """Watch a folder; its files are read soon, and whenever they change.

        Raises:
            NotAllowed: the principal may not, or the settings do not allow this folder.
            BadInput: there is no such folder, or it is watched already.
            UnknownId: there is no such collection.
        """
        if "admin" not in principal.rights:
            raise NotAllowed("Only an administrator may have folders of this machine watched.")
        root = await anyio.to_thread.run_sync(_resolved, path)
        await self._check_allowed(principal, root)
        folders = await self.all_of(principal.owner)
        if any(Path(one.path) == root for one in folders):
            raise BadInput(f"{root} is watched already.")
        if len(folders) >= _MAX_FOLDERS:
            raise BadInput(f"{_MAX_FOLDERS} folders are watched: remove one first.")
        inside = collection and (await self.library.collection(principal, collection)).id
        made = WatchedFolder(
            id=self.library.new_id(),
            path=str(root),
            collection=inside,
            extensions=tuple(dict.fromkeys(f".{one.strip().lstrip('.').lower()}" for one in extensions)),
            created_at=self.library.clock.now_us(),
        )
        await self.store.commit(principal.owner, [Put(FOLDERS, made, 0)])
        self.changed.set()
        return made

    async def _check_allowed(self, principal: Principal, root: Path) -> None:
        roots = await anyio.to_thread.run_sync(lambda: [one.resolve() for one in self.roots])
        data = await anyio.to_thread.run_sync(self.data_dir.resolve)
        if root.is_relative_to(data):
            raise NotAllowed("This folder is Bethink's own: choose another one.")
        if roots and not any(root.is_relative_to(one) for one in roots):
            named = ", ".join(map(str, roots))
            raise NotAllowed(f"Only folders in {named} may be watched (BETHINK_DOCUMENTS_FOLDERS).")
        if not roots and await self.find_user(principal.owner) is not None:
            raise NotAllowed(
                "Name the folders that may be watched in BETHINK_DOCUMENTS_FOLDERS: there are several users."
            )

    async def all_of(self, owner: str) -> list[WatchedFolder]:
        """The watched folders of an owner, in the order in which they were added."""
        scan = Scan(FOLDERS, order="created_at", limit=_PAGE)
        return [one async for one in records_of(self.store, owner, scan)]

    async def list(self, principal: Principal) -> list[FolderState]:
        """The watched folders, and how far their files are."""
        return [await self._state(principal.owner, one) for one in await self.all_of(principal.owner)]

    async def _state(self, owner: str, folder: WatchedFolder) -> FolderState:
        documents = records_of(self.store, owner, Scan(DOCUMENTS, {"folder": folder.id}, limit=_PAGE))
        newest = [one.newest async for one in documents]
        contents = await self.library.contents.of(owner, newest) if newest else {}
        failed = sum(id not in contents or contents[id].stage == "failed" for id in newest)
        return FolderState(folder, len(newest), failed)

    async def _held(self, owner: str, id: str) -> WatchedFolder:
        (held,) = await self.store.get(FOLDERS, owner, [id])
        if held is None:
            raise UnknownId(_NO_FOLDER)
        return held.record

    async def remove(self, principal: Principal, id: str, *, documents: bool) -> int:
        """Watch a folder no more; its `documents` go or stay. How many went."""
        folder, owner = await self._held(principal.owner, id), principal.owner
        async with self._alone[folder.id]:
            await self.store.commit(
                owner, [Delete(FOLDERS, folder.id), DeleteAll(FOLDER_FILES, {"folder": folder.id})]
            )
            scan = Scan(DOCUMENTS, {"folder": folder.id}, limit=_PAGE)
            inside = [one.id async for one in records_of(self.store, owner, scan)]
            if documents:
                await self.library.remove_all(owner, inside)
        self.changed.set()
        return len(inside) if documents else 0

    async def pause(self, principal: Principal, id: str, *, paused: bool) -> WatchedFolder:
        """Leave a folder as it is for a while, or follow it again."""
        await self._note(principal.owner, id, paused=paused)
        self.changed.set()
        return await self._held(principal.owner, id)

    async def sync(self, principal: Principal, id: str) -> FolderState:
        """Look at a folder now, whether or not it is watched; what is being written is waited for a while."""
        for _ in range(_LOOKS):
            changes = await self.look(principal.owner, await self._held(principal.owner, id))
            if changes.is_settled:
                break
            await anyio.sleep(_SETTLED_S)
        return await self._state(principal.owner, await self._held(principal.owner, id))

    # --- one look

    async def look(self, owner: str, folder: WatchedFolder) -> FolderChanges:
        """Have the documents be what the files of a folder are now.

        Raises:
            StorageError: something of it cannot be kept.
        """
        async with self._alone[folder.id]:
            folder = await self._held(owner, folder.id)
            key = bytes.fromhex(await self.digest(f"folder {folder.id}"))
            known = {
                one.id: one
                async for one in records_of(
                    self.store, owner, Scan(FOLDER_FILES, {"folder": folder.id}, limit=_PAGE)
                )
            }
            seen = await anyio.to_thread.run_sync(partial(_looked, folder, key, self.data_dir))
            if not seen.is_there or (known and not seen.files):
                await self._note(
                    owner, folder.id, is_missing=not seen.is_there, note=_EMPTY if seen.is_there else ""
                )
                return FolderChanges()
            now_s = self.library.clock.now_us() / 1e6
            found = await anyio.to_thread.run_sync(partial(_difference, seen, known, now_s=now_s))
            untouched = [one for id, one in known.items() if id in seen.files and id not in found.changed]
            update = _FolderUpdate(self, owner, folder, found, Counter(one.error for one in untouched))
            changes = await update.run(known)
            now = self.library.clock.now_us()
            note = " ".join(filter(None, (seen.note, _left_out(update.errors))))
            await self._note(owner, folder.id, is_missing=False, note=note, synced_at=now)
            return changes

    @retry_conflicts
    async def _note(self, owner: str, id: str, **fields: object) -> None:
        (held,) = await self.store.get(FOLDERS, owner, [id])
        if held is None:
            raise UnknownId(_NO_FOLDER)
        after = msgspec.structs.replace(held.record, **fields)
        if after != held.record:
            await self.store.commit(owner, [Put(FOLDERS, after, held.version)])


@dataclass(slots=True)
class _FolderUpdate:
    """Has the documents follow one difference."""

    folders: Folders
    owner: str
    folder: WatchedFolder
    found: _Difference
    errors: Counter[str]
    """How many files are left out, by the reason."""
    _known: list[Put[FolderFile]] = field(default_factory=list["Put[FolderFile]"])

    async def run(self, known: Mapping[str, FolderFile]) -> FolderChanges:
        found = self.found
        await self._find_moved()
        for id, (file, before) in found.renamed.items():
            await self._rename(id, file, before)
        for id, file in (found.new | found.changed).items():
            await self._read(id, file, known.get(id))
        await self._put_down()
        await self._remove()
        counts = map(len, (found.new, found.changed, found.renamed, found.gone))
        return FolderChanges(*counts, is_settled=found.is_settled)

    async def _find_moved(self) -> None:
        """Take for renamed what is new and has the bytes of what is gone."""
        found = self.found
        by_content = {one.content: (id, one) for id, one in found.gone.items() if one.content}
        sizes = {one.size for _, one in by_content.values()}
        for id, file in [*found.new.items()]:
            if file.size not in sizes or not by_content:
                continue
            try:
                content, _ = await anyio.to_thread.run_sync(hash_of, file.path)
            except OSError:
                continue
            if content in by_content:
                was, before = by_content.pop(content)
                found.renamed[id] = file, before
                del found.gone[was], found.new[id]

    async def _rename(self, id: str, file: FoundFile, before: FolderFile) -> None:
        """A document of another name and place, the same content."""
        if before.document is not None:
            place = Origin(kind="folder", place=_shown(file.path))
            await self.folders.library.rename(self.owner, before.document, name=file.name, origin=place)
        after = msgspec.structs.replace(
            before, id=id, size=file.size, mtime_ns=file.mtime_ns, inode=file.inode
        )
        self.errors[after.error] += 1
        await self.folders.store.commit(
            self.owner, [Put(FOLDER_FILES, after), Delete(FOLDER_FILES, before.id)]
        )

    async def _read(self, id: str, file: FoundFile, before: FolderFile | None) -> None:
        """Add a file, or its new version; what cannot be is put down with the reason."""
        library = self.folders.library
        known = FolderFile(
            id=id,
            folder=self.folder.id,
            size=file.size,
            mtime_ns=file.mtime_ns,
            inode=file.inode,
            document=before and before.document,
        )
        new = NewDocument(
            name=file.name,
            content=file.path,
            collection=self.folder.collection,
            origin=Origin(kind="folder", place=_shown(file.path)),
            folder=self.folder.id,
        )
        try:
            if await self.folders.kind(file.path, file.name, "") is None:
                known = msgspec.structs.replace(known, error=_UNREADABLE)
            else:
                document = await library.take_in(self.owner, new, known.document)
                known = msgspec.structs.replace(known, document=document.id, content=document.newest)
        except Conflict:
            self.found.is_settled = False
            return
        except BadInput as error:
            # The names of files are kept nowhere but in their documents.
            known = msgspec.structs.replace(known, error=str(error).replace(file.name, "This file"))
        self.errors[known.error] += 1
        self._known.append(Put(FOLDER_FILES, known))
        if len(self._known) >= _TOGETHER:
            await self._put_down()

    async def _put_down(self) -> None:
        if self._known:
            await self.folders.store.commit(self.owner, self._known)
            self._known = []

    async def _remove(self) -> None:
        gone = self.found.gone
        documents = [one.document for one in gone.values() if one.document is not None]
        await self.folders.library.remove_all(self.owner, documents)
        ids = [*gone]
        for start in range(0, len(ids), _PAGE):
            some = ids[start : start + _PAGE]
            await self.folders.store.commit(self.owner, [Delete(FOLDER_FILES, id) for id in some])


def _left_out(errors: Mapping[str, int]) -> str:
    """How many files are no documents, and why, the most frequent reason first."""
    counts = sorted(((count, error) for error, count in errors.items() if error), reverse=True)
    return " ".join(
        f"{count:,} {'file is' if count == 1 else 'files are'} left out: {error}"
        for count, error in counts[:_MOST_REASONS]
    )


def _resolved(path: str) -> Path:
    """The folder that is meant.

    Raises:
        BadInput: there is none, or it cannot be read.
    """
    try:
        root = Path(path).expanduser()
        if not root.is_absolute():
            raise BadInput(f"{path} is no whole path: begin it with /.")
        root = root.resolve(strict=True)
        with os.scandir(root) as entries:
            next(entries, None)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{path} cannot be watched: {reason}.") from error
    return root


def _looked(folder: WatchedFolder, key: bytes, data_dir: Path) -> FolderLook:
    """All files of a folder. Blocks."""
    root = Path(folder.path)
    if not root.is_dir():
        return FolderLook({}, is_there=False)
    own, unread = data_dir.resolve(), list[str]()
    files: dict[str, FoundFile] = {}
    for entry in _files(root, own, unread):
        if folder.extensions and not entry.name.lower().endswith(folder.extensions):
            continue
        if len(files) == MAX_FILES:
            return FolderLook(files, note=_TOO_MANY)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        inside = os.fsencode(os.path.relpath(entry.path, root))
        id = hashlib.blake2b(inside, key=key[:64], digest_size=16).hexdigest()
        name = _shown(Path(entry.name))
        files[id] = FoundFile(Path(entry.path), name, status.st_size, status.st_mtime_ns, status.st_ino)
    # It may have vanished meanwhile: then nothing of it is known.
    note = _UNREAD.format(len(unread), unread[0]) if unread else ""
    return FolderLook(files, is_there=root.is_dir(), note=note)


def _files(root: Path, own: Path, unread: list[str]) -> Iterator[os.DirEntry[str]]:
    """The files below a folder, in order; none that are hidden, none behind links, none of Bethink's own.

    Why folders are `unread` is added to these.
    """
    waiting = [(str(root), 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            unread.append(error.strerror or "unknown")
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif entry.is_dir(follow_symlinks=False) and depth < _MAX_DEPTH and Path(entry.path) != own:
                waiting.append((entry.path, depth + 1))


def _shown(path: Path) -> str:
    """A path as text, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "replace")


def _difference(look: FolderLook, known: Mapping[str, FolderFile], *, now_s: float) -> _Difference:
    found = _Difference(gone={id: one for id, one in known.items() if id not in look.files})
    by_inode = {one.inode: one for one in found.gone.values()}
    is_sure = not look.note
    for id, file in look.files.items():
        before = known.get(id)
        if before is not None and file.is_as(before):
            continue
        # Programs that save empty a file first; a file of the future is not being written.
        is_written = 0 <= now_s - file.mtime_ns / 1e9 < _SETTLED_S
        if is_written or not file.size:
            found.is_settled = found.is_settled and not is_written
            # It may be what something that is gone is called now.
            is_sure = is_sure and before is not None
            continue
        moved = by_inode.get(file.inode)
        if before is not None:
            found.changed[id] = file
        elif moved is not None and file.is_as(moved):
            found.renamed[id] = file, moved
            found.gone.pop(moved.id, None)
        else:
            found.new[id] = file
    if not is_sure:
        found.gone.clear()
    return found
