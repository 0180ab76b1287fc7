"""Port: records, and what of them is searchable, in atomic batches.

Every feature keeps its records here. A `Collection` declares a record type and
the keys by which it can be scanned; a record is a frozen msgspec Struct with an
`id` and those keys as attributes. Owner is part of every key: no call reads or
changes more than one owner's records (`owners` tells whose there are), and
every batch belongs to one owner.

Features read all of a scan through `records_of` and its like, and repeat an update that another writer came
before through `retry_conflicts`. Adapters keep a record as a `Row` and its place in a scan as a `Position`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, TypeVar

import msgspec

from bethink.errors import BadInput, Conflict, CorruptDatabase, NewerSchema
from bethink.sealing import Cipher, NotSealedSoError

if TYPE_CHECKING:
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

    def __post_init__(self) -> None:
        # Has msgspec look at the type before the first to decode: 0.22 ends the process if two threads
        # decode a type at once that it has not looked at.
        msgspec.json.Decoder(self.record)

    def encode(self, record: R) -> bytes:
        """The record as JSON."""
        return msgspec.json.encode(record)

    def decode(self, body: bytes) -> R:
        """The record of `encode`.

        Raises:
            msgspec.ValidationError: the bytes are not such a record.
        """
        return msgspec.json.decode(body, type=self.record)

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
    shape (d,) or (m, d), L2-normalised, made by `model`.
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
class RecordPage(Generic[R]):
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
        """The records with these ids, in their order, None if there is none.

        Raises:
            NewerSchema: a newer program wrote one of them.
        """
        ...

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
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

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        """Leave no trace of what this owner (None: anybody) deleted or overwrote in any file of the store.

        That is: of no text and no vector. Ids, numbers and digests of keys may
        stay. Returns when that is so, on SQLite within milliseconds however much is
        kept, on PostgreSQL in time that grows with it; other processes' readers may delay it.

        What remains out of the store's reach, such as archived logs and replicas, is told in a sentence
        each, for the receipt of who forgets; nothing does on SQLite.

        Raises:
            StorageError: readers held on too long; the deletion itself stands.
        """
        ...


class Unscrubbed(Record, frozen=True, kw_only=True):
    """An owner of whom something was deleted, of which there may still be traces in the store's files."""


UNSCRUBBED = Collection("unscrubbed", Unscrubbed, searchable=False)
_ONE: Final = "owner"
OWES_SCRUB: Final = Put(UNSCRUBBED, Unscrubbed(id=_ONE))
"""Belongs into a commit that deletes what people said, if nothing else has it scrubbed after `kill -9`."""


async def scrub(store: Store, owner: str) -> tuple[str, ...]:
    """`Store.scrub`, after which it is not owed any more."""
    (owed,) = await store.get(UNSCRUBBED, owner, [_ONE])
    remains = await store.scrub(owner)
    if owed is not None:
        # Whoever deleted something meanwhile owes it still.
        with suppress(Conflict):
            await store.commit(owner, [Delete(UNSCRUBBED, _ONE, owed.version)])
    return remains


_OWNERS = 100


async def pages_of(store: Store, owner: str, scan: Scan[R]) -> AsyncGenerator[tuple[Versioned[R], ...]]:
    """The pages of a scan, to its end; the last one may be empty.

    Each is asked for when the one before it was gone through: later changes behind it are seen.
    """
    while True:
        (page,) = await store.scan(owner, scan)
        yield page.items
        if page.cursor is None:
            return
        scan = replace(scan, after=page.cursor)


async def items_of(store: Store, owner: str, scan: Scan[R]) -> AsyncGenerator[Versioned[R]]:
    """The records of a scan with their versions, to its end."""
    async for page in pages_of(store, owner, scan):
        for item in page:
            yield item


async def records_of(store: Store, owner: str, scan: Scan[R]) -> AsyncGenerator[R]:
    """The records of a scan, to its end."""
    async for page in pages_of(store, owner, scan):
        for item in page:
            yield item.record


async def owners_of(store: Store, *collections: Collection[Any]) -> AsyncGenerator[str]:
    """The owners of records in these collections, in order, each once."""
    after = ""
    while True:
        pages = [await store.owners(collection, after=after, limit=_OWNERS) for collection in collections]
        # Behind the end of a full page there may be more that come before the others' next.
        sure = min((page[-1] for page in pages if len(page) == _OWNERS), default=None)
        for owner in sorted({owner for page in pages for owner in page}):
            if sure is None or owner <= sure:
                yield owner
        if sure is None:
            return
        after = sure


