"""Learning after the turn: a model proposes what to remember, code decides. One of `agent/post_turn`'s jobs.

The model reads what the owner said and what was answered, and the nearest facts that are known; never what
tools returned. It proposes changes, each with the owner's words for it. `assertions` tells whether the
owner asserts these words, and whether the fact says what they say: what is sure is kept, what may be waits
for review, the rest is dropped. All that is kept of some turns is one commit with the end of their waiting
(`UNREAD`), so nothing is learnt twice, and nothing of a message that was changed or forgotten meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import anyio
import msgspec
from anyio.to_thread import run_sync

from bethink.agent.completion import answer_to
from bethink.agent.proposals import FACT_CHARS, FORMAT, Proposal, parsed
from bethink.agent.records import LEARNING_DAY_ID, LEARNING_DAYS, UNREAD, LearningDay
from bethink.agent.request import FinishedTurn, prices_of
from bethink.agent.sentence_extraction import restating, stands_to, statements, told_again
from bethink.assertions import (
    OWNER,
    about_of,
    asserted,
    denies_alike,
    may_tell,
    mixes_people_up,
    names_said,
    passages,
    quoted_in,
    share_said,
    speaks_of_self,
    tells_change,
    tells_end,
    without_denied,
)
from bethink.conversations.records import CONVERSATIONS, MESSAGES, ChangedRef, StoredMessage, turn_of
from bethink.conversations.service import Conversations, charged
from bethink.errors import BadInput, BethinkError, Conflict, InvalidResponse, Refused, UnknownId
from bethink.llm import Llm, LlmRequest
from bethink.memory import Fact, FactChange, Memory, NewFact, Source
from bethink.memory.facts import CATEGORIES, about_by_model
from bethink.messages import UserMessage
from bethink.store import Change, Delete, Expect, Put, Versioned, retry_conflicts
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.assertions import JudgedSentence
    from bethink.events import Usage
    from bethink.llm.models import OfferedModels
    from bethink.principal import Principal
    from bethink.settings import Settings

_MOST_CHANGES: Final = 5
"""A turn; what people tell of themselves at once is less."""
_SAID_CHARS, _ANSWER_CHARS, _ALL_CHARS = 4_000, 1_000, 12_000
"""How much of a message, of an answer and of all turns of one request is read: about 3,000 tokens."""
_KNOWN_OF_TURN, _MOST_KNOWN = 8, 12
_OUTPUT_TOKENS: Final = 1_500
"""A third of it for the facts; a model that thinks first needs the rest."""
_LEAST_WINDOW, _SMALLEST_WINDOW = 4_096, 1_024
"""In tokens, for any tokenizer: instructions, a message, its answer and facts; a sentence and examples."""
_MOST_GARBAGE: Final = 3
_NEWS: Final = ("added", "superseded", "corrected", "suggested", "retracted")
"""Not what was known already."""
_NEAREST: Final = 3
"""The fact that a new one replaces is among so many nearest; what is farther is not believed to be it."""
_SURE, _LEAST = 2 / 3, 0.5
"""The share of a fact's words that the owner's have: of one that is kept, of one that is proposed to them."""
_UNQUOTED: Final = 0.75
"""The same of a fact for which the model gave no words: then the sentence that has them is looked for."""
_SAME, _RELATED = 0.99, 0.34
_DAY_US: Final = 86_400_000_000
_GIVEN_UP: Final = (
    f"Nothing is learnt from conversations any more: {_MOST_GARBAGE} times in a row the model's answer had no"
    " valid proposals, nor could it tell sentences again. Name another model (BETHINK_EXTRACTION_MODEL), or"
    " set BETHINK_EXTRACTION=off."
)
_log = log("extraction")


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn as it is stored now."""

    turn: FinishedTurn
    said: Versioned[StoredMessage]
    answered: Versioned[StoredMessage]
    waiting: int
    """The version of its record in `UNREAD`."""

    @property
    def text(self) -> str:
        return self.said.record.message.content


@dataclass(slots=True)
class _Batch:
    """The turns of one request, and what the memory holds near them, by labels."""

    principal: Principal
    turns: Sequence[_Turn]
    known: Mapping[str, Fact] = field(default_factory=dict[str, "Fact"])

    @property
    def expected(self) -> list[Change]:
        """What ends the waiting of the turns, refused if one of them is not as it was read."""
        return [
            change
            for one in self.turns
            for change in (
                Delete(UNREAD, one.turn.said, one.waiting),
                Expect(MESSAGES, one.turn.said, one.said.version),
                Expect(MESSAGES, one.turn.answered, one.answered.version),
            )
        ]

    async def listen(self) -> None:
        """Nothing is heard: what is forgotten changes the messages."""

    def says(self, text: str) -> bool:
        """See `listen`."""
        del text
        return False


