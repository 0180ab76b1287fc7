"""Connections to one PostgreSQL database: the store, the index and whatever else stands on it use these.

`open_connections` gives a bounded pool. Work is a function of a `DatabaseSession`, within a transaction:

- `Connections.read(owner, work)`: one snapshot for all of its statements;
- `Connections.write(owner, work)`: writers of one owner come one after another, over all processes, and
  the commit is on the server's disk when the call returns;
- `Connections.change(work)`: for statements that make or change tables, alone among all processes;
- `Connections.alone(work)`: outside of any transaction and without time limits, for what must be there;
- `Connections.snapshot()`: all reads within the block see the database as it was at its beginning.

Within `read` and `write` the setting `bethink.owner` has the owner, by which the policies of the tables
(`wall_of`) hide all other rows, whatever a statement asks for; the owner `None` sees everybody's. A lost
connection is replaced, and work that certainly left nothing behind is repeated: it may be called several
times.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final, NoReturn, Protocol, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import anyio

from bethink.errors import BadInput, BethinkError, DiskFull, NewerSchema, NotInstalled, StorageError, TooLarge
from bethink.telemetry import log

T = TypeVar("T")

CONNECTIONS_MAX: Final = 10
"""Of a process: three processes leave most of the 100 that a server gives by default to others."""

PATIENCE_S: Final = 10.0
"""How long a free connection, another writer of the same owner or a server that starts is waited for."""

COMMAND_S: Final = 60.0
"""How long one statement may take before the network is taken for cut."""

_STATEMENTS_KEPT: Final = 400
"""Prepared statements a connection keeps: a few for each collection."""

_PAUSE_S: Final = 0.1
_ROLLBACK_S: Final = 2.0

_SETTINGS: Final = {
    "application_name": "bethink",
    "lock_timeout": f"{PATIENCE_S:.0f}s",
    # A process that hangs, or that the network was cut from, gives its owner's lock back.
    "idle_in_transaction_session_timeout": "60s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # Compiling takes longer than any statement of ours.
    "jit": "off",
}

SCHEMA_LOCK: Final = 0x62657468
"""The advisory lock of who changes tables; writers share it. Any number that nobody else has: `beth`."""
_OWNERS_SPACE: Final = 0x6F776E65
"""Seed of the hash that is an owner's lock: `owne`."""

_BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_ENTER: Final = "SELECT set_config('bethink.owner', $1, true), set_config('bethink.all', $2, true)"
_MAY_WRITE: Final = "current_setting('transaction_read_only') = 'off'"
_ENTER_WRITE: Final = f"{_ENTER}, pg_advisory_xact_lock_shared({SCHEMA_LOCK}), {_MAY_WRITE}"
_ENTER_CHANGE: Final = f"{_ENTER}, pg_advisory_xact_lock({SCHEMA_LOCK}), {_MAY_WRITE}"
_LOCK: Final = f"pg_advisory_xact_lock(hashtextextended($1, {_OWNERS_SPACE}))"
_NUMBER: Final = "SELECT pg_current_xact_id()::text"
_FATE: Final = "SELECT pg_xact_status($1::text::xid8)"

_log = log("store")


class DatabaseSession(Protocol):
    """What of a connection is used; a statement's parameters are `$1`, `$2` and so on."""

    async def fetch(self, query: str, *args: object) -> list[Any]:
        """The rows, each a tuple whose columns have names too."""
        ...

    async def fetchrow(self, query: str, *args: object) -> Any:  # noqa: ANN401 - a row of any columns
        """The first row, None if there is none."""
        ...

    async def fetchval(self, query: str, *args: object) -> Any:  # noqa: ANN401 - any column
        """The first column of the first row, None if there is none."""
        ...

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:  # noqa: ASYNC109 - the driver's
        """The command's tag, such as `UPDATE 3`; without parameters several statements are allowed.

        `timeout` is in seconds, None for `COMMAND_S`.
        """
        ...

    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None:
        """Execute it with each of these; they are sent together."""
        ...


def rows_of(tag: str) -> int:
    """How many rows a command changed, by the tag that `Session.execute` gives."""
    return int(tag.rpartition(" ")[2])


PARTITIONS: Final = 32
"""Of a table that holds texts, by owner: to leave no trace of what was deleted, one is written anew."""

PARTITIONED: Final = ("records", "index_items")


def partitions_of(table: str) -> tuple[str, ...]:
    """Statements that give the partitions to a table, which was made `PARTITION BY HASH (owner)`."""
    return tuple(
        f"CREATE TABLE {table}_{number:02} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})"
        for number in range(PARTITIONS)
    )


def wall_of(table: str) -> tuple[str, ...]:
    """Statements by which a table with a column `owner` shows rows in their owner's transactions only."""
    own = "owner = current_setting('bethink.owner', true) OR current_setting('bethink.all', true) = 'on'"
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY wall ON {table} USING ({own})",
    )


