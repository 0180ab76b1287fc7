"""What `bethink doctor` looks at: one check a part, each a line that says what to do.

`ok` is well, `off` works less than it could, `broken` does not work. Nothing is
changed without `--fix`, and no value of a setting is shown: it may be a secret.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import shutil
import sqlite3
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import wraps
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from bethink import __version__
from bethink.accounts import is_loopback
from bethink.agent.start import MODEL_HELP
from bethink.app import open_app
from bethink.blobs.bucket import bucket_at
from bethink.cli.session import opened, settings_of
from bethink.cli.terminal import counted
from bethink.documents.reading.messages import NEEDS_OCR, missing_readers, recognises_text
from bethink.embeddings.factory import embeddings_of
from bethink.embeddings.fetch import Progress, fetch_model
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.engines.postgres.store import DatabaseOverview, looked_over
from bethink.engines.sqlite.schema import FILE_NAME, MIGRATIONS, check_files, open_connection, translated
from bethink.errors import (
    BadInput,
    BethinkError,
    EmbeddingsUnavailable,
)
from bethink.events import RunFailed, Warned
from bethink.llm.capabilities import Learnt
from bethink.llm.llamacpp import LlamaCppLlm
from bethink.llm.models import AUTO, MODEL_MISSING, Probing, connect_models, plain
from bethink.llm.providers import GGUF, ModelConnection, connect
from bethink.ports import Ports, seal_of
from bethink.redis_mirror.client import ConversationRedis
from bethink.sealing import cipher_by
from bethink.settings import Settings, unknown_variables
from bethink.settings.catalogue import SETTINGS
from bethink.settings.sources import kept_file, origins
from bethink.tools.mcp import configured_in, programs_of
from bethink.vault.files.context import OFF
from bethink.web.server import check_bind, served_at

if TYPE_CHECKING:
    from bethink.accounts.register import AccountsSnapshot
    from bethink.engines.redis.connection import RedisState
    from bethink.feature import Feature

_MB = 1_000_000
_FULL_BYTES = 50 * _MB
"""Less cannot even hold the database's log and a rewritten copy of a young database."""
_TIGHT_BYTES = 500 * _MB
_OTHERS = 0o077
_HELLO = "Hello! Answer in one short sentence."
_FIRST_MESSAGE_S = 300
_ANSWER_S = 3
"""Our own server answers on the same machine in milliseconds, unless it is starting."""
_WELL = frozenset({"vectors", "suggested", "expiring"})
"""Troubles of the memory that take their course, or are told elsewhere."""


P = ParamSpec("P")
State = Literal["ok", "off", "broken"]
Found = tuple[State, str]
"""How a part is, and the message of its `Check`."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One part and its state. `message` says what is there, or what does not work and what to do."""

    part: str
    state: State
    message: str


def checks(part: str) -> Callable[[Callable[P, Found]], Callable[P, Check]]:
    """A decorator of what looks at a part; an error of ours says what does not work."""

    def checking(look: Callable[P, Found]) -> Callable[P, Check]:
        @wraps(look)
        def check(*args: P.args, **kwargs: P.kwargs) -> Check:
            try:
                state, message = look(*args, **kwargs)
            except BethinkError as error:
                state, message = "broken", error.message
            return Check(part=part, state=state, message=message)

        return check

    return checking


def all_checks(options: Namespace, tell: Callable[[str], None]) -> Iterator[Check]:
    """All checks; with `--fix` what can be mended is mended first, and `tell` hears how far that is."""
    python = ".".join(map(str, sys.version_info[:3]))
    about = f"{__version__}, on Python {python} with SQLite {sqlite3.sqlite_version}"
    yield Check(part="Bethink", state="ok", message=about)
    try:
        settings = settings_of(options)
    except BadInput as error:
        yield Check(part="settings", state="broken", message=error.message)
        return
    yield _settings(settings)
    if options.fix:
        close_to_others(settings.data_dir)
        fetch_embedder(settings, tell)
    yield directory(settings.data_dir)
    yield free_space(settings.data_dir)
    yield seal(settings)
    (state, message), is_current = _database(settings)
    yield Check(part="database", state=state, message=message)
    if is_current:
        yield memory(options)
        yield vault(options)
        yield library(options)
        yield users(options, settings)
    if settings.files_url:
        yield bucket(settings)
    yield embedder(settings)
    yield model(settings)
    yield memory_agent(settings)
    yield documents(settings)
    yield tool_servers(settings)
    yield interface()
    yield server(settings)
    yield time_zone(settings)
    if settings.redis_url is not None:
        yield redis(settings.redis_url.get_secret_value(), settings.redis_timeout_s)


