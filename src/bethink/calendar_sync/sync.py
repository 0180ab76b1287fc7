"""One pass over an account: what changed there comes here, what changed here goes there, nothing is lost.

For each object it is kept which etag each side had when both agreed (`RemoteLink`). What differs from that
changed on that side; on both sides, it is a conflict, which its owner settles. Every step can be cut short
and done again: what is written there is written only in place of what was read there, and what then turns
out to be the same on both sides is taken as agreed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import anyio.to_thread
import msgspec

from bethink.calendar_sync.client import CalDavClient, ChangedThere, Changes, RefusedThere, RemoteText
from bethink.calendar_sync.objects import CalendarObject, calendar_text, fingerprint, read_objects
from bethink.calendar_sync.records import (
    CONFLICTS,
    LINKS,
    CalendarAccount,
    Form,
    RemoteLink,
    SyncConflict,
    SyncedCalendar,
    digest,
    link_id,
)
from bethink.errors import BadInput, BethinkError, Conflict
from bethink.ical.lines import components
from bethink.store import Change, Delete, Put, Scan, Store, records_of

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.feature import ComponentForm
    from bethink.principal import Principal

_PAGE: Final = 500
_BATCH: Final = 50
_NEVER: Final = "-"
"""Stands for the etag of what its server never took."""
MOST_DELETED: Final = 10
"""So many may go at once without a question; of more, half of a calendar."""


class ManyDeleted(BethinkError):
    """Much of a calendar is gone on one side: nothing is deleted on the other until the owner agrees."""

    code = "calendar_many_deleted"
    status = 409

    def __init__(self, count: int, total: int, name: str, *, where: str = "on the server") -> None:
        other = "here" if where != "here" else "on the server"
        super().__init__(
            f"{name}: {count:,} of {total:,} entries are gone {where}. Nothing was deleted {other}."
            " If that is right, synchronise with the deletions accepted."
        )
        self.count = count


@dataclass(slots=True)
class SyncReport:
    """How many came, went, were deleted on either side, are in conflict, and were refused."""

    received: int = 0
    sent: int = 0
    deleted_here: int = 0
    deleted_there: int = 0
    conflicts: int = 0
    refused: int = 0


@dataclass(slots=True)
class _Item:
    """One object in a pass: what is known, and what each side has now; `etag` is None of what is gone."""

    href: str
    link: RemoteLink | None
    etag: str | None
    text: RemoteText | None = None
    found: CalendarObject | None = None


@dataclass(slots=True)
class SyncPass:
    """One pass over an account, for its owner."""

    store: Store
    clock: Clock
    forms: Mapping[str, ComponentForm]
    principal: Principal
    client: CalDavClient
    account: CalendarAccount
    accepts_deletions: bool = False
    report: SyncReport = field(default_factory=SyncReport)
    _etags: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _conflicts: dict[str, SyncConflict] = field(default_factory=dict[str, SyncConflict])
    _by_uid: dict[tuple[str, str], RemoteLink] = field(default_factory=dict[tuple[str, str], RemoteLink])
    _gone: set[str] = field(default_factory=set[str])

    async def calendar(self, calendar: SyncedCalendar) -> SyncedCalendar:
        """Make one calendar the same on both sides; it as it is to be kept, with what its server said.

        Raises:
            ManyDeleted: much is gone there.
            WebError: the server cannot be reached, or does not do as it should.
        """
        now = await self.client.calendar(calendar.href)
        if now is None:
            raise BadInput(f"{calendar.name}: this calendar is not on the server any more.")
        for name in calendar.forms:
            self._etags[name] = await self._here(self.forms[name])
        scan = Scan(CONFLICTS, {"account": self.account.id}, "at", limit=_PAGE)
        self._conflicts = {one.id: one async for one in records_of(self.store, self._owner, scan)}
        links = {link.href: link async for link in self._links() if link.calendar == calendar.href}
        same = bool(now.ctag) and now.ctag == calendar.ctag
        changes = await self.client.changes(calendar.href, calendar.sync_token) if not same else None
        await self._take(calendar, links, changes)
        await self._bring(calendar)
        token = changes.sync_token or now.sync_token if changes else calendar.sync_token
        # What we wrote ourselves is told as a change once more, and is known then.
        return msgspec.structs.replace(calendar, ctag=now.ctag, sync_token=token, read_only=now.read_only)

    @property
    def _owner(self) -> str:
        return self.principal.owner

    async def _here(self, form: ComponentForm) -> dict[str, str]:
        return {state.uid: state.etag async for page in form.states(self._owner) for state in page}

    def _links(self) -> AsyncGenerator[RemoteLink]:
        return records_of(self.store, self._owner, Scan(LINKS, {"account": self.account.id}, limit=_PAGE))

    # --- from there to here --------------------------------------------------

    async def _take(
        self, calendar: SyncedCalendar, links: Mapping[str, RemoteLink], changes: Changes | None
    ) -> None:
        """Take over what changed there."""
        etags = dict(changes.etags) if changes else {}
        if changes and changes.is_whole:
            etags |= dict.fromkeys(links.keys() - etags.keys())
        # A side of which it is not known whether it is newer is looked at again.
        etags |= {
            href: link.there
            for href, link in links.items()
            if not link.there
            and link.state == "linked"
            and href not in etags
            and link.id not in self._conflicts
        }
        items = [
            _Item(href, links.get(href), etag)
            for href, etag in etags.items()
            if self._is_new(links.get(href), etag)
        ]
        gone = [item for item in items if item.etag is None]
        self._check_deletions(gone, links, calendar)
        self._by_uid = {(link.form, link.uid): link for link in links.values() if link.state == "linked"}
        self._gone = {item.href for item in gone}
        changed = [item for item in items if item.etag is not None]
        for start in range(0, len(changed), _BATCH):
            await self._changed_there(calendar, changed[start : start + _BATCH])
        for item in gone:
            await self._gone_there(item)

    @staticmethod
    def _is_new(link: RemoteLink | None, etag: str | None) -> bool:
        if link is None:
            return etag is not None
        return not etag or link.there != etag

    def _check_deletions(
        self, gone: Sequence[_Item], links: Mapping[str, RemoteLink], calendar: SyncedCalendar
    ) -> None:
        linked = [link for link in links.values() if link.state == "linked"]
        count = sum(1 for item in gone if item.link and self._is_here(item.link))
        if count > MOST_DELETED and count * 2 >= len(linked) and not self.accepts_deletions:
            raise ManyDeleted(count, len(linked), calendar.name)

    def _is_here(self, link: RemoteLink) -> bool:
        return link.uid in self._etags.get(link.form, {})

    async def _gone_there(self, item: _Item) -> None:
        link = item.link
        if link is None:
            return
        here = self._etags.get(link.form, {}).get(link.uid)
        has_moved = self._by_uid.get((link.form, link.uid), link).href != link.href
        if link.state != "linked" or here is None or has_moved:
            await self._commit(Delete(LINKS, link.id), Delete(CONFLICTS, link.id))
        elif here == link.here and link.id not in self._conflicts:
            try:
                await self.forms[link.form].delete(self.principal, link.uid, here)
            except Conflict:
                return
            self._etags[link.form].pop(link.uid, None)
            await self._commit(Delete(LINKS, link.id))
            self.report.deleted_here += 1
        else:
            await self._conflict(item, link)

    async def _changed_there(self, calendar: SyncedCalendar, items: Sequence[_Item]) -> None:
        texts = {
            one.href: one for one in await self.client.fetch(calendar.href, [item.href for item in items])
        }
        put: list[_Item] = []
        for item in items:
            if (text := texts.get(item.href)) is None:
                continue
            item.text, item.etag = text, text.etag or item.etag
            objects, why = await self._read(text.content, calendar.forms)
            ours = [one for one in objects if one.form in calendar.forms]
            item.found = ours[0] if len(ours) == 1 else None
            if item.found is None or item.found.why:
                await self._leave(calendar, item, why or (item.found.why if item.found else ""))
            elif await self._may_take(calendar, item, item.found):
                put.append(item)
        for form in calendar.forms:
            await self._put_here(calendar, [item for item in put if item.found and item.found.form == form])

    async def _read(self, content: bytes, forms: Sequence[str]) -> tuple[Sequence[CalendarObject], str]:
        try:
            objects = await anyio.to_thread.run_sync(lambda: read_objects(content, forms=forms))
        except BadInput as error:
            return (), error.message
        return objects.found, ""

    async def _may_take(self, calendar: SyncedCalendar, item: _Item, found: CalendarObject) -> bool:
        """Whether what is there may replace what is here; what both sides changed is a conflict."""
        link = item.link
        if link is not None and link.uid != found.uid:
            # Another thing stands at this path now: the one before is gone there.
            await self._gone_there(_Item(item.href, link, None))
            link = item.link = None
        here = self._etags[found.form].get(found.uid)
        other = self._by_uid.get((found.form, found.uid))
        if other is not None and other.href != item.href:
            if other.href not in self._gone:
                await self._leave(calendar, item, "The server has it twice.")
                return False
            moved = self._made(calendar, item.href, uid=found.uid, form=other.form)
            link = item.link = msgspec.structs.replace(moved, here=other.here, there=other.there)
        if here is None and (link is None or link.state not in {"linked", "refused_there"}):
            return True
        if here is not None and await self._is_same(found):
            await self._commit(
                Put(LINKS, self._linked(calendar, item, found, here=here)),
                Delete(CONFLICTS, link_id(self.account.id, item.href)),
            )
            return False
        is_agreed = link is not None and here == link.here and link.state != "refused_there"
        if is_agreed and link is not None and link.id not in self._conflicts:
            return True
        await self._conflict(item, link or self._made(calendar, item.href, uid=found.uid, form=found.form))
        return False

    async def _is_same(self, found: CalendarObject) -> bool:
        (text,) = await self.forms[found.form].texts(self.principal, [found.uid])
        return text is not None and fingerprint(components("\n".join(text.lines))) == fingerprint(found.parts)

    async def _put_here(self, calendar: SyncedCalendar, items: Sequence[_Item]) -> None:
        if not items:
            return
        founds = [item.found for item in items if item.found]
        form = self.forms[founds[0].form]
        known = self._etags[form.name]
        incoming = [found.incoming(known.get(found.uid, "")) for found in founds]
        changes: list[Change] = []
        for item, found, outcome in zip(items, founds, await form.put(self.principal, incoming), strict=True):
            if outcome.kind == "refused":
                await self._leave(calendar, item, outcome.why)
            elif outcome.kind != "conflict":
                known[found.uid] = outcome.etag
                changes.append(Put(LINKS, self._linked(calendar, item, found, here=outcome.etag)))
                self.report.received += outcome.kind != "known"
        await self._commit(*changes)

    def _linked(
        self, calendar: SyncedCalendar, item: _Item, found: CalendarObject, *, here: str
    ) -> RemoteLink:
        self._by_uid[found.form, found.uid] = made = self._made(
            calendar, item.href, uid=found.uid, form=found.form
        )
        return msgspec.structs.replace(made, here=here, there=item.etag or "")

    def _made(self, calendar: SyncedCalendar, href: str, *, uid: str, form: str) -> RemoteLink:
        return RemoteLink(
            id=link_id(self.account.id, href),
            account=self.account.id,
            calendar=calendar.href,
            href=href,
            uid=uid,
            form=cast("Form", form),
        )

    async def _leave(self, calendar: SyncedCalendar, item: _Item, why: str) -> None:
        """Note what is not taken, so that it is looked at again when it changes there, and never deleted."""
        link = item.link or self._made(calendar, item.href, uid="", form=calendar.forms[0])
        state = "refused_here" if why else "left"
        self.report.refused += bool(why)
        kept = msgspec.structs.replace(link, there=item.etag or "", state=state, why=why[:300])
        await self._commit(Put(LINKS, kept))

    # --- conflicts -----------------------------------------------------------

    async def _conflict(self, item: _Item, link: RemoteLink) -> None:
        """Keep both sides for their owner."""
        there = None
        if item.etag is not None:
            if item.text is None:
                found = await self.client.fetch(link.calendar, [link.href])
                item.text = found[0] if found else None
            there = item.text.content.decode("utf-8", "replace") if item.text else None
        (text,) = await self.forms[link.form].texts(self.principal, [link.uid])
        before = self._conflicts.get(link.id)
        here = calendar_text([text]) if text else None
        title = item.found.title if item.found else _title(here)
        conflict = SyncConflict(
            id=link.id,
            account=self.account.id,
            calendar=link.calendar,
            href=link.href,
            uid=link.uid,
            form=link.form,
            at=before.at if before else self.clock.now_us(),
            title=title or link.uid,
            here=here,
            there=there,
            there_etag=(item.text.etag if item.text else item.etag) or "",
        )
        if here is None and there is None:
            await self._commit(Delete(LINKS, link.id), Delete(CONFLICTS, link.id))
            return
        self._conflicts[link.id] = conflict
        self.report.conflicts += before is None
        await self._commit(Put(CONFLICTS, conflict), Put(LINKS, link))

    # --- from here to there --------------------------------------------------

    async def _bring(self, calendar: SyncedCalendar) -> None:
        """Bring there what changed here."""
        if calendar.read_only or self.account.sends == "nothing":
            return
        links = [link async for link in self._links() if link.calendar == calendar.href]
        linked = [link for link in links if link.state == "linked"]
        deleted = [link for link in linked if not self._is_here(link) and link.id not in self._conflicts]
        if len(deleted) > MOST_DELETED and len(deleted) * 2 >= len(linked) and not self.accepts_deletions:
            raise ManyDeleted(len(deleted), len(linked), calendar.name, where="here")
        for link in links:
            if link.state in {"linked", "refused_there"} and link.form in calendar.forms and link.there:
                await self._bring_linked(link)
        if self.account.sends == "all":
            for form in calendar.forms:
                if self._is_home(calendar, form):
                    await self._bring_new(calendar, form)

    def _is_home(self, calendar: SyncedCalendar, form: str) -> bool:
        """Whether new things of a form go to this calendar of the account."""
        fit = [one for one in self.account.calendars if one.on and not one.read_only and form in one.forms]
        return bool(fit) and fit[0].href == calendar.href

    async def _bring_linked(self, link: RemoteLink) -> None:
        here = self._etags[link.form].get(link.uid)
        if here == link.here or link.id in self._conflicts:
            return
        if here is None:
            await self._delete_there(link)
        else:
            await self._write_there(link, here, link.there if link.there != _NEVER else None)

    async def _delete_there(self, link: RemoteLink) -> None:
        if link.state == "refused_there":
            # It never went there.
            await self._commit(Delete(LINKS, link.id))
            return
        try:
            await self.client.delete(link.href, link.there)
        except ChangedThere:
            await self._conflict(_Item(link.href, link, link.there), link)
            return
        except RefusedThere as error:
            await self._refused(link, link.here, error)
            return
        await self._commit(Delete(LINKS, link.id))
        self.report.deleted_there += 1

    async def _bring_new(self, calendar: SyncedCalendar, form: Form) -> None:
        known = {
            link.uid
            async for link in records_of(self.store, self._owner, Scan(LINKS, limit=_PAGE))
            if link.form == form and link.state != "left"
        }
        for uid, etag in list(self._etags[form].items()):
            if uid not in known:
                # The same path each time: what was written when a pass was cut short is found again.
                href = f"{calendar.href.rstrip('/')}/{digest(form, uid)}.ics"
                await self._write_there(self._made(calendar, href, uid=uid, form=form), etag, None)

    async def _write_there(self, link: RemoteLink, here: str, etag: str | None) -> None:
        (text,) = await self.forms[link.form].texts(self.principal, [link.uid])
        if text is None:
            return
        try:
            new = await self.client.put(link.href, calendar_text([text]), etag)
        except ChangedThere:
            await self._met(link, here)
            return
        except RefusedThere as error:
            await self._refused(link, here, error)
            return
        # Without an etag the server may have written it in its own way: it is looked at in the next pass.
        kept = msgspec.structs.replace(link, here=text.etag, there=new, state="linked", why="")
        await self._commit(Put(LINKS, kept))
        self.report.sent += 1

    async def _met(self, link: RemoteLink, here: str) -> None:
        """Something else is there than was expected: the same, if a pass was cut short; else a conflict."""
        found = await self.client.fetch(link.calendar, [link.href])
        item = _Item(link.href, link, found[0].etag if found else None, found[0] if found else None)
        if item.text is not None:
            objects, _ = await self._read(item.text.content, [link.form])
            item.found = objects[0] if len(objects) == 1 else None
            if item.found is not None and item.found.uid == link.uid and await self._is_same(item.found):
                kept = msgspec.structs.replace(link, here=here, there=item.etag or "", state="linked", why="")
                await self._commit(Put(LINKS, kept))
                return
        await self._conflict(item, link)

    async def _refused(self, link: RemoteLink, here: str, error: RefusedThere) -> None:
        self.report.refused += 1
        kept = msgspec.structs.replace(
            link, here=here, there=link.there or _NEVER, state="refused_there", why=error.message[:300]
        )
        await self._commit(Put(LINKS, kept))

    async def _commit(self, *changes: Change) -> None:
        if changes:
            await self.store.commit(self._owner, changes)


def _title(text: str | None) -> str:
    if text is None:
        return ""
    try:
        objects = read_objects(text.encode(), forms=("VEVENT", "VTODO"))
    except BadInput:
        return ""
    return objects.found[0].title if objects.found else ""
