"""What every store keeps and promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from anyio import create_task_group

from bethink.errors import BadInput, Conflict, CorruptDatabase, NewerSchema
from bethink.store import Collection, Delete, DeleteAll, Expect, Key, Put, Scan, Store, Versioned
from tests.contract.records import LINES, NOTES, SETTINGS, Line, Note, Setting

pytestmark = pytest.mark.anyio


async def _positions(store: Store, scan: Scan[Line]) -> list[int]:
    """The positions of all pages, in order."""
    found: list[int] = []
    while True:
        (page,) = await store.scan("ann", scan)
        found += [item.record.position for item in page.items]
        if page.cursor is None:
            return found
        scan = replace(scan, after=page.cursor)


async def _keep_lines(store: Store, count: int) -> None:
    await store.commit(
        "ann", [Put(LINES, Line(id=f"l{n:04}", conversation="c", position=n)) for n in range(count)]
    )


async def test_a_record_comes_back_as_it_was_put(store: Store) -> None:
    note = Note(id="n", text="Grüße, 猫 \0 \x1b \n", category=None, created_at=-(2**63), project="p")
    await store.commit("ann", [Put(NOTES, note)])
    assert await store.get(NOTES, "ann", ["n"]) == (Versioned(note, 1),)


async def test_get_keeps_the_order_and_says_none_for_what_is_missing(store: Store) -> None:
    await store.commit("ann", [Put(SETTINGS, Setting(id=id, value=id)) for id in "ab"])
    found = await store.get(SETTINGS, "ann", ["b", "x", "a", "b"])
    assert [item and item.record.value for item in found] == ["b", None, "a", "b"]


async def test_of_many_ids_each_is_found_in_its_place(store: Store) -> None:
    ids = [f"{number:02}" for number in range(50)]
    await store.commit("ann", [Put(SETTINGS, Setting(id=id, value=id)) for id in ids[::2]])
    found = await store.get(SETTINGS, "ann", ids[::-1])
    assert [item and item.record.id for item in found] == [
        id if int(id) % 2 == 0 else None for id in ids[::-1]
    ]


async def test_every_put_raises_the_version(store: Store) -> None:
    for value in "abc":
        await store.commit("ann", [Put(SETTINGS, Setting(id="s", value=value))])
    assert await store.get(SETTINGS, "ann", ["s"]) == (Versioned(Setting(id="s", value="c"), 3),)


@pytest.mark.parametrize(("there", "if_version"), [(0, 1), (0, 7), (1, 0), (1, 2), (2, 1)])
async def test_another_version_than_expected_is_a_conflict(store: Store, there: int, if_version: int) -> None:
    for _ in range(there):
        await store.commit("ann", [Put(SETTINGS, Setting(id="s", value="old"))])
    with pytest.raises(Conflict):
        await store.commit("ann", [Put(SETTINGS, Setting(id="s", value="new"), if_version=if_version)])
    (found,) = await store.get(SETTINGS, "ann", ["s"])
    assert (found.version if found else 0) == there
    assert found is None or found.record.value == "old"


@pytest.mark.parametrize(("there", "expected"), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 2)])
async def test_a_batch_holds_only_while_what_it_expects_is_so(
    store: Store, there: int, expected: int
) -> None:
    for value in range(there):
        await store.commit("ann", [Put(SETTINGS, Setting(id="s", value=str(value)))])
    await store.commit("bob", [Put(SETTINGS, Setting(id="s"))])
    batch = [Put(SETTINGS, Setting(id="new")), Expect(SETTINGS, "s", expected)]
    if there == expected:
        await store.commit("ann", batch)
    else:
        with pytest.raises(Conflict):
            await store.commit("ann", batch)
    found = await store.get(SETTINGS, "ann", ["s", "new"])
    assert [one.version if one else 0 for one in found] == [there, int(there == expected)]


@pytest.mark.parametrize("there", [0, 1, 2])
async def test_the_expected_version_is_replaced(store: Store, there: int) -> None:
    for _ in range(there):
        await store.commit("ann", [Put(SETTINGS, Setting(id="s", value="old"))])
    await store.commit("ann", [Put(SETTINGS, Setting(id="s", value="new"), if_version=there)])
    assert await store.get(SETTINGS, "ann", ["s"]) == (Versioned(Setting(id="s", value="new"), there + 1),)


async def test_a_conflict_leaves_nothing_of_its_batch(store: Store) -> None:
    await store.commit("ann", [Put(SETTINGS, Setting(id="kept", value="1")), Put(NOTES, Note(id="n"))])
    batch = [
        Put(SETTINGS, Setting(id="fresh")),
        Put(SETTINGS, Setting(id="kept", value="2")),
        Delete(NOTES, "n"),
        DeleteAll(LINES),
        Put(SETTINGS, Setting(id="kept"), if_version=0),
    ]
    with pytest.raises(Conflict):
        await store.commit("ann", batch)
    assert await store.get(SETTINGS, "ann", ["fresh", "kept"]) == (
        None,
        Versioned(Setting(id="kept", value="1"), 1),
    )
    assert (await store.get(NOTES, "ann", ["n"]))[0] is not None


async def test_a_conflict_fails_only_its_own_batch_of_those_that_wait_together(store: Store) -> None:
    await store.commit("ann", [Put(SETTINGS, Setting(id="taken"))])
    refused: list[int] = []

    async def keep(number: int) -> None:
        id = "taken" if number % 5 == 0 else f"s{number}"
        try:
            await store.commit("ann", [Put(SETTINGS, Setting(id=id), if_version=0)])
        except Conflict:
            refused.append(number)

    async with create_task_group() as group:
        for number in range(20):
            group.start_soon(keep, number)
    assert sorted(refused) == [0, 5, 10, 15]
    assert await store.count("ann", SETTINGS, {}) == 17


async def test_batches_are_applied_in_the_order_in_which_they_were_handed_in(store: Store) -> None:
    async with create_task_group() as group:
        for number in range(30):
            group.start_soon(store.commit, "ann", [Put(SETTINGS, Setting(id="s", value=str(number)))])
    assert await store.get(SETTINGS, "ann", ["s"]) == (Versioned(Setting(id="s", value="29"), 30),)


async def test_changes_of_one_batch_are_applied_in_order(store: Store) -> None:
    await store.commit(
        "ann",
        [
            Put(SETTINGS, Setting(id="s", value="1"), if_version=0),
            Put(SETTINGS, Setting(id="s", value="2"), if_version=1),
            Delete(SETTINGS, "s"),
            Put(SETTINGS, Setting(id="s", value="3"), if_version=0),
        ],
    )
    assert await store.get(SETTINGS, "ann", ["s"]) == (Versioned(Setting(id="s", value="3"), 1),)


async def test_a_commit_is_seen_by_the_next_call(store: Store) -> None:
    for number in range(20):
        await store.commit("ann", [Put(LINES, Line(id=str(number), conversation="c", position=number))])
        assert await store.count("ann", LINES, {"conversation": "c"}) == number + 1


async def test_deleting_what_is_not_there_changes_nothing(store: Store) -> None:
    await store.commit("ann", [Delete(NOTES, "x"), DeleteAll(NOTES, {"state": "gone"})])
    assert await store.count("ann", NOTES, {}) == 0


async def test_delete_all_removes_what_matches_and_nothing_else(store: Store) -> None:
    notes = [
        Note(id=f"{n}", category="a" if n % 2 else None, project="p" if n % 3 else None) for n in range(12)
    ]
    await store.commit("ann", [Put(NOTES, note) for note in notes])
    await store.commit("ann", [DeleteAll(NOTES, {"category": None, "project": "p"})])
    kept = {item.record.id for item in (await store.scan("ann", Scan(NOTES)))[0].items}
    assert kept == {note.id for note in notes if note.category is not None or note.project is None}
    await store.commit("ann", [DeleteAll(NOTES)])
    assert await store.count("ann", NOTES, {}) == 0


async def test_no_owner_sees_or_changes_another_ones_records(store: Store) -> None:
    for owner in ("ann", "bob"):
        await store.commit(owner, [Put(NOTES, Note(id="n", text=owner))])
    await store.commit("bob", [Put(NOTES, Note(id="n", text="bob"), if_version=1), DeleteAll(NOTES)])
    assert await store.get(NOTES, "ann", ["n"]) == (Versioned(Note(id="n", text="ann"), 1),)
    assert await store.get(NOTES, "bob", ["n"]) == (None,)
    assert await store.count("bob", NOTES, {}) == 0
    assert (await store.scan("bob", Scan(NOTES)))[0].items == ()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_pages_follow_one_another_in_order_with_none_first(
    store: Store, limit: int, *, reverse: bool
) -> None:
    times = [5, None, 3, 5, None, -1, 5]
    await store.commit("ann", [Put(NOTES, Note(id=str(n), created_at=at)) for n, at in enumerate(times)])
    scan = Scan(NOTES, {"state": "active"}, order="created_at", limit=limit, reverse=reverse)
    found: list[str] = []
    while True:
        (page,) = await store.scan("ann", scan)
        assert len(page.items) <= limit
        found += [item.record.id for item in page.items]
        if page.cursor is None:
            break
        scan = replace(scan, after=page.cursor)
    expected = ["1", "4", "5", "2", "0", "3", "6"]
    assert found == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize("reverse", [False, True])
async def test_bounds_hold_their_low_end_and_leave_out_their_high_one(store: Store, *, reverse: bool) -> None:
    await store.commit(
        "ann",
        [Put(NOTES, Note(id=str(n), created_at=None if n == 9 else n)) for n in range(10)],
    )
    scan = Scan(NOTES, order="created_at", low=2, high=6, limit=3, reverse=reverse)
    (first,) = await store.scan("ann", scan)
    (second,) = await store.scan("ann", replace(scan, after=first.cursor))
    found = [item.record.created_at for item in first.items + second.items]
    assert found == ([5, 4, 3, 2] if reverse else [2, 3, 4, 5])
    assert second.cursor is None


async def test_without_an_order_pages_are_in_the_order_of_ids(store: Store) -> None:
    await store.commit("ann", [Put(SETTINGS, Setting(id=id)) for id in ("b", "é", "a", "B", "猫", "z")])
    found: list[str] = []
    scan = Scan(SETTINGS, limit=4)
    while True:
        (page,) = await store.scan("ann", scan)
        found += [item.record.id for item in page.items]
        if page.cursor is None:
            break
        scan = replace(scan, after=page.cursor)
    assert found == sorted(["b", "é", "a", "B", "猫", "z"])


async def test_paging_goes_on_where_it_was_while_others_write(store: Store) -> None:
    await _keep_lines(store, 10)
    scan = Scan(LINES, {"conversation": "c"}, order="position", limit=4)
    (first,) = await store.scan("ann", scan)
    await store.commit(
        "ann",
        [
            Put(LINES, Line(id="before", conversation="c", position=-1)),
            Put(LINES, Line(id="zz", conversation="c", position=3)),
            Put(LINES, Line(id="after", conversation="c", position=99)),
            Delete(LINES, "l0003"),
            Delete(LINES, "l0005"),
        ],
    )
    assert await _positions(store, replace(scan, after=first.cursor)) == [3, 4, 6, 7, 8, 9, 99]


async def test_a_full_last_page_has_no_cursor(store: Store) -> None:
    await _keep_lines(store, 4)
    (page,) = await store.scan("ann", Scan(LINES, order="position", limit=4))
    assert len(page.items) == 4
    assert page.cursor is None


async def test_many_scans_give_a_page_each_in_their_order(store: Store) -> None:
    await _keep_lines(store, 5)
    scans = [Scan(LINES, order="position", low=low, limit=1) for low in (3, 9, 0)]
    pages = await store.scan("ann", *scans)
    assert [[item.record.position for item in page.items] for page in pages] == [[3], [], [0]]
    assert [page.cursor is None for page in pages] == [False, True, False]
    assert await store.scan("ann", *[]) == []


async def test_scans_that_are_alike_give_each_its_own_page(store: Store) -> None:
    notes = [Note(id=f"{n}", category="abc"[n % 3], project="p" if n % 2 else None) for n in range(12)]
    await store.commit("ann", [Put(NOTES, note) for note in notes])
    await store.commit("bob", [Put(NOTES, Note(id="b", category="a"))])
    wheres: list[dict[str, Key]] = [
        {"category": "c"},
        {"category": "a", "project": "p"},
        {"category": "none"},
        {"category": "b", "project": None},
        {"category": "a"},
        {"category": "c"},
        {"category": "b", "project": "p"},
    ]
    pages = await store.scan("ann", *(Scan(NOTES, where, limit=3) for where in wheres))
    assert [[item.record.id for item in page.items] for page in pages] == [
        ["11", "2", "5"],
        ["3", "9"],
        [],
        ["10", "4"],
        ["0", "3", "6"],
        ["11", "2", "5"],
        ["1", "7"],
    ]
    cursor = pages[0].cursor
    assert cursor is not None
    assert [page.cursor is None for page in pages] == [False, True, True, True, False, False, True]
    (rest,) = await store.scan("ann", Scan(NOTES, {"category": "c"}, limit=3, after=cursor))
    assert [item.record.id for item in rest.items] == ["8"]


async def test_a_cursor_of_another_scan_is_refused(store: Store) -> None:
    await _keep_lines(store, 3)
    (page,) = await store.scan("ann", Scan(LINES, order="position", limit=1))
    with pytest.raises(BadInput, match="cursor"):
        await store.scan("ann", Scan(LINES, order="position", reverse=True, limit=1, after=page.cursor))


@pytest.mark.parametrize("cursor", ["", "x", "å", "AAAA", "WzEsMl0"])
async def test_a_cursor_that_nobody_gave_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(BadInput, match="cursor"):
        await store.scan("ann", Scan(LINES, order="position", after=cursor))


async def test_a_page_of_nothing_is_refused(store: Store) -> None:
    with pytest.raises(BadInput):
        await store.scan("ann", Scan(LINES, limit=0))


async def test_a_key_that_was_not_declared_is_a_mistake_of_the_program(store: Store) -> None:
    with pytest.raises(ValueError, match="no key text"):
        await store.scan("ann", Scan(LINES, {"text": "x"}))
    with pytest.raises(ValueError, match="no key text"):
        await store.scan("ann", Scan(LINES, order="text"))
    with pytest.raises(ValueError, match="no key text"):
        await store.count("ann", LINES, {"text": "x"})


async def test_a_text_gives_no_order(store: Store) -> None:
    await store.commit("ann", [Put(NOTES, Note(id="n", category="c"))])
    with pytest.raises(TypeError, match="no order by category"):
        await store.scan("ann", Scan(NOTES, order="category"))


async def test_scrubbing_changes_nothing_of_what_is_kept(store: Store) -> None:
    notes = [Note(id=f"{n:03}", text="x" * n, category="c") for n in range(0, 300, 7)]
    await store.commit("ann", [Put(NOTES, note) for note in notes])
    await store.commit("ann", [Delete(NOTES, note.id) for note in notes[::2]])
    await store.scrub()
    await store.scrub()
    kept = (await store.scan("ann", Scan(NOTES, {"category": "c"})))[0].items
    assert [item.record for item in kept] == notes[1::2]


async def test_a_record_of_ten_megabytes_is_kept_whole(store: Store) -> None:
    text = "0123456789" * 1_000_000
    await store.commit("ann", [Put(NOTES, Note(id="n", text=text))])
    (found,) = await store.get(NOTES, "ann", ["n"])
    assert found
    assert found.record.text == text


@pytest.mark.parametrize(
    "note",
    [
        Note(id="n", text="half \ud83d of a face"),
        Note(id="\udc00"),
        Note(id="n", project="\ud800"),
        Note(id="a\0b"),
        Note(id="n", category="a\0b"),
        Note(id="n", created_at=2**63),
    ],
)
async def test_what_no_database_can_keep_is_refused_as_bad_input(store: Store, note: Note) -> None:
    with pytest.raises(BadInput):
        await store.commit("ann", [Put(SETTINGS, Setting(id="s")), Put(NOTES, note)])
    assert await store.get(SETTINGS, "ann", ["s"]) == (None,)


async def test_what_no_record_can_be_called_is_not_found(store: Store) -> None:
    await store.commit("ann", [Put(SETTINGS, Setting(id="s"))])
    assert await store.get(SETTINGS, "ann", ["a\0b", "s"]) == (None, Versioned(Setting(id="s"), 1))


async def test_a_record_of_a_newer_program_is_refused_by_name(store: Store) -> None:
    newer = Collection("facts", Note, NOTES.keys, schema=2)
    await store.commit("ann", [Put(newer, Note(id="n"))])
    for read in (store.get(NOTES, "ann", ["n"]), store.scan("ann", Scan(NOTES))):
        with pytest.raises(NewerSchema, match="facts has schema 2"):
            await read
    (found,) = await store.get(newer, "ann", ["n"])
    assert found


async def test_a_record_that_is_not_of_its_type_is_named_as_damage(store: Store) -> None:
    class Number(Note, frozen=True, kw_only=True):
        text: int = 0  # pyright: ignore[reportIncompatibleVariableOverride] - the shape that does not fit

    await store.commit("ann", [Put(Collection("facts", Number, NOTES.keys), Number(id="n", text=7))])
    with pytest.raises(CorruptDatabase, match="record n in facts"):
        await store.get(NOTES, "ann", ["n"])


async def test_an_empty_batch_is_no_error(store: Store) -> None:
    await store.commit("ann", [])


async def test_owners_are_told_in_order_by_the_page(store: Store) -> None:
    for owner in ("ann", "bob", "Zoë", "zoë", "猫", "c d"):
        await store.commit(owner, [Put(SETTINGS, Setting(id=id)) for id in "ab"])
    await store.commit("only notes", [Put(NOTES, Note(id="n"))])
    await store.commit("bob", [DeleteAll(SETTINGS)])
    assert list(await store.owners(SETTINGS)) == ["Zoë", "ann", "c d", "zoë", "猫"]
    assert list(await store.owners(SETTINGS, after="ann", limit=2)) == ["c d", "zoë"]
    assert list(await store.owners(SETTINGS, after="猫")) == []
    assert list(await store.owners(LINES)) == []
