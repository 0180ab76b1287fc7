"""What the connections to PostgreSQL promise: walls between owners, order of writers, clear errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from anyio import create_task_group

from bethink.engines.postgres.connection import (
    Connections,
    DatabaseSession,
    open_connections,
    place_of,
    wall_of,
)
from bethink.errors import StorageError
from tests.postgres_server import ROLE, PostgresServer, postgres_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def connections(postgres: PostgresServer) -> AsyncIterator[Connections]:
    async with open_connections(postgres.new_database()) as connections:

        async def prepare(session: DatabaseSession) -> None:
            await session.execute("CREATE TABLE things (owner text, number bigint)")
            for statement in wall_of("things"):
                await session.execute(statement)

        await connections.write(None, prepare)
        yield connections


async def _keep(session: DatabaseSession, owner: str, number: int = 0) -> None:
    await session.execute("INSERT INTO things VALUES ($1, $2)", owner, number)


async def test_a_forgotten_condition_shows_and_changes_one_owners_rows_only(connections: Connections) -> None:
    for owner in ("ann", "bob"):
        await connections.write(owner, lambda session, owner=owner: _keep(session, owner))

    async def everything(session: DatabaseSession) -> list[str]:
        return [owner for (owner,) in await session.fetch("SELECT owner FROM things ORDER BY owner")]

    assert await connections.read("ann", everything) == ["ann"]
    assert await connections.read("o'neil", everything) == []
    assert await connections.read(None, everything) == ["ann", "bob"]
    await connections.write("bob", lambda session: session.execute("DELETE FROM things"))
    assert await connections.read(None, everything) == ["ann"]
    with pytest.raises(StorageError):
        await connections.write("ann", lambda session: _keep(session, "bob"))


async def test_writers_of_one_owner_come_one_after_another(connections: Connections) -> None:
    await connections.write("ann", lambda session: _keep(session, "ann"))

    async def count_on(session: DatabaseSession) -> None:
        number = await session.fetchval("SELECT number FROM things")
        await asyncio.sleep(0)
        await session.execute("UPDATE things SET number = $1", number + 1)

    async with create_task_group() as group:
        for _ in range(30):
            group.start_soon(connections.write, "ann", count_on)
    assert await connections.read("ann", lambda s: s.fetchval("SELECT number FROM things")) == 30


async def test_what_raises_leaves_nothing_behind(connections: Connections) -> None:
    async def break_off(session: DatabaseSession) -> None:
        await _keep(session, "ann")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await connections.write("ann", break_off)
    assert await connections.read(None, lambda s: s.fetchval("SELECT count(*) FROM things")) == 0


async def test_a_cancelled_writer_gives_its_lock_back(connections: Connections) -> None:
    async def wait(session: DatabaseSession) -> None:
        await session.fetchval("SELECT pg_sleep(60)")

    waiting = asyncio.create_task(connections.write("ann", wait))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await connections.write("ann", lambda session: _keep(session, "ann"))


async def test_work_that_is_cancelled_anywhere_gives_back_a_connection_without_a_transaction(
    connections: Connections,
) -> None:
    """Also while `BEGIN` is on its way: the transaction begins, and the driver has not heard of it yet."""
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: complaints.append(context["message"]))

    async def counted(session: DatabaseSession) -> int:
        return await session.fetchval("SELECT count(*) FROM things")

    async def on_its_way(steps: int) -> bool:
        """Whether it was cancelled after so many turns of the loop; it had ended otherwise."""
        working = asyncio.create_task(connections.write("ann", counted))
        for _ in range(steps):
            await asyncio.sleep(0)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        return working.cancelled()

    steps = 0
    while await on_its_way(steps):
        # On a busy machine the loop turns some thousand times meanwhile.
        steps += 1 + steps // 4
    assert steps
    assert complaints == []


@pytest.mark.timeout(60)
async def test_a_server_that_was_killed_is_found_again() -> None:
    with postgres_server(durable=True) as server:
        async with open_connections(server.new_database()) as connections:
            await connections.write(
                None, lambda s: s.execute("CREATE TABLE things (owner text, number bigint)")
            )
            await connections.write("ann", lambda session: _keep(session, "ann", 1))
            server.kill()
            counting = asyncio.create_task(
                connections.read("ann", lambda s: s.fetchval("SELECT count(*) FROM things"))
            )
            writing = asyncio.create_task(connections.write("ann", lambda session: _keep(session, "ann", 2)))
            await asyncio.to_thread(server.start)
            assert await counting in {1, 2}
            await writing
            assert await connections.read("ann", lambda s: s.fetchval("SELECT sum(number) FROM things")) == 3


@pytest.mark.timeout(60)
async def test_errors_say_what_to_do(postgres: PostgresServer) -> None:
    wrong = {
        'database "nowhere" does not exist': postgres.url("nowhere"),
        "check user and password": postgres.url("postgres", role="nobody_at_all"),
        "start it": f"postgresql://{ROLE}@/bethink?host={postgres.home}/away",
    }
    for sentence, address in wrong.items():
        with pytest.raises(StorageError, match=sentence):
            async with open_connections(address):
                pass


def test_a_password_is_not_told() -> None:
    place = place_of("postgresql://ann:se%40cret@db.example:5433/team?sslmode=require")
    assert place == "PostgreSQL at db.example:5433 (database team)"
