"""`GET /recall`: one question over everything that is remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, Field

from bethink.web.caller import Caller, Served

router = APIRouter(tags=["recall"])


class RecalledItem(BaseModel):
    """One thing remembered. `score` is 0..1, comparable between questions."""

    id: str
    kind: str
    text: str
    score: float
    at: datetime = Field(description="When it was said or learnt.")
    source: str | None = Field(description="Where it came from.")


class RecallAnswer(BaseModel):
    """What was found, best first; `warnings` say why recall is worse than it should be."""

    items: list[RecalledItem]
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
    as_of: Annotated[AwareDatetime | None, Query(description="What was held to be true then.")] = None,
) -> RecallAnswer:
    """Search everything that is remembered, without a language model."""
    wanted = None if kinds is None else {kind.strip() for kind in kinds.split(",") if kind.strip()}
    limit = app.settings.memory_search_limit if k is None else k
    hits = await app.recall.search(caller, query, limit, kinds=wanted, since=since, until=until, as_of=as_of)
    warning = app.recall.warning
    return RecallAnswer(
        items=[
            RecalledItem(
                id=hit.id, kind=hit.kind, text=hit.text, score=hit.score, at=hit.at, source=hit.source
            )
            for hit in hits
        ],
        warnings=[warning] if warning else [],
    )
