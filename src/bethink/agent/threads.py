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
from bethink.conversations import (
    CONVERSATIONS,
    MESSAGES,
    Start,
    StoredMessage,
    appended,
    continued,
)
from bethink.errors import Busy, Conflict, UnknownId
from bethink.messages import AssistantMessage, UserMessage
from bethink.store import Collection, Delete, Put, Record, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversation, Conversations
    from bethink.messages import Message
    from bethink.principal import Principal

_CANDIDATES: Final = 20
_PAGE: Final = 100
_KEYS: Final = "key"
"""What stands as `said` of a request that may be repeated."""
_LIMBO_US: Final = 10 * 60 * 1_000_000
"""After which a request that has begun and started no run is taken to have died with its process."""
_REPEATABLE_US: Final = 24 * 3_600 * 1_000_000
"""How long a request may be repeated."""
_PURGED_AT_ONCE: Final = 500
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
        digest.update(hashlib.sha256(_plain(text).encode("utf-8", "replace")).digest())
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
            answer = _plain(_last(history))
            for thread in await self._known(principal, said_by(history)):
                if await self._goes_on(principal, thread, answer=answer, start=start):
                    return thread.conversation
        held = await self.conversations.begin(principal, start)
        if history:
            await self._take_over(principal, held, history[-_MAX_IMPORTED:])
        return held.id

    async def asked(self, principal: Principal, history: Sequence[Told], calls: set[str]) -> str:
        """The conversation whose last answer left these calls to its client.

        Raises:
            UnknownId: there is none.
        """
        for thread in await self._known(principal, said_by(history)):
            page = await self.conversations.messages(principal, thread.conversation, limit=_PAGE)
            if any(
                isinstance(message := item.record.message, AssistantMessage)
                and calls & {call.id for call in message.tool_calls}
                for item in page.items
            ):
                return thread.conversation
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
                raise Busy from None
            if found.record.request != request:
                message = "This idempotency key was given to another request before: use a new one."
                raise Conflict(message) from None
            if found.record.run:
                return found.record
            if at < found.record.at + _LIMBO_US:
                raise Busy from None
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
        until = self.conversations.clock.now_us() - _REPEATABLE_US
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
            raise Busy from None

    async def _known(self, principal: Principal, said: str) -> list[Thread]:
        scan = Scan(THREADS, {"said": said}, order="at", reverse=True, limit=_CANDIDATES)
        page = await self.conversations.store.scan(principal.owner, scan)
        return [item.record for item in page.items]

    async def _goes_on(self, principal: Principal, thread: Thread, *, answer: str, start: Start) -> bool:
        """Whether the client means this one: then it is made to go on behind that answer."""
        (asked,) = await self.conversations.said(principal, [thread.message])
        if asked is None:
            return False
        try:
            found = await self.conversations.get(principal, thread.conversation)
        except UnknownId:
            return False
        if bool(found.record.temporary) is not start.temporary:
            return False
        page = await self.conversations.line(
            principal,
            found.record,
            limit=_PAGE,
            before=asked.position + _PAGE,
            branch=asked.branch,
        )
        turn = _turn(asked, [item.record for item in reversed(page.items)])
        if not turn or not _is_repeated(answer, [stored.message for stored in turn]):
            return False
        now = continued(found.record, turn[-1])
        if now != found.record:
            if found.record.active_run is not None:
                raise Busy
            await self.conversations.store.commit(principal.owner, [Put(CONVERSATIONS, now, found.version)])
        return True

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


def _is_repeated(answer: str, turn: Sequence[Message]) -> bool:
    """Whether an answer, as a client sends it again, is what was answered; or what is left of it."""
    stored = _plain(" ".join(message.content for message in turn if isinstance(message, AssistantMessage)))
    given = answer.partition(NOTICE)[0].partition(FILE_NOTICE)[0].strip()
    return FORGOTTEN in stored or stored == given or (bool(given) and stored.startswith(given)) or not stored


def _last(history: Sequence[Told]) -> str:
    """The answer at the end of a history."""
    texts: list[str] = []
    for told in reversed(history):
        if told.role == "user":
            break
        if told.role == "assistant":
            texts.append(told.text)
    return " ".join(reversed(texts))


def _plain(text: str) -> str:
    return " ".join(_thoughtless(text).split())


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
