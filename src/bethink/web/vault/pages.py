"""`/vault`: the pages of the vault, to list, read, write, move and delete."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Header, Path
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from bethink.errors import BadInput, Conflict, UnknownId
from bethink.vault import Change, How
from bethink.web.deps import Body, Caller, Served
from bethink.web.problems import MEDIA_TYPE, documented, of_error
from bethink.web.vault.shapes import (
    MAX_PATH,
    IfVersion,
    PageBody,
    PathField,
    VaultChange,
    VaultPage,
    VaultTree,
    change_of,
    entry_of,
    page_of,
)

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(prefix="/vault", tags=["vault"])

PagePath = Annotated[
    str, Path(max_length=MAX_PATH, description="Relative to the vault, ending in `.md`; slashes as they are.")
]
IfMatch = Annotated[
    str | None,
    Header(max_length=200, description="The ETag of the page that was read: another one answers 412."),
]
_NEW: Final = "*"
"""Of If-None-Match: the page must not be there (RFC 9110, 13.1.2)."""
_CONFLICT: Final[dict[int | str, dict[str, Any]]] = {
    status: {
        "description": why,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/VaultConflict"}}},
    }
    for status, why in ((409, "It is of another version than `if_version`"), (412, "Than `If-Match`"))
}
_ETAG: Final[dict[int | str, dict[str, Any]]] = {
    200: {"headers": {"ETag": {"schema": {"type": "string"}, "description": "The page's version."}}},
    304: {"description": "It is of the version of `If-None-Match` still", "content": {}},
}


class MoveBody(Body):
    """Where a page should stand."""

    path: PathField
    to: PathField

    relink: Annotated[bool, Field(description="Have links to the page lead to it still.")] = True


class VaultMoved(VaultChange):
    """What became of a page that moved. `relinked` are the pages whose links follow it."""

    relinked: list[VaultChange]


class FolderBody(Body):
    """A folder to make, with those above it."""

    path: Annotated[str, Path(min_length=1, max_length=MAX_PATH)]


@router.get("", responses=documented(403))
async def get_vault(app: Served, caller: Caller) -> VaultTree:
    """All folders and pages; the first time the vault is made, with its page `user.md`."""
    vault = app.vault
    await vault.begin(caller)
    if not vault.settings.watch:
        await vault.sync(caller.owner)
    change, _ = await app.visibility.views.changed_since(caller, 0)
    items = await app.visibility.views.listed(caller, deep=True)
    pages = [item for item in items if not item.is_folder and item.trouble is None]
    return VaultTree(
        items=[entry_of(item) for item in items],
        change=change,
        pages=len(pages),
        bytes=sum(page.size for page in pages),
        watching=vault.settings.watch,
    )


@router.get("/pages/{path:path}", responses={**documented(403, 404), **_ETAG}, response_model=VaultPage)
async def get_vault_page(
    path: PagePath,
    app: Served,
    caller: Caller,
    *,
    if_none_match: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """A page as its file is now."""
    page = page_of(await app.visibility.views.read(caller, path))
    tag = {"ETag": f'"{page.version}"'}
    if _version_of(if_none_match) == page.version:
        return Response(status_code=304, headers=tag)
    # What was changed without Bethink is searched and in the history from here on, too.
    known = (await app.vault.pages(caller.owner)).get(page.path)
    if known is None or known.version != page.version:
        await app.vault.sync(caller.owner, [page.path])
    return JSONResponse(page.model_dump(mode="json"), headers=tag)


@router.put("/pages/{path:path}", responses={**documented(403), **_CONFLICT})
async def put_vault_page(
    path: PagePath,
    body: PageBody,
    app: Served,
    caller: Caller,
    *,
    if_match: IfMatch = None,
    if_none_match: Annotated[
        str | None, Header(max_length=200, description="`*` for a page that must be new.")
    ] = None,
) -> VaultChange:
    """Have a page hold a text, exactly; it is made where it is not there."""
    version = _wanted(body.if_version, if_match, if_none_match)
    try:
        how = How("person", body.note)
        change = await app.visibility.views.put(caller, path, body.text, if_version=version, how=how)
    except Conflict as error:
        if version is None:
            raise
        status = 409 if body.if_version is not None else 412
        return await _conflict(app, caller, path, error=error, status=status, yours=body.text)  # pyright: ignore[reportReturnType] - an answer
    return change_of(change)


@router.delete("/pages/{path:path}", responses={**documented(403, 404), **_CONFLICT})
async def delete_vault_page(
    path: PagePath,
    app: Served,
    caller: Caller,
    *,
    if_version: IfVersion = None,
    if_match: IfMatch = None,
) -> VaultChange:
    """Delete a page; its history stays, and `undo` brings it back."""
    version = _wanted(if_version, if_match, None)
    try:
        return change_of(await app.visibility.views.delete(caller, path, if_version=version, by="person"))
    except Conflict as error:
        if version is None:
            raise
        status = 409 if if_version is not None else 412
        return await _conflict(app, caller, path, error=error, status=status, yours=None)  # pyright: ignore[reportReturnType] - an answer


@router.post("/move", responses=documented(403, 404, 409))
async def move_vault_page(body: MoveBody, app: Served, caller: Caller) -> VaultMoved:
    """Give a page another path; it keeps its history, and links to it follow."""
    views, changes = app.visibility.views, list[Change]()
    if body.relink:
        moved, changes = await app.vault_tools.moving.move(caller, body.path, body.to, by="person")
    else:
        moved = await views.move(caller, body.path, body.to, by="person")
    relinked = [change_of(change) for change in changes]
    return VaultMoved(**change_of(moved).model_dump(), relinked=relinked)


@router.post("/folders", status_code=204, responses=documented(403, 409))
async def make_vault_folder(body: FolderBody, app: Served, caller: Caller) -> None:
    """Have a folder be there."""
    await app.visibility.views.create_folder(caller, body.path)


@router.delete("/folders/{path:path}", status_code=204, responses=documented(403, 404, 409))
async def delete_vault_folder(path: PagePath, app: Served, caller: Caller) -> None:
    """Remove an empty folder."""
    await app.visibility.views.listed(caller, path)
    await app.vault.delete_folder(caller, path)


def _version_of(tag: str | None) -> str | None:
    """The version that an ETag names; a weak one means the same here."""
    return None if tag is None else tag.strip().removeprefix("W/").strip('"')


def _wanted(if_version: str | None, if_match: str | None, if_none_match: str | None) -> str | None:
    """The version that a change is for; None for whichever it is."""
    if if_version is not None:
        return if_version
    if if_none_match is not None:
        if if_none_match.strip() != _NEW:
            message = "If-None-Match can only be `*` here: the page must be new. Name a version by If-Match."
            raise BadInput(message)
        return ""
    return None if if_match is None or if_match.strip() == "*" else _version_of(if_match)


async def _conflict(
    app: App, caller: Principal, path: str, *, error: Conflict, status: int, yours: str | None
) -> Response:
    """The problem, with the page as it is now beside what was not written."""
    try:
        current = page_of(await app.visibility.views.read(caller, path)).model_dump(mode="json")
    except UnknownId:
        current = None
    told = json.loads(bytes(of_error(error).body))
    body = {**told, "status": status, "current": current, "yours": yours}
    return Response(json.dumps(body), status, media_type=MEDIA_TYPE)
