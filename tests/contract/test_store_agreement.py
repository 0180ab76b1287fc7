"""The SQLite store beside the one in memory: whatever is done to both, they answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.clock import Ids, SystemClock
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.engines.sqlite.store import SqliteDatabase, open_database
from bethink.errors import Conflict
from bethink.index import Index, IndexItem, IndexQuery
from bethink.store import Change, Delete, DeleteAll, Put, Record, Scan, Store, Versioned
from tests.contract.records import LINES, NOTES, Line, Note

pytestmark = pytest.mark.anyio

_new_owner = Ids(SystemClock())

_ids = st.sampled_from(["a", "b", "ba", "ä", "猫", "z"])
_owners = st.sampled_from(["ann", "bob"])
_numbers = st.none() | st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
_texts = st.none() | st.sampled_from(["", "x", "y", "é"])
_any_text = st.text(st.characters(codec="utf-8"), max_size=20)
_notes = st.builds(
    Note,
    id=_ids,
    text=_any_text,
    state=st.sampled_from("st"),
    category=_texts,
    created_at=_numbers,
    project=_texts,
)
_lines = st.builds(
    Line,
    id=_ids.map("l{}".format),
    conversation=st.sampled_from("cd"),
    position=st.integers(0, 4),
    text=_any_text,
)
_versions = st.sampled_from([None, None, 0, 1, 2])
_items = st.none() | st.builds(IndexItem, kind=st.just("fact"), text=_any_text, at=st.integers(0, 9))
_where = st.dictionaries(st.sampled_from(["category", "project"]), _texts, max_size=2)
_changes = st.one_of(
    st.builds(Put, st.just(NOTES), _notes, if_version=_versions, index=_items),
    st.builds(Put, st.just(LINES), _lines, if_version=_versions),
    st.builds(Delete, st.just(NOTES), _ids),
    st.builds(DeleteAll, st.just(NOTES), _where),
)
_batches = st.lists(st.tuples(_owners, st.lists(_changes, max_size=6)), max_size=12)
_scans = st.builds(
    Scan,
    st.just(NOTES),
    _where,
    order=st.sampled_from([None, "created_at"]),
    reverse=st.booleans(),
    limit=st.integers(1, 4),
)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    async with open_database(tmp_path) as database:
        yield database


async def _outcome(store: Store, owner: str, changes: list[Change]) -> bool:
    try:
        await store.commit(owner, changes)
    except Conflict:
        return False
    return True


async def _all_pages(store: Store, owner: str, scan: Scan[Note]) -> list[Versioned[Note]]:
    found: list[Versioned[Note]] = []
    while True:
        (page,) = await store.scan(owner, scan)
        found += page.items
        if page.cursor is None:
            return found
        scan = replace(scan, after=page.cursor)


async def _searched(index: Index, owner: str, text: str) -> dict[str, float | None]:
    candidates = await index.search(IndexQuery(owner, text))
    return {candidate.id: candidate.lexical for candidate in candidates.items}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=_batches,
    scan=_scans,
    where=_where,
    bounds=st.tuples(st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3)),
    text=_any_text,
)
async def test_both_stores_answer_alike(
    sqlite: SqliteDatabase,
    batches: list[tuple[str, list[Change]]],
    scan: Scan[Note],
    where: dict[str, str | None],
    bounds: tuple[int | None, int | None],
    text: str,
) -> None:
    index = MemoryIndex()
    memory = MemoryStore(index)
    suffix = _new_owner()
    if scan.order == "created_at":
        scan = replace(scan, low=bounds[0], high=bounds[1])
    for owner, changes in batches:
        outcome = await _outcome(memory, owner + suffix, changes)
        assert await _outcome(sqlite.store, owner + suffix, changes) == outcome
    for owner in ("ann" + suffix, "bob" + suffix, "nobody" + suffix):
        kept = await _all_pages(memory, owner, scan)
        assert await _all_pages(sqlite.store, owner, scan) == kept
        assert await sqlite.store.count(owner, NOTES, where) == await memory.count(owner, NOTES, where)
        ids = ["la", "lz", "a"]
        assert await sqlite.store.get(LINES, owner, ids) == await memory.get(LINES, owner, ids)
        assert await _searched(sqlite.index, owner, text) == pytest.approx(
            await _searched(index, owner, text)
        )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=_batches)
async def test_nothing_of_another_owner_ever_appears(
    sqlite: SqliteDatabase, batches: list[tuple[str, list[Change]]]
) -> None:
    """What one owner sees is what they would see if nobody else were there."""
    index = MemoryIndex()
    alone = MemoryStore(index)
    suffix = _new_owner()
    for owner, changes in batches:
        await _outcome(sqlite.store, owner + suffix, changes)
        if owner == "ann":
            await _outcome(alone, "ann" + suffix, changes)
    scan = Scan(NOTES, limit=2)
    ann = "ann" + suffix
    assert await _all_pages(sqlite.store, ann, scan) == await _all_pages(alone, ann, scan)
    together = await sqlite.index.search(IndexQuery(ann, "a x y é 猫"))
    apart = await index.search(IndexQuery(ann, "a x y é 猫"))
    assert (together.searched, together.lexical_ideal) == pytest.approx((apart.searched, apart.lexical_ideal))
    assert {candidate.id for candidate in together.items} == {candidate.id for candidate in apart.items}


def test_a_change_of_any_record_is_a_change() -> None:
    """For the type checker above all: a batch may mix collections."""
    batch: list[Change] = [Put(NOTES, Note(id="n")), Put(LINES, Line(id="l", conversation="c", position=0))]
    assert all(isinstance(change, Put) and isinstance(change.record, Record) for change in batch)
