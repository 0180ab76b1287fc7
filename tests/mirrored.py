"""Facts and a vault of a test's own, kept one memory by a mirror, over a store in memory and real files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from bethink.clock import Ids, check_time_zone
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus
from bethink.memory import Fact, Memory, NewFact
from bethink.mirror import Mirror
from bethink.principal import LOCAL_OWNER, Principal
from tests.vaults import ME, Kept, kept_in


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Both sides, and short ways to change them and look at them."""

    kept: Kept
    memory: Memory
    mirror: Mirror

    async def settle(self) -> None:
        """Take in what changed in the files, and compare."""
        await self.kept.vault.sync(LOCAL_OWNER)
        await self.mirror.settle(LOCAL_OWNER)

    async def stored(self, content: str, **more: str) -> Fact:
        """A fact, with its line."""
        changed = await self.memory.add(ME, NewFact(content, **more))  # pyright: ignore[reportArgumentType] - by name
        await self.settle()
        return changed.fact

    async def facts(self, state: str = "active") -> list[str]:
        """What the facts of a state say, sorted."""
        return sorted(
            [fact.content async for page in self.memory.pages(ME, {"state": state}) for fact in page]
        )

    def text(self, path: str = "memories/general.md") -> str:
        """What a file holds, "" where there is none."""
        file = self.kept.root / path
        return file.read_text() if file.exists() else ""

    def lines(self) -> list[str]:
        """The facts' lines of all files, without their ids, sorted."""
        files = sorted(self.kept.root.rglob("*.md"))
        found = [line for file in files for line in file.read_text().splitlines() if " ^fact-" in line]
        return sorted(line.removeprefix("- ").rpartition(" ^fact-")[0] for line in found)

    def edit(self, old: str, new: str, path: str = "memories/general.md") -> None:
        """Change a file as an editor does."""
        text = self.text(path)
        assert old in text, text
        self.kept.file(path, text.replace(old, new, 1))

    def cut(self, said: str, path: str = "memories/general.md") -> str:
        """Delete the line that says something; the line."""
        lines = self.text(path).splitlines(keepends=True)
        (gone,) = [line for line in lines if said in line]
        self.kept.file(path, "".join(line for line in lines if line is not gone))
        return gone


async def mirrored_in(directory: Path, *, kept: Kept | None = None) -> Mirrored:
    await anyio.to_thread.run_sync(check_time_zone, ME.time_zone)
    # What lies in this folder is its owner's: these tests are about both sides saying the same.
    made = kept or kept_in(directory, trust="owner")

    async def find(
        principal: Principal, query: str, k: int, *, as_of: int | None = None
    ) -> Sequence[tuple[Fact, float]]:
        del principal, query, k, as_of
        return ()

    clock = made.clock
    memory = Memory(made.store, made.index, HashingEmbeddings(), clock, Ids(clock), find)
    mirror = Mirror(memory, made.vault, MemoryBus(), Principal)
    if kept is None:
        await made.vault.begin(ME)
    return Mirrored(made, memory, mirror)
