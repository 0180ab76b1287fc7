"""What was said and made, as forgetting reaches it: runs, and where code worked. `app` makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.agent.history_match import without_digests
from bethink.conversations import CONVERSATIONS, MESSAGES, NEW_TITLE, SUMMARIES
from bethink.forgettable import Forgettable, Removal, TextPlace, left_of, places_in
from bethink.forgetting.occurrences import indexed, redacted
from bethink.messages import UserMessage
from bethink.redaction import redaction_of_everything
from bethink.store import DeleteAll, Put, Scan, items_of, pages_of, records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.agent.runs import Runs
    from bethink.conversations import Conversation, StoredMessage
    from bethink.embeddings import Embeddings
    from bethink.forgettable import Holding
    from bethink.forgetting.occurrences import Occurrences
    from bethink.index import Index
    from bethink.principal import Principal
    from bethink.recall.passages import Passages
    from bethink.sandbox.interpreters import Interpreters
    from bethink.store import Change, Versioned

_PAGE: Final = 200
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

    async def hush(self, owner: str) -> None:
        """See `Runs.hush`."""
        await self.runs().hush(owner)

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
        """Titles, projects and system prompts that hold some words."""
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
                changes += await self._moved(owner, now) if "project" in left else []
        return Removal(changes, gone)

    async def _moved(self, owner: str, held: Conversation) -> list[Change]:
        """What was said in a conversation that is in another project, to be found there."""
        said = items_of(self.runs().conversations.store, owner, Scan(MESSAGES, {"conversation": held.id}))
        return [Put(MESSAGES, one.record, one.version, indexed(held, one.record)) async for one in said]

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
        vector: NDArray[np.float32] | None,
        *,
        keep: bool,
    ) -> Put[StoredMessage]:
        """A message as it is kept, without its text if it is not."""
        now = msgspec.structs.replace(one.record, withdrawn=True)
        if not keep:
            now, _ = redacted(now, redaction_of_everything(), close=True)
        item = indexed(held, now)
        if item is not None and vector is not None:
            item = replace(item, vector=vector, model=self.embeddings.model)
        return Put(MESSAGES, now, one.version, item)

    async def scrub(self, owner: str) -> None:
        """Remove the files of code, and what was read of any: nobody can say what is in them."""
        self.passages.forget(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)


def _fields(held: Conversation) -> dict[str, str]:
    """What is told of a conversation in words of its owner."""
    return {"title": held.title, "project": held.project or "", "system": held.system}
