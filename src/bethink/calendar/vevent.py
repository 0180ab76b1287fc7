"""Events as VEVENT components of iCalendar, and back (RFC 5545, 3.6.1): a series with its changed instances.

What no field of an event holds stays in `extra` and is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import anyio.to_thread
import msgspec

from bethink.calendar.fields import (
    ATTENDANCE,
    MAX_ATTENDEES,
    MAX_CATEGORIES,
    MAX_DESCRIPTION,
    MAX_LINE,
    MAX_TITLE,
    MAX_TYPE,
    TYPES,
    checked_event,
)
from bethink.calendar.records import EVENTS, Attendee, Event, Override, local, written
from bethink.calendar.series import SINGLE, alone, instances
from bethink.calendar.service import Calendar, EventTarget, know_zones, put
from bethink.clock import to_us
from bethink.components import (
    PAGE,
    check_etag,
    component_text,
    cut,
    etag_of,
    held_in,
    master_of,
    outcome_of,
    put_in_pages,
    states_in,
    why_refused,
)
from bethink.errors import BadInput
from bethink.feature import ComponentForm, ComponentOutcome, ComponentText, IncomingComponent
from bethink.field_checks import MAX_REMINDERS
from bethink.ical.alarms import alarm, minutes_before
from bethink.ical.lines import Component, Line
from bethink.ical.remainder import kept_alarms, remainder, same_remainder, with_remainder
from bethink.ical.values import (
    When,
    created_at,
    duration,
    escaped,
    kept_when,
    texts,
    time_line,
    unescaped,
    utc,
    when_of,
)
from bethink.recurrence import kept_rule, rule_of, text_of
from bethink.store import Change, Scan, Versioned, items_of

if TYPE_CHECKING:
    from bethink.principal import Principal

_UNTITLED: Final = "Untitled event"
_OTHER: Final = "other"
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_SLACK_US: Final = 9 * 86_400_000_000
"""Keys are local times, and short events are found by their begin alone: so much more is looked at."""
_FIRST_US, _LAST_US = (to_us(datetime(year, 1, 1, tzinfo=ZoneInfo("UTC"))) for year in (1800, 9000))
_OWN: Final = "X-BETHINK-"
_OWNED: Final = {
    "UID": "uid",
    "SUMMARY": "title",
    "DESCRIPTION": "description",
    "LOCATION": "location",
    "STATUS": "status",
    "TRANSP": "busy",
    "COLOR": "color",
    f"{_OWN}COLOR": "color",
    f"{_OWN}TYPE": "type",
    "CATEGORIES": "categories",
    "DTSTART": "times",
    "DTEND": "times",
    "DURATION": "times",
    "RRULE": "series",
    "RDATE": "series",
    "EXDATE": "series",
    "RECURRENCE-ID": "instance",
    "ATTENDEE": "attendees",
    f"{_OWN}ATTENDEE": "attendees",
}
_MAILTO: Final = "mailto:"


def _line_of(component: Component, name: str, most: int) -> str:
    return cut(" ".join(unescaped(component.value(name)).split()), most)


@dataclass(frozen=True, slots=True)
class EventReading:
    """Reads components for an owner of this time zone; `series` is of whose instance one is."""

    zone: str
    series: Event | None = None

    def fields(self, component: Component) -> dict[str, Any]:
        """What a component says of an event, by the names of its fields.

        Raises:
            BadInput: a value cannot be read.
        """
        start, end = self._times(component)
        attendees = list(dict.fromkeys(map(_attendee, component.all("ATTENDEE", f"{_OWN}ATTENDEE"))))
        categories = [
            cut(" ".join(text.split()), MAX_LINE)
            for line in component.all("CATEGORIES")
            for text in texts(line.value)
        ]
        status = component.value("STATUS").lower()
        return {
            "title": _line_of(component, "SUMMARY", MAX_TITLE) or _UNTITLED,
            "description": cut(unescaped(component.value("DESCRIPTION")).strip(), MAX_DESCRIPTION),
            "location": _line_of(component, "LOCATION", MAX_LINE),
            "event_type": _type(component, categories, has_attendees=bool(attendees)),
            "status": status if status in {"tentative", "cancelled"} else "confirmed",
            "busy": component.value("TRANSP").upper() != "TRANSPARENT",
            "attendees": tuple(attendees[:MAX_ATTENDEES]),
            "reminders": self._reminders(component, start),
            "categories": tuple(dict.fromkeys(categories))[:MAX_CATEGORIES],
            "color": _color(component),
            "start": start.iso,
            "end": end.iso,
            "zone": "" if start.is_day else start.zone,
            **self._series(component, start),
        }

    def _times(self, component: Component) -> tuple[When, When]:
        """Start and end, in the zone of the start; without an end it takes an hour, or a day."""
        line = component.line("DTSTART")
        if line is None:
            raise BadInput("It has no DTSTART: nothing says when it begins.")
        start = self._meant(when_of(line), component)
        if (last := component.line("DTEND")) is not None:
            end = when_of(last)
            if end.is_day != start.is_day:
                raise BadInput("DTSTART and DTEND must be two days, or two times.")
            if not end.is_day and end.zone != start.zone:
                end = end.there(start.zone or self.zone)
        elif length := component.value("DURATION"):
            end = When(_after(start, duration(length)), start.zone)
        else:
            end = start
        if end.local == start.local:
            end = When(start.local + (_DAY if start.is_day else _HOUR), start.zone)
        return start, end

    def _meant(self, at: When, component: Component) -> When:
        """A time in UTC is one of the owner's zone, but of a series, which would move with summer time."""
        if self.series is not None and not self.series.all_day and not at.is_day:
            zone = self.series.zone
            return at if at.zone == zone else at.there(zone or self.zone)
        is_series = component.line("RRULE") or component.line("RDATE")
        if at.zone == "UTC" and not is_series and self.series is None:
            return at.there(self.zone)
        return at

    def _series(self, component: Component, start: When) -> dict[str, Any]:
        if self.series is not None:
            return {}
        rule = component.value("RRULE")
        place = ZoneInfo(start.zone or self.zone)
        begin = local(start.iso)
        return {
            "recurrence": _kept(rule, begin, place, is_day=start.is_day) if rule else "",
            "rdates": tuple(sorted(self._dates(component.all("RDATE"), start))),
            "exdates": tuple(sorted(self._dates(component.all("EXDATE"), start))),
        }

    def _dates(self, lines: Iterable[Line], start: When) -> set[str]:
        return {
            self.instance_of(line.but(value.partition("/")[0]), start)
            for line in lines
            for value in line.value.split(",")
            if value.strip()
        }

    def instance_of(self, line: Line, start: When) -> str:
        """The local time of the series that a line names, as records keep it."""
        at = when_of(line)
        if start.is_day:
            return at.iso[:10]
        if at.is_day:
            # The instance of that day, as some programs write it.
            return f"{at.iso}T{start.iso[11:]}"
        return (at if at.zone in {"", start.zone} else at.there(start.zone or self.zone)).iso

    def _reminders(self, component: Component, start: When) -> tuple[int, ...]:
        begins = start.moment(self.zone)
        alarms = (part for part in component.parts if part.name == "VALARM")
        found = {minutes_before(part, begins, None) for part in alarms}
        return tuple(sorted(minutes for minutes in found if minutes is not None)[:MAX_REMINDERS])


