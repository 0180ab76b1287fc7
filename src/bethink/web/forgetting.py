"""Taking memories out of use, which can be undone, and forgetting them for good, which cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from bethink.errors import BadInput
from bethink.forgetting.selection import MAX_FOUND, ForgetRequest, Kept
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Moment,
    ResponseModel,
    Served,
    Timestamp,
    whole,
)
from bethink.web.memories import Memory, MemoryChange, change_of, fact_of
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.forgetting.selection import Receipt

router = APIRouter(prefix="/memories", tags=["memories"])

_ALL = "Every memory, and what was said in conversations."
_KINDS = "With `all`: what goes besides, as a whole, such as `pages`, `files` or `people`."
_CONVERSATIONS = (
    "With `all`: `keep` (the default) takes all that was said out of recall and keeps it to be read; "
    "`remove` removes all conversations."
)
_OTHERS = (
    "With `all`: what else there is, and what of it goes. "
    "With a `query`: what else holds its words, all of which goes."
)
_MORE = f"Whether more answers the query than the best `k`: give a larger one, at most {MAX_FOUND}."


class Forgotten(ResponseModel):
    """The receipt: what is gone for good, by ids and counts. It quotes nothing and is kept nowhere."""

    counts: dict[str, int] = Field(description="How much is gone, or out of recall, by kind.")

    forgotten: int = Field(description="How many memories, their earlier and later versions included.")
    at: Timestamp
    memories: list[str]
    messages: list[str] = Field(
        description="Messages whose sentences about it were replaced by `[forgotten]`."
    )
    conversations: list[str] = Field(description="Conversations that got another title.")
    doubted: list[str] = Field(description="Memories that depended on forgotten ones.")
    people: list[str] = Field(description="People in whose records something told of it.")
    pages: list[str] = Field(description="Pages of the vault out of which something went, by their ids.")
    outside: list[str] = Field(description="What no forgetting here can reach.")
    has_more: bool = Field(description=_MORE)


class ForgottenSentences(ResponseModel):
    """What would go out of one message."""

    message: str
    conversation: str
    by_owner: bool
    at: Timestamp
    sentences: list[str]


class ForgottenOfPerson(ResponseModel):
    """What would go out of a person's record."""

    person: str
    name: str
    parts: list[str]


class ForgottenOfPage(ResponseModel):
    """What would go out of a page of the vault."""

    path: str
    parts: list[str]


class ForgottenKind(ResponseModel):
    """How much there is of one kind, or how much of it holds the words of a query, and whether it goes."""

    kind: str
    goes: bool
    count: int
    lines: list[str] = Field(
        description="The first of their names; with a `query` everything that would be forgotten."
    )
    shared: str = Field(description="Who else uses them, as a sentence; empty if nobody does.")


class ForgetPreview(ResponseModel):
    """What would go. Nothing has: send the same again with `confirm` set to `token`."""

    token: str
    memories: list[Memory]
    versions: list[Memory] = Field(description="What these were before or became since: they go too.")
    messages: list[ForgottenSentences]
    conversations: list[str] = Field(description="Conversations that would get another title.")
    people: list[ForgottenOfPerson] = Field(description="Records of people that tell of it.")
    pages: list[ForgottenOfPage] = Field(description="Pages of the vault about it.")
    has_more: bool = Field(description=_MORE)
    kinds: list[ForgottenKind] = Field(description=_OTHERS)


class ForgetBody(Body):
    """What to forget, in one way: `ids`, `query`, `since` and `until`, or `all`."""

    ids: Annotated[list[str], Field(max_length=1000)] = Field(default_factory=list)
    query: Annotated[str | None, Field(max_length=2000, description="A question or words.")] = None
    k: Annotated[int, Field(ge=1, le=MAX_FOUND, description="What `query` finds at most.")] = 20
    since: Annotated[Moment, Field(description="What was learnt from then on.")] = None
    until: Annotated[Moment, Field(description="What was learnt before.")] = None
    all: Annotated[bool, Field(description=_ALL)] = False
    kinds: Annotated[list[str], Field(max_length=20, description=_KINDS)] = Field(default_factory=list)
    conversations: Annotated[Kept | None, Field(description=_CONVERSATIONS)] = None
    confirm: Annotated[
        str | None, Field(max_length=100, description="The token of the preview that was agreed to.")
    ] = None


@router.post("/forget", dependencies=[SEES_ALL], responses=documented(409, 503))
async def forget_memories(body: ForgetBody, app: Served, caller: Caller) -> ForgetPreview | Forgotten:
    """Show what would be forgotten; with its token as `confirm`, forget it for good."""
    wanted = ForgetRequest(**body.model_dump(exclude={"all", "confirm"}), everything=body.all)
    if body.confirm is not None:
        return _receipt(await app.forgetting.confirm(caller, wanted, body.confirm))
    preview = await app.forgetting.preview(caller, wanted)
    if preview.whole is None:
        kinds = [ForgottenKind.of(one, goes=True, shared="") for one in preview.held]
    else:
        kinds = [ForgottenKind.of(one, goes=True) for one in preview.whole.counts]
        kinds += [ForgottenKind.of(one, goes=False) for one in preview.whole.others]
    people = [one for one in preview.records if one.kind == "people"]
    return ForgetPreview.of(
        preview,
        memories=preview.facts,
        messages=preview.said,
        conversations=preview.titles,
        people=[ForgottenOfPerson.of(one, person=one.id) for one in people],
        kinds=kinds,
    )


@router.delete("", dependencies=[SEES_ALL])
async def forget_all_memories(
    app: Served,
    caller: Caller,
    *,
    confirm: bool = False,
    kinds: Annotated[list[str] | None, Query(max_length=20, description=_KINDS)] = None,
    conversations: Annotated[Kept, Query(description=_CONVERSATIONS)] = "keep",
) -> Forgotten:
    """Forget everything for good: every memory, and what was said in conversations."""
    wanted = ForgetRequest(everything=True, kinds=kinds or [], conversations=conversations)
    if not confirm:
        preview = await app.forgetting.preview(caller, wanted)
        raise BadInput(
            f"This would forget {' and '.join(preview.counts)} for good. Add confirm=true to do it."
        )
    return _receipt(await app.forgetting.forget_all(caller, wanted))


@router.delete("/{memory}", responses=documented(404, 409))
async def remove_memory(
    memory: str,
    app: Served,
    caller: Caller,
    reader_filter: CallerFilter,
    *,
    forget: Annotated[bool, Query(description="For good, instead of in a way that can be undone.")] = False,
) -> MemoryChange | Forgotten:
    """Take a memory out of recall, which can be undone, or forget it for good."""
    if not forget:
        return change_of(await app.memory.retract(caller, memory), reader_filter)
    whole(reader_filter)
    await fact_of(app, caller, memory)
    return _receipt(await app.forgetting.forget(caller, [memory]))


def _receipt(receipt: Receipt) -> Forgotten:
    return Forgotten.of(
        receipt,
        forgotten=len(receipt.facts),
        memories=receipt.facts,
        conversations=receipt.titles,
        people=receipt.records.get("people", ()),
    )
