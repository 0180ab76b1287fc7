"""`/preferences`: how the owner wants to be answered, and in which time zone they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bethink.agent.removal import ConversationRetention
from bethink.clock import to_datetime
from bethink.preferences import MAX_DAYS, MAX_INSTRUCTIONS, MAX_WORDS, PreferenceBook
from bethink.web.deps import SEES_ALL, Body, Caller, ResponseModel, Served, Timestamp

router = APIRouter(prefix="/preferences", tags=["preferences"])

_Words = Annotated[str | None, Field(max_length=MAX_WORDS)]
_Days = Annotated[int | None, Field(ge=1, le=MAX_DAYS)]


class PreferencesShown(ResponseModel):
    """What the owner wishes; empty, or null, if they said nothing."""

    instructions: str = Field(description="What every answer is to heed, in the owner's own words.")
    tone: str = Field(description="How answers are to sound.")
    language: str = Field(description="The language of answers, by any name.")
    time_zone: str | None = Field(description="An IANA name; null is that of the settings.")
    model: str | None = Field(description="What answers where no other is chosen; null is the usual one.")
    conversation_days: int | None = Field(
        description="Days after its last message after which a conversation is deleted for good, unless it "
        "is pinned; null is as the settings say, which may be sooner."
    )


class RetentionShown(BaseModel):
    """What would be deleted of the owner's conversations."""

    days: int | None = Field(description="For how many days they are kept; null is for ever.")
    most: int | None = Field(description="For how many at most, as the settings say; null is without an end.")
    count: int = Field(description="How many would be deleted now; pinned ones never are.")
    oldest: Timestamp | None = Field(description="When something was last said in the oldest of these.")


class PreferencesPatch(Body):
    """What to change; null is to say nothing of it any more."""

    instructions: Annotated[str | None, Field(max_length=MAX_INSTRUCTIONS)] = None
    tone: _Words = None
    language: _Words = None
    time_zone: _Words = None
    model: _Words = None
    conversation_days: _Days = None


@router.get("", dependencies=[SEES_ALL])
async def get_preferences(app: Served, caller: Caller) -> PreferencesShown:
    """The owner's preferences."""
    return PreferencesShown.of(await app.features.of(PreferenceBook).of(caller))


@router.patch("", dependencies=[SEES_ALL])
async def change_preferences(body: PreferencesPatch, app: Served, caller: Caller) -> PreferencesShown:
    """Change what is named, and nothing else; it holds from the next message on."""
    if body.model is not None:
        app.models.check(body.model)
    book = app.features.of(PreferenceBook)
    return PreferencesShown.of(await book.change(caller, body.model_dump(exclude_unset=True)))


@router.get("/retention", dependencies=[SEES_ALL])
async def get_retention(
    app: Served,
    caller: Caller,
    days: Annotated[
        int | None,
        Query(ge=0, le=MAX_DAYS, description="Instead of the days that hold now; 0 for none of one's own."),
    ] = None,
) -> RetentionShown:
    """For how long conversations are kept, and how many would be deleted; nothing is."""
    retention = ConversationRetention(app.runs, app.settings, app.features.of(PreferenceBook))
    most = app.settings.conversations_retention_days
    if days is None:
        kept = await retention.days_of(caller)
    else:
        kept = min((one for one in (days, most) if one), default=None)
    old = await app.conversations.outdated(caller, days=kept) if kept else ()
    return RetentionShown(
        days=kept, most=most, count=len(old), oldest=to_datetime(old[0].updated_at) if old else None
    )
