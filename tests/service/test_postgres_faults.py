"""A server whose PostgreSQL dies, refuses, is full or out of reach: nothing is lost or twice, all is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.engines.postgres.schema import NUMBER
from bethink.engines.postgres.store import open_database
from bethink.errors import NewerSchema
from bethink.llm.scripted import Rule, ScriptedCall
from tests.door import Frame, frames, said, text_of
from tests.postgres_server import ROLE, PostgresServer, postgres_server
from tests.server_process import SERVE, Running, running
from tests.wire import wire

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

WORDS = " ".join(f"w{number:03}" for number in range(200))
STORY = Rule(when="story", text=WORDS, delay_ms=30, chunk_characters=10)
"""Three seconds of words."""
FACT = "User lives in Rome."
NOTE = "Note where I live"
RULES = (
    STORY,
    Rule(when="Note", after_tool=False, tool_calls=(ScriptedCall("store_memory", {"content": FACT}),)),
    Rule(when="Note", after_tool=True, text="Noted."),
)
BEGUN = "w010"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@dataclass(slots=True)
class Told:
    """A server that tells a story, and what its one reader has seen of it."""

    server: Running
    conversation: str
    frames: list[Frame] = field(default_factory=list[Frame])
    begun: anyio.Event = field(default_factory=anyio.Event)
    said: anyio.Event = field(default_factory=anyio.Event)
    reading: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Read it to its end."""
        url = f"/conversations/{self.conversation}/chat"
        async with self.server.http.stream("POST", url, json=said("Tell me a story")) as response:
            async for frame in frames(response):
                self.frames.append(frame)
                text = text_of(self.frames)
                if BEGUN in text:
                    self.begun.set()
                if text == WORDS:
                    self.said.set()

    async def ended(self) -> str:
        """Why it ended, once it has; all of it was read, once."""
        assert self.reading is not None
        await self.reading
        assert text_of(self.frames) == WORDS
        # However long nothing could be stored, it is told once.
        told = [frame for frame in self.frames if frame.kind == "warning" and frame.data["part"] == "store"]
        assert len(told) <= 1
        (done,) = [frame for frame in self.frames if frame.kind == "run_done"]
        return done.data["reason"]

    async def is_whole(self) -> None:
        """The reader gets all of it once, and so does whoever opens the conversation."""
        assert await self.ended() == "answered"
        messages = (await self.server.get(f"/conversations/{self.conversation}"))["messages"]
        assert [message["content"] for message in messages] == ["Tell me a story", WORDS]


async def telling(server: Running) -> Told:
    told = Told(server, await server.new())
    told.reading = asyncio.create_task(told.read())
    await told.begun.wait()
    return told


@asynccontextmanager
async def served(
    data: Path, model: ScriptedProcess, address: str, *, serve: str = SERVE
) -> AsyncGenerator[Running]:
    await model.plays(*RULES)
    told = {"BETHINK_TOOL_POLICY": '{"store_memory": "auto"}', "BETHINK_TITLES": "words"}
    async with running(data, model, serve=serve, BETHINK_DATABASE_URL=address, **told) as server:
        yield server


@pytest.fixture
async def server(postgres: PostgresServer, tmp_path: Path, model: ScriptedProcess) -> AsyncIterator[Running]:
    async with served(tmp_path, model, postgres.new_database()) as server:
        yield server


async def state(server: Running) -> tuple[int, int, str]:
    """What `/readyz` and `/health` answer, and what is said of the store."""
    ready, health = await asyncio.gather(server.http.get("/readyz"), server.http.get("/health"))
    told = health.json()
    assert (health.status_code == 503) == (told["message"] is not None)
    if ready.status_code == 503:
        assert (ready.json()["status"], ready.json()["message"] is None) == ("unready", False)
    part = told["parts"]["store"] if told["parts"] else {"message": told["message"]}
    return ready.status_code, health.status_code, part["message"] or ""


