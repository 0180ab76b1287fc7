"""Everything of one database into another one, over the ports: the command line calls `migrate`.

`backups` calls `bring` for a copy of a server's database, and `migrate` to restore one.

What is read stays as it is. The target is empty, or holds what an earlier attempt brought: that is compared
and only what differs is written, so an attempt that was cut short is gone on with by doing it again. Behind
them each owner's records of a collection are counted and hashed on both sides, with what is searched of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec

from bethink.engines.postgres.sealed import state_in, take_seal
from bethink.engines.postgres.store import open_database as open_postgres
from bethink.engines.sqlite.bus import is_in_use
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput, Busy, StorageError
from bethink.sealing import cipher_by, cipher_of, keep_state, state_of
from bethink.store import Collection, Delete, Put, Record, Scan, owners_of, pages_of

if TYPE_CHECKING:
    from bethink.index import Index, IndexItem
    from bethink.store import Change, Key, Store, Versioned

_PAGE: Final = 200
_APART: Final = 2e-3
"""How far a component of a vector may move: PostgreSQL keeps eleven bits of it."""
_OWNER: Final = "migration"
_ID: Final = "migration"
_POSTGRES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Side:
    """A store with its index, and how a person calls it."""

    store: Store
    index: Index
    name: str


class Migration(Record, frozen=True, kw_only=True):
    """That a migration from `source` into this database has begun, and did not end."""

    id: str = _ID
    source: str


MIGRATIONS: Final = Collection("migration", Migration, searchable=False)


class _Document(Record, frozen=True, kw_only=True):
    """A record of any type, as its JSON."""

    body: bytes


class _Documents(Collection[_Document]):
    """Records of several types in one collection, which has no keys."""

    def encode(self, record: _Document) -> bytes:
        """The JSON."""
        return record.body

    def decode(self, body: bytes) -> _Document:
        """The record of a JSON; an engine may have kept spaces behind it."""
        return _Document(id=msgspec.json.decode(body)["id"], body=body.rstrip(b" "))

    def keys_of(self, record: _Document) -> tuple[Key, ...]:
        """None."""
        del record
        return ()


def moved(collections: Iterable[Collection[Any]]) -> list[Collection[Any]]:
    """The collections as they are moved: of one name, one."""
    by_name: dict[str, list[Collection[Any]]] = {}
    for one in collections:
        by_name.setdefault(one.name, []).append(one)
    found: list[Collection[Any]] = []
    for name, same in by_name.items():
        if len({one.record for one in same}) == 1:
            found.append(same[0])
        else:
            schema = max(one.schema for one in same)
            found.append(_Documents(name, _Document, schema=schema, searchable=False))
    return found


@dataclass(slots=True)
class Moved:
    """What was moved: how many records of each collection, of which owners; `digest` is of all of it."""

    records: dict[str, int] = field(default_factory=dict[str, int])
    owners: set[str] = field(default_factory=set[str])
    digest: str = ""


async def migrate(
    source: Side,
    target: Side,
    collections: Iterable[Collection[Any]],
    *,
    tell: Callable[[str, int], None],
    also: Callable[[], Awaitable[object]] | None = None,
) -> Moved:
    """Bring everything into the target, and prove that it is there; `tell` hears of each collection.

    `also` brings what lies beside the databases; until it is done, the migration has not ended.

    Raises:
        BadInput: the target holds something else.
        StorageError: the source changed meanwhile, or a side cannot be read or written: do it again.
    """
    kinds = moved(collections)
    await _begin(source, target, kinds)
    result = await bring(source, target, kinds, tell=tell)
    if also is not None:
        await also()
    await target.store.commit(_OWNER, [Delete(MIGRATIONS, _ID)])
    return result


async def bring(
    source: Side, target: Side, collections: Iterable[Collection[Any]], *, tell: Callable[[str, int], None]
) -> Moved:
    """Have the target hold what the source has, and nothing else, and prove it; what is alike stays.

    Raises:
        StorageError: the source changed meanwhile, or a side cannot be read or written.
    """
    result, digest = Moved(), hashlib.sha256()
    for collection in moved(collections):
        pair, count = _Pair(source, target, collection), 0
        async for owner in owners_of(target.store, collection):
            await pair.drop_others(owner)
        async for owner in owners_of(source.store, collection):
            await pair.copy(owner)
            proof, of_owner = await pair.proof(owner)
            digest.update(proof)
            count += of_owner
            result.owners.add(owner)
        result.records[collection.name] = count
        tell(collection.name, count)
    result.digest = digest.hexdigest()
    return result


async def _begin(source: Side, target: Side, kinds: Sequence[Collection[Any]]) -> None:
    if source.name == target.name:
        raise BadInput(f"Both sides are {source.name}: name another one to write.")
    (begun,) = await target.store.get(MIGRATIONS, _OWNER, [_ID])
    if begun is not None:
        if begun.record.source != source.name:
            raise BadInput(
                f"{target.name} holds a part of {begun.record.source}: go on with that, or take an empty one."
            )
        return
    for collection in kinds:
        if await target.store.owners(collection, limit=1):
            raise BadInput(f"{target.name} is not empty ({collection.name}): take an empty database.")
    await target.store.commit(_OWNER, [Put(MIGRATIONS, Migration(source=source.name))])


@dataclass(frozen=True, slots=True)
class _Pair:
    """One collection on both sides."""

    source: Side
    target: Side
    collection: Collection[Any]

    async def copy(self, owner: str) -> None:
        """Have the target hold what the source has of an owner."""
        async for _, changes in self._compared(owner):
            if changes:
                await self.target.store.commit(owner, changes)

    async def drop_others(self, owner: str) -> None:
        """Have the target hold no record that the source has not: it went since an earlier attempt."""
        async for page in pages_of(self.target.store, owner, Scan(self.collection, limit=_PAGE)):
            ids = [item.record.id for item in page]
            there = await self.source.store.get(self.collection, owner, ids)
            gone = [Delete(self.collection, id) for id, held in zip(ids, there, strict=True) if held is None]
            if gone:
                await self.target.store.commit(owner, gone)

    async def proof(self, owner: str) -> tuple[bytes, int]:
        """The digest of an owner's records, which both sides have, and how many they are.

        Raises:
            StorageError: the sides differ.
        """
        digest, count = hashlib.sha256(f"{self.collection.name}\0{owner}\0".encode()), 0
        async for lines, changes in self._compared(owner):
            if changes:
                raise self._differs(owner)
            count += len(lines)
            digest.update(b"".join(lines))
        if await self.target.store.count(owner, self.collection, {}) != count:
            raise self._differs(owner)
        return digest.digest(), count

    def _differs(self, owner: str) -> StorageError:
        return StorageError(
            f"{self.collection.name} of {owner!r} changed while it was moved: stop Bethink on both"
            " sides, then do it again. Nothing that was there is lost."
        )

    async def _compared(self, owner: str) -> AsyncGenerator[tuple[list[bytes], list[Change]]]:
        """The source's records a page at a time, as lines, and what the target lacks of them."""
        async for page in pages_of(self.source.store, owner, Scan(self.collection, limit=_PAGE)):
            ids = [item.record.id for item in page]
            held = await self.target.store.get(self.collection, owner, ids)
            items, there = (
                await self._items(self.source, owner, ids),
                await self._items(self.target, owner, ids),
            )
            lines = [self._line(item, items.get(item.record.id)) for item in page]
            yield (
                lines,
                [
                    Put(self.collection, item.record, index=items.get(item.record.id))
                    for item, line, other in zip(page, lines, held, strict=True)
                    if other is None
                    or self._line(other, there.get(item.record.id)) != line
                    or not _agree(items.get(item.record.id), there.get(item.record.id))
                ],
            )

    async def _items(self, side: Side, owner: str, ids: Sequence[str]) -> dict[str, IndexItem]:
        return await side.index.items(owner, ids) if self.collection.searchable and ids else {}

    def _line(self, item: Versioned[Any], found: IndexItem | None) -> bytes:
        """A record and what is searched of it, but for its vectors, which engines round otherwise."""
        said: list[object] = []
        if found is not None:
            model = found.model and (found.model.id, found.model.tokenizer, found.model.dimensions)
            names = [found.conversation, found.project, found.speaker, found.held_from, found.held_until]
            said = [found.kind, found.text, found.at, model, *names, found.part_of]
        return self.collection.encode(item.record) + b"\0" + msgspec.json.encode(said) + b"\n"