P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 20
"""Two processes that change one record as fast as they can lose five races in a row now and then."""
_PAUSE_S = 0.001
"""Each pause is longer by this than the one before."""


def retry_conflicts(update: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same function, called again while it raises `Conflict`; the last one is raised.

    Each call must read afresh, and do nothing after its commit that may raise `Conflict`. A subclass of
    `Conflict` says that trying again is of no use, and is raised at once.
    """

    @wraps(update)
    async def repeated(*args: P.args, **kwargs: P.kwargs) -> T:
        for lost in range(1, _TRIES):
            try:
                return await update(*args, **kwargs)
            except Conflict as error:
                if type(error) is not Conflict:
                    raise
            await asyncio.sleep(lost * _PAUSE_S)
        return await update(*args, **kwargs)

    return repeated


_FINGERPRINT_BYTES = 6
"""Enough to tell a cursor of another scan; it guards against mistakes, not against forgery."""


@dataclass(frozen=True, slots=True)
class Position:
    """A record's place in a scan: its order key (None without one) and its id."""

    key: int | None
    id: str


def check_scan(scan: Scan[Any]) -> Position | None:
    """Refuse what cannot be scanned, and give the place behind which the page begins.

    Raises:
        ValueError: the scan names what is not a key, or has bounds without an order.
        BadInput: the cursor is not of this scan, or the limit is below 1.
    """
    check_where(scan.collection, scan.where)
    if scan.order is not None and scan.order not in scan.collection.keys:
        raise ValueError(f"the collection {scan.collection.name} has no key {scan.order}")
    if scan.order is None and not (scan.low is None and scan.high is None):
        raise ValueError("bounds need an order")
    if scan.limit < 1:
        raise BadInput("A page has at least one item; ask for a limit of 1 or more.")
    check_key(scan.low)
    check_key(scan.high)
    return None if scan.after is None else _position(scan, scan.after)


ScanBound = tuple[str, tuple[int | str | None, ...]]
"""A condition, with `{}` for each of its values."""


def scan_parts(scan: Scan[Any], after: Position | None, order: str | None) -> list[list[ScanBound]]:
    """Conditions whose rows follow one another in the scan's order, each answered from an index.

    `order` is the order key as it stands in a statement. Rows without it come first (last in reverse) and
    lie outside of any bounds, so a page may begin among them and go on among the others.
    """
    than = "<" if scan.reverse else ">"
    if order is None:
        return [[] if after is None else [(f"id {than} {{}}", (after.id,))]]
    bounds: list[ScanBound] = []
    if scan.low is not None:
        bounds.append((f"{order} >= {{}}", (scan.low,)))
    if scan.high is not None:
        bounds.append((f"{order} < {{}}", (scan.high,)))
    if after is None and not bounds:
        return [[]]
    none: list[list[ScanBound]] = [] if bounds else [[(f"{order} IS NULL", ())]]
    some: list[ScanBound] = [(f"{order} IS NOT NULL", ()), *bounds]
    if after is not None and after.key is None:
        none = [[(f"{order} IS NULL", ()), (f"id {than} {{}}", (after.id,))]]
        return none if scan.reverse else [*none, some]
    if after is not None:
        some.append((f"({order}, id) {than} ({{}}, {{}})", (after.key, after.id)))
    return [some, *none] if scan.reverse else [some]


def order_key(scan: Scan[Any], key: object) -> int | None:
    """A record's value of the order key.

    Raises:
        TypeError: it is a text. Adapters need not keep the order of those.
    """
    if isinstance(key, int | None):
        return key
    raise TypeError(f"the collection {scan.collection.name} has no order by {scan.order}: it is no number")


def cursor(scan: Scan[Any], position: Position) -> str:
    """The text that continues this scan behind `position`."""
    parts = (_fingerprint(scan), position.key, position.id)
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).rstrip(b"=").decode()


def _position(scan: Scan[Any], text: str) -> Position:
    try:
        raw = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        parts = msgspec.json.decode(raw, type=tuple[str, int | None, str])
    except (binascii.Error, UnicodeError, ValueError, msgspec.DecodeError) as error:
        raise BadInput("The cursor is not valid; start again with the first page.") from error
    fingerprint, key, id = parts
    if fingerprint != _fingerprint(scan):
        raise BadInput("The cursor belongs to another list; begin again with the first page.")
    check_key(key)
    check_key(id)
    return Position(key, id)


