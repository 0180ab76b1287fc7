"""A sealed home on PostgreSQL: no file of the cluster says anything, whatever was cut short or still runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pytest
from pydantic import SecretStr

from bethink.backups.service import BackupService
from bethink.clock import FakeClock
from bethink.engines.postgres.bus import open_bus
from bethink.engines.postgres.connection import DatabaseSession
from bethink.engines.postgres.large import build
from bethink.engines.postgres.sealed import home_of, take_seal
from bethink.engines.postgres.store import open_database
from bethink.engines.sqlite.store import open_database as open_file
from bethink.errors import BadInput, Busy, StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.maintenance.key_change import reseal
from bethink.migration import carry_seal, migrate, open_side
from bethink.ports import open_blobs, open_ports
from bethink.sealing import FILE, Cipher, MasterKey, SealedHome, cipher_by, new_key, state_of
from bethink.secrets_at_rest import made_key
from bethink.settings import Settings
from bethink.store import Collection, Delete, Put
from tests.contract.records import NOTES, Note
from tests.contract.test_index import MODEL
from tests.postgres_server import ROLE, PostgresServer, postgres_server
from tests.redis_server import always

pytestmark = pytest.mark.timeout(120)

NEEDLE = "zembrovia"
MASTER = "a passphrase of many characters"
ENVIRONMENT = MasterKey(None, MASTER)
KINDS: list[Collection[Note]] = [NOTES]

Said = tuple[dict[str, str], list[bytes], dict[str, tuple[float, ...]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    """A server that gives its log's files up, and lets Bethink ask for it."""
    with postgres_server("wal_recycle=off", durable=True) as server:
        server.administer(
            f"GRANT pg_checkpoint TO {ROLE}",
            f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {ROLE}",
            database="template1",
        )
        yield server


def found_in(*roots: Path) -> list[str]:
    """The files that hold the needle, in either width of characters."""
    forms = (NEEDLE.encode(), NEEDLE.encode("utf-16-le"))
    return sorted(
        path.name
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and any(form in content(path) for form in forms)
    )


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # The server has removed it meanwhile.
        return b""


async def fill(url: str, home: Path) -> None:
    """Records with what is searched of them, of two owners, and a file."""
    vectors = np.stack([np.roll(np.eye(MODEL.dimensions, dtype=np.float32)[0], n) for n in range(3)])
    async with open_database(url) as database, open_blobs(home, None) as blobs:
        for owner in ("ann", "bob"):
            for n in range(12):
                said = f"{NEEDLE} {n} {owner}"
                item = IndexItem(
                    "fact", said, n, vectors[: 1 + n % 3], MODEL, "c", NEEDLE, NEEDLE, part_of=f"of{n}"
                )
                note = Note(id=f"n{n}", text=said, category=NEEDLE)
                await database.store.commit(owner, [Put(NOTES, note, index=item)])
            bare = IndexItem("fact", f"{NEEDLE} without a vector", 50)
            await database.store.commit(owner, [Put(NOTES, Note(id="bare", text=f"{NEEDLE}  "), index=bare)])
            await database.store.commit(owner, [Delete(NOTES, "n0")])
        await build(database.connections, "ann")
        await blobs.write("ann", "f", NEEDLE.encode() * 90_000)


async def said_in(url: str, home: Path, chosen: str | None) -> Said:
    """What a home says, by its index, its records and its files."""
    cipher = await anyio.to_thread.run_sync(cipher_by, await home_of(url, home), chosen)
    async with open_database(url, cipher) as database, open_blobs(home, cipher) as blobs:
        texts: dict[str, str] = {}
        vectors: dict[str, tuple[float, ...]] = {}
        for owner in ("ann", "bob"):
            found = await database.index.search(IndexQuery(owner, NEEDLE, limit=100))
            ids = [item.id for item in found.items]
            held = await database.store.get(NOTES, owner, ids)
            texts |= {f"{owner} {one.record.id}": one.record.text for one in held if one}
            for id, item in (await database.index.items(owner, ids)).items():
                assert item.text.startswith(NEEDLE)
                assert item.speaker == (None if id == "bare" else NEEDLE)
                flat = () if item.vector is None else item.vector.ravel().round(3).tolist()
                vectors[f"{owner} {id}"] = tuple(flat)
        return texts, [await anyio.Path(await blobs.opened("ann", "f")).read_bytes()], vectors


