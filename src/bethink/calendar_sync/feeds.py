"""Calendars to subscribe to: an address that is a secret, shows what is planned, and opens nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from bethink.calendar_sync.records import FEEDS, Feed, Form, digest
from bethink.errors import BadInput, UnknownId
from bethink.link_tokens import digest_of, is_of, new_token, owner_of
from bethink.store import Delete, Put, Scan, Store, records_of

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.feature import ComponentForm
    from bethink.principal import Principal

MAX_FEEDS: Final = 50
_MAX_NAME: Final = 200
_USED_US: Final = 3_600_000_000
"""How exactly it is kept when a feed was last asked for."""
_PAGE: Final = 100
NO_FEED: Final = "There is no calendar at this address: it was revoked, or the address is not complete."


@dataclass(frozen=True, slots=True)
class Feeds:
    """The feeds of all owners."""

    store: Store
    clock: Clock
    new_id: Callable[[], str]
    forms: Callable[[], Mapping[str, ComponentForm]]

    async def list(self, principal: Principal) -> list[Feed]:
        """The feeds of an owner."""
        return [feed async for feed in records_of(self.store, principal.owner, Scan(FEEDS, limit=_PAGE))]

    async def add(self, principal: Principal, name: str, forms: Sequence[str] = ()) -> tuple[Feed, str]:
        """A new feed, and its token: it is told this once.

        Raises:
            BadInput: there are too many, or the forms are none.
        """
        known = self.forms()
        if not set(forms) <= known.keys():
            raise BadInput(f"A feed shows {' or '.join(known)}.")
        if len(await self.list(principal)) >= MAX_FEEDS:
            raise BadInput(f"There are {MAX_FEEDS} feeds: revoke one first.")
        token = new_token(principal.owner)
        feed = Feed(
            id=self.new_id(),
            name=name.strip()[:_MAX_NAME] or "Bethink",
            digest=digest_of(token),
            forms=cast("tuple[Form, ...]", tuple(forms or known)),
            created_at=self.clock.now_us(),
        )
        await self.store.commit(principal.owner, [Put(FEEDS, feed, 0)])
        return feed, token

    async def revoke(self, principal: Principal, id: str) -> None:
        """End a feed: its address shows nothing any more.

        Raises:
            UnknownId: this owner has no such feed.
        """
        (held,) = await self.store.get(FEEDS, principal.owner, [id])
        if held is None:
            raise UnknownId("There is no feed with this id.")
        await self.store.commit(principal.owner, [Delete(FEEDS, id)])

    async def of(self, token: str) -> tuple[str, Feed] | None:
        """Whose calendar a token shows, and which; None if it opens nothing."""
        owner = owner_of(token)
        if owner is None:
            return None
        async for feed in records_of(self.store, owner, Scan(FEEDS, limit=_PAGE)):
            if is_of(token, feed.digest):
                await self._note_use(owner, feed)
                return owner, feed
        return None

    async def etag(self, owner: str, feed: Feed) -> str:
        """What changes whenever the feed does."""
        told = [feed.id, feed.name]
        forms = self.forms()
        for name in feed.forms:
            if name in forms:
                async for page in forms[name].states(owner):
                    told += [f"{state.uid} {state.etag}" for state in page]
        return digest(*told)

    async def _note_use(self, owner: str, feed: Feed) -> None:
        now = self.clock.now_us()
        if now - feed.used_at > _USED_US:
            (held,) = await self.store.get(FEEDS, owner, [feed.id])
            if held is not None:
                used = msgspec.structs.replace(held.record, used_at=now)
                await self.store.commit(owner, [Put(FEEDS, used, held.version)])
