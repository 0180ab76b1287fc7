"""A database file that is gone, empty or cut short beside its log is not begun anew in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import open_database
from bethink.errors import CorruptDatabase
from bethink.store import Put, Scan
from tests.contract.records import LINES, Line

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

COUNT = 2_000
"""With their texts more than SQLite keeps in the log before it moves them into the file."""


async def left_by_a_kill(directory: Path, target: Path) -> Path:
    """The files as a killed process leaves them: much in the database, and the last changes in its log."""
    async with open_database(directory) as database:
        for start in range(0, COUNT, 500):
            lines = [
                Line(id=f"l{n}", conversation="c", position=n, text="x" * 2_000)
                for n in range(start, start + 500)
            ]
            await database.store.commit("ann", [Put(LINES, line) for line in lines])
        await database.store.commit("ann", [Put(LINES, Line(id="last", conversation="d", position=1))])
        shutil.copytree(directory, target)
    return target


def spoil(directory: Path, how: str) -> None:
    path = directory / FILE_NAME
    if how == "missing":
        path.unlink()
    elif how == "missing, log emptied":
        path.unlink()
        (directory / f"{FILE_NAME}-wal").write_bytes(b"")
    else:
        with path.open("r+b") as file:
            file.truncate(
                {"empty": 0, "one page": 4096, "cut short": path.stat().st_size // 8192 * 4096}[how]
            )


def bytes_in(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.suffix != ".log"}


@pytest.mark.parametrize("how", ["missing", "missing, log emptied", "empty", "one page", "cut short"])
async def test_a_file_that_lost_what_its_log_goes_on_from_is_refused_and_left_alone(
    tmp_path: Path, how: str
) -> None:
    left = await left_by_a_kill(tmp_path / "data", tmp_path / "left")
    spoil(left, how)
    before = bytes_in(left)
    with pytest.raises(CorruptDatabase) as told:
        async with open_database(left):
            pass
    assert bytes_in(left) == before
    assert "restore" in told.value.message.lower()
    assert "start empty" in told.value.message
    for name in before:
        if name.startswith(FILE_NAME):
            (left / name).rename(left / f"away-{name}")
    async with open_database(left) as database:
        assert (await database.store.scan("ann", Scan(LINES)))[0].items == ()


async def test_what_a_kill_leaves_is_whole(tmp_path: Path) -> None:
    left = await left_by_a_kill(tmp_path / "data", tmp_path / "left")
    async with open_database(left) as database:
        assert await database.store.count("ann", LINES, {}) == COUNT + 1


async def test_a_file_whose_last_pages_are_still_in_the_log_is_whole(tmp_path: Path) -> None:
    """As in a checkpoint that was killed: the file is shorter than the database, the log holds the rest."""
    left = tmp_path / "left"
    async with open_database(tmp_path / "data") as database:
        await database.store._writer.alone(lambda c: c.execute("PRAGMA wal_autocheckpoint = 0").fetchall())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way to a long log
        lines = [Line(id=f"l{n}", conversation="c", position=n, text="x" * 2_000) for n in range(COUNT)]
        await database.store.commit("ann", [Put(LINES, line) for line in lines])
        shutil.copytree(tmp_path / "data", left)
    assert (left / FILE_NAME).stat().st_size < COUNT * 2_000
    async with open_database(left) as database:
        assert await database.store.count("ann", LINES, {}) == COUNT
