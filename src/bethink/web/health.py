"""`GET /health`: which part works, which is off, and why; `GET /livez` and `GET /readyz` for what supervises.

`/health` answers 200 as long as Bethink is of any use, 503 only when what is stored
cannot be read, and never costs a request to the model: a probe of the model's
address runs beside it, at most every half minute, and only while somebody asks.
Whether the store can be written is tried at each request, without a flush of the disk.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from bethink import __version__
from bethink.agent.start import MODEL_HELP
from bethink.backups.service import BackupService
from bethink.calendar_sync.feature import Calendars
from bethink.conversations.records import CONVERSATIONS
from bethink.documents.records import WORKING
from bethink.documents.service import Documents
from bethink.errors import DiskFull, MemoryUnavailable, StorageError
from bethink.llm.models import AUTO, OfferedModels
from bethink.principal import LOCAL_OWNER, Principal
from bethink.sandbox.interpreters import SWITCHED_OFF
from bethink.schedules.service import Schedules
from bethink.settings.catalogue import SETTINGS
from bethink.store import Expect
from bethink.vault.files.context import OFF
from bethink.web.deps import Anybody, Served

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.app import App
    from bethink.llm import Llm

router = APIRouter(tags=["health"])

_PROBE_EVERY_S = 30
_WRITE_WITHIN_S = 2
"""A change that takes longer is held up by another process; the answer does not wait for its end."""
_READ_WITHIN_S = 3
_SILENT = "The database does not answer: see that it runs and can be reached."
_STOPPING = "This process is about to stop: it finishes the answers that it has begun."
_ROOM_BYTES = 256 * 1024
"""A message with its run, its entry in the index and the database's log take less."""
_MOST_TOLD = 3
_SEARCH = "web_search_url"
_UNHEARD = "Other processes with the same data are not notified by this one."


class PartHealth(BaseModel):
    """One part's state; `message` says what does not work and what to do."""

    status: Literal["ok", "off", "loading", "degraded"]
    message: str | None = None

    @classmethod
    def by(cls, fault: str | None, note: str | None = None, **more: Any) -> Self:  # noqa: ANN401 - fields
        """A part that works, unless there is a fault; else the `note` says what is to know."""
        return cls(status="degraded" if fault else "ok", message=fault or note, **more)

    @classmethod
    def off(cls, why: str | None, **more: Any) -> Self:  # noqa: ANN401 - fields
        """A part that is switched off, or has nothing to do."""
        return cls(status="off", message=why, **more)


_Part = TypeVar("_Part", bound=PartHealth)


class StorePart(PartHealth):
    """Where records are kept, and whether they can be read and written."""

    engine: Literal["SQLite", "PostgreSQL"] = "SQLite"
    sealed: bool = Field(
        default=False, description="Whether nobody reads it from the disk without the home's key."
    )


class RedisPart(PartHealth):
    """The Redis in which other programs find the conversations, and what it last said of itself."""

    persists: bool | None = Field(
        default=None, description="Whether its data survives a restart; null if it does not say."
    )
    appendfsync: str | None = Field(default=None, description="When its append-only file is flushed.")
    last_save_ok: bool | None = None
    evicts: str | None = Field(
        default=None, description="The policy by which it drops keys when memory is short; null for none."
    )
    behind: int = Field(default=0, description="Changes that it has not heard of yet; they are kept here.")


class VaultPart(PartHealth):
    """The caller's vault: its pages, what cannot be read, and whether changes of files are seen at once."""

    is_enabled: bool = Field(default=True, description="Whether the settings say that there may be one.")
    pages: int = 0
    bytes: int = 0
    unread: int = Field(default=0, description="Files and folders that are listed and not read.")
    watched: bool = Field(default=False, description="Whether this process watches the files.")


class DocumentsPart(PartHealth):
    """What reads documents, and how many of the caller's files wait for it, or could not be read."""

    waiting: int = 0
    failed: int = 0


class SchedulesPart(PartHealth):
    """What happens by itself: notices of the caller's that were not delivered within a day."""

    undelivered: int = 0


class Parts(BaseModel):
    """The parts of Bethink and their status."""

    store: StorePart
    files: PartHealth
    memory: PartHealth
    embeddings: PartHealth
    model: PartHealth
    extraction: PartHealth
    bus: PartHealth
    web: PartHealth
    mcp: PartHealth
    sandbox: PartHealth
    documents: DocumentsPart
    schedules: SchedulesPart
    redis: RedisPart
    vault: VaultPart
    calendar: PartHealth
    memory_agent: PartHealth
    backups: PartHealth
    background: PartHealth


