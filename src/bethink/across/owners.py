"""Everybody of whom something is kept, for work that nobody asks for: `app`, `background` and `tidying`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.store import Collection, Store

_PAGE = 100


async def owners_of(store: Store, *collections: Collection[Any]) -> AsyncGenerator[str]:
    """The owners of records in these collections, in order, each once, read by the page."""
    after = ""
    while True:
        pages = [await store.owners(collection, after=after, limit=_PAGE) for collection in collections]
        # Behind the end of a full page there may be more that come before the others' next.
        sure = min((page[-1] for page in pages if len(page) == _PAGE), default=None)
        for owner in sorted({owner for page in pages for owner in page}):
            if sure is None or owner <= sure:
                yield owner
        if sure is None:
            return
        after = sure
