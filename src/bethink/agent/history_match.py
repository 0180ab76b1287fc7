"""Which conversation a client means that sends its whole history and names none, or names a response.

Such a client sends again what was said before, with its new message behind it. A hash of what the owner
said so far leads to the conversations in which just that was said; the one whose last answer the client
repeats is meant. So nothing is kept twice, and a client that takes back what it said goes on in a branch.
One that wraps its newest message alone, into passages of documents for example, sends it bare the next
time: then what stands at the end of the last conversations is compared. A client that also names its chat
is never at a loss (`within`): what its history has otherwise, such as an answer that was edited, is taken
over, in a branch.
Only digests are kept, made with the master key; those of what is forgotten go. A response that a client may
come back to is a run, kept under its id (`Responses`). The OpenAI-compatible door asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.agent.client_tools import branch_point_of, open_calls
from bethink.agent.records import THREADS, Run, Thread
from bethink.agent.request import BranchPoint
from bethink.conversations.records import (
    CONVERSATIONS,
    MESSAGES,
    StoredMessage,
    appended,
    continued,
    edited,
    is_on_line,
)
from bethink.errors import BadInput, Busy, Conflict, UnknownId
from bethink.events import (
    MessageSaved,
    Place,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolRequested,
)
from bethink.forgetting.announcements import AnnouncementState, expecting
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.redaction import FORGOTTEN
from bethink.store import Change, Delete, Put, Scan, Store, Versioned, pages_of, records_of

if TYPE_CHECKING:
    from bethink.agent.stored_runs import StoredRuns
    from bethink.conversations.records import Conversation
    from bethink.conversations.service import Conversations, ConversationStart
    from bethink.events import Event
    from bethink.principal import Principal
    from bethink.secrets_at_rest import SecretBox


_SAID: Final = "response"


@dataclass(frozen=True, slots=True)
class Responses:
    """The kept responses of all owners."""

    stored: StoredRuns

    async def keep(
        self, principal: Principal, run: str, *, conversation: str, model: str, previous: str
    ) -> None:
        """Have a run's answer be found again, until its conversation is deleted."""
        at = self.stored.conversations.clock.now_us()
        kept = Thread(
            id=_id(run),
            said=_SAID,
            conversation=conversation,
            at=at,
            run=run,
            previous=previous,
            model=model,
        )
        await self.stored.conversations.store.commit(principal.owner, [Put(THREADS, kept)])

    async def get(self, principal: Principal, run: str) -> Thread:
        """What is kept of a response.

        Raises:
            UnknownId: this owner has none, or it was deleted, or never kept.
        """
        (found,) = await self.stored.conversations.store.get(THREADS, principal.owner, [_id(run)])
        if found is None:
            raise UnknownId(
                f"There is no response {f'resp_{run}'[:80]!r}: it was made with store: false, or deleted, or "
                "its conversation was, or the id is wrong."
            )
        return found.record

    async def delete(self, principal: Principal, run: str) -> None:
        """Have it not be found again; what was said stays in its conversation.

        Raises:
            UnknownId: this owner has none.
        """
        kept = await self.get(principal, run)
        await self.stored.conversations.store.commit(principal.owner, [Delete(THREADS, kept.id)])

    async def behind(self, principal: Principal, run: str) -> str | BranchPoint:
        """Where a conversation goes on behind a response.

        Raises:
            UnknownId: this owner has no such response.
        """
        kept = await self.get(principal, run)
        await self.stored.settle(principal, kept.conversation)
        record = await self.stored.get(principal, run)
        if record.state in ("running", "waiting"):
            # Nothing can have been said after it: it is the one that its conversation waits for.
            return kept.conversation
        said = await self._said(principal, record)
        return BranchPoint(kept.conversation, said[-1].id, "behind") if said else kept.conversation

    async def input_of(self, principal: Principal, record: Run) -> Sequence[StoredMessage]:
        """What a run answers: the owner's message, or what a client's functions returned."""
        given: list[StoredMessage] = []
        for stored in await self._said(principal, record):
            if isinstance(stored.message, AssistantMessage):
                break
            given.append(stored)
        if given:
            return given
        # It answers anew what was said for another run.
        found = await self.stored.conversations.said(principal, [record.message])
        return [one for one in found if one is not None]

    async def events(self, principal: Principal, record: Run) -> Sequence[Event]:
        """What happened in a run so far; once its events are dropped, what its messages tell."""
        events = [numbered.event for numbered in await self.stored.events(principal, record.id, Place(0))]
        if events and isinstance(events[0], RunStarted):
            return events
        return _events_of_messages(record, await self._said(principal, record))

    async def _said(self, principal: Principal, record: Run) -> list[StoredMessage]:
        conversations = self.stored.conversations
        (asked,) = await conversations.said(principal, [record.message])
        said: list[StoredMessage] = []
        if asked is None:
            return said
        where, low = {"conversation": record.conversation}, asked.position
        scan = Scan(MESSAGES, where, order="position", low=low, limit=_PAGE)
        async for page in pages_of(conversations.store, principal.owner, scan):
            mine = [item.record for item in page if item.record.run == record.id]
            said += mine
            if said and not mine:
                break
        return said


