"""`POST /v1/chat/completions`: a client's message, answered by a run.

`Dispatch` finds the run of a request: which conversation, which model, and whether it was asked before.
Source: OpenAI API reference, "Create chat completion".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.client_tools import with_tool_choice
from bethink.agent.history_match import HistoryMatch, said_by
from bethink.agent.request import NO_RESOURCES, BranchPoint, RunOptions, with_assistant
from bethink.conversations import ConversationStart
from bethink.errors import BadInput, UnknownId
from bethink.llm import Options
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
    sound,
    switch,
    system_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.app import App
    from bethink.llm import ToolSchema
    from bethink.principal import Principal


CONVERSATION: Final = "x-bethink-conversation"
RUN: Final = "x-bethink-run"
MEMORY: Final = "x-bethink-memory"
TOOLS: Final = "x-bethink-tools"
_ACTIVITY: Final = "x-bethink-activity"
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
        options, named = asked.options, self.request.headers.get(CONVERSATION, "")
        # The same request has the same body, and the same headers that change it.
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
        conversation = at.conversation if isinstance(at, BranchPoint) else at
        if conversation is not None:
            await self._check_kind(conversation, options)
        # Faults of the request are found before anything is made.
        app.runs.loops.of(options, NO_RESOURCES)
        if asked.results:
            calls = {result.call for result in asked.results}
            temporary = not options.memory
            if at is None:
                at = await threads.asked(caller, asked.history, calls, temporary=temporary)
            elif isinstance(at, str):
                at = await threads.named(caller, at, calls)
            if isinstance(at, BranchPoint):
                at = (await app.conversations.part(caller, at.conversation, at.message)).id
            return ChatRun(at, await app.runs.answer(caller, at, asked.results, options=options))
        heard = await app.runs.announcements.announced(caller.owner)
        start = ConversationStart(temporary=not options.memory)
        place = conversation or await threads.place(caller, asked.history, start)
        files = [(await app.files.add(caller, place, file)).id for file in asked.files]
        run = await app.runs.start(
            caller, at if isinstance(at, BranchPoint) else place, asked.said, files=files, options=options
        )
        if conversation is None:
            record = await app.runs.stored.get(caller, run)
            await threads.remember(caller, record, said_by(asked.history, asked.said), heard=heard)
        return ChatRun(place, run)

    async def _check_kind(self, conversation: str, options: RunOptions) -> None:
        """Refuse a named conversation in which more would be kept than the client asks for, or less."""
        held = (await self.app.conversations.get(self.caller, conversation)).record
        if bool(held.temporary) is not options.memory:
            return
        raise BadInput(
            "This conversation is temporary and has no memory: ask with memory off, or in another one."
            if held.temporary
            else "This conversation is kept and recalled from: ask with memory on, or name none."
        )

    def options(self, model: str, metadata: Metadata | None, system: str) -> RunOptions:
        """The options that any request may have: its model or assistant, memory and tools on or off.

        Raises:
            UnknownId: there is no such model.
        """
        headers, given = self.request.headers, metadata or Metadata()
        options = RunOptions(
            system=system,
            memory=switch(headers, MEMORY, given.memory),
            tools=switch(headers, TOOLS, given.tools),
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

    def conversation(self, metadata: Metadata | None) -> str | None:
        """The conversation that the request names; None where it is to be found by its history."""
        return self.request.headers.get(CONVERSATION) or (metadata.conversation_id if metadata else None)

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
    begun = await dispatch.begin(asked, conversation=dispatch.conversation(body.metadata))
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
    options = dispatch.options(body.model, body.metadata, system_of(body.messages))
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