async def is_well(server: Running) -> None:
    """It says so soon, of the store and of the bus, and takes what is new."""
    with anyio.fail_after(60):
        while await state(server) != (200, 200, ""):
            pass
        while (await server.get("/health"))["parts"]["bus"]["status"] != "ok":
            pass
    assert (await server.answer(await server.new(), NOTE))["reason"] == "answered"
    assert [fact["content"] for fact in (await server.get("/memories"))["items"]] == [FACT]


async def refused(server: Running, status: int = 503) -> str:
    """What is said to who would have something new kept; nothing of it is."""
    answer = await server.http.post("/memories", json={"content": "User has a cat."})
    assert answer.status_code == status, answer.text
    return answer.json()["detail"]


def of_role(postgres: PostgresServer, limit: int) -> None:
    """Leave Bethink so many connections, as if other programs had the rest."""
    postgres.administer(
        f"ALTER ROLE {ROLE} CONNECTION LIMIT {limit}",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'",  # noqa: S608 - ours
    )


async def administered(postgres: PostgresServer, *statements: str) -> None:
    await anyio.to_thread.run_sync(postgres.administer, *statements)


async def test_an_answer_and_a_fact_outlive_a_database_that_is_killed(
    postgres: PostgresServer, server: Running
) -> None:
    told, other = await telling(server), await server.new()
    await anyio.to_thread.run_sync(postgres.kill)
    noting = asyncio.create_task(server.answer(other, NOTE))
    await anyio.sleep(0.5)
    await anyio.to_thread.run_sync(postgres.start)
    assert (await noting)["reason"] == "answered"
    await told.is_whole()
    await is_well(server)


IMPATIENT = f"from bethink.agent import runs\nruns.STORE_PATIENCE_S = 1\n{SERVE}"


async def test_one_that_stays_away_is_told_of_until_it_is_back(
    postgres: PostgresServer, tmp_path: Path, model: ScriptedProcess
) -> None:
    async with served(tmp_path, model, postgres.new_database(), serve=IMPATIENT) as server:
        await stays_away(postgres, server)


async def stays_away(postgres: PostgresServer, server: Running) -> None:
    told = await telling(server)
    await anyio.to_thread.run_sync(postgres.kill)
    try:
        ready, health, why = await state(server)
        assert (ready, health) == (503, 503)
        assert why
        # Behind its patience it fails at once, and says more.
        assert "start it, or check BETHINK_DATABASE_URL" in await refused(server)
        _, _, why = await state(server)
        assert "start it, or check BETHINK_DATABASE_URL" in why
        assert await told.ended() == "failed"
        (failed,) = [frame for frame in told.frames if frame.kind == "run_failed"]
        assert "could not be stored" in failed.data["message"]
    finally:
        await anyio.to_thread.run_sync(postgres.start)
    await is_well(server)
    shown = await server.get(f"/conversations/{told.conversation}")
    assert shown["active_run"] is None
    assert WORDS.startswith(shown["messages"][-1]["content"])
    assert shown["messages"][-1]["stop_reason"] == "interrupted"


async def test_without_a_connection_left_all_waits_or_is_refused_and_nothing_is_lost(
    postgres: PostgresServer, server: Running
) -> None:
    told = await telling(server)
    await anyio.to_thread.run_sync(of_role, postgres, 0)
    try:
        assert "raise max_connections" in await refused(server)
        ready, health, why = await state(server)
        assert (ready, health) == (503, 503)
        assert "no connection left" in why
    finally:
        await anyio.to_thread.run_sync(of_role, postgres, -1)
    await told.is_whole()
    await is_well(server)


async def test_what_takes_no_changes_is_read_and_says_where_changes_go(
    postgres: PostgresServer, server: Running
) -> None:
    conversation = await server.new()
    set_to = "ALTER SYSTEM SET default_transaction_read_only = {}"
    await administered(postgres, set_to.format("on"), "SELECT pg_reload_conf()")
    try:
        with anyio.fail_after(60):
            while (await server.http.post("/conversations")).is_success:
                pass
        assert "have it take changes again" in await refused(server)
        ready, health, why = await state(server)
        assert (ready, health) == (200, 200)
        assert "BETHINK_DATABASE_URL to the primary" in why
        assert (await server.get(f"/conversations/{conversation}"))["id"] == conversation
    finally:
        await administered(postgres, set_to.format("off"), "SELECT pg_reload_conf()")
    await is_well(server)