@dataclass(slots=True)
class Extraction:
    """Looks for facts, as its `settings` say.

    `on_usage` is told what each request cost, `on_written` of an owner whose answer was changed.
    """

    settings: Settings
    models: OfferedModels
    memory: Memory
    conversations: Conversations
    prompt: str
    on_usage: Callable[[Usage], None]
    on_written: Callable[[str], None]
    _garbage: int = 0
    _toolless: str | None = None
    """The model whose server takes no schema of an answer."""
    _simple: object = None
    """The model that is asked to tell sentences again, since its proposals were garbage."""
    _given_up: object = None
    """The model of which too many answers were none."""
    fault: str | None = None
    """Why the last turns could not be looked through, as a sentence; None if they could."""

    @property
    def llm(self) -> Llm | None:
        """The model that answers: without one nothing is learnt."""
        return self.models.usual

    @property
    def _asked(self) -> object:
        return self.settings.extraction_model or self.llm

    @property
    def off(self) -> str | None:
        """Why nothing is looked for, as a sentence; None while it is on."""
        if self.settings.extraction != "off" and self._asked is not None and self._asked == self._given_up:
            return _GIVEN_UP
        if self.settings.extraction == "off":
            return "Nothing is learnt from conversations; BETHINK_EXTRACTION=auto does it."
        if self.llm is None:
            return "Nothing is learnt from conversations: no model is set."
        return None if self.settings.extraction_model else _too_small(self.llm)

    @property
    def is_on(self) -> bool:
        """Whether facts are looked for."""
        return self.off is None

    async def do(self, turns: Sequence[FinishedTurn]) -> None:
        """Look turns of one principal through and keep what they tell.

        Raises:
            LlmError: the model did not answer, or answered with what are no proposals.
            StorageError: the store cannot be used.
        """
        principal = turns[0].principal
        stored = [await self._stored(turn) for turn in turns]
        unread = [one for one in stored if one is not None and not one.said.record.learnt]
        there = [one for one in unread if await run_sync(may_tell, one.text)]
        there = await self._bounded(principal.owner, there)
        await self._left(principal.owner, [one for one in stored if one is not None and one not in there])
        if there:
            await self._learn(_Batch(principal, there))

    async def _left(self, owner: str, turns: Sequence[_Turn]) -> None:
        """Have turns wait no longer; what another process put anew since stays."""
        for one in turns:
            with suppress(Conflict):
                await self.conversations.store.commit(owner, [Delete(UNREAD, one.turn.said, one.waiting)])

    async def _learn(self, batch: _Batch) -> None:
        batch.known = await self._known(batch)
        proposals, usage = await self._proposals(batch)
        with anyio.CancelScope(shield=True):
            try:
                changed = await self._kept(batch, proposals)
            except (Conflict, BadInput) as error:
                # The owner changed or forgot something of these turns just now, or another process was first.
                _log.info("turns that were changed meanwhile are not learnt from: %s", error)
                await self._left(batch.principal.owner, batch.turns)
                changed = []
            for one in batch.turns:
                refs = [ref for turn, ref in changed if turn is one]
                await self._write(one.turn, refs, usage if one is batch.turns[-1] else [])
            self.on_written(batch.principal.owner)

    @retry_conflicts
    async def _bounded(self, owner: str, turns: list[_Turn]) -> list[_Turn]:
        """As many of the turns as may be read today; they are counted before the model is asked."""
        if not turns:
            return turns
        store, day = self.conversations.store, self.conversations.clock.now_us() // _DAY_US
        (held,) = await store.get(LEARNING_DAYS, owner, [LEARNING_DAY_ID])
        read = held.record.turns if held is not None and held.record.day == day else 0
        most = self.settings.extraction_turns_a_day
        room = max(most - read, 0)
        if len(turns) > room:
            _log.warning("%d turns are not learnt from: today's %d are read", len(turns) - room, most)
        if read_now := turns[:room]:
            now = LearningDay(id=LEARNING_DAY_ID, day=day, turns=read + len(read_now))
            await store.commit(owner, [Put(LEARNING_DAYS, now, if_version=held.version if held else 0)])
        return turns[:room]

    async def _stored(self, turn: FinishedTurn) -> _Turn | None:
        """The turn as it is now; None if it is gone, or does not wait any more."""
        owner, store = turn.principal.owner, self.conversations.store
        (waiting,) = await store.get(UNREAD, owner, [turn.said])
        said, answered = await store.get(MESSAGES, owner, (turn.said, turn.answered))
        if waiting is None:
            return None
        if said is None or answered is None:
            await store.commit(owner, [Delete(UNREAD, turn.said)])
            return None
        return _Turn(turn, said, answered, waiting.version)

    async def _known(self, batch: _Batch) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for one in batch.turns:
            for text in await run_sync(asserted, one.text[:_SAID_CHARS]):
                near = await self.memory.search(batch.principal, text[:_ANSWER_CHARS], k=_KNOWN_OF_TURN)
                found |= {fact.id: fact for fact, _ in near}
        return {f"k{place}": fact for place, fact in enumerate([*found.values()][:_MOST_KNOWN], 1)}

    # --- asking the model

    async def _proposals(self, batch: _Batch) -> tuple[Sequence[Proposal], Sequence[Usage]]:
        try:
            name = self.settings.extraction_model
            llm = await self.models.find(name) if name else self.llm
            if llm is None:
                raise InvalidResponse("No model is set.")
            if self._simple == self._asked or llm.context_tokens < _LEAST_WINDOW:
                found, usage = await self._restated(llm, batch)
            else:
                text, one = await self._answer(llm, _request(self.prompt, batch))
                found, usage = self._parsed(text, batch), [one]
        except BethinkError as error:
            self.fault = f"The last turns were not learnt from: {error}"
            raise
        self.fault = None
        return found, usage

    async def _restated(self, llm: Llm, batch: _Batch) -> tuple[Sequence[Proposal], Sequence[Usage]]:
        """Proposals for the sentences of the turns, which the model tells again one by one."""
        found: list[Proposal] = []
        spent: list[Usage] = []
        is_garbage = True
        for place, turn in enumerate(batch.turns, 1):
            for one in (await run_sync(statements, turn.text, batch.known))[:_MOST_CHANGES]:
                if one.forgets:
                    found.append(Proposal(quote=one.text, do="forget", turn=place, of=one.forgets))
                    continue
                text, usage = await self._answer(llm, await run_sync(restating, one.text))
                spent.append(usage)
                fact = await run_sync(told_again, text)
                if fact is None or len(fact) > FACT_CHARS:
                    continue
                is_garbage = False
                do, of = await run_sync(stands_to, fact, turn.text, batch.known)
                told = Proposal(fact, one.text, do, place, "", of)
                if await run_sync(judged, told, turn.text, batch.known) is None:
                    # What is told wrong waits for review in its owner's own words.
                    told = msgspec.structs.replace(told, fact=one.text[:FACT_CHARS], sure=False)
                found.append(told)
        if spent:
            self._counted(is_garbage=is_garbage)
        return found, spent

    async def _answer(self, llm: Llm, request: LlmRequest) -> tuple[str, Usage]:
        if self._toolless == llm.name:
            request = replace(request, response_format=None)
        try:
            answer = await answer_to(llm, request, job="extraction", prices=prices_of(self.settings))
        except Refused:
            if request.response_format is None:
                raise
            request = replace(request, response_format=None)
            answer = await answer_to(llm, request, job="extraction", prices=prices_of(self.settings))
            self._toolless = llm.name
        usage = answer.usage(request.messages)
        self.on_usage(usage)
        return answer.message().content, usage

    def _parsed(self, text: str, batch: _Batch) -> Sequence[Proposal]:
        found = parsed(text)
        # What has no words of the messages is no proposal: small models copy what the instructions show.
        said = {place: turn.text for place, turn in enumerate(batch.turns, 1)}
        if found and not any(one.do == "forget" or _found(one, said.get(one.turn, "")) for one in found):
            found = None
        self._counted(is_garbage=found is None)
        if found is None:
            raise InvalidResponse("The model's answer contains no valid proposals.")
        return found

    def _counted(self, *, is_garbage: bool) -> None:
        """Ask a model in a simpler way if its answers are garbage again and again, and at last not at all."""
        self._garbage = self._garbage + 1 if is_garbage else 0
        if self._garbage < _MOST_GARBAGE:
            return
        self._garbage = 0
        if self._simple != self._asked:
            self._simple = self._asked
            _log.warning("the model writes no valid proposals: it is asked to tell single sentences again")
        else:
            self._given_up = self._asked
            _log.warning("%s", _GIVEN_UP)

    # --- keeping what is right

    async def _kept(self, batch: _Batch, proposals: Sequence[Proposal]) -> list[tuple[_Turn, ChangedRef]]:
        """What was changed in memory, each with its turn; the waiting of the turns ends with it.

        Raises:
            Conflict: one of the turns is not as it was read.
        """
        changed: list[tuple[_Turn, ChangedRef]] = []
        new: list[tuple[_Turn, NewFact]] = []
        counts = Counter[int]()
        for one in proposals:
            if not 1 <= one.turn <= len(batch.turns) or counts[one.turn] >= _MOST_CHANGES:
                continue
            counts[one.turn] += 1
            turn = batch.turns[one.turn - 1]
            if one.do == "forget":
                changed += [(turn, _ref(gone)) for gone in await self._dropped(batch, turn, one)]
            elif (fact := await self._judged(batch, turn, one)) is not None:
                new.append((turn, fact))
        if not new:
            await self.conversations.store.commit(batch.principal.owner, batch.expected)
            return changed
        facts = [fact for _, fact in new]
        made = await self.memory.add_many(batch.principal, facts, forgotten=batch)
        news = ((turn, one) for (turn, _), one in zip(new, made, strict=True) if one.change in _NEWS)
        return [*changed, *((turn, _ref(one)) for turn, one in news)]

    async def _dropped(self, batch: _Batch, turn: _Turn, one: Proposal) -> list[FactChange]:
        """Known facts that the owner said to be over: taken out of use, which can be undone."""
        words = _asserted(one, turn.text, among=(None, "requested"))
        if self.settings.extraction != "auto" or not one.sure or words is None or not tells_end(words):
            return []
        gone: list[FactChange] = []
        for label in one.of:
            fact = batch.known.get(label)
            if fact is None or share_said(fact.content, words) < _RELATED:
                continue
            try:
                gone.append(await self.memory.retract(batch.principal, fact.id))
            except (UnknownId, BethinkError) as error:
                _log.info("a fact is not dropped: %s", error)
        return gone

    async def _judged(self, batch: _Batch, turn: _Turn, one: Proposal) -> NewFact | None:
        """The fact as it is to be kept; None if it is not."""
        is_untrusted = turn.answered.record.untrusted
        verdict = await run_sync(partial(judged, one, turn.text, batch.known, is_untrusted=is_untrusted))
        if verdict is None or not one.fact.strip():
            return None
        known = [fact for fact in batch.known.values() if share_said(one.fact, fact.content) >= _SAME]
        if one.do == "add" and any(denies_alike(one.fact, fact.content) for fact in known):
            return None
        old, is_sure = await self._displaced(batch, turn, one)
        waits = self.settings.extraction == "suggest" or verdict == "review" or not is_sure
        fact = _fact(one, turn.said.record, is_suggested=waits)
        try:
            fact.checked()
        except BadInput as error:
            _log.info("a proposed fact is not kept: %s", error)
            return None
        (same,) = await self.memory.said(batch.principal, [fact.content])
        if any(known.state == "retracted" for known in same):
            # The owner took it back before: it does not return by itself.
            return None
        return replace(fact, corrects=old) if one.do == "correct" else replace(fact, replaces=old)

    async def _displaced(self, batch: _Batch, turn: _Turn, one: Proposal) -> tuple[tuple[str, ...], bool]:
        """The ids of the facts whose place it takes, and whether that is sure."""
        if one.do == "add":
            return (), True
        old = [batch.known[label] for label in dict.fromkeys(one.of) if label in batch.known]
        if not old:
            return (), False
        ids = {id for text in (one.fact, one.quote) for id in await self._nearest(batch, one, text)}
        says_so = tells_change(turn.text)
        sure = [
            fact
            for fact in old
            if fact.id in ids and (says_so or share_said(one.fact, fact.content) >= _RELATED)
        ]
        return tuple(fact.id for fact in sure), len(sure) == len(old)

    async def _nearest(self, batch: _Batch, one: Proposal, text: str) -> list[str]:
        """The facts nearest to a text, among those about the owner or those about others, as the new one."""
        if not text:
            return []
        is_own = (about_by_model(one.about) or about_of(one.fact)) == OWNER
        near = await self.memory.search(batch.principal, text, k=_MOST_KNOWN)
        return [fact.id for fact, _ in near if (fact.about == OWNER) == is_own][:_NEAREST]

    @retry_conflicts
    async def _write(self, turn: FinishedTurn, changed: Sequence[ChangedRef], usage: Sequence[Usage]) -> None:
        """Write on the answer what was done, and on the message that it was read, if they are there."""
        ids = (turn.said, turn.answered)
        found = await self.conversations.store.get(MESSAGES, turn.principal.owner, ids)
        if found[0] is None or found[1] is None:
            return
        (said, was), versions = (found[0].record, found[1].record), (found[0].version, found[1].version)
        now = msgspec.structs.replace(was, changed=(*was.changed, *changed), usage=(*was.usage, *usage))
        held = await self.conversations.get(turn.principal, now.conversation)
        read = msgspec.structs.replace(said, learnt=True)
        puts: list[Change] = [
            Put(MESSAGES, read, if_version=versions[0], index=turn_of(held.record, read)),
            Put(MESSAGES, now, if_version=versions[1], index=turn_of(held.record, now)),
            Put(CONVERSATIONS, charged(held.record, usage), if_version=held.version),
        ]
        await self.conversations.store.commit(turn.principal.owner, puts)
        if changed:
            await self.conversations.announce(turn.principal.owner, now.conversation)


