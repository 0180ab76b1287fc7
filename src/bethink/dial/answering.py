"""One answer to a request of DIAL: a run in the user's room, told as it goes, its memory put back at the end.

`door` makes one of these for each request. The key of a request dies with its answer, so
everything that needs it (memory, files) is done before the last chunk, also when the reader leaves.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from bethink.agent.approvals import ApprovalChoice
from bethink.agent.run_options import RunResources
from bethink.conversations import CONVERSATIONS, MESSAGES, ConversationStart, StoredMessage
from bethink.dial.attached import Attached
from bethink.dial.decisions import Decided, decided
from bethink.dial.leaving import left_to_client
from bethink.dial.telling import Style, Telling, asks
from bethink.errors import BethinkError
from bethink.events import (
    ContextFilled,
    MemoryChanged,
    MemoryRecalled,
    MessageSaved,
    RunDone,
    RunFailed,
    RunStarted,
    Usage,
    Warned,
)
from bethink.messages import ToolMessage, UserMessage
from bethink.store import DeleteAll, Put
from bethink.telemetry import log
from bethink.tool import Tool, ToolOutput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence

    from aidial_sdk.chat_completion import Choice

    from bethink.agent.records import NumberedEvent
    from bethink.agent.run_options import RunOptions
    from bethink.app import App
    from bethink.dial.core import Core
    from bethink.dial.history import Asked, Past, Seal
    from bethink.dial.rooms import Room
    from bethink.events import Place
    from bethink.llm import Llm
    from bethink.messages import Message
    from bethink.tool import ToolContext

_SILENT: Final = (RunStarted, ContextFilled, MemoryRecalled, Warned, MessageSaved, Usage, RunFailed, RunDone)
"""Before anything else happens, an answer may still be refused as a whole."""
_NOTHING_WAITS: Final = "Nothing waits for a decision here: it was decided, or it waited too long."
_PAGE: Final = 200
_T = TypeVar("_T")
_log = log("dial")


class RefusedError(Exception):
    """The run failed before it said or did anything: the request fails with the same."""

    def __init__(self, failed: RunFailed) -> None:
        super().__init__(failed.message)
        self.code = failed.code


@dataclass(frozen=True, slots=True)
class Offer:
    """What answers have beside the house's own: a model, tools, and how their calls are shown."""

    llm: Llm | None = None
    tools: Sequence[Tool] = ()
    only: frozenset[str] | None = None
    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])