def _id(run: str) -> str:
    return f"response:{run}"


def _events_of_messages(record: Run, said: Sequence[StoredMessage]) -> list[Event]:
    """A run's events, as far as its messages have them."""
    events: list[Event] = [
        RunStarted(
            run=record.id,
            conversation=record.conversation,
            message=record.message,
            model=None,
            at=record.started_at,
        )
    ]
    note = ""
    for stored in said:
        match stored.message:
            case AssistantMessage(content=text, tool_calls=calls):
                events += [TextDelta(text=text)] if text else []
                events += [
                    ToolRequested(call=call.id, name=call.name, arguments=call.arguments, label=call.name)
                    for call in calls
                ]
                events += [*stored.usage, MessageSaved(id=stored.id, role="assistant")]
                note = stored.note or note
            case ToolMessage(call=call, name=name):
                events.append(ToolFinished(call=call, name=name, text="", duration_ms=0))
            case _:
                pass
    if record.state in ("ended", "dropped"):
        if record.reason == "failed":
            events.append(RunFailed(code="failed", message=note or "The run failed."))
        events.append(RunDone(reason=record.reason or "interrupted"))
    return events


_THOUGHTS: Final = (("<think>", "</think>"), ('<details type="reasoning"', "</details>"))
"""How clients write reasoning into the answers that they send again."""
GO_ON: Final = "Go on exactly where your last answer stopped. Repeat nothing of it."
"""What stands as the owner's message where a client wants an answer to go on, and sends that last."""
NOTICE: Final = "⏸ "
"""What a door puts before a sentence of its own in an answer: that a call waits."""
FILE_NOTICE: Final = "\U0001f4ce "
"""What a door puts before the address of a file that a tool made, at the end of an answer."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """One message of a client's history: text alone."""

    role: str
    text: str


_CANDIDATES: Final = 20
_PAGE: Final = 100
_KEYS: Final = "key"
"""What stands as `said` of a request that may be repeated."""
_LIMBO_US: Final = 10 * 60 * 1_000_000
"""After which a request that has begun and started no run is taken to have died with its process."""
REPEATABLE_US: Final = 24 * 3_600 * 1_000_000
"""How long a request may be repeated."""
_PURGED_AT_ONCE: Final = 500
_BEGINNING: Final = "The first request with this idempotency key has only just begun: repeat it in a moment."
_MAX_IMPORTED: Final = 2_000
"""Messages of a history that Bethink does not know: the newest are taken over."""
_MOST_CUTS: Final = 50
"""Turns at the end of a history that may be unknown while what stands before them is looked for."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the owner said, and what stands behind it."""

    asked: StoredMessage
    behind: list[StoredMessage]


