"""Shares: conversations as they were at a moment, for whoever has the link, until it ends or is revoked.

What is shown is a copy: nothing that is said later is in it. The link holds the owner, for nothing else tells
whose it is, and a secret that is kept as a digest alone. `transcript` makes the copy; `web/shares` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from bethink.errors import BadInput, Conflict, UnknownId
from bethink.feature import Feature, OpenFeature, RetentionRule, Surroundings
from bethink.link_tokens import digest_of, is_of, new_token, owner_of
from bethink.record_texts import JointTexts, RecordTexts
from bethink.store import Change, Collection, Delete, DeleteAll, Put, Record, Scan, Store, records_of

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.principal import Principal

MAX_SHARES: Final = 500
MAX_DAYS: Final = 3_650
NO_SHARE: Final = "There is nothing at this link: it ended, it was revoked, or it is not complete."
_DAY_US: Final = 86_400_000_000
_SAME_READER_US: Final = 60_000_000
_TOGETHER: Final = 50
"""Messages of one record: a long conversation is no record of many megabytes."""
_MOST_TEXTS: Final = 50
"""Memories of one message."""


class SharedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is shown, by its id in the conversation."""

    id: str
    name: str
    media_type: str


class SharedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is shown: who said it, when (microseconds UTC), and the memories that it used."""

    role: Literal["user", "assistant"]
    content: str
    at: int
    speaker: str | None = None
    memories: tuple[str, ...] = ()
    files: tuple[SharedFile, ...] = ()


class Share(Record, frozen=True, kw_only=True):
    """A conversation that is shown. Times are microseconds UTC; it ends at `expires_at`, never if that is 0.

    The title and the messages are those of `created_at`. `hint` is the end of its link. It was `opened` so
    often, the last time at `opened_at`, 0 if never; again within a minute is the same reader's reload.
    """

    conversation: str
    title: str
    digest: str
    hint: str
    created_at: int
    expires_at: int = 0
    messages: int = 0
    has_memories: bool = False
    has_files: bool = False
    opened: int = 0
    opened_at: int = 0


class SharedPart(Record, frozen=True, kw_only=True):
    """Some of the messages of a share, in their order."""

    share: str
    conversation: str
    position: int
    messages: tuple[SharedMessage, ...]


SHARES = Collection(
    "shares",
    Share,
    ("conversation", "created_at"),
    scans=(("created_at",), ("conversation",)),
    searchable=False,
)
SHARED_PARTS = Collection(
    "shared_parts",
    SharedPart,
    ("share", "conversation", "position"),
    scans=(("share", "position"), ("conversation",)),
    searchable=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDraft:
    """What is to be shown of a conversation, for so many days; for ever if `days` is None."""

    conversation: str
    title: str
    messages: Sequence[SharedMessage]
    days: int | None = 30
    memories: bool = False
    files: bool = False


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of all owners."""

    store: Store
    clock: Clock
    new_id: Ids

    async def list(self, principal: Principal, conversation: str | None = None) -> list[Share]:
        """The shares that have not ended, the newest first; those of one conversation, or all."""
        where: dict[str, Any] = {} if conversation is None else {"conversation": conversation}
        scan = Scan(SHARES, where, limit=_TOGETHER)
        found = [share async for share in records_of(self.store, principal.owner, scan)]
        alive = [share for share in found if not self._is_over(share)]
        return sorted(alive, key=lambda share: -share.created_at)

    async def add(self, principal: Principal, draft: ShareDraft) -> tuple[Share, str]:
        """Show a conversation as it is now; the share and its token, which is told this once.

        Raises:
            BadInput: there is nothing to show, there are too many shares, or the days are not fit.
        """
        if not draft.messages:
            raise BadInput("Nothing has been said in this conversation yet: there is nothing to share.")
        if draft.days is not None and not 1 <= draft.days <= MAX_DAYS:
            raise BadInput(f"A share ends after 1 to {MAX_DAYS:,} days, or never.")
        if len(await self.list(principal)) >= MAX_SHARES:
            raise BadInput(f"There are {MAX_SHARES} shares: revoke one first.")
        token = new_token(principal.owner)
        now = self.clock.now_us()
        share = Share(
            id=self.new_id(),
            conversation=draft.conversation,
            title=draft.title,
            digest=digest_of(token),
            hint=token[-4:],
            created_at=now,
            expires_at=0 if draft.days is None else now + draft.days * _DAY_US,
            messages=len(draft.messages),
            has_memories=draft.memories,
            has_files=draft.files,
        )
        parts = [
            SharedPart(
                id=f"{share.id}:{start}",
                share=share.id,
                conversation=draft.conversation,
                position=start,
                messages=tuple(draft.messages[start : start + _TOGETHER]),
            )
            for start in range(0, len(draft.messages), _TOGETHER)
        ]
        await self.store.commit(
            principal.owner, [Put(SHARES, share, 0), *(Put(SHARED_PARTS, part, 0) for part in parts)]
        )
        return share, token

    async def revoke(self, principal: Principal, id: str) -> None:
        """End a share: its link shows nothing any more, and its copy is gone.

        Raises:
            UnknownId: this owner has no such share.
        """
        (held,) = await self.store.get(SHARES, principal.owner, [id])
        if held is None:
            raise UnknownId("Share not found: it may have been revoked.")
        await self.store.commit(principal.owner, _ended(id))

    async def of(self, token: str) -> tuple[str, Share] | None:
        """Whose conversation a token shows, and which; None if it shows nothing."""
        owner = owner_of(token)
        if owner is None:
            return None
        async for share in records_of(self.store, owner, Scan(SHARES, limit=_TOGETHER)):
            if is_of(token, share.digest):
                return None if self._is_over(share) else (owner, share)
        return None

    async def note_opened(self, owner: str, id: str) -> None:
        """Count that somebody opened a share."""
        (held,) = await self.store.get(SHARES, owner, [id])
        now = self.clock.now_us()
        if held is None or now < held.record.opened_at + _SAME_READER_US:
            return
        share = msgspec.structs.replace(held.record, opened=held.record.opened + 1, opened_at=now)
        # Somebody else opened or revoked it at the same moment.
        with suppress(Conflict):
            await self.store.commit(owner, [Put(SHARES, share, held.version)])

    async def messages(self, owner: str, share: Share) -> list[SharedMessage]:
        """What a share shows, in order."""
        scan = Scan(SHARED_PARTS, {"share": share.id}, order="position", limit=_TOGETHER)
        return [one async for part in records_of(self.store, owner, scan) for one in part.messages]

    async def shows_file(self, owner: str, share: Share, file: str) -> bool:
        """Whether a file is among what is shown."""
        return any(one.id == file for said in await self.messages(owner, share) for one in said.files)

    async def purge(self, principal: Principal) -> int:
        """Remove the copies of what has ended; of how many shares."""
        scan = Scan(SHARES, limit=_TOGETHER)
        over = [one.id async for one in records_of(self.store, principal.owner, scan) if self._is_over(one)]
        for id in over:
            await self.store.commit(principal.owner, _ended(id))
        return len(over)

    def _is_over(self, share: Share) -> bool:
        return 0 < share.expires_at <= self.clock.now_us()


