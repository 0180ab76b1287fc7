"""`/runs/{id}`: follow a run, stop it, decide about the calls that wait.

Who began a run may follow it, since it reads for them. Other readers with a filter get its events
filtered, once it is over.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import anyio.to_thread
from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, Field, model_validator

from bethink.agent.records import NumberedEvent
from bethink.agent.stored_runs import ApprovalChoice
from bethink.errors import NotAllowed
from bethink.events import Place, ReasoningDelta, TextDelta
from bethink.questions import GivenAnswer
from bethink.web.deps import Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.sse import EventStream, event_stream

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

    Follow = Callable[[Place], AsyncGenerator[list[NumberedEvent], None]]


router = APIRouter(prefix="/runs/{run}", tags=["runs"], responses=documented(404))

_PLACE = r"^[0-9]{1,15}(\.[0-9]{1,15})?$"


class RunRef(BaseModel):
    """A run."""

    run: str


class Decided(RunRef):
    """What a decision did: `goes_on` when no other call of the run waits any more."""

    goes_on: bool


class DecisionBody(Body):
    """The owner's decision about a waiting call."""

    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = Field(None, description="With `edit`: what to call it with instead.")
    always: bool = Field(
        default=False,
        description="Decide so about this tool from now on. What cannot be undone asks each time.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.always and self.decision == "edit":
            raise ValueError("always belongs to approve or reject: other calls have other arguments")
        if (self.decision == "edit") != (self.arguments is not None):
            raise ValueError("arguments belong to the decision `edit`, and to no other")
        return self


@router.get(
    "/events",
    response_class=Response,
    responses={200: event_stream("The run's events, as they come, until its end")},
)
async def follow_run(
    run: str,
    app: Served,
    caller: Caller,
    after: Annotated[
        str | None, Query(pattern=_PLACE, description="The last place that the reader saw.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(pattern=_PLACE, description="The same, as a browser says it; it wins.")
    ] = None,
) -> Response:
    """The run's events behind a place: first what is there already, then what comes.

    A reader whose place is not known any more gets a `text_so_far` first.
    """
    record = await app.runs.stored.get(caller, run)
    place = Place.parse(last_event_id or after or "0") or Place(0)
    if record.state == "dropped" and place == Place(0):
        # Nothing is left to stream; asking for it once raises the error that says so.
        async for _ in app.runs.follow(caller, run, place):
            break
    return EventStream(
        await followed(app, caller, run, follow=partial(app.runs.follow, caller, run), after=place)
    )


@router.post("/cancel", status_code=202)
async def cancel_run(run: str, app: Served, caller: Caller) -> RunRef:
    """Stop a run; what it said so far is kept, and its events tell its end."""
    await app.runs.cancel(caller, run)
    return RunRef(run=run)


@router.post("/approvals/{call}", status_code=202)
async def decide(run: str, call: str, body: DecisionBody, app: Served, caller: Caller) -> Decided:
    """Decide about a waiting call; after the last one the run goes on under the same id."""
    choice = ApprovalChoice(body.decision, body.arguments, body.always)
    goes_on = await app.runs.approvals.decide(caller, run, call=call, choice=choice)
    return Decided(run=run, goes_on=goes_on)


class CallAnswerBody(Body):
    """What the owner answers to a question of a running call."""

    action: Literal["accept", "decline", "cancel"]
    values: dict[str, Any] = Field(
        default_factory=dict, description="With `accept` of a form: the values of its fields, by name."
    )


@router.post("/questions/{question}", status_code=202)
async def answer_call_question(
    run: str, question: str, body: CallAnswerBody, app: Served, caller: Caller
) -> RunRef:
    """Answer what a running call asks (`question_asked`); the values go to who asked and are kept nowhere."""
    await app.runs.answer_question(caller, run, GivenAnswer(question, body.action, body.values))
    return RunRef(run=run)


_OTHERS = "Another program started this run, and it may have read what this one must not."


async def followed(
    app: App, caller: Principal, run: str, *, follow: Follow, after: Place | None = None
) -> AsyncGenerator[list[NumberedEvent], None]:
    """The run's events behind a place, as `follow` gives them, filtered for the caller.

    Raises:
        NotAllowed: it still runs, and reads for somebody else.
    """
    after = after or Place(0)
    reader_filter = await app.visibility.filter_for(caller)
    if reader_filter is None:
        return follow(after)
    record = await app.runs.stored.get(caller, run)
    if record.state in {"waiting", "ended"}:
        return _over(reader_filter, follow, after)
    if record.state == "running" and record.audience != caller.audience:
        raise NotAllowed(_OTHERS)
    return follow(after)


async def _over(
    reader_filter: ReaderFilter, follow: Follow, after: Place
) -> AsyncGenerator[list[NumberedEvent], None]:
    """The events of a run that is over. A text across the place is sent whole.

    Cut at a place of the reader's choice, the half of a hidden word would not be recognised.
    """
    events: list[NumberedEvent] = []
    async with aclosing(follow(Place(0))) as batches:
        async for batch in batches:
            events += batch
    yield [
        one for one in await anyio.to_thread.run_sync(_filtered, events, reader_filter) if one.place > after
    ]


def _filtered(events: Iterable[NumberedEvent], reader_filter: ReaderFilter) -> list[NumberedEvent]:
    joined: list[NumberedEvent] = []
    for one in events:
        match one.event, joined[-1].event if joined else None:
            case (TextDelta(text=more), TextDelta(text=text)):
                joined[-1] = NumberedEvent(one.place, TextDelta(text=f"{text}{more}"))
            case (ReasoningDelta(text=more), ReasoningDelta(text=text)):
                joined[-1] = NumberedEvent(one.place, ReasoningDelta(text=f"{text}{more}"))
            case _:
                joined.append(one)
    return [NumberedEvent(one.place, reader_filter.event(one.event)) for one in joined]