@dataclass(frozen=True, slots=True)
class HistoryMatch:
    """Finds and remembers conversations by what was said in them."""

    conversations: Conversations
    secret_box: SecretBox

    async def place(
        self, principal: Principal, history: Sequence[ClientMessage], start: ConversationStart
    ) -> str:
        """The conversation that goes on behind a history, which ends in an answer; else a new one.

        Only a temporary one, where a temporary one would `start`, and else none
        of those. Where the history ends before the conversation does, it goes on
        in a branch. A history that is not known is taken over, and not recalled from.

        Raises:
            Busy: the conversation is being answered, and would have to branch.
        """
        if history:
            for thread in await self._known(principal, history):
                if await self._goes_on(principal, thread, history, temporary=start.temporary):
                    return thread.conversation
            if not start.temporary and (wrapped := await self._wrapped(principal, history)):
                return wrapped
        try:
            made = await self.conversations.create(principal, start)
        except Conflict:
            # A request that came at the same time calls it so, too.
            found = await self.conversations.called(principal, start.caller_id or "")
            if found is None:
                raise
            return await self.within(principal, found, history, more="")
        if history:
            await self._take_over(principal, Versioned(made, 1), history)
        return made.id

    async def within(
        self,
        principal: Principal,
        found: Versioned[Conversation],
        history: Sequence[ClientMessage],
        *,
        more: str,
    ) -> str:
        """Have a conversation go on behind a history that its client sends of it, with `more`; its id.

        Without a history it goes on at its end, unless its only turn is asked again. What the history has
        otherwise, or beside it, is taken over into a branch, and not recalled from.

        Raises:
            Busy: the conversation is being answered, and would have to branch.
            BadInput: it has too many branches.
        """
        held = found.record
        for thread in await self._known(principal, history) if history else ():
            temporary = bool(held.temporary)
            if thread.conversation == held.id and await self._goes_on(
                principal, thread, history, temporary=temporary
            ):
                return held.id
        page = await self.conversations.line(principal, held, limit=_MAX_IMPORTED, before=None)
        said = [item.record for item in reversed(page.items)]
        turns = _turns(said)
        now, rest = held, history
        if history and said:
            place, rest = _parting(turns, history)
            now = edited(held, said[0]) if place is None else continued(held, place)
        elif said and len(turns) == 1 and _is_said(turns[0].asked.message.content, more):
            now = edited(held, said[0])
        if rest or now != held:
            await self._take_over(principal, Versioned(now, found.version), rest)
        return held.id

    async def _wrapped(self, principal: Principal, history: Sequence[ClientMessage]) -> str | None:
        """Which of the last conversations ends in this history, but for what was wrapped around messages."""
        for item in (await self.conversations.list(principal, limit=_CANDIDATES)).items:
            held = item.record
            page = await self.conversations.line(principal, held, limit=_PAGE, before=None)
            turns = _turns([one.record for one in reversed(page.items)])
            asked = [one.text for one in history if one.role == "user"]
            if not turns or not asked or len(turns) > len(asked) or not _ends_in(turns, asked):
                continue
            place, rest = _parting(turns, history)
            end = (turns[-1].behind or [turns[-1].asked])[-1]
            if place == end and not rest and (page.cursor or len(turns) == len(asked)):
                return held.id
        return None

    async def asked(
        self, principal: Principal, history: Sequence[ClientMessage], calls: set[str], *, temporary: bool
    ) -> str | BranchPoint:
        """The conversation whose last answer left these calls to its client, and they are still open.

        Where there are several, the one whose answers the history repeats. Where none is left
        open, the place at which they were: a client whose connection broke sends its results again.

        Raises:
            UnknownId: there is none.
        """
        fitting: list[str] = []
        answered: list[BranchPoint] = []
        for thread in await self._known(principal, history):
            conversation = thread.conversation
            if await self._found(principal, conversation, temporary=temporary) is None:
                continue
            if await self._waits(principal, conversation, calls):
                if await self._placed(principal, thread, history, temporary=temporary) is not None:
                    return conversation
                fitting.append(conversation)
            elif place := await branch_point_of(self.conversations, principal, conversation, calls=calls):
                answered.append(place)
        if found := [*fitting, *answered]:
            return found[0]
        raise UnknownId("No conversation waits for the results of these calls: their ids are not known.")

    async def named(self, principal: Principal, conversation: str, calls: set[str]) -> str | BranchPoint:
        """Where a named conversation goes on with the results of these calls: at its end, or where they were.

        Raises:
            UnknownId: this owner has no such conversation.
        """
        with suppress(BadInput):
            await open_calls(self.conversations, principal, conversation)
            return conversation
        return await branch_point_of(self.conversations, principal, conversation, calls=calls) or conversation

    async def remember(
        self, principal: Principal, run: Run, said: str, *, heard: Versioned[AnnouncementState]
    ) -> None:
        """Have a history that ends in the message of a run lead to its conversation; `said` is its `said_by`.

        Not where something is being forgotten, or was since that was `heard`: it may be of that.
        """
        if heard.record.under_way:
            return
        digest = await self.secret_box.digest(said)
        thread = Thread(
            id=f"{digest}:{run.message}",
            said=digest,
            conversation=run.conversation,
            at=self.conversations.clock.now_us(),
            message=run.message,
            run=run.id,
        )
        with suppress(Conflict):
            await self.conversations.store.commit(principal.owner, [Put(THREADS, thread), expecting(heard)])

    async def reserve(self, principal: Principal, key: str, request: str) -> Thread | None:
        """Take a key that a client gave to a request; what is known of it where it was taken before.

        `request` is a hash of it. One that never began, as its process ended, holds its key for ten minutes.

        Raises:
            Busy: the first such request has only just begun.
            Conflict: it was another request.
        """
        at = self.conversations.clock.now_us()
        request = await self.secret_box.digest(request)
        mine = Thread(id=await self._id(key), said=_KEYS, conversation="", at=at, request=request)
        try:
            await self.conversations.store.commit(principal.owner, [Put(THREADS, mine, if_version=0)])
        except Conflict:
            (found,) = await self.conversations.store.get(THREADS, principal.owner, [mine.id])
            if found is None:
                raise Busy(_BEGINNING) from None
            if found.record.request not in {request, ""}:
                raise Conflict(
                    "This idempotency key was given to another request before: use a new one."
                ) from None
            if found.record.run:
                return found.record
            if at < found.record.at + _LIMBO_US:
                raise Busy(_BEGINNING) from None
            # The process of the first one died: it is this request's now.
            try:
                await self.conversations.store.commit(principal.owner, [Put(THREADS, mine, found.version)])
            except Conflict:
                raise Busy(_BEGINNING) from None
        return None

    async def fulfil(self, principal: Principal, key: str, *, conversation: str, run: str) -> None:
        """Note which run answers a request; without a run the key is free again."""
        (found,) = await self.conversations.store.get(THREADS, principal.owner, [await self._id(key)])
        if found is None:
            return
        thread = msgspec.structs.replace(found.record, conversation=conversation, run=run)
        change = Put(THREADS, thread) if run else Delete(THREADS, thread.id)
        await self.conversations.store.commit(principal.owner, [change])

    async def purge(self, principal: Principal) -> None:
        """Let go of requests that nobody repeats any more: some, the oldest first."""
        until = self.conversations.clock.now_us() - REPEATABLE_US
        scan = Scan(THREADS, {"said": _KEYS}, order="at", low=0, high=until, limit=_PURGED_AT_ONCE)
        (page,) = await self.conversations.store.scan(principal.owner, scan)
        if page.items:
            gone = [Delete(THREADS, item.record.id) for item in page.items]
            await self.conversations.store.commit(principal.owner, gone)

    async def _id(self, key: str) -> str:
        return await self.secret_box.digest(f"key:{key}")

    async def _known(self, principal: Principal, history: Sequence[ClientMessage]) -> list[Thread]:
        said = await self.secret_box.digest(said_by(history))
        scan = Scan(THREADS, {"said": said}, order="at", reverse=True, limit=_CANDIDATES)
        (page,) = await self.conversations.store.scan(principal.owner, scan)
        return [item.record for item in page.items]

    async def _found(
        self, principal: Principal, conversation: str, *, temporary: bool
    ) -> Versioned[Conversation] | None:
        """The conversation, if it is there and of this kind."""
        try:
            found = await self.conversations.get(principal, conversation)
        except UnknownId:
            return None
        return found if bool(found.record.temporary) is temporary else None

    async def _waits(self, principal: Principal, conversation: str, calls: set[str]) -> bool:
        """Whether all these calls wait for their client in a conversation."""
        try:
            left = await open_calls(self.conversations, principal, conversation)
        except (UnknownId, BadInput):
            return False
        return calls <= {call.id for call in left.calls}

    async def _goes_on(
        self, principal: Principal, thread: Thread, history: Sequence[ClientMessage], *, temporary: bool
    ) -> bool:
        """Whether the client means this one: then it is made to go on behind the history."""
        placed = await self._placed(principal, thread, history, temporary=temporary)
        if placed is None:
            return False
        found, last = placed
        now = continued(found.record, last)
        if now != found.record:
            if found.record.active_run is not None:
                raise Busy
            await self.conversations.store.commit(principal.owner, [Put(CONVERSATIONS, now, found.version)])
        return True

    async def _placed(
        self, principal: Principal, thread: Thread, history: Sequence[ClientMessage], *, temporary: bool
    ) -> tuple[Versioned[Conversation], StoredMessage] | None:
        """The conversation of a thread and the last message that a history repeats; None if it differs."""
        (asked,) = await self.conversations.said(principal, [thread.message])
        if asked is None:
            return None
        found = await self._found(principal, thread.conversation, temporary=temporary)
        if found is None:
            return None
        *earlier, answer = answers_in(history)
        turn = await self._turn(principal, found.record, asked, answer=answer)
        if turn is None or not await self._repeats(principal, found.record, asked, answers=earlier):
            return None
        return found, turn[-1]

    async def _turn(
        self, principal: Principal, held: Conversation, asked: StoredMessage, *, answer: str
    ) -> list[StoredMessage] | None:
        """What stands behind the owner's message where that is this answer, on the active line or its own."""
        branches = [held.branch, asked.branch] if is_on_line(held, asked) else [asked.branch]
        for branch in dict.fromkeys(branches):
            page = await self.conversations.line(
                principal, held, limit=_PAGE, before=asked.position + _PAGE, branch=branch
            )
            turn = turn_behind(asked, [item.record for item in reversed(page.items)])
            if turn and is_repeated(answer, turn):
                return turn
        return None

    async def _repeats(
        self, principal: Principal, held: Conversation, asked: StoredMessage, *, answers: list[str]
    ) -> bool:
        """Whether these are the answers that stand before the owner's message."""
        before, behind = asked.position, list[StoredMessage]()
        cut = False
        while answers and not cut:
            page = await self.conversations.line(
                principal, held, limit=_PAGE, before=before, branch=asked.branch
            )
            for stored in (item.record for item in page.items):
                before = stored.position
                if not _is_asked(stored):
                    behind.append(stored)
                    continue
                if not answers[1:] or not is_repeated(answers.pop(), behind[::-1]):
                    return False
                behind.clear()
            cut = not page.items or before == 0
        # What an import left out, and what stands before the owner's first message.
        return len(answers) != 1 or is_repeated(answers[0], behind[::-1])

    async def _take_over(
        self, principal: Principal, found: Versioned[Conversation], history: Sequence[ClientMessage]
    ) -> None:
        """Keep what was said elsewhere behind the last message, the newest of it; and the record as it is."""
        held, at = found.record, self.conversations.clock.now_us()
        if held.active_run is not None:
            raise Busy
        messages = [
            StoredMessage(
                id=self.conversations.new_id(),
                conversation=held.id,
                position=position,
                branch=held.branch,
                at=at,
                run="",
                message=UserMessage(one.text) if one.role == "user" else AssistantMessage(one.text),
                aside=True,
            )
            for position, one in enumerate(
                (one for one in history[-_MAX_IMPORTED:] if one.text.strip()), held.count
            )
        ]
        now = appended(held, messages, at=at, active_run=None)
        puts = [Put(MESSAGES, message, if_version=0) for message in messages]
        await self.conversations.store.commit(
            principal.owner, [Put(CONVERSATIONS, now, found.version), *puts]
        )


