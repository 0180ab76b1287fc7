"""A backup, a restore and a migration in a process that is killed at one step after the other.

`python -m tests.killed_backups DIRECTORY EVERY [URL]`, with an address of an empty PostgreSQL database for a
backup of that, and migrations there and back, too. A step is one change of the disk: a file flushed, put in
its place or removed, a directory made, a commit. A child does the same each time and is killed (SIGKILL)
before a step, at each that EVERY divides, and of a migration to PostgreSQL at each; another child looks what
is left. Prints a line for each fault, and last how many were killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import asyncpg

from bethink.backups.contents import BackupHome, copy_files
from bethink.backups.service import BackupService
from bethink.clock import FakeClock
from bethink.documents.work_folders import clear_left_over
from bethink.engines.postgres.store import PostgresStore
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import SqliteStore, open_database
from bethink.errors import BadInput
from bethink.migration import migrate, open_side
from bethink.settings import Settings
from bethink.store import Put
from tests.contract.records import LINES, Line

_STEPS = ("fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "utime")
_LINES = 300
_US_PER_MINUTE = 60_000_000


def service_in(home: Path, minute: int, url: str | None = None) -> BackupService:
    plan = {"every_hours": 1, "keep": 1}
    given = {"data_dir": home, "database_url": url, "backups": plan}
    clock = FakeClock(1_770_000_000_000_000 + minute * _US_PER_MINUTE)
    return BackupService(Settings.model_validate(given), clock, (LINES,))


async def make(home: Path) -> None:
    """A home with a backup by the rhythm, and changes since."""
    async with open_database(home) as database:
        for number in range(_LINES):
            line = Line(id=f"line{number}", conversation="c", position=number, text=f"text {number}" * 40)
            await database.store.commit("ann", [Put(LINES, line)])
            if number == 10:
                (home / "vault").mkdir()
                (home / "vault" / "a.md").write_text("one")
                await service_in(home, 0).create("scheduled")
    (home / "vault" / "a.md").write_text("two")
    (home / "vault" / "b.md").write_text("three")


async def fill(url: str) -> None:
    """Have a server's database hold something."""
    async with open_side(url) as side:
        for number in range(_LINES):
            line = Line(id=f"line{number}", conversation="c", position=number, text=f"text {number}" * 40)
            await side.store.commit("ann", [Put(LINES, line)])


async def database_of(home: Path, url: str) -> str:
    """The address of a home's own database beside that of `url`; made if it is not there."""
    name = home.parent.name
    connection = await asyncpg.connect(url)
    try:
        if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", name):
            await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    return urlsplit(url)._replace(path=f"/{name}").geturl()


async def there(home: Path, url: str) -> None:
    """Move the home's database to a PostgreSQL."""
    target = await database_of(home, url)
    async with open_side(str(home), is_new=False) as source, open_side(target) as written:
        await migrate(source, written, (LINES,), tell=lambda *_: None)


async def back(home: Path, url: str) -> None:
    """Move a PostgreSQL's records to a directory."""
    async with open_side(url) as source, open_side(str(home.with_name("new"))) as written:
        await migrate(source, written, (LINES,), tell=lambda *_: None)


async def look_at_there(home: Path, url: str) -> list[str]:
    """What is wrong once it was gone on with: the home, or what is in its database."""
    await _gone_on(there(home, url))
    async with open_side(await database_of(home, url)) as side:
        count = await side.store.count("ann", LINES, {})
    return [] if (_lines(home), count) == (_LINES, _LINES) else [f"{_lines(home)} here, {count} there"]


async def look_at_back(home: Path, url: str) -> list[str]:
    """What is wrong once it was gone on with: the database, or what is in the directory."""
    await _gone_on(back(home, url))
    async with open_side(url) as side:
        count = await side.store.count("ann", LINES, {})
    lines = _lines(home.with_name("new"))
    return [] if (lines, count) == (_LINES, _LINES) else [f"{lines} here, {count} there"]


async def _gone_on(migration: Awaitable[None]) -> None:
    try:
        await migration
    except BadInput as error:
        # It had ended.
        if "is not empty" not in error.message:
            raise


async def back_up(home: Path, url: str | None = None) -> None:
    """Make the second backup, which takes the place of the first."""
    await service_in(home, 1, url).create("scheduled")


async def restore(home: Path) -> None:
    """Bring the backup back beside the home."""
    await service_in(home, 1).restore("latest", home.with_name("new"))


async def move(home: Path) -> None:
    """Move the home's database and files to another directory."""
    async with open_side(str(home), is_new=False) as source, open_side(str(home.with_name("new"))) as target:
        copy = partial(copy_files, BackupHome(home), home.with_name("new"))
        also = partial(anyio.to_thread.run_sync, copy)
        await migrate(source, target, (LINES,), tell=lambda *_: None, also=also)


