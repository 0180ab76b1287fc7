"""`/vault`: its pages, to list, read, write, move, delete and restore; what they were, and what changed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from bethink.errors import BadInput, BethinkError, Conflict, UnknownId
from bethink.vault import Authorship, Change, CurrentPage
from bethink.vault.files.records import TROUBLES, By, What
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import front_matter
from bethink.web.deps import Body, Caller, Items, KnownTime, ResponseModel, Served, Timestamp
from bethink.web.problems import MEDIA_TYPE, Problem, documented, of_error
from bethink.web.sse import STREAM, EventStream, event_stream

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(prefix="/vault", tags=["vault"])


LOOK_S: Final = 2.0
"""How long what another process changed may wait: that is not heard, and looked for."""
_ANY_CHANGE: Final = 2**53
_RETRY: Final = b"retry: 2000\n\n"
"""Milliseconds after which a browser comes back when the stream broke off."""
MAX_PATH = 2_000

PathField = Annotated[
    str, Field(min_length=1, max_length=MAX_PATH, description="Relative to the vault, ending in `.md`.")
]
IfVersion = Annotated[
    str | None,
    Field(max_length=100, description="The version that was read; an empty one for a page that must be new."),
]


class VaultEntry(ResponseModel):
    """A page or a folder."""

    path: str
    is_folder: bool
    size: int = Field(description="In bytes; 0 for a folder.")
    changed_at: KnownTime
    problem: str | None = Field(description="Why the file is not read, in words.")


class VaultNotes(ResponseModel):
    """Where notes of days and templates lie, as the settings say."""

    daily_folder: str
    daily_name: str = Field(description="With YYYY, MM and DD for the day.")
    templates: str


class VaultTree(Items[VaultEntry]):
    """All folders and pages, folders first, each by path."""

    change: int = Field(description="What `GET /vault/changes` counts from.")
    pages: int
    bytes: int
    watching: bool = Field(description="Whether changes of the files are noticed as they happen.")
    notes: VaultNotes


class VaultNews(Items[VaultEntry]):
    """What became of pages since a change: those that are there as they are now, and those that went."""

    gone: list[str]
    change: int


class VaultPage(ResponseModel):
    """A page. `version` goes back with a change of it, so that nobody's work is overwritten."""

    path: str
    text: str
    version: str
    size: int
    changed_at: Timestamp
    problems: list[str] = Field(description="What of it cannot be read as it is meant, in words.")


class VaultChange(ResponseModel):
    """What became of a page; `undo` takes it back, and is null where nothing changed.

    `before` and `after` are its versions, null where there is no page.
    """

    path: str
    before: str | None
    after: str | None
    undo: str | None
    moved_from: str | None


class VaultConflict(Problem):
    """A page was changed by somebody else: nothing was written. Both texts are here."""

    current: VaultPage | None = Field(description="The page as it is now; null if it was deleted.")
    yours: str | None = Field(description="The text that was not written.")


class PageBody(Body):
    """What a page should hold, exactly."""

    text: str
    if_version: IfVersion = None
    note: Annotated[str, Field(max_length=500, description="Why, for the history.")] = ""


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
        items=[VaultEntry.of(item, changed_at=item.changed, problem=item.trouble) for item in items],
        change=change,
        pages=len(pages),
        bytes=sum(page.size for page in pages),
        watching=vault.settings.watch,
        notes=VaultNotes.of(vault.settings),
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
        how = Authorship("person", body.note)
        change = await app.visibility.views.put(caller, path, body.text, if_version=version, how=how)
    except Conflict as error:
        if version is None:
            raise
        status = 409 if body.if_version is not None else 412
        return await _conflict(app, caller, path, error=error, status=status, yours=body.text)  # pyright: ignore[reportReturnType] - an answer
    return VaultChange.of(change)


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
        change = await app.visibility.views.delete(caller, path, if_version=version, by="person")
    except Conflict as error:
        if version is None:
            raise
        status = 409 if if_version is not None else 412
        return await _conflict(app, caller, path, error=error, status=status, yours=None)  # pyright: ignore[reportReturnType] - an answer
    return VaultChange.of(change)


@router.post("/move", responses=documented(403, 404, 409))
async def move_vault_page(body: MoveBody, app: Served, caller: Caller) -> VaultMoved:
    """Give a page another path; it keeps its history, and links to it follow."""
    views, changes = app.visibility.views, list[Change]()
    if body.relink:
        moved, changes = await app.vault_tools.moving.move(caller, body.path, body.to, by="person")
    else:
        moved = await views.move(caller, body.path, body.to, by="person")
    relinked = [VaultChange.of(change) for change in changes]
    return VaultMoved(**VaultChange.of(moved).model_dump(), relinked=relinked)


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
            raise BadInput(
                "If-None-Match can only be `*` here: the page must be new. Name a version by If-Match."
            )
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


_VersionId = Annotated[str, Path(max_length=100, description="The id of one of the page's changes.")]


