"""Everything of one database into another one: the same on both sides, gone on with, or refused."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink.accounts.register import STATES, AccountsState
from bethink.backups.contents import BackupHome, copy_files
from bethink.bus import Bus
from bethink.engines.sqlite.bus import open_bus
from bethink.errors import BadInput, Busy, StorageError
from bethink.features import COLLECTIONS
from bethink.index import IndexItem, IndexQuery
from bethink.memory.writer import REVISIONS, Revision
from bethink.migration import Side, migrate, open_side
from bethink.store import Collection, Delete, Put, Scan, records_of
from bethink.tools.mcp import TOKENS, SealedTokens
from tests.contract.conftest import Database
from tests.contract.records import LINES, NOTES, Line, Note
from tests.contract.test_index import MODEL

pytestmark = pytest.mark.anyio

KINDS = (NOTES, LINES, REVISIONS, TOKENS)
OWNERS = ("ann", "bob", "zoë 🦀")


def silent(name: str, count: int) -> None:
    del name, count


async def fill(side: Side, count: int = 450) -> None:
    """Records of three owners, some of them searched, some in a collection of several types."""
    for owner in OWNERS:
        vectors = np.eye(MODEL.dimensions, dtype=np.float32)
        await side.store.commit(
            owner,
            [
                Put(
                    NOTES,
                    Note(id=f"n{n}", text=f"heron {n} of {owner}"),
                    index=IndexItem("fact", f"heron {n}", n, vectors[n % 2], MODEL, "c", "p", "Ann"),
                )
                for n in range(count)
            ],
        )
        line, revision = Line(id="l", conversation="c", position=1, text="said"), Revision(id="revision")
        tokens = SealedTokens(id="tokens:x", sealed=b"\x00")
        await side.store.commit(owner, [Put(LINES, line), Put(REVISIONS, revision), Put(TOKENS, tokens)])


@asynccontextmanager
async def side_in(path: Path) -> AsyncGenerator[Side]:
    async with open_side(str(path)) as side:
        yield side


async def held(side: Side, collection: Collection[Any], owner: str) -> list[Any]:
    return [one async for one in records_of(side.store, owner, Scan(collection))]


async def test_every_database_is_moved_into_every_other_one(database: Database, tmp_path: Path) -> None:
    there = Side(database.store, database.index, "there")
    async with side_in(tmp_path / "one") as one, side_in(tmp_path / "two") as two:
        await fill(one, 40)
        out = await migrate(one, there, KINDS, tell=silent)
        back = await migrate(there, two, KINDS, tell=silent)
        assert out.digest == back.digest
        assert out.records == back.records
        assert out.records["facts"] == 120
        assert out.owners == set(OWNERS)
        for owner in OWNERS:
            for collection in (NOTES, LINES):
                assert await held(two, collection, owner) == await held(one, collection, owner)
            query = IndexQuery(
                owner, "heron 7", np.eye(MODEL.dimensions, dtype=np.float32)[1], MODEL, limit=100
            )
            before, after = await one.index.search(query), await two.index.search(query)
            assert {item.id: item.dense for item in after.items} == {
                item.id: pytest.approx(item.dense, abs=1e-3) for item in before.items
            }


async def test_what_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    async with side_in(tmp_path / "one") as one, side_in(tmp_path / "two") as two:
        await fill(one)
        writes = 0
        commit = two.store.commit

        class Ending:
            """A store that fails after so many commits."""

            async def commit(self, owner: str, changes: Any) -> None:  # noqa: ANN401 - as the store has it
                nonlocal writes
                writes += 1
                if writes == 4:
                    raise StorageError("The disk is full.")
                await commit(owner, changes)

            def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else as it is
                return getattr(two.store, name)

        ending: Any = Ending()
        with pytest.raises(StorageError, match="disk is full"):
            await migrate(one, replace(two, store=ending), KINDS, tell=silent)
        assert await two.store.count("ann", NOTES, {}) > 0
        # What went from the source meanwhile goes from the target.
        await one.store.commit("ann", [Delete(NOTES, "n0")])
        writes = before = 1000
        done = await migrate(one, replace(two, store=ending), KINDS, tell=silent)
        assert await two.store.count("ann", NOTES, {}) == 449
        assert done.records["facts"] == 3 * 450 - 1
        # Of the 15 pages one is there already, and one but for a record; one goes, and the mark at the end.
        assert writes - before == 14 + 1 + 1
        with pytest.raises(BadInput, match="is not empty"):
            await migrate(one, two, KINDS, tell=silent)


async def test_a_target_with_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    async with side_in(tmp_path / "one") as one, side_in(tmp_path / "two") as two:
        await fill(one, 3)
        await two.store.commit("eve", [Put(LINES, Line(id="mine", conversation="c", position=1, text="x"))])
        with pytest.raises(BadInput, match="is not empty"):
            await migrate(one, two, KINDS, tell=silent)
        with pytest.raises(BadInput, match="Both sides"):
            await migrate(one, one, KINDS, tell=silent)
        assert [line.id for line in await held(two, LINES, "eve")] == ["mine"]
        assert await two.store.count("ann", NOTES, {}) == 0


async def test_records_of_several_types_in_one_collection_are_moved(tmp_path: Path) -> None:
    async with side_in(tmp_path / "one") as one, side_in(tmp_path / "two") as two:
        tokens, revision = SealedTokens(id="tokens:x", sealed=b"\x00\xff"), Revision(id="revision")
        await one.store.commit("ann", [Put(TOKENS, tokens), Put(REVISIONS, revision)])
        await one.store.commit("", [Put(STATES, AccountsState(id="state"))])
        await migrate(one, two, COLLECTIONS, tell=silent)
        (moved,) = await two.store.get(TOKENS, "ann", ["tokens:x"])
        assert moved
        assert moved.record == tokens
        (counted,) = await two.store.get(REVISIONS, "ann", ["revision"])
        assert counted
        assert counted.record == revision


async def test_a_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no database"):
        async with open_side(str(tmp_path / "none"), is_new=False):
            pass
    async with side_in(tmp_path):
        pass
    bus: Bus
    async with open_bus(tmp_path) as bus:
        assert bus.process
        with pytest.raises(Busy, match="stop it first"):
            async with open_side(str(tmp_path)):
                pass
    async with side_in(tmp_path):
        pass


def test_files_are_copied_once_and_models_are_not(tmp_path: Path) -> None:
    home, new = tmp_path / "home", tmp_path / "new"
    for name in ("vault/a.md", "files/x/f1", "master.key", "models/m.gguf", "bethink.sqlite3"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    assert copy_files(BackupHome(home), new) == 3
    assert sorted(str(path.relative_to(new)) for path in new.rglob("*") if path.is_file()) == [
        "files/x/f1",
        "master.key",
        "vault/a.md",
    ]
    (new / "vault/a.md").unlink()
    assert copy_files(BackupHome(home), new) == 3
    assert (new / "vault/a.md").read_text() == "vault/a.md"


def test_all_collections_of_bethink_are_moved() -> None:
    ours = {
        one.name
        for one in gc.get_objects()
        if isinstance(one, Collection) and one.record.__module__.startswith("bethink.")
    }
    # What processes tell one another is theirs, and the mark of a migration is its own.
    assert ours - {"bus", "migration"} <= {one.name for one in COLLECTIONS}
