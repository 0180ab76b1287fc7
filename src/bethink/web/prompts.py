"""`/prompts`: texts that their owner sends again, with places to fill in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import Field

from bethink.prompts import MAX_NAME_CHARS, MAX_TEXT_CHARS, Prompt, PromptLibrary, variables_of
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Items,
    ResponseModel,
    Served,
    Timestamp,
    seen,
)
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/prompts", tags=["prompts"])

_Name = Annotated[str, Field(max_length=MAX_NAME_CHARS, description="By which it is chosen; unique.")]
_Text = Annotated[
    str,
    Field(
        max_length=MAX_TEXT_CHARS,
        description="What is sent. `{{topic}}` is asked for, `{{tone|formal}}` has a default.",
    ),
]


class PromptDraft(Body):
    """A prompt to keep."""

    name: _Name
    text: _Text


class PromptPatch(Body):
    """What of a prompt to change."""

    name: _Name | None = None
    text: _Text | None = None


class PromptVariable(ResponseModel):
    """A place to fill in."""

    name: str
    default: str | None = Field(description="Its value if nothing else is given; null if it has to be given.")


class PromptShown(ResponseModel):
    """One prompt."""

    id: str
    name: str
    text: str
    variables: list[PromptVariable]
    created_at: Timestamp
    updated_at: Timestamp


class PromptList(Items[PromptShown]):
    """All prompts, by their names."""


@router.get("")
async def list_prompts(app: Served, caller: Caller, hidden: CallerFilter) -> PromptList:
    """All prompts, by their names."""
    prompts = await app.features.of(PromptLibrary).list(caller)
    return PromptList(items=[_shown(prompt, hidden) for prompt in prompts])


@router.post("", status_code=201, dependencies=[SEES_ALL])
async def add_prompt(body: PromptDraft, app: Served, caller: Caller) -> PromptShown:
    """Keep a prompt."""
    return _shown(await app.features.of(PromptLibrary).add(caller, body.name, body.text))


@router.get("/{prompt}", responses=documented(404))
async def get_prompt(prompt: str, app: Served, caller: Caller, hidden: CallerFilter) -> PromptShown:
    """One prompt."""
    return _shown(await app.features.of(PromptLibrary).get(caller, prompt), hidden)


@router.patch("/{prompt}", dependencies=[SEES_ALL], responses=documented(404))
async def edit_prompt(prompt: str, body: PromptPatch, app: Served, caller: Caller) -> PromptShown:
    """Change its name or its text."""
    library = app.features.of(PromptLibrary)
    return _shown(await library.update(caller, prompt, name=body.name, text=body.text))


@router.delete("/{prompt}", status_code=204, dependencies=[SEES_ALL], responses=documented(404))
async def delete_prompt(prompt: str, app: Served, caller: Caller) -> None:
    """Remove it."""
    await app.features.of(PromptLibrary).delete(caller, prompt)


def _shown(prompt: Prompt, hidden: ReaderFilter | None = None) -> PromptShown:
    name, text = seen(prompt.name, hidden), seen(prompt.text, hidden)
    variables = [PromptVariable.of(one) for one in variables_of(text)]
    return PromptShown.of(prompt, name=name, text=text, variables=variables)