@lru_cache(maxsize=1024)
def _kept(rule: str, start: datetime, zone: ZoneInfo, *, is_day: bool) -> str:
    return kept_rule(rule, start, zone, all_day=is_day)


def _after(start: When, span: timedelta) -> Any:  # noqa: ANN401 - a date or a datetime, as the start is
    try:
        return start.local + span
    except OverflowError as error:
        raise BadInput("Its DURATION leads beyond the calendar.") from error


def _attendee(line: Line) -> Attendee:
    value, name = line.value.strip(), " ".join((line.parameter("CN") or "").split())
    if line.name != "ATTENDEE":
        name, value = " ".join(unescaped(value).split()), ""
    is_mail = value.lower().startswith(_MAILTO)
    email = value[len(_MAILTO) :] if is_mail else line.parameter("EMAIL") or ""
    status = (line.parameter("PARTSTAT") or "").lower()
    return Attendee(
        name=cut(name if name or email else value or "?", MAX_LINE),
        email=cut(email, MAX_LINE),
        status=status if status in ATTENDANCE else ATTENDANCE[0],
    )


def _type(component: Component, categories: Sequence[str], *, has_attendees: bool) -> str:
    if own := _line_of(component, f"{_OWN}TYPE", MAX_TYPE):
        return own.lower() if own.lower() in TYPES else own
    named = next((one.lower() for one in categories if one.lower() in TYPES), _OTHER)
    return "meeting" if named == _OTHER and has_attendees else named


def _color(component: Component) -> str:
    own, name = component.value(f"{_OWN}COLOR"), component.value("COLOR")
    color = own or name
    is_fit = color[1:].isalnum() and len(color) == 7 if color.startswith("#") else color.isalpha()  # noqa: PLR2004 - #rrggbb
    return color if is_fit and len(color) <= 20 else ""  # noqa: PLR2004 - the longest name of a color


