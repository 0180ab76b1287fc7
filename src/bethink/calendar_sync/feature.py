"""The feature of calendars of other programs: `.ics` files, forgetting, and what it is opened with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.calendar_sync.caldav_objects import ServedCalendars
from bethink.calendar_sync.feeds import Feeds
from bethink.calendar_sync.objects import CalendarObject, calendar_text, read_objects
from bethink.calendar_sync.records import ACCOUNTS, CONFLICTS, FEEDS, LINKS, SERVED, SERVED_HEADS
from bethink.calendar_sync.service import CalendarSync
from bethink.errors import UnknownId
from bethink.feature import BackgroundTask, ComponentForm, ComponentText, Feature, OpenFeature, Surroundings
from bethink.forgettable import Forgettable
from bethink.ical.values import escaped
from bethink.internet.connect import gate_for
from bethink.secrets_at_rest import SecretBox
from bethink.settings.live import follows
from bethink.store import Change, Delete, DeleteAll, Put, Scan, Store, items_of, records_of

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.redaction import Redaction

_PAGE: Final = 200
_COLLECTIONS: Final = (ACCOUNTS, LINKS, CONFLICTS, FEEDS, SERVED, SERVED_HEADS)


@dataclass(frozen=True, slots=True)
class Calendars:
    """Files, feeds, accounts of calendar servers, and the calendar server that Bethink is."""

    files: CalendarFiles
    feeds: Feeds
    sync: CalendarSync
    served: ServedCalendars


@dataclass(frozen=True, slots=True)
class _Upkeep:
    store: Store

    @property
    def forgettable(self) -> Forgettable:
        """How accounts and feeds go; what came from them goes with events and tasks."""
        return Forgettable(
            "calendar_accounts",
            "calendar account",
            "calendar accounts",
            lambda owner: self.store.count(owner, ACCOUNTS, {}),
            self._names,
            self._remove,
        )

    async def redact(self, owner: str, gone: Redaction) -> Sequence[Change]:
        """Conflicts go that say what is forgotten: what is here then, without it, is written there."""
        changes: list[Change] = []
        async for item in items_of(self.store, owner, Scan(CONFLICTS, limit=_PAGE)):
            one = item.record
            texts = (one.title, one.here or "", one.there or "")
            if any(text and gone.says(text, close=False) for text in texts):
                changes.append(Delete(CONFLICTS, one.id))
                if one.there is not None:
                    changes.append(Put(LINKS, one.link("settled")))
        # Sentences of servers may quote what they refuse.
        changes += [
            Put(LINKS, msgspec.structs.replace(item.record, why="It is not taken."))
            async for item in items_of(self.store, owner, Scan(LINKS, limit=_PAGE))
            if item.record.why and gone.says(item.record.why, close=False)
        ]
        return changes

    async def remains(self, owner: str) -> list[str]:
        """Servers that have copies."""
        scan = Scan(ACCOUNTS, limit=_PAGE)
        return [
            f"The calendar server of {one.name} has copies of events and tasks: what is forgotten here is"
            " removed there with the next synchronisation, but the server may keep older versions."
            async for one in records_of(self.store, owner, scan)
        ]

    async def _names(self, owner: str, limit: int) -> list[str]:
        (page,) = await self.store.scan(owner, Scan(ACCOUNTS, limit=limit))
        return [item.record.name for item in page.items]

    async def _remove(self, owner: str) -> None:
        await self.store.commit(owner, [DeleteAll(one) for one in _COLLECTIONS])


_IMPORT_PAGE: Final = 500
_MOST_TOLD: Final = 100
_UNTITLED: Final = "(untitled)"


class RefusedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that was not taken, and why."""

    title: str
    why: str


@dataclass(slots=True, kw_only=True)
class ImportedFile:
    """What became of the entries of a file.

    `kept` are those that were changed here since, and were left as they are. Of `refused` and `problems` the
    first hundred are told; `refused_count` is how many there are.
    """

    new: int = 0
    changed: int = 0
    known: int = 0
    kept: int = 0
    refused_count: int = 0
    refused: list[RefusedEntry] = field(default_factory=list[RefusedEntry])
    problems: list[str] = field(default_factory=list[str])

    def refuse(self, title: str, why: str) -> None:
        """Tell of an entry that is not taken."""
        self.refused_count += 1
        if len(self.refused) < _MOST_TOLD:
            self.refused.append(RefusedEntry(title=title or _UNTITLED, why=why))


