"""One answer to a request of DIAL: a run in the user's session, shown as it goes, with its memory saved.

`door` makes one of these for each request. The key of a request dies with its answer, so
everything that needs it (memory, files) is done before the last chunk, also when the reader leaves.
What people attach becomes files of the conversation, what tools make becomes files of theirs.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import msgspec

from bethink.agent.records import RUNS, NumberedEvent, Run, WaitingCall
from bethink.agent.request import RunOptions, RunResources
from bethink.agent.stored_runs import ApprovalChoice
from bethink.conversations.records import CONVERSATIONS, MESSAGES, Conversation, StoredMessage
from bethink.conversations.service import ConversationStart
from bethink.dial.core import Core, file_name, url_in
from bethink.dial.render import AnswerRenderer, Style, asks
from bethink.errors import BadInput, BethinkError
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
from bethink.messages import AssistantMessage, Attachment, Message, ToolMessage, UserMessage
from bethink.store import Change, DeleteAll, Put
from bethink.telemetry import log
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput

if TYPE_CHECKING:
    from aidial_sdk.chat_completion import Choice

    from bethink.app import App
    from bethink.dial.history import DialChat, HistoryFile, HistoryMessage, HistorySeal
    from bethink.dial.sessions import DialSession
    from bethink.events import Place
    from bethink.llm import Llm


_FOLDER: Final = "bethink"
_ANY: Final = "application/octet-stream"


@dataclass(slots=True)
class DialAttachments:
    """The files of one request; `failures` are those that could not be had, each with why."""

    app: App
    session: DialSession
    core: Core
    home: str
    most: int
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _taken: int = 0

    async def take(self, conversation: str, files: Sequence[HistoryFile]) -> list[str]:
        """Ids of the conversation's files that these are; what was taken before is not taken again."""
        ids: list[str] = []
        for file in files:
            data = (file.data or "").encode("utf-8", "replace")
            key = hashlib.sha256(data).hexdigest() if file.url is None else file.url
            if key not in self.session.files:
                try:
                    new = await self._read(file)
                    added = await self.app.files.add(self.session.principal, conversation, new)
                    self.session.files[key] = added.id
                except BethinkError as error:
                    self.failures.append((_name(file), str(error)))
                    continue
            ids.append(self.session.files[key])
        return list(dict.fromkeys(ids))

    async def upload(self, attachment: Attachment) -> str:
        """See `render.Upload`: the file, in the user's data of this application."""
        id = attachment.url.rpartition("/")[2]
        file, path = await self.app.files.get(self.session.principal, id)
        content = await anyio.Path(path).read_bytes()
        url = url_in(self.home, _FOLDER, id[-12:], file.name)
        await self.core.put(url, content, file.media_type)
        return url

    async def _read(self, file: HistoryFile) -> NewFile:
        self._taken += 1
        if self._taken > self.most:
            raise BadInput(f"More than {self.most} files are attached: this one was left out.")
        name = _name(file)
        if file.data is not None:
            return NewFile(name, file.type or "text/markdown", _decoded(file))
        url = file.url or ""
        if not url.startswith("files/"):
            raise BadInput("It is not in DIAL's storage: only files from there are read.")
        held = await self.core.get(url, max_bytes=self.app.files.max_bytes)
        if held is None:
            raise BadInput("It is not there any more.")
        return NewFile(name, file.type or held.media_type or _ANY, held.content)


def _name(file: HistoryFile) -> str:
    return file.title or (file_name(file.url) if file.url else "") or "attachment"


def _decoded(file: HistoryFile) -> bytes:
    """What stands in a message itself: text as it is, the rest in base64, or as it is if it is none."""
    data = file.data or ""
    if (file.type or "text/markdown").startswith("text/"):
        return data.encode("utf-8", "replace")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "replace")


_DECISION: Final = re.compile(r"\s*/(approve|reject)(?:\s+(\d{1,3}|all))?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ApprovalReply:
    """A decision; `number` counts the calls that wait from 1, None is all of them."""

    approves: bool
    number: int | None = None

    def among(self, waiting: Sequence[WaitingCall]) -> Sequence[WaitingCall]:
        """The calls that it is about; none where there is no such number."""
        if self.number is None:
            return waiting
        return waiting[self.number - 1 : self.number] if self.number else ()


def approval_reply(said: str) -> ApprovalReply | None:
    """The decision that a message is; None where it is talk."""
    found = _DECISION.fullmatch(said)
    if found is None:
        return None
    number = found[2]
    return ApprovalReply(
        found[1].lower() == "approve", int(number) if number and number.isdecimal() else None
    )


def pending_call_changes(stored: Sequence[StoredMessage], held: Conversation, process: str) -> list[Change]:
    """The changes by which the last message is one that left its calls to the client.

    Raises:
        BadInput: it asks for no call, so that nothing can be their result.
    """
    last = stored[-1] if stored else None
    asked = next((one for one in reversed(stored) if isinstance(one.message, UserMessage)), None)
    if last is None or asked is None or not isinstance(last.message, AssistantMessage):
        raise BadInput("Before the results of functions there must be the message that asked for them.")
    if not last.message.tool_calls:
        raise BadInput("The message before these results asks for no call (`tool_calls`).")
    run = Run(
        id=f"{last.id}-left",
        conversation=held.id,
        message=asked.id,
        process=process,
        started_at=last.at,
        state="ended",
        ended_at=last.at,
        reason="client_tools",
    )
    left = msgspec.structs.replace(last, run=run.id, stop_reason="client_tools")
    return [Put(MESSAGES, left), Put(RUNS, run)]


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
class DialOffer:
    """What answers have beside the app's own: a model, tools, and how their calls are shown."""

    llm: Llm | None = None
    tools: Sequence[Tool] = ()
    only: frozenset[str] | None = None
    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])