def lines_of(event: Event, series: Event | None = None, at: str = "") -> Component:
    """The component of an event without what other programs added.

    Of a `series` it is the instance `at`.
    """
    is_named = event.color and not event.color.startswith("#")
    values = {
        "UID": escaped(event.uid),
        "DTSTAMP": utc(event.updated_at),
        "CREATED": utc(event.created_at),
        "LAST-MODIFIED": utc(event.updated_at),
        "SEQUENCE": str(event.sequence),
        "SUMMARY": escaped(event.title),
        "DESCRIPTION": escaped(event.description),
        "LOCATION": escaped(event.location),
        "STATUS": event.status.upper() if event.status != "confirmed" else "",
        "TRANSP": "" if event.busy else "TRANSPARENT",
        "CATEGORIES": ",".join(map(escaped, event.categories)),
        "COLOR" if is_named else f"{_OWN}COLOR": event.color,
    }
    lines = [Line(name, value) for name, value in values.items() if value]
    lines += [_time("DTSTART", event.start, event.zone), _time("DTEND", event.end, event.zone)]
    if series is not None:
        lines.append(_time("RECURRENCE-ID", at, series.zone))
    else:
        if event.recurrence:
            place = ZoneInfo(event.zone) if event.zone else None
            rule = text_of(rule_of(event.recurrence), place, all_day=event.all_day)
            lines.append(Line("RRULE", rule))
        lines += [_time("RDATE", one, event.zone) for one in event.rdates]
        lines += [_time("EXDATE", one, event.zone) for one in event.exdates]
    lines += [_attendee_line(one) for one in event.attendees]
    done = Component("VEVENT", lines, [alarm(minutes, event.title) for minutes in event.reminders])
    if _type(done, event.categories, has_attendees=bool(event.attendees)) != event.event_type:
        done.lines.append(Line(f"{_OWN}TYPE", escaped(event.event_type)))
    return done


def _attendee_line(one: Attendee) -> Line:
    if not one.email:
        line = Line(f"{_OWN}ATTENDEE", escaped(one.name))
        return line if one.status == ATTENDANCE[0] else line.but(PARTSTAT=one.status.upper())
    line = Line("ATTENDEE", f"{_MAILTO}{one.email}")
    return line.but(CN=one.name or None, PARTSTAT=one.status.upper())


def _time(name: str, text: str, zone: str) -> Line:
    return time_line(name, kept_when(text, zone))


@dataclass(frozen=True, slots=True)
class EventComponents:
    """The events of all owners as components."""

    calendar: Calendar

    @property
    def form(self) -> ComponentForm:
        """What calendars of other programs walk over."""
        return ComponentForm(
            name="VEVENT",
            states=partial(states_in, self.calendar.store, EVENTS),
            texts=self.texts,
            put=self.put,
            delete=self.delete,
            within=self.within,
        )

    async def texts(self, principal: Principal, uids: Sequence[str]) -> list[ComponentText | None]:
        """What they say, None for what is gone."""
        held = await self._held(principal.owner, uids)

        def told() -> list[ComponentText | None]:
            zone = principal.time_zone
            return [_text(held[uid], zone) if uid in held else None for uid in uids]

        return await anyio.to_thread.run_sync(told)

    async def put(
        self, principal: Principal, incoming: Sequence[IncomingComponent]
    ) -> list[ComponentOutcome]:
        """Keep them, a page in one commit; what is refused leaves the others as they are."""
        await know_zones(principal.time_zone)
        return await put_in_pages(incoming, partial(self._put, principal))

    async def delete(self, principal: Principal, uid: str, if_etag: str | None) -> bool:
        """Remove an event, or a series with all that belongs to it; it can be undone."""
        held = (await self._held(principal.owner, [uid])).get(uid)
        if held is None:
            return False
        check_etag(held, if_etag)
        await self.calendar.delete(principal, EventTarget(held.record.id, "all", held.version))
        return True

    async def within(self, principal: Principal, begin: int, end: int) -> frozenset[str]:
        """Those that overlap a span."""
        low, high = max(begin, _FIRST_US), min(end, _LAST_US)
        scans = (
            Scan(EVENTS, {"lasting": 0}, "begins", low - _SLACK_US, high + _SLACK_US, limit=PAGE),
            Scan(EVENTS, {"lasting": 1}, "ends", low - _SLACK_US, limit=PAGE),
        )
        items = [
            item.record
            for scan in scans
            async for item in items_of(self.calendar.store, principal.owner, scan)
        ]

        def overlapping() -> frozenset[str]:
            zone = ZoneInfo(principal.time_zone)
            spread = ((one, instances(one, low=low, high=high, zone=zone)) for one in items)
            return frozenset(one.uid for one, found in spread if next(found, None) is not None)

        return await anyio.to_thread.run_sync(overlapping)

    async def _held(self, owner: str, uids: Sequence[str]) -> dict[str, Versioned[Event]]:
        """The events of these uids."""
        return await held_in(self.calendar.store, EVENTS, owner=owner, uids=uids)

    async def _put(
        self, principal: Principal, incoming: Sequence[IncomingComponent]
    ) -> list[ComponentOutcome]:
        held = await self._held(principal.owner, [one.uid for one in incoming])
        changes, outcomes = await anyio.to_thread.run_sync(self._read, principal, incoming, held)
        if changes:
            await self.calendar.commit(principal.owner, changes)
        return outcomes

    def _read(
        self,
        principal: Principal,
        incoming: Sequence[IncomingComponent],
        held: Mapping[str, Versioned[Event]],
    ) -> tuple[list[Change], list[ComponentOutcome]]:
        """The changes that keep what comes, and what becomes of each."""
        changes: list[Change] = []
        outcomes: list[ComponentOutcome] = []
        for one in incoming:
            before = held.get(one.uid)
            try:
                event = self._made(principal, one, before.record if before else None)
            except (BadInput, OverflowError, ValueError) as error:
                etag = etag_of(before) if before else ""
                outcomes.append(ComponentOutcome("refused", etag, why_refused(error)))
                continue
            is_same = before is not None and _same(event, before.record)
            outcomes.append(outcome_of(one, before, event.id, is_same=is_same))
            if outcomes[-1].is_kept:
                changes.append(put(event, before.version if before else 0))
        return changes, outcomes

    def _made(self, principal: Principal, one: IncomingComponent, before: Event | None) -> Event:
        """The event that components say, with what no field holds.

        Raises:
            BadInput: a value is unfit.
        """
        zone, at = principal.time_zone, self.calendar.clock.now_us()
        master = master_of(one.parts)
        id = before.id if before else self.calendar.new_id()
        made_at = before.created_at if before else created_at(master, at)
        blank = Event(id=id, uid=one.uid, title="", start="", end="", created_at=made_at, updated_at=at)
        sequence = master.value("SEQUENCE")
        fields = EventReading(zone).fields(master)
        event = msgspec.structs.replace(
            before or blank,
            **fields,
            updated_at=at,
            overrides=(),
            sequence=max(int(sequence) if sequence.isdecimal() else 0, before.sequence if before else 0),
            untrusted=one.untrusted or (before is not None and before.untrusted),
            extra="",
        )
        changed = [part for part in one.parts if part is not master]
        event = msgspec.structs.replace(
            event, overrides=tuple(_override(part, event, zone) for part in changed)
        )
        event = checked_event(event, self.calendar.now(principal))
        return msgspec.structs.replace(event, extra=remainder(master, lines_of(event), _OWNED))


