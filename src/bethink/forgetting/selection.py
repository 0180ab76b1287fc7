"""What is asked to be forgotten, what that comes to, and the receipt of what is gone."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bethink.clock import to_datetime
from bethink.conversations.records import CONVERSATIONS as CONVERSATION_RECORDS
from bethink.conversations.records import KIND as TURN
from bethink.conversations.records import MESSAGES
from bethink.errors import BadInput
from bethink.forgetting.occurrences import MessageCut
from bethink.forgetting.pages import PageCut
from bethink.memory import FACTS, KIND, Fact
from bethink.memory.writer import PAST_KIND
from bethink.messages import ToolMessage
from bethink.recall.service import Recall, asked_us
from bethink.redaction import Redaction, Span, redaction_of
from bethink.store import Key, Scan, Store, records_of
from bethink.vault import KIND as PAGE
from bethink.vault import Vault
from bethink.vault.files.folder import version_of

if TYPE_CHECKING:
    from datetime import datetime

    from bethink.feature import RecordExcerpt
    from bethink.forgettable import Holding, TextPlace
    from bethink.memory.facts import State
    from bethink.principal import Principal


MAX_FOUND = 100
SURE: Final = 0.25
"""The least score of what a question forgets: more certainty than it takes to tell a model."""
CONVERSATIONS = "conversations"
Kept: TypeAlias = Literal["keep", "remove"]
_FOUND = 20
_PAGE = 500
_OUT_OF_USE: tuple[State, ...] = ("suggested", "superseded", "corrected", "merged", "retracted")
_RARE = 0.5
"""Of the rare words of a question: "everything about Initech" has one that is none of the matter."""
_LEAD = re.compile(
    r"^\s*(?:everything|anything|all)\b(?:[^.]*?\b(?:about|of|on|regarding))?\s+", re.IGNORECASE
)
"""What stands before the matter: "everything that you know about Initech"."""
_TOKEN = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What to forget, in one way.

    The facts with these `ids`; or what answers `query`, the best `k` of it; or
    what was learnt `since` (inclusive) and `until` (exclusive); or `everything`: all facts,
    and what was said in conversations, which these either `keep`, to be read and not
    recalled, or do not (`conversations`); `kinds` go with it, each as a whole.
    It is asked for in the conversation `asked_in`, if in any, which stays.
    """

    ids: Sequence[str] = ()
    query: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    everything: bool = False
    k: int = _FOUND
    kinds: Sequence[str] = ()
    conversations: Kept | None = None
    asked_in: str | None = None

    def check(self) -> None:
        """Refuse what names nothing, or two things.

        Raises:
            BadInput: the sentence says what to name.
        """
        named = (bool(self.ids), self.query is not None, bool(self.since or self.until), self.everything)
        if sum(named) != 1 or not (self.query is None or self.query.strip()):
            raise BadInput("Say what to forget in one way: ids, a query, since and until, or all.")
        if not 1 <= self.k <= MAX_FOUND:
            raise BadInput(f"k is {self.k}: give a number from 1 to {MAX_FOUND}.")
        if (self.kinds or self.conversations) and not self.everything:
            raise BadInput(
                "kinds and conversations need all: they say what to forget in addition to all memories."
            )


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many things of one kind go, or hold the words, under what a person calls them.

    `lines` are the first of them, or what goes of them.
    """

    kind: str
    one: str
    many: str
    count: int
    lines: tuple[str, ...] = ()
    shared: str = ""


@dataclass(frozen=True, slots=True)
class FullSelection:
    """What goes beside facts if everything does: these `kinds`, and what was said in conversations.

    `others` are the kinds that nobody ticked: they stay.
    """

    kinds: tuple[str, ...]
    conversations: Kept
    asked_in: str | None
    counts: tuple[KindCount, ...] = ()
    others: tuple[KindCount, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of it."""
        return not any(one.count for one in self.counts)

    @property
    def by_kind(self) -> dict[str, int]:
        """How many there are, by kind."""
        return {one.kind: one.count for one in self.counts}

    @property
    def lines(self) -> list[str]:
        """The first lines of each kind that a person ticked."""
        return [f"{one.one}: {line}" for one in self.counts for line in one.lines]

    def sentences(self, *, is_done: bool) -> list[str]:
        """In words how many of each go, or are gone, and who else uses them."""
        sentences: list[str] = []
        for one in self.counts:
            what = f"{one.count:,} {one.one if one.count == 1 else one.many}"
            if one.kind == CONVERSATIONS and self.conversations == "keep":
                what = f"what was said in {what}, which {'stay' if is_done else 'would stay'} to be read"
            if one.count:
                sentences.append(what if is_done or not one.shared else f"{what}. {one.shared}")
        return sentences


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted, as it is kept: ids of facts, parts of messages and of pages, other `places`.

    `has_more` tells of a query that more answers than the best `k`, `whole` what goes with everything.
    """

    facts: tuple[str, ...] = ()
    cuts: tuple[MessageCut, ...] = ()
    has_more: bool = False
    pages: tuple[PageCut, ...] = ()
    whole: FullSelection | None = None
    places: tuple[TextPlace, ...] = ()

    def token(self, at: int) -> str:
        """Stands for exactly this, chosen at a moment; tells nothing of it."""
        named = "\n".join((*self.facts, "", *(f"{cut.message} {cut.spans}" for cut in self.cuts)))
        named += "".join(f"\n{cut.content} {cut.spans}" for cut in self.pages)
        named += "".join(f"\n{place.kind} {place.id} {place.field} {place.spans}" for place in self.places)
        if (whole := self.whole) is not None:
            counts = [(one.kind, one.count, one.shared) for one in whole.counts]
            named += f"\n{whole.kinds} {whole.conversations} {counts}"
        return f"{at:x}-{hashlib.blake2b(named.encode(), digest_size=8).hexdigest()}"


def is_token(text: str) -> bool:
    """Whether this looks like the token of a preview."""
    return _TOKEN.fullmatch(text) is not None


def moment_of(token: str) -> int:
    """When the choice of a token was made, in microseconds UTC.

    Raises:
        BadInput: this is no token.
    """
    if (match := _TOKEN.fullmatch(token)) is None:
        raise BadInput("This is not the token of a preview: ask for a preview and confirm with its token.")
    return int(match[1], 16)


@dataclass(slots=True)
class Selector:
    """Finds what is wanted; a question finds what scores `min_score` and more."""

    store: Store
    recall: Recall
    min_score: float
    vault: Vault

    async def chosen(self, principal: Principal, wanted: ForgetRequest, at: int) -> Selection:
        """What is wanted of all that was there at a moment.

        Raises:
            BadInput: `wanted` is not fit; a time has no zone.
        """
        wanted.check()
        if wanted.query is not None:
            return await self._answering(principal, wanted.query, k=wanted.k, at=at)
        if wanted.ids:
            found = await self.store.get(FACTS, principal.owner, list(dict.fromkeys(wanted.ids)))
            return Selection(tuple(fact.record.id for fact in found if fact is not None))
        since, until = asked_us(wanted.since), asked_us(wanted.until)
        last = at + 1 if until is None else min(until, at + 1)
        learnt = self._facts(principal.owner, since=since or 0, until=last)
        return Selection(tuple([fact.id async for fact in learnt]))

    async def _answering(self, principal: Principal, query: str, *, k: int, at: int) -> Selection:
        """The best `k` that recall finds, past facts too; then facts out of use by their words."""
        kinds = {KIND, PAST_KIND, TURN, PAGE} & set(self.recall.kinds)
        hits = await self.recall.search(principal, query, k + 1, kinds=kinds, until=to_datetime(at + 1))
        sure = [hit for hit in hits if hit.score >= self.min_score]
        known = {hit.id for hit in sure}
        unused = [id for id in await self._out_of_use(principal.owner, query, at) if id not in known]
        left = len(sure[:k])
        facts = {*(hit.id for hit in sure[:k] if hit.kind == KIND), *unused[: k - left]}
        told = {hit.id for hit in sure[:k] if hit.kind == TURN}
        told |= await self._not_recalled(principal.owner, query, at)
        named = await self.store.get(FACTS, principal.owner, sorted(facts))
        texts = [query, *(fact.record.content for fact in named if fact is not None)]
        cuts = await self._cuts(principal.owner, told, texts)
        on_pages = [hit.id for hit in sure[:k] if hit.kind == PAGE]
        pages = await self._page_cuts(principal.owner, on_pages, texts)
        return Selection(tuple(sorted(facts)), cuts, len(sure) + len(unused) > k, pages)

    async def _cuts(self, owner: str, told: Iterable[str], texts: Sequence[str]) -> tuple[MessageCut, ...]:
        about = redaction_of(texts)
        said = await self.store.get(MESSAGES, owner, sorted(told))
        cuts = [
            MessageCut(one.record.id, one.version, tuple(about.spans(one.record.message.content, close=True)))
            for one in said
            if one is not None and not isinstance(one.record.message, ToolMessage)
        ]
        return tuple(cut for cut in cuts if cut.spans)

    async def _not_recalled(self, owner: str, query: str, at: int) -> set[str]:
        """Messages that recall does not look for, or ranks last, where their words answer the question.

        Those of temporary conversations, those that were taken out of recall, and what was only asked.
        """
        places = records_of(self.store, owner, Scan(CONVERSATION_RECORDS, {"temporary": 1}, limit=_PAGE))
        temporary = {held.id async for held in places}
        asked = redaction_of([query])
        return {
            one.id
            async for one in records_of(self.store, owner, Scan(MESSAGES, limit=_PAGE))
            if (one.withdrawn or one.lookup or one.conversation in temporary)
            and one.at <= at
            and _is_answered(asked, one.message.content)
        }

    async def _page_cuts(self, owner: str, ids: Sequence[str], texts: Sequence[str]) -> tuple[PageCut, ...]:
        about = redaction_of(texts)
        spans: defaultdict[str, set[Span]] = defaultdict(set)
        for part in await self.vault.parts(owner, sorted(ids)):
            if part is not None:
                found = about.spans(part.text[part.start : part.end], close=True)
                places = {(part.start + start, part.start + end) for start, end in found}
                spans[version_of(part.text.encode())] |= places
        return tuple(PageCut(content, tuple(sorted(at))) for content, at in sorted(spans.items()) if at)

    async def _out_of_use(self, owner: str, query: str, at: int) -> list[str]:
        """Facts that recall does not look for, where their words answer the question."""
        asked = redaction_of([query])
        return [
            fact.id
            for state in _OUT_OF_USE
            async for fact in self._facts(owner, until=at + 1, where={"state": state})
            if _is_answered(asked, " ".join((fact.content, *fact.topics)))
        ]

    def _facts(
        self, owner: str, *, since: int = 0, until: int, where: Mapping[str, Key] | None = None
    ) -> AsyncGenerator[Fact]:
        scan = Scan(FACTS, where or {}, order="created_at", low=since, high=until, limit=_PAGE)
        return records_of(self.store, owner, scan)


def holding(query: str) -> Holding:
    """Which sentences hold what a question is about: all of its rare words or, if it has none, all words.

    What goes as a whole must say all of it: half of it, as among messages, would take too much.
    """
    asked = redaction_of([_LEAD.sub("", query)])
    words = asked.marks or {word for saying in asked.sayings for word in saying.words}

    def held(text: str) -> list[Span]:
        found = asked.spans(text, close=True)
        return [(start, end) for start, end in found if words <= asked.analyzer.words(text[start:end])]

    return held


def _is_answered(asked: Redaction, text: str) -> bool:
    """Whether a text has the rare words of what is asked or, where that has none, all of its words."""
    there = asked.analyzer.words(text)
    if asked.marks:
        return len(asked.marks & there) >= _RARE * len(asked.marks)
    words = {word for saying in asked.sayings for word in saying.words}
    return bool(words) and words <= there


OUTSIDE = (
    "Backups and exports that were made before still contain it.",
    "A model's provider received what was sent to it.",
)
"""What no forgetting here can reach."""

_BESIDE_PAGES = "Copies of pages that other programs made, for example in hidden folders, still contain it."
_UNREACHED = "{:,} files of the vault that cannot be read were not looked through."

MORE = "There are more matches: ask again afterwards, or for more at once."
"""Where a query found more than it may take."""

_LISTED = 20


@dataclass(frozen=True, slots=True)
class MessageExcerpt:
    """What would go out of one message: its sentences, as they were said. `at` is microseconds UTC."""

    message: str
    conversation: str
    by_owner: bool
    at: int
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """What would go out of one page of the vault."""

    path: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go; nothing has. `token` confirms it.

    `facts` are those that were asked for, `versions` what these were before and
    became since: they go too. `titles` are ids of conversations named after them,
    other `records`, and `pages` of the vault, say it, too.
    `has_more` tells that more answers the question than was asked for.
    `held` is what else holds its words, by kind.
    """

    token: str
    facts: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    said: tuple[MessageExcerpt, ...]
    titles: tuple[str, ...]
    has_more: bool = False
    records: tuple[RecordExcerpt, ...] = ()
    pages: tuple[PageExcerpt, ...] = ()
    whole: FullSelection | None = None
    held: tuple[KindCount, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        some = self.facts or self.said or self.pages or self.held
        return not some and (self.whole is None or self.whole.is_empty)

    @property
    def counts(self) -> list[str]:
        """How many of each kind would go, in words, if everything does."""
        if self.whole is None:
            return [f"{counted(one.count, one.one, one.many)} whose words hold it" for one in self.held]
        facts = len(self.facts) + len(self.versions)
        return [counted(facts, "memory", "memories"), *self.whole.sentences(is_done=False)]

    def listing(self, limit: int = _LISTED) -> str:
        """What would go as a list in Markdown, at most `limit` lines of it."""
        counts = [f"- **{line}**" for line in self.counts]
        lines = [f"- {fact.content}" for fact in self.facts]
        lines += [f"- {fact.content} (an earlier or later version)" for fact in self.versions]
        lines += [f"- said: {' … '.join(said.sentences)}" for said in self.said]
        lines += [f"- in the record of {one.name}: {' … '.join(one.parts)}" for one in self.records]
        lines += [f"- on the page {one.path}: {' … '.join(one.parts)}" for one in self.pages]
        lines += [f"- {line}" for one in self.held for line in one.lines]
        lines += [f"- {line}" for line in (self.whole.lines if self.whole else ())]
        more = len(lines) - limit
        shown = [*counts, *lines[:limit], *([f"- and {more:,} more"] if more > 0 else [])]
        return "\n".join([*shown, "", MORE] if self.has_more else shown)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is gone, by ids and counts; it quotes nothing. `at` is microseconds UTC.

    `facts` are the ids of all that is gone, earlier and later versions among
    them. Out of `messages` what said them was taken, `titles` are conversations
    that got another name, `doubted` are facts that rested on what is gone, out of
    other `records`, by kind, and out of `pages` of the vault, went what told of it.
    `has_more` tells that more than this answers the question. `held` is what else held its words, by kind.
    `outside` tells what may still say it; those sentences of it that the store gave are in `remains`, too.
    """

    at: int
    facts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    outside: tuple[str, ...] = OUTSIDE
    has_more: bool = False
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    pages: tuple[str, ...] = ()
    whole: FullSelection | None = None
    held: tuple[KindCount, ...] = ()
    remains: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is gone."""
        some = self.facts or self.messages or self.pages or self.held
        return bool(some or (self.whole and not self.whole.is_empty))

    @property
    def counts(self) -> dict[str, int]:
        """How much is gone, by kind."""
        held = {one.kind: one.count for one in self.held}
        return {"facts": len(self.facts), **held, **(self.whole.by_kind if self.whole else {})}

    @property
    def summary(self) -> str:
        """One sentence of counts, for a person."""
        parts = [counted(len(self.facts), "memory", "memories")]
        if self.messages:
            parts.append(f"what {counted(len(self.messages), 'message', 'messages')} said of it")
        for kind, ids in self.records.items():
            parts.append(f"what {counted(len(ids), 'record', 'records')} of {kind} told of it")
        if self.pages:
            parts.append(f"what {counted(len(self.pages), 'page', 'pages')} of the vault said of it")
        parts += [f"what {counted(one.count, one.one, one.many)} held of it" for one in self.held]
        if self.whole is not None:
            parts += self.whole.sentences(is_done=True)
        sentence = f"Forgotten for good: {' and '.join(parts)}."
        return f"{sentence} {MORE}" if self.has_more else sentence


def counted(count: int, one: str, many: str) -> str:
    """A number and what it counts."""
    return f"{count:,} {one if count == 1 else many}"


def outside(*, has_pages: bool, unreached: int) -> tuple[str, ...]:
    """What a forgetting did not reach, where it took something out of pages or could not read some."""
    pages = [_BESIDE_PAGES] if has_pages else []
    return (*OUTSIDE, *pages, *([_UNREACHED.format(unreached)] if unreached else []))
