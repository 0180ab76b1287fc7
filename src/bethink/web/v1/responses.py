"""`/v1/responses`: a client's message, answered as a chat completion is; and responses that were made.

Source: OpenAI API reference, "Responses".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from bethink.agent.history_match import Responses
from bethink.agent.records import NumberedEvent
from bethink.errors import BadInput, UnknownId
from bethink.events import Place, RunDone
from bethink.messages import Attachment, ToolMessage, UserMessage
from bethink.web.deps import Caller, Served
from bethink.web.runs import followed
from bethink.web.sse import EventStream
from bethink.web.v1.chat import Completion, Dispatch, failed, request_of
from bethink.web.v1.errors import ERRORS
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
    Part,
    Share,
    Temperature,
    Tokens,
    listed,
    sound,
)
from bethink.web.v1.response_frames import ResponseFrames

if TYPE_CHECKING:
    from bethink.agent.request import BranchPoint
    from bethink.app import App
    from bethink.conversations.records import StoredMessage
    from bethink.principal import Principal

router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)

PREFIX: Final = "resp_"
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
    dispatch = Dispatch(app, caller, request, await request.body())
    kept = Responses(app.runs.stored)
    store = body.store is not False
    if body.background and not store:
        raise BadInput("background: a response that is not stored cannot be fetched; leave store: false out.")
    at = await _place(body, dispatch, kept)
    asked = _request(body, dispatch, alone=at is None)
    begun = await dispatch.begin(asked, conversation=at)
    previous = body.previous_response_id or ""
    if store:
        await kept.keep(
            caller, begun.run, conversation=begun.conversation, model=body.model, previous=previous
        )
    reply = dispatch.reply(
        f"{PREFIX}{begun.run}", body.model, begun.conversation, tools=asked.options.client_tools
    )
    frames = ResponseFrames(reply, about(dispatch.body, begun.conversation, previous))
    if body.background and not body.stream:
        now = await frames_so_far(app, caller, begun.run, frames)
        return JSONResponse(now.response(), headers=begun.headers)
    batches = app.runs.follow(caller, begun.run)
    if body.stream:
        return EventStream(batches, frames, headers=begun.headers)
    async for batch in batches:
        frames.written(batch)
    if (failure := frames.tally.failure) is not None:
        return failed(failure, frames.tally.failed_with, begun)
    return JSONResponse(frames.response(), headers=begun.headers)


@router.get("/responses/{response}", response_model=None)
async def get_response(
    response: str,
    request: Request,
    app: Served,
    caller: Caller,
    *,
    stream: bool = False,
    starting_after: Annotated[
        int | None, Query(ge=0, description="With `stream`: only the events behind this `sequence_number`.")
    ] = None,
) -> Response:
    """A response as it is now, or its events: those that were, then those that come.

    One that still runs tells what it said so far.
    """
    run = run_of(response)
    kept = await Responses(app.runs.stored).get(caller, run)
    reply = Dispatch(app, caller, request, b"").reply(response, kept.model, kept.conversation)
    if starting_after is not None and not stream:
        raise BadInput("starting_after works with stream=true only.")
    after = -1 if starting_after is None else starting_after
    frames = ResponseFrames(reply, about(b"{}", kept.conversation, kept.previous), after=after)
    if stream:
        return EventStream(
            await followed(app, caller, run, follow=lambda _: _again(app, caller, run)), frames
        )
    return JSONResponse((await frames_so_far(app, caller, run, frames)).response())


@router.get("/responses/{response}/input_items")
async def list_input_items(
    response: str,
    request: Request,
    app: Served,
    caller: Caller,
    *,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: Literal["asc", "desc"] = "desc",
    after: Annotated[str | None, Query(max_length=200, description="The items behind this one.")] = None,
) -> dict[str, Any]:
    """What a response answers: the message, or what functions had returned, that its request brought.

    What was said before it stands in its conversation.
    """
    run = run_of(response)
    kept = await Responses(app.runs.stored).get(caller, run)
    record = await app.runs.stored.get(caller, run)
    said = await Responses(app.runs.stored).input_of(caller, record)
    origin = Dispatch(app, caller, request, b"").page(kept.conversation).partition("/conversations/")[0]
    found = items_of(said, origin)
    items = {item["id"]: item for item in (found if order == "asc" else reversed(found))}
    return listed(items, limit, after, fault="after: this response has no input item {}.")


@router.delete("/responses/{response}")
async def delete_response(response: str, app: Served, caller: Caller) -> dict[str, Any]:
    """Have it not be found again; what was said stays in its conversation."""
    await Responses(app.runs.stored).delete(caller, run_of(response))
    return {"id": response, "object": "response", "deleted": True}


@router.post("/responses/{response}/cancel", response_model=None)
async def cancel_response(response: str, request: Request, app: Served, caller: Caller) -> Response:
    """Stop a response that still runs; what it said so far is kept."""
    run = run_of(response)
    await Responses(app.runs.stored).get(caller, run)
    if (await app.runs.stored.get(caller, run)).state in ("running", "waiting"):
        await app.runs.cancel(caller, run)
        with anyio.move_on_after(_CANCEL_S):
            async for _ in app.runs.follow(caller, run):
                pass
    return await get_response(response, request, app, caller)


async def _place(body: Asking, dispatch: Dispatch, kept: Responses) -> str | BranchPoint | None:
    """Where the request goes on; None where that is to be found by its history."""
    named = body.conversation.id if isinstance(body.conversation, Named) else body.conversation
    named = named or dispatch.conversation(body.metadata)
    if body.previous_response_id is None:
        return named
    if named is not None:
        raise BadInput("previous_response_id already names the conversation: leave the other one out.")
    return await kept.behind(dispatch.caller, run_of(body.previous_response_id))


def _request(body: Asking, dispatch: Dispatch, *, alone: bool) -> ChatRequest:
    """The request, read as a chat completion's; one that stands `alone` may bring its history."""
    messages = _messages(body.input)
    system = [ChatMessage(role="system", content=body.instructions)] if body.instructions else []
    completion = Completion.model_construct(
        model=body.model,
        messages=[*system, *messages],
        tools=body.tools,
        tool_choice=body.tool_choice,
        response_format=_format(body.text),
        temperature=body.temperature,
        top_p=body.top_p,
        reasoning_effort=body.reasoning and body.reasoning.effort,
        parallel_tool_calls=body.parallel_tool_calls,
        max_completion_tokens=body.max_output_tokens,
        metadata=body.metadata,
    )
    request = request_of(completion, dispatch)
    if not alone and not request.results and any(one.role == "tool" for one in messages):
        raise BadInput(
            "input: send what your functions returned in a request of its own, before a new message."
        )
    return request


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
                raise BadInput(
                    f"input: an item of the type {item.type[:60]!r} is not known here, or has no role."
                )
    return messages


