"""All that a store holds of something, read by the page.

Each page is asked for once the one before it was gone through, so what is
changed meanwhile behind it is met as it is then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.store import Collection, R, Scan, Store, Versioned

_OWNERS = 100


async def pages_of(store: Store, owner: str, scan: Scan[R]) -> AsyncGenerator[tuple[Versioned[R], ...]]:
    """The pages of a scan, to its end; the last one may be empty."""
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
