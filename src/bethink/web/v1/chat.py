"""`POST /v1/chat/completions`: a client's message, answered by a run.

`Dispatch` finds the run of a request: which conversation, which model, and whether it was asked before.
Source: OpenAI API reference, "Create chat completion".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio.to_thread
import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.client_tools import with_tool_choice
from bethink.agent.history_match import HistoryMatch, said_by
from bethink.agent.request import NO_RESOURCES, BranchPoint, RunOptions, with_assistant
from bethink.conversations.entries import checked_id, looks_own
from bethink.conversations.service import ConversationStart
from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.llm import Options, ToolSchema
from bethink.tool import NewFile
from bethink.web.deps import Caller, Served
from bethink.web.sse import EventStream
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.frames import AnswerTally, ChatFrames, Reply, collected, completion_of
from bethink.web.v1.request import (
    MAX_MESSAGES,
    USUAL,
    ChatMessage,
    ChatRequest,
    Effort,
    Format,
    Loose,
    Metadata,
    Offered,
    Share,
    Stop,
    Temperature,
    Tokens,
    asked_of,
    client_tools,
    is_aside,
    sound,
    switch,
    system_of,
)

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.conversations.records import Conversation
    from bethink.principal import Principal


CONVERSATION: Final = "x-bethink-conversation"
RUN: Final = "x-bethink-run"
MEMORY: Final = "x-bethink-memory"
TOOLS: Final = "x-bethink-tools"
_ACTIVITY: Final = "x-bethink-activity"
_TASK: Final = "x-bethink-task"
_OPEN_WEBUI_CHAT: Final = "x-openwebui-chat-id"
_PLACE_HOLDER: Final = "{{"
_NO_CHAT: Final = ("local:", _PLACE_HOLDER)
"""How the ids of front ends begin that name no chat: Open WebUI's of one that it does not keep, and
place-holders that nothing was filled in for."""
_NO_CHAT_YET: Final = "new"
"""LibreChat's id of a chat that has none yet."""
_KEY: Final = "idempotency-key"
_MAX_KEY_CHARS: Final = 255