@dataclass(frozen=True, slots=True)
class CalendarFiles:
    """The files of all owners; nothing of them is kept but what they say."""

    forms: Callable[[], Mapping[str, ComponentForm]]

    async def take(self, principal: Principal, data: bytes, *, overwrite: bool) -> ImportedFile:
        """Take the entries of a file; what is here already is left as it is unless they `overwrite` it.

        Raises:
            BadInput: it is no calendar file.
            TooLarge: it has more than 10 MB.
        """
        forms = self.forms()
        objects = await anyio.to_thread.run_sync(lambda: read_objects(data, forms=forms))
        done = ImportedFile(problems=list(objects.problems)[:_MOST_TOLD])
        for name, form in forms.items():
            found = [one for one in objects.found if one.form == name]
            for one in found:
                if one.why:
                    done.refuse(one.title, one.why)
            fit = [one for one in found if not one.why]
            for start in range(0, len(fit), _IMPORT_PAGE):
                await self._put(
                    principal, form, fit[start : start + _IMPORT_PAGE], done=done, overwrite=overwrite
                )
        return done

    async def _put(
        self,
        principal: Principal,
        form: ComponentForm,
        found: Sequence[CalendarObject],
        *,
        done: ImportedFile,
        overwrite: bool,
    ) -> None:
        outcomes = await form.put(principal, [one.incoming(None if overwrite else "") for one in found])
        for one, outcome in zip(found, outcomes, strict=True):
            match outcome.kind:
                case "new":
                    done.new += 1
                case "changed":
                    done.changed += 1
                case "known":
                    done.known += 1
                case "conflict":
                    done.kept += 1
                case "refused":
                    done.refuse(one.title, outcome.why)

    async def text(self, principal: Principal, names: Sequence[str] = (), *, title: str = "") -> str:
        """Everything of an owner as one file; `names` are the forms, all if there are none."""
        texts: list[ComponentText] = []
        for name, form in self.forms().items():
            if names and name not in names:
                continue
            async for page in form.states(principal.owner):
                found = await form.texts(principal, [state.uid for state in page])
                texts += [text for text in found if text is not None]
        return await anyio.to_thread.run_sync(lambda: calendar_text(texts, name=title))

    async def invitation(self, principal: Principal, form: str, uid: str, *, organizer: str = "") -> str:
        """One entry as an invitation, to be sent to those who take part (RFC 5546, 3.2.2).

        `organizer` is the owner's e-mail address, if the entry does not name who invites.

        Raises:
            UnknownId: there is no such entry.
        """
        (text,) = await self.forms()[form].texts(principal, [uid])
        if text is None:
            raise UnknownId("There is no event with this id.")
        # Alarms are the organizer's own.
        lines = _without_alarms(text.lines)
        if organizer and not any(line.startswith("ORGANIZER") for line in lines):
            lines.insert(1, f"ORGANIZER:mailto:{escaped(organizer)}")
        return calendar_text([replace(text, lines=lines)], method="REQUEST")


def _without_alarms(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    is_alarm = False
    for line in lines:
        is_alarm = is_alarm or line == "BEGIN:VALARM"
        if not is_alarm:
            kept.append(line)
        is_alarm = is_alarm and line != "END:VALARM"
    return kept


def _open(at: Surroundings) -> OpenFeature:
    master_key = at.settings.master_key

    def forms() -> dict[str, ComponentForm]:
        return at.features.components

    sync = CalendarSync(
        store=at.store,
        clock=at.clock,
        bus=at.bus,
        gate=gate_for(at.settings),
        secret_box=SecretBox(at.settings.data_dir, master_key.get_secret_value() if master_key else None),
        new_id=at.new_id,
        acting=at.acting,
        forms=forms,
    )
    calendars = Calendars(
        files=CalendarFiles(forms),
        feeds=Feeds(at.store, at.clock, at.new_id, forms),
        sync=sync,
        served=ServedCalendars(at.store, forms),
    )
    upkeep = _Upkeep(at.store)
    return OpenFeature(
        service=calendars,
        forgettable=upkeep.forgettable,
        redact=upkeep.redact,
        remains=upkeep.remains,
        tasks=[BackgroundTask(name="calendar accounts", run=sync.keep, served=True)],
        parts=[follows(sync, gate=gate_for)],
    )


FEATURE: Final = Feature(
    name="calendar_sync",
    open=_open,
    collections=_COLLECTIONS,
    counted={"calendar_accounts": ("calendar account", ACCOUNTS)},
    routes=("bethink.web.calendar_sync", "bethink.web.dav"),
)
