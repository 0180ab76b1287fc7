"""What Bethink's own calendar server shows: objects by their names in addresses, and what changed since.

Records know nothing of addresses. What clients were told is kept beside them (`ServedObject`), and compared
with what is there whenever somebody asks: what differs is a change, however it came about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import anyio.to_thread

from bethink.calendar_sync.objects import calendar_text, read_objects
from bethink.calendar_sync.records import SERVED, SERVED_HEADS, Form, ServedHead, ServedObject, digest
from bethink.errors import BadInput, Conflict
from bethink.store import Change, Put, Scan, Store, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.feature import ComponentForm, ComponentText
    from bethink.principal import Principal

_PAGE: Final = 1_000
_PLAIN: Final = re.compile(r"[A-Za-z0-9._@+-]{1,200}")
MAX_NAME: Final = 250


@dataclass(frozen=True, slots=True)
class ServedText:
    """An object as it is sent: its name, its etag, and the calendar file."""

    name: str
    etag: str
    text: str


@dataclass(frozen=True, slots=True)
class ServedCalendars:
    """The calendars of all owners: one for each form of component."""

    store: Store
    forms: Callable[[], Mapping[str, ComponentForm]]

    @retry_conflicts
    async def current(self, owner: str, form: str) -> tuple[dict[str, ServedObject], int]:
        """All objects by their names, those that are gone with them, and the number of the last change."""
        (head,) = await self.store.get(SERVED_HEADS, owner, [form])
        scan = Scan(SERVED, {"form": form}, "number", limit=_PAGE)
        told = {one.name: one async for one in records_of(self.store, owner, scan)}
        names = {one.uid: one.name for one in told.values()}
        etags = {state.uid: state.etag async for page in self.forms()[form].states(owner) for state in page}
        number = head.record.number if head else 0
        changed = [
            _served(form, names.get(uid) or name_of(uid), uid, etag=etag, number=number + 1)
            for uid, etag in etags.items()
            if uid not in names or told[names[uid]].etag != etag
        ]
        changed += [
            _served(form, one.name, one.uid, etag="", number=number + 1)
            for one in told.values()
            if one.etag and one.uid not in etags
        ]
        if changed:
            number += 1
            new = Put(SERVED_HEADS, ServedHead(id=form, number=number), head.version if head else 0)
            await self.store.commit(owner, [new, *(Put(SERVED, one) for one in changed)])
        return told | {one.name: one for one in changed}, number

    async def find(self, owner: str, form: str, name: str) -> str:
        """The uid of what stands at a name, or would stand there."""
        (held,) = await self.store.get(SERVED, owner, [digest(form, name)])
        return held.record.uid if held else name.removesuffix(".ics")

    async def texts(self, principal: Principal, form: str, names: Sequence[str]) -> list[ServedText | None]:
        """The objects of these names; None of what is not there."""
        uids = [await self.find(principal.owner, form, name) for name in names]
        found = await self.forms()[form].texts(principal, uids)
        return [text and _sent(name, text) for name, text in zip(names, found, strict=True)]

    async def put(
        self, principal: Principal, form: str, name: str, *, content: bytes, if_etag: str | None
    ) -> bool:
        """Keep what a client sends under a name; whether it is new.

        Raises:
            BadInput: it cannot be kept; the sentence says why.
            Conflict: there is another one than `if_etag` says.
            UidTaken: the same uid stands at another name.
        """
        if not name.endswith(".ics") or len(name) > MAX_NAME:
            raise BadInput("The address of an event or task ends with a name such as 5f2c.ics.")
        objects = await anyio.to_thread.run_sync(lambda: read_objects(content, forms=[form]))
        if len(objects.found) != 1:
            raise BadInput(f"Here stands one {form} with its changed instances, not {len(objects.found)}.")
        found = objects.found[0]
        if found.why:
            raise BadInput(found.why)
        held = await self.find(principal.owner, form, name)
        (before,) = await self.forms()[form].texts(principal, [held])
        if before is not None and held != found.uid:
            raise UidTaken("The uid of an event or task stays the same.")
        known, _ = await self.current(principal.owner, form)
        other = next((one for one in known.values() if one.uid == found.uid and one.name != name), None)
        if other is not None and other.etag:
            raise UidTaken(f"This uid stands at {other.name}.")
        (outcome,) = await self.forms()[form].put(principal, [found.incoming(if_etag, untrusted=False)])
        if outcome.kind == "refused":
            raise BadInput(outcome.why)
        if outcome.kind == "conflict" or (outcome.kind == "known" and if_etag == ""):
            raise Conflict
        await self._name(principal.owner, form, name, uid=found.uid, other=other)
        return outcome.kind == "new"

    @retry_conflicts
    async def _name(self, owner: str, form: str, name: str, *, uid: str, other: ServedObject | None) -> None:
        """Remember the name, whose etag is told when it is asked for next."""
        (held,) = await self.store.get(SERVED, owner, [digest(form, name)])
        if held is not None and held.record.uid == uid:
            return
        (head,) = await self.store.get(SERVED_HEADS, owner, [form])
        number = (head.record.number if head else 0) + 1
        one = _served(form, name, uid, etag="-", number=number)
        changes: list[Change] = [
            Put(SERVED_HEADS, ServedHead(id=form, number=number), head.version if head else 0),
            Put(SERVED, one),
        ]
        if other is not None:
            changes.append(Put(SERVED, _served(form, other.name, digest(uid), etag="", number=number)))
        await self.store.commit(owner, changes)


class UidTaken(BadInput):
    """The uid is in use at another address."""

    code = "calendar_uid"
    status = 409


def name_of(uid: str) -> str:
    """The name of an object that no client named."""
    return f"{uid}.ics" if _PLAIN.fullmatch(uid) else f"{digest(uid)}.ics"


def _served(form: str, name: str, uid: str, *, etag: str, number: int) -> ServedObject:
    return ServedObject(
        id=digest(form, name), form=cast("Form", form), uid=uid, name=name, etag=etag, number=number
    )


def _sent(name: str, text: ComponentText) -> ServedText:
    return ServedText(name, text.etag, calendar_text([text]))
