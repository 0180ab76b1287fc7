"""Which conversation a client means that sends its whole history and names none.

Such a client sends again what was said before, with its new message behind it.
What the owner said so far, as a hash, leads to the conversations in which just
that was said; the one whose last answer the client repeats is meant. So nothing
is kept twice, and a client that takes back what it said goes on in a branch.
Hashes are all that is kept here. The OpenAI-compatible door asks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.across.redaction import FORGOTTEN
from bethink.agent.client_tools import open_calls
from bethink.conversations import (
    CONVERSATIONS,
    MESSAGES,
    Start,
    StoredMessage,
    appended,
    continued,
)
from bethink.errors import BadInput, Busy, Conflict, UnknownId
from bethink.messages import AssistantMessage, UserMessage
from bethink.store import Collection, Delete, Put, Record, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversation, Conversations
    from bethink.principal import Principal
    from bethink.store import Versioned

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
_THOUGHTS: Final = (("<think>", "</think>"), ('<details type="reasoning"', "</details>"))
"""How clients write reasoning into the answers that they send again."""
NOTICE: Final = "⏸ "
"""What a door puts before a sentence of its own in an answer: that a call waits."""
FILE_NOTICE: Final = "\U0001f4ce "
"""What a door puts before the address of a file that a tool made, at the end of an answer."""


class Thread(Record, frozen=True, kw_only=True):
    """That the owner's `message` ended what was `said`, a hash. `at` is microseconds UTC.

    One with a `request`, a hash too, stands for a request that may be repeated: `run` answers it.
    One that is a response of `run` says after which run it came (`previous`), and the `model` as
    its client called it.
    """

    said: str
    conversation: str
    at: int
    message: str = ""
    run: str = ""
    request: str = ""
    previous: str = ""
    model: str = ""


THREADS = Collection("threads", Thread, ("said", "conversation", "at"), searchable=False)


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a client's history: text alone."""

    role: str
    text: str