@checks("settings")
def _settings(settings: Settings) -> Found:
    file = kept_file(settings)
    found = origins(settings, file.values(file.read()))
    told = ", ".join(
        f"{name} from {origin.told}" for name, origin in sorted(found.items()) if origin.source != "default"
    )
    if unknown := unknown_variables():
        return "off", f"{', '.join(unknown)} is not a setting: misspelled? {told or 'All are defaults'}."
    faults = [
        f"{name}: {fault}"
        for name, one in SETTINGS.items()
        if not one.secret and (fault := one.address_fault(one.of(settings)))
    ]
    if faults:
        return "off", f"{' '.join(faults)} {told}"
    return "ok", told or "all are defaults"


@checks("data directory")
def directory(path: Path) -> Found:
    """Whether the data directory is there and ours alone."""
    if not path.exists():
        return "ok", f"{path}: does not exist yet, created at the first start"
    if not path.is_dir():
        return "broken", f"{path} is not a directory: set BETHINK_DATA_DIR to one."
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return "broken", f"{path} cannot be written by this user: check who owns it and its permissions."
    if _is_open_to_others(path):
        return "off", f"{path} is open to other users of this machine: `bethink doctor --fix` ends that."
    return "ok", str(path)


def close_to_others(path: Path) -> None:
    """Let nobody but its owner into the data directory."""
    if path.is_dir() and path.stat().st_uid == os.getuid() and _is_open_to_others(path):
        path.chmod(path.stat().st_mode & ~_OTHERS)


@checks("free space")
def free_space(path: Path) -> Found:
    """Whether there is room on the disk."""
    place = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    free = shutil.disk_usage(place).free
    if free < _FULL_BYTES:
        return "broken", f"{free / _MB:,.0f} MB: the disk is full. Free some space."
    if free < _TIGHT_BYTES:
        return "off", f"{free / _MB:,.0f} MB: the disk is almost full. Free some space soon."
    return "ok", f"{free / (1000 * _MB):,.1f} GB"


@checks("seal")
def seal(settings: Settings) -> Found:
    """Whether the home is sealed, and its key opens it."""
    state = asyncio.run(seal_of(settings))
    cipher_by(state, plain(settings.master_key))
    if state is None:
        return "ok", "not sealed: who reads the disk reads what is kept (bethink seal start)"
    return "ok", f"sealed; the key is {state.key_file or 'BETHINK_MASTER_KEY'}"


def _database(settings: Settings) -> tuple[Found, bool]:
    """Whether the database can be read and is whole; and whether it is there, and up to date."""
    path, url = settings.data_dir / FILE_NAME, settings.database_url
    try:
        if url is not None:
            return _server_database(asyncio.run(looked_over(url.get_secret_value())))
        check_files(path)
        if not path.exists():
            return ("ok", "none yet, created at the first start"), False
        with closing(open_connection(path, write=False)) as connection:
            return _database_file(connection, path)
    except BethinkError as error:
        return ("broken", error.message), False
    except OSError as error:
        return ("broken", str(error)), False
    except sqlite3.Error as error:
        return ("broken", str(translated(error, str(path)))), False


def _database_file(connection: sqlite3.Connection, path: Path) -> tuple[Found, bool]:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    newest = max(MIGRATIONS)
    if schema > newest:
        told = f"{path} has schema {schema}, and this Bethink knows up to {newest}: start the newer version"
        return ("broken", f"{told} that wrote it."), False
    faults = [fault for (fault,) in connection.execute("PRAGMA quick_check(3)") if fault != "ok"]
    if faults:
        return ("broken", f"{path} is damaged: {'; '.join(faults)}. Restore a backup."), False
    if schema < newest:
        return ("ok", f"schema {schema}, brought to {newest} at the next start"), False
    size = sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())
    # A collection has its table from its first record on.
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    records = {
        name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - our own names
        for name in _counted_collections() & tables
    }
    (without,) = connection.execute("SELECT count(*) FROM index_items WHERE model IS NULL").fetchone()
    told = f"whole, schema {schema}, {size / _MB:.1f} MB, {_holdings(records, without)}"
    return ("ok", told), True