@dataclass(slots=True)
class DialAnswer:
    """An answer. `open_choice` is called once there is something to say."""

    app: App
    session: DialSession
    core: Core
    home: str
    asked: DialChat
    seal: HistorySeal
    options: RunOptions
    offer: DialOffer
    open_choice: Callable[[], Choice]
    on_saved: Callable[[DialSession], Coroutine[None, None, None]]
    max_files: int
    wait_minutes: int
    renderer: AnswerRenderer | None = None
    _notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _failed: RunFailed | None = None
    _saving: asyncio.Future[None] | None = None

    async def answer(self) -> AnswerRenderer:
        """Answer, and put back what is to be kept.

        Raises:
            RefusedError: the run failed before it said or did anything.
            BethinkError: it could not be begun.
        """
        fault = self.session.bucket_memory and self.session.bucket_memory.fault
        if fault:
            told = f"{fault}\nThis answer does not use it, and stores nothing."
            self._notes.append(("Memory not loaded", told))
        decision = approval_reply(self.asked.said)
        if decision is not None:
            return await self._decide(decision)
        if fault and self.app.runs.commands.match(self.asked.said):
            return self._told_only(f"Your memory could not be loaded, so nothing was done. {fault}")
        files = await self._placed()
        runs, principal, resources = self.app.runs, self.session.principal, self._resources()
        if self.asked.results:
            run = await runs.answer(
                principal, self._conversation, self.asked.results, options=self.options, resources=resources
            )
        else:
            said = self.asked.said or "(no text)"
            run = await runs.start(
                principal, self._conversation, said, files=files, options=self.options, resources=resources
            )
        self.session.told.clear()
        return await self._followed(run, None)

    async def _decide(self, decision: ApprovalReply) -> AnswerRenderer:
        """Have what waits done or left; the next request after this one is a new turn again."""
        principal, run = self.session.principal, self.session.waiting
        if run is None:
            return self._told_only(_NOTHING_WAITS)
        await self.app.runs.stored.settle(principal, self._conversation)
        record = await self.app.runs.stored.get(principal, run)
        waiting = [call for call in record.waiting if call.decision is None]
        if record.state != "waiting" or not waiting:
            self.session.waiting = None
            return self._told_only(_NOTHING_WAITS)
        chosen = decision.among(waiting)
        if not chosen:
            return self._told_only(f"There is no call {decision.number}: {len(waiting)} wait.")
        goes_on = False
        for call in chosen:
            goes_on = await self.app.runs.approvals.decide(
                principal,
                run,
                call=call.call,
                choice=ApprovalChoice("approve" if decision.approves else "reject"),
                resources=self._resources(),
            )
        if not goes_on:
            return self._told_only(f"Noted. {len(waiting) - len(chosen)} more wait: `/approve` or `/reject`.")
        return await self._followed(run, self.session.place)

    async def _followed(self, run: str, after: Place | None) -> AnswerRenderer:
        """Tell a run to its end; one whose reader leaves is stopped, and what it changed is kept."""
        self.session.waiting = None
        has_ended = False
        try:
            follow = self.app.runs.follow(self.session.principal, run, after)
            async with aclosing(follow) as batches:
                await self._render_all(batches)
            has_ended = True
            renderer = await self._ended(run)
        finally:
            if not has_ended:
                await finished(self._stopped(run))
        if renderer is None:
            raise RefusedError(self._failed or RunFailed(code="internal", message="Nothing was answered."))
        return renderer

    async def _render_all(self, batches: AsyncGenerator[list[NumberedEvent], None]) -> None:
        held: list[NumberedEvent] = []
        async for batch in batches:
            self.session.place = batch[-1].place
            if any(isinstance(one.event, MemoryChanged) for one in batch):
                self._save_soon()
            if self.renderer is not None:
                await self.renderer.render(batch)
                continue
            held += batch
            if not all(isinstance(one.event, _SILENT) for one in held):
                await self._open().render(held)
        if self.renderer is None:
            failed = [one.event for one in held if isinstance(one.event, RunFailed)]
            self._failed = failed[-1] if failed else None
            if self._failed is None:
                await self._open().render(held)

    async def _ended(self, run: str) -> AnswerRenderer | None:
        """Put back what is to be kept and say how it ended; None for an answer that never began."""
        renderer = self.renderer
        if renderer is not None and renderer.waiting:
            renderer.say(asks(renderer.waiting, minutes=self.wait_minutes))
            self.session.waiting = run
        await finished(self._save())
        if renderer is None:
            return None
        renderer.end()
        renderer.keep(await self._state(run, renderer.text))
        return renderer

    async def _stopped(self, run: str) -> None:
        """The reader has left: nobody waits for the rest, and the key is about to die."""
        try:
            await self.app.runs.cancel(self.session.principal, run)
        except BethinkError as error:
            _log.info("a run was not stopped: %s", error)
        await self._save()

    def _save_soon(self) -> None:
        """Put the memory back while the answer goes on: if its reader leaves, the key is dead at once."""
        bucket_memory = self.session.bucket_memory
        if bucket_memory is not None and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(bucket_memory.save_early(self.core))

    async def _save(self) -> None:
        """Put the memory back, and say so where that fails: it is not remembered then."""
        bucket_memory = self.session.bucket_memory
        if bucket_memory is None:
            return
        if self._saving is not None:
            await self._saving
        try:
            if await bucket_memory.save(self.core):
                await self.on_saved(self.session)
        except BethinkError as error:
            _log.warning("a memory was not put back: %s", error)
            if self.renderer is not None:
                self.renderer.note("Memory not saved", str(error), failed=True)
                self.renderer.paragraph(f"_The memories of this answer were not stored: {error}_")

    async def _state(self, run: str, text: str) -> dict[str, Any]:
        page = await self.app.conversations.messages(self.session.principal, self._conversation, limit=_PAGE)
        mine = [item.record.message for item in reversed(page.items) if item.record.run == run]
        state = self.seal.state(mine, text, told=self.session.told)
        self.session.told |= {message.call for message in mine if isinstance(message, ToolMessage)}
        return state

    async def _placed(self) -> list[str]:
        """Have the conversation hold what the client says was said, and its files; those of the message."""
        principal, conversations = self.session.principal, self.app.conversations
        if self.session.conversation is None:
            new = await conversations.create(principal, ConversationStart(title="DIAL", temporary=True))
            self.session.conversation = new.id
        self.session.waiting = None
        held = await self.app.runs.stored.settle(principal, self._conversation, rejecting=True)
        attached = DialAttachments(self.app, self.session, self.core, self.home, self.max_files)
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
        left = pending_call_changes(stored, record, self.app.ports.bus.process) if self.asked.results else ()
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

    async def _with_files(self, past: HistoryMessage, attached: DialAttachments) -> Message:
        if not past.files or not isinstance(past.message, UserMessage):
            return past.message
        ids = await attached.take(self._conversation, past.files)
        files = await self.app.files.attachments(self.session.principal, self._conversation, ids)
        return msgspec.structs.replace(past.message, attachments=files)

    @property
    def _conversation(self) -> str:
        return self.session.conversation or ""

    def _resources(self) -> RunResources:
        bucket_memory = self.session.bucket_memory
        tools = [*self.offer.tools]
        if bucket_memory is not None and bucket_memory.fault is not None:
            tools += self._refusing(bucket_memory.fault)
        return RunResources(llm=self.offer.llm, tools=tools, only=self.offer.only, remembers=True)

    def _refusing(self, fault: BethinkError) -> list[Tool]:
        """The memory's tools while it is not loaded: an error is not an empty memory, nothing is stored."""

        async def refuse(_context: ToolContext) -> ToolOutput:
            told = f"The memory is not available now, and nothing was done: {fault}"
            return ToolOutput(told, error=fault.code)

        names = sorted(tool.name for tool in self.app.toolbox.all if tool.family == "memory")
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

    def _told_only(self, text: str) -> AnswerRenderer:
        renderer = self._open()
        renderer.say(text)
        renderer.keep(self.seal.state((), text))
        return renderer

    def _open(self) -> AnswerRenderer:
        attached = DialAttachments(self.app, self.session, self.core, self.home, self.max_files)
        functions = frozenset(tool.name for tool in self.options.client_tools)
        self.renderer = renderer = AnswerRenderer(
            self.open_choice(),
            attached.upload,
            self.offer.styles,
            functions=functions,
            site=next(iter(self.app.settings.public_urls), "").rstrip("/"),
        )
        for name, text in self._notes:
            renderer.note(name, text, failed=True)
        return renderer


async def finished(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of work that is done to its end, also when whoever waits for it is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
