"""`POST /v1/chat/completions`: a client's message, answered by a run.

Source: OpenAI API reference, "Create chat completion".
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.client_tools import with_tool_choice
from bethink.errors import BadInput
from bethink.llm import Options
from bethink.web.deps import Caller, Served
from bethink.web.sse import EventStream
from bethink.web.v1.dispatch import Dispatch, failed
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.frames import ChatFrames, Telling, collected, completion_of
from bethink.web.v1.request import (
    MAX_MESSAGES,
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
    system_of,
)

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
        message = "n: a request gets one answer; send it again for another."
        raise BadInput(message)
    dispatch = Dispatch(app, caller, request, await request.body())
    asked = request_of(body, dispatch)
    begun = await dispatch.begin(asked, conversation=dispatch.conversation(body.metadata))
    reply = dispatch.reply(
        f"chatcmpl-{begun.run}",
        body.model,
        begun.conversation,
        tools=asked.wishes.client_tools,
        usage=body.stream_options is not None and body.stream_options.include_usage,
    )
    batches = app.runs.follow(caller, begun.run)
    if body.stream:
        return EventStream(batches, ChatFrames(reply), headers=begun.headers)
    telling = Telling(reply)
    text, reasoning = await collected(batches, telling)
    if (failure := telling.failure or telling.stopped) is not None:
        return failed(failure, telling.failed_with, begun)
    return JSONResponse(completion_of(telling, text, reasoning), headers=begun.headers)


def request_of(body: Completion, dispatch: Dispatch) -> ChatRequest:
    """The request, read.

    Raises:
        BadInput: it ends in no message of the owner's and no results, or chooses among tools as nobody can.
        UnknownId: the model is not offered.
    """
    wishes = dispatch.wishes(body.model, body.metadata, system_of(body.messages))
    wishes = msgspec.structs.replace(
        with_tool_choice(wishes, client_tools(body.tools), body.tool_choice),
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
    return asked_of(wishes, body.messages)


def _format(given: Format | None) -> dict[str, Any] | None:
    if given is None or given.type == "text":
        return None
    if given.type == "json_schema" and given.json_schema is None:
        message = "response_format: json_schema is missing; it takes a name and a schema."
        raise BadInput(message)
    return given.model_dump(exclude_none=True)
