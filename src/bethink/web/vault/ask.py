"""`POST /vault/ask`: a question to the agent that keeps the vault, answered at once or as it goes."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from bethink.errors import BethinkError
from bethink.tools.memory_agent import MAX_QUESTION_CHARS, VaultReply, sources
from bethink.web.deps import Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.sse import EventStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.agent.records import NumberedEvent

router = APIRouter(prefix="/vault", tags=["vault"])


class Question(Body):
    """What to ask, or to have noted."""

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    filters: Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=50)] = Field(
        default=[], description="In words, what must not be told, or only what may be: for this question."
    )
    stream: bool = Field(default=False, description="Answer with the events as they come, as SSE.")


class VaultAnswer(VaultReply):
    """What the memory agent answered."""

    reason: str = Field(description="Why it ended: `answered`, or a bound that it reached.")


@router.post(
    "/ask",
    response_model=VaultAnswer,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "The answer, or with `stream` its events"},
        **documented(409, 503),
    },
)
async def ask_vault(app: Served, caller: Caller, body: Question) -> VaultAnswer | Response:
    """Have the memory agent read the vault and answer; it notes what is new and worth keeping."""
    if body.stream:
        return EventStream(await _begun(app.asking.follow(caller, body.question, body.filters)))
    done = await app.asking.ask(caller, body.question, body.filters)
    if done.code:
        raise Failed(done.failure, done.code)
    reply = done.reply or app.asking.agent.stopped(done)
    return VaultAnswer(reply=reply, thoughts=done.thoughts, sources=list(sources(done)), reason=done.reason)


class Failed(BethinkError):
    """The memory agent could not answer."""

    status = 502

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


async def _begun(
    batches: AsyncGenerator[list[NumberedEvent], None],
) -> AsyncGenerator[list[NumberedEvent], None]:
    """The same events, once the first one is there: what refuses to begin is an answer of its own."""
    first = await anext(batches)

    async def all_of_them() -> AsyncGenerator[list[NumberedEvent], None]:
        async with aclosing(batches):
            yield first
            async for batch in batches:
                yield batch

    return all_of_them()
