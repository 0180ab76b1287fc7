"""`/import`: an export of another program, uploaded, looked at, taken in and taken back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from bethink.importing.jobs import ImportJobs
from bethink.importing.records import ImportOptions, Into, SourceName, TopicMethod
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served, Timestamp
from bethink.web.problems import documented
from bethink.web.uploads import file_body, receive

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.importing import records as importing
    from bethink.principal import Principal


router = APIRouter(prefix="/import", tags=["import"], responses=documented(404))

State = Literal["reading", "ready", "applying", "done", "stopped", "failed", "undoing", "undone"]
_HIDDEN = "[hidden]"


class ImportTally(ResponseModel):
    """How many conversations, or pages."""

    new: int = Field(description="After an undo: those that were removed.")
    grown: int = Field(description="Here since an earlier import, with less.")
    known: int = Field(description="Here already.")
    kept: int = Field(description="Changed here since, and left so.")
    duplicates: int = Field(description="They say the same as another one.")
    left: int = Field(description="Not imported.")


class ImportProblem(ResponseModel):
    """What was not imported, and why."""

    name: str
    why: str
    fault: bool = Field(description="False for what is told only.")
    count: int


class ImportTopic(ResponseModel):
    """What some of it is about."""

    name: str
    keywords: list[str]
    count: int


class ImportReport(ResponseModel):
    """What an export holds, or what became of it; `read` of its `size` bytes were gone through so far."""

    conversations: ImportTally
    pages: ImportTally
    messages: int
    files: int
    characters: int
    size: int
    read: int
    first: Timestamp | None
    last: Timestamp | None
    topics: list[ImportTopic]
    problems: list[ImportProblem] = Field(description="The first 200.")
    problem_count: int
    note: str = Field(description="What is being done, or why less than was asked for.")


class ImportShown(ResponseModel):
    """One import; `staged` says that its file is here still, `error` why it stopped."""

    id: str
    at: Timestamp
    state: State
    source: str
    name: str
    into: Into
    topics: TopicMethod
    preview: ImportReport | None
    report: ImportReport | None
    staged: bool
    error: str | None


class ImportList(Items[ImportShown]):
    """Imports, the newest first."""


class ImportChoice(Body):
    """What is wanted of an export."""

    into: Into | None = Field(default=None, description="Null: by what it is.")
    topics: TopicMethod = "keywords"
    source: SourceName | None = Field(default=None, description="Null: detected from the content.")


def _jobs(request: Request) -> ImportJobs:
    return request.state.jobs


Jobs = Annotated[ImportJobs, Depends(_jobs)]


@router.post("", status_code=202, responses=documented(507), openapi_extra=file_body())
async def upload_export(
    request: Request,
    app: Served,
    caller: Caller,
    jobs: Jobs,
    *,
    name: Annotated[
        str, Query(max_length=200, description="The name of the file, if the body is the file.")
    ] = "export",
    source: Annotated[SourceName | None, Query(description="Detected from the content by default.")] = None,
) -> ImportShown:
    """Upload an export; it is read at once, and nothing is imported before you start it."""
    staging, id = app.importing.staging, app.importing.new_id()
    make = partial(staging.create, caller.owner, id)
    limit = app.settings.vault.max_export_bytes
    too_large = (
        f"The file is larger than {limit // 1_000_000:,} MB (BETHINK_VAULT, `max_export_bytes`). "
        "`bethink import` takes any size."
    )
    # What is forgotten meanwhile must not take it away before it is looked through.
    with app.importing.working(id):
        try:
            came = await receive(request, make, limit=limit, name=name, too_large=too_large)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(staging.remove, caller.owner, id)
            raise
        begun = await jobs.look(caller, id, name=came.name, choice=ImportOptions(source, topics="keywords"))
    return await _shown(app, caller, begun)


@router.get("")
async def list_imports(app: Served, caller: Caller, jobs: Jobs) -> ImportList:
    """The imports, the newest first."""
    return ImportList(items=[await _shown(app, caller, one) for one in await jobs.list(caller)])


@router.get("/{import_id}")
async def get_import(import_id: str, app: Served, caller: Caller, jobs: Jobs) -> ImportShown:
    """An import as it is now; ask again while it is `reading`, `applying` or `undoing`."""
    return await _shown(app, caller, await jobs.get(caller, import_id))


@router.post("/{import_id}/apply", status_code=202, responses=documented(409))
async def apply_import(
    import_id: str, body: ImportChoice, app: Served, caller: Caller, jobs: Jobs
) -> ImportShown:
    """Start the import after its preview; a stopped one continues."""
    choice = ImportOptions(body.source, body.into, body.topics)
    return await _shown(app, caller, await jobs.apply(caller, import_id, choice))


@router.post("/{import_id}/undo", status_code=202, responses=documented(409))
async def undo_import(import_id: str, app: Served, caller: Caller, jobs: Jobs) -> ImportShown:
    """Take back a whole import; what was changed here since stays, and the report names it."""
    return await _shown(app, caller, await jobs.undo(caller, import_id))


@router.delete("/{import_id}", status_code=204)
async def discard_import(import_id: str, caller: Caller, jobs: Jobs) -> None:
    """Delete the uploaded file; imported items stay."""
    await jobs.discard(caller, import_id)


async def _shown(app: App, caller: Principal, held: importing.Import) -> ImportShown:
    """An import as this reader may see it: who sees less of the vault is told no names and topics of it."""
    shown = ImportShown.of(held)
    if not await app.visibility.views.filters.rules_for(caller):
        return shown
    return shown.model_copy(
        update={"preview": _redacted(shown.preview), "report": _redacted(shown.report)},
    )


def _redacted(report: ImportReport | None) -> ImportReport | None:
    if report is None:
        return None
    problems = [one.model_copy(update={"name": _HIDDEN}) for one in report.problems]
    return report.model_copy(update={"topics": [], "problems": problems})
