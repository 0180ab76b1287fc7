"""Which pages may hold a text, told from the three bytes at each of its places.

`catalogue` keeps what is made here. A page's grams are the runs of three bytes of its folded text, each as a
number of 18 bits: some thousand in ten kilobytes. For each gram a row of bits
says which pages hold it; the pages that may hold a text are those in the rows
of all of its grams. A page that holds it is never missed; of those that are
told some do not hold it (two runs share a number, or stand apart), so that
what is shown is looked up in the page.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bethink.vault.search.folding import LEAST_BYTES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Grams = NDArray[np.uint32]
    """Of a page: each once, in ascending order."""

BLOCK: Final = 2_048
"""Pages of which one row tells: a page's number is `block * BLOCK + place`."""
_ROW_BYTES: Final = BLOCK // 8
_SPARSE: Final = 64
"""Up to so many pages are listed instead of a bit for each of the block."""
_GRAM_BITS: Final = 18
"""Of the 24 of three bytes: most runs do not occur in any text, and those that do keep apart well enough."""
_SPREAD: Final = np.uint32(0x9E3779B1)
"""2^32 by the golden ratio (Knuth, "The Art of Computer Programming" 3, 6.4): it spreads like runs."""
_LEVEL: Final = 1
_PORTION: Final = 2_048


def grams_of(text: str) -> Grams:
    """The grams of a text that is folded already."""
    units = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.uint32)
    if len(units) < LEAST_BYTES:
        return np.empty(0, np.uint32)
    numbers = (units[:-2] << np.uint32(16)) | (units[1:-1] << np.uint32(8)) | units[2:]
    numbers *= _SPREAD
    numbers >>= np.uint32(32 - _GRAM_BITS)
    is_there = np.zeros(1 << _GRAM_BITS, np.bool_)
    is_there[numbers] = True
    return np.flatnonzero(is_there).astype(np.uint32)


def packed(grams: Grams) -> bytes:
    """The grams of a page as they are kept beside it."""
    steps = np.diff(grams, prepend=np.uint32(0)).astype("<u4")
    return zlib.compress(steps.tobytes(), _LEVEL)


def unpacked(body: bytes) -> Grams:
    """The grams of `packed`."""
    return np.cumsum(np.frombuffer(zlib.decompress(body), "<u4"), dtype=np.uint32)


def change(connection: sqlite3.Connection, gone: Mapping[int, Grams], come: Mapping[int, Grams]) -> None:
    """Take pages, by their numbers, out of the rows of grams that they had, and into those that they have."""
    # What a page had and still has stays as it is: an edit touches few rows.
    away = {number: _without(old, come.get(number)) for number, old in gone.items()}
    more = {number: _without(new, gone.get(number)) for number, new in come.items()}
    for block in sorted({number // BLOCK for number in (*away, *more)}):
        off, on = (
            {number % BLOCK: grams for number, grams in some.items() if number // BLOCK == block}
            for some in (away, more)
        )
        _Block(connection, block).turn(off, on)


def may_hold(connection: sqlite3.Connection, text: str) -> NDArray[np.int64] | None:
    """The numbers of the pages that may hold a folded text, in order; None where every page may."""
    wanted = [int(gram) for gram in grams_of(text)]
    if not wanted:
        return None
    (blocks,) = connection.execute("SELECT max(block) FROM grams").fetchone()
    found: list[NDArray[np.int64]] = []
    for block in range(-1 if blocks is None else blocks + 1):
        rows = _rows(connection, block, wanted)
        if len(rows) == len(wanted):
            common = np.bitwise_and.reduce(np.stack([_bits(row) for row in rows.values()]))
            found.append(np.flatnonzero(np.unpackbits(common, bitorder="little")) + block * BLOCK)
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _without(grams: Grams, others: Grams | None) -> Grams:
    return grams if others is None else np.setdiff1d(grams, others, assume_unique=True)


class _Block:
    """The rows of as many pages as a row tells of."""

    def __init__(self, connection: sqlite3.Connection, block: int) -> None:
        self.connection = connection
        self.block = block

    def turn(self, off: Mapping[int, Grams], on: Mapping[int, Grams]) -> None:
        """Take these places out of these rows, and into those."""
        is_touched = np.zeros(1 << _GRAM_BITS, np.bool_)
        for grams in (*off.values(), *on.values()):
            is_touched[grams] = True
        touched = np.flatnonzero(is_touched)
        before = _rows(self.connection, self.block, touched.tolist())
        bits = np.zeros((len(touched), _ROW_BYTES), np.uint8)
        for row, gram in enumerate(touched.tolist()):
            if gram in before:
                bits[row] = _bits(before[gram])
        row_of = np.cumsum(is_touched, dtype=np.int32) - 1
        for place, grams in off.items():
            bits[row_of[grams], place >> 3] &= np.uint8(0xFF ^ (1 << (place & 7)))
        for place, grams in on.items():
            bits[row_of[grams], place >> 3] |= np.uint8(1 << (place & 7))
        self._keep(touched, bits)

    def _keep(self, grams: NDArray[np.int64], bits: NDArray[np.uint8]) -> None:
        counts = np.bitwise_count(bits).sum(axis=1)
        full = counts > _SPARSE
        self._put(grams[full], [row.tobytes() for row in bits[full]])
        sparse = (counts > 0) & ~full
        for rows in _some(np.flatnonzero(sparse)):
            ends = (np.cumsum(counts[rows]) * 2).tolist()
            places = (
                np.nonzero(np.unpackbits(bits[rows], axis=1, bitorder="little"))[1].astype("<u2").tobytes()
            )
            self._put(grams[rows], [places[a:b] for a, b in pairwise((0, *ends))])
        self.connection.executemany(
            "DELETE FROM grams WHERE block = ? AND gram = ?",
            [(self.block, gram) for gram in grams[counts == 0].tolist()],
        )

    def _put(self, grams: NDArray[np.int64], pages: Sequence[bytes]) -> None:
        rows = zip(grams.tolist(), pages, strict=True)
        self.connection.executemany(
            "INSERT OR REPLACE INTO grams VALUES (?, ?, ?)", [(self.block, gram, row) for gram, row in rows]
        )


def _some(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows in portions: spelled out, each takes a byte a page."""
    yield from (rows[start : start + _PORTION] for start in range(0, len(rows), _PORTION))


def _rows(connection: sqlite3.Connection, block: int, grams: Sequence[int]) -> dict[int, bytes]:
    found: Iterable[tuple[int, bytes]] = connection.execute(
        "SELECT gram, pages FROM grams WHERE block = ? AND gram IN (SELECT value FROM json_each(?))",
        (block, str(list(grams))),
    )
    return dict(found)


def _bits(row: bytes) -> NDArray[Any]:
    if len(row) == _ROW_BYTES:
        return np.frombuffer(row, np.uint8)
    bits = np.zeros(BLOCK, np.bool_)
    bits[np.frombuffer(row, "<u2")] = True
    return np.packbits(bits, bitorder="little")
