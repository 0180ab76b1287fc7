"""A vault and its mirror in a process that is killed at one step after the other.

`python -m tests.killed DIRECTORY EVERY`. A step is one change of the disk: a file flushed, put in its place,
removed, or a commit of the store. A child does the same each time and is killed (SIGKILL) before a step,
at each that EVERY divides; another child looks what is left. Prints a line for each fault, and last how many
steps there were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from bethink.clock import Ids, SystemClock, check_time_zone
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.sqlite.bus import open_bus
from bethink.engines.sqlite.store import SqliteStore, open_database
from bethink.memory import Fact, Memory, NewFact
from bethink.mirror import Mirror
from bethink.principal import LOCAL_OWNER, Principal
from bethink.settings import Settings
from bethink.store import Change
from bethink.vault import Vault
from bethink.vault.files.page_reader import is_searched_whole

ME = Principal(LOCAL_OWNER)
FACT = "Likes tea"
EDITED = "Likes coffee"


@dataclass(slots=True)
class Steps:
    """Counts the steps, and ends the process before the last one that it may take."""

    left: int
    taken: int = 0

    def take(self) -> None:
        """Count a step that comes now."""
        if self.taken == self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.taken += 1


@dataclass(slots=True)
class Open:
    """A vault with its mirror. `deeds` names what was acknowledged."""

    vault: Vault
    memory: Memory
    mirror: Mirror
    root: Path
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    async def write(self, path: str, text: str) -> None:
        """A page, as the app does."""
        change = await self.vault.write(ME, path, text, by="person")
        self.tokens[path] = change.undo or ""

    async def settle(self) -> None:
        """Take in the files, and compare."""
        await self.vault.sync(LOCAL_OWNER)
        await self.mirror.settle(LOCAL_OWNER)


@asynccontextmanager
async def opened(directory: Path) -> AsyncGenerator[Open]:
    async def find(
        principal: Principal, query: str, k: int, *, as_of: int | None = None
    ) -> Sequence[tuple[Fact, float]]:
        del principal, query, k, as_of
        return ()

    check_time_zone(ME.time_zone)
    clock = SystemClock()
    async with open_database(directory) as database, open_bus(directory) as bus:
        vault = Vault.of(Settings(data_dir=directory), database.store, clock, new_id=Ids(clock))
        memory = Memory(database.store, database.index, HashingEmbeddings(), clock, Ids(clock), find)
        yield Open(vault, memory, Mirror(memory, vault, bus, Principal), vault.root(LOCAL_OWNER))


# --- what is done ---------------------------------------------------------------


async def outside_edit(house: Open) -> None:
    """Another program saves, and the app writes over what nobody has seen."""
    other = house.root / ".a.md.new"
    other.write_text("outside")
    other.rename(house.root / "a.md")
    await house.write("a.md", "three")


async def move(house: Open) -> None:
    """A page gets another name."""
    await house.vault.move(ME, "a.md", "b.md", by="person")


async def delete(house: Open) -> None:
    """A page goes."""
    await house.write("c.md", "sea")
    house.tokens["c.md"] = (await house.vault.delete(ME, "c.md", by="person")).undo or ""


async def bring_back(house: Open) -> None:
    """And comes back."""
    await house.vault.undo(ME, house.tokens["c.md"])


async def remember(house: Open) -> None:
    """A fact, and its line."""
    await house.memory.add(ME, NewFact(FACT))
    await house.settle()


async def correct(house: Open) -> None:
    """The line is edited by another program."""
    page = house.root / "memories" / "general.md"
    page.write_text(page.read_text().replace(FACT, EDITED))
    await house.settle()


DEEDS: Sequence[Callable[[Open], Awaitable[None]]] = (
    lambda house: house.write("a.md", "one"),
    lambda house: house.write("a.md", "two"),
    outside_edit,
    move,
    lambda house: house.write("folder/d.md", "dee"),
    delete,
    bring_back,
    remember,
    correct,
)
FILES: Sequence[dict[str, str]] = (
    {},
    {"a.md": "one"},
    {"a.md": "two"},
    {"a.md": "three"},
    {"b.md": "three"},
    {"b.md": "three", "folder/d.md": "dee"},
    {"b.md": "three", "folder/d.md": "dee"},
    {"b.md": "three", "folder/d.md": "dee", "c.md": "sea"},
)
"""What is there after so many deeds, `memories/` apart."""
BETWEEN: dict[int, Sequence[dict[str, str]]] = {
    2: ({"a.md": "outside"},),
    5: ({"b.md": "three", "folder/d.md": "dee", "c.md": "sea"},),
}
"""What else may be there while a deed is done."""
TEXTS: Sequence[Sequence[str]] = (
    (),
    ("one",),
    ("two",),
    ("outside", "three"),
    (),
    ("dee",),
    ("sea",),
    (),
    (),
    (),
)
"""What was kept for good by each deed."""


def count_steps(steps: Steps) -> None:
    """Have each change of the disk be a step."""
    for name in ("fsync", "link", "rename", "unlink", "mkdir"):
        setattr(os, name, _counted(getattr(os, name), steps))
    commit = SqliteStore.commit

    async def stepping(self: SqliteStore, owner: str, changes: Sequence[Change]) -> None:
        steps.take()
        await commit(self, owner, changes)

    SqliteStore.commit = stepping


def _counted(call: Callable[..., object], steps: Steps) -> Callable[..., object]:
    def stepping(*given: object, **more: object) -> object:
        steps.take()
        return call(*given, **more)

    return stepping


async def do_all(directory: Path, last: int) -> None:
    """Do the deeds, and tell of each once it is done; behind them how many steps there were."""
    steps = Steps(last)
    async with opened(directory) as house:
        await house.vault.begin(ME)
        told = os.open(directory / "told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        count_steps(steps)
        for deed in DEEDS:
            await deed(house)
            os.write(told, b".")
        os.write(told, f"{steps.taken}".encode())
    os._exit(0)


# --- what is left ---------------------------------------------------------------


async def look(directory: Path, done: int) -> list[str]:
    """What is wrong behind so many deeds."""
    faults: list[str] = []
    async with opened(directory) as house:
        vault = house.vault
        await house.settle()
        await house.mirror.settle(LOCAL_OWNER, whole=True)
        await vault.sync(LOCAL_OWNER)
        files = {
            file.relative_to(house.root).as_posix(): file.read_text()
            for file in house.root.rglob("*")
            if file.is_file() and not file.name.startswith(".")
        }
        pages = await vault.pages(LOCAL_OWNER)
        read = {path: (await vault.read(LOCAL_OWNER, path)).version for path in files}
        if {path: page.version for path, page in pages.items()} != read:
            faults.append("pages are not as their files")
        own = {path: text for path, text in files.items() if not path.startswith(("memories/", "user.md"))}
        may = [FILES[min(place, len(FILES) - 1)] for place in (done, done + 1)]
        if own not in (*may, *BETWEEN.get(done, ())):
            faults.append(f"there is {own}")
        if not await is_searched_whole(vault.context, LOCAL_OWNER):
            faults.append("not all is searched")
        faults += await _lost(house, own, done)
        faults += await _of_facts(house, files, done)
        faults += await _undone(house, own)
        vault.context.folder(LOCAL_OWNER).walk(0)
        if left := [file.name for file in house.root.rglob(".bethink-*")]:
            faults.append(f"left behind: {left}")
    return faults


async def _lost(house: Open, own: dict[str, str], done: int) -> list[str]:
    """What was acknowledged is in the history."""
    kept: set[str] = set()
    for path in own:
        for version in await house.vault.history(LOCAL_OWNER, path):
            body = await house.vault.versions.content(LOCAL_OWNER, version.content)
            kept.add("" if body is None else body.decode())
    wanted = {text for texts in TEXTS[: done + 1] for text in texts} - (
        {"sea"} if "c.md" not in own else set()
    )
    return [f"lost: {sorted(wanted - kept)}"] if wanted - kept else []


async def _of_facts(house: Open, files: dict[str, str], done: int) -> list[str]:
    facts = [fact.content async for page in house.memory.pages(ME, {"state": "active"}) for fact in page]
    text = files.get("memories/general.md", "")
    lines = [line[2:].rpartition(" ^fact-")[0] for line in text.splitlines() if " ^fact-" in line]
    if sorted(facts) != sorted(lines):
        return [f"facts {facts}, lines {lines}"]
    wanted = {7: ([], [FACT]), 8: ([FACT], [EDITED]), 9: ([EDITED],)}.get(done, ([],))
    return [] if facts in wanted else [f"facts {facts} after {done}"]


async def _undone(house: Open, own: dict[str, str]) -> list[str]:
    """The newest change of a page can be taken back."""
    faults: list[str] = []
    for path in own:
        version = (await house.vault.history(LOCAL_OWNER, path))[0]
        before = await house.vault.versions.content(LOCAL_OWNER, version.before)
        change = await house.vault.undo(ME, f"page:{version.id}")
        if version.before is None:
            faults += [f"{path} is still there"] if path in await house.vault.pages(LOCAL_OWNER) else []
        elif before is None or (await house.vault.read(LOCAL_OWNER, change.path)).text != before.decode():
            faults.append(f"{path} is not what it was")
    return faults


def main(directory: Path, every: int) -> None:
    """Kill a child at each of so many steps, and look."""
    last, steps = 0, 0
    while not steps:
        home = directory / f"{last}"
        home.mkdir()
        _in_child(lambda home=home, last=last: anyio.run(do_all, home, last))
        told = (home / "told").read_text() if (home / "told").exists() else ""
        steps = int(told.strip(".") or 0)
        done = told.count(".")

        def check(home: Path = home, last: int = last, done: int = done) -> None:
            for fault in anyio.run(look, home, done):
                sys.stdout.write(f"killed before step {last}, {done} deeds done: {fault}\n")
            sys.stdout.flush()

        if _in_child(check):
            sys.stdout.write(f"killed before step {last}, {done} deeds done: it cannot be looked at\n")
        last += every
    sys.stdout.write(f"{steps} steps\n")


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
    main(Path(sys.argv[1]), int(sys.argv[2]))