def _server_database(found: DatabaseOverview) -> tuple[Found, bool]:
    about = f"{found.place}, version {found.version}"
    if not found.schema:
        return ("ok", f"{about}: nothing yet, created at the first start"), False
    if not found.is_current:
        return ("ok", f"{about}: schema {found.schema}, brought up to date at the next start"), False
    held = _holdings(found.records, found.without_vector)
    return ("ok", f"{about}, schema {found.schema}, {found.size_bytes / _MB:.1f} MB, {held}"), True


def _counted_collections() -> set[str]:
    return {one.name for feature in _features() for _, one in feature.counted.values()}


def _holdings(records: Mapping[str, int], without_vector: int) -> str:
    told: list[str] = []
    for many, (word, one) in (pair for feature in _features() for pair in feature.counted.items()):
        count = records.get(one.name, 0)
        told.append(f"{count:,} {word if count == 1 else many}")
    if without_vector:
        told.append(f"{without_vector:,} not yet found by meaning")
    return ", ".join(told)


def _features() -> Sequence[Feature]:
    from bethink.features import FEATURES

    return FEATURES


def _is_open_to_others(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & _OTHERS)


@checks("memory")
def memory(options: Namespace) -> Found:
    """Whether facts need a look."""
    with opened(options) as session:
        found = session.call(session.app.features.check, session.principal)
    told = [f"{one.count:,} {one.about}" for one in found if one.trouble not in _WELL]
    if told:
        return "off", f"{'; '.join(told)}: `bethink memory health` says more."
    return "ok", "no problems found"


@checks("vault")
def vault(options: Namespace) -> Found:
    """Whether pages are searched as they are, and which files are not read."""
    with opened(options) as session:
        pages, owner = session.app.vault, session.principal.owner
        if not pages.settings.enabled:
            return "off", OFF
        if fault := session.call(pages.folder_fault, owner):
            return "broken", fault
        if not session.call(pages.exists, owner):
            return "ok", "none yet: `bethink vault init` makes one"
        faults = session.call(pages.faults, owner)
        state = session.call(pages.state, owner)
    told = [*faults, *(f"{path} is not read: {why}" for path, why in state.troubles)]
    if told:
        return "off", "; ".join(told)
    return "ok", f"{counted(state.pages, 'page')}, {state.bytes / _MB:,.1f} MB, in {pages.root(owner)}"


@checks("files")
def bucket(settings: Settings) -> Found:
    """Whether the storage of files can be written, read and deleted from; what it holds and keeps."""
    held = bucket_at(settings)
    held.try_out()
    sizes = [one.size for one in held.objects()]
    told = f"{settings.files_url}: {counted(len(sizes), 'file')}, {sum(sizes) / _MB:,.1f} MB"
    return ("ok", told) if held.kept is None else ("off", f"{told}. {held.kept}")


@checks("users and keys")
def users(options: Namespace, settings: Settings) -> Found:
    """How many users and keys there are, and what keeps somebody out."""
    # Who looks is the operator, whatever user the environment names.
    asked = Namespace(**{**vars(options), "user": ""})
    with opened(asked) as session:
        known = session.call(session.app.accounts.register.refresh)
        now = session.app.ports.clock.now_us()
    is_bound = settings.needs_users or not is_loopback(settings.host)
    if is_bound and not known.has_way_in(now):
        message = "others can reach this server, but nobody has an active key: `bethink users key add NAME`"
        return "broken", message if known.users else f"{message}, after `bethink users add NAME`"
    if not known.users:
        return "ok", "none: only this machine can connect, without a key"
    told = _counted(known, now)
    shut = [
        f"{user.name} (administrator)" if user.is_admin else user.name
        for user in known.users.values()
        if user.disabled_at is None
        and user.password is None
        and not any(key.is_live(now) for key in known.keys_of(user.id))
    ]
    if shut:
        message = f"{told}; {', '.join(shut)} cannot sign in: `bethink users key add NAME` makes a key."
        return "off", message
    return "ok", told


def _counted(known: AccountsSnapshot, now_us: int) -> str:
    states = Counter(key.state(now_us) for key in known.keys.values())
    disabled = sum(user.disabled_at is not None for user in known.users.values())
    shut = f", {disabled} disabled" if disabled else ""
    ended = f"{states['expired']} expired, {states['revoked']} revoked"
    return f"{counted(len(known.users), 'user')}{shut}; {counted(states['live'], 'live key')}, {ended}"


class _Health(msgspec.Struct):
    version: str


@checks("embedding model")
def embedder(settings: Settings) -> Found:
    """Whether the embedding model is there and whole."""
    embeddings = embeddings_of(settings)
    try:
        asyncio.run(embeddings.load())
    except EmbeddingsUnavailable as error:
        return "off", error.message
    return "ok", f"{embeddings.model.id} in {settings.models}, verified"