async def without_digests(store: Store, owner: str, conversation: str) -> list[Change]:
    """The changes after which no digest tells what was said in a conversation.

    A history leads to it no more. Its responses stay, and requests answered in it are not answered twice.
    """
    return [
        Put(THREADS, msgspec.structs.replace(thread, request=""))
        if thread.request
        else Delete(THREADS, thread.id)
        async for thread in records_of(store, owner, Scan(THREADS, {"conversation": conversation}))
        if thread.request or thread.message
    ]


def said_by(history: Sequence[ClientMessage], more: str | None = None) -> str:
    """A hash of what the owner said in a history, and of what they say now; it is kept as a digest."""
    digest = hashlib.sha256()
    texts = [one.text for one in history if one.role == "user"]
    for text in (*texts, more) if more is not None else texts:
        digest.update(hashlib.sha256(_squeezed(text).encode("utf-8", "replace")).digest())
    return digest.hexdigest()


def turn_behind(asked: StoredMessage, behind: Sequence[StoredMessage]) -> list[StoredMessage]:
    """What was said behind the owner's message, up to their next one."""
    turn: list[StoredMessage] = []
    for stored in behind:
        if stored.position <= asked.position:
            continue
        if _is_asked(stored):
            break
        turn.append(stored)
    return turn


def _is_asked(stored: StoredMessage) -> bool:
    """Whether it is the owner's message, and not a client's that wanted the answer before it to go on."""
    return isinstance(stored.message, UserMessage) and stored.message.content != GO_ON


