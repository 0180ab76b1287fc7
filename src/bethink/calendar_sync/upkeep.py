"""The feature of calendars of other programs: what it is opened with, and how it takes part in forgetting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.calendar_sync.feeds import Feeds
from bethink.calendar_sync.files import CalendarFiles
from bethink.calendar_sync.records import (
    ACCOUNTS,
    CONFLICTS,
    FEEDS,
    LINKS,
    SERVED,
    SERVED_HEADS,
    RemoteLink,
)
from bethink.calendar_sync.served import ServedCalendars
from bethink.calendar_sync.service import CalendarSync
from bethink.feature import BackgroundTask, Feature, OpenFeature
from bethink.forgettable import Forgettable
from bethink.internet.connect import gate_for
from bethink.secrets_at_rest import SecretBox
from bethink.settings.live import follows
from bethink.store import Delete, DeleteAll, Put, Scan, items_of, records_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.feature import ComponentForm, Surroundings
    from bethink.redaction import Redaction
    from bethink.store import Change, Store

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
                    names = {"account", "calendar", "href", "uid", "form", "id"}
                    kept = {name: getattr(one, name) for name in names}
                    link = RemoteLink(**kept, here="settled", there=one.there_etag)
                    changes.append(Put(LINKS, link))
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