class Health(BaseModel):
    """The state of Bethink: `degraded` if any part is; parts that are switched off do not count."""

    status: Literal["ok", "degraded"]
    version: str
    conversation_manager_initialized: bool = Field(
        default=True, description="Spec 001's field: true whenever this answers."
    )
    message: str | None = Field(default=None, description="Why what is stored cannot be read.")
    parts: Parts | None = Field(
        default=None,
        description="Only for users with a key or sign-in, if there are users; not if nothing can be read.",
    )


class Probed(BaseModel):
    """Whether this process is alive, or ready for requests; `message` says why not."""

    status: Literal["ok", "unready"]
    message: str | None = None


class ModelProbe:
    """What is known of the model's server, from probes made in the background."""

    def __init__(self, models: OfferedModels) -> None:
        self._models = models
        self._asked = anyio.Event()
        self._probed: Llm | None = None
        self._fault: str | None = None

    def part(self) -> PartHealth:
        """The state that is known now; a newer one is found out in the background."""
        llm = self._models.usual
        if llm is None:
            return PartHealth.off(MODEL_HELP)
        self._asked.set()
        if llm is not self._probed:
            return PartHealth(status="loading", message=f"{llm.name} has not been reached yet.")
        return PartHealth.by(self._fault, self._models.learnt.told(llm.name) or None)

    async def answer(self) -> None:
        """Probe when somebody asked, for ever; a model that took another one's place at once."""
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            if (llm := self._models.usual) is None:
                continue
            await self._models.learnt.read()
            is_other = llm is not self._probed
            self._fault, self._probed = await llm.probe(), llm
            if not is_other:
                await anyio.sleep(_PROBE_EVERY_S)


@router.head("/health", include_in_schema=False)
@router.get("/health", responses={503: {"model": Health, "description": "The store cannot be read"}})
async def get_health(app: Served, caller: Anybody, request: Request, response: Response) -> Health:
    """How each part is."""
    me = caller or app.accounts.on_behalf_of(LOCAL_OWNER, audience="health")
    store, is_readable = await _store(app, me)
    response.status_code = 200 if is_readable else 503
    if caller is None or not is_readable:
        # Whoever supervises it learns whether it works, and no more; most parts would wait for the store.
        status = "ok" if store.status == "ok" else "degraded"
        return Health(status=status, version=__version__, message=None if is_readable else store.message)
    probe: ModelProbe = request.state.probe
    has_memory = app.settings.memory_enabled
    parts = Parts(
        store=store,
        files=await _files(app),
        memory=PartHealth.by(None) if has_memory else PartHealth.off(MemoryUnavailable().message),
        embeddings=_embeddings(app),
        model=probe.part(),
        extraction=_extraction(app),
        bus=await _read(PartHealth, _bus(app)),
        web=_web(app),
        mcp=_mcp(app),
        sandbox=_sandbox(app),
        documents=await _read(DocumentsPart, _documents(app, caller)),
        schedules=await _read(SchedulesPart, _schedules(app, caller)),
        redis=await _redis(app),
        vault=await _read(VaultPart, _vault(app, caller)),
        calendar=await _read(PartHealth, _calendar(app, caller)),
        memory_agent=_memory_agent(app),
        backups=await _read(PartHealth, _backups(app)),
        background=PartHealth.by("; ".join(app.ports.supervisor.faults()) or None),
    )
    is_degraded = any(part.status == "degraded" for _, part in parts)
    return Health(status="degraded" if is_degraded else "ok", version=__version__, parts=parts)


@router.head("/livez", include_in_schema=False)
@router.get("/livez")
async def get_livez() -> Probed:
    """Whether the process answers at all; whoever supervises it starts it anew if not."""
    return Probed(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: {"model": Probed, "description": "Requests go elsewhere for now"}})
async def get_readyz(app: Served, response: Response) -> Probed:
    """Whether requests may be sent here: what is stored can be read, and it is not about to stop."""
    if app.runs.is_draining:
        fault: str | None = _STOPPING
    else:
        fault = await unreadable(app, app.accounts.on_behalf_of(LOCAL_OWNER, audience="health"))
    if fault is None:
        return Probed(status="ok")
    response.status_code = 503
    return Probed(status="unready", message=fault)


