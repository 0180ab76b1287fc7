"""What is kept of facts: their versions, and what conversations say of them. Read by `forgetting`.

Conversations where a fact was told or shown are known by its sources and its
sightings; so are those to which a message that tells of it was recalled, and
those where somebody said it in full: they are read closely. Everywhere else what
says it in nearly its own words is found. Every message is read for it: the index
knows neither calls of tools nor their results. Nothing here changes anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.conversations.records import CONVERSATIONS, MESSAGES, SIGHTINGS, SUMMARIES, title_from, turn_of
from bethink.feature import Features, RecordCuts
from bethink.forgettable import FORGOTTEN, Span, without
from bethink.memory import FACTS, Fact
from bethink.messages import Message, UserMessage
from bethink.redaction import Redaction, redaction_of
from bethink.store import Delete, DeleteAll, Put, Scan, items_of, pages_of, records_of

if TYPE_CHECKING:
    from bethink.conversations.records import Conversation, Sighting, StoredMessage
    from bethink.index import IndexItem
    from bethink.store import Change, Store, Versioned

_PAGE = 500
_MANY = 200
"""From so many ids on, reading every sighting once costs less than a look for each."""


class MessageCut(msgspec.Struct, frozen=True):
    """What is to go out of one version of a message, by its places alone."""

    message: str
    version: int
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class RedactedMessage:
    """A message, what becomes of it, and the sentences that go."""

    was: Versioned[StoredMessage]
    now: StoredMessage
    gone: tuple[str, ...]

    def put(self, held: Conversation | None) -> Put[StoredMessage]:
        """The change that keeps it so; the index follows."""
        item = held and indexed(held, self.now)
        return Put(MESSAGES, self.now, self.was.version, item)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """All that is kept of some facts."""

    facts: tuple[Versioned[Fact], ...]
    messages: tuple[RedactedMessage, ...]
    conversations: Mapping[str, Versioned[Conversation]]
    renamed: tuple[Conversation, ...]
    redaction: Redaction
    records: RecordCuts = field(default_factory=RecordCuts)
    retold_in: frozenset[str] = frozenset()

    def changes(self) -> list[Change]:
        """The changes by which nothing of it is left in records and index."""
        held = {id: versioned.record for id, versioned in self.conversations.items()}
        return [
            *(Delete(FACTS, fact.record.id, if_version=fact.version) for fact in self.facts),
            *(DeleteAll(SIGHTINGS, {"fact": fact.record.id}) for fact in self.facts),
            *(item.put(held.get(item.now.conversation)) for item in self.messages),
            *(
                DeleteAll(MESSAGES, {"conversation": place, "branch": SUMMARIES})
                for place in sorted(self.retold_in | {item.now.conversation for item in self.messages})
            ),
            *self.records.changes,
            *(Put(CONVERSATIONS, now, if_version=self.conversations[now.id].version) for now in self.renamed),
        ]


@dataclass(frozen=True, slots=True)
class _KnownHere:
    """What of the facts was known in one conversation, and the messages that told them."""

    redaction: Redaction
    told_in: frozenset[str]


@dataclass(frozen=True, slots=True)
class _MessageSearch:
    """What is looked for in messages: by conversation what was known there, and everything anywhere."""

    facts: Mapping[str, Fact]
    everything: Redaction
    known: Mapping[str, _KnownHere]
    cuts: Mapping[str, MessageCut]

    def among(self, page: Iterable[Versioned[StoredMessage]]) -> list[RedactedMessage]:
        """Those of the messages that say it. Called in a thread: texts may be long."""
        found: list[RedactedMessage] = []
        for was in page:
            now, gone = _cut(was, self.cuts.get(was.record.id))
            now, more = redacted(now, self.everything, close=False)
            gone += more
            if here := self.known.get(was.record.conversation):
                now, more = redacted(now, here.redaction, close=True)
                gone += more
            if not gone and here and was.record.id in here.told_in and isinstance(now.message, UserMessage):
                # The fact was told here in quite other words: nobody can say in which.
                gone = (now.message.content,)
                now = _saying(now, FORGOTTEN)
            if gone:
                found.append(RedactedMessage(was, now, gone))
        return found


@dataclass(frozen=True, slots=True)
class OccurrenceFinder:
    """Finds what is kept of facts."""

    store: Store
    features: Features

    async def versions(self, owner: str, ids: Iterable[str]) -> tuple[Versioned[Fact], ...]:
        """The facts with these ids, with all that they were before, oldest first.

        Also what repeats one of them, and what one became since where that still
        says it: "works at Initech" goes with "worked at Initech until May", but
        "works at Globex" is another matter.
        """
        line: dict[str, Versioned[Fact]] = {}
        asked, later = list(dict.fromkeys(ids)), set[str]()
        while asked:
            found = [fact for fact in await self.store.get(FACTS, owner, asked) if fact is not None]
            line |= {fact.record.id: fact for fact in found}
            linked = {id for fact in found for id in fact.record.earlier}
            said = dict.fromkeys(fact.record.digest for fact in found)
            for same in await self.store.scan(owner, *[Scan(FACTS, {"digest": one}) for one in said]):
                linked |= {item.record.id for item in same.items}
            for fact in found:
                if (became := fact.record.superseded_by) is not None:
                    (linked if fact.record.state == "merged" else later).add(became)
            asked = [id for id in linked if id not in line]
            if not asked:
                asked = await self._still_saying(owner, later - line.keys(), line.values())
        return tuple(sorted(line.values(), key=lambda fact: (fact.record.created_at, fact.record.id)))

    async def _still_saying(
        self, owner: str, later: Collection[str], line: Iterable[Versioned[Fact]]
    ) -> list[str]:
        if not later:
            return []
        gone = redaction_of(text for fact in line for text in texts_of(fact.record))
        found = [fact.record for fact in await self.store.get(FACTS, owner, list(later)) if fact is not None]
        return [fact.id for fact in found if gone.says(fact.content, close=True)]

    async def of(
        self,
        owner: str,
        facts: Sequence[Versioned[Fact]],
        cuts: Sequence[MessageCut],
        *,
        also: Sequence[str] = (),
    ) -> Occurrences:
        """All that is kept of these facts, and what the `cuts` name; what says `also` one of these texts."""
        by_id = {fact.record.id: fact.record for fact in facts}
        said = await self.said(owner, cuts)
        sought = _MessageSearch(
            facts=by_id,
            everything=redaction_of([*(text for fact in by_id.values() for text in texts_of(fact)), *also]),
            known=await self._known(owner, by_id, said),
            cuts={cut.message: cut for cut in cuts},
        )
        found = new = await _among(sought, pages_of(self.store, owner, Scan(MESSAGES, limit=_PAGE)))
        while more := await self._more_known(owner, sought, new, said=said):
            sought = replace(sought, known={**sought.known, **more})
            new = await _among(sought, self._whole(owner, more))
            found |= new
        # A summary is made anew from what is left, so it goes as a whole.
        messages = tuple(item for item in found.values() if item.now.branch != SUMMARIES)
        retold_in = frozenset(item.now.conversation for item in found.values())
        places = {*sought.known, *(item.now.conversation for item in messages)}
        conversations = items_of(self.store, owner, Scan(CONVERSATIONS, limit=_PAGE))
        held = {one.record.id: one async for one in conversations}
        renamed = _renamed([one.record for one in held.values()], sought, messages)
        places |= {one.id for one in renamed}
        kept = {id: one for id, one in held.items() if id in places}
        records = await self.features.cut(owner, sought.everything)
        return Occurrences(tuple(facts), messages, kept, renamed, sought.everything, records, retold_in)

    async def _more_known(
        self,
        owner: str,
        sought: _MessageSearch,
        found: Mapping[str, RedactedMessage],
        *,
        said: Mapping[str, Sequence[str]],
    ) -> dict[str, _KnownHere]:
        """Where messages just `found` were recalled, and the conversations in which one says it in full."""
        facts = [*sought.facts.values()]
        more: dict[str, _KnownHere] = {}
        shown_in = {sighting.conversation for sighting in await self._sightings(owner, found)}
        for place in shown_in - sought.known.keys():
            # What was said when it was recalled there may tell of it, too.
            stays = await self._staying(owner, place, sought.facts)
            more[place] = _known(facts, stays, chain(*said.values()))
        for item in found.values():
            place = item.now.conversation
            here = sought.everything.said_in(item.gone)
            if here.sayings and place not in sought.known and place not in more:
                stays = await self._staying(owner, place, sought.facts)
                more[place] = _KnownHere(_sparing(here, stays), frozenset())
        return more

    async def said(self, owner: str, cuts: Sequence[MessageCut]) -> dict[str, list[str]]:
        """What is to go out of messages, by their ids."""
        found = await self.store.get(MESSAGES, owner, [cut.message for cut in cuts])
        return {
            cut.message: [one.record.message.content[start:end] for start, end in cut.spans]
            for cut, one in zip(cuts, found, strict=True)
            if one is not None and one.version == cut.version
        }

    async def _known(
        self, owner: str, going: Mapping[str, Fact], said: Mapping[str, Sequence[str]]
    ) -> dict[str, _KnownHere]:
        """What of the facts, and of what was `said`, was known in which conversation."""
        places: defaultdict[str, set[str]] = defaultdict(set)
        for fact in going.values():
            for source in fact.sources:
                if source.id is not None and source.kind in {"conversation", "tool"}:
                    places[source.id].add(fact.id)
        for sighting in await self._sightings(owner, {*going, *said}):
            places[sighting.conversation].add(sighting.fact)
        return {
            place: _known(
                [going[id] for id in ids if id in going],
                await self._staying(owner, place, going),
                chain.from_iterable(said.get(id, ()) for id in ids),
            )
            for place, ids in places.items()
        }

    async def _sightings(self, owner: str, ids: Collection[str]) -> list[Sighting]:
        return [
            sighting
            for where in ([{}] if len(ids) > _MANY else [{"fact": id} for id in ids])
            async for sighting in records_of(self.store, owner, Scan(SIGHTINGS, where, limit=_PAGE))
            if sighting.fact in ids
        ]

    async def _staying(self, owner: str, conversation: str, going: Mapping[str, Fact]) -> list[Fact]:
        scan = Scan(SIGHTINGS, {"conversation": conversation}, limit=_PAGE)
        shown = records_of(self.store, owner, scan)
        ids = [sighting.fact async for sighting in shown if sighting.fact not in going]
        return [fact.record for fact in await self.store.get(FACTS, owner, ids) if fact is not None]

    async def _whole(
        self, owner: str, conversations: Iterable[str]
    ) -> AsyncGenerator[Sequence[Versioned[StoredMessage]]]:
        for conversation in conversations:
            scan = Scan(MESSAGES, {"conversation": conversation}, order="position", limit=_PAGE)
            async for page in pages_of(self.store, owner, scan):
                yield page


async def _among(
    sought: _MessageSearch, pages: AsyncGenerator[Sequence[Versioned[StoredMessage]]]
) -> dict[str, RedactedMessage]:
    return {
        item.now.id: item
        async for page in pages
        for item in await anyio.to_thread.run_sync(sought.among, page)
    }


def indexed(held: Conversation, stored: StoredMessage) -> IndexItem | None:
    """What a redacted message of a conversation is found by."""
    return None if stored.message.content == FORGOTTEN else turn_of(held, stored)


def redacted(
    stored: StoredMessage, redaction: Redaction, *, close: bool
) -> tuple[StoredMessage, tuple[str, ...]]:
    """The message as it is kept, without what is forgotten, and what was taken out."""
    message, gone = redaction.message(stored.message, close=close)
    note, noted = redaction.cut(stored.note or "", close=close)
    named = [pair for pair in stored.metadata if redaction.says(" ".join(pair), close=close)]
    if not gone and not noted and not named:
        return stored, ()
    kept = _with(stored, message) if gone else stored
    metadata = tuple(pair for pair in stored.metadata if pair not in named)
    kept = msgspec.structs.replace(kept, note=note or None, metadata=metadata)
    return kept, (*gone, *noted, *(value for _, value in named))


def _known(facts: Sequence[Fact], stays: Sequence[Fact], said: Iterable[str]) -> _KnownHere:
    """Words that facts use which stay are no marks of those that go."""
    told_in = {source.message for fact in facts for source in fact.sources if source.message}
    of_others = {source.message for fact in stays for source in fact.sources}
    redaction = redaction_of(
        [*(text for fact in facts for text in (*texts_of(fact), *names_of(fact))), *said]
    )
    return _KnownHere(_sparing(redaction, stays), frozenset(told_in - of_others))


def _sparing(redaction: Redaction, stays: Iterable[Fact]) -> Redaction:
    return redaction.sparing(text for fact in stays for text in (fact.content, *fact.topics))


def _cut(was: Versioned[StoredMessage], cut: MessageCut | None) -> tuple[StoredMessage, tuple[str, ...]]:
    # Another version had another forgetting: its places are not these.
    if cut is None or cut.version != was.version:
        return was.record, ()
    content, gone = without(was.record.message.content, cut.spans)
    return _saying(was.record, content), gone


def _saying(stored: StoredMessage, content: str) -> StoredMessage:
    return _with(stored, msgspec.structs.replace(stored.message, content=content))


def _with(stored: StoredMessage, message: Message) -> StoredMessage:
    """The same with another text, without what names places of the old one."""
    return msgspec.structs.replace(stored, message=message, used=(), unbacked=())


def _renamed(
    held: Sequence[Conversation], sought: _MessageSearch, messages: Sequence[RedactedMessage]
) -> tuple[Conversation, ...]:
    """The conversations whose title, or whose system prompt, says what goes, without it."""
    first: defaultdict[str, list[RedactedMessage]] = defaultdict(list)
    for item in messages:
        if item.now.position == 0:
            first[item.now.conversation].append(item)
    # A title is short: most of the fact's words say it, wherever it stands.
    anywhere = replace(sought.everything, marks=frozenset())
    changed: list[Conversation] = []
    for one in held:
        known = sought.known.get(one.id)
        gone = known.redaction if known else anywhere
        title = _title(one, first[one.id], gone)
        system, _ = gone.cut(one.system, close=True)
        if (title, system) != (one.title, one.system):
            changed.append(msgspec.structs.replace(one, title=title, system=system))
    return tuple(changed)


def _title(held: Conversation, first: Sequence[RedactedMessage], redaction: Redaction) -> str:
    """A conversation's name without it: made anew where it came from the first message of a branch."""
    for item in first:
        was, now = item.was.record.message, item.now.message
        if isinstance(was, UserMessage) and held.title == title_from(was.content):
            return title_from(now.content)
    return redaction.cut(held.title, close=True)[0]


def texts_of(fact: Fact) -> list[str]:
    """All contents that a fact has and had, and the other words in which its sources said it."""
    shapes = (fact,) if fact.before is None else (fact, fact.before)
    said = [source.said for shape in shapes for source in shape.sources if source.said]
    return list(dict.fromkeys((*(shape.content for shape in shapes), *said)))


def names_of(fact: Fact) -> list[str]:
    """Topics that are names: they give a sentence away where the fact was known."""
    return [topic for topic in fact.topics if topic[:1].isupper()]