def _format(given: TextConfig | None) -> Format | None:
    """`text.format` as chat completions write it: their `response_format`."""
    if given is None or given.format is None:
        return None
    written = given.format.model_dump(exclude_none=True, by_alias=True, exclude={"type"})
    kind = given.format.type
    if kind == "json_schema" and given.format.schema_ is None:
        raise BadInput(
            "text.format: schema is missing; a format of the type json_schema takes a name and a schema."
        )
    return Format(type=kind, json_schema=written if kind == "json_schema" else None)


async def frames_so_far(app: App, caller: Principal, run: str, frames: ResponseFrames) -> ResponseFrames:
    """The frames, told all that happened in the run so far."""
    record = await app.runs.stored.get(caller, run)
    await app.runs.stored.settle(caller, record.conversation)
    record = await app.runs.stored.get(caller, run)
    for event in await Responses(app.runs.stored).events(caller, record):
        frames.take(event)
    if record.state != "running" and not frames.ended:
        frames.take(RunDone(reason=record.reason or "awaiting_approval"))
    return frames


async def _again(app: App, caller: Principal, run: str) -> AsyncGenerator[list[NumberedEvent], None]:
    """All events of a run from its beginning, until its end; of one long ended what its messages tell."""
    record = await app.runs.stored.get(caller, run)
    if record.state == "running":
        async for batch in app.runs.follow(caller, run):
            yield batch
        return
    events = [*await Responses(app.runs.stored).events(caller, record)]
    if not events or not isinstance(events[-1], RunDone):
        events.append(RunDone(reason=record.reason or "awaiting_approval"))
    yield [NumberedEvent(Place(place), event) for place, event in enumerate(events, 1)]


def run_of(response: str) -> str:
    """The run that a response is.

    Raises:
        UnknownId: it is none.
    """
    if not response.startswith(PREFIX):
        raise UnknownId(f"There is no response {response[:80]!r}: their ids begin with {PREFIX}.")
    return response.removeprefix(PREFIX)


def about(body: bytes, conversation: str, previous: str) -> dict[str, Any]:
    """What a response says that its run does not: what was asked, and where it stands."""
    given: dict[str, Any] = msgspec.json.decode(body)
    said = {name: usual if given.get(name) is None else given[name] for name, usual in _ECHOED.items()}
    tools: list[dict[str, Any]] = given.get("tools") or []
    taken = [{"strict": None, **tool} for tool in tools if tool.get("type", "function") == "function"]
    return {
        **said,
        "tools": taken,
        "conversation": {"id": conversation},
        "previous_response_id": previous or None,
    }


def items_of(said: Sequence[StoredMessage], origin: str) -> list[dict[str, Any]]:
    """A message or a function's output for each, oldest first; files by their addresses at `origin`."""
    items: list[dict[str, Any]] = []
    for stored in said:
        match stored.message:
            case UserMessage(content=text, attachments=files):
                parts: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
                items.append(
                    {
                        "id": f"msg_{stored.id}",
                        "type": "message",
                        "role": "user",
                        "status": "completed",
                        "content": [*parts, *(_part(file, origin) for file in files)],
                    }
                )
            case ToolMessage(call=call, content=output):
                items.append(
                    {
                        "id": f"fco_{stored.id}",
                        "type": "function_call_output",
                        "status": "completed",
                        "call_id": call,
                        "output": output,
                    }
                )
            case _:
                pass
    return items


def _part(file: Attachment, origin: str) -> dict[str, Any]:
    address = f"{origin}{file.url}"
    if file.media_type.startswith("image/"):
        return {"type": "input_image", "detail": "auto", "image_url": address}
    return {"type": "input_file", "filename": file.name, "file_url": address}