async def _read(part: type[_Part], look: Awaitable[_Part]) -> _Part:
    """How a part is, whose records may not be readable just now."""
    try:
        return await look
    except StorageError as error:
        return part.by(error.message)


async def _store(app: App, caller: Principal) -> tuple[StorePart, bool]:
    """How it is, and whether what is stored can be read."""
    engine = "SQLite" if app.settings.database_url is None else "PostgreSQL"
    sealed = app.ports.is_sealed
    if (silent := await unreadable(app, caller)) is not None:
        return StorePart.by(silent, engine=engine, sealed=sealed), False
    return StorePart.by(await unwritable(app, caller), engine=engine, sealed=sealed), True


async def _files(app: App) -> PartHealth:
    """The contents of files, where they are; that deleted ones are kept there is no fault."""
    state = await app.files.blobs.state()
    return PartHealth.by(state.fault, state.kept)


async def unreadable(app: App, caller: Principal) -> str | None:
    """Why what is stored cannot be read; None where it can."""
    try:
        with anyio.fail_after(_READ_WITHIN_S):
            await app.conversations.list(caller, limit=1)
    except TimeoutError:
        return _SILENT
    except StorageError as error:
        return error.message
    return None


async def unwritable(app: App, caller: Principal) -> str | None:
    """Why nothing new can be kept; None where it can."""
    # Changes nothing, but needs all that a change needs: the writer, and the file for itself.
    nothing = Expect(CONVERSATIONS, "health", version=0)
    try:
        with anyio.fail_after(_WRITE_WITHIN_S):
            await app.ports.store.commit(caller.owner, [nothing])
        await anyio.to_thread.run_sync(_take_room, app.settings.data_dir)
    except TimeoutError:
        return "Another process is writing to the database: changes wait for it."
    except StorageError as error:
        return error.message
    return None


def _take_room(directory: Path) -> None:
    """Write as much as a change does to a file without a name, and give the room back."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_ROOM_BYTES))
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(
                f"The disk of {directory} is full: stored data can be read, nothing new is stored. "
                "Free some space."
            ) from error
        raise StorageError(
            f"{directory} cannot be written ({error.strerror}): stored data can be read, nothing new is"
            " stored. Check who owns it, its permissions, the disk and the limits on the size of files."
        ) from error


def _embeddings(app: App) -> PartHealth:
    reason = app.ports.embeddings.unavailable
    if reason is None:
        return PartHealth.by(None)
    if app.background.progress is not None:
        return PartHealth(status="loading", message=app.background.progress)
    return PartHealth.by(f"Recall goes by words only: {reason}")


def _extraction(app: App) -> PartHealth:
    """Off by choice or for want of a model is no fault; given up, or too small a model, is."""
    extraction = app.extraction
    if extraction.off is None:
        return PartHealth.by(extraction.fault)
    is_choice = extraction.settings.extraction == "off" or extraction.llm is None
    return PartHealth.off(extraction.off) if is_choice else PartHealth.by(extraction.off)


def _web(app: App) -> PartHealth:
    internet = app.ports.internet
    missing = internet.missing if internet else "The web is switched off: BETHINK_WEB_ENABLED."
    if internet and (fault := SETTINGS[_SEARCH].address_fault(app.settings.web_search_url)):
        return PartHealth.by(f"The web cannot be searched. {_SEARCH}: {fault}")
    return PartHealth.off(missing) if missing else PartHealth.by(None)


def _mcp(app: App) -> PartHealth:
    """Servers of tools: one that cannot be reached, wants a sign-in or changed its tools wants a look."""
    statuses = app.mcp_servers.statuses()
    if all(status.state == "off" for status in statuses):
        return PartHealth.off("No MCP server is configured." if not statuses else None)
    told = [
        f"{status.name}: {status.reason}" for status in statuses if status.state in {"retrying", "sign_in"}
    ]
    told += [f"{status.name}: {len(status.waiting)} tools wait" for status in statuses if status.waiting]
    return PartHealth.by("; ".join(told) or None)


async def _bus(app: App) -> PartHealth:
    bus = app.ports.bus
    return PartHealth.by(bus.fault if await bus.is_alive(bus.process) else _UNHEARD)


def _sandbox(app: App) -> PartHealth:
    """Not installed is no fault; a machine on which no sandbox holds is told of."""
    interpreters = app.ports.interpreters
    if (server := app.settings.code_server) and app.settings.code_enabled:
        name = server.partition("/")[0]
        known = {status.name: status for status in app.mcp_servers.statuses()}
        if (found := known.get(name)) is None:
            return PartHealth.by(f"There is no MCP server {name!r} to run code: BETHINK_CODE_SERVER.")
        if found.state in {"off", "retrying", "sign_in"}:
            return PartHealth.by(f"The MCP server {name}, which runs code, is not there: {found.reason}")
        return PartHealth.by(None, f"Code runs outside of this sandbox, at the MCP server {name}.")
    if interpreters is None:
        return PartHealth.off(SWITCHED_OFF)
    state = interpreters.state
    return PartHealth(status=state.status, message=state.message)


async def _redis(app: App) -> RedisPart:
    """Behind is no fault while it answers; a fault of its own is told even where nothing is lost yet."""
    sharing = app.sharing
    if sharing is None:
        why = "No Redis is set: BETHINK_REDIS_URL."
        if app.settings.redis_url is not None:
            why = "Redis connects the processes; conversations are not copied to it: BETHINK_REDIS_USE."
        return RedisPart.off(why)
    state, fault = sharing.state, sharing.fault
    if state is None:
        return RedisPart(status="degraded", message=fault, behind=await sharing.pending())
    if fault is not None:
        message = f"{fault} Conversations are stored here, and are written there when it answers."
    else:
        fault, message = state.fault, f"{state.summary}; {state.fault}" if state.fault else state.summary
    return RedisPart(
        status="degraded" if fault else "ok",
        message=message,
        persists=state.persists,
        appendfsync=state.appendfsync,
        last_save_ok=state.last_save_ok,
        evicts=state.evicts,
        behind=await sharing.pending(),
    )


async def _documents(app: App, caller: Principal) -> DocumentsPart:
    """A file that cannot be read is no fault of Bethink's; not to hear of changes in folders is one."""
    documents = app.features.of(Documents)
    stages = await documents.stages(caller.owner)
    return DocumentsPart.by(
        documents.watch.fault,
        documents.ingest.extraction.state,
        waiting=sum(stages[stage] for stage in WORKING),
        failed=stages["failed"],
    )


