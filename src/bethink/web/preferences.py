"""`/preferences`: how the owner wants to be answered, and in which time zone they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from bethink.preferences import MAX_INSTRUCTIONS, MAX_WORDS, PreferenceBook
from bethink.web.deps import SEES_ALL, Body, Caller, ResponseModel, Served

router = APIRouter(prefix="/preferences", tags=["preferences"])

_Words = Annotated[str | None, Field(max_length=MAX_WORDS)]


class PreferencesShown(ResponseModel):
    """What the owner wishes; empty, or null, if they said nothing."""

    instructions: str = Field(description="What every answer is to heed, in the owner's own words.")
    tone: str = Field(description="How answers are to sound.")
    language: str = Field(description="The language of answers, by any name.")
    time_zone: str | None = Field(description="An IANA name; null is that of the settings.")
    model: str | None = Field(description="What answers where no other is chosen; null is the usual one.")


class PreferencesPatch(Body):
    """What to change; null is to say nothing of it any more."""

    instructions: Annotated[str | None, Field(max_length=MAX_INSTRUCTIONS)] = None
    tone: _Words = None
    language: _Words = None
    time_zone: _Words = None
    model: _Words = None


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