@dataclass(frozen=True, slots=True)
class ChatRun:
    """The run that answers a request, and where."""

    conversation: str
    run: str

    @property
    def headers(self) -> dict[str, str]:
        """What tells a client of it."""
        return {CONVERSATION: self.conversation, RUN: self.run}


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One request of a client, on its way."""

    app: App
    caller: Principal
    request: Request
    body: bytes

    async def begin(self, asked: ChatRequest, *, conversation: str | BranchPoint | None) -> ChatRun:
        """The run that answers; the one that does already, where the request is a repeated one.

        Raises:
            BethinkError: whatever `Runs.start` and `HistoryMatch` raise.
        """
        threads = HistoryMatch(self.app.conversations, self.app.secret_box)
        key = self.request.headers.get(_KEY)
        if key is None:
            return await self._begin(threads, asked, conversation)
        if not 0 < len(key) <= _MAX_KEY_CHARS:
            raise BadInput(f"An idempotency key has 1 to {_MAX_KEY_CHARS} characters.")
        # The same request has the same body, and the same headers that change it.
        options = asked.options
        named = self.request.headers.get(CONVERSATION, self.request.headers.get(_OPEN_WEBUI_CHAT, ""))
        digest = hashlib.sha256(f"{options.memory} {options.tools} {named}\n".encode() + self.body)
        known = await threads.reserve(self.caller, key, digest.hexdigest())
        if known is not None:
            return ChatRun(known.conversation, known.run)
        begun = ChatRun("", "")
        try:
            begun = await self._begin(threads, asked, conversation)
        finally:
            await threads.fulfil(self.caller, key, conversation=begun.conversation, run=begun.run)
        return begun

    async def _begin(
        self, threads: HistoryMatch, asked: ChatRequest, at: str | BranchPoint | None
    ) -> ChatRun:
        app, caller, options = self.app, self.caller, asked.options
        named = at.conversation if isinstance(at, BranchPoint) else at
        held = None if named is None else await app.conversations.called(caller, named)
        if held is not None:
            _check_kind(held.record, options)
        elif named is not None and looks_own(named):
            raise UnknownId("Conversation not found: it may have been deleted.")
        # Faults of the request are found before anything is made.
        app.runs.loops.of(options, NO_RESOURCES)
        if asked.results:
            if isinstance(at, str):
                at = held and held.record.id
            return await self._answered(threads, asked, at)
        given = [*asked.files, *[await self._uploaded(id) for id in asked.documents]]
        heard = await app.runs.announcements.announced(caller.owner)
        # Who names a conversation as it is called here may send its newest message alone.
        is_followed = held is None or held.record.id != named
        if held is None:
            start = ConversationStart(temporary=not options.memory, caller_id=named)
            place = await threads.place(caller, asked.history, start)
        elif is_followed:
            place = await threads.within(caller, held, asked.history, more=asked.said)
        else:
            place = held.record.id
        files = [(await app.files.add(caller, place, file)).id for file in given]
        run = await app.runs.start(
            caller, at if isinstance(at, BranchPoint) else place, asked.said, files=files, options=options
        )
        if is_followed:
            record = await app.runs.stored.get(caller, run)
            await threads.remember(caller, record, said_by(asked.history, asked.said), heard=heard)
        return ChatRun(place, run)

    async def _uploaded(self, document: str) -> NewFile:
        """A file that was uploaded before, as one of the message.

        Raises:
            UnknownId: there is none, or its bytes are not kept.
            TooLarge: it is larger than a file of a conversation may be.
        """
        library, files = self.app.library, self.app.files
        name = (await library.get(self.caller, document)).name
        content = await library.version(self.caller, document)
        if content.size > files.max_bytes:
            raise TooLarge(
                f"{name} is larger than {files.max_bytes // 1_000_000} MB: ask about it without it."
            )
        path = await library.original(self.caller, content.id)
        return NewFile(name, content.media_type, await anyio.to_thread.run_sync(path.read_bytes))

    async def _answered(
        self, threads: HistoryMatch, asked: ChatRequest, at: str | BranchPoint | None
    ) -> ChatRun:
        """The run that goes on with what the client's functions returned."""
        app, caller, options = self.app, self.caller, asked.options
        calls = {result.call for result in asked.results}
        if at is None:
            at = await threads.asked(caller, asked.history, calls, temporary=not options.memory)
        elif isinstance(at, str):
            at = await threads.named(caller, at, calls)
        if isinstance(at, BranchPoint):
            at = (await app.conversations.part(caller, at.conversation, at.message)).id
        return ChatRun(at, await app.runs.answer(caller, at, asked.results, options=options))

    def options(
        self, model: str, metadata: Metadata | None, system: str, *, is_aside: bool = False
    ) -> RunOptions:
        """The options that any request may have: its model or assistant, memory and tools on or off.

        One that `is_aside` has neither.

        Raises:
            UnknownId: there is no such model.
        """
        headers, given = self.request.headers, metadata or Metadata()
        options = RunOptions(
            system=system,
            memory=not is_aside and switch(headers, MEMORY, given.memory),
            tools=not is_aside and switch(headers, TOOLS, given.tools),
        )
        if model == USUAL:
            return options
        if model in self.app.models.assistants:
            chosen = msgspec.structs.replace(options, model=model)
            return with_assistant(chosen, self.app.models.assistants)
        if model not in self.app.models.names():
            offered = ", ".join((USUAL, *self.app.models.assistants, *self.app.models.names()))
            raise UnknownId(f"There is no model {model[:80]!r} here. There are: {offered}.")
        return msgspec.structs.replace(options, model=model)

    def is_aside(self, metadata: Metadata | None, messages: Sequence[ChatMessage]) -> bool:
        """Whether a front end asks by itself, for a title for example: it says so, or it is seen."""
        task = self.request.headers.get(_TASK) or (metadata and metadata.task) or _PLACE_HOLDER
        return not task.startswith(_PLACE_HOLDER) or is_aside(messages)

    def conversation(self, metadata: Metadata | None) -> str | None:
        """The conversation that the request names; None where it is to be found by its history.

        Raises:
            BadInput: its name is too long, or cannot be read.
        """
        headers, given = self.request.headers, metadata or Metadata()
        names = {
            CONVERSATION: headers.get(CONVERSATION),
            "metadata.conversation_id": given.conversation_id,
            "metadata.chat_id": given.chat_id,
            _OPEN_WEBUI_CHAT: headers.get(_OPEN_WEBUI_CHAT),
        }
        for where, name in names.items():
            if name and name != _NO_CHAT_YET and not name.startswith(_NO_CHAT):
                return checked_id(where, name)
        return None

    def page(self, conversation: str) -> str:
        """Where a person finds the conversation."""
        return f"{str(self.request.base_url).rstrip('/')}/conversations/{conversation}"

    def reply(
        self,
        id: str,
        model: str,
        conversation: str,
        *,
        tools: Sequence[ToolSchema] = (),
        usage: bool = False,
    ) -> Reply:
        """What the answer says of itself; `tools` are those that the client runs."""
        return Reply(
            id=id,
            model=model,
            page=self.page(conversation),
            functions=frozenset(tool.name for tool in tools),
            usage=usage,
            activity=self.request.headers.get(_ACTIVITY, "").lower() == "reasoning",
        )