@pytest.mark.requirement("R186")
def test_a_sealed_home_shows_nothing_in_the_clusters_files(cluster: PostgresServer, tmp_path: Path) -> None:
    url, home = cluster.new_database(), tmp_path / "home"
    anyio.run(fill, url, home)
    cluster.administer("CHECKPOINT")
    before = anyio.run(said_in, url, home, None)
    assert len(before[0]) == 24
    assert len(found_in(cluster.data, home)) > 1
    done = reseal(home, MASTER, ENVIRONMENT, url=url)
    assert done.remains == ()
    cluster.administer("CHECKPOINT")
    assert found_in(cluster.data, home) == []
    assert anyio.run(said_in, url, home, MASTER) == before
    anyio.run(write_more, url, home)
    cluster.administer("CHECKPOINT")
    assert found_in(cluster.data, home) == []
    # Another machine needs the master key alone, and learns the rest from the database.
    other = tmp_path / "other"
    assert anyio.run(home_of, url, other) == done.state == state_of(other)
    earlier = state_of(home)
    key_file = tmp_path / "key"
    made_key(key_file)
    rotated = reseal(home, MASTER, MasterKey(key_file), url=url)
    assert rotated.state != earlier
    texts, files, _ = anyio.run(said_in, url, home, None)
    assert (len(texts), files) == (25, before[1])
    reseal(home, None, None, url=url)
    assert state_of(home) is None
    texts, files, vectors = anyio.run(said_in, url, home, None)
    assert (len(texts), files) == (25, before[1])
    assert {id: vectors[id] for id in before[2]} == before[2]


async def write_more(url: str, home: Path) -> None:
    """What is written, changed, embedded later, told and forgotten in a sealed home."""
    cipher = cipher_by(await home_of(url, home), MASTER)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(url, cipher))
        bus = await stack.enter_async_context(open_bus(url, supervise=always, cipher=cipher))
        item = IndexItem("fact", f"{NEEDLE} later", 60, speaker=NEEDLE)
        await database.store.commit("ann", [Put(NOTES, Note(id="later", text=f"{NEEDLE} later"), index=item)])
        async with bus.subscribe("topic") as notices:
            for payload in (NEEDLE, NEEDLE * 2_000):
                await bus.publish("topic", payload)
                assert (await anext(notices)).payload == payload


