"""`/conversations`: make, list, search, read, rename, export and delete them, and talk in one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bethink.agent.request import BranchPoint, RunOptions
from bethink.agent.toolbox import Prepared
from bethink.clock import to_datetime
from bethink.conversations.export import MEDIA_TYPES, ExportFormat, exported, file_name
from bethink.conversations.records import ARCHIVED, NEW_TITLE, TRASHED
from bethink.conversations.service import ConversationEdit, ConversationFilter, ConversationStart
from bethink.errors import UnknownId
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from bethink.recall.message_search import MAX_QUERY_CHARS, MessageHit
from bethink.web.deps import Body, Caller, Cursor, Label, Limit, Page, ResponseModel, Served, Timestamp
from bethink.web.files import disposition
from bethink.web.messages import ChatAnswer, Message, Waiting, collected, shown
from bethink.web.problems import documented
from bethink.web.sse import STREAM, EventStream, JsonFrames, event_stream
from bethink.web.v1.frames import OpenAiFrames, asks_for_profile

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.conversations import records as kept
    from bethink.principal import Principal

router = APIRouter(prefix="/conversations", tags=["conversations"])


def _asks_as_ums(
    app: Served, origin: Annotated[str, Header(max_length=300, include_in_schema=False)] = ""
) -> bool:
    return origin.lower() in app.settings.ums_pages


AsUms = Annotated[bool, Depends(_asks_as_ums)]
"""Whether a page of the Users Management Agent asks, which expects the shapes of spec 001 and its api.md."""
_UMS_TITLE: Final = "New Conversation"
_UMS_DELETED: Final = {"message": "Conversation deleted successfully"}
_STREAMED: dict[str, Any] = {
    "description": "As server-sent events for who accepts them: each is a `ConversationChange` as JSON.",
    "content": {STREAM: {"schema": {"type": "string"}}},
}


_Role = Literal["user", "assistant", "tool"]


_ROLES: dict[type[UserMessage | AssistantMessage | ToolMessage], _Role] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolMessage: "tool",
}
_INTERRUPTED = "Bethink was stopped during this answer. The text so far is kept; ask again for the rest."


class FoundMark(BaseModel):
    """Where a sought word stands in the snippet: from the character `start` to before `end`."""

    start: int
    end: int


class FoundMessage(ResponseModel):
    """A message that matches the search."""

    message: str = Field(description="Its id.")
    conversation: str
    title: str = Field(description="The conversation's.")
    role: _Role
    at: Timestamp
    snippet: str = Field(description="The part of its text around the first word that was found.")
    marks: list[FoundMark]
    branch: int
    position: int = Field(description="`GET /conversations/{id}?at=` shows it among its neighbours.")
    active: bool = Field(
        description="Whether it is on the active branch; otherwise"
        " `PATCH /conversations/{id}` with its `branch` shows it."
    )


class FoundMessages(Page[FoundMessage]):
    """Some of what was found, the best first: with most of the words."""


class SummaryShown(ResponseModel):
    """What the model is told of the earlier part of a conversation; the messages themselves are kept."""

    text: str
    at: Timestamp = Field(description="When it was written.")
    covered_messages: int = Field(
        description="It replaces this number of first messages of the active branch."
    )


class Conversation(ResponseModel):
    """One conversation; `active_run` is the run that answers in it, or that waits for an approval.

    `message_count` counts the messages of its active branch.
    """

    id: str
    title: str
    created_at: Timestamp
    updated_at: Timestamp
    message_count: int
    archived: bool
    project: str | None
    active_run: str | None
    branch: int = Field(description="The active branch, whose messages are shown.")
    branch_count: int = Field(description="How many branches it has; 1 until something is edited.")
    spent: list[JobCost] = Field(description="What it cost so far, on all branches; a run's when it ends.")
    model: str | None = Field(
        description="The model of its runs, `provider:name`; null is the settings' own."
    )
    system: str = Field(
        description="Added to Bethink's own system prompt in its runs; not one of its messages."
    )
    temporary: bool = Field(
        description="Not listed, not searched, not recalled from, and removed a day after its last change."
    )
    origin: str = Field(description="The program that it was imported from, such as ChatGPT; else empty.")
    pinned: bool = Field(description="It stands before all others.")
    unread: bool = Field(description="An answer ended in it that nobody has looked at: `PATCH` says it.")
    needs_you: bool = Field(description="A call in it waits for its owner's decision.")
    trashed_at: Timestamp | None = Field(
        description="Since when it is in the trash, where it is kept for 30 days; else null."
    )


class ConversationChange(BaseModel):
    """A conversation as it is now; null if it is gone."""

    id: str
    conversation: Conversation | None


class JobCost(ResponseModel):
    """What the requests of one job cost so far: `chat`, `extraction`, `title` or `summary`."""

    job: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="Null if no price is known.")
    estimated: bool = Field(description="The provider did not count some of it.")


class WindowFilled(ResponseModel):
    """What filled the model's window at the last answer's first request, in tokens, about."""

    system: int
    tools: int
    memory: int
    summary: int = Field(description="The summary of the earlier part of a long conversation.")
    history: int
    window: int = Field(description="The size of the window.")


class ConversationPage(Page[Conversation]):
    """Some conversations, the last changed first."""

    total: int = Field(description="How many there are on all pages.")


Prompt = Annotated[str, Field(max_length=20_000, description="A system prompt; empty is none.")]


class BranchBody(Body):
    """Where to go on."""

    message: str = Field(max_length=200, description="A message's id, on any branch.")


class Interrupted(ResponseModel):
    """That the last answer broke off because Bethink stopped."""

    run: str
    at: Timestamp
    message: str


class ConversationShown(Conversation):
    """A conversation with some of its messages, oldest first."""

    messages: list[Annotated[Message, Field(discriminator="role")]]
    cursor: str | None = Field(description="Leads to the older messages, as `before`; null at the start.")
    window: WindowFilled | None = Field(description="Null on older pages, and before the first answer.")
    interrupted: Interrupted | None
    waiting: list[Waiting]


class NewConversation(Body):
    """What a conversation may begin with."""

    title: Annotated[
        str | None, Field(description="1 to 200 characters; by default the first words said in it.")
    ] = None
    project: Label | None = None
    model: Label | None = None
    system: Prompt = ""
    temporary: Annotated[
        bool,
        Field(
            description="Keep it out of lists, searches and recall; remove it a day after its last change."
        ),
    ] = False


class ConversationPatch(Body):
    """What to change; fields that are left out stay. A null `model` or `project` takes it away."""

    title: str | None = None
    archived: bool | None = None
    pinned: bool | None = None
    unread: bool | None = None
    trashed: Annotated[
        bool | None,
        Field(description="Move it to the trash, from which it goes for good after 30 days; or back."),
    ] = None
    project: Label | None = None
    model: Label | None = None
    system: Prompt | None = None
    branch: Annotated[
        int | None,
        Field(ge=0, description="Make this branch the active one: see a message's `siblings`."),
    ] = None


class Said(BaseModel):
    """A message of the owner; what else a client's message holds is passed over."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user"] = "user"
    content: str = Field(min_length=1)
    attachments: Annotated[list[str], Field(max_length=100)] | None = Field(
        default=None,
        description="Ids of the conversation's files, as `POST /conversations/{id}/files` gave them."
        " An edit that has none keeps those of the message that it replaces.",
    )
    untrusted: bool = Field(
        default=False,
        description="The text holds what a server's prompt gave: it does not count as your own words.",
    )


