"""`GET /recall`: one question over everything that is remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field

from bethink.recall.service import RecallQuestion
from bethink.web.deps import Caller, Items, ResponseModel, Served

router = APIRouter(tags=["recall"])


class RecalledItem(ResponseModel):
    """One thing remembered. `score` is 0..1, comparable between questions."""

    id: str
    kind: str
    text: str
    score: float
    at: datetime = Field(description="When it was said or learnt.")
    source: str | None = Field(description="Where it came from.")
    title: str | None = Field(description="Of a passage: its document and page.")
    conversation: str | None = Field(description="Where it was said.")
    speaker: str | None = Field(description="Who said it: `owner`, `assistant` or a name.")
    valid_from: datetime | None = Field(description="Since when it is true, if known.")
    valid_until: datetime | None = Field(description="Until when it held; null while it does.")
    doubt: str | None = Field(description="Why it may no longer be true.")
    near: bool = Field(description="Near the question, and nothing found is known to answer it.")
    pasted: bool = Field(description="Holds a text that its owner pasted and did not write.")


class RecallAnswer(Items[RecalledItem]):
    """What was found, best first; `warnings` say why recall is worse than it should be."""

    tokens: int = Field(description="About how many tokens the texts take.")
    left_out: int = Field(description="How many were found that did not fit into the `budget`.")
    warnings: list[str]


@router.get("/recall")
async def recall(
    app: Served,
    caller: Caller,
    query: Annotated[str, Query(max_length=2000, description="A question or words.")],
    *,
    k: Annotated[
        int | None, Query(ge=1, le=200, description="At most so many; otherwise `memory_search_limit`.")
    ] = None,
    kinds: Annotated[str | None, Query(description="Kinds with commas between them; none is all.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Said at or after this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Said before this time.")] = None,
    as_of: Annotated[
        AwareDatetime | None, Query(description="What was true at this time, whenever it was said.")
    ] = None,
    conversation: Annotated[str | None, Query(description="Only what was said in it, by its id.")] = None,
    project: Annotated[str | None, Query(description="Only what belongs to this project.")] = None,
    budget: Annotated[int | None, Query(ge=1, description="At most so many tokens of text in all.")] = None,
) -> RecallAnswer:
    """Search everything that is remembered, without a language model."""
    wanted = None if kinds is None else {kind.strip() for kind in kinds.split(",") if kind.strip()}
    limit = app.settings.memory_search_limit if k is None else k
    question = RecallQuestion(
        query,
        limit,
        kinds=wanted,
        since=since,
        until=until,
        as_of=as_of,
        conversation=conversation,
        project=project,
        budget=budget,
    )
    answer = await app.recall.ask(caller, question)
    warning = app.recall.warning
    return RecallAnswer(
        items=[RecalledItem.of(hit) for hit in answer.hits],
        tokens=answer.tokens,
        left_out=answer.left_out,
        warnings=[warning] if warning else [],
    )