def test_a_missing_or_wrong_key_is_told_and_nothing_is_changed(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.new_database()
    anyio.run(fill, url, tmp_path)
    reseal(tmp_path, MASTER, ENVIRONMENT, url=url)
    for chosen, told in (
        (None, "set BETHINK_MASTER_KEY"),
        ("another passphrase", "is another one: bring back the key"),
    ):
        key = SecretStr(chosen) if chosen else None
        settings = Settings(data_dir=tmp_path, database_url=SecretStr(url), master_key=key)
        with pytest.raises(StorageError, match=told):
            anyio.run(opened, settings)
        with pytest.raises(StorageError, match=told):
            reseal(tmp_path, chosen, None, url=url)
    redis = Settings(
        data_dir=tmp_path,
        database_url=SecretStr(url),
        master_key=SecretStr(MASTER),
        redis_url=SecretStr("redis://127.0.0.1:1"),
    )
    with pytest.raises(BadInput, match="readable in Redis"):
        anyio.run(opened, redis)
    assert len(anyio.run(said_in, url, tmp_path, MASTER)[0]) == 24


async def opened(settings: Settings) -> None:
    async with open_ports(settings):
        pass


@pytest.mark.anyio
async def test_a_process_that_runs_keeps_it_from_being_sealed_and_never_writes_otherwise(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await anyio.to_thread.run_sync(postgres.new_database)
    await fill(url, tmp_path)

    def seal() -> None:
        reseal(tmp_path, MASTER, ENVIRONMENT, url=url)

    async with open_database(url) as running:
        await running.store.get(NOTES, "ann", ["n1"])
        with pytest.raises(Busy, match="stop all of its processes"):
            await anyio.to_thread.run_sync(seal)
        assert await home_of(url, tmp_path) is None
        # One that nobody sees, since it has no connection at the moment, is refused by its next statement.
        await anyio.to_thread.run_sync(postgres.administer, _DISCONNECT)
        await anyio.to_thread.run_sync(seal)
        with pytest.raises(StorageError, match="start it again"):
            await running.store.get(NOTES, "ann", ["n1"])
        with pytest.raises(StorageError, match="start it again"):
            await running.store.commit("ann", [Put(NOTES, Note(id="x", text=NEEDLE))])
        with pytest.raises(StorageError, match="start it again"):
            await running.index.search(IndexQuery("ann", NEEDLE))
    assert len((await said_in(url, tmp_path, MASTER))[0]) == 24


_DISCONNECT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bethink'"

DIES = """
import os, signal, sys
from pathlib import Path
from bethink.engines.postgres import sealed
from bethink.maintenance import key_change
where, home, url, master = sys.argv[1:]
module, name = (sealed, where) if hasattr(sealed, where) else (key_change, where)
def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(module, name, die)
key_change.reseal(Path(home), master, key_change.MasterKey(None, master), url=url)
"""


@pytest.mark.parametrize("where", ["_reseal_owner", "_keep", "_reseal_file", "scrub"])
def test_what_was_killed_in_the_middle_is_gone_on_with(
    postgres: PostgresServer, tmp_path: Path, where: str
) -> None:
    url = postgres.new_database()
    anyio.run(fill, url, tmp_path)
    before = anyio.run(said_in, url, tmp_path, None)
    died = subprocess.run([sys.executable, "-c", DIES, where, str(tmp_path), url, MASTER], check=False)
    assert died.returncode == -9
    state = anyio.run(home_of, url, tmp_path)
    if where in {"_reseal_owner", "_keep"}:
        # In the transaction: nothing has happened.
        assert state is None
        assert anyio.run(said_in, url, tmp_path, None) == before
    else:
        assert state is not None
        assert state.is_moving
        with pytest.raises(StorageError, match="was cut short"):
            anyio.run(said_in, url, tmp_path, MASTER)
    reseal(tmp_path, MASTER, ENVIRONMENT, url=url)
    assert anyio.run(said_in, url, tmp_path, MASTER) == before
    assert found_in(tmp_path) == []


def test_a_home_moves_sealed_to_postgresql_and_back(postgres: PostgresServer, tmp_path: Path) -> None:
    url, home, back = postgres.new_database(), tmp_path / "home", tmp_path / "back"
    anyio.run(fill_file, home)
    reseal(home, MASTER, ENVIRONMENT)
    there = anyio.run(move, str(home), url)
    postgres.administer("CHECKPOINT")
    assert anyio.run(home_of, url, home) == state_of(home)
    assert anyio.run(move, url, str(back)) == there
    assert state_of(back) == state_of(home)
    assert found_in(tmp_path) == []
    # Sides that are sealed otherwise are not mixed.
    with pytest.raises(BadInput, match="take an empty database"):
        anyio.run(carry_seal, str(tmp_path / "plain"), url, MASTER)
    # Files that were sealed beside records that are not are half of a sealed home, which is gone on with.
    plain = postgres.new_database()
    anyio.run(fill, plain, tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cut short"):
        anyio.run(said_in, plain, home, MASTER)
    reseal(home, MASTER, None, url=plain)
    assert anyio.run(home_of, plain, home) == state_of(back)


async def fill_file(home: Path) -> None:
    async with open_file(home) as database:
        note = Note(id="n", text=NEEDLE, category=NEEDLE)
        await database.store.commit("ann", [Put(NOTES, note, index=IndexItem("fact", NEEDLE, 1))])


async def move(source: str, target: str) -> str:
    await carry_seal(source, target, MASTER)
    async with (
        open_side(source, is_new=False, master_key=MASTER) as read,
        open_side(target, master_key=MASTER) as written,
    ):
        return (await migrate(read, written, KINDS, tell=lambda *_: None)).digest


def test_a_sealed_home_is_backed_up_and_restored(postgres: PostgresServer, tmp_path: Path) -> None:
    url, other = postgres.new_database(), postgres.new_database()
    home, new = tmp_path / "home", tmp_path / "new"
    anyio.run(fill, url, home)
    reseal(home, MASTER, ENVIRONMENT, url=url)
    (home / FILE).unlink()  # it is a copy
    settings = Settings(data_dir=home, database_url=SecretStr(url), master_key=SecretStr(MASTER))
    service = BackupService(settings, FakeClock(), KINDS)
    anyio.run(service.create)
    assert found_in(tmp_path) == []

    async def restore() -> None:
        await service.restore("latest", new, database_url=other)

    anyio.run(restore)
    before, after = (anyio.run(said_in, *at, MASTER) for at in ((url, home), (other, new)))
    assert after[:2] == before[:2]
    assert found_in(tmp_path) == []


@pytest.mark.anyio
async def test_what_is_forgotten_in_a_sealed_home_is_gone_for_good(
    cluster: PostgresServer, tmp_path: Path
) -> None:
    """The rows themselves are written anew: who gets the key later finds nothing either."""
    url, cipher = await anyio.to_thread.run_sync(cluster.new_database), Cipher(new_key())
    await take_seal(url, SealedHome(now=b"wrapped"), cipher)
    async with open_database(url, cipher) as database:
        item = IndexItem("fact", NEEDLE, 1)
        await database.store.commit("ann", [Put(NOTES, Note(id="n", text=NEEDLE), index=item)])

        async def rows(session: DatabaseSession) -> list[bytes]:
            found = await session.fetch("SELECT body FROM records")
            found += await session.fetch("SELECT text FROM index_items UNION SELECT body FROM index_items")
            return [body for (body,) in found]

        kept = await database.connections.read(None, rows)
        assert len(kept) == 3
        await anyio.to_thread.run_sync(cluster.administer, "CHECKPOINT")

        def holding() -> list[str]:
            files = [path for path in cluster.data.rglob("*") if path.is_file()]
            return [path.name for path in files if any(body in content(path) for body in kept)]

        assert await anyio.to_thread.run_sync(holding)
        await database.store.commit("ann", [Delete(NOTES, "n")])
        assert await database.store.scrub("ann") == ()
        assert await anyio.to_thread.run_sync(holding) == []
