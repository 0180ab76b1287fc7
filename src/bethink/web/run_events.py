"""The events of a run for who asks for them by its id. `/runs` and `/v1/responses` ask.

Who began a run may follow it: it reads for them. To others whom a filter restrains it
tells what they may know once it is over, and to them as well what it told before the filter was made.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.agent.records import NumberedEvent
from bethink.errors import NotAllowed
from bethink.events import Place, ReasoningDelta, TextDelta
from bethink.visibility.events import filter_event

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from bethink.app import App
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

    Follow = Callable[[Place], AsyncGenerator[list[NumberedEvent], None]]

_OTHERS = "This run was begun by another program, which may have read what this one must not."


async def followed(
    app: App, caller: Principal, run: str, *, follow: Follow, after: Place | None = None
) -> AsyncGenerator[list[NumberedEvent], None]:
    """The run's events behind a place, as `follow` gives them, as far as the caller may know them.

    Raises:
        NotAllowed: it still runs, and reads for somebody else.
    """
    after = after or Place(0)
    shade = await app.visibility.reader_filters.of(caller)
    if shade is None:
        return follow(after)
    record = await app.runs.stored.get(caller, run)
    if record.state in {"waiting", "ended"}:
        return _over(shade, follow, after)
    if record.state == "running" and record.audience != caller.audience:
        raise NotAllowed(_OTHERS)
    return follow(after)


async def _over(
    shade: ReaderFilter, follow: Follow, after: Place
) -> AsyncGenerator[list[NumberedEvent], None]:
    """What happened in a run that is over. A text that reaches across the place is told whole.

    Cut at a place that its reader chose, half of what is hidden would not be known for it.
    """
    events: list[NumberedEvent] = []
    async with aclosing(follow(Place(0))) as batches:
        async for batch in batches:
            events += batch
    yield [one for one in await anyio.to_thread.run_sync(_all, events, shade) if one.place > after]


def _all(events: Iterable[NumberedEvent], shade: ReaderFilter) -> Sequence[NumberedEvent]:
    return [NumberedEvent(one.place, filter_event(one.event, shade)) for one in _joined(events)]


def _joined(events: Iterable[NumberedEvent]) -> list[NumberedEvent]:
    """The events, deltas that follow one another as one."""
    joined: list[NumberedEvent] = []
    for one in events:
        match one.event, joined[-1].event if joined else None:
            case (TextDelta(text=more), TextDelta(text=text)):
                joined[-1] = NumberedEvent(one.place, TextDelta(text=f"{text}{more}"))
            case (ReasoningDelta(text=more), ReasoningDelta(text=text)):
                joined[-1] = NumberedEvent(one.place, ReasoningDelta(text=f"{text}{more}"))
            case _:
                joined.append(one)
    return joined