def _check_kind(held: Conversation, options: RunOptions) -> None:
    """Refuse a named conversation in which more would be kept than the client asks for, or less."""
    if bool(held.temporary) is not options.memory:
        return
    raise BadInput(
        "This conversation is temporary and has no memory: ask with memory off, or in another one."
        if held.temporary
        else "This conversation is kept and recalled from: ask with memory on, or name none."
    )


def failed(body: dict[str, Any], status: int, begun: ChatRun) -> JSONResponse:
    """An answer that failed; the message is kept, so a client must not send it again by itself."""
    return JSONResponse(body, status, {**begun.headers, "x-should-retry": "false"})


router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)


class StreamOptions(Loose):
    """What a stream tells beside its text."""

    include_usage: bool = False


class Completion(Loose):
    """A request for a chat completion; fields that are not here are passed over."""

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Offered] | None = None
    tool_choice: Any = None
    response_format: Format | None = None
    temperature: Temperature = None
    top_p: Share = None
    stop: Stop = None
    seed: int | None = None
    reasoning_effort: Effort = None
    parallel_tool_calls: bool | None = None
    max_tokens: Tokens = None
    max_completion_tokens: Tokens = None
    metadata: Metadata | None = None


@router.post("/chat/completions", response_model=None)
async def create_chat_completion(body: Completion, request: Request, app: Served, caller: Caller) -> Response:
    """Answer the last message, as OpenAI's API does; a client that leaves does not end the run."""
    if body.n not in (None, 1):
        raise BadInput("n: a request gets one answer; send it again for another.")
    dispatch = Dispatch(app, caller, request, await request.body())
    asked = request_of(body, dispatch)
    named = None if dispatch.is_aside(body.metadata, body.messages) else dispatch.conversation(body.metadata)
    begun = await dispatch.begin(asked, conversation=named)
    reply = dispatch.reply(
        f"chatcmpl-{begun.run}",
        body.model,
        begun.conversation,
        tools=asked.options.client_tools,
        usage=body.stream_options is not None and body.stream_options.include_usage,
    )
    batches = app.runs.follow(caller, begun.run)
    if body.stream:
        return EventStream(batches, ChatFrames(reply), headers=begun.headers)
    tally = AnswerTally(reply)
    text, reasoning = await collected(batches, tally)
    if (failure := tally.failure or tally.stopped) is not None:
        return failed(failure, tally.failed_with, begun)
    return JSONResponse(completion_of(tally, text, reasoning), headers=begun.headers)


def request_of(body: Completion, dispatch: Dispatch) -> ChatRequest:
    """The request, read.

    Raises:
        BadInput: it ends in no message of the owner's and no results, or chooses among tools as nobody can.
        UnknownId: the model is not offered.
    """
    options = dispatch.options(
        body.model,
        body.metadata,
        system_of(body.messages),
        is_aside=dispatch.is_aside(body.metadata, body.messages),
    )
    options = msgspec.structs.replace(
        with_tool_choice(options, client_tools(body.tools), body.tool_choice),
        response_format=_format(body.response_format),
        temperature=body.temperature,
        max_output_tokens=body.max_completion_tokens or body.max_tokens,
        options=Options(
            top_p=body.top_p,
            stop=tuple(body.stop or ()),
            seed=body.seed,
            reasoning_effort=body.reasoning_effort,
            parallel_tool_calls=body.parallel_tool_calls,
        ),
    )
    return asked_of(options, body.messages)


def _format(given: Format | None) -> dict[str, Any] | None:
    if given is None or given.type == "text":
        return None
    if given.type == "json_schema" and given.json_schema is None:
        raise BadInput("response_format: json_schema is missing; it takes a name and a schema.")
    return given.model_dump(exclude_none=True)
