"""`/import`: an export of another program, uploaded, looked at, taken in and taken back."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Annotated, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from bethink.errors import BadInput, DiskFull, StorageError, TooLarge
from bethink.importing import ImportJobs, ImportOptions, Into, SourceName, TopicMethod
from bethink.web.deps import Body, Caller, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink import importing
    from bethink.app import App
    from bethink.principal import Principal


_NO_FILE = "The request contains no file: send it as the field `file` of a form, or as the body."
_FIELD = b"file"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class _Form:
    """The parts of a form as they come; only the first file's bytes are kept."""

    name: str | None = None
    parts: list[bytes] = field(default_factory=list[bytes])
    _headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    _header: bytes = b""
    _value: bytes = b""
    _wanted: bool = False

    def parser(self, boundary: bytes) -> MultipartParser:
        """What calls this for the bytes that it is given."""
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._headers.clear,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers,
                "on_part_data": self._on_data,
            },
        )

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        named = options.get(b"filename")
        self._wanted = self.name is None and options.get(b"name") == _FIELD and bool(named)
        if self._wanted and named is not None:
            self.name = named.decode("utf-8", "replace")

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted:
            self.parts.append(data[start:end])


async def receive(request: Request, make: Callable[[str], IO[bytes]], *, limit: int, name: str) -> str:
    """Write the request's file where `make` opens it; its name, `name` where the request has none.

    Raises:
        TooLarge: it has more than `limit` bytes.
        BadInput: there is none, or the form is damaged.
        StorageError: it cannot be written.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    form = _Form() if kind == b"multipart/form-data" else None
    parser = form.parser(options.get(b"boundary", b"")) if form else None
    file: IO[bytes] | None = None
    size = 0
    try:
        async for part in request.stream():
            parts = [part]
            if form is not None and parser is not None:
                parser.write(part)
                parts, form.parts = form.parts, []
                name = form.name or name
            content = b"".join(parts)
            size += len(content)
            if size > limit:
                raise TooLarge(
                    f"The file is larger than {limit // 1_000_000:,} MB (BETHINK_VAULT, "
                    "`max_export_bytes`). `bethink import` takes any size."
                )
            if content:
                file = file or await anyio.to_thread.run_sync(make, name)
                await anyio.to_thread.run_sync(file.write, content)
    except FormParserError as error:
        raise BadInput(f"The form cannot be read: {error}.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull from error
        raise StorageError(f"The upload cannot be kept: {error.strerror}.") from error
    finally:
        if file is not None:
            await anyio.to_thread.run_sync(file.close)
    if file is None:
        raise BadInput(_NO_FILE)
    return name


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


class ImportList(BaseModel):
    """Imports, the newest first."""

    items: list[ImportShown]


class ImportChoice(Body):
    """What is wanted of an export."""

    into: Into | None = Field(default=None, description="Null: by what it is.")
    topics: TopicMethod = "keywords"
    source: SourceName | None = Field(default=None, description="Null: detected from the content.")


def _jobs(request: Request) -> ImportJobs:
    return request.state.jobs


Jobs = Annotated[ImportJobs, Depends(_jobs)]


@router.post("", status_code=202, responses=documented(507), openapi_extra=_BODY)
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
    # What is forgotten meanwhile must not take it away before it is looked through.
    with app.importing.working(id):
        try:
            called = await receive(request, make, limit=app.settings.vault.max_export_bytes, name=name)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(staging.remove, caller.owner, id)
            raise
        begun = await jobs.look(caller, id, name=called, choice=ImportOptions(source, topics="keywords"))
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
