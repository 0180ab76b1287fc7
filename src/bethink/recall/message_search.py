"""A search in what was said, word by word, page after page. Doors and the command line call it.

Recall answers a question with the few memories that bear on it; this finds
every message that holds the words, as many as there are, also those that an
edit took back: they are the owner's own history.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.conversations.records import (
    CONVERSATIONS,
    KIND,
    LOOKUP_KIND,
    TRASHED,
    WITHDRAWN_KIND,
    Conversation,
    StoredMessage,
    is_on_line,
)
from bethink.errors import BadInput
from bethink.index import Candidate, Index, IndexQuery
from bethink.search.analysis import Analyzer

if TYPE_CHECKING:
    from bethink.conversations.service import Conversations
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter
    from bethink.visibility.search import VisibleSearch
    from bethink.visibility.service import ReaderFilters

MAX_QUERY_CHARS: Final = 500
MOST: Final = 1_000
"""Messages that one search reaches, the best of them: who wants more asks more closely."""
_SNIPPET_CHARS: Final = 240
_BEFORE_CHARS: Final = 80
"""Of a snippet, what stands before its first mark."""
_MOST_MARKS: Final = 50
_WORD: Final = re.compile(r"\w+")

_OF_A_WORD: Final = 200
"""Messages that each word brings to who is restrained by a filter."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that matches the search. `marks` are places of the words in `snippet`, by characters.

    The snippet is cut out of the message's text; `is_active` says whether the
    message stands on the active branch of its conversation.
    """

    stored: StoredMessage
    conversation: Conversation
    snippet: str
    marks: tuple[Span, ...]
    is_active: bool


@dataclass(frozen=True, slots=True)
class MessageHits:
    """Some of what was found, the best first; `cursor` leads to the next, None at the end."""

    items: tuple[MessageHit, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class MessageSearch:
    """Finds messages of all owners; every call acts for one principal."""

    index: Index
    conversations: Conversations
    reader_filters: ReaderFilters
    words: VisibleSearch
    analyzer: Analyzer = field(default_factory=Analyzer, repr=False)

    async def search(
        self,
        principal: Principal,
        query: str,
        *,
        conversation: str | None = None,
        project: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> MessageHits:
        """The messages that hold words of the query: those with most of its words first.

        Raises:
            BadInput: the query has no word, or is too long; the cursor is none.
            UnknownId: this owner has no such conversation.
        """
        if len(query) > MAX_QUERY_CHARS or not (terms := frozenset(self.analyzer.question(query))):
            raise BadInput(f"Search for one word or more, in at most {MAX_QUERY_CHARS} characters.")
        if conversation is not None:
            await self.conversations.get(principal, conversation)
        start = _start(cursor)
        best = await self._best(
            principal,
            IndexQuery(
                owner=principal.owner,
                text=query,
                kinds=frozenset({KIND, LOOKUP_KIND, WITHDRAWN_KIND}),
                conversation=conversation,
                project=project,
                limit=MOST,
            ),
        )
        items: list[MessageHit] = []
        while start < len(best) and len(items) < limit:
            some = best[start : start + limit - len(items)]
            start += len(some)
            items += filter(None, await self._shown(principal, some, terms))
        return MessageHits(tuple(items), str(start) if start < len(best) else None)

    async def _best(self, principal: Principal, query: IndexQuery) -> list[Candidate]:
        """The messages in their order: for who is restrained, by what they see of each (`visible_search`)."""
        reader_filter = await self.reader_filters.of(principal)
        if reader_filter is None:
            found = await self.index.search(query)
            return sorted((one for one in found.items if one.lexical is not None), key=_rank)
        words = await self.words.of_words(query, _OF_A_WORD)
        every = {one.id: one for part in words.values() for one in part.items}
        said = await self.conversations.said(principal, [*every])
        texts = {one.id: one.message.content for one in said if one is not None}

        def words_seen() -> dict[str, set[str]]:
            return {id: set(self.analyzer.document(reader_filter.text(text))) for id, text in texts.items()}

        seen = await anyio.to_thread.run_sync(words_seen)
        met = {id: sum(not terms.isdisjoint(seen[id]) for terms in map(frozenset, words)) for id in seen}
        best = sorted((every[id] for id in met if met[id]), key=lambda one: (-met[one.id], -one.at, one.id))
        return best[:MOST]

    async def _shown(
        self, principal: Principal, candidates: Sequence[Candidate], terms: Collection[str]
    ) -> list[MessageHit | None]:
        """What is shown of each, in order; None for what is gone, or has only its date in common."""
        said = await self.conversations.said(principal, [one.id for one in candidates])
        places = list({stored.conversation for stored in said if stored is not None})
        held = await self.conversations.store.get(CONVERSATIONS, principal.owner, places)
        by_id = {one.record.id: one.record for one in held if one is not None}
        reader_filter = await self.reader_filters.of(principal)
        return [
            stored and self._found(stored, by_id.get(stored.conversation), terms, reader_filter=reader_filter)
            for stored in said
        ]

    def _found(
        self,
        stored: StoredMessage,
        held: Conversation | None,
        terms: Collection[str],
        *,
        reader_filter: ReaderFilter | None,
    ) -> MessageHit | None:
        text = stored.message.content if reader_filter is None else reader_filter.text(stored.message.content)
        marks = self.marks(text, terms)
        if held is None or held.archived == TRASHED or not marks:
            return None
        start, end = _window(text, marks[0])
        inside = tuple((a - start, b - start) for a, b in marks if start <= a and b <= end)
        return MessageHit(stored, held, text[start:end], inside[:_MOST_MARKS], is_on_line(held, stored))

    def marks(self, text: str, terms: Collection[str]) -> list[Span]:
        """Where words of the text are words of the question, in whatever form."""
        known: dict[str, bool] = {}
        found: list[Span] = []
        for match in _WORD.finditer(text):
            word = match[0].casefold()
            if word not in known:
                known[word] = not self.analyzer.terms_of(word).isdisjoint(terms)
            if known[word]:
                found.append(match.span())
        return found


def _rank(one: Candidate) -> tuple[float, float, int, str]:
    return -round(one.met, 3), -(one.lexical or 0.0), -one.at, one.id


def _window(text: str, first: Span) -> Span:
    """Where a snippet around the first mark begins and ends: between words where that is possible."""
    start = max(0, first[0] - _BEFORE_CHARS)
    if start and (space := text.find(" ", start, first[0])) != -1:
        start = space + 1
    end = min(len(text), max(first[1], start + _SNIPPET_CHARS))
    if end < len(text) and (space := text.rfind(" ", first[1], end)) != -1:
        end = space
    return start, end


def marked(found: MessageHit) -> str:
    """The snippet with `**` around its words, for those who read plain text."""
    text = found.snippet
    for start, end in reversed(found.marks):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and int(cursor[:9]) < MOST):
        raise BadInput("The cursor is not valid; start again with the first page.")
    return int(cursor)
