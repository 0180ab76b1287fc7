"""`POST /v1/responses`: a client's message, answered by a run; `kept_responses` has those that were made.

Source: OpenAI API reference, "Responses".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.client_tools import with_tool_choice
from bethink.agent.responses import Responses
from bethink.errors import BadInput
from bethink.llm import Options
from bethink.web.deps import Caller, Served
from bethink.web.sse import EventStream
from bethink.web.v1.dispatch import ACTIVITY, Talk
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.frames import Reply
from bethink.web.v1.json_limits import sound
from bethink.web.v1.kept_responses import PREFIX, about, run_of, told
from bethink.web.v1.request import (
    MAX_MESSAGES,
    USUAL,
    Asked,
    ChatMessage,
    Effort,
    Loose,
    Metadata,
    Offered,
    Part,
    Share,
    Temperature,
    Tokens,
    asked_of,
    client_tools,
    system_of,
)
from bethink.web.v1.response_frames import ResponseFrames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.run_options import BranchPoint

router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)


class Item(Loose):
    """One item of an input: a message, a call of a function, or what it returned."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[Part] | None = None
    call_id: str | None = None
    output: str | list[Part] | None = None


class TextFormat(Loose):
    """How the text is to be written."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str | None = None
    description: str | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    strict: bool | None = None


class TextConfig(Loose):
    """`text`."""

    format: TextFormat | None = None


class Named(Loose):
    """A conversation, named."""

    id: str


class Reasoning(Loose):
    """How much the model is to think."""

    effort: Effort = None


class Asking(Loose):
    """A request for a response; fields that are not here are passed over."""

    model: str = USUAL
    input: str | Annotated[list[Item], Field(min_length=1, max_length=MAX_MESSAGES)]
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | Named | None = None
    stream: bool | None = None
    store: bool | None = None
    background: bool | None = None
    tools: list[Offered] | None = None
    tool_choice: Any = None
    text: TextConfig | None = None
    temperature: Temperature = None
    top_p: Share = None
    reasoning: Reasoning | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: Tokens = None
    metadata: Metadata | None = None


@router.post("/responses", response_model=None)
async def create_response(body: Asking, request: Request, app: Served, caller: Caller) -> Response:
    """Answer, as OpenAI's API does; a client that leaves does not end the run."""
    talk = Talk(app, caller, request, await request.body())
    kept = Responses(app.runs.stored)
    store = body.store is not False
    if body.background and not store:
        message = "background: a response that is not stored cannot be fetched; leave store: false out."
        raise BadInput(message)
    at = await _place(body, talk, kept)
    asked = _asked(body, talk, alone=at is None)
    begun = await talk.begin(asked, conversation=at)
    previous = body.previous_response_id or ""
    if store:
        await kept.keep(
            caller, begun.run, conversation=begun.conversation, model=body.model, previous=previous
        )
    reply = Reply(
        id=f"{PREFIX}{begun.run}",
        model=body.model,
        page=talk.page(begun.conversation),
        functions=frozenset(tool.name for tool in asked.wishes.client_tools),
        activity=request.headers.get(ACTIVITY, "").lower() == "reasoning",
    )
    frames = ResponseFrames(reply, about(talk.body, begun.conversation, previous))
    if body.background and not body.stream:
        now = await told(app, caller, begun.run, frames)
        return JSONResponse(now.response(), headers=begun.headers)
    batches = app.runs.follow(caller, begun.run)
    if body.stream:
        return EventStream(batches, frames, headers=begun.headers)
    async for batch in batches:
        frames.written(batch)
    if frames.failure is not None:
        # The message is kept: a client that sends it again by itself would say it twice.
        return JSONResponse(frames.failure, frames.failed_with, {**begun.headers, "x-should-retry": "false"})
    return JSONResponse(frames.response(), headers=begun.headers)


async def _place(body: Asking, talk: Talk, kept: Responses) -> str | BranchPoint | None:
    """Where the request goes on; None where that is to be found by its history.

    Raises:
        UnknownId: there is no such response.
        BadInput: it names a conversation, too.
    """
    named = body.conversation.id if isinstance(body.conversation, Named) else body.conversation
    named = named or talk.conversation(body.metadata)
    if body.previous_response_id is None:
        return named
    if named is not None:
        message = "previous_response_id says which conversation goes on: name none beside it."
        raise BadInput(message)
    return await kept.behind(talk.caller, run_of(body.previous_response_id))


def _asked(body: Asking, talk: Talk, *, alone: bool) -> Asked:
    """The request, read; one that stands `alone` may bring its history.

    Raises:
        BadInput: it ends in no message of the owner's and no results, or chooses among tools as nobody can.
        UnknownId: the model is not offered.
    """
    messages = _messages(body.input)
    wishes = talk.wishes(body.model, body.metadata, system_of(messages, body.instructions or ""))
    wishes = msgspec.structs.replace(
        with_tool_choice(wishes, client_tools(body.tools), body.tool_choice),
        response_format=_format(body.text),
        temperature=body.temperature,
        max_output_tokens=body.max_output_tokens,
        options=Options(
            top_p=body.top_p,
            reasoning_effort=body.reasoning and body.reasoning.effort,
            parallel_tool_calls=body.parallel_tool_calls,
        ),
    )
    asked = asked_of(wishes, messages)
    if not alone and not asked.results and any(one.role == "tool" for one in messages):
        message = "input: send what your functions returned in a request of its own, before a new message."
        raise BadInput(message)
    return asked


def _messages(given: str | Sequence[Item]) -> list[ChatMessage]:
    """The items as messages of a history; those that tell nothing to Bethink are passed over."""
    if isinstance(given, str):
        return [ChatMessage(role="user", content=given)]
    messages: list[ChatMessage] = []
    for item in given:
        match item.type:
            case "message" if item.role is not None:
                messages.append(ChatMessage(role=item.role, content=item.content))
            case "function_call":
                messages.append(ChatMessage(role="assistant"))
            case "function_call_output":
                messages.append(ChatMessage(role="tool", content=item.output, tool_call_id=item.call_id))
            case "reasoning" | "item_reference":
                pass
            case _:
                message = f"input: an item of the type {item.type[:60]!r} is not known here, or has no role."
                raise BadInput(message)
    return messages


def _format(given: TextConfig | None) -> dict[str, Any] | None:
    """`text.format` as models are told of it: what chat completions call `response_format`."""
    if given is None or given.format is None or given.format.type == "text":
        return None
    written = given.format.model_dump(exclude_none=True, by_alias=True)
    kind = written.pop("type")
    if kind == "json_schema" and given.format.schema_ is None:
        message = (
            "text.format: schema is missing; a format of the type json_schema takes a name and a schema."
        )
        raise BadInput(message)
    return {"type": kind, kind: written} if kind == "json_schema" else {"type": kind}
