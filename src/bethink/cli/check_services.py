"""The doctor's look at what runs or is loaded: models, the web interface, the port, the time zone."""

from __future__ import annotations

import asyncio
import http.client
import tempfile
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from bethink.agent.commands import MODEL_HELP
from bethink.app import open_app
from bethink.cli.check import Check, broken, off, ok
from bethink.documents.installed import missing_readers
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.embeddings.minilm import MiniLmEmbeddings
from bethink.embeddings.minilm_build import fetch_model
from bethink.engines.memory.bus import MemoryBus
from bethink.engines.memory.index import MemoryIndex
from bethink.engines.memory.store import MemoryStore
from bethink.errors import BadInput, EmbeddingsUnavailable, LlmError, NotAllowed, NotInstalled, StorageError
from bethink.events import RunFailed, Warned
from bethink.llm.capabilities import Learnt
from bethink.llm.chosen import AUTO
from bethink.llm.llamacpp import LlamaCppLlm
from bethink.llm.probing import MODEL_MISSING, Probing
from bethink.llm.providers import GGUF, Connection, connect
from bethink.llm.settled import connect_models
from bethink.ports import Ports
from bethink.redis_mirror.client import ConversationRedis
from bethink.settings import Settings
from bethink.vault.files.context import OFF
from bethink.web.server import check_bind

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.embeddings.minilm_build import Progress
    from bethink.redis_mirror.client import RedisState

_MB = 1_000_000
_HELLO = "Hello! Answer in one short sentence."
_FIRST_MESSAGE_S = 300
_ANSWER_S = 3
"""Our own server answers on the same machine in milliseconds, unless it is starting."""


class _Health(msgspec.Struct):
    version: str


def embedder(settings: Settings) -> Check:
    """Whether the embedding model is there and whole."""
    embeddings = MiniLmEmbeddings(settings.models)
    try:
        asyncio.run(embeddings.load())
    except EmbeddingsUnavailable as error:
        return off("embedding model", error.message)
    return ok("embedding model", f"{embeddings.model.id} in {settings.models}, verified")


def fetch_embedder(settings: Settings, tell: Callable[[str], None]) -> None:
    """Fetch the embedding model unless it is there; `tell` hears of each stage, and of a failure."""

    def on_progress(progress: Progress) -> None:
        tell(f"embedding model: {progress.percent} % {progress.stage}")

    try:
        asyncio.run(fetch_model(settings.models, on_progress))
    except EmbeddingsUnavailable as error:
        tell(error.message)


def model(settings: Settings) -> Check:
    """Whether the language model answers a first message as a conversation sends it: with tools."""
    if not settings.model:
        return off("model", MODEL_HELP)
    try:
        fault = asyncio.run(_probe(settings))
        if fault is not None:
            return broken("model", f"{settings.model}: {fault}")
        if settings.model.startswith(f"{GGUF}:"):
            return asyncio.run(_weights(settings))
        with tempfile.TemporaryDirectory(prefix="bethink-doctor-") as home:
            return asyncio.run(_first_message(settings, Path(home)))
    except BadInput as error:
        return broken("model", error.message)


async def _first_message(settings: Settings, home: Path) -> Check:
    """Say hello, in a Bethink that keeps nothing, and tell what came of it."""
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
        return broken("model", f"{settings.model} does not answer a first message: {failed}")
    window = 0 if llm is None else llm.context_tokens
    # What was warned of says what had to be left out.
    offered = "" if told else " with tools"
    answers = f"{settings.model} answers a first message{offered}, in a window of {window:,} tokens."
    return (off if told else ok)("model", " ".join((answers, *told)))


