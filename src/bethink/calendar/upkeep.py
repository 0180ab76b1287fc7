"""The feature of the calendar: how events are recalled, forgotten, exported, imported and reminded of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec

from bethink.calendar.fields import checked_event
from bethink.calendar.records import EVENTS, KIND, UNDO, Event, index_item
from bethink.calendar.reminders import EventReminders
from bethink.calendar.series import first_instance, zone_of
from bethink.calendar.service import Calendar, put, said_time
from bethink.calendar.vevent import EventComponents
from bethink.clock import checked_id, rfc3339, time_of, to_datetime, with_times
from bethink.feature import (
    DocumentForm,
    Feature,
    OpenFeature,
    Recallable,
    RecallKind,
    RecordCuts,
    RetentionRule,
)
from bethink.forgettable import FORGOTTEN, Removal
from bethink.record_texts import RecordTexts
from bethink.recurrence import words
from bethink.store import Delete, Scan, items_of, pages_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bethink.feature import Surroundings
    from bethink.forgettable import TextPlace
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Store

_PAGE: Final = 500
_UNDO_KEPT: Final = timedelta(days=30)
_IMPORTANCE: Final = 0.5
_WEEK_US: Final = timedelta(days=7) // timedelta(microseconds=1)


def recallable(event: Event) -> Recallable:
    """What recall shows of an event: what and when it is, where, with whom."""
    zone = zone_of(event.zone or "UTC")
    when = said_time(first_instance(event, zone=zone), zone)
    told = [f"Event ({event.event_type}): {event.title}", f"{when}{f' ({event.zone})' if event.zone else ''}"]
    if event.recurrence:
        told[-1] += f", {words(event.recurrence)}"
    if event.status != "confirmed":
        told.append(f"It is {event.status}.")
    if event.location:
        told.append(f"At {event.location}.")
    if event.attendees:
        told.append(f"With {', '.join(one.name or one.email for one in event.attendees)}.")
    if event.description:
        told.append(event.description)
    told += [
        f"On {one.at.replace('T', ' ')}: {said}"
        for one in event.overrides
        if (said := ", ".join(text for text in (one.title, one.location, one.description) if text))
    ]
    return Recallable(
        "\n".join(told),
        event.created_at,
        _IMPORTANCE,
        source=f"event:{event.id}",
        title=event.title,
        conversation=event.conversation,
        untrusted=event.untrusted,
    )


_SENTENCES: Final = frozenset(("title", "description"))
_LISTS: Final = frozenset(("attendees", "categories"))
_CHANGED: Final = ("title", "description", "location", "attendees", "extra")


def _texts(store: Store) -> RecordTexts[Event]:
    return RecordTexts(
        store=store,
        collection=EVENTS,
        kind="events",
        one="event",
        name=lambda event: event.title,
        fields=_fields,
        sentences=_SENTENCES,
        rewrite=_rewritten,
        index=index_item,
        subject=lambda event: event.title,
        others=[UNDO],
    )


def _fields(event: Event) -> dict[str, str]:
    """What an event says, as texts; those of changed instances by the time of each."""
    said = {
        "title": event.title,
        "description": event.description,
        "location": event.location,
        "event_type": event.event_type,
        "attendees": _named(event.attendees),
        "categories": " ".join(event.categories),
        "extra": event.extra,
    }
    for one in event.overrides:
        found = {
            "title": one.title,
            "description": one.description,
            "location": one.location,
            "attendees": _named(one.attendees or ()),
            "extra": one.extra,
        }
        said |= {f"{one.at} {name}": text for name, text in found.items() if text}
    return said


def _says(event: Event, gone: Redaction) -> bool:
    about = gone.about(event.title)
    texts = [text for text in _fields(event).values() if text]
    return any(gone.says_in(text, close=False) or about.says(text, close=False) for text in texts)


def _named(attendees: Sequence[Any]) -> str:
    return ", ".join(f"{one.name} {one.email}".strip() for one in attendees)


def _rewritten(event: Event, left: Mapping[str, str]) -> Event:
    """The event with what is left of its fields; of lists, and of what is no sentence, nothing is."""
    own = {name: text for name, text in left.items() if " " not in name}
    overrides = tuple(
        msgspec.structs.replace(
            one, **{name: _empty(name, "") for name in _CHANGED if f"{one.at} {name}" in left}
        )
        for one in event.overrides
    )
    return msgspec.structs.replace(
        event, overrides=overrides, **{name: _empty(name, text) for name, text in own.items()}
    )


def _empty(name: str, text: str) -> object:
    if name in _LISTS:
        return ()
    return text or {"title": FORGOTTEN, "event_type": "other"}.get(name, "")


@dataclass(frozen=True, slots=True)
class CalendarUpkeep:
    """What the feature's hooks do with events."""

    calendar: Calendar
    texts: RecordTexts[Event]

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """The events without what is forgotten; changes that would bring it back can no longer be undone."""
        cuts = await self.texts.cut(owner, gone)
        stale = [
            Delete(UNDO, item.record.id)
            async for item in items_of(self.calendar.store, owner, Scan(UNDO, limit=_PAGE))
            if any(_says(event, gone) for event in item.record.before)
        ]
        return RecordCuts([*cuts.changes, *stale], cuts.excerpts)

    async def take(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        """Events without what these places name, and nothing that brings it back."""
        taken = await self.texts.forgettable.take(owner, places)  # pyright: ignore[reportOptionalCall] - it has one
        ids = {place.id for place in places}
        stale: list[Change] = [
            Delete(UNDO, item.record.id)
            async for item in items_of(self.calendar.store, owner, Scan(UNDO, limit=_PAGE))
            if any(event.id in ids for event in item.record.before)
        ]
        return Removal([*taken.changes, *stale], taken.gone, taken.notes)

    async def recallables(self, principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        """What recall shows of these events; None for what is gone."""
        found = await self.calendar.store.get(EVENTS, principal.owner, ids)

        def told() -> list[Recallable | None]:
            return [item and recallable(item.record) for item in found]

        return await anyio.to_thread.run_sync(told)

    async def statistics(self, principal: Principal) -> dict[str, Any]:
        """How many events there are, how many recur, and how many happen within seven days."""
        now, store = self.calendar.clock.now_us(), self.calendar.store
        week = await self.calendar.range(principal, start=now, end=now + _WEEK_US)
        series = sum(
            [
                item.record.is_series
                async for item in items_of(
                    store, principal.owner, Scan(EVENTS, {"lasting": 1}, "ends", limit=_PAGE)
                )
            ]
        )
        return {
            "events": await store.count(principal.owner, EVENTS, {}),
            "recurring": series,
            "next_seven_days": len(week.items),
        }

    async def expire_undo(self, principal: Principal) -> int:
        """Changes too long ago to be taken back."""
        store, high = (
            self.calendar.store,
            self.calendar.clock.now_us() - _UNDO_KEPT // timedelta(microseconds=1),
        )
        old = [
            Delete(UNDO, item.record.id, item.version)
            async for item in items_of(store, principal.owner, Scan(UNDO, order="at", high=high, limit=_PAGE))
        ]
        if old:
            await store.commit(principal.owner, old)
            await store.scrub(principal.owner)
        return len(old)


def _form(calendar: Calendar) -> DocumentForm:
    """A line for each event, in the order in which they were made."""
    store = calendar.store

    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(store, owner, Scan(EVENTS, order="created_at", limit=_PAGE)):
            yield [_document(item.record) for item in page]

    async def restore(owner: str, events: Sequence[Event], is_preview: bool) -> Sequence[str]:  # noqa: FBT001 - as DocumentForm has it
        held = await store.get(EVENTS, owner, [event.id for event in events])
        outcomes: list[str] = []
        new: dict[str, Event] = {}
        for event, here in zip(events, held, strict=True):
            known = here.record if here else new.get(event.id)
            if known is None:
                new[event.id] = event
            outcomes.append("said" if known is None else "known" if known == event else "differing")
        if new and not is_preview:
            await calendar.commit(owner, [put(event, 0) for event in new.values()])
        return outcomes

    return DocumentForm(
        kind=KIND, export=export, parse=_parsed, restore=restore, made_at=lambda event: event.created_at
    )


def _document(event: Event) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(event)
    # An override's `at` is a local time, and no moment: it goes as it stands.
    overrides = [_given(one) for one in document.pop("overrides")]
    return {"kind": KIND, **with_times(_given(document), rfc3339), "overrides": overrides}


def _given(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value not in (None, "", []) or name == "busy"}


def _parsed(document: Mapping[str, Any]) -> Event:
    given = dict(document)
    overrides = given.pop("overrides", [])
    found = msgspec.convert({**with_times(given, time_of), "overrides": overrides}, Event)
    checked_id(found.id)
    return checked_event(found, to_datetime(found.created_at))


def _open(at: Surroundings) -> OpenFeature:
    calendar = Calendar(store=at.store, clock=at.clock, bus=at.bus, new_id=at.new_id, search_index=at.search)
    reminders = EventReminders(at.store, at.acting)
    upkeep = CalendarUpkeep(calendar, _texts(at.store))
    return OpenFeature(
        service=calendar,
        recall=[RecallKind(name=KIND, resolve=upkeep.recallables)],
        forgettable=replace(upkeep.texts.forgettable, take=upkeep.take),
        cut=upkeep.cut,
        documents=[_form(calendar)],
        due=reminders.due,
        next_due=reminders.next_due,
        components=[EventComponents(calendar).form],
        statistics=upkeep.statistics,
        retention=[
            RetentionRule(
                of=(UNDO,), log="changes of events cannot be undone any more", drop=upkeep.expire_undo
            )
        ],
    )


FEATURE: Final = Feature(
    name="calendar",
    open=_open,
    collections=(EVENTS, UNDO),
    counted={"events": ("event", EVENTS)},
    tools="bethink.tools.calendar",
    routes=("bethink.web.calendar",),
    commands="bethink.cli.calendar",
    mcp_summary="The user's calendar: what is when, what overlaps, when there is time.",
)
