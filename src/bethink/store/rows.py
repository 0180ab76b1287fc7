"""A record as what an adapter keeps of it. Every adapter of the port calls this."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import BadInput, CorruptDatabase, NewerSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.store import Collection, Key, R, Scan


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
        raise BadInput("The cursor cannot be read; begin again with the first page.") from error
    fingerprint, key, id = parts
    if fingerprint != _fingerprint(scan):
        raise BadInput("The cursor belongs to another list; begin again with the first page.")
    check_key(key)
    check_key(id)
    return Position(key, id)


def _fingerprint(scan: Scan[Any]) -> str:
    parts = (scan.collection.name, sorted(scan.where.items()), scan.order, scan.low, scan.high, scan.reverse)
    return hashlib.blake2s(msgspec.json.encode(parts), digest_size=_FINGERPRINT_BYTES).hexdigest()


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
