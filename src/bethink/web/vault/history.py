"""`/vault`: what pages were, with who changed them and when, and the ways back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.vault.files.records import By, What
from bethink.web.deps import Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.vault.pages import PagePath
from bethink.web.vault.shapes import VaultChange, VaultPage, change_of, page_of

if TYPE_CHECKING:
    from bethink.vault import PageVersion

router = APIRouter(prefix="/vault", tags=["vault"])

Version = Annotated[str, Path(max_length=100, description="The id of one of the page's changes.")]


class VaultVersion(BaseModel):
    """One change of a page."""

    id: str
    at: datetime
    by: By = Field(description="Who changed it; `outside` is another program.")
    what: What
    path: str = Field(description="Where it stood behind this change.")
    moved_from: str | None
    size: int = Field(description="In bytes, behind this change.")
    note: str
    undo: str | None = Field(description="Takes it back, where nothing was changed since.")


class VaultHistory(BaseModel):
    """The changes of a page, newest first."""

    items: list[VaultVersion]


class VaultDiff(BaseModel):
    """What a change did."""

    diff: str = Field(description="Unified, as patch(1) reads it; empty where the text is the same.")


class RestoreBody(Body):
    """The change behind which the page should be again."""

    version: Annotated[str, Field(max_length=100)]


class VaultUndo(Body):
    """The token that came with a change, or with many."""

    token: Annotated[str, Field(max_length=50_000)]


@router.get("/history/{path:path}", responses=documented(403, 404))
async def get_vault_history(path: PagePath, app: Served, caller: Caller) -> VaultHistory:
    """The changes of a page; also of one that is deleted."""
    found = await app.visibility.views.history(caller, path)
    return VaultHistory(items=[_version(version) for version in found])


@router.get("/versions/{version}/{path:path}", responses=documented(403, 404))
async def get_vault_version(version: Version, path: PagePath, app: Served, caller: Caller) -> VaultPage:
    """A page as one of its changes left it."""
    return page_of(await app.visibility.views.version(caller, path, version))


@router.get("/diff/{version}/{path:path}", responses=documented(403, 404))
async def get_vault_diff(
    version: Version,
    path: PagePath,
    app: Served,
    caller: Caller,
    against: Annotated[
        str | None, Query(max_length=100, description="A later change; none for what this one did.")
    ] = None,
) -> VaultDiff:
    """What a change did, or what lies between it and a later one."""
    return VaultDiff(diff=await app.visibility.views.diff(caller, path, version, against=against))


@router.post("/restore/{path:path}", responses=documented(403, 404, 409))
async def restore_vault_page(path: PagePath, body: RestoreBody, app: Served, caller: Caller) -> VaultChange:
    """Have a page say again what it said behind one of its changes; also one that is deleted."""
    return change_of(await app.visibility.views.restore(caller, path, body.version))


@router.post("/undo", responses=documented(403, 404, 409))
async def undo_vault_change(body: VaultUndo, app: Served, caller: Caller) -> VaultChange:
    """Take back a change of a page."""
    return change_of(await app.visibility.views.undo(caller, body.token))


def _version(version: PageVersion) -> VaultVersion:
    return VaultVersion(
        id=version.id,
        at=to_datetime(version.at),
        by=version.by,
        what=version.what,
        path=version.path,
        moved_from=version.was,
        size=version.size,
        note=version.note,
        undo=None if version.final else f"page:{version.id}",
    )
