"""How forgetting and the removal of an owner reach runs and what they keep. `app` makes it.

Forgetting takes out what says something; removing an owner (`bethink users remove --with-data`) takes
everything, whatever it says: records with what they are found by, files, the vault's folder, copies in Redis.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.agent.history_match import HistoryMatch, without_digests
from bethink.conversations.records import CONVERSATIONS, MESSAGES, NEW_TITLE, SUMMARIES
from bethink.errors import Busy, StorageError, UnknownId
from bethink.forgettable import Forgettable, Holding, Removal, TextPlace, left_of, places_in
from bethink.forgetting.occurrences import Occurrences, indexed, redacted
from bethink.messages import UserMessage
from bethink.redaction import redaction_of_everything
from bethink.redis_mirror.outbox import SHARED
from bethink.store import Delete, DeleteAll, Put, Scan, items_of, pages_of, records_of
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bethink.agent.runs import Runs
    from bethink.conversations.records import Conversation, StoredMessage
    from bethink.embeddings import Embeddings
    from bethink.feature import Features
    from bethink.index import Index
    from bethink.preferences import PreferenceBook
    from bethink.principal import Principal
    from bethink.recall.passages import Passages
    from bethink.sandbox.interpreters import Interpreters
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.store import Change, Store, Versioned
    from bethink.vault import Vault


_KIND: Final = "conversations"
_WORDS: Final = {"title": "title", "project": "project", "system": "system prompt"}


@dataclass(frozen=True, slots=True)
class ForgettableRuns:
    """Runs and their files as forgetting wants to know them; runs are made after it."""

    runs: Callable[[], Runs]
    interpreters: Interpreters | None
    passages: Passages
    index: Index
    embeddings: Embeddings
    acting: Callable[[str], Principal]

    async def write(self, owner: str) -> None:
        """See `Runs.write`."""
        await self.runs().write(owner)

    async def heed_forgetting(self, owner: str) -> None:
        """See `Runs.heed_forgetting`."""
        await self.runs().heed_forgetting(owner)

    async def forget(self, owner: str, found: Occurrences) -> Sequence[Change]:
        """The changes by which nothing that runs keep says it any more, nor a digest of it is left."""
        gone, runs = found.redaction, self.runs()
        said_in = {
            item.now.conversation
            for item in found.messages
            if isinstance(item.was.record.message, UserMessage)
        }
        digests = [
            change
            for place in sorted(said_in)
            for change in await without_digests(runs.conversations.store, owner, place)
        ]
        return [*await runs.stored.forget(owner, gone), *digests]

    @property
    def forgettable(self) -> Forgettable:
        """How conversations go: as a whole by `clear`; their titles, projects and prompts by words."""

        async def count(owner: str) -> int:
            return await self.runs().conversations.store.count(owner, CONVERSATIONS, {})

        async def titles(owner: str, limit: int) -> list[str]:
            scan = Scan(CONVERSATIONS, order="updated_at", reverse=True, limit=limit)
            (page,) = await self.runs().conversations.store.scan(owner, scan)
            return [item.record.title for item in page.items]

        async def kept(owner: str) -> None:
            del owner

        return Forgettable(
            _KIND, "conversation", _KIND, count, titles, kept, find=self._holding, take=self._taken
        )

    async def _holding(self, owner: str, holding: Holding) -> list[TextPlace]:
        conversations = records_of(self.runs().conversations.store, owner, Scan(CONVERSATIONS, limit=_PAGE))
        return [
            place
            async for held in conversations
            for place in places_in(_KIND, held.id, _fields(held), holding=holding)
            # What was said in it first goes with its message, and so does the name which that gave.
            if not (place.field == "title" and held.named_by == "words")
        ]

    async def _taken(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        """Conversations under other names, in no project."""
        store = self.runs().conversations.store
        changes: list[Change] = []
        gone: list[tuple[str, str]] = []
        by_id = {place.id: [one for one in places if one.id == place.id] for place in places}
        for item in await store.get(CONVERSATIONS, owner, [*by_id]):
            if item is None:
                continue
            held = item.record
            left, parts = left_of(_fields(held), by_id[held.id])
            gone += [(f"{_WORDS[name]} of a conversation", part) for name, part in parts]
            if left:
                now = msgspec.structs.replace(
                    held, **(left | ({"project": None} if "project" in left else {}))
                )
                changes.append(Put(CONVERSATIONS, now, item.version))
                if "project" in left:
                    # What was said in it is to be found there from now on.
                    said = items_of(store, owner, Scan(MESSAGES, {"conversation": held.id}))
                    changes += [
                        Put(MESSAGES, one.record, one.version, indexed(now, one.record)) async for one in said
                    ]
        return Removal(changes, gone)

    async def clear(self, owner: str, spare: str | None, *, keep: bool) -> None:
        """Take all that was said out of recall or, if it is not kept, remove it; runs elsewhere end first.

        In the conversation `spare` the run goes on that forgets. It stays, and so does what that
        run says; of what was said before nothing is left if it is not kept.
        """
        runs, me = self.runs(), self.acting(owner)
        store = runs.conversations.store
        async for held in records_of(store, owner, Scan(CONVERSATIONS, limit=_PAGE)):
            if held.id != spare and not keep:
                await runs.delete_conversation(me, held.id)
            elif held.id != spare and held.active_run is not None:
                await runs.stop(me, held.active_run)
        async for held in records_of(store, owner, Scan(CONVERSATIONS, limit=_PAGE)):
            summaries = DeleteAll(MESSAGES, {"conversation": held.id, "branch": SUMMARIES})
            await store.commit(owner, [summaries])
            await self._withdraw(owner, held, keep=keep)

    async def _withdraw(self, owner: str, held: Conversation, *, keep: bool) -> None:
        """Take what was said in a conversation out of recall, but for what its live run says."""
        store = self.runs().conversations.store
        scan = Scan(MESSAGES, {"conversation": held.id}, order="position", limit=_PAGE)
        async for page in pages_of(store, owner, scan):
            said = [one for one in page if one.record.run != held.active_run or held.active_run is None]
            vectors = await self.index.vectors(owner, self.embeddings.model, [one.record.id for one in said])
            changes = [self._withdrawn(held, one, vectors.get(one.record.id), keep=keep) for one in said]
            await store.commit(owner, changes)
        (now,) = await store.get(CONVERSATIONS, owner, [held.id])
        if now is not None and not keep:
            nameless = msgspec.structs.replace(now.record, title=NEW_TITLE, named_by="", system="")
            await store.commit(owner, [Put(CONVERSATIONS, nameless, if_version=now.version)])

    def _withdrawn(
        self,
        held: Conversation,
        one: Versioned[StoredMessage],
        vectors: NDArray[np.float32] | None,
        *,
        keep: bool,
    ) -> Put[StoredMessage]:
        now = msgspec.structs.replace(one.record, withdrawn=True)
        if not keep:
            now, _ = redacted(now, redaction_of_everything(), close=True)
        item = indexed(held, now)
        if item is not None and vectors is not None:
            item = replace(item, vector=vectors, model=self.embeddings.model)
        return Put(MESSAGES, now, one.version, item)

    async def scrub(self, owner: str) -> None:
        """Remove the files of code, and what was read of any: nobody can say what is in them."""
        self.passages.forget(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)


def _fields(held: Conversation) -> dict[str, str]:
    """What is told of a conversation in words of its owner."""
    return {"title": held.title, "project": held.project or "", "system": held.system}


_STEPS = 1_000
"""Commits at once at most, each of some records; what is left then goes in the next hour."""
_log = log("removal")


@dataclass(frozen=True, slots=True)
class TemporaryExpiry:
    """Removes what is kept for a time only."""

    runs: Runs
    secret_box: SecretBox

    async def __call__(self, principal: Principal) -> int:
        """Remove the owner's temporary conversations that have not changed for a day; how many.

        Events of runs, uses of tools and requests that nobody repeats any more are let go, too.
        """
        runs = self.runs
        for _ in range(_STEPS):
            if not await runs.purge(principal):
                break
        await HistoryMatch(runs.conversations, self.secret_box).purge(principal)
        count = 0
        for conversation in await runs.conversations.passed(principal):
            try:
                await runs.delete_conversation(principal, conversation)
                count += 1
            except (Busy, UnknownId) as error:
                _log.info("a temporary conversation is not removed now: %s", error)
        return count


@dataclass(frozen=True, slots=True)
class ConversationRetention:
    """Deletes conversations whose time is over, as their owner would by hand."""

    runs: Runs
    settings: Settings
    preferences: PreferenceBook

    async def days_of(self, principal: Principal) -> int | None:
        """How many days the owner's are kept: as the settings say or, by their wish, fewer; None: forever."""
        own = (await self.preferences.of(principal)).conversation_days
        said = [one for one in (own, self.settings.conversations_retention_days) if one is not None]
        return min(said, default=None)

    async def drop(self, principal: Principal) -> int:
        """Delete those that are due now; how many."""
        days = await self.days_of(principal)
        return 0 if days is None else await self.delete(principal, days)

    async def delete(self, principal: Principal, days: int) -> int:
        """Delete those in which nothing was said for so many days; how many. Pinned ones stay."""
        count, conversations = 0, self.runs.conversations
        for held in await conversations.outdated(principal, days=days):
            try:
                now = await conversations.get(principal, held.id)
                if now.record.updated_at == held.updated_at and not now.record.pinned:
                    await self.runs.delete_conversation(principal, held.id)
                    count += 1
            except (Busy, UnknownId) as error:
                _log.info("an old conversation is not deleted now: %s", error)
        return count


