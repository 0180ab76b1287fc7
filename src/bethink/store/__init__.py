"""Port: records, and what of them is searchable, in atomic batches.

Every feature keeps its records here. A `Collection` declares a record type and
the keys by which it can be scanned; a record is a frozen msgspec Struct with an
`id` and those keys as attributes. Owner is part of every key: no call reads or
changes more than one owner's records (`owners` tells whose there are), and
every batch belongs to one owner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.index import IndexItem


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept: anything with an opaque id. Subclasses are frozen too."""

    id: str


R = TypeVar("R", bound=Record)
Key = str | int | None


@dataclass(frozen=True, slots=True)
class Collection(Generic[R]):
    """Records of one type.

    `keys` are attributes of the record by which it is found or ordered, each
    text or integer, None allowed. `scans` are those groups of them by which a
    scan must be quick: equal keys first, what it is ordered by last. Engines
    make tables and indexes from these. `schema` is the version of the record's
    shape: a row with a greater one is refused as `NewerSchema`. Records of one
    that is not `searchable` never have an index item.
    """

    name: str
    record: type[R]
    keys: tuple[str, ...] = ()
    scans: tuple[tuple[str, ...], ...] = ()
    schema: int = 1
    searchable: bool = True
    _decoder: msgspec.json.Decoder[R] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Made here and not by the first to decode: msgspec 0.22 ends the process where two threads
        # decode a type at once that it has not looked at before.
        object.__setattr__(self, "_decoder", msgspec.json.Decoder(self.record))

    def encode(self, record: R) -> bytes:
        """The record as JSON."""
        return msgspec.json.encode(record)

    def decode(self, body: bytes) -> R:
        """The record of `encode`.

        Raises:
            msgspec.ValidationError: the bytes are not such a record.
        """
        return self._decoder.decode(body)

    def keys_of(self, record: R) -> tuple[Key, ...]:
        """The values of `keys`, in order."""
        return tuple(getattr(record, key) for key in self.keys)


@dataclass(frozen=True, slots=True)
class Versioned(Generic[R]):
    """A record and how many times it was put; the version is what `if_version` compares."""

    record: R
    version: int


@dataclass(frozen=True, slots=True)
class Put(Generic[R]):
    """Keep a record, replacing one with the same id.

    `if_version` refuses the whole batch with `Conflict` unless the record has
    that version now; 0 means it must not exist yet, None means any. `index`
    replaces the record's index item; None removes it.
    """

    collection: Collection[R]
    record: R
    if_version: int | None = None
    index: IndexItem | None = None


@dataclass(frozen=True, slots=True)
class SetVector:
    """Give an index item its vector, if its text is still `text`, the one embedded.

    Otherwise nothing happens: a newer put brings its own. `vector` is float32,
    shape (d,), L2-normalised, made by `model`.
    """

    id: str
    text: str
    vector: NDArray[np.float32]
    model: EmbeddingModel


@dataclass(frozen=True, slots=True)
class Delete(Generic[R]):
    """Remove a record and its index item; nothing happens if it is not there.

    `if_version` refuses the whole batch with `Conflict` unless the record has
    that version now.
    """

    collection: Collection[R]
    id: str
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteAll(Generic[R]):
    """Remove every record whose keys equal `where`, and their index items.

    An empty `where` removes all the owner's records of the collection.
    """

    collection: Collection[R]
    where: Mapping[str, Key] = field(default_factory=dict[str, Key])


@dataclass(frozen=True, slots=True)
class Expect(Generic[R]):
    """Change nothing, but refuse the whole batch with `Conflict` unless the record has this version now.

    0 means that there is none.
    """

    collection: Collection[R]
    id: str
    version: int


Change = Put[Any] | Delete[Any] | DeleteAll[Any] | SetVector | Expect[Any]


@dataclass(frozen=True, slots=True)
class Scan(Generic[R]):
    """Which records, in which order.

    Records whose keys equal `where`, ordered by the key `order` (a number, None
    first) and then by id; without `order`, by id. `low` (inclusive) and `high`
    (exclusive) bound the order key. `after` is a `Page.cursor`.
    """

    collection: Collection[R]
    where: Mapping[str, Key] = field(default_factory=dict[str, Key])
    order: str | None = None
    low: int | None = None
    high: int | None = None
    reverse: bool = False
    limit: int = 100
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """Some records in order; `cursor` continues behind the last one, None at the end."""

    items: tuple[Versioned[R], ...] = ()
    cursor: str | None = None


class Store(Protocol):
    """Records of all features.

    Every commit that changes index items gets a change number of its owner, greater than any before it;
    readers catch up by it. An engine with concurrent writers takes a lock of the owner for each commit, so
    that no number appears behind a greater one.
    """

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Apply all changes, or none; durable when it returns.

        Batches of one owner are applied in the order in which a process hands
        them in. A cancelled call may or may not have been applied.

        Raises:
            Conflict: an `if_version` did not hold.
            DiskFull: there is no room; nothing was written.
            StorageError: the store cannot be written.
        """
        ...

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        """The records with these ids, in their order, None where there is none.

        Raises:
            NewerSchema: a newer program wrote one of them.
        """
        ...

    async def scan(self, owner: str, *scans: Scan[R]) -> list[Page[R]]:
        """A page of records for each scan, in order; many small ones cost little more than one.

        Raises:
            BadInput: a cursor is not of its scan.
            NewerSchema: a newer program wrote one of the records.
        """
        ...

    async def count(self, owner: str, collection: Collection[R], where: Mapping[str, Key]) -> int:
        """How many records have keys equal to `where`."""
        ...

    async def owners(
        self, collection: Collection[Any], *, after: str = "", limit: int = 100
    ) -> Sequence[str]:
        """Owners of records of the collection, in order, from behind `after`; at most `limit`.

        For work that serves everybody: what one of them has is read as always.
        """
        ...

    async def scrub(self) -> tuple[str, ...]:
        """Leave no trace of what was deleted or overwritten in any file of the store.

        That is: of no text and no vector. Ids, numbers and digests of keys may
        stay. Returns when that is so, within milliseconds however much is
        kept; other processes' readers may delay it.

        What remains out of the store's reach, such as archived logs and replicas, is told in a sentence
        each, for the receipt of who forgets; nothing does on SQLite.

        Raises:
            StorageError: readers held on too long; the deletion itself stands.
        """
        ...