def _agree(one: IndexItem | None, other: IndexItem | None) -> bool:
    """Whether two items have the same vectors, as closely as engines keep them."""
    left, right = one and one.vector, other and other.vector
    if left is None or right is None:
        return left is None and right is None
    apart = abs(left.ravel() - right.ravel()).max() if left.size == right.size else _APART
    return bool(apart < _APART)


def directory_of(address: str) -> Path | None:
    """The data directory of an address; None if it is another database's."""
    if address.startswith(_POSTGRES):
        return None
    return Path(address.removeprefix("sqlite://")).expanduser().absolute()


async def carry_seal(source: str, target: str, master_key: str | None) -> None:
    """Have an empty side be sealed as the one that is read, by the same key; files stay as they are sealed.

    Raises:
        BadInput: the side to write is sealed otherwise.
        StorageError: the source is sealed, and `master_key` is not its key; or a side cannot be used.
    """
    here, there = directory_of(source), directory_of(target)
    if here is None:
        state = await state_in(source)
    else:
        state = await anyio.to_thread.run_sync(state_of, here)
    cipher = await anyio.to_thread.run_sync(cipher_by, state, master_key)
    if there is None:
        await take_seal(target, state, cipher)
    elif state is not None:
        if await anyio.to_thread.run_sync(state_of, there) not in {None, state}:
            raise BadInput(f"{there} is sealed with another key: take an empty directory.")
        await anyio.to_thread.run_sync(keep_state, there, state)


@asynccontextmanager
async def open_side(
    address: str, *, is_new: bool = True, master_key: str | None = None
) -> AsyncGenerator[Side]:
    """One side of a migration: the database of a data directory, or PostgreSQL; closed with the block.

    Raises:
        BadInput: there is no database, and none may be made: `is_new` is false.
        StorageError: it is sealed, and `master_key` is not its key.
        Busy: a Bethink uses the data directory.
        StorageError: it cannot be opened.
    """
    directory = directory_of(address)
    if directory is None:
        parts = urlsplit(address)
        name = f"postgresql://{parts.hostname or ''}{parts.path}"
        cipher = await anyio.to_thread.run_sync(cipher_by, await state_in(address), master_key)
        async with open_postgres(address, cipher) as held:
            yield Side(held.store, held.index, name)
        return
    if not is_new and not await anyio.to_thread.run_sync((directory / FILE_NAME).exists):
        raise BadInput(f"There is no database in {directory}: name the data directory to read.")
    if await anyio.to_thread.run_sync(is_in_use, directory):
        raise Busy(f"A Bethink uses {directory}: stop it first.")
    cipher = await anyio.to_thread.run_sync(cipher_of, directory, master_key)
    async with open_database(directory, cipher) as database:
        yield Side(database.store, database.index, str(directory))