_ROUNDS: Final = 5
_SETTLE_S: Final = 0.5
"""Between rounds: another process may be about to end a run, or to look into the vault's folder."""
_PAGE: Final = 500
_NOT_REACHED: Final = "Copies of conversations in Redis: it is not set here now, so they are still there."
_NO_FOLDER: Final = (
    "The vault's folder {}: it is outside of the data directory, so its files were not deleted."
)
_KEPT_ON: Final = "Data of this owner was still being written: stop the server and repeat this."


class RemovedOwner(msgspec.Struct, frozen=True, kw_only=True):
    """What is gone, by counts; it quotes nothing. `left` says what could not be reached."""

    owner: str
    counts: dict[str, int]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnerRemoval:
    """Erases what owners have; `data_dir` is where this Bethink keeps all that is its own."""

    runs: Runs
    features: Features
    vault: Vault
    passages: Passages
    interpreters: Interpreters | None
    data_dir: Path
    shares: bool = False
    settle_s: float = field(default=_SETTLE_S)

    async def counted(self, owner: str) -> dict[str, int]:
        """How many records of each kind that people know of there are."""
        return {name: await self._store.count(owner, one, {}) for name, one in self.features.counted.items()}

    async def erase(self, principal: Principal) -> RemovedOwner:
        """Erase everything; whoever acts for the owner must have been kept out before.

        Cut short, it is done again from the start.

        Raises:
            Busy: a run of the owner's, in another process, does not stop.
            StorageError: something was still written, or a file or Redis cannot be reached.
        """
        owner = principal.owner
        counts = await self.counted(owner)
        left = [_NOT_REACHED] if not self.shares and await self._store.count(owner, SHARED, {}) else []
        left += await self._erase_folder(owner)
        for _ in range(_ROUNDS):
            await self._erase_records(principal)
            await self.features.clean(owner)
            await anyio.sleep(self.settle_s)
            if not any([await self._store.count(owner, one, {}) for one in self.features.collections]):
                break
        else:
            raise StorageError(_KEPT_ON)
        self.passages.forget(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)
        return RemovedOwner(owner=owner, counts=counts, left=(*left, *await self._store.scrub(owner)))

    @property
    def _store(self) -> Store:
        return self.runs.conversations.store

    async def _erase_records(self, principal: Principal) -> None:
        ids: list[str] = []
        async for held in records_of(self._store, principal.owner, Scan(CONVERSATIONS, limit=_PAGE)):
            if held.active_run is not None:
                await self.runs.delete_conversation(principal, held.id)
            else:
                ids.append(held.id)
        # By their ids, so that what copies them elsewhere hears of each.
        changes: list[Change] = [Delete(CONVERSATIONS, id) for id in ids]
        changes += [DeleteAll(one) for one in self.features.collections if one is not CONVERSATIONS]
        await self._store.commit(principal.owner, changes)

    async def _erase_folder(self, owner: str) -> list[str]:
        """Remove the vault's folder, before its records: nobody takes in again what is gone."""
        root = self.vault.root(owner)
        try:
            is_ours = await anyio.to_thread.run_sync(_removed, root, self.data_dir)
        except OSError as error:
            raise StorageError(f"The folder {root} could not be removed: {error.strerror}.") from error
        return [] if is_ours else [_NO_FOLDER.format(root)]


def _removed(root: Path, data_dir: Path) -> bool:
    """Remove a folder with all that is in it; False for one that lies outside of the data directory."""
    if not root.exists():
        return True
    if not root.resolve().is_relative_to(data_dir.resolve()):
        return False
    shutil.rmtree(root)
    return True