def removal(conversation: str) -> list[Change]:
    """The changes that end all shares of a conversation; whoever deletes it commits them."""
    where = {"conversation": conversation}
    return [DeleteAll(SHARES, where), DeleteAll(SHARED_PARTS, where)]


def _ended(id: str) -> list[Change]:
    return [Delete(SHARES, id), DeleteAll(SHARED_PARTS, {"share": id})]


def _fields(part: SharedPart) -> dict[str, str]:
    """What a part says, by the place where it does."""
    found: dict[str, str] = {}
    for place, said in enumerate(part.messages):
        found[f"{place}"] = said.content
        found |= {f"{place}.{at}": text for at, text in enumerate(said.memories)}
        found |= {f"{place}.file{at}": file.name for at, file in enumerate(said.files)}
    return found


_SENTENCES: Final = frozenset(
    [f"{place}" for place in range(_TOGETHER)]
    + [f"{place}.{at}" for place in range(_TOGETHER) for at in range(_MOST_TEXTS)]
)


def _rewritten(part: SharedPart, left: Mapping[str, str]) -> SharedPart:
    def now(place: int, said: SharedMessage) -> SharedMessage:
        return msgspec.structs.replace(
            said,
            content=left.get(f"{place}", said.content),
            memories=tuple(left.get(f"{place}.{at}", text) for at, text in enumerate(said.memories)),
            files=tuple(file for at, file in enumerate(said.files) if f"{place}.file{at}" not in left),
        )

    return msgspec.structs.replace(part, messages=tuple(now(at, one) for at, one in enumerate(part.messages)))


def _texts(store: Store) -> JointTexts:
    """What shares say: titles and messages. Whoever reads one knows the rest of the conversation."""
    titles = RecordTexts(
        store=store,
        collection=SHARES,
        kind="shares",
        one="shared conversation",
        name=lambda share: share.title,
        fields=lambda share: {"title": share.title},
        sentences=frozenset(("title",)),
        rewrite=lambda share, left: msgspec.structs.replace(share, **left),
        others=[SHARED_PARTS],
    )
    parts = RecordTexts(
        store=store,
        collection=SHARED_PARTS,
        kind="shares",
        one="shared message",
        name=lambda part: part.messages[0].content[:40] if part.messages else "",
        fields=_fields,
        sentences=_SENTENCES,
        rewrite=_rewritten,
        close=True,
    )
    return JointTexts((titles, parts))


def _open(at: Surroundings) -> OpenFeature:
    shares = Shares(at.store, at.clock, at.new_id)
    texts = _texts(at.store)
    return OpenFeature(
        service=shares,
        forgettable=texts.forgettable,
        cut=texts.cut,
        retention=[RetentionRule(of=(SHARES,), log="shares that have ended are removed", drop=shares.purge)],
    )


FEATURE: Final = Feature(
    name="shares",
    open=_open,
    collections=(SHARES, SHARED_PARTS),
    counted={"shares": ("shared conversation", SHARES)},
    routes=("bethink.web.shares",),
    commands="bethink.cli.shares",
)
