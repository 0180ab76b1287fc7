"""`/v1/responses/{id}`: a response told again, or from where its client left, and what it answers.

Source: OpenAI API reference, "Responses".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from bethink.agent.records import NumberedEvent
from bethink.agent.responses import Responses
from bethink.errors import BadInput, UnknownId
from bethink.events import Place, RunDone
from bethink.web.deps import Caller, Served
from bethink.web.run_events import followed
from bethink.web.sse import EventStream
from bethink.web.v1.dispatch import ACTIVITY, Talk
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.frames import Reply
from bethink.web.v1.input_items import items_of
from bethink.web.v1.json_limits import sound
from bethink.web.v1.response_frames import ResponseFrames

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from bethink.app import App
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
    reply = Reply(
        id=response,
        model=kept.model,
        page=Talk(app, caller, request, b"").page(kept.conversation),
        activity=request.headers.get(ACTIVITY, "").lower() == "reasoning",
    )
    if starting_after is not None and not stream:
        message = "starting_after: that is for a stream; give stream=true with it."
        raise BadInput(message)
    after = -1 if starting_after is None else starting_after
    frames = ResponseFrames(reply, about(b"{}", kept.conversation, kept.previous), after=after)
    if stream:
        return EventStream(
            await followed(app, caller, run, follow=lambda _: _again(app, caller, run)), frames
        )
    return JSONResponse((await told(app, caller, run, frames)).response())


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
    said = await Responses(app.runs.stored).brought(caller, record)
    origin = Talk(app, caller, request, b"").page(kept.conversation).partition("/conversations/")[0]
    items = items_of(said, origin)
    if order == "desc":
        items.reverse()
    ids = [item["id"] for item in items]
    if after is not None and after not in ids:
        message = f"after: this response has no input item {after[:80]!r}."
        raise BadInput(message)
    start = 0 if after is None else ids.index(after) + 1
    page = items[start : start + limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": start + limit < len(items),
    }


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


async def told(app: App, caller: Principal, run: str, frames: ResponseFrames) -> ResponseFrames:
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
        message = f"There is no response {response[:80]!r}: their ids begin with {PREFIX}."
        raise UnknownId(message)
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
