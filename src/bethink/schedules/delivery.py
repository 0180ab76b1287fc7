"""What owners are told, and how it reaches them. `clock` writes notices by it, and asks it what is due.

A notice and its deliveries are kept in one batch with what they tell of. A delivery that fails is tried
again, later each time, and then given up: its owner reads so on the page.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from bethink.clock import Clock, hashed_id
from bethink.errors import AddressRefused, BadInput, Busy, Conflict, DeliveryError, UnknownId, WebError
from bethink.internet.addresses import AddressGate, checked_url, port_of
from bethink.internet.http_get import ready
from bethink.schedules.channels import (
    Letter,
    SubscriptionGone,
    checked_email,
    new_webhook_secret,
    send_push,
    send_webhook,
)
from bethink.schedules.due_times import QuietHours
from bethink.schedules.records import (
    DELIVERIES,
    DELIVERY,
    DELIVERY_SETTINGS,
    NOTICES,
    PUSH_SUBSCRIPTIONS,
    Channel,
    Delivery,
    DeliverySettings,
    Notice,
    PushSubscription,
    Way,
    delivery_id,
    push_id,
)
from bethink.schedules.web_push import Browser, Vapid
from bethink.store import Change, Delete, Put, Scan, Store, Versioned, items_of, records_of, retry_conflicts
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.feature import UnattendedRuns
    from bethink.principal import Principal
    from bethink.schedules.channels import Mail
    from bethink.secrets_at_rest import SecretBox

NOTICED: Final = "schedules.noticed"
"""The bus topic on which an owner is published who has a notice to be read now."""
PAUSES_S: Final = (30, 120, 600, 3_600, 10_800)
"""What is waited after each try: four hours in all, for a server that is being mended."""
_SECOND_US: Final = 1_000_000
_DAY_US: Final = 86_400 * _SECOND_US
_MAX_BROWSERS: Final = 20
_SECRET_BYTES: Final = 24
_WAYS: Final[dict[Way, str]] = {
    "page": "on the page",
    "conversation": "in its conversation",
    "push": "by push",
    "email": "by e-mail",
    "webhook": "by webhook",
}
_log = log("schedules")


class DeliveryChange(msgspec.Struct, frozen=True, kw_only=True):
    """Where an owner wants to be told from now on; what is UNSET stays, "" is nowhere.

    `quiet_hours` of None are those of the settings.
    """

    email: str | msgspec.UnsetType = msgspec.UNSET
    webhook_url: str | msgspec.UnsetType = msgspec.UNSET
    quiet_hours: str | msgspec.UnsetType | None = msgspec.UNSET
    new_webhook_secret: bool = False


@dataclass(frozen=True, slots=True)
class Recipients:
    """How an owner is told: `at` is now or the end of quiet hours, `ways` are set up, each with to whom."""

    now: int
    at: int
    ways: tuple[tuple[Way, str], ...]

    def told(self, notice: Notice, wanted: Sequence[Channel] = (), *, busy: bool = False) -> list[Change]:
        """The changes by which the owner is told.

        It goes by those `wanted` channels that are set up, by all of them if none is named; and into its
        conversation later, if that is `busy` now.
        """
        notice = msgspec.structs.replace(notice, at=self.at)
        ways = [one for one in self.ways if not wanted or one[0] in wanted]
        if self.at > self.now:
            ways.append(("page", ""))
        if busy:
            ways.append(("conversation", ""))
        deliveries = [
            Delivery(
                id=delivery_id(notice, way, to),
                notice=notice.id,
                way=way,
                to=to,
                created_at=self.now,
                next_at=self.now if way == "conversation" else self.at,
            )
            for way, to in ways
        ]
        return [Put(NOTICES, notice, 0), *(Put(DELIVERIES, one, 0) for one in deliveries)]


@dataclass(slots=True, kw_only=True)
class Outbox:
    """The notices of all owners, and their deliveries.

    `gate` judges the addresses that anything is sent to, `mail` is None if no server is set, `site` the
    address of the page, "" if it is not known.
    """

    store: Store
    bus: Bus
    clock: Clock
    unattended: UnattendedRuns
    secret_box: SecretBox = field(repr=False)
    gate: AddressGate
    mail: Mail | None
    quiet_hours: QuietHours | None
    site: str

    async def recipients(self, principal: Principal) -> Recipients:
        """By which ways the owner is told now."""
        settings = await self.settings(principal)
        ways: list[tuple[Way, str]] = []
        if settings.email and self.mail is not None:
            ways.append(("email", ""))
        if settings.webhook_url:
            ways.append(("webhook", ""))
        scan = Scan(PUSH_SUBSCRIPTIONS)
        browsers = [one.id async for one in records_of(self.store, principal.owner, scan)]
        ways.extend(("push", browser) for browser in browsers)
        given = settings.quiet_hours
        quiet = self.quiet_hours if given is None else QuietHours.parse(given)
        now = self.clock.now_us()
        return Recipients(now, quiet.over(now, principal.time_zone) if quiet else now, tuple(ways))

    async def announce(self, owner: str) -> None:
        """Have the owner's page look for notices."""
        await self.bus.publish(NOTICED, owner)

    async def next_at(self, owner: str, leave: Collection[str] = ()) -> int | None:
        """When the next delivery is to be tried, those that are left aside."""
        scan = Scan(DELIVERIES, order="next_at", low=0, limit=len(leave) + 1)
        (page,) = await self.store.scan(owner, scan)
        return next((item.record.next_at for item in page.items if item.record.id not in leave), None)

    async def due(self, owner: str, now: int) -> list[Versioned[Delivery]]:
        """The deliveries that are to be tried now; at most a page of them."""
        (page,) = await self.store.scan(owner, Scan(DELIVERIES, order="next_at", low=0, high=now + 1))
        return list(page.items)

    async def deliver(self, principal: Principal, held: Versioned[Delivery]) -> None:
        """Try one delivery, unless another process does; what comes of it is kept.

        A try that is broken off is repeated, under the same id.
        """
        was, now = held.record, self.clock.now_us()
        pause = PAUSES_S[min(was.tries, len(PAUSES_S) - 1)]
        trying = msgspec.structs.replace(was, tries=was.tries + 1, next_at=now + pause * _SECOND_US)
        try:
            await self.store.commit(principal.owner, [Put(DELIVERIES, trying, held.version)])
        except Conflict:
            return
        (found,) = await self.store.get(NOTICES, principal.owner, [was.notice])
        if found is None:
            await self.store.commit(principal.owner, [Delete(DELIVERIES, was.id)])
            return
        sent = msgspec.structs.replace(trying, state="sent", next_at=None, ended_at=now, error="")
        try:
            if was.way == "conversation":
                # In one batch with that it is sent: it is said once.
                await self._say(principal, found.record, Put(DELIVERIES, sent, held.version + 1))
            else:
                await self._send(principal, trying, found.record)
                await self.store.commit(principal.owner, [Put(DELIVERIES, sent)])
        except DeliveryError as error:
            await self._failed(principal, trying, found.record, error=error)

    async def _say(self, principal: Principal, notice: Notice, put: Put[Delivery]) -> None:
        try:
            await self.unattended.say(
                principal, notice.conversation, said(notice), changes=[put], untrusted=notice.untrusted
            )
        except (Busy, Conflict) as error:
            raise DeliveryError("The conversation is being answered, or waits for an approval.") from error
        except UnknownId as error:
            raise DeliveryError("The conversation is no more.", is_final=True) from error

    async def _send(self, principal: Principal, delivery: Delivery, notice: Notice) -> None:
        settings, now = await self.settings(principal), self.clock.now_us()
        letter = Letter(delivery.id, notice, f"{self.site}{notice.link}" if self.site and notice.link else "")
        match delivery.way:
            case "page" | "conversation":
                # What goes into a conversation is said there (`_say`), and shown on the page as all is.
                await self.announce(principal.owner)
            case "email":
                if self.mail is None or not settings.email:
                    raise DeliveryError("There is no mail server or address any more.", is_final=True)
                await self.mail.send(letter, settings.email)
            case "webhook":
                if not settings.webhook_url:
                    raise DeliveryError("There is no webhook any more.", is_final=True)
                secret = await self.secret_box.open(settings.webhook_secret)
                await send_webhook(self.gate, settings.webhook_url, letter, secret=secret, now_us=now)
            case "push":
                await self._push(principal, delivery, letter=letter, settings=settings)

    async def _push(
        self, principal: Principal, delivery: Delivery, *, letter: Letter, settings: DeliverySettings
    ) -> None:
        (found,) = await self.store.get(PUSH_SUBSCRIPTIONS, principal.owner, [delivery.to])
        if found is None:
            raise SubscriptionGone
        browser = msgspec.json.decode(await self.secret_box.open(found.record.sealed), type=Browser)
        vapid = Vapid(await self.secret_box.open(settings.vapid))
        contact = f"mailto:{settings.email}" if settings.email else self.site
        await send_push(self.gate, browser, letter, vapid=vapid, contact=contact, now_us=self.clock.now_us())

    async def _failed(
        self, principal: Principal, delivery: Delivery, notice: Notice, *, error: DeliveryError
    ) -> None:
        """Keep why a try failed; the last one is told on the page, once a day for each way."""
        _log.info("a notice was not delivered %s: %s", _WAYS[delivery.way], error)
        changes: list[Change] = []
        if isinstance(error, SubscriptionGone):
            changes = [Delete(PUSH_SUBSCRIPTIONS, delivery.to), Delete(DELIVERIES, delivery.id)]
        elif error.is_final or delivery.tries > len(PAUSES_S):
            now = self.clock.now_us()
            changes = [
                Put(
                    DELIVERIES,
                    msgspec.structs.replace(
                        delivery, state="failed", next_at=None, ended_at=now, error=str(error)
                    ),
                )
            ]
            told = _trouble(delivery, notice, str(error), now=now)
            (known,) = await self.store.get(NOTICES, principal.owner, [told.id])
            changes += [Put(NOTICES, told)] if known is None and delivery.way != "conversation" else []
        else:
            changes = [Put(DELIVERIES, msgspec.structs.replace(delivery, error=str(error)))]
        await self.store.commit(principal.owner, changes)
        await self.announce(principal.owner)

    async def deliveries(self, principal: Principal, notices: Sequence[str]) -> list[Delivery]:
        """How these notices went out."""
        found: list[Delivery] = []
        for notice in notices:
            scan = Scan(DELIVERIES, {"notice": notice})
            found += [item.record async for item in items_of(self.store, principal.owner, scan)]
        return found

    async def failing(self, principal: Principal) -> int:
        """How many deliveries were given up within a day."""
        low = self.clock.now_us() - _DAY_US
        scan = Scan(DELIVERIES, {"state": "failed"}, order="created_at", low=low)
        return len((await self.store.scan(principal.owner, scan))[0].items)

    async def settings(self, principal: Principal) -> DeliverySettings:
        """Where the owner wants to be told."""
        return (await self._settings(principal)).record

    @retry_conflicts
    async def change(self, principal: Principal, change: DeliveryChange) -> tuple[DeliverySettings, str]:
        """Change where the owner is told; and the webhook's secret, if a new one was made, else "".

        Raises:
            BadInput: an address or the quiet hours are not as they are written.
            AddressRefused: the webhook is none that may be opened.
        """
        await ready()
        held = await self._settings(principal)
        was, secret = held.record, ""
        url = was.webhook_url if change.webhook_url is msgspec.UNSET else change.webhook_url.strip()
        sealed = was.webhook_secret
        if url and (not sealed or change.new_webhook_secret):
            secret = new_webhook_secret(secrets.token_bytes(_SECRET_BYTES))
            sealed = await self.secret_box.seal(secret)
        quiet = was.quiet_hours if change.quiet_hours is msgspec.UNSET else change.quiet_hours
        email = was.email if change.email is msgspec.UNSET else change.email.strip()
        if email and self.mail is None and email != was.email:
            raise BadInput("No mail server is set: BETHINK_SMTP_URL=smtps://user:password@host.")
        if url and url != was.webhook_url:
            await self._check_webhook(url)
        now = msgspec.structs.replace(
            was,
            email=checked_email(email) if email else "",
            webhook_url=str(checked_url(url)) if url else "",
            webhook_secret=sealed if url else b"",
            quiet_hours=quiet if quiet is None else str(QuietHours.parse(quiet) or ""),
            updated_at=self.clock.now_us(),
        )
        await self.store.commit(principal.owner, [Put(DELIVERY_SETTINGS, now, held.version)])
        return now, secret

    async def _check_webhook(self, url: str) -> None:
        """Refuse an address that may not be opened; one that cannot be found now may be found later."""
        address = checked_url(url)
        with suppress(WebError):
            try:
                await self.gate.addresses(address.host, port_of(address))
            except AddressRefused as error:
                raise BadInput(str(error)) from error

    @retry_conflicts
    async def vapid(self, principal: Principal) -> Vapid:
        """The key pair by which the owner's browsers know this Bethink; made when it is first asked for."""
        held = await self._settings(principal)
        if held.record.vapid:
            return Vapid(await self.secret_box.open(held.record.vapid))
        made = Vapid.made()
        kept = msgspec.structs.replace(held.record, vapid=await self.secret_box.seal(made.private))
        await self.store.commit(principal.owner, [Put(DELIVERY_SETTINGS, kept, held.version)])
        return made

    async def subscribe(self, principal: Principal, browser: Browser) -> PushSubscription:
        """Send notices to a browser from now on.

        Raises:
            BadInput: its keys are none, or there are too many.
            AddressRefused: its address is none that may be opened.
        """
        await ready()
        checked_url(browser.endpoint)
        browser.check()
        id = push_id(browser.endpoint)
        (known,) = await self.store.get(PUSH_SUBSCRIPTIONS, principal.owner, [id])
        if known is None and await self.store.count(principal.owner, PUSH_SUBSCRIPTIONS, {}) >= _MAX_BROWSERS:
            raise BadInput(f"{_MAX_BROWSERS} browsers take notices already: remove one first.")
        await self.vapid(principal)
        kept = PushSubscription(
            id=id,
            sealed=await self.secret_box.seal(msgspec.json.encode(browser).decode()),
            host=urlsplit(browser.endpoint).netloc,
            created_at=self.clock.now_us(),
        )
        await self.store.commit(principal.owner, [Put(PUSH_SUBSCRIPTIONS, kept)])
        return kept

    async def unsubscribe(self, principal: Principal, endpoint: str) -> None:
        """Send nothing to a browser any more; nothing happens if it was not sent to."""
        await self.store.commit(principal.owner, [Delete(PUSH_SUBSCRIPTIONS, push_id(endpoint))])

    async def subscriptions(self, principal: Principal) -> list[PushSubscription]:
        """The browsers that take notices."""
        scan = Scan(PUSH_SUBSCRIPTIONS, order="created_at")
        return [one async for one in records_of(self.store, principal.owner, scan)]

    async def _settings(self, principal: Principal) -> Versioned[DeliverySettings]:
        (found,) = await self.store.get(DELIVERY_SETTINGS, principal.owner, [DELIVERY])
        return found or Versioned(DeliverySettings(id=DELIVERY), 0)


def said(notice: Notice) -> str:
    """A notice as a message of its conversation."""
    text = notice.text if notice.title in notice.text else f"**{notice.title}**\n\n{notice.text}"
    return f"Reminder: {text}" if notice.kind == "reminder" else text


def _trouble(delivery: Delivery, notice: Notice, error: str, *, now: int) -> Notice:
    day = now - now % _DAY_US
    return Notice(
        id=hashed_id(day, f"{delivery.way}\0{day}".encode()),
        kind="trouble",
        at=now,
        title=f"Not delivered {_WAYS[delivery.way]}",
        text=f"“{notice.title}” was not delivered {_WAYS[delivery.way]}: {error}",
        link=notice.link,
        conversation=notice.conversation,
        schedule=notice.schedule,
        untrusted=notice.untrusted,
    )