@dataclass(slots=True)
class Answering:
    """An answer. `open_choice` is called once there is something to say."""

    house: App
    room: Room
    core: Core
    home: str
    asked: Asked
    seal: Seal
    wishes: RunOptions
    offer: Offer
    open_choice: Callable[[], Choice]
    on_saved: Callable[[Room], Coroutine[None, None, None]]
    max_files: int
    wait_minutes: int
    telling: Telling | None = None
    _notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _failed: RunFailed | None = None
    _saving: asyncio.Future[None] | None = None

    async def answer(self) -> Telling:
        """Answer, and put back what is to be kept.

        Raises:
            RefusedError: the run failed before it said or did anything.
            BethinkError: it could not be begun.
        """
        self._note_memory()
        decision = decided(self.asked.said)
        if decision is not None:
            return await self._decide(decision)
        fault = self.room.keeping and self.room.keeping.fault
        if fault and self.house.runs.commands.match(self.asked.said):
            return self._told_only(f"Your memory could not be loaded, so nothing was done. {fault}")
        files = await self._placed()
        run = await self._begun(files)
        self.room.told.clear()
        return await self._followed(run, None)

    async def _begun(self, files: Sequence[str]) -> str:
        """The run that answers what was said, or goes on with what the client's functions returned."""
        runs, wishes, brought = self.house.runs, self.wishes, self._brought()
        place = (self.room.principal, self._conversation)
        if self.asked.results:
            return await runs.answer(*place, self.asked.results, wishes=wishes, brought=brought)
        said = self.asked.said or "(no text)"
        return await runs.start(*place, said, files=files, wishes=wishes, brought=brought)

    async def _decide(self, decision: Decided) -> Telling:
        """Have what waits done or left; the next request after this one is a new turn again."""
        principal, run = self.room.principal, self.room.waiting
        if run is None:
            return self._told_only(_NOTHING_WAITS)
        await self.house.runs.stored.settle(principal, self._conversation)
        record = await self.house.runs.stored.get(principal, run)
        waiting = [call for call in record.waiting if call.decision is None]
        if record.state != "waiting" or not waiting:
            self.room.waiting = None
            return self._told_only(_NOTHING_WAITS)
        chosen = decision.among(waiting)
        if not chosen:
            return self._told_only(f"There is no call {decision.number}: {len(waiting)} wait.")
        goes_on = False
        for call in chosen:
            goes_on = await self.house.runs.decide(
                *(principal, run),
                call=call.call,
                choice=ApprovalChoice("approve" if decision.approves else "reject"),
                brought=self._brought(),
            )
        if not goes_on:
            return self._told_only(f"Noted. {len(waiting) - len(chosen)} more wait: `/approve` or `/reject`.")
        return await self._followed(run, self.room.place)

    async def _followed(self, run: str, after: Place | None) -> Telling:
        """Tell a run to its end; one whose reader leaves is stopped, and what it changed is kept."""
        self.room.waiting = None
        has_ended = False
        try:
            follow = self.house.runs.follow(self.room.principal, run, after)
            async with aclosing(follow) as batches:
                await self._tell_all(batches)
            has_ended = True
            telling = await self._ended(run)
        finally:
            if not has_ended:
                await finished(self._stopped(run))
        if telling is None:
            raise RefusedError(self._failed or RunFailed(code="internal", message="Nothing was answered."))
        return telling

    async def _tell_all(self, batches: AsyncGenerator[list[NumberedEvent], None]) -> None:
        held: list[NumberedEvent] = []
        async for batch in batches:
            self.room.place = batch[-1].place
            if any(isinstance(one.event, MemoryChanged) for one in batch):
                self._save_soon()
            if self.telling is not None:
                await self.telling.tell(batch)
                continue
            held += batch
            if not all(isinstance(one.event, _SILENT) for one in held):
                await self._open().tell(held)
        if self.telling is None:
            failed = [one.event for one in held if isinstance(one.event, RunFailed)]
            self._failed = failed[-1] if failed else None
            if self._failed is None:
                await self._open().tell(held)

    async def _ended(self, run: str) -> Telling | None:
        """Put back what is to be kept and say how it ended; None for an answer that never began."""
        telling = self.telling
        if telling is not None and telling.waiting:
            telling.say(asks(telling.waiting, minutes=self.wait_minutes))
            self.room.waiting = run
        await finished(self._save())
        if telling is None:
            return None
        telling.end()
        telling.keep(await self._state(run, telling.text))
        return telling

    async def _stopped(self, run: str) -> None:
        """The reader has left: nobody waits for the rest, and the key is about to die."""
        try:
            await self.house.runs.cancel(self.room.principal, run)
        except BethinkError as error:
            _log.info("a run was not stopped: %s", error)
        await self._save()

    def _save_soon(self) -> None:
        """Put the memory back while the answer goes on: if its reader leaves, the key is dead at once."""
        keeping = self.room.keeping
        if keeping is not None and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(keeping.save_early(self.core))

    async def _save(self) -> None:
        """Put the memory back, and say so where that fails: it is not remembered then."""
        keeping = self.room.keeping
        if keeping is None:
            return
        if self._saving is not None:
            await self._saving
        try:
            if await keeping.save(self.core):
                await self.on_saved(self.room)
        except BethinkError as error:
            _log.warning("a memory was not put back: %s", error)
            if self.telling is not None:
                self.telling.note("Memory not saved", str(error), failed=True)
                self.telling.paragraph(f"_What was to be remembered in this answer is not kept: {error}_")

    async def _state(self, run: str, text: str) -> dict[str, Any]:
        page = await self.house.conversations.messages(self.room.principal, self._conversation, limit=_PAGE)
        mine = [item.record.message for item in reversed(page.items) if item.record.run == run]
        state = self.seal.state(mine, text, told=self.room.told)
        self.room.told |= {message.call for message in mine if isinstance(message, ToolMessage)}
        return state

    async def _placed(self) -> list[str]:
        """Have the conversation hold what the client says was said, and its files; those of the message."""
        principal, conversations = self.room.principal, self.house.conversations
        if self.room.conversation is None:
            new = await conversations.begin(principal, ConversationStart(title="DIAL", temporary=True))
            self.room.conversation = new.id
        self.room.waiting = None
        held = await self.house.runs.stored.settle(principal, self._conversation, rejecting=True)
        attached = Attached(self.house, self.room, self.core, self.home, self.max_files)
        messages = [await self._with_files(one, attached) for one in self.asked.past]
        ids = await attached.take(self._conversation, self.asked.files)
        self._notes += [(f"Not read: {name}", why) for name, why in attached.failures]
        now = conversations.clock.now_us()
        stored = [
            StoredMessage(
                id=conversations.new_id(),
                conversation=self._conversation,
                position=position,
                at=now,
                run="",
                message=message,
            )
            for position, message in enumerate(messages)
        ]
        record = msgspec.structs.replace(
            held.record,
            count=len(stored),
            branch=0,
            branches=(),
            outside=self.asked.outside,
            active_run=None,
        )
        left = left_to_client(stored, record, self.house.ports.bus.process) if self.asked.results else ()
        await conversations.store.commit(
            principal.owner,
            [
                DeleteAll(MESSAGES, {"conversation": self._conversation}),
                Put(CONVERSATIONS, record, if_version=held.version),
                *(Put(MESSAGES, one, if_version=0) for one in stored),
                *left,
            ],
        )
        return ids

    async def _with_files(self, past: Past, attached: Attached) -> Message:
        if not past.files or not isinstance(past.message, UserMessage):
            return past.message
        ids = await attached.take(self._conversation, past.files)
        files = await self.house.files.attachments(self.room.principal, self._conversation, ids)
        return msgspec.structs.replace(past.message, attachments=files)

    @property
    def _conversation(self) -> str:
        return self.room.conversation or ""

    def _brought(self) -> RunResources:
        keeping = self.room.keeping
        fault = keeping.fault if keeping else None
        tools = [*self.offer.tools, *(self._refusing(fault) if fault else ())]
        return RunResources(llm=self.offer.llm, tools=tools, only=self.offer.only, remembers=True)

    def _refusing(self, fault: BethinkError) -> list[Tool]:
        names = sorted(tool.name for tool in self.house.toolbox.all if tool.family == "memory")
        return refusing(names, fault)

    def _note_memory(self) -> None:
        fault = self.room.keeping and self.room.keeping.fault
        if fault:
            self._notes.append(
                ("Memory not loaded", f"{fault}\nThis answer goes without it, and stores nothing.")
            )

    def _told_only(self, text: str) -> Telling:
        telling = self._open()
        telling.say(text)
        telling.keep(self.seal.state((), text))
        return telling

    def _open(self) -> Telling:
        attached = Attached(self.house, self.room, self.core, self.home, self.max_files)
        functions = frozenset(tool.name for tool in self.wishes.client_tools)
        self.telling = telling = Telling(
            self.open_choice(), attached.upload, self.offer.styles, functions=functions
        )
        for name, text in self._notes:
            telling.note(name, text, failed=True)
        return telling


def refusing(names: Sequence[str], fault: BethinkError) -> list[Tool]:
    """The memory's tools while it is not loaded: an error is not an empty memory, and nothing is stored."""

    async def refuse(_context: ToolContext) -> ToolOutput:
        return ToolOutput(f"The memory is not available now, and nothing was done: {fault}", error=fault.code)

    return [
        Tool(
            name=name,
            description="Not available now: the user's memory could not be loaded.",
            parameters={"type": "object", "properties": {}},
            effect="read",
            trust="owner",
            timeout_s=None,
            label=name,
            check=lambda _arguments: {},
            handler=refuse,
        )
        for name in names
    ]


async def finished(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of work that is done to its end, also when whoever waits for it is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
