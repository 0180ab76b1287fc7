"""A vault's folder that is missing, or another one, as on a new machine: no page is taken for deleted."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bethink.engines.memory import MemoryBus, MemoryHub, MemoryStore
from bethink.errors import StorageError
from bethink.index import IndexQuery
from bethink.principal import LOCAL_OWNER
from bethink.vault.files.context import GONE, OTHER
from bethink.vault.files.folder import MARK
from bethink.vault.watch import FolderWatcher
from tests.house import House, open_house
from tests.vaults import ME, Kept, kept_in

pytestmark = pytest.mark.anyio

PAGES = [f"notes/{number}.md" for number in range(20)]


async def filled(directory: Path) -> Kept:
    kept = kept_in(directory)
    for path in PAGES:
        kept.file(path, f"zembrovia {path}")
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == len(PAGES)
    return kept


def elsewhere(kept: Kept, directory: Path) -> Kept:
    """Another machine over the same records, with a folder of its own."""
    assert isinstance(kept.store, MemoryStore)
    return replace(kept_in(directory, store=kept.store), index=kept.index)


async def are_all_there(kept: Kept) -> bool:
    found = await kept.index.search(
        IndexQuery(LOCAL_OWNER, "zembrovia", kinds=frozenset({"page"}), limit=100)
    )
    return len(found.items) == len(PAGES) and sorted(await kept.vault.pages(LOCAL_OWNER)) == sorted(PAGES)


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*"))


CALLS: dict[str, Callable[[Kept], Awaitable[object]]] = {
    "sync": lambda kept: kept.vault.sync(LOCAL_OWNER),
    "rebuild": lambda kept: kept.vault.sync(LOCAL_OWNER, rebuild=True),
    "told": lambda kept: kept.vault.sync(LOCAL_OWNER, PAGES),
    "begin": lambda kept: kept.vault.begin(ME),
    "write": lambda kept: kept.vault.write(ME, "new.md", "new", by="agent"),
    "delete": lambda kept: kept.vault.delete(ME, PAGES[0], by="agent"),
    "move": lambda kept: kept.vault.move(ME, PAGES[0], "b.md", by="agent"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("has", ["nothing", "empty", "first page", "stranger's"])
async def test_a_new_machine_without_the_pages_takes_none_for_deleted(
    tmp_path: Path, call: str, has: str
) -> None:
    kept = await filled(tmp_path / "a")
    other = elsewhere(kept, tmp_path / "b")
    if has != "nothing":
        other.root.mkdir(parents=True)
    if has == "first page":
        other.file("user.md", "# About me\n")
    if has == "stranger's":
        shutil.copytree((await filled(tmp_path / "c")).root, other.root, dirs_exist_ok=True)
        for path in PAGES[:15]:
            (other.root / path).unlink()
    before = names_in(tmp_path)
    fault = GONE if has == "nothing" else OTHER
    assert await other.vault.folder_fault(LOCAL_OWNER) == fault
    if has == "nothing" and call in {"sync", "rebuild", "told"}:
        assert not (await CALLS[call](other)).is_news  # pyright: ignore[reportAttributeAccessIssue] - a report
    else:
        with pytest.raises(StorageError):
            await CALLS[call](other)
    assert await are_all_there(kept)
    assert not (await kept.vault.sync(LOCAL_OWNER)).is_news
    assert names_in(tmp_path) == before


async def test_the_same_folder_on_another_machine_is_used_at_once(tmp_path: Path) -> None:
    kept = await filled(tmp_path / "a")
    other = elsewhere(kept, tmp_path / "b")
    other.root.parent.mkdir()
    other.root.symlink_to(kept.root)
    assert await other.vault.folder_fault(LOCAL_OWNER) is None
    for path in PAGES[1:]:
        (kept.root / path).unlink()
    assert (await other.vault.sync(LOCAL_OWNER)).lost == len(PAGES) - 1


async def test_a_restored_folder_is_known_by_its_pages_and_marked_again(tmp_path: Path) -> None:
    kept = await filled(tmp_path)
    mark = (kept.root / MARK).read_text()
    (kept.root / MARK).unlink()
    for path in PAGES[:5]:
        (kept.root / path).unlink()
    assert (await kept.vault.sync(LOCAL_OWNER)).lost == 5
    assert (kept.root / MARK).read_text() == mark


async def test_who_takes_another_folder_has_the_first_be_the_strange_one(tmp_path: Path) -> None:
    kept = await filled(tmp_path / "a")
    other = elsewhere(kept, tmp_path / "b")
    other.file("b.md", "b")
    assert await other.vault.begin(ME, takes_any=True)
    assert (await other.vault.sync(LOCAL_OWNER)).pages == 2
    with pytest.raises(StorageError, match="not the one"):
        await kept.vault.sync(LOCAL_OWNER)
    assert sorted(await other.vault.pages(LOCAL_OWNER)) == ["b.md", "user.md"]
    assert await kept.vault.history(LOCAL_OWNER, PAGES[0])


async def test_who_has_another_folder_leaves_watching_to_who_has_the_right_one(tmp_path: Path) -> None:
    kept = await filled(tmp_path / "a")
    other = elsewhere(kept, tmp_path / "b")
    other.root.mkdir(parents=True)
    hub = MemoryHub()
    strange = FolderWatcher(other.vault, MemoryBus(hub))
    right = FolderWatcher(kept.vault, MemoryBus(hub))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(strange.watch)
        with anyio.fail_after(8):
            while not strange._others:  # noqa: ASYNC110, SLF001 - nobody tells  # pyright: ignore[reportPrivateUsage]
                await anyio.sleep(0.01)
            tasks.start_soon(right.watch)
            while not right.watches(LOCAL_OWNER):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
        assert not strange.watches(LOCAL_OWNER)
        tasks.cancel_scope.cancel()


async def written(house: House) -> Path:
    await house.app.vault.write(house.me, "work.md", "I was a clerk at Zembrovia.\nIt rained.\n", by="person")
    return house.app.vault.root(house.me.owner)


@pytest.mark.requirement("C22")
async def test_what_is_forgotten_while_the_folder_is_away_waits_for_it_and_does_not_come_back() -> None:
    from bethink.memory import NewFact

    async with open_house() as house:
        fact = (await house.app.memory.add(house.me, NewFact("User was a clerk at Zembrovia"))).fact.id
        root = await written(house)
        away = root.rename(root.with_name("away"))
        with pytest.raises(StorageError, match="folder is missing"):
            await house.app.forgetting.forget(house.me, [fact])
        assert await house.app.memory.count(house.me) == 1
        away.rename(root)
        await house.app.forgetting.finish_all()
        assert await house.app.memory.count(house.me) == 0
        assert "Zembrovia" not in (await anyio.Path(root / "work.md").read_text())