async def test_a_disk_that_is_full_is_told_and_what_is_there_can_be_read(
    tmp_path: Path, model: ScriptedProcess
) -> None:
    with postgres_server(disk_mb=60) as postgres:
        async with served(tmp_path, model, postgres.new_database()) as server:
            conversation = await server.new()
            told = await telling(server)
            await anyio.to_thread.run_sync(postgres.fill)
            with anyio.fail_after(60):
                # What it has allocated before is written first.
                while (await server.http.post("/memories", json={"content": "x" * 4_000})).status_code != 507:
                    pass
            assert "Free some space there" in await refused(server, 507)
            ready, health, why = await state(server)
            assert (ready, health) == (200, 200)
            assert "is full" in why
            assert (await server.get(f"/conversations/{conversation}"))["id"] == conversation
            with anyio.fail_after(60):
                await told.said.wait()
            await administered(postgres, "DROP TABLE filling")
            await told.is_whole()
            assert (await server.http.post("/memories", json={"content": FACT})).status_code == 201


async def test_a_standby_that_takes_over_has_all_that_was_acknowledged(
    tmp_path: Path, model: ScriptedProcess
) -> None:
    with postgres_server("synchronous_commit=on") as first, first.standby() as second:
        address = first.new_database()
        both = f"{address},{second.home}&target_session_attrs=primary"
        async with served(tmp_path, model, both) as server:
            told, other = await telling(server), await server.new()
            await anyio.to_thread.run_sync(first.kill)
            noting = asyncio.create_task(server.answer(other, NOTE))
            await anyio.to_thread.run_sync(second.promote)
            assert (await noting)["reason"] == "answered"
            await told.is_whole()
            await is_well(server)


@pytest.mark.parametrize("silently", [True, False])
async def test_an_answer_outlives_a_network_that_is_away_for_a_while(
    postgres: PostgresServer, tmp_path: Path, model: ScriptedProcess, *, silently: bool
) -> None:
    async with wire(postgres.socket) as line:
        address = postgres.new_database().replace(str(postgres.home), str(line.socket.parent))
        async with served(tmp_path, model, address) as server:
            told, other = await telling(server), await server.new()
            (line.hold if silently else line.cut)()
            ready, health, why = await state(server)
            assert (ready, health) == (503, 503)
            assert "does not answer" in why or "cannot be reached" in why
            noting = asyncio.create_task(server.answer(other, NOTE))
            line.mend()
            assert (await noting)["reason"] == "answered"
            await told.is_whole()
            await is_well(server)


async def test_an_older_bethink_writes_nothing_once_a_newer_one_has_changed_the_tables(
    postgres: PostgresServer, tmp_path: Path, model: ScriptedProcess
) -> None:
    address = postgres.new_database()
    async with served(tmp_path / "older", model, address) as server:
        conversation = await server.new()
        told = await telling(server)
        raised = f"UPDATE bethink_schema SET number = {NUMBER + 1}"  # noqa: S608 - ours
        await anyio.to_thread.run_sync(lambda: postgres.administer(raised, database=named(address)))
        assert "Start that version here, too" in await refused(server)
        _, _, why = await state(server)
        assert "A newer Bethink" in why
        assert await told.ended() == "failed"
        assert (await server.get(f"/conversations/{conversation}"))["id"] == conversation
    with pytest.raises(NewerSchema, match=f"has schema {NUMBER + 1}; this Bethink knows up to {NUMBER}"):
        async with open_database(address):
            pass


def named(address: str) -> str:
    """The database of an address."""
    return address.partition("@/")[2].partition("?")[0]