async def look_at_moved(home: Path) -> list[str]:
    """What is wrong with either side once the migration was gone on with."""
    new, faults = home.with_name("new"), list[str]()
    if _lines(home) != _LINES:
        faults.append("the source lost records")
    await _gone_on(move(home))
    if _lines(new) != _LINES or (new / "vault" / "a.md").read_text() != "two":
        faults.append("the target is not whole")
    return faults


def _lines(home: Path) -> int:
    with closing(sqlite3.connect(home / FILE_NAME)) as connection:
        try:
            return connection.execute("SELECT count(*) FROM messages").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


async def look(home: Path, url: str | None = None) -> list[str]:
    """What is wrong with the backups; then make another one, which clears up."""
    service, faults = service_in(home, 2, url), list[str]()
    for one in await service.list():
        if (found := await service.verify(one.id)).fault:
            faults.append(f"{one.id}: {found.fault}")
    if not await service.list():
        faults.append("no backup is left")
    clear_left_over(home / "unpacking")
    await service.create("scheduled")
    (newest,) = await service.list()
    named = {part for file in service.repository.open(newest.id, None).contents.files for part in file.parts}
    parts = service.repository.root / "parts"
    if {"".join(path.parts[-2:]) for path in parts.rglob("*") if path.is_file()} != named:
        faults.append("parts are left over")
    if left := list((home / "unpacking").iterdir()):
        faults.append(f"left behind: {left}")
    return faults


async def look_at_new(home: Path) -> list[str]:
    """What is wrong with the restored directory, which is whole or not there."""
    new = home.with_name("new")
    faults: list[str] = []
    if not new.exists():
        await service_in(home, 2).restore("latest", new)
    with closing(sqlite3.connect(new / FILE_NAME)) as connection:
        if connection.execute("SELECT count(*) FROM messages").fetchone() != (11,):
            faults.append("records are missing")
    if (new / "vault" / "a.md").read_text() != "one":
        faults.append("a page is missing")
    clear_left_over(home.with_name(".new.restoring"))
    if left := list(home.parent.glob(".new.restoring/*")):
        faults.append(f"left behind: {left}")
    return faults


_Tried = tuple[str, int, Callable[[Path], Awaitable[None]], Callable[[Path], Awaitable[list[str]]]]
"""The name, how many steps lie between two kills, what is done, and who looks then."""


def count_steps(last: int) -> list[int]:
    """Have each change of the disk be a step, and the process end before the last one that it may take."""
    taken = [0]
    for name in _STEPS:
        setattr(os, name, _counted(getattr(os, name), taken, last))
    for store in (SqliteStore, PostgresStore):
        setattr(store, "commit", _counted(store.commit, taken, last))  # noqa: B010 - of another type
    return taken


def _counted(call: Callable[..., object], taken: list[int], last: int) -> Callable[..., object]:
    def stepping(*given: object, **more: object) -> object:
        if taken[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        taken[0] += 1
        return call(*given, **more)

    return stepping


def main(directory: Path, every: int, url: str | None = None) -> None:
    """Kill a child at each of so many steps, and look."""
    template = directory / "template"
    _in_child(lambda: anyio.run(make, template))
    total = 0
    tried: list[_Tried] = [
        ("backup", every, back_up, look),
        ("restore", every, restore, look_at_new),
        ("move", every, move, look_at_moved),
    ]
    if url is not None:
        _in_child(lambda: anyio.run(fill, url))
        tried.append(("server", every, partial(back_up, url=url), partial(look, url=url)))
        tried.append(("there", 1, partial(there, url=url), partial(look_at_there, url=url)))
        tried.append(("back", every, partial(back, url=url), partial(look_at_back, url=url)))
    for name, between, act, see in tried:
        last = 0
        while True:
            place = directory / f"{name}{last}"
            home = place / "home"
            shutil.copytree(template, home, copy_function=shutil.copy2)
            ended = _in_child(lambda act=act, home=home, last=last: _act(act, home, last))
            if _in_child(lambda see=see, home=home, name=name, last=last: _see(see, home, f"{name} {last}")):
                sys.stdout.write(f"{name} killed before step {last}: it cannot be looked at\n")
            shutil.rmtree(place)
            if not ended:
                break
            total += 1
            last += between
    sys.stdout.write(f"{total} kills\n")


def _act(act: Callable[[Path], Awaitable[None]], home: Path, last: int) -> None:
    count_steps(last)
    anyio.run(act, home)


def _see(see: Callable[[Path], Awaitable[list[str]]], home: Path, told: str) -> None:
    for fault in anyio.run(see, home):
        sys.stdout.write(f"killed in {told}: {fault}\n")


def _in_child(do: Callable[[], object]) -> int:
    """Run it in a process of its own; how that ended."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            do()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
