"""Where a page of a scan ends. Every adapter of the port calls this."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import BadInput
from bethink.store.rows import check_key, check_where

if TYPE_CHECKING:
    from bethink.store import Scan

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