async def _schedules(app: App, caller: Principal) -> SchedulesPart:
    lost = await app.features.of(Schedules).outbox.failing(caller)
    if not lost:
        return SchedulesPart.by(None)
    what = "One notice was" if lost == 1 else f"{lost:,} notices were"
    fault = f"{what} not delivered within a day: see your notices, and where you are told."
    return SchedulesPart.by(fault, undelivered=lost)


async def _calendar(app: App, caller: Principal) -> PartHealth:
    """Accounts of calendar servers that do not work, and conflicts that wait for their owner."""
    sync = app.features.of(Calendars).sync
    faults = await sync.faults(caller)
    if not await sync.accounts(caller):
        return PartHealth.off("No calendar account is set up.")
    return PartHealth.by(" ".join(faults) or None)


async def _backups(app: App) -> PartHealth:
    return PartHealth.by(await app.features.of(BackupService).trouble())


def _memory_agent(app: App) -> PartHealth:
    """Which model it asks; nothing is looked for here, and to have none is no fault."""
    settings, models = app.settings.vault, app.models
    if not settings.enabled:
        return PartHealth.off(OFF)
    has_model = models.usual is not None or settings.agent_model not in {AUTO, ""} or models.probing.found
    told = models.told(settings.agent_model)
    return PartHealth.by(None, told) if has_model else PartHealth.off(told)


async def _vault(app: App, caller: Principal) -> VaultPart:
    """No vault yet is no fault, nor is a file that cannot be read; not to hear of changes is one."""
    if not app.vault.settings.enabled:
        return VaultPart.off(OFF, is_enabled=False)
    if fault := await app.vault.folder_fault(caller.owner):
        return VaultPart.by(fault)
    if not await app.vault.exists(caller.owner):
        return VaultPart.off("There is no vault yet: `bethink vault init` makes one.")
    state = await app.vault.state(caller.owner)
    fault = app.watching.fault
    watched = app.watching.watches(caller.owner) and fault is None
    if await app.visibility.views.filters.rules_for(caller):
        # By sizes and counts what is hidden could be measured.
        return VaultPart.by(fault, watched=watched)
    told = [f"{path}: {why}" for path, why in state.troubles[:_MOST_TOLD]]
    return VaultPart(
        status="degraded" if fault else "ok",
        message="; ".join([*([fault] if fault else []), *told]) or None,
        pages=state.pages,
        bytes=state.bytes,
        unread=len(state.troubles),
        watched=watched,
    )