def _turns(said: Sequence[StoredMessage]) -> list[_Turn]:
    """The turns of a line, oldest first; without what stands before the owner's first message."""
    turns: list[_Turn] = []
    for stored in said:
        if _is_asked(stored):
            turns.append(_Turn(stored, []))
        elif turns:
            turns[-1].behind.append(stored)
    return turns


def _ends_in(turns: Sequence[_Turn], asked: Sequence[str]) -> bool:
    """Whether the owner said in turns what a client has as said, as far back as both go."""
    return all(
        _is_said(turn.asked.message.content, text)
        for turn, text in zip(reversed(turns), reversed(asked), strict=False)
    )


def _is_said(stored: str, given: str) -> bool:
    """Whether a client's message is what the owner said, or was wrapped into it as whole lines."""
    if _squeezed(stored) == _squeezed(given):
        return True
    given = given.strip()
    return bool(given) and len(stored) > len(given) and f"\n{given}\n" in f"\n{stored}\n"


def _parting(
    turns: Sequence[_Turn], history: Sequence[ClientMessage]
) -> tuple[StoredMessage | None, Sequence[ClientMessage]]:
    """Behind which message of a line a history parts from it, and what of the history stands there.

    A history may be the end of a longer one. None is the line's beginning.
    """
    places = [place for place, one in enumerate(history) if one.role == "user"]
    asked, answers = [history[place].text for place in places], answers_in(history)[1:]
    for cut in range(len(asked), max(0, len(asked) - _MOST_CUTS), -1):
        for end in range(len(turns), 0, -1):
            if not _ends_in(turns[:end], asked[:cut]):
                continue
            common = min(end, cut)
            for turn, number in zip(turns[end - common : end], range(cut - common, cut), strict=True):
                if not is_repeated(answers[number], turn.behind):
                    return turn.asked, history[places[number] + 1 :]
            last = turns[end - 1]
            rest = history[places[cut] :] if cut < len(places) else ()
            return (last.behind or [last.asked])[-1], rest
    return None, history


