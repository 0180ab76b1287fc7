"""Accounts of calendar servers: their owner adds, changes and removes them, and settles conflicts."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import anyio
import anyio.to_thread
import msgspec

from bethink.calendar_sync.client import CalDavClient, RemoteCalendar, ServerBusy, connected
from bethink.calendar_sync.objects import calendar_text, read_objects
from bethink.calendar_sync.records import (
    ACCOUNTS,
    CONFLICTS,
    LINKS,
    CalendarAccount,
    Form,
    RemoteLink,
    Sends,
    SyncConflict,
    SyncedCalendar,
    digest,
)
from bethink.calendar_sync.sync import ManyDeleted, SyncPass, SyncReport
from bethink.errors import BadInput, BethinkError, Busy, Conflict, StorageError, UnknownId, WebError
from bethink.ical.values import escaped
from bethink.internet.addresses import AddressGate, checked_url
from bethink.leases import leased
from bethink.store import Delete, Put, Scan, Store, Versioned, owners_of, records_of, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.feature import ComponentForm, ComponentText
    from bethink.principal import OnBehalfOf, Principal
    from bethink.secrets_at_rest import SecretBox

Keep = Literal["here", "there", "both"]


MAX_ACCOUNTS: Final = 20
_MAX_TEXT: Final = 300
_MINUTE_US: Final = 60_000_000
_LOOK_S: Final = 15.0
"""How often it is looked whether an account is due."""
_PASS_S: Final = 600.0
"""The longest pass; the next one goes on."""
_MOST_WAIT_MINUTES: Final = 6 * 60
_MOST_DOUBLED: Final = 8
_PAGE: Final = 200
_TOPIC: Final = "calendar.sync"
_NO_CONFLICT: Final = "There is no conflict with this id: it may be settled already."
_RUNNING: Final = "This account is being synchronised right now: try again when that is done."
_log = log("calendar")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDraft:
    """A new account; `password` goes to its server alone."""

    url: str
    user: str
    password: str = field(repr=False)
    name: str = ""
    sends: Sends = "all"
    interval_minutes: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownConflict:
    """A conflict, and what is here now, as calendar texts; None of what is deleted."""

    conflict: SyncConflict
    account: str
    here: str | None


@dataclass(slots=True, kw_only=True)
class CalendarSync:
    """The accounts of all owners."""

    store: Store
    clock: Clock
    bus: Bus
    gate: AddressGate
    secret_box: SecretBox
    new_id: Callable[[], str]
    acting: OnBehalfOf
    forms: Callable[[], Mapping[str, ComponentForm]]
    connect: Callable[..., AbstractAsyncContextManager[CalDavClient]] = connected
    _wake: anyio.Event = field(default_factory=anyio.Event)
    _at_work: set[str] = field(default_factory=set[str])

    # --- accounts ------------------------------------------------------------

    async def accounts(self, principal: Principal) -> list[CalendarAccount]:
        """The accounts of an owner, in the order in which they were added."""
        return [one async for one in records_of(self.store, principal.owner, Scan(ACCOUNTS, limit=_PAGE))]

    async def account(self, principal: Principal, id: str) -> CalendarAccount:
        """The account with this id.

        Raises:
            UnknownId: this owner has none.
        """
        return (await self._account(principal.owner, id)).record

    async def _account(self, owner: str, id: str) -> Versioned[CalendarAccount]:
        (held,) = await self.store.get(ACCOUNTS, owner, [id])
        if held is None:
            raise UnknownId("There is no calendar account with this id.")
        return held

    async def add(self, principal: Principal, draft: AccountDraft) -> CalendarAccount:
        """Add an account, whose server is asked for its calendars first.

        Raises:
            BadInput: something is missing, or there are too many accounts.
            WebError: the server cannot be reached, refuses, or has no calendars.
        """
        if len(await self.accounts(principal)) >= MAX_ACCOUNTS:
            raise BadInput(f"There are {MAX_ACCOUNTS} calendar accounts: remove one first.")
        url, user = draft.url.strip(), draft.user.strip()
        if not user or not draft.password or max(map(len, (url, user, draft.password))) > _MAX_TEXT * 10:
            raise BadInput("A calendar account needs the address of its server, a user name and a password.")
        url = url if "://" in url else f"https://{url}"
        async with self.connect(self.gate, url, user=user, password=draft.password) as client:
            found = await client.calendars()
        account = CalendarAccount(
            id=self.new_id(),
            name=(draft.name.strip() or f"{user} at {checked_url(url).host}")[:_MAX_TEXT],
            url=url,
            user=user,
            password=await self.secret_box.seal(draft.password),
            created_at=self.clock.now_us(),
            sends=draft.sends,
            interval_minutes=draft.interval_minutes,
            calendars=self._calendars(found),
        )
        if not account.calendars:
            raise BadInput("This server has no calendar for events or tasks: make one there first.")
        await self.store.commit(principal.owner, [Put(ACCOUNTS, account, 0)])
        await self._tell()
        return account

    async def update(self, principal: Principal, id: str, given: Mapping[str, Any]) -> CalendarAccount:
        """Change fields of an account: `name`, `password`, `sends`, `interval_minutes`, `paused`.

        `off` are the paths of its calendars that are not synchronised.

        Raises:
            UnknownId: this owner has no such account.
        """
        fields = {name: value for name, value in given.items() if name not in {"password", "off"}}
        if password := given.get("password"):
            fields["password"] = await self.secret_box.seal(password)
        off = given.get("off")
        changed = await self._changed(principal.owner, id, fields, off=None if off is None else set(off))
        await self._tell()
        return changed

    @retry_conflicts
    async def _changed(
        self, owner: str, id: str, fields: Mapping[str, Any], *, off: set[str] | None = None
    ) -> CalendarAccount:
        held = await self._account(owner, id)
        account = msgspec.structs.replace(held.record, **{"next_at": 0, "failures": 0, **fields})
        # A pass gives the calendars as it found them; what its owner switched off meanwhile stays off.
        off = {one.href for one in held.record.calendars if not one.on} if off is None else off
        calendars = [msgspec.structs.replace(one, on=one.href not in off) for one in account.calendars]
        account = msgspec.structs.replace(account, calendars=tuple(calendars))
        await self.store.commit(owner, [Put(ACCOUNTS, account, held.version)])
        return account

    async def remove(self, principal: Principal, id: str, *, with_entries: bool = False) -> int:
        """Remove an account; what came from it stays here, or goes `with_entries`. Its server keeps all.

        Gives how many entries went.

        Raises:
            UnknownId: this owner has no such account.
            Busy: it is being synchronised.
        """
        await self.account(principal, id)
        async with self._alone(id):
            links = [link async for link in self._links(principal.owner, id)]
            scan = Scan(CONFLICTS, {"account": id}, limit=_PAGE)
            conflicts = [one.id async for one in records_of(self.store, principal.owner, scan)]
            await self.store.commit(
                principal.owner,
                [
                    Delete(ACCOUNTS, id),
                    *(Delete(LINKS, link.id) for link in links),
                    *(Delete(CONFLICTS, one) for one in conflicts),
                ],
            )
        gone = [
            link for link in links if with_entries and link.state == "linked" and link.form in self.forms()
        ]
        return sum([await self.forms()[link.form].delete(principal, link.uid, None) for link in gone])

    async def account_names(self, principal: Principal, uids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The id and the name of the account that each uid is linked with, of those that are."""
        names = {one.id: one.name for one in await self.accounts(principal)}
        if not names:
            return {}
        pages = await self.store.scan(principal.owner, *(Scan(LINKS, {"uid": uid}, limit=1) for uid in uids))
        found = [item.record for page in pages for item in page.items]
        return {link.uid: (link.account, names[link.account]) for link in found if link.account in names}

    async def refused(self, principal: Principal, id: str) -> list[RemoteLink]:
        """What one side does not take of the other, with the reasons."""
        return [link async for link in self._links(principal.owner, id) if link.state.startswith("refused")]

    def _links(self, owner: str, account: str) -> Any:  # noqa: ANN401 - an asynchronous generator of links
        return records_of(self.store, owner, Scan(LINKS, {"account": account}, limit=_PAGE))

    def _calendars(self, found: Sequence[RemoteCalendar]) -> tuple[SyncedCalendar, ...]:
        known = self.forms()
        return tuple(
            SyncedCalendar(
                href=one.href,
                name=one.name or one.href,
                forms=cast("tuple[Form, ...]", tuple(name for name in known if name in one.components)),
                read_only=one.read_only,
            )
            for one in found
            if not one.components.isdisjoint(known)
        )

    # --- passes --------------------------------------------------------------

    async def sync(
        self, principal: Principal, id: str, *, accepts_deletions: bool = False
    ) -> tuple[CalendarAccount, SyncReport]:
        """Synchronise one account now; the account says what went wrong.

        Raises:
            UnknownId: this owner has no such account.
            Busy: this or another process does it right now.
        """
        await self.account(principal, id)
        async with self._alone(id):
            account = await self.account(principal, id)
            report, fields = await self._passed(principal, account, accepts_deletions=accepts_deletions)
            return await self._changed(principal.owner, id, fields), report

    @asynccontextmanager
    async def _alone(self, id: str) -> AsyncGenerator[None]:
        """Nobody else synchronises the account inside, in this process or another.

        Raises:
            Busy: somebody does.
        """
        # A process that has a lease gets it again: those within it are told apart here.
        if id in self._at_work:
            raise Busy(_RUNNING)
        self._at_work.add(id)
        try:
            async with leased(self.bus, f"calendar-sync:{id}", _RUNNING):
                yield
        finally:
            self._at_work.discard(id)

    async def _passed(
        self, principal: Principal, account: CalendarAccount, *, accepts_deletions: bool
    ) -> tuple[SyncReport, dict[str, Any]]:
        """One pass, and the fields of the account that say how it went."""
        done = SyncReport()
        calendars = {one.href: one for one in account.calendars}
        fault: BethinkError | None = None
        try:
            with anyio.fail_after(_PASS_S):
                password = await self.secret_box.open(account.password)
                async with self.connect(
                    self.gate, account.url, user=account.user, password=password
                ) as client:
                    found = self._calendars(await client.calendars())
                    # Those that were made on the server since come along.
                    calendars = {one.href: one for one in found} | calendars
                    account = msgspec.structs.replace(account, calendars=tuple(calendars.values()))
                    one_pass = SyncPass(
                        store=self.store,
                        clock=self.clock,
                        forms=self.forms(),
                        principal=principal,
                        client=client,
                        account=account,
                        accepts_deletions=accepts_deletions,
                        report=done,
                    )
                    for calendar in (one for one in account.calendars if one.on and one.forms):
                        calendars[calendar.href] = await one_pass.calendar(calendar)
        except TimeoutError:
            fault = WebError("The server is too slow: what is left comes with the next pass.")
        except (BadInput, WebError, StorageError, ManyDeleted) as error:
            fault = error
        return done, self._outcome(account, tuple(calendars.values()), fault)

    def _outcome(
        self, account: CalendarAccount, calendars: tuple[SyncedCalendar, ...], fault: BethinkError | None
    ) -> dict[str, Any]:
        now = self.clock.now_us()
        fields: dict[str, Any] = {"calendars": calendars, "pending_deletions": getattr(fault, "count", 0)}
        if fault is None:
            next_at = now + account.interval_minutes * _MINUTE_US
            return fields | {"error": "", "failures": 0, "synced_at": now, "next_at": next_at}
        failures = account.failures + 1
        minutes = min(account.interval_minutes * 2 ** min(failures, _MOST_DOUBLED), _MOST_WAIT_MINUTES)
        wait_us = int(minutes * _MINUTE_US * random.uniform(0.8, 1.2))  # noqa: S311 - so that many do not come at once
        if isinstance(fault, ServerBusy) and fault.wait_s is not None:
            wait_us = max(int(fault.wait_s * 1_000_000), _MINUTE_US)
        if account.error != fault.message:
            _log.warning("the calendar account %s: %s", account.id, fault.message)
        return fields | {"error": fault.message, "failures": failures, "next_at": now + wait_us}

    async def keep(self) -> None:
        """Synchronise accounts as they are due, for ever."""
        async with self.bus.subscribe(_TOPIC) as notices, anyio.create_task_group() as tasks:

            async def listen() -> None:
                async for _ in notices:
                    self._wake.set()

            tasks.start_soon(listen)
            while True:
                self._wake = anyio.Event()
                await self._due()
                with anyio.move_on_after(_LOOK_S):
                    await self._wake.wait()

    async def _due(self) -> None:
        now = self.clock.now_us()
        async for owner in owners_of(self.store, ACCOUNTS):
            principal = self.acting(owner, audience="calendar")
            for account in await self.accounts(principal):
                if account.paused or account.next_at > now:
                    continue
                with recorded(_log, "a calendar account could not be synchronised"):
                    try:
                        await self.sync(principal, account.id)
                    except (Busy, UnknownId, Conflict):
                        continue

    async def _tell(self) -> None:
        """Have whoever synchronises look, in whichever process."""
        self._wake.set()
        await self.bus.publish(_TOPIC)

    async def faults(self, principal: Principal) -> list[str]:
        """A sentence for each account that does not work, and one for conflicts."""
        told = [f"{one.name}: {one.error}" for one in await self.accounts(principal) if one.error]
        count = await self.store.count(principal.owner, CONFLICTS, {})
        if count:
            what = "1 entry was" if count == 1 else f"{count:,} entries were"
            told.append(f"{what} changed here and on the calendar server: settle it at /calendar/conflicts.")
        return told

    # --- conflicts -----------------------------------------------------------

    async def conflicts(self, principal: Principal) -> list[ShownConflict]:
        """What both sides changed, the oldest first."""
        names = {one.id: one.name for one in await self.accounts(principal)}
        scan = Scan(CONFLICTS, order="at", limit=_PAGE)
        return [
            ShownConflict(
                conflict=one,
                account=names.get(one.account, ""),
                here=calendar_text([text]) if (text := await self._here(principal, one)) else None,
            )
            async for one in records_of(self.store, principal.owner, scan)
        ]

    async def settle(self, principal: Principal, id: str, keep: Keep) -> None:
        """Keep one side of a conflict, or both: the one from there becomes an entry of its own then.

        Raises:
            UnknownId: there is no such conflict.
            BadInput: the side that is to be kept cannot be read.
            Conflict: what is here was changed right now.
        """
        owner = principal.owner
        (held,) = await self.store.get(CONFLICTS, owner, [id])
        (link,) = await self.store.get(LINKS, owner, [id])
        if held is None:
            raise UnknownId(_NO_CONFLICT)
        conflict = held.record
        found = await self._here(principal, conflict)
        here = found.etag if found else ""
        if keep == "both" and not here:
            keep = "there"
        if keep == "there":
            here = await self._take(principal, conflict, here)
        elif keep == "both" and conflict.there is not None:
            await self._copy(principal, conflict)
        # An etag that no side has says that this side is newer: the next pass writes it there.
        agreed = conflict.link(here if keep == "there" else "settled")
        is_gone = conflict.there is None or (keep == "there" and not here)
        changed = Delete(LINKS, id) if is_gone else Put(LINKS, agreed, link.version if link else 0)
        await self.store.commit(owner, [changed, Delete(CONFLICTS, id, held.version)])
        if any(one.id == conflict.account for one in await self.accounts(principal)):
            await self._changed(owner, conflict.account, {})
        await self._tell()

    async def _here(self, principal: Principal, conflict: SyncConflict) -> ComponentText | None:
        form = self.forms().get(conflict.form)
        (text,) = await form.texts(principal, [conflict.uid]) if form else (None,)
        return text

    async def _take(self, principal: Principal, conflict: SyncConflict, here: str) -> str:
        """Replace what is here by what is there; the etag of it, "" if it is gone."""
        form = self.forms()[conflict.form]
        if conflict.there is None:
            await form.delete(principal, conflict.uid, here or None)
            return ""
        return await self._put(principal, conflict, uid=conflict.uid, if_etag=here)

    async def _copy(self, principal: Principal, conflict: SyncConflict) -> None:
        """Keep what is there as an entry of its own; once, however often this is repeated."""
        copy = f"{conflict.uid}-{digest(conflict.there or '')[:12]}"
        await self._put(principal, conflict, uid=copy, if_etag=None)

    async def _put(
        self, principal: Principal, conflict: SyncConflict, *, uid: str, if_etag: str | None
    ) -> str:
        content = (conflict.there or "").encode()
        objects = await anyio.to_thread.run_sync(lambda: read_objects(content, forms=[conflict.form]))
        if len(objects.found) != 1 or objects.found[0].why:
            raise BadInput("The version on the server cannot be read: keep the one that is here.")
        found = objects.found[0]
        found.uid = uid
        for part in found.parts:
            part.lines = [line.but(escaped(uid)) if line.name == "UID" else line for line in part.lines]
        (outcome,) = await self.forms()[conflict.form].put(principal, [found.incoming(if_etag)])
        if outcome.kind == "refused":
            raise BadInput(f"The version on the server cannot be kept: {outcome.why}")
        if outcome.kind == "conflict":
            raise Conflict
        return outcome.etag
