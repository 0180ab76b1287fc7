"""`/documents/folders`: folders of this machine whose files are documents, and stay as their files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from bethink.documents.service import Documents
from bethink.web.deps import Body, Caller, CallerFilter, Items, ResponseModel, Served, Timestamp, seen
from bethink.web.documents.shown import CollectionName
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.documents.folders import FolderState
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/documents/folders", tags=["documents"], responses=documented(404))


class FolderDraft(Body):
    """A folder to watch."""

    path: str = Field(min_length=1, max_length=4_096, description="Where it is on the server's machine.")
    collection: str | None = Field(default=None, description="Id or name of where its documents go.")
    extensions: list[str] = Field(
        default=[], max_length=100, description="Only files with these endings, such as `.md`."
    )


class FolderShown(ResponseModel):
    """A watched folder: `files` of it are documents, `failed` of these could not be read."""

    id: str
    path: str
    collection: CollectionName | None
    extensions: list[str]
    files: int
    failed: int
    state: Literal["watching", "missing", "paused"]
    note: str = Field(description="What of it is left out, or why changes are seen late.")
    synced_at: Timestamp | None


class FolderList(Items[FolderShown]):
    """The watched folders, in the order in which they were added."""


@router.get("")
async def list_folders(app: Served, caller: Caller, hidden: CallerFilter) -> FolderList:
    """The folders that are watched."""
    found = await app.features.of(Documents).folders.list(caller)
    return FolderList(items=[await _shown(app, caller, one, hidden) for one in found])


@router.post("", status_code=201)
async def add_folder(body: FolderDraft, app: Served, caller: Caller, hidden: CallerFilter) -> FolderShown:
    """Watch a folder: its files are read soon, and whenever they change. Needs the right `admin`."""
    made = await app.features.of(Documents).folders.add(
        caller, body.path, collection=body.collection, extensions=body.extensions
    )
    return await _found(app, caller, made.id, hidden)


@router.delete("/{folder}", status_code=204)
async def remove_folder(
    folder: str,
    app: Served,
    caller: Caller,
    *,
    documents: Annotated[bool, Query(description="Remove its documents, too.")] = False,
) -> None:
    """Watch a folder no more; its documents stay unless you say otherwise."""
    await app.features.of(Documents).folders.remove(caller, folder, documents=documents)


@router.post("/{folder}/sync")
async def sync_folder(folder: str, app: Served, caller: Caller, hidden: CallerFilter) -> FolderShown:
    """Look at a folder now."""
    state = await app.features.of(Documents).folders.sync(caller, folder)
    return await _shown(app, caller, state, hidden)


@router.post("/{folder}/pause")
async def pause_folder(folder: str, app: Served, caller: Caller, hidden: CallerFilter) -> FolderShown:
    """Leave the documents of a folder as they are for a while."""
    await app.features.of(Documents).folders.pause(caller, folder, paused=True)
    return await _found(app, caller, folder, hidden)


@router.post("/{folder}/resume")
async def resume_folder(folder: str, app: Served, caller: Caller, hidden: CallerFilter) -> FolderShown:
    """Have a folder's documents follow its files again."""
    await app.features.of(Documents).folders.pause(caller, folder, paused=False)
    return await _found(app, caller, folder, hidden)


async def _found(app: App, caller: Principal, id: str, hidden: ReaderFilter | None) -> FolderShown:
    states = await app.features.of(Documents).folders.list(caller)
    (state,) = [one for one in states if one.folder.id == id]
    return await _shown(app, caller, state, hidden)


async def _shown(app: App, caller: Principal, state: FolderState, hidden: ReaderFilter | None) -> FolderShown:
    folder = state.folder
    named = {one.id: one.name for one in await app.library.collections(caller)}
    inside = named.get(folder.collection or "")
    note = folder.note or app.features.of(Documents).watch.fault or ""
    return FolderShown.of(
        folder,
        path=seen(folder.path, hidden),
        collection=CollectionName(id=folder.collection, name=seen(inside, hidden))
        if folder.collection and inside
        else None,
        files=state.files,
        failed=state.failed,
        state="paused" if folder.paused else "missing" if folder.is_missing else "watching",
        note=seen(note, hidden),
    )