def fetch_embedder(settings: Settings, tell: Callable[[str], None]) -> None:
    """Fetch the embedding model unless it is there; `tell` hears of each stage, and of a failure."""

    def on_progress(progress: Progress) -> None:
        tell(f"embedding model: {progress.percent} % {progress.stage}")

    try:
        asyncio.run(fetch_model(settings.models, on_progress, model=settings.embedding_model))
    except EmbeddingsUnavailable as error:
        tell(error.message)


@checks("model")
def model(settings: Settings) -> Found:
    """Whether the language model answers a first message as a conversation sends it: with tools."""
    if not settings.model:
        return "off", f"{MODEL_HELP} {model_of_server(settings.data_dir)}".rstrip()
    fault = asyncio.run(_probe(settings))
    if fault is not None:
        return "broken", f"{settings.model}: {fault}"
    if settings.model.startswith(f"{GGUF}:"):
        return asyncio.run(_weights(settings))
    with tempfile.TemporaryDirectory(prefix="bethink-doctor-") as home:
        return asyncio.run(_first_message(settings, Path(home)))


def model_of_server(data_dir: Path) -> str:
    """How to have the model here that `serve` was given where it was started; empty if it was given none."""
    noted = served_at(data_dir)
    if noted is None or not noted.model:
        return ""
    return (
        f"`bethink serve` was started with {noted.model}: `export BETHINK_MODEL={noted.model}`, and its key, "
        f"here too, or name it once for every terminal: `bethink settings set model {noted.model}`."
    )


async def _first_message(settings: Settings, home: Path) -> Found:
    learnt, index = Learnt(), MemoryIndex()
    llm = connect_models(settings, learnt)
    ports = Ports(MemoryStore(index), index, MemoryBus(), HashingEmbeddings(), llm, learnt=learnt)
    tried = Settings(
        data_dir=home,
        model=settings.model,
        model_max_output_tokens=settings.model_max_output_tokens,
        model_temperature=settings.model_temperature,
        max_run_s=_FIRST_MESSAGE_S,
        time_zone=settings.time_zone,
    )
    try:
        async with open_app(tried, ports) as app:
            me = await app.accounts.authenticate(audience="doctor")
            conversation = await app.conversations.create(me)
            run = await app.runs.start(me, conversation.id, _HELLO)
            events = [one.event async for batch in app.runs.follow(me, run) for one in batch]
    finally:
        if llm is not None:
            await llm.close()
    told = [event.message for event in events if isinstance(event, Warned) and event.part == "model"]
    failed = next((event.message for event in events if isinstance(event, RunFailed)), None)
    if failed is not None:
        return "broken", f"{settings.model} does not answer a first message: {failed}"
    window = 0 if llm is None else llm.context_tokens
    # What was warned of says what had to be left out.
    offered = "" if told else " with tools"
    answers = f"{settings.model} answers a first message{offered}, in a window of {window:,} tokens."
    return "off" if told else "ok", " ".join((answers, *told))


async def _weights(settings: Settings) -> Found:
    """What a model's file says, and how long and how much it takes to run it."""
    model = connect(settings.model, ModelConnection(context_tokens=settings.model_context_tokens))
    if not isinstance(model, LlamaCppLlm):
        return "ok", f"{model.name} answers"
    try:
        header, running = await model.header(), await model.running()
    finally:
        await model.close()
    tools = "tools by its template" if header.calls_tools else "tools by a schema: its template has none"
    file = f"{header.name} ({header.architecture}, {header.bytes / _MB:,.0f} MB)"
    took = f"started in {running.start_s:.1f} s and takes {running.memory_bytes / _MB:,.0f} MB"
    return "ok", f"{model.name}: {file}, {tools}; it {took}"


@checks("memory agent")
def memory_agent(settings: Settings) -> Found:
    """Which model keeps the vault, and which one runs on this machine where none is set."""
    wanted = settings.vault.agent_model
    if not settings.vault.enabled:
        return "off", OFF
    if wanted not in {AUTO, ""} or settings.model:
        return "ok", f"asks {wanted if wanted not in {AUTO, ''} else settings.model}"
    found = asyncio.run(Probing(has_openrouter_key=settings.openrouter_api_key is not None).find())
    return ("off", MODEL_MISSING) if found is None else ("ok", found.offer)


async def _probe(settings: Settings) -> str | None:
    llm = connect_models(settings)
    if llm is None:
        return MODEL_HELP
    try:
        return await llm.probe()
    finally:
        await llm.close()


