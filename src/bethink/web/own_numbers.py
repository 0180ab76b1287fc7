"""`/memories/statistics` and `/memories/questions`: how well its owner is known, and what was not found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.memory import NewFact, Source
from bethink.reflection.months import months_of
from bethink.reflection.questions import OpenQuestions
from bethink.web.deps import SEES_ALL, Body, Caller, CallerFilter, ResponseModel, Served, Timestamp
from bethink.web.memories import MemoryChange, change_of
from bethink.web.problems import documented

router = APIRouter(prefix="/memories", tags=["memories"])


class KnownMonth(ResponseModel):
    """What was known, and what became of it, in one month (UTC)."""

    month: str = Field(description="Such as `2026-11`.")
    known: int = Field(description="Memories in use that had been learnt by its end.")
    learnt: int = Field(description="Of these, learnt in the month.")
    recalled: int = Field(description="Answers that were given with memories.")
    used: int = Field(description="Answers whose text names a memory.")
    corrected: int = Field(description="Memories that were changed or corrected.")
    forgotten: int = Field(description="Memories that were forgotten for good.")


class UnansweredQuestion(ResponseModel):
    """What was asked and not found."""

    id: str
    text: str
    at: Timestamp
    conversation: str


class OwnNumbers(BaseModel):
    """How well you are known."""

    months: list[KnownMonth] = Field(description="The last two years, oldest first.")
    questions: list[UnansweredQuestion] = Field(description="Open, the newest first.")


class AnswerBody(Body):
    """The answer, as a memory to keep."""

    content: Annotated[str, Field(min_length=1, max_length=8_000)]


@router.get("/statistics", dependencies=[SEES_ALL])
async def get_own_numbers(app: Served, caller: Caller) -> OwnNumbers:
    """How well you are known, month by month, and the questions about you that found nothing."""
    months = await months_of(app.ports.store, caller.owner)
    questions = await app.features.of(OpenQuestions).open(caller)
    return OwnNumbers(
        months=[KnownMonth.of(one) for one in months],
        questions=[UnansweredQuestion.of(one) for one in questions],
    )


@router.post("/questions/{id}/answer", dependencies=[SEES_ALL], responses=documented(404, 409))
async def answer_question(
    id: str, body: AnswerBody, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Answer a question once: the answer is kept as your own memory."""
    questions = app.features.of(OpenQuestions)
    await questions.get(caller, id)
    changed = await app.memory.add(caller, NewFact(body.content, source=Source(kind="person")))
    await questions.close(caller, id, fact=changed.fact.id)
    return change_of(changed, reader_filter)


@router.post("/questions/{id}/dismiss", dependencies=[SEES_ALL], responses=documented(404, 409))
async def dismiss_question(id: str, app: Served, caller: Caller) -> UnansweredQuestion:
    """Leave a question unanswered: it is not asked again."""
    return UnansweredQuestion.of(await app.features.of(OpenQuestions).close(caller, id))