class Connections:
    """A bounded pool; made by `open_connections`."""

    def __init__(self, pool: Any, place: str) -> None:  # noqa: ANN401 - the driver has no types
        self._pool = pool
        self.place = place
        """The server and the database as a person knows them, without a password."""
        self.is_snapshot = False
        """Whether tables are read as they are, and none is made."""
        # Since when nothing was heard of it: who comes later waits for the rest of the patience only.
        self._lost_at: float | None = None
        self._lock = f"SELECT true, true FROM {_LOCK}"  # noqa: S608 - ours
        self._entrance = _ENTER

    def know(self, number: int, epoch: int) -> None:
        """From here on refuse a database that is sealed otherwise, and to write where the schema is newer.

        `schema` calls it: what is read and written is what those tables and that seal need.
        """
        is_ours = f"epoch = {epoch} FROM bethink_seal"
        self._lock = f"SELECT number = {number}, (SELECT {is_ours}) FROM bethink_schema, {_LOCK}"  # noqa: S608 - numbers
        self._entrance = f"{_ENTER}, (SELECT {is_ours})"

    async def read(self, owner: str | None, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        """What `work` gives within one snapshot that shows this owner's rows only.

        Raises:
            StorageError: the server does not answer.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            try:
                async with self._session(_BEGIN_READ) as session:
                    await self._enter_to_read(session, owner)
                    given = await work(session)
                    await session.execute("COMMIT")
                    return given
            except Exception as error:  # noqa: BLE001 - told of, or repeated
                await self._may_repeat(error, deadline)

    async def write(self, owner: str | None, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        """What `work` gives; its changes are durable when this returns, and none is left if it raises.

        Raises:
            DiskFull: the server has no room.
            NewerSchema: a newer Bethink has changed the tables meanwhile.
            StorageError: the server does not answer, takes no changes, or was sealed otherwise meanwhile.
        """

        async def in_turn(session: DatabaseSession) -> T:
            await self._enter_to_write(session, owner, _ENTER_WRITE)
            # In a statement behind the lock of the tables, so that it sees what was changed until then.
            is_known, is_sealed_so = await session.fetchrow(self._lock, owner or "")
            if not is_known:
                raise NewerSchema(
                    f"A newer Bethink has changed the tables of {self.place} meanwhile; nothing of this was "
                    "written. Start that version here, too."
                )
            if not is_sealed_so:
                raise self._sealed_otherwise()
            return await work(session)

        return await self._transact(in_turn)

    async def change(self, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        """What `work` gives, which changes tables: no other process writes or changes any meanwhile.

        Raises:
            StorageError: the server does not answer, or takes no changes.
        """

        async def in_turn(session: DatabaseSession) -> T:
            await self._enter_to_write(session, None, _ENTER_CHANGE)
            return await work(session)

        return await self._transact(in_turn)

    async def _enter_to_read(self, session: DatabaseSession, owner: str | None) -> None:
        *_, is_sealed_so = await _enter(session, owner, self._entrance)
        if is_sealed_so is False:
            raise self._sealed_otherwise()

    def _sealed_otherwise(self) -> StorageError:
        return StorageError(
            f"The home in {self.place} was sealed, opened or given another key since this Bethink was "
            "started: start it again. Nothing of this was read or written."
        )

    async def _enter_to_write(self, session: DatabaseSession, owner: str | None, entrance: str) -> None:
        """Enter, if changes are taken: also who only looks whether they are is to be told."""
        *_, may_write = await _enter(session, owner, entrance)
        if not may_write:
            raise StorageError(f"{self.place} {_WHAT['ReadOnlySQLTransactionError']}.")

    async def _transact(self, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            number: str | None = None
            given: T | None = None
            try:
                async with self._session(_BEGIN_WRITE) as session:
                    given = await work(session)
                    number = await session.fetchval(_NUMBER)
                    await session.execute("COMMIT")
                    return given
            except Exception as error:  # noqa: BLE001 - told of, or repeated
                is_unknown = is_lost(error) or isinstance(error, TimeoutError)
                if number is not None and is_unknown and await self._was_kept(number):
                    return given  # pyright: ignore[reportReturnType] - set before the number
                await self._may_repeat(error, deadline)

    async def alone(self, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        """What `work` gives outside of any transaction, without a time limit of its own; it is not repeated.

        Raises:
            StorageError: the server does not answer, or refuses.
        """
        try:
            async with self._session("SET statement_timeout = 0") as session:
                return await work(session)
        except Exception as error:  # noqa: BLE001 - told of
            raise_told(error, self.place)

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[Connections]:
        """Connections whose reads, one after the other, see the database as it is now, however others write.

        Raises:
            StorageError: the server does not answer.
        """
        async with AsyncExitStack() as stack:
            try:
                session = await stack.enter_async_context(self._session(_BEGIN_READ))
                # Whoever reads writes elsewhere what was read, which may take its time.
                await session.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            except Exception as error:  # noqa: BLE001 - told of
                raise_told(error, self.place)
            yield _Snapshot(session, self.place)

    @property
    def busy(self) -> int:
        """How many of this process's connections work now, of `CONNECTIONS_MAX`."""
        return self._pool.get_size() - self._pool.get_idle_size()

    async def arrive(self) -> None:
        """Return once the server answers: one that starts is waited for.

        Raises:
            StorageError: it does not, or does not let us in.
        """
        import asyncpg

        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            try:
                async with self._session(_BEGIN_READ):
                    return
            except asyncpg.CannotConnectNowError as error:
                await self._may_repeat(error, deadline)
            except Exception as error:  # noqa: BLE001 - told of
                raise_told(error, self.place)

    @asynccontextmanager
    async def _session(self, begin: str) -> AsyncGenerator[DatabaseSession]:
        """A connection, taken by `begin`; a transaction that is still open at the end is rolled back."""
        try:
            connection = await self._pool.acquire(timeout=PATIENCE_S)
        except TimeoutError as error:
            raise StorageError(
                f"{self.place} gave no connection within {PATIENCE_S:.0f} s: it does not answer, or all "
                f"{CONNECTIONS_MAX} of this process are busy. Check the network and the server's load."
            ) from error
        is_begun = False
        try:
            await connection.execute(begin)
            is_begun = True
            self._lost_at = None
            yield connection
        except Exception as error:
            if type(error).__name__ == "InternalClientError":
                # The driver does not know any more what it was about.
                connection.terminate()
            raise
        finally:
            # Also when the block is left by a cancellation.
            with anyio.CancelScope(shield=True):
                await self._give_back(connection, is_begun=is_begun)

    async def _give_back(self, connection: Any, *, is_begun: bool) -> None:  # noqa: ANN401 - the driver has no types
        try:
            # Of a beginning that was cancelled on its way the driver has not heard whether it took place.
            if connection.is_in_transaction() or not is_begun:
                await connection.execute("ROLLBACK", timeout=_ROLLBACK_S)
        except Exception:  # noqa: BLE001 - the server rolls back what it does not hear of again
            connection.terminate()
        with suppress(Exception):
            await self._pool.release(connection, timeout=_ROLLBACK_S)

    async def _was_kept(self, number: str) -> bool:
        """Whether a transaction whose answer was lost has been committed.

        Raises:
            StorageError: nobody can tell.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            try:
                async with self._session(_BEGIN_READ) as session:
                    fate = await session.fetchval(_FATE, number)
                if fate in {"committed", "aborted"}:
                    return fate == "committed"
            except Exception as error:  # noqa: BLE001 - repeated until the deadline
                _log.debug("the fate of a change cannot be learnt yet: %s", error)
            if asyncio.get_running_loop().time() > deadline:
                raise StorageError(
                    f"{self.place} was lost while a change was being kept, and it is not known whether it "
                    "was: look at it before you repeat it."
                )
            await asyncio.sleep(_PAUSE_S)

    async def _may_repeat(self, error: Exception, deadline: float) -> None:
        """Return after a pause if what raised this left nothing behind and may be repeated.

        Raises:
            Exception: it may not; what the driver raised is told as a `StorageError`.
        """
        now = asyncio.get_running_loop().time()
        if is_lost(error):
            self._lost_at = now if self._lost_at is None else self._lost_at
            deadline = min(deadline, self._lost_at + PATIENCE_S)
        if not is_lost(error) or now > deadline:
            raise_told(error, self.place)
        await asyncio.sleep(_PAUSE_S)


class _Snapshot(Connections):
    """One transaction that all reads are parts of; nothing is repeated if its connection is lost."""

    def __init__(self, session: DatabaseSession, place: str) -> None:
        super().__init__(None, place)
        self.is_snapshot = True
        self._transaction = session

    async def read(self, owner: str | None, work: Callable[[DatabaseSession], Awaitable[T]]) -> T:
        """What `work` gives within the snapshot, of this owner's rows."""
        try:
            await _enter(self._transaction, owner)
            return await work(self._transaction)
        except Exception as error:  # noqa: BLE001 - told of
            raise_told(error, self.place)


async def _enter(session: DatabaseSession, owner: str | None, entrance: str = _ENTER) -> Any:  # noqa: ANN401 - a row
    return await session.fetchrow(entrance, owner or "", "on" if owner is None else "off")


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, or the server is starting or stopping; nothing was committed by it."""
    import asyncpg

    if isinstance(error, asyncpg.InterfaceError):
        return "closed" in str(error) or "released" in str(error)
    return isinstance(
        error,
        OSError
        # So the driver says that the connection was lost just before a statement.
        | asyncpg.InternalClientError
        | asyncpg.PostgresConnectionError
        | asyncpg.AdminShutdownError
        | asyncpg.CrashShutdownError
        | asyncpg.CannotConnectNowError
        | asyncpg.DeadlockDetectedError
        | asyncpg.SerializationError,
    ) and not isinstance(error, TimeoutError)


def raise_told(error: Exception, place: str) -> NoReturn:
    """Raise what the driver raised as an error that says what to do, and anything else as it is.

    `place` is the database, as a person knows it.
    """
    import asyncpg

    ours = asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError
    if isinstance(error, ours):
        raise _translated(error, place) from error
    raise error


_WHAT: Final = {
    "ReadOnlySQLTransactionError": "takes no changes: it is a standby or set to read only. Point "
    "BETHINK_DATABASE_URL to the primary server, or have it take changes again",
    "TooManyConnectionsError": "has no connection left: close other programs' connections or raise "
    "max_connections there, then repeat",
    "InvalidPasswordError": "refuses to let Bethink in: check user and password in BETHINK_DATABASE_URL",
    "InvalidAuthorizationSpecificationError": "refuses to let Bethink in: check user and password in "
    "BETHINK_DATABASE_URL",
    "InvalidCatalogNameError": "has no such database: create it, or correct BETHINK_DATABASE_URL",
    "InsufficientPrivilegeError": "does not grant what Bethink needs: let its user own the database",
    "LockNotAvailableError": "is held up by another process; nothing of this change was written. Repeat it",
    "QueryCanceledError": "stopped a statement that took too long; nothing of it was written. Repeat it",
    "CannotConnectNowError": "is starting or stopping: repeat in a moment",
    "TimeoutError": "does not answer in time. Check the network and the server's load",
}
"""By the driver's class: what a database does, and what to do about it."""


def _translated(error: Exception, place: str) -> BethinkError:
    import asyncpg

    if isinstance(error, asyncpg.DiskFullError):
        return DiskFull(
            f"The disk of {place} is full; nothing of this change was written. Free some space there and "
            "repeat it."
        )
    if isinstance(error, asyncpg.ProgramLimitExceededError):
        return TooLarge(f"A record is larger than {place} can hold ({error}).")
    what = _WHAT.get(type(error).__name__)
    if what is None and isinstance(error, asyncpg.PostgresError) and not is_lost(error):
        what = "refused a statement; its log has more"
    what = what or "cannot be reached: start it, or check BETHINK_DATABASE_URL and the network"
    return StorageError(f"{place} {what} ({type(error).__name__}: {error}).")


def place_of(url: str) -> str:
    """The server and database of an address, without user and password."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    host = parts.hostname or next(iter(asked.get("host", [])), "") or "the local socket"
    port = f":{parts.port}" if parts.port else ""
    return f"PostgreSQL at {host}{port} (database {unquote(parts.path.lstrip('/')) or 'of its user'})"


@asynccontextmanager
async def open_connections(url: str) -> AsyncGenerator[Connections]:
    """The connections to the database of an address; closed with the block.

    Raises:
        NotInstalled: the driver is missing.
        StorageError: the database cannot be reached, or does not let us in.
    """
    try:
        driver: Any = importlib.import_module("asyncpg")
    except ImportError as error:
        raise NotInstalled(
            "BETHINK_DATABASE_URL is set, but what speaks to PostgreSQL is not installed: run "
            "pip install 'bethink[postgres]'."
        ) from error
    place = place_of(url)
    try:
        pool: Any = driver.create_pool(
            url,
            min_size=0,
            max_size=CONNECTIONS_MAX,
            timeout=PATIENCE_S,
            command_timeout=COMMAND_S,
            server_settings=_SETTINGS,
            statement_cache_size=_STATEMENTS_KEPT,
            reset=reset_nothing,
        )
        await pool
    except ValueError as error:
        raise BadInput(f"BETHINK_DATABASE_URL is no address of a PostgreSQL: {error}.") from error
    connections = Connections(pool, place)
    try:
        await connections.arrive()
        yield connections
    finally:
        await close_pool(pool, PATIENCE_S)


async def close_pool(pool: Any, patience_s: float) -> None:  # noqa: ANN401 - the driver has no types
    """Close a pool's connections as they are given back, and after `patience_s` those that are not."""
    with anyio.CancelScope(shield=True):
        try:
            await asyncio.wait_for(pool.close(), patience_s)
        except TimeoutError:
            pool.terminate()


async def reset_nothing(connection: Any) -> None:  # noqa: ANN401 - the driver has no types
    """Nothing is to be reset: all that we set ends with its transaction."""
    del connection
