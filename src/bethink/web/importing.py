"""`/import`: an export of another program, uploaded, looked at, taken in and taken back."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.importing import Choice, Desk, Into, SourceName, Topics
from bethink.web.deps import Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.upload import receive

if TYPE_CHECKING:
    from bethink import importing
    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(prefix="/import", tags=["import"], responses=documented(404))

State = Literal["reading", "ready", "applying", "done", "stopped", "failed", "undoing", "undone"]
_HIDDEN = "[hidden]"
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "contentMediaType": "application/octet-stream"}
                    },
                }
            },
            "application/octet-stream": {},
        },
    }
}


class ImportTally(BaseModel):
    """How many conversations, or pages."""

    new: int = Field(description="Of an import that was taken back: those that went.")
    grown: int = Field(description="Here since an earlier import, with less.")
    known: int = Field(description="Here already.")
    kept: int = Field(description="Changed here since, and left so.")
    duplicates: int = Field(description="They say the same as another one.")
    left: int = Field(description="Could not be taken.")


class ImportProblem(BaseModel):
    """What was not taken, and why."""

    name: str
    why: str
    fault: bool = Field(description="False for what is told only.")
    count: int


class ImportTopic(BaseModel):
    """What some of it is about."""

    name: str
    keywords: list[str]
    count: int


class ImportReport(BaseModel):
    """What an export holds, or what became of it; `read` of its `size` bytes were gone through so far."""

    conversations: ImportTally
    pages: ImportTally
    messages: int
    files: int
    characters: int
    size: int
    read: int
    first: datetime | None
    last: datetime | None
    topics: list[ImportTopic]
    problems: list[ImportProblem] = Field(description="The first 200.")
    problem_count: int
    note: str = Field(description="What is being done, or why less than was asked for.")


class ImportShown(BaseModel):
    """One import; `staged` says that its file is here still, `error` why it stopped."""

    id: str
    at: datetime
    state: State
    source: str
    name: str
    into: Into
    topics: Topics
    preview: ImportReport | None
    report: ImportReport | None
    staged: bool
    error: str | None


class ImportList(BaseModel):
    """Imports, the newest first."""

    items: list[ImportShown]


class ImportChoice(Body):
    """What is wanted of an export."""

    into: Into | None = Field(default=None, description="Null: by what it is.")
    topics: Topics = "keywords"
    source: SourceName | None = Field(default=None, description="Null: by what it holds.")


def _desk(request: Request) -> Desk:
    return request.state.desk


Desked = Annotated[Desk, Depends(_desk)]


@router.post("", status_code=202, responses=documented(507), openapi_extra=_BODY)
async def upload_export(
    request: Request,
    app: Served,
    caller: Caller,
    desk: Desked,
    *,
    name: Annotated[
        str, Query(max_length=200, description="What the file is called, where the body is the file.")
    ] = "export",
    source: Annotated[SourceName | None, Query(description="Known by what it holds, unless named.")] = None,
) -> ImportShown:
    """Upload an export; it is looked through at once, and nothing is taken before you say so."""
    staging, id = app.importing.staging, app.importing.new_id()
    make = partial(staging.create, caller.owner, id)
    # What is forgotten meanwhile must not take it away before it is looked through.
    with app.importing.working(id):
        try:
            called = await receive(request, make, limit=app.settings.vault.max_export_bytes, name=name)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(staging.remove, caller.owner, id)
            raise
        begun = await desk.look(caller, id, name=called, choice=Choice(source, topics="keywords"))
    return await _seen(app, caller, begun)


@router.get("")
async def list_imports(app: Served, caller: Caller, desk: Desked) -> ImportList:
    """The imports, the newest first."""
    return ImportList(items=[await _seen(app, caller, one) for one in await desk.list(caller)])


@router.get("/{import_id}")
async def get_import(import_id: str, app: Served, caller: Caller, desk: Desked) -> ImportShown:
    """An import as it is now; ask again while it is `reading`, `applying` or `undoing`."""
    return await _seen(app, caller, await desk.get(caller, import_id))


@router.post("/{import_id}/apply", status_code=202, responses=documented(409))
async def apply_import(
    import_id: str, body: ImportChoice, app: Served, caller: Caller, desk: Desked
) -> ImportShown:
    """Take in what was looked at; one that was stopped goes on."""
    choice = Choice(body.source, body.into, body.topics)
    return await _seen(app, caller, await desk.apply(caller, import_id, choice))


@router.post("/{import_id}/undo", status_code=202, responses=documented(409))
async def undo_import(import_id: str, app: Served, caller: Caller, desk: Desked) -> ImportShown:
    """Take back a whole import; what was changed here since stays, and the report names it."""
    return await _seen(app, caller, await desk.undo(caller, import_id))


@router.delete("/{import_id}", status_code=204)
async def discard_import(import_id: str, caller: Caller, desk: Desked) -> None:
    """Remove the uploaded file; what was taken stays."""
    await desk.discard(caller, import_id)


async def _seen(app: App, caller: Principal, held: importing.Import) -> ImportShown:
    """An import as this reader may see it: who sees less of the vault is told no names and topics of it."""
    shown = _shown(held)
    if not await app.visibility.views.rules(caller):
        return shown
    return shown.model_copy(
        update={"preview": _told_less(shown.preview), "report": _told_less(shown.report)},
    )


def _told_less(report: ImportReport | None) -> ImportReport | None:
    if report is None:
        return None
    problems = [one.model_copy(update={"name": _HIDDEN}) for one in report.problems]
    return report.model_copy(update={"topics": [], "problems": problems})


def _shown(held: importing.Import) -> ImportShown:
    return ImportShown(
        id=held.id,
        at=to_datetime(held.at),
        state=held.state,
        source=held.source,
        name=held.name,
        into=held.into,
        topics=held.topics,
        preview=held.preview and _report(held.preview),
        report=held.report and _report(held.report),
        staged=held.staged,
        error=held.error,
    )


def _report(report: importing.Report) -> ImportReport:
    return ImportReport(
        conversations=_tally(report.conversations),
        pages=_tally(report.pages),
        messages=report.messages,
        files=report.files,
        characters=report.characters,
        size=report.size,
        read=report.read,
        first=None if report.first is None else to_datetime(report.first),
        last=None if report.last is None else to_datetime(report.last),
        topics=[ImportTopic.model_validate(one, from_attributes=True) for one in report.topics],
        problems=[ImportProblem.model_validate(one, from_attributes=True) for one in report.problems],
        problem_count=report.problem_count,
        note=report.note,
    )


def _tally(tally: importing.Tally) -> ImportTally:
    return ImportTally.model_validate(tally, from_attributes=True)