def _fingerprint(scan: Scan[Any]) -> str:
    parts = (scan.collection.name, sorted(scan.where.items()), scan.order, scan.low, scan.high, scan.reverse)
    return hashlib.blake2s(msgspec.json.encode(parts), digest_size=_FINGERPRINT_BYTES).hexdigest()


_SEAL_BYTES = 8
"""Two of a million different texts are taken for one another in 1 of 37 million files."""


class Seal:
    """Texts as adapters keep them in keys: eight bytes that say nothing.

    A category or a project is a person's word, so nothing that moves or is sampled holds one: for equal
    keys, equal digests are as good. The database's own secret keeps anybody from choosing texts which
    collide.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __call__(self, key: Key) -> int | bytes | None:
        """The key as it is kept; numbers stay as they are."""
        if not isinstance(key, str):
            return key
        return hashlib.blake2b(key.encode(), digest_size=_SEAL_BYTES, key=self._secret).digest()

    def number(self, key: Key) -> int | None:
        """The same, as a number of 64 bits."""
        kept = self(key)
        return int.from_bytes(kept, "big", signed=True) if isinstance(kept, bytes) else kept


_STEP = 64
"""Bodies come in multiples of so many bytes, so that their length says little."""
_STEPS_MAX = 16
"""Long ones come in steps of at least one part in so many of their length."""


def padded(body: bytes) -> bytes:
    """A body with spaces behind it, of a length that many others have, too."""
    step = max(_STEP, (1 << len(body).bit_length()) // (2 * _STEPS_MAX))
    return body.ljust(-(-len(body) // step) * step)


def sealed(cipher: Cipher | None, body: bytes) -> bytes:
    """A body as it is kept: padded and sealed, or as it is without a cipher."""
    return body if cipher is None else cipher.seal(padded(body))


def opened(cipher: Cipher | None, kept: bytes) -> bytes:
    """A body of `sealed`, the spaces behind it included.

    Raises:
        CorruptDatabase: another key sealed it, or it was changed since.
    """
    try:
        return kept if cipher is None else cipher.open(kept)
    except NotSealedSoError as error:
        raise CorruptDatabase(
            "What is kept was changed, or sealed with another key: restore a backup."
        ) from error


_INTEGERS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Row:
    """What is kept of one record: its id, its keys' values in order, and its JSON."""

    id: str
    schema: int
    keys: tuple[Key, ...]
    body: bytes


def row_of(collection: Collection[R], record: R) -> Row:
    """The record's row.

    Raises:
        BadInput: a text holds a lone surrogate (half of a character), or the id
            or a key holds a NUL or an integer beyond 64 bits.
    """
    try:
        body = collection.encode(record)
    except UnicodeEncodeError as error:
        raise BadInput(
            "A text holds half of a character (a lone surrogate); remove or replace it."
        ) from error
    keys = collection.keys_of(record)
    check_text(record.id)
    for key in keys:
        check_key(key)
    return Row(record.id, collection.schema, keys, body)


def check_text(text: str) -> None:
    """Refuse an owner, id or key that not every database can compare.

    Raises:
        BadInput: it holds a NUL or a lone surrogate.
    """
    if "\0" in text:
        raise BadInput("An id or key holds a NUL character; remove it.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadInput("An id or key holds half of a character (a lone surrogate); remove it.") from error


def check_key(key: Key) -> None:
    """Refuse a key's value that not every database can compare.

    Raises:
        BadInput: see `check_text`, or an integer beyond 64 bits.
    """
    match key:
        case None:
            pass
        case str():
            check_text(key)
        case int():
            if key not in _INTEGERS:
                raise BadInput("A number does not fit into 64 bits.")


def check_where(collection: Collection[Any], where: Mapping[str, Key]) -> None:
    """Refuse conditions on what is not a declared key.

    Raises:
        ValueError: a name is not among the collection's keys.
        BadInput: see `check_key`.
    """
    for name, value in where.items():
        if name not in collection.keys:
            raise ValueError(f"the collection {collection.name} has no key {name}")
        check_key(value)


def record_of(collection: Collection[R], id: str, *, schema: int, body: bytes) -> R:
    """The record of a kept body.

    Raises:
        NewerSchema: a newer program wrote it.
        CorruptDatabase: it is not such a record.
    """
    if schema > collection.schema:
        raise NewerSchema(
            f"A record in {collection.name} has schema {schema}; this Bethink reads up to "
            f"{collection.schema}. Start the newer version that wrote it."
        )
    try:
        return collection.decode(body)
    except msgspec.DecodeError as error:
        raise CorruptDatabase(
            f"The record {id} in {collection.name} cannot be read ({error}); restore a backup."
        ) from error