@checks("documents")
def documents(settings: Settings) -> Found:
    """What files of conversations are read."""
    if not settings.documents_enabled:
        return "off", "switched off: BETHINK_DOCUMENTS_ENABLED"
    if missing := missing_readers():
        return "off", f"not read: {'; '.join(missing)}. CSV, JSON and text files are."
    images = "images too" if recognises_text() else f"images are not: {NEEDS_OCR}"
    return "ok", f"all formats of documents are read; {images}"


@checks("mcp servers")
def tool_servers(settings: Settings) -> Found:
    """Which MCP servers run here in a sandbox, and whether this machine has one for them."""
    found = configured_in(settings)
    if not any(one.confinement for one in found.servers):
        return "ok", "none is a program of this machine"
    programs = programs_of(settings)
    name = asyncio.run(programs.sandbox())
    here = (
        f"programs can run in {name}" if name else f"no sandbox for programs: {'; '.join(programs.reasons)}"
    )
    held = [one.name for one in found.servers if one.confinement in {"sandbox", "offline"}]
    free = [one.name for one in found.servers if one.confinement == "none"]
    if held and name is None:
        return "broken", f"{', '.join(held)} cannot start. There is {here}"
    told = [f"in it: {', '.join(held)}"] if held else []
    told += (
        [f"with all rights of this user: {', '.join(free)} (`sandbox = true` changes that)"] if free else []
    )
    return "ok" if name else "off", "; ".join([here, *told])


@checks("library")
def library(options: Namespace) -> Found:
    """Whether documents wait to be read, or could not be."""
    from bethink.documents.records import WORKING
    from bethink.documents.service import Documents

    with opened(options) as session:
        stages = session.call(session.app.features.of(Documents).stages, session.owner)
    if failed := stages["failed"]:
        return (
            "off",
            f"{counted(failed, 'file')} could not be read: `bethink documents list --stage failed` says why.",
        )
    waiting = sum(stages[stage] for stage in WORKING)
    more = f", {waiting:,} to be read" if waiting else ""
    return "ok", f"{stages['ready']:,} read{more}"


@checks("web page")
def interface() -> Found:
    """Whether the web page is built."""
    if (resources.files("bethink") / "static" / "index.html").is_file():
        return "ok", "built"
    return "off", "not built: `make ui` in the source tree builds it. The API works without it."


@checks("server")
def server(settings: Settings) -> Found:
    """Whether `serve` runs, or could."""
    place = f"{settings.host}:{settings.port}"
    noted = served_at(settings.data_dir)
    if noted is not None and noted.port != settings.port:
        with suppress(OSError, http.client.HTTPException, msgspec.MsgspecError):
            version = _answering(noted.host, noted.port)
            return "ok", f"Bethink {version} is at http://{noted.host}:{noted.port}"
    is_first = asyncio.run(check_bind(settings))
    try:
        version = _answering(settings.host, settings.port)
    except ConnectionRefusedError:
        first = "; it will print a set-up key, which makes the first user" if is_first else ""
        return "ok", f"not running; {place} is free{first}"
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return (
            "broken",
            f"{place} is taken by another program: stop it, or choose another with BETHINK_PORT.",
        )
    return "ok", f"Bethink {version} is at http://{place}"


def _answering(host: str, port: int) -> str:
    """The version of the Bethink that answers at an address."""
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/health")
        return msgspec.json.decode(connection.getresponse().read(), type=_Health).version
    finally:
        connection.close()


@checks("redis")
def redis(url: str, timeout_s: float) -> Found:
    """Whether the Redis of the conversations answers, and keeps what it is given."""
    state = asyncio.run(_redis_state(ConversationRedis(url, plain_owner="", timeout_s=timeout_s)))
    if state.fault is not None:
        return "off", f"{state.summary}; {state.fault}"
    return "ok" if state.persists else "off", state.summary


async def _redis_state(redis: ConversationRedis) -> RedisState:
    try:
        return await redis.state()
    finally:
        await redis.close()


@checks("time zone")
def time_zone(settings: Settings) -> Found:
    """Whether the owner's time zone is known, and what its clock says."""
    try:
        zone = ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return "broken", f"{settings.time_zone!r} is none: give a name such as Europe/Paris."
    now = datetime.now(UTC).astimezone(zone)
    return "ok", f"{settings.time_zone}, where it is {now:%Y-%m-%d %H:%M} (BETHINK_TIME_ZONE)"
