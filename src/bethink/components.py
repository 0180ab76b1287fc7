"""What features do alike whose records go into iCalendar and back: `calendar.vevent` and `tasks.vtodo`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from bethink.errors import BadInput, Conflict
from bethink.feature import ComponentOutcome, ComponentState, ComponentText, IncomingComponent
from bethink.store import Collection, Scan, Store, Versioned, pages_of

if TYPE_CHECKING:
    from bethink.ical.lines import Component

PAGE: Final = 500
"""How many records are read or written at once."""


def etag_at(id: str, version: int) -> str:
    """The etag of what a record says, in this version of it."""
    return f"{id[-12:]}-{version}"


def etag_of(item: Versioned[Any]) -> str:
    """The etag of what a stored record says."""
    return etag_at(item.record.id, item.version)


async def states_in(
    store: Store, collection: Collection[Any], owner: str
) -> AsyncGenerator[Sequence[ComponentState]]:
    """All of an owner's, a page at a time."""
    async for page in pages_of(store, owner, Scan(collection, order="created_at", limit=PAGE)):
        yield [ComponentState(item.record.uid, etag_of(item)) for item in page]


async def held_in(
    store: Store, collection: Collection[Any], *, owner: str, uids: Sequence[str]
) -> dict[str, Versioned[Any]]:
    """The records of these uids that there are."""
    pages = await store.scan(owner, *(Scan(collection, {"uid": uid}, limit=1) for uid in uids))
    return {item.record.uid: item for page in pages for item in page.items}


def check_etag(held: Versioned[Any] | None, etag: str | None) -> None:
    """Refuse with `Conflict` what was made of something else than there is; "" is of nothing, None of any."""
    if etag is not None and etag != (etag_of(held) if held else ""):
        raise Conflict


def outcome_of(
    one: IncomingComponent, before: Versioned[Any] | None, id: str, *, is_same: bool
) -> ComponentOutcome:
    """What becomes of a component that was read as the record `id`."""
    if before is not None and is_same:
        return ComponentOutcome("known", etag_of(before))
    try:
        check_etag(before, one.if_etag)
    except Conflict:
        return ComponentOutcome("conflict", etag_of(before) if before else "")
    version = before.version if before else 0
    return ComponentOutcome("changed" if before else "new", etag_at(id, version + 1))


def why_refused(error: Exception) -> str:
    """Why a component is refused that could not be read."""
    return error.message if isinstance(error, BadInput) else f"It cannot be read: {error}"


def master_of(parts: Sequence[Component]) -> Component:
    """The component that stands for all: the others are changed instances of it."""
    return next((part for part in parts if part.line("RECURRENCE-ID") is None), parts[0])


def component_text(item: Versioned[Any], parts: Sequence[Component]) -> ComponentText:
    """What a stored record says, as these components."""
    zones = {line.parameter("TZID") for part in parts for line in part.lines if line.parameters}
    return ComponentText(
        uid=item.record.uid,
        etag=etag_of(item),
        lines=[line for part in parts for line in part.unfolded()],
        zones=frozenset(name for name in zones if name),
        changed_at=item.record.updated_at,
    )


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
