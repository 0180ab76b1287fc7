"""Collections that their owner shares with other users, to read or to write. `library` asks what is shared.

The owner's collection says who may; each of them has a record that only says where to look. So revoking
holds at once, and a record that nothing stands behind gives nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.documents.records import (
    COLLECTIONS,
    DOCUMENTS,
    RECEIVED,
    DocumentCollection,
    ReceivedShare,
    Share,
)
from bethink.errors import BadInput, UnknownId
from bethink.store import Delete, Put, Scan, Store, Versioned, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.documents.records import Document
    from bethink.principal import AccountHolder, OnBehalfOf, Principal

_MAX_SHARES: Final = 200
_PAGE: Final = 500
_AUDIENCE: Final = "shared"
"""Filters that hide something from everybody but the owner hold for it, and those that name it."""
NO_COLLECTION: Final = "Collection not found: it may have been removed, or is not shared with you any more."


@dataclass(frozen=True, slots=True)
class SharedCollection:
    """A collection of another owner: `acting` reads it for the user with whom it is shared."""

    collection: DocumentCollection
    acting: Principal
    writes: bool

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.acting.owner


@dataclass(frozen=True, slots=True)
class SeenDocument:
    """A document that a principal may see: `acting` for its owner, in its kept version."""

    acting: Principal
    held: Versioned[Document]
    writes: bool = True

    @property
    def document(self) -> Document:
        """The document."""
        return self.held.record

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.acting.owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Who may see whose collections. `find_user` knows users by name or id."""

    store: Store
    clock: Clock
    find_user: Callable[[str], Awaitable[AccountHolder | None]]
    acting: OnBehalfOf

    async def share(
        self, principal: Principal, collection: str, user: str, *, writes: bool
    ) -> DocumentCollection:
        """Have another user see a collection, and add to it if it `writes`.

        Raises:
            UnknownId: there is no such collection, or user.
            BadInput: it is shared with too many, or with its owner.
        """
        other = await self._other(principal, user)
        await self.held(principal.owner, collection)
        at = self.clock.now_us()
        received = ReceivedShare(id=collection, owner=principal.owner, at=at)
        # First: without the share behind it, it gives nothing.
        await self.store.commit(other.id, [Put(RECEIVED, received)])
        share = Share(user=other.id, writes=writes, at=at)
        return await self._reshared(principal.owner, collection, user=other.id, share=share)

    async def unshare(self, principal: Principal, collection: str, user: str) -> DocumentCollection:
        """Have a user not see a collection any more; nothing happens if they do not."""
        found = await self.find_user(user)
        id = user if found is None else found.id
        after = await self._reshared(principal.owner, collection, user=id, share=None)
        await self.store.commit(id, [Delete(RECEIVED, collection)])
        return after

    async def _other(self, principal: Principal, user: str) -> AccountHolder:
        found = await self.find_user(user)
        if found is None:
            raise UnknownId(f"There is no user {user[:60]!r}.")
        if found.id == principal.owner:
            raise BadInput("This is your own collection: share it with somebody else.")
        return found

    @retry_conflicts
    async def _reshared(self, owner: str, id: str, *, user: str, share: Share | None) -> DocumentCollection:
        held = await self.held(owner, id)
        shares = [one for one in held.record.shares if one.user != user]
        if share is not None:
            shares.append(share)
        if len(shares) > _MAX_SHARES:
            raise BadInput(f"A collection is shared with {_MAX_SHARES} users at most.")
        after = msgspec.structs.replace(held.record, shares=tuple(shares))
        await self.store.commit(owner, [Put(COLLECTIONS, after, held.version)])
        return after

    async def held(self, owner: str, id: str) -> Versioned[DocumentCollection]:
        """An owner's collection.

        Raises:
            UnknownId: they have none of this id.
        """
        (held,) = await self.store.get(COLLECTIONS, owner, [id])
        if held is None:
            raise UnknownId(NO_COLLECTION)
        return held

    async def has_documents(self, principal: Principal) -> bool:
        """Whether a principal has any documents, or sees any of somebody else."""
        either: tuple[Scan[Any], ...] = (Scan(DOCUMENTS, limit=1), Scan(RECEIVED, limit=1))
        own, received = await self.store.scan(principal.owner, *either)
        return bool(own.items or (received.items and await self.received(principal)))

    async def received(self, principal: Principal) -> list[SharedCollection]:
        """What others share with a user now."""
        user = principal.owner
        records = [one async for one in records_of(self.store, user, Scan(RECEIVED, limit=_PAGE))]
        if not records:
            return []
        holder = await self.find_user(user)
        found: list[SharedCollection] = []
        for one in records:
            (held,) = await self.store.get(COLLECTIONS, one.owner, [one.id])
            share = held and next((share for share in held.record.shares if share.user == user), None)
            if held is not None and share and _is_with(share, holder):
                acting = self.acting(one.owner, audience=f"{_AUDIENCE}:{user}")
                found.append(SharedCollection(held.record, acting, share.writes))
        return found

    async def living(self, collection: DocumentCollection) -> tuple[Share, ...]:
        """The shares of a collection whose users are still there."""
        return tuple([one for one in collection.shares if _is_with(one, await self.find_user(one.user))])


def _is_with(share: Share, user: AccountHolder | None) -> bool:
    """Whether this is the user of the share, not somebody who got the same name later."""
    return user is not None and share.at >= user.created_at