class VaultVersion(ResponseModel):
    """One change of a page."""

    id: str
    at: Timestamp
    by: By = Field(description="Who changed it; `outside` is another program.")
    what: What
    path: str = Field(description="Its path after this change.")
    moved_from: str | None
    size: int = Field(description="In bytes, behind this change.")
    note: str
    undo: str | None = Field(description="Undoes it, if nothing was changed since.")


class VaultHistory(Items[VaultVersion]):
    """The changes of a page, newest first."""


class VaultDiff(BaseModel):
    """What a change did."""

    diff: str = Field(description="Unified diff; empty if the text is the same.")


class RestoreBody(Body):
    """The change behind which the page should be again."""

    version: Annotated[str, Field(max_length=100)]


class VaultUndo(Body):
    """The token that came with a change, or with many."""

    token: Annotated[str, Field(max_length=50_000)]


@router.get("/history/{path:path}", responses=documented(403, 404))
async def get_vault_history(path: PagePath, app: Served, caller: Caller) -> VaultHistory:
    """The changes of a page; also of one that is deleted."""
    items: list[VaultVersion] = []
    for version in await app.visibility.views.history(caller, path):
        undo = None if version.final else f"page:{version.id}"
        items.append(VaultVersion.of(version, moved_from=version.was, undo=undo))
    return VaultHistory(items=items)


@router.get("/versions/{version}/{path:path}", responses=documented(403, 404))
async def get_vault_version(version: _VersionId, path: PagePath, app: Served, caller: Caller) -> VaultPage:
    """A page as one of its changes left it."""
    return page_of(await app.visibility.views.version(caller, path, version))


@router.get("/diff/{version}/{path:path}", responses=documented(403, 404))
async def get_vault_diff(
    version: _VersionId,
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
    return VaultChange.of(await app.visibility.views.restore(caller, path, body.version))


@router.post("/undo", responses=documented(403, 404, 409))
async def undo_vault_change(body: VaultUndo, app: Served, caller: Caller) -> VaultChange:
    """Take back a change of a page."""
    return VaultChange.of(await app.visibility.views.undo(caller, body.token))


@router.get(
    "/changes",
    response_model=VaultNews,
    responses={
        200: event_stream(
            "What changed; with `Accept: text/event-stream` each change as it happens",
            "a `VaultNews`",
            "Its `change`.",
        ),
        **documented(403),
    },
)
async def get_vault_changes(
    app: Served,
    caller: Caller,
    after: Annotated[int, Query(ge=0, le=_ANY_CHANGE, description="`change` of the answer before.")] = 0,
    *,
    accept: Annotated[str, Header(max_length=1_000, include_in_schema=False)] = "",
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=_ANY_CHANGE, description="The same, as a browser says it that comes back; it wins."),
    ] = None,
) -> VaultNews | Response:
    """What became of pages since: ask now and then, or for a stream, to show the vault as it is."""
    place = after if last_event_id is None else last_event_id
    if STREAM in accept:
        return EventStream(follow(app, caller.lasting, place), NewsFrames(), until=app.stopping)
    return await news_since(app, caller, place)


async def news_since(app: App, caller: Principal, after: int) -> VaultNews:
    """What became of the pages that the caller sees, after the change of this number."""
    left = await app.visibility.views.left_since(caller, after)
    change, records = await app.visibility.views.changed_since(caller, after)
    there = {record.path: record for record in records if record.state != "gone"}
    gone = [record.path for record in records if record.state == "gone" and record.path not in there]
    return VaultNews(
        items=[
            VaultEntry.of(
                record,
                is_folder=False,
                changed_at=record.changed,
                problem=None if record.trouble is None else TROUBLES[record.trouble],
            )
            for record in there.values()
        ],
        gone=[*dict.fromkeys((*gone, *(path for path in left if path not in there)))],
        change=change,
    )


async def follow(app: App, caller: Principal, after: int) -> AsyncGenerator[Sequence[VaultNews], None]:
    """The news since, at once, even if there are none; then each as it comes."""
    news = app.vault.news
    is_first = True
    while True:
        with news.listening(caller.owner) as heard:
            told = await news_since(app, caller, after)
            if is_first or told.items or told.gone:
                yield [told]
            else:
                with anyio.move_on_after(LOOK_S):
                    await heard.wait()
        after, is_first = told.change, False


class NewsFrames:
    """News as they are, each with the number to go on from."""

    def written(self, batch: Sequence[VaultNews]) -> bytes:
        """A frame each."""
        return _RETRY + b"".join(
            f"id: {news.change}\ndata: {news.model_dump_json()}\n\n".encode() for news in batch
        )

    def broken(self, error: BethinkError) -> bytes:
        """A comment: who follows comes back, and is told then."""
        return b": %s\n\n" % error.code.encode()


def page_of(page: CurrentPage) -> VaultPage:
    """A page as JSON."""
    fault = front_matter(parse(page.text)).fault
    problems = [] if fault is None else [f"Front matter: {fault}"]
    return VaultPage.of(page, changed_at=page.changed, problems=problems)