async def _weights(settings: Settings) -> Check:
    """What a model's file says, and how long and how much it takes to run it."""
    model = connect(settings.model, Connection(context_tokens=settings.model_context_tokens))
    if not isinstance(model, LlamaCppLlm):
        return ok("model", f"{model.name} answers")
    try:
        header, running = await model.header(), await model.running()
    except LlmError as error:
        return broken("model", error.message)
    finally:
        await model.close()
    tools = "tools by its template" if header.calls_tools else "tools by a schema: its template has none"
    return ok(
        "model",
        f"{model.name}: {header.name} ({header.architecture}, {header.bytes / _MB:,.0f} MB), {tools};"
        f" it started in {running.start_s:.1f} s and takes {running.memory_bytes / _MB:,.0f} MB",
    )


def memory_agent(settings: Settings) -> Check:
    """Which model keeps the vault, and which one runs on this machine where none is set."""
    wanted = settings.vault.agent_model
    if not settings.vault.enabled:
        return off("memory agent", OFF)
    if wanted not in {AUTO, ""} or settings.model:
        return ok("memory agent", f"asks {wanted if wanted not in {AUTO, ''} else settings.model}")
    found = asyncio.run(Probing(has_openrouter_key=settings.openrouter_api_key is not None).find())
    return off("memory agent", MODEL_MISSING) if found is None else ok("memory agent", found.offer)


async def _probe(settings: Settings) -> str | None:
    llm = connect_models(settings)
    if llm is None:
        return MODEL_HELP
    try:
        return await llm.probe()
    finally:
        await llm.close()


def documents(settings: Settings) -> Check:
    """What files of conversations are read."""
    if not settings.documents_enabled:
        return off("documents", "switched off: BETHINK_DOCUMENTS_ENABLED")
    if missing := missing_readers():
        return off("documents", f"not read: {'; '.join(missing)}. CSV, JSON and text files are.")
    return ok("documents", "PDF with tables, DOCX, HTML, CSV, JSON and text files are read")


def interface() -> Check:
    """Whether the web page is built."""
    if (resources.files("bethink") / "static" / "index.html").is_file():
        return ok("web page", "built")
    return off("web page", "not built: `make ui` in the source tree builds it. The API works without it.")


def server(settings: Settings) -> Check:
    """Whether `serve` runs, or could."""
    place = f"{settings.host}:{settings.port}"
    try:
        asyncio.run(check_bind(settings))
    except (NotAllowed, StorageError) as error:
        return broken("server", error.message)
    try:
        version = _answering(settings.host, settings.port)
    except ConnectionRefusedError:
        return ok("server", f"not running; {place} is free")
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return broken(
            "server", f"{place} is taken by another program: stop it, or choose another with BETHINK_PORT."
        )
    return ok("server", f"Bethink {version} is at http://{place}")


def _answering(host: str, port: int) -> str:
    """The version of the Bethink that answers at an address.

    Raises:
        ConnectionRefusedError: nobody listens there.
        OSError: it cannot be reached, or does not answer.
        http.client.HTTPException: it does not speak HTTP.
        msgspec.MsgspecError: it is another program.
    """
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/health")
        return msgspec.json.decode(connection.getresponse().read(), type=_Health).version
    finally:
        connection.close()


def redis(url: str, timeout_s: float) -> Check:
    """Whether the Redis of the conversations answers, and keeps what it is given."""
    try:
        state = asyncio.run(_redis_state(ConversationRedis(url, plain_owner="", timeout_s=timeout_s)))
    except (StorageError, NotInstalled) as error:
        return broken("redis", error.message)
    if state.fault is not None:
        return off("redis", f"{state.told}; {state.fault}")
    return ok("redis", state.told) if state.persists else off("redis", state.told)


async def _redis_state(redis: ConversationRedis) -> RedisState:
    try:
        return await redis.state()
    finally:
        await redis.close()


def time_zone(settings: Settings) -> Check:
    """Whether the owner's time zone is known, and what its clock says."""
    try:
        zone = ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return broken("time zone", f"{settings.time_zone!r} is none: give a name such as Europe/Paris.")
    now = datetime.now(UTC).astimezone(zone)
    return ok("time zone", f"{settings.time_zone}, where it is {now:%Y-%m-%d %H:%M} (BETHINK_TIME_ZONE)")
