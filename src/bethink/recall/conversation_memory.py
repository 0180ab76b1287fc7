"""The memory service of spec 004 over conversations and recall: turns stored, retrieved, searched, exported.

Programs call it by `app.conversation_memory` or as MCP tools (`mcp_server/families`). It keeps nothing of its
own: a stored turn is two messages of a conversation, which the page shows, recall finds and forgetting cuts.
Source: spec 004, "Memory Service" and "Error Handling".
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import time_of, to_datetime, to_us
from bethink.conversations.entries import RESERVED, MemoryEntry, NewTurn, checked_id, turns_of
from bethink.conversations.records import CONVERSATIONS, KIND, MESSAGES, Conversation, StoredMessage, line
from bethink.conversations.service import ConversationEdit, Conversations
from bethink.documents.model import NewText
from bethink.errors import BadInput, MemoryUnavailable, UnknownId
from bethink.messages import tokens_in
from bethink.recall.service import Recall, RecallQuestion
from bethink.store import Scan, records_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.documents.knowledge_bases import ArchiveReport, KnowledgeBases
    from bethink.feature import FilterFor
    from bethink.principal import Principal
    from bethink.settings import Settings

BASE: Final = "conversations"
"""The name of the knowledge base that an export holds."""
MOST_ENTRIES: Final = 50
_ENTRIES: Final = 5
"""An entry is a whole turn."""
_MAX_QUERY: Final = 2_000
_HITS: Final = 4
"""Messages that are looked at for each entry wanted: a turn has two or more, and later ones come first."""
_AROUND: Final = 25
"""Messages before and behind a hit among which the rest of its turn is."""
_NEAR: Final = 0.05
"""Entries whose scores are no further apart answer about as well."""
_LEAST: Final = 0.01
"""Below it an entry has nothing to do with the question."""
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """Turns that bear on a question, best first; `total_tokens` is about how many their texts take."""

    entries: list[MemoryEntry]
    relevance_scores: list[float]
    total_tokens: int


@dataclass(frozen=True, slots=True)
class _Filters:
    """What a search is bounded to: a conversation, a time, and what the metadata says."""

    conversation: str | None = None
    since: int | None = None
    until: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def parsed(cls, given: Mapping[str, str] | None) -> _Filters:
        """The filters of a table of texts: names that are not `RESERVED` are the metadata's.

        Raises:
            BadInput: one is not fit; the message names it.
        """
        metadata = {name: value for name, value in (given or {}).items() if name not in RESERVED}
        if wrong := [name for name, value in (given or {}).items() if not isinstance(value, str)]:  # pyright: ignore[reportUnnecessaryIsInstance] - programs give what they have
            raise BadInput(f"filters[{wrong[0]!r:.60}] is no text: filters are names with a text each.")
        bounds = {
            name: _BOUNDS[name](name, value) for name, value in (given or {}).items() if name in _BOUNDS
        }
        return cls(bounds.get("conversation_id"), bounds.get("since"), bounds.get("until"), metadata)

    def holds(self, stored: StoredMessage) -> bool:
        """Whether a message's metadata is as it is asked for."""
        return self.metadata.items() <= dict(stored.metadata).items()


def _moment(name: str, value: str) -> int:
    try:
        return time_of(value)
    except BadInput as error:
        raise BadInput(f"filters[{name!r}]: {error}") from error


_BOUNDS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "conversation_id": checked_id,
    "since": _moment,
    "until": _moment,
}


