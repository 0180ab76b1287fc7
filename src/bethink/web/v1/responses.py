"""`/v1/responses`: a client's message, answered by a run that can be fetched and gone on from.

Source: OpenAI API reference, "Responses".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.responses import Responses
from bethink.errors import BadInput, UnknownId
from bethink.events import RunDone, ToolFinished, ToolRequested
from bethink.web.caller import Caller, Served
from bethink.web.sse import EventStream
from bethink.web.v1.asked import (
    MAX_MESSAGES,
    USUAL,
    Asked,
    ChatMessage,
    Loose,
    Metadata,
    Offered,
    Part,
    Temperature,
    Tokens,
    asked_of,
    client_tools,
    system_of,
)
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.frames import Reply
from bethink.web.v1.response_frames import ResponseFrames
from bethink.web.v1.sound import sound
from bethink.web.v1.talk import ACTIVITY, Talk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.agent.forks import Fork
    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)

_PREFIX: Final = "resp_"
_CANCEL_S: Final = 5
_ECHOED: Final[Mapping[str, Any]] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_p": None,
    "truncation": "disabled",
}
"""What a response repeats of its request, and what it says where that has none."""


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
        id=f"{_PREFIX}{begun.run}",
        model=body.model,
        page=talk.page(begun.conversation),
        functions=frozenset(tool.name for tool in asked.wishes.client_tools),
        activity=request.headers.get(ACTIVITY, "").lower() == "reasoning",
    )
    frames = ResponseFrames(reply, _about(talk.body, begun.conversation, previous))
    if body.background and not body.stream:
        told = await _told(app, caller, begun.run, frames)
        return JSONResponse(told.response(), headers=begun.headers)
    batches = app.runs.follow(caller, begun.run)
    if body.stream:
        return EventStream(batches, frames, headers=begun.headers)
    async for batch in batches:
        frames.written(batch)
    if frames.failure is not None:
        # The message is kept: a client that sends it again by itself would say it twice.
        return JSONResponse(frames.failure, frames.failed_with, {**begun.headers, "x-should-retry": "false"})
    return JSONResponse(frames.response(), headers=begun.headers)


@router.get("/responses/{response}")
async def get_response(
    response: str, request: Request, app: Served, caller: Caller, *, stream: bool = False
) -> dict[str, Any]:
    """A response as it is now: one that still runs tells what it said so far."""
    if stream:
        message = "stream: a response streams while it is made; fetch it without, or see /runs/{id}/events."
        raise BadInput(message)
    run = _run_of(response)
    kept = await Responses(app.runs.stored).get(caller, run)
    page = Talk(app, caller, request, b"").page(kept.conversation)
    reply = Reply(id=response, model=kept.model, page=page)
    frames = ResponseFrames(reply, _about(b"{}", kept.conversation, kept.previous))
    return (await _told(app, caller, run, frames)).response()


@router.delete("/responses/{response}")
async def delete_response(response: str, app: Served, caller: Caller) -> dict[str, Any]:
    """Have it not be found again; what was said stays in its conversation."""
    await Responses(app.runs.stored).delete(caller, _run_of(response))
    return {"id": response, "object": "response", "deleted": True}


@router.post("/responses/{response}/cancel")
async def cancel_response(response: str, request: Request, app: Served, caller: Caller) -> dict[str, Any]:
    """Stop a response that still runs; what it said so far is kept."""
    run = _run_of(response)
    await Responses(app.runs.stored).get(caller, run)
    if (await app.runs.stored.get(caller, run)).state in ("running", "waiting"):
        await app.runs.cancel(caller, run)
        with anyio.move_on_after(_CANCEL_S):
            async for _ in app.runs.follow(caller, run):
                pass
    return await get_response(response, request, app, caller)


async def _told(app: App, caller: Principal, run: str, frames: ResponseFrames) -> ResponseFrames:
    """The frames, told all that happened in the run so far."""
    record = await app.runs.stored.get(caller, run)
    await app.runs.stored.settle(caller, record.conversation)
    record = await app.runs.stored.get(caller, run)
    events = await Responses(app.runs.stored).events(caller, record)
    finished = {event.call for event in events if isinstance(event, ToolFinished)}
    frames.left_to_client(
        [event for event in events if isinstance(event, ToolRequested) and event.call not in finished]
    )
    for event in events:
        frames.take(event)
    if record.state != "running" and not frames.ended:
        frames.take(RunDone(reason=record.reason or "awaiting_approval"))
    return frames


def _run_of(response: str) -> str:
    if not response.startswith(_PREFIX):
        message = f"There is no response {response[:80]!r}: their ids begin with {_PREFIX}."
        raise UnknownId(message)
    return response.removeprefix(_PREFIX)


async def _place(body: Asking, talk: Talk, kept: Responses) -> str | Fork | None:
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
    return await kept.behind(talk.caller, _run_of(body.previous_response_id))


def _asked(body: Asking, talk: Talk, *, alone: bool) -> Asked:
    """The request, read; one that stands `alone` may bring its history.

    Raises:
        BadInput: it ends in no message of the owner's and no results.
        UnknownId: the model is not offered.
    """
    messages = _messages(body.input)
    wishes = talk.wishes(body.model, body.metadata, system_of(messages, body.instructions or ""))
    wishes = msgspec.structs.replace(
        wishes,
        client_tools=client_tools(body.tools, body.tool_choice),
        response_format=_format(body.text),
        temperature=body.temperature,
        max_output_tokens=body.max_output_tokens,
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
    return {"type": kind, kind: written} if kind == "json_schema" else {"type": kind}


def _about(body: bytes, conversation: str, previous: str) -> dict[str, Any]:
    """What a response says that its run does not: what was asked, and where it stands."""
    given: dict[str, Any] = msgspec.json.decode(body)
    told = {name: usual if given.get(name) is None else given[name] for name, usual in _ECHOED.items()}
    tools: list[dict[str, Any]] = given.get("tools") or []
    taken = [{"strict": None, **tool} for tool in tools if tool.get("type", "function") == "function"]
    return {
        **told,
        "tools": taken,
        "conversation": {"id": conversation},
        "previous_response_id": previous or None,
    }