def _request(prompt: str, batch: _Batch) -> LlmRequest:
    room = _ALL_CHARS // len(batch.turns)
    read = {
        "known": [{"id": label, "fact": fact.content[:300]} for label, fact in batch.known.items()],
        "turns": [
            {
                "turn": place,
                "message": one.text[: min(_SAID_CHARS, room)],
                "answer": one.answered.record.message.content[: min(_ANSWER_CHARS, room // 4)],
            }
            for place, one in enumerate(batch.turns, 1)
        ],
    }
    return LlmRequest(
        system=prompt,
        messages=(UserMessage(msgspec.json.encode(read).decode()),),
        max_output_tokens=_OUTPUT_TOKENS,
        response_format=FORMAT,
    )


def judged(
    one: Proposal, said: str, known: Mapping[str, Fact], *, is_untrusted: bool = False
) -> Literal["keep", "review"] | None:
    """Whether a proposal is what the owner says of their own accord; None if it is not.

    Of an answer that is untrusted, only what has every word of theirs is believed.
    """
    found = _found(one, said)
    if not found or {passage.reason for passage in found} - {None, "uncertain"}:
        return None
    others = [known[label].content for label in one.of if label in known]
    words = " ".join(without_denied(passage.text, others) for passage in found)
    share, denies = share_said(one.fact, words), denies_alike(one.fact, words)
    is_sure = (
        one.sure and denies is True and share >= _SURE and all(passage.reason is None for passage in found)
    )
    if not names_said(one.fact, words) or share < _LEAST:
        earlier = [
            passage for passage in passages(said) if passage.end <= found[0].start and passage.reason is None
        ]
        words = " ".join((*(passage.text for passage in earlier[-1:]), words))
        is_sure = False
        if not earlier or not names_said(one.fact, words) or share_said(one.fact, words) < _LEAST:
            return None
    if denies is False or (is_untrusted and share < _SAME):
        return None
    whose = _whose(one, words)
    return None if whose is None else "keep" if is_sure and whose else "review"


def _whose(one: Proposal, words: str) -> bool | None:
    """Whether a fact is about whom the words are about: None if not, False if that is not clear."""
    if about_by_model(one.about) is None:
        return None if mixes_people_up(one.fact, words) else speaks_of_self(one.fact, words)
    is_named = share_said(one.about, words) >= _LEAST and share_said(one.about, one.fact) >= _LEAST
    return is_named and not mixes_people_up(one.fact, words)


def _found(one: Proposal, said: str) -> list[JudgedSentence]:
    """The sentences of a message that a proposal quotes; without a quote, the one that says it."""
    every = passages(said)
    if one.quote.strip():
        span = quoted_in(one.quote, said)
        return [] if span is None else [p for p in every if p.start < span[1] and span[0] < p.end]
    return [p for p in every if share_said(one.fact, p.text) >= _UNQUOTED][:1]


def _asserted(one: Proposal, said: str, *, among: Sequence[str | None]) -> str | None:
    found = _found(one, said)
    if not found or any(passage.reason not in among for passage in found):
        return None
    return " ".join(passage.text for passage in found)


def _too_small(llm: Llm) -> str | None:
    if llm.context_tokens >= _SMALLEST_WINDOW:
        return None
    return (
        f"Nothing is learnt from conversations: {llm.name} is too small for it, its window holds"
        f" {llm.context_tokens:,} tokens and {_SMALLEST_WINDOW:,} are needed."
    )


def _ref(one: FactChange) -> ChangedRef:
    return ChangedRef(change=one.change, ids=(one.fact.id,), undo=one.undo)


def _fact(one: Proposal, said: StoredMessage, *, is_suggested: bool) -> NewFact:
    said_so = one.quote.strip() or None
    return NewFact(
        content=one.fact,
        category=one.category if one.category in CATEGORIES else "general",
        importance=one.importance,
        topics=one.topics,
        source=Source(kind="conversation", id=said.conversation, message=said.id, at=said.at, said=said_so),
        suggested=is_suggested,
        about=about_by_model(one.about),
        at=said.at,
    )
