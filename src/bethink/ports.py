"""The adapters that an app stands on, and those that the settings name. `app` wires what stands on them."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.agent.context import Prompts, read_prompts
from bethink.backups.contents import WORK
from bethink.backups.service import before_upgrade, roll_back
from bethink.blobs.directory import DirectoryBlobs, SealedContents
from bethink.blobs.s3 import open_s3
from bethink.clock import Clock, SystemClock
from bethink.documents.work_folders import clear_left_over, work_folder
from bethink.embeddings.factory import embeddings_of
from bethink.engines.postgres.bus import open_bus as open_postgres_bus
from bethink.engines.postgres.sealed import home_of
from bethink.engines.postgres.store import open_database as open_postgres
from bethink.engines.redis.bus import open_bus as open_redis_bus
from bethink.engines.redis.connection import open_gauges as open_redis_gauges
from bethink.engines.sqlite.bus import bus_elsewhere, open_bus
from bethink.engines.sqlite.snapshot import size_of
from bethink.engines.sqlite.store import open_database as open_sqlite
from bethink.errors import BadInput, StorageError
from bethink.features import COLLECTIONS
from bethink.images.factory import connect_images
from bethink.internet.connect import connect_internet
from bethink.llm.capabilities import FILE, Learnt
from bethink.llm.models import OfferedModels, connect_models, plain
from bethink.redis_mirror.service import open_shared_store
from bethink.sandbox.interpreters import Interpreters, open_interpreters
from bethink.sealing import Cipher, SealedHome, cipher_by, state_of
from bethink.secrets_at_rest import SecretBox
from bethink.settings.catalogue import SETTINGS
from bethink.telemetry import Gauges, Supervise, Supervisor, Tracing, open_tracing
from bethink.tools.mcp import McpTools, open_mcp
from bethink.tools.plugins import FOLDER, LoadedPlugins, load_plugins

if TYPE_CHECKING:
    from bethink.blobs import Blobs
    from bethink.bus import Bus
    from bethink.embeddings import Embeddings
    from bethink.images import Images
    from bethink.index import Index
    from bethink.internet import Internet
    from bethink.llm import Llm
    from bethink.settings import Settings
    from bethink.settings.live import Switch
    from bethink.store import Store
    from bethink.tool import Tool


_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - memory; a folder of our own is made in it
"""Where what is opened of sealed files never reaches a disk, if the system has it."""


async def _nothing() -> int:
    return 0


@dataclass(slots=True)
class Ports:
    """The adapters that an app stands on.

    `llm` is None where no model is set, `internet` where it is off; without
    `blobs` files end with the app. `learnt` is known of the models' servers, `size` is of the database.
    """

    store: Store
    index: Index
    bus: Bus
    embeddings: Embeddings
    llm: Llm | None
    clock: Clock = field(default_factory=SystemClock)
    blobs: Blobs | None = None
    internet: Internet | None = None
    interpreters: Interpreters | None = None
    images: Images | None = None
    learnt: Learnt = field(default_factory=Learnt)
    supervisor: Supervisor = field(default_factory=Supervisor)
    tracing: Tracing = field(default_factory=Tracing)
    size: Callable[[], Awaitable[int]] = _nothing
    gauges: Sequence[Gauges] = ()
    is_sealed: bool = False
    """Whether nobody reads the home from the disk without its key."""


async def remade(ports: Ports, wanted: Settings, changed: AbstractSet[str]) -> Switch | None:
    """What connects the internet and the model of pictures as other settings have it.

    Raises:
        BadInput: a setting names what is none.
    """
    groups = {SETTINGS[name].group for name in changed}
    is_web = "web" in groups
    is_images = "images" in groups or any(name.endswith(("_api_key", "_base_url")) for name in changed)
    if not (is_web or is_images):
        return None
    internet, images = ports.internet, ports.images
    if is_web:
        on = wanted.web_enabled
        internet = await anyio.to_thread.run_sync(connect_internet, wanted) if on else None
    if is_images:
        images = connect_images(wanted)

    async def switch() -> None:
        ports.internet, ports.images = internet, images

    return switch


@dataclass(frozen=True, slots=True)
class Database:
    """Where records are, what is searchable of them, and how large all of it is."""

    store: Store
    index: Index
    size: Callable[[], Awaitable[int]]
    gauges: Sequence[Gauges] = ()
    cipher: Cipher | None = None
    """What opens all that is kept of the home; None if it is not sealed."""


async def seal_of(settings: Settings) -> SealedHome | None:
    """How the home of the settings is sealed; None if it is not.

    Raises:
        StorageError: that cannot be read.
    """
    if settings.database_url is None:
        return await anyio.to_thread.run_sync(state_of, settings.data_dir)
    return await home_of(settings.database_url.get_secret_value(), settings.data_dir)


@asynccontextmanager
async def open_blobs(data_dir: Path, cipher: Cipher | None) -> AsyncGenerator[DirectoryBlobs]:
    """Contents of files in a data directory; what is opened of sealed ones goes with the block."""
    root = data_dir / "files"
    if cipher is None:
        yield DirectoryBlobs(root)
        return
    stack = ExitStack()
    folder = await anyio.to_thread.run_sync(_folder_of_opened, data_dir, stack)
    try:
        yield DirectoryBlobs(root, SealedContents(cipher, folder))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(stack.close)


@asynccontextmanager
async def _open_blobs(
    settings: Settings, bus: Bus, cipher: Cipher | None, *, supervise: Supervise
) -> AsyncGenerator[Blobs]:
    """Where the contents of files are: in the data directory, or in the bucket that the settings name."""
    async with open_blobs(settings.data_dir, cipher) as files:
        if not settings.files_url:
            yield files
            return
        async with open_s3(settings, bus, supervise, before=files) as blobs:
            yield blobs


def _folder_of_opened(data_dir: Path, stack: ExitStack) -> Path:
    """A folder of this process for what it opens; what killed ones left is removed."""
    below = _MEMORY / f"bethink-{os.getuid()}" if os.access(_MEMORY, os.W_OK) else data_dir / WORK
    clear_left_over(below)
    return stack.enter_context(work_folder(below))


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncGenerator[Database]:
    """The PostgreSQL that the settings name, or the file of the data directory; closed with the block.

    If an older Bethink wrote it, a backup is made first; a failed upgrade leaves what was there before.

    Raises:
        NotInstalled: what speaks to PostgreSQL is missing.
        StorageError: the database cannot be used, or the key of a sealed home is missing or another one.
    """
    backup = await before_upgrade(settings, SystemClock(), COLLECTIONS)
    state = await seal_of(settings)
    cipher = await anyio.to_thread.run_sync(cipher_by, state, plain(settings.master_key))
    async with AsyncExitStack() as stack:
        try:
            database = await _opened(settings, cipher, stack)
        except StorageError as error:
            if backup is None:
                raise
            how = await roll_back(settings, SystemClock(), backup)
            raise type(error)(f"{error.message} {how}") from error
        yield database


async def _opened(settings: Settings, cipher: Cipher | None, stack: AsyncExitStack) -> Database:
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        server = await stack.enter_async_context(open_postgres(url, cipher))
        return Database(server.store, server.index, server.store.size, [server.store.gauges], cipher)
    file = await stack.enter_async_context(open_sqlite(settings.data_dir, cipher))
    return Database(
        file.store,
        file.index,
        lambda: anyio.to_thread.run_sync(size_of, settings.data_dir),
        cipher=cipher,
    )


@asynccontextmanager
async def open_ports(settings: Settings) -> AsyncGenerator[Ports]:
    """The adapters that the settings name, closed with the block.

    Raises:
        StorageError: the data directory cannot be used.
        BadInput: the model's name is not `provider:name`, its provider is unknown, or `web_allow_private`
            holds what is no address.
    """
    learnt = Learnt(settings.data_dir / FILE)
    llm = connect_models(settings, learnt)
    supervisor = Supervisor()
    async with AsyncExitStack() as stack:
        tracing = await stack.enter_async_context(
            open_tracing(
                settings.traces_url,
                headers=settings.traces_headers.get_secret_value() if settings.traces_headers else "",
                share=settings.traces_share,
                has_content=settings.traces_content,
            )
        )
        if llm is not None:
            stack.push_async_callback(llm.close)
        database = await stack.enter_async_context(open_database(settings))
        _refuse_readable_copies(settings, database.cipher)
        bus = await stack.enter_async_context(_open_bus(settings, database, supervisor.supervise))
        store = await stack.enter_async_context(open_shared_store(settings, database.store))
        gauges = list(database.gauges)
        if settings.redis_url is not None:
            url, timeout_s = settings.redis_url.get_secret_value(), settings.redis_timeout_s
            gauges.append(await stack.enter_async_context(open_redis_gauges(url, timeout_s=timeout_s)))
        yield Ports(
            store,
            database.index,
            bus,
            await anyio.to_thread.run_sync(embeddings_of, settings),
            llm,
            blobs=await stack.enter_async_context(
                _open_blobs(settings, bus, database.cipher, supervise=supervisor.supervise)
            ),
            internet=(
                await anyio.to_thread.run_sync(connect_internet, settings) if settings.web_enabled else None
            ),
            interpreters=await stack.enter_async_context(open_interpreters(settings, supervisor.supervise)),
            images=connect_images(settings),
            learnt=learnt,
            supervisor=supervisor,
            tracing=tracing,
            size=database.size,
            gauges=gauges,
            is_sealed=database.cipher is not None,
        )


def _refuse_readable_copies(settings: Settings, cipher: Cipher | None) -> None:
    if cipher is not None and settings.redis_url is not None and settings.redis_use != "bus":
        raise BadInput(
            "This home is sealed, and its conversations would be readable in Redis: set"
            " BETHINK_REDIS_USE=bus, or open the home for good (bethink seal end)."
        )


@asynccontextmanager
async def _open_bus(settings: Settings, database: Database, supervise: Supervise) -> AsyncGenerator[Bus]:
    """By what the processes of this data hear of one another."""
    store, cipher = database.store, database.cipher
    if settings.redis_url is not None and settings.redis_use in {"bus", "both"}:
        url, timeout_s = settings.redis_url.get_secret_value(), settings.redis_timeout_s
        opened = open_redis_bus(url, store, timeout_s=timeout_s, supervise=supervise, cipher=cipher)
    elif settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        opened = open_postgres_bus(url, supervise=supervise, cipher=cipher)
    else:
        async with open_bus(settings.data_dir, cipher=cipher) as bus:
            yield bus
        return
    async with bus_elsewhere(settings.data_dir), opened as bus:
        yield bus


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What is opened and read before anything is wired; an app beside another one shares it."""

    blobs: Blobs
    prompts: Prompts
    tools: Sequence[Tool]
    plugged: LoadedPlugins
    secret_box: SecretBox
    mcp: McpTools
    models: OfferedModels
    is_beside: bool = False
    """Whether another app has opened it."""


async def shared_resources_of(
    settings: Settings, ports: Ports, blobs: Blobs, *, stack: AsyncExitStack
) -> SharedResources:
    """What the settings name, opened; it is closed with the stack.

    Raises:
        BadInput: a setting names something that is not there.
    """
    prompts = await anyio.to_thread.run_sync(read_prompts)
    folder = settings.data_dir / FOLDER if settings.user_tools else None
    plugged = await anyio.to_thread.run_sync(load_plugins, settings.plugins, folder)
    secret_box = SecretBox(settings.data_dir, plain(settings.master_key))
    mcp = await stack.enter_async_context(
        open_mcp(
            settings,
            ports.store,
            ports.bus,
            clock=ports.clock,
            secret_box=secret_box,
            supervise=ports.supervisor.supervise,
        )
    )
    models = OfferedModels(settings, ports.llm, ports.learnt)
    stack.push_async_callback(models.close)
    return SharedResources(blobs, prompts, (), plugged, secret_box, mcp, models)
