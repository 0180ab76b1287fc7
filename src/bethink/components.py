"""What features do alike whose records go into iCalendar and back: `calendar.vevent` and `tasks.vtodo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bethink.errors import Conflict
from bethink.feature import ComponentOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bethink.feature import IncomingComponent
    from bethink.store import Versioned

PAGE: Final = 500
"""How many records are read or written at once."""


def etag_at(id: str, version: int) -> str:
    """The etag of what a record says, in this version of it."""
    return f"{id[-12:]}-{version}"


def etag_of(item: Versioned[Any]) -> str:
    """The etag of what a stored record says."""
    return etag_at(item.record.id, item.version)


def cut(text: str, most: int) -> str:
    """The text, shortened to `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


async def put_in_pages(
    incoming: Sequence[IncomingComponent],
    put: Callable[[Sequence[IncomingComponent]], Awaitable[Sequence[ComponentOutcome]]],
) -> list[ComponentOutcome]:
    """What became of each. `put` keeps a page in one commit; what conflicts leaves the others as they are."""
    done: list[ComponentOutcome] = []
    for start in range(0, len(incoming), PAGE):
        page = incoming[start : start + PAGE]
        try:
            done += await put(page)
        except Conflict:
            # Somebody changed one of them meanwhile: each by itself.
            for one in page:
                try:
                    done += await put([one])
                except Conflict:
                    done.append(ComponentOutcome("conflict"))
    return done