def said_by(history: Sequence[Told], more: str | None = None) -> str:
    """The hash of what the owner said in a history, and of what they say now."""
    digest = hashlib.sha256()
    texts = [told.text for told in history if told.role == "user"]
    for text in (*texts, more) if more is not None else texts:
        digest.update(hashlib.sha256(_squeezed(text).encode("utf-8", "replace")).digest())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Threads:
    """Finds and remembers conversations by what was said in them."""

    conversations: Conversations

    async def place(self, principal: Principal, history: Sequence[Told], start: Start) -> str:
        """The conversation that goes on behind a history, which ends in an answer; else a new one.

        Only a temporary one, where a temporary one would `start`, and else none
        of those. Where the history ends before the conversation does, it goes on
        in a branch. A history that is not known is taken over, and not recalled from.

        Raises:
            Busy: the conversation is being answered, and would have to branch.
        """
        if history:
            for thread in await self._known(principal, said_by(history)):
                if await self._goes_on(principal, thread, history, temporary=start.temporary):
                    return thread.conversation
        held = await self.conversations.begin(principal, start)
        if history:
            await self._take_over(principal, held, history[-_MAX_IMPORTED:])
        return held.id

    async def asked(
        self, principal: Principal, history: Sequence[Told], calls: set[str], *, temporary: bool
    ) -> str:
        """The conversation whose last answer left these calls to its client, and they are still open.

        Where there are several, the one whose answers the history repeats.

        Raises:
            UnknownId: there is none.
        """
        fitting: list[str] = []
        for thread in await self._known(principal, said_by(history)):
            if await self._waits(principal, thread.conversation, calls, temporary=temporary):
                if await self._placed(principal, thread, history, temporary=temporary) is not None:
                    return thread.conversation
                fitting.append(thread.conversation)
        if fitting:
            return fitting[0]
        message = "No conversation waits for the results of these calls: their ids are not known."
        raise UnknownId(message)

    async def remember(
        self, principal: Principal, conversation: str, *, said: str, message: str, run: str
    ) -> None:
        """Have a history that ends in the owner's message lead to its conversation."""
        at = self.conversations.clock.now_us()
        thread = Thread(
            id=f"{said}:{message}", said=said, conversation=conversation, at=at, message=message, run=run
        )
        await self.conversations.store.commit(principal.owner, [Put(THREADS, thread)])

    async def reserve(self, principal: Principal, key: str, request: str) -> Thread | None:
        """Take a key that a client gave to a request; what is known of it where it was taken before.

        A request that never began, as its process ended, holds its key for ten minutes.

        Raises:
            Busy: the first such request has only just begun.
            Conflict: it was another request.
        """
        at = self.conversations.clock.now_us()
        mine = Thread(id=_hashed(key), said=_KEYS, conversation="", at=at, request=request)
        try:
            await self.conversations.store.commit(principal.owner, [Put(THREADS, mine, if_version=0)])
        except Conflict:
            (found,) = await self.conversations.store.get(THREADS, principal.owner, [mine.id])
            if found is None:
                raise Busy(_BEGINNING) from None
            if found.record.request != request:
                message = "This idempotency key was given to another request before: use a new one."
                raise Conflict(message) from None
            if found.record.run:
                return found.record
            if at < found.record.at + _LIMBO_US:
                raise Busy(_BEGINNING) from None
            await self._take_up(principal, mine, found.version)
        return None

    async def fulfil(self, principal: Principal, key: str, *, conversation: str, run: str) -> None:
        """Note which run answers a request; without a run the key is free again."""
        (found,) = await self.conversations.store.get(THREADS, principal.owner, [_hashed(key)])
        if found is None:
            return
        thread = msgspec.structs.replace(found.record, conversation=conversation, run=run)
        change = Put(THREADS, thread) if run else Delete(THREADS, thread.id)
        await self.conversations.store.commit(principal.owner, [change])

    async def purge(self, principal: Principal) -> None:
        """Let go of requests that nobody repeats any more: some, the oldest first."""
        until = self.conversations.clock.now_us() - REPEATABLE_US
        scan = Scan(THREADS, {"said": _KEYS}, order="at", low=0, high=until, limit=_PURGED_AT_ONCE)
        page = await self.conversations.store.scan(principal.owner, scan)
        if page.items:
            gone = [Delete(THREADS, item.record.id) for item in page.items]
            await self.conversations.store.commit(principal.owner, gone)

    async def _take_up(self, principal: Principal, mine: Thread, version: int) -> None:
        """Make a request whose process died one's own."""
        try:
            await self.conversations.store.commit(principal.owner, [Put(THREADS, mine, version)])
        except Conflict:
            raise Busy(_BEGINNING) from None

    async def _known(self, principal: Principal, said: str) -> list[Thread]:
        scan = Scan(THREADS, {"said": said}, order="at", reverse=True, limit=_CANDIDATES)
        page = await self.conversations.store.scan(principal.owner, scan)
        return [item.record for item in page.items]

    async def _waits(
        self, principal: Principal, conversation: str, calls: set[str], *, temporary: bool
    ) -> bool:
        """Whether all these calls wait for their client in a conversation."""
        try:
            held = (await self.conversations.get(principal, conversation)).record
            left = await open_calls(self.conversations, principal, conversation)
        except (UnknownId, BadInput):
            return False
        return bool(held.temporary) is temporary and calls <= {call.id for call in left.calls}

    async def _goes_on(
        self, principal: Principal, thread: Thread, history: Sequence[Told], *, temporary: bool
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
        self, principal: Principal, thread: Thread, history: Sequence[Told], *, temporary: bool
    ) -> tuple[Versioned[Conversation], StoredMessage] | None:
        """The conversation of a thread and the last message that a history repeats; None where it differs."""
        (asked,) = await self.conversations.said(principal, [thread.message])
        if asked is None:
            return None
        try:
            found = await self.conversations.get(principal, thread.conversation)
        except UnknownId:
            return None
        if bool(found.record.temporary) is not temporary:
            return None
        page = await self.conversations.line(
            principal,
            found.record,
            limit=_PAGE,
            before=asked.position + _PAGE,
            branch=asked.branch,
        )
        turn = _turn(asked, [item.record for item in reversed(page.items)])
        *earlier, answer = answers_in(history)
        if not turn or not _is_repeated(answer, turn):
            return None
        return (
            (found, turn[-1])
            if await self._repeats(principal, found.record, asked, answers=earlier)
            else None
        )

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
                if not isinstance(stored.message, UserMessage):
                    behind.append(stored)
                    continue
                if not answers[1:] or not _is_repeated(answers.pop(), behind[::-1]):
                    return False
                behind.clear()
            cut = not page.items or before == 0
        # What an import left out, and what stands before the owner's first message.
        return len(answers) != 1 or _is_repeated(answers[0], behind[::-1])

    async def _take_over(self, principal: Principal, held: Conversation, history: Sequence[Told]) -> None:
        at = self.conversations.clock.now_us()
        messages = [
            StoredMessage(
                id=self.conversations.new_id(),
                conversation=held.id,
                position=position,
                at=at,
                run="",
                message=UserMessage(told.text) if told.role == "user" else AssistantMessage(told.text),
                aside=True,
            )
            for position, told in enumerate(told for told in history if told.text.strip())
        ]
        now = appended(held, messages, at=at, active_run=None)
        puts = [Put(MESSAGES, message, if_version=0) for message in messages]
        await self.conversations.store.commit(principal.owner, [Put(CONVERSATIONS, now, if_version=1), *puts])


def _turn(asked: StoredMessage, behind: Sequence[StoredMessage]) -> list[StoredMessage]:
    """What was said behind the owner's message, up to their next one."""
    turn: list[StoredMessage] = []
    for stored in behind:
        if stored.position <= asked.position:
            continue
        if isinstance(stored.message, UserMessage):
            break
        turn.append(stored)
    return turn


def _is_repeated(answer: str, turn: Sequence[StoredMessage]) -> bool:
    """Whether an answer that a client sends again is what was answered; or was, until a call had to wait."""
    said = [stored.message.content for stored in turn if isinstance(stored.message, AssistantMessage)]
    stored = _squeezed(" ".join(said))
    if FORGOTTEN in stored or stored == _squeezed(answer):
        return True
    given = _plain(answer)
    if stored in {given, _squeezed(given.partition(FILE_NOTICE)[0])}:
        return True
    text, notice, _ = given.partition(NOTICE)
    waited = (" ".join(said[:count]) for count in range(len(said) + 1))
    return bool(notice) and _squeezed(text) in map(_squeezed, waited)


def answers_in(history: Sequence[Told]) -> list[str]:
    """What was answered before the owner's first message, and to each of them."""
    answers: list[list[str]] = [[]]
    for told in history:
        if told.role == "user":
            answers.append([])
        elif told.role == "assistant":
            answers[-1].append(told.text)
    return [" ".join(texts) for texts in answers]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return _squeezed(_thoughtless(text))


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


def _hashed(key: str) -> str:
    return hashlib.sha256(f"key:{key}".encode()).hexdigest()