def is_repeated(answer: str, turn: Sequence[StoredMessage]) -> bool:
    """Whether an answer that a client sends again is what was answered; or was, until a call had to wait."""
    said = [stored.message.content for stored in turn if isinstance(stored.message, AssistantMessage)]
    stored = _spaceless("".join(said))
    if _spaceless(FORGOTTEN) in stored or stored == _spaceless(answer):
        return True
    given = _thoughtless(answer)
    if stored in {_spaceless(given), _spaceless(given.partition(FILE_NOTICE)[0])}:
        return True
    text, notice, _ = given.partition(NOTICE)
    waited = ("".join(said[:count]) for count in range(len(said) + 1))
    return bool(notice) and _spaceless(text) in map(_spaceless, waited)


def answers_in(history: Sequence[ClientMessage]) -> list[str]:
    """What was answered before the owner's first message, and to each of them."""
    answers: list[list[str]] = [[]]
    for one in history:
        if one.role == "user":
            answers.append([])
        elif one.role == "assistant":
            answers[-1].append(one.text)
    return [" ".join(texts) for texts in answers]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _spaceless(text: str) -> str:
    """How answers are compared: clients differ in what they put between the parts of one."""
    return "".join(text.split())


def _thoughtless(text: str) -> str:
    """The text without reasoning. What is not closed stays; every character is looked at a few times only."""
    for opening, closing in _THOUGHTS:
        kept: list[str] = []
        at = 0
        while (begin := text.find(opening, at)) >= 0 and (end := text.find(closing, begin)) >= 0:
            kept += (text[at:begin], " ")
            at = end + len(closing)
        text = "".join(kept) + text[at:]
    return text