def _override(part: Component, series: Event, zone: str) -> Override:
    """What is different about the instance that a component says."""
    line = part.line("RECURRENCE-ID")
    start = kept_when(series.start, series.zone)
    reading = EventReading(zone, series)
    at = reading.instance_of(line, start) if line else series.start
    fields = reading.fields(part)
    length = series.length
    usual = {"start": at, "end": written(local(at) + length, all_day=series.all_day)}
    said: dict[str, Any] = {name: fields[name] for name in SINGLE if fields[name] != getattr(series, name)}
    if (fields["start"], fields["end"]) != (usual["start"], usual["end"]):
        said |= {"start": fields["start"], "end": fields["end"]}
    one = Override(at=at, **said)
    ours = lines_of(alone(series, one), series, one.at)
    return msgspec.structs.replace(one, extra=remainder(part, ours, _OWNED))


def _text(item: Versioned[Event], zone: str) -> ComponentText:
    event = item.record
    parts = [_whole(event, event.extra, lines_of(event), reading=EventReading(zone))]
    for one in event.overrides:
        instance = alone(event, one)
        ours = lines_of(instance, event, one.at)
        parts.append(_whole(instance, one.extra, ours, reading=EventReading(zone, event)))
    return component_text(item, parts)


def _whole(event: Event, kept: str, ours: Component, *, reading: EventReading) -> Component:
    """The component with what was kept of another program's."""
    if not kept:
        return ours
    begins = kept_when(event.start, event.zone).moment(reading.zone)
    theirs = {minutes_before(part, begins, None): part for part in kept_alarms(kept)}
    ours.parts = [theirs.get(minutes) or alarm(minutes, event.title) for minutes in event.reminders]
    ours.parts += [part for part in kept_alarms(kept) if minutes_before(part, begins, None) is None]
    return with_remainder(ours, kept, meaning=reading.fields, owned=_OWNED)


def _same(event: Event, before: Event) -> bool:
    """Whether nothing that is said changed, in whichever order it stands."""
    one, other = (_plain(each) for each in (event, before))
    kept = zip((event, *event.overrides), (before, *before.overrides), strict=False)
    return one == other and all(same_remainder(new.extra, old.extra) for new, old in kept)


def _plain(event: Event) -> Event:
    overrides = tuple(msgspec.structs.replace(one, extra="") for one in event.overrides)
    return msgspec.structs.replace(event, updated_at=0, untrusted=False, extra="", overrides=overrides)
