"""`/documents/collections`: documents that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bethink.web.deps import Body, Caller, CallerFilter, Items, ResponseModel, Served, Timestamp, seen
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.documents.collection_shares import SharedCollection
    from bethink.documents.records import DocumentCollection
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/documents/collections", tags=["documents"], responses=documented(404))


class CollectionShare(BaseModel):
    """Somebody who sees a collection, too; `writes` if they may add to it."""

    user: str
    writes: bool


class CollectionShown(ResponseModel):
    """A collection of documents; `owner` is whose it is, null for the caller's own."""

    id: str
    name: str
    description: str
    documents: int
    shares: list[CollectionShare]
    owner: str | None
    writes: bool = Field(description="Whether the caller may change what is in it.")
    created_at: Timestamp


class CollectionList(Items[CollectionShown]):
    """Collections, in the order in which they were made."""


class CollectionDraft(Body):
    """A collection to make."""

    name: str
    description: str = ""


class ShareDraft(Body):
    """What another user may do with a collection."""

    writes: bool = Field(default=False, description="Also add to it, and change what is in it.")


class CollectionPatch(Body):
    """What to change of a collection."""

    name: str | None = None
    description: str | None = None


@router.get("")
async def list_collections(app: Served, caller: Caller, hidden: CallerFilter) -> CollectionList:
    """The collections, then those that others share with you."""
    own = [await _collection(app, caller, one, hidden) for one in await app.library.collections(caller)]
    found = await app.library.shared_collections(caller)
    shared = [await _collection(app, caller, one.collection, hidden, shared=one) for one in found]
    return CollectionList(items=[*own, *shared])


@router.post("", status_code=201)
async def add_collection(
    body: CollectionDraft, app: Served, caller: Caller, hidden: CallerFilter
) -> CollectionShown:
    """Make a collection; no two have the same name."""
    made = await app.library.create_collection(caller, body.name, body.description)
    return await _collection(app, caller, made, hidden)


@router.patch("/{collection}")
async def edit_collection(
    collection: str, body: CollectionPatch, app: Served, caller: Caller, hidden: CallerFilter
) -> CollectionShown:
    """Rename or describe a collection."""
    held = await app.library.collection(caller, collection)
    after = await app.library.change_collection(caller, held.id, name=body.name, description=body.description)
    return await _collection(app, caller, after, hidden)


@router.delete("/{collection}", status_code=204)
async def delete_collection(
    collection: str,
    app: Served,
    caller: Caller,
    *,
    documents: Annotated[bool, Query(description="Remove its documents, too.")] = False,
) -> None:
    """Remove a collection; its documents stay unless you say otherwise."""
    held = await app.library.collection(caller, collection)
    await app.library.remove_collection(caller, held.id, documents=documents)


@router.put("/{collection}/shares/{user}")
async def share_collection(
    collection: str, user: str, body: ShareDraft, app: Served, caller: Caller, hidden: CallerFilter
) -> CollectionShown:
    """Have another user see a collection and what is in it, and change that if `writes`."""
    held = await app.library.collection(caller, collection)
    after = await app.library.sharing.share(caller, held.id, user, writes=body.writes)
    return await _collection(app, caller, after, hidden)


@router.delete("/{collection}/shares/{user}")
async def unshare_collection(
    collection: str, user: str, app: Served, caller: Caller, hidden: CallerFilter
) -> CollectionShown:
    """Have a user not see a collection any more."""
    held = await app.library.collection(caller, collection)
    after = await app.library.sharing.unshare(caller, held.id, user)
    return await _collection(app, caller, after, hidden)


async def _collection(
    app: App,
    caller: Principal,
    one: DocumentCollection,
    hidden: ReaderFilter | None,
    *,
    shared: SharedCollection | None = None,
) -> CollectionShown:
    async def name_of(user: str) -> str:
        found = await app.library.sharing.find_user(user)
        return user if found is None else found.name

    shares = () if shared else await app.library.sharing.living(one)
    return CollectionShown.of(
        one,
        name=seen(one.name, hidden),
        description=seen(one.description, hidden),
        documents=await app.library.count(caller, one.id),
        shares=[CollectionShare(user=await name_of(share.user), writes=share.writes) for share in shares],
        owner=shared and await name_of(shared.owner),
        writes=shared is None or shared.writes,
    )