@dataclass(frozen=True, slots=True)
class ConversationMemory:
    """The turns of all owners; every call acts for one principal.

    Raises:
        MemoryUnavailable: memory is switched off.
        BadInput: an argument is not fit; the message names it and says why.
    """

    settings: Settings
    conversations: Conversations
    recall: Recall
    bases: KnowledgeBases
    filter_for: FilterFor
    on_written: Callable[[str], None]

    @property
    def unavailable(self) -> str | None:
        """Why nothing is stored or found, as a sentence for the user; None if all is well."""
        return None if self.settings.memory_enabled else MemoryUnavailable().message

    def is_available(self) -> bool:
        """Whether turns are stored and found."""
        return self.unavailable is None

    async def store_conversation(  # noqa: PLR0917 - the source's own parameters
        self,
        principal: Principal,
        conversation_id: str,
        user_message: str,
        assistant_message: str,
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        """Keep a turn, and give its entry's id. Durable and found when it returns.

        `conversation_id` is the caller's own, or that of any conversation here; a new one begins with it.

        Raises:
            Busy: a run is answering in this conversation.
            StorageError: it cannot be kept.
        """
        self._check_available()
        turn = NewTurn.checked(
            conversation_id,
            user_message=user_message,
            assistant_message=assistant_message,
            metadata=metadata,
            max_chars=self.settings.max_message_chars,
        )
        first = await self.conversations.store_turn(principal, turn)
        self.on_written(principal.owner)
        return first.id

    async def retrieve_context(
        self, principal: Principal, query: str, limit: int | None = None
    ) -> MemoryContext:
        """The turns that answer a question, of near ones the later first; five, unless `limit` says else.

        A question that nothing answers has none.
        """
        self._check_available()
        count = _count(limit, min(_ENTRIES, self.settings.recall_limit))
        least = self.settings.recall_min_score
        found = await self._found(
            principal, query, count=count, most=_HITS * count, filters=_Filters(), least=least
        )
        best = _later_first(found)[:count]
        entries = [entry for entry, _ in best]
        return MemoryContext(
            entries,
            [score for _, score in best],
            sum(tokens_in(f"{one.user_message}\n{one.assistant_message}") for one in entries),
        )

    async def search_conversations(
        self,
        principal: Principal,
        query: str,
        filters: Mapping[str, str] | None = None,
        *,
        limit: int | None = None,
    ) -> list[MemoryEntry]:
        """The turns that a query finds, best first.

        `filters` bound it by `conversation_id`, `since` (inclusive) and `until` (exclusive; times like
        2026-11-02T09:30:00Z, or dates); all other names are the metadata's, whose value must be the same.
        """
        self._check_available()
        count = _count(limit, self.settings.memory_search_limit)
        found = await self._found(
            principal, query, count=count, most=count, filters=_Filters.parsed(filters), least=_LEAST
        )
        return [entry for entry, _ in found]

    async def clear_conversation(self, principal: Principal, conversation_id: str) -> None:
        """Archive a conversation: it leaves the list, and what was said in it is still found.

        Raises:
            UnknownId: there is none with this id.
        """
        self._check_available()
        held = await self.conversations.called(principal, checked_id("conversation_id", conversation_id))
        if held is None:
            raise UnknownId(f"There is no conversation {conversation_id!r:.80}: nothing was archived.")
        await self.conversations.edit(principal, held.record.id, ConversationEdit(archived=True))

    async def export_knowledge_base(self, principal: Principal, path: Path) -> ArchiveReport:
        """Write all conversations to an archive (.tar.gz) that `bethink kb import` and `kb search` open.

        Each is a document with a page for each turn, and with its entries, a line of JSON each, as its file.

        Raises:
            NotAllowed: something is hidden from this reader.
            BadInput: there is another file of that name.
            BethinkError: it cannot be written.
        """
        self._check_available()
        return await self.bases.export_texts(principal, BASE, self._texts(principal), path=path)

    def _check_available(self) -> None:
        if not self.is_available():
            raise MemoryUnavailable

    async def _found(
        self, principal: Principal, query: str, *, count: int, most: int, filters: _Filters, least: float
    ) -> list[tuple[MemoryEntry, float]]:
        """At most `most` entries and their scores, best first, if `count` are wanted of them."""
        if not isinstance(query, str) or not 0 < len(query.strip()) <= _MAX_QUERY:  # pyright: ignore[reportUnnecessaryIsInstance] - programs give what they have
            raise BadInput(
                f"query is {query!r:.60}: give a question or words, of at most {_MAX_QUERY:,} characters."
            )
        question = await self._question(principal, query, count=count, filters=filters)
        if question is None:
            return []
        hits = (await self.recall.ask(principal, question)).hits
        found: dict[str, tuple[MemoryEntry, float]] = {}
        for hit in hits:
            if hit.score < least or len(found) == most:
                break
            entry = await self._entry(principal, hit.id)
            if entry is not None:
                found.setdefault(entry.id, (entry, hit.score))
        return [*found.values()]

    async def _question(
        self, principal: Principal, query: str, *, count: int, filters: _Filters
    ) -> RecallQuestion | None:
        """What recall is asked; None if the filters leave nothing."""
        place, part_of = None, None
        if filters.conversation is not None:
            held = await self.conversations.called(principal, filters.conversation)
            if held is None:
                return None
            place = held.record.id
        if filters.metadata:
            where = {} if place is None else {"conversation": place}
            said = records_of(self.conversations.store, principal.owner, Scan(MESSAGES, where, limit=_PAGE))
            part_of = frozenset([one.id async for one in said if filters.holds(one)])
            if not part_of:
                return None
        return RecallQuestion(
            query,
            k=_HITS * count,
            kinds={KIND},
            since=None if filters.since is None else to_datetime(filters.since),
            until=None if filters.until is None else to_datetime(filters.until),
            conversation=place,
            part_of=part_of,
        )

    async def _entry(self, principal: Principal, message: str) -> MemoryEntry | None:
        """The turn in which a message stands, as this reader sees it."""
        (hit,) = await self.conversations.said(principal, [message])
        if hit is None:
            return None
        held = (await self.conversations.get(principal, hit.conversation)).record
        page = await self.conversations.line(
            principal, held, limit=2 * _AROUND, before=hit.position + _AROUND
        )
        turns = turns_of(item.record for item in reversed(page.items))
        turn = next((turn for turn in turns if message in turn.ids), None)
        return turn and await self._seen(principal, turn.entry(held))

    async def _seen(self, principal: Principal, entry: MemoryEntry) -> MemoryEntry:
        reader_filter = await self.filter_for(principal)
        if reader_filter is None:
            return entry
        return msgspec.structs.replace(
            entry,
            user_message=reader_filter.text(entry.user_message),
            assistant_message=reader_filter.text(entry.assistant_message),
            metadata={name: reader_filter.text(value) for name, value in entry.metadata.items()},
        )

    async def _texts(self, principal: Principal) -> AsyncGenerator[NewText]:
        """The conversations as documents of a knowledge base, in the order of their beginning."""
        store = self.conversations.store
        conversations = records_of(
            store, principal.owner, Scan(CONVERSATIONS, {"temporary": 0}, order="updated_at", limit=_PAGE)
        )
        async for held in conversations:
            entries = await self._entries(principal, held)
            if not entries:
                continue
            lines = msgspec.json.Encoder().encode_lines(entries)
            yield NewText(
                id=hashlib.sha256(lines).hexdigest(),
                name=f"{held.title}.jsonl",
                title=held.title,
                place=held.caller_id or held.id,
                original=lines,
                pages=[_page(entry) for entry in entries],
                labels=[f"{entry.timestamp:%-d %B %Y, %H:%M}" for entry in entries],
                created_at=held.created_at,
                updated_at=held.updated_at,
            )

    async def _entries(self, principal: Principal, held: Conversation) -> list[MemoryEntry]:
        said: list[StoredMessage] = []
        for stretch in reversed(line(held)):
            where = {"conversation": held.id, "branch": stretch.branch}
            scan = Scan(MESSAGES, where, order="position", low=stretch.start, high=stretch.end, limit=_PAGE)
            said += [one async for one in records_of(self.conversations.store, principal.owner, scan)]
        return [turn.entry(held) for turn in turns_of(said)]


def _count(limit: int | None, default: int) -> int:
    if limit is None:
        return max(default, 1)
    if type(limit) is not int or not 1 <= limit <= MOST_ENTRIES:
        raise BadInput(f"limit is {limit!r:.40}: give a number from 1 to {MOST_ENTRIES}.")
    return limit


def _later_first(found: Iterable[tuple[MemoryEntry, float]]) -> list[tuple[MemoryEntry, float]]:
    """Entries and their scores, best first; of those that answer about as well the later first."""
    ordered: list[tuple[float, int, MemoryEntry, float]] = []
    best = 0.0
    for entry, score in sorted(found, key=lambda pair: -pair[1]):
        if not ordered or score < best - _NEAR:
            best = score
        ordered.append((best, to_us(entry.timestamp), entry, score))
    ordered.sort(key=lambda one: (-one[0], -one[1]))
    return [(entry, score) for _, _, entry, score in ordered]


def _page(entry: MemoryEntry) -> str:
    """A turn as Markdown."""
    said = (("User", entry.user_message), ("Assistant", entry.assistant_message))
    return "\n\n".join(f"**{who}:** {text}" for who, text in said if text)