_Position = Annotated[int | None, Field(ge=0, le=1_000_000_000)]
_MessageId = Annotated[str, Field(max_length=200)]


class ChatBody(Body):
    """A message to answer, behind the last one, or elsewhere by one of `edit`, `parent` and `regenerate`.

    Those three name a message by its id and begin a branch there, which becomes the active one. What was
    said there before is kept: `GET /conversations/{id}` shows both as `siblings`, and `PATCH` goes back.
    """

    message: Said | None = Field(default=None, description="Left out only with `regenerate`.")
    stream: bool = True
    edit: _MessageId | None = Field(
        default=None, description="Say this in place of that message, which was the owner's."
    )
    parent: _MessageId | None = Field(default=None, description="Say this behind that message.")
    regenerate: _MessageId | None = Field(
        default=None,
        description="Answer again: that message of the owner, or the one that was answered by it.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(named is not None for named in (self.edit, self.parent, self.regenerate)) > 1:
            raise ValueError("give at most one of edit, parent and regenerate")
        if (self.message is None) != (self.regenerate is not None):
            raise ValueError("give a message, or a message's id to regenerate, and not both")
        return self

    def place(self, conversation: str) -> str | BranchPoint:
        """Where it is said."""
        if self.edit is not None:
            return BranchPoint(conversation, self.edit, "edit")
        if self.parent is not None:
            return BranchPoint(conversation, self.parent, "behind")
        if self.regenerate is not None:
            return BranchPoint(conversation, self.regenerate, "again")
        return conversation


@router.get("/search", responses=documented(404))
async def search_messages(
    app: Served,
    caller: Caller,
    *,
    query: Annotated[str, Query(min_length=1, max_length=MAX_QUERY_CHARS, description="Words.")],
    conversation: Annotated[
        str | None, Query(max_length=200, description="Only in this one, by its id.")
    ] = None,
    project: Annotated[str | None, Query(max_length=200, description="Only in this project's.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> FoundMessages:
    """Messages that hold words of the query, in any form, over all conversations or in one.

    Tools' results are not searched, nor what was said in temporary conversations.
    At most the best 1,000 messages are reached.
    """
    page = await app.message_search.search(
        caller, query, conversation=conversation, project=project, limit=limit, cursor=cursor
    )
    return FoundMessages(items=[_found(found) for found in page.items], cursor=page.cursor)


@router.get(
    "/{conversation}/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {kind: {} for kind in MEDIA_TYPES.values()}},
        **documented(404),
    },
)
async def export_conversation(
    conversation: str,
    app: Served,
    caller: Caller,
    *,
    format: Annotated[
        ExportFormat,
        Query(description="`md` is the active branch, for people; `json` has all branches, for programs."),
    ] = "md",
) -> StreamingResponse:
    """The whole conversation as a file, named after its title."""
    held = (await app.conversations.get(caller, conversation)).record

    async def body() -> AsyncGenerator[bytes]:
        async for part in exported(app.ports.store, caller, held, format=format):
            yield part.encode()

    return StreamingResponse(
        body(),
        media_type=MEDIA_TYPES[format],
        headers={
            "content-disposition": disposition(file_name(held, format)),
            "x-content-type-options": "nosniff",
        },
    )


@router.get("/{conversation}/summary", responses=documented(404))
async def get_summary(conversation: str, app: Served, caller: Caller) -> SummaryShown:
    """The summary that stands for the earlier part of a long conversation; 404 where there is none."""
    held = (await app.conversations.get(caller, conversation)).record
    summary = await app.runs.stored.summary(caller, held)
    if summary is None:
        raise UnknownId("This conversation has no summary: its model still reads all of it.")
    return SummaryShown.of(summary, text=summary.message.content, covered_messages=summary.position)


@router.post("", status_code=201, responses=documented(507))
async def create_conversation(
    app: Served, caller: Caller, as_ums: AsUms, body: NewConversation | None = None
) -> Conversation:
    """A new, empty conversation."""
    given = body or NewConversation()
    app.models.check(given.model)
    start = ConversationStart(**given.model_dump())
    made = _conversation(await app.conversations.create(caller, start))
    return _titled(made) if as_ums else made


@router.get("/events", response_model=ConversationPage, responses={200: _STREAMED})
async def follow_conversations(
    app: Served,
    caller: Caller,
    *,
    accept: Annotated[str, Header(max_length=1_000, include_in_schema=False)] = "",
) -> ConversationPage | Response:
    """Conversations as they change, for ever, or the last changed for who does not take a stream."""
    if STREAM not in accept:
        return await list_conversations(app, caller, limit=50, cursor=None)
    frames: JsonFrames[ConversationChange] = JsonFrames(lambda change: change)
    return EventStream(_changes(app, caller.lasting), frames, until=app.stopping)


async def _changes(app: App, caller: Principal) -> AsyncGenerator[list[ConversationChange]]:
    async with aclosing(app.conversations.follow(caller)) as news:
        async for ids in news:
            found = {one.record.id: one.record for one in await app.conversations.those(caller, ids)}
            waiting = await app.runs.stored.waiting(caller)
            yield [
                ConversationChange(
                    id=id, conversation=_conversation(found[id], waiting) if id in found else None
                )
                for id in ids
            ]


@router.get("", response_model=ConversationPage)
async def list_conversations(
    app: Served,
    caller: Caller,
    *,
    as_ums: AsUms = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    archived: bool = False,
    trashed: bool = False,
    project: Annotated[str | None, Query(max_length=200, description="Only those of this project.")] = None,
    pinned: Annotated[bool | None, Query(description="Only those that are pinned, or are not.")] = None,
    needs_you: Annotated[bool, Query(description="Only those, wherever, in which a decision waits.")] = False,
) -> ConversationPage | Response:
    """Conversations, the last changed first; the archived ones, those in the trash, or all others."""
    waiting = await app.runs.stored.waiting(caller)
    if needs_you:
        found = await app.conversations.those(caller, list(waiting))
        items = [_conversation(item.record, waiting) for item in found]
        return ConversationPage(items=items, cursor=None, total=len(items))
    place = "trash" if trashed else "archive" if archived else "list"
    wanted = ConversationFilter(place=place, project=project, pinned=pinned)
    page = await app.conversations.list(caller, wanted, limit=limit, cursor=cursor)
    total = await app.conversations.count(caller, wanted)
    settled = await app.runs.stored.settled(caller, page.items)
    items = [_conversation(item.record, waiting) for item in settled]
    if as_ums:
        return JSONResponse([_titled(item).model_dump(mode="json") for item in items])
    return ConversationPage(items=items, cursor=page.cursor, total=total)


@router.get("/{conversation}", responses=documented(404))
async def get_conversation(
    conversation: str,
    app: Served,
    caller: Caller,
    *,
    limit: Limit = 50,
    before: Cursor = None,
    after: Annotated[_Position, Query(description="The messages behind the one at this position.")] = None,
    at: Annotated[_Position, Query(description="Those around the one at this position.")] = None,
) -> ConversationShown:
    """A conversation with its newest messages, or some of its others; oldest first.

    Give at most one of `before` (a cursor, or a position), `after` and `at`; the first given counts.
    """
    held = (await app.runs.stored.settle(caller, conversation)).record
    if before is None and after is not None:
        before = str(after + 1 + limit)
    elif before is None and at is not None:
        before = str(at + 1 + limit // 2)
    page = await app.conversations.messages(caller, held, limit=limit, before=before)
    messages = [item.record for item in page.items if after is None or item.record.position > after][::-1]

    def label_of(call: ToolCall) -> str:
        prepared = app.toolbox.prepare(call)
        return prepared.label if isinstance(prepared, Prepared) else call.name

    window, interrupted = None, None
    if messages and messages[-1].position + 1 == held.count:
        filled = next((one.filled for one in reversed(messages) if one.filled is not None), None)
        window = filled and WindowFilled.of(filled)
        if messages[-1].stop_reason == "interrupted":
            interrupted = Interrupted.of(messages[-1], message=_INTERRUPTED)
    waits = await _waiting(app, caller, held.active_run)
    return ConversationShown(
        **_conversation(held, {held.id: ""} if waits else {}).model_dump(),
        messages=[shown(held, message, label_of) for message in messages],
        cursor=page.cursor,
        window=window,
        interrupted=interrupted,
        waiting=waits,
    )


@router.patch("/{conversation}", responses=documented(404, 409))
async def change_conversation(
    conversation: str, body: ConversationPatch, app: Served, caller: Caller
) -> Conversation:
    """Rename, pin, archive, trash or bring back, move to a project, choose its model, prompt or branch.

    Another branch cannot be chosen while it is being answered (409).
    """
    app.models.check(body.model)
    if body.branch is not None:
        await app.runs.stored.settle(caller, conversation)
    if body.trashed:
        await app.runs.trash(caller, conversation)
    edit = ConversationEdit(**body.given(empties=("model", "project")))
    held = await app.conversations.edit(caller, conversation, edit)
    return _conversation(held, await app.runs.stored.waiting(caller))


@router.post("/{conversation}/branch", responses=documented(404, 409))
async def branch_conversation(
    conversation: str, body: BranchBody, app: Served, caller: Caller
) -> Conversation:
    """Go on from one of its messages: what comes next stands behind it, on a branch of its own.

    What was said behind it before stays, as another branch. From the last message of a branch it goes
    on there, and no new branch is made.
    """
    await app.runs.stored.settle(caller, conversation)
    return _conversation(await app.conversations.part(caller, conversation, body.message))


@router.delete(
    "/{conversation}",
    status_code=204,
    response_class=Response,
    response_model=None,
    responses=documented(404, 409),
)
async def delete_conversation(
    conversation: str, app: Served, caller: Caller, as_ums: AsUms
) -> Response | None:
    """Remove a conversation with all that was said; one that is being answered is stopped first."""
    await app.runs.delete_conversation(caller, conversation)
    return JSONResponse(_UMS_DELETED) if as_ums else None


@router.post(
    "/{conversation}/chat",
    response_model=ChatAnswer,
    responses={
        200: event_stream("The run's events as they come, or with `stream: false` its whole answer"),
        **documented(404, 409, 507),
    },
)
async def chat(
    conversation: str,
    body: ChatBody,
    app: Served,
    caller: Caller,
    *,
    as_ums: AsUms = False,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response | ChatAnswer:
    """Say something and get the answer; a client that leaves does not end it.

    With `Accept: text/event-stream; profile=openai` the stream is the
    conversation's id, and then `chat.completion.chunk` objects as OpenAI sends them.
    """
    content, files = (body.message.content, body.message.attachments) if body.message else (None, None)
    options = RunOptions(untrusted=body.message is not None and body.message.untrusted)
    place = body.place(conversation)
    run = await app.runs.start(caller, place, content, files=files, options=options)
    batches = app.runs.follow(caller, run)
    if body.stream:
        frames = OpenAiFrames(conversation, run) if as_ums or asks_for_profile(accept) else None
        return EventStream(batches, frames)
    answer = await collected(batches, conversation=conversation, run=run)
    if as_ums and answer.error is None:
        return JSONResponse({"content": answer.message.content, "conversation_id": conversation})
    return answer


def _titled(conversation: Conversation) -> Conversation:
    """The conversation, called as the Users Management Agent calls a new one."""
    if conversation.title != NEW_TITLE:
        return conversation
    return conversation.model_copy(update={"title": _UMS_TITLE})


def _conversation(record: kept.Conversation, waiting: Collection[str] = ()) -> Conversation:
    return Conversation.of(
        record,
        message_count=record.count,
        branch_count=len(record.branches) or 1,
        archived=record.archived == ARCHIVED,
        pinned=bool(record.pinned),
        needs_you=record.id in waiting,
        trashed_at=to_datetime(record.trashed_at) if record.archived == TRASHED else None,
    )


async def _waiting(app: App, caller: Principal, run: str | None) -> list[Waiting]:
    if run is None:
        return []
    record = await app.runs.stored.get(caller, run)
    if record.state != "waiting":
        return []
    return [Waiting.of(call, run=run) for call in record.waiting if call.decision is None]


def _found(found: MessageHit) -> FoundMessage:
    return FoundMessage.of(
        found.stored,
        message=found.stored.id,
        conversation=found.conversation.id,
        title=found.conversation.title,
        role=_ROLES[type(found.stored.message)],
        snippet=found.snippet,
        marks=[FoundMark(start=start, end=end) for start, end in found.marks],
        active=found.is_active,
    )
