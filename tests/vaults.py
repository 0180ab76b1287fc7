"""A vault of a test's own, over a store in memory and real files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bethink.clock import FakeClock, Ids
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.principal import LOCAL_OWNER, Principal
from bethink.settings import Settings, VaultSettings
from bethink.store import Store
from bethink.vault import Vault

ME = Principal(LOCAL_OWNER)


@dataclass(frozen=True, slots=True)
class Kept:
    """A vault, its folder, and what it stands on."""

    vault: Vault
    root: Path
    store: Store
    index: MemoryIndex
    clock: FakeClock

    def file(self, path: str, text: str | bytes) -> Path:
        """Write a file as another program does."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    async def written(self, path: str, text: str) -> str:
        """Write a page; the token that takes it back."""
        change = await self.vault.write(ME, path, text, by="person")
        assert change.undo is not None
        return change.undo


def kept_in(directory: Path, *, store: MemoryStore | None = None, **sizes: object) -> Kept:
    index = MemoryIndex()
    store = store or MemoryStore(index)
    clock = FakeClock()
    settings = Settings(data_dir=directory, vault=VaultSettings(**sizes))  # pyright: ignore[reportArgumentType] - by name
    vault = Vault.of(settings, store, clock, new_id=Ids(clock))
    return Kept(vault, directory / "vault", store, index, clock)
