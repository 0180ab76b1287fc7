"""`/vault/filters`: what is hidden in the vault, and from whom. For the owner's own page alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from bethink.vault.filters.rules import FilterRule, must_be_owner
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served
from bethink.web.problems import documented

router = APIRouter(prefix="/vault/filters", tags=["vault"])

Action = Literal["hide", "mask", "generalise"]
Name = Annotated[str, Field(max_length=300)]
Audience = Annotated[str, Field(min_length=1, max_length=300)]


class VaultFilterBody(Body):
    """What to hide: each of path, section, field and pattern narrows it. Or a `text` for the model alone."""

    action: Action = "hide"
    audiences: Annotated[
        list[Audience],
        Field(max_length=50, description="Patterns such as `mcp-http:*`; none is all but the owner."),
    ] = Field(default_factory=list)
    path: Name = ""
    section: Name = ""
    field: Name = ""
    pattern: Annotated[
        str,
        Field(max_length=2000, description="email, phone, card, birth_date, number, or an expression."),
    ] = ""
    text: Annotated[str, Field(max_length=2000, description="Told to the model, and no protection.")] = ""
    note: Annotated[str, Field(max_length=2000)] = ""


class VaultFilter(ResponseModel):
    """A filter."""

    id: str
    action: Action
    audiences: list[str]
    path: str
    section: str
    field: str
    pattern: str
    text: str
    note: str


class VaultFilters(Items[VaultFilter]):
    """The filters, in their order."""


class VaultFilterTest(Body):
    """Which page, seen by whom."""

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    audience: Audience


class VaultMark(ResponseModel):
    """A part of the page, in characters of its own text, and what is shown in its place."""

    start: int
    end: int
    action: Action
    shown: str
    rule: str = Field(description="The filter's id; empty for a link to a hidden page.")


class VaultSeen(ResponseModel):
    """A page as an audience sees it."""

    is_hidden: bool
    text: str
    marks: list[VaultMark]


@router.get("", responses=documented(403))
async def get_vault_filters(app: Served, caller: Caller) -> VaultFilters:
    """What is hidden, and from whom."""
    rules = await app.visibility.filters.list(caller)
    return VaultFilters(items=[VaultFilter.of(rule) for rule in rules])


@router.post("", status_code=201, responses=documented(403))
async def add_vault_filter(body: VaultFilterBody, app: Served, caller: Caller) -> VaultFilter:
    """Hide something; it holds when this answers."""
    return VaultFilter.of(await app.visibility.filters.add(caller, FilterRule(**body.given())))


@router.delete("", responses=documented(403))
async def reset_vault_filters(app: Served, caller: Caller) -> VaultFilters:
    """Remove all filters; the answer tells which they were."""
    rules = await app.visibility.filters.list(caller)
    await app.visibility.filters.reset(caller)
    return VaultFilters(items=[VaultFilter.of(rule) for rule in rules])


@router.delete("/{id}", responses=documented(403, 404))
async def remove_vault_filter(
    id: Annotated[str, Path(max_length=40)], app: Served, caller: Caller
) -> VaultFilter:
    """Remove a filter."""
    return VaultFilter.of(await app.visibility.filters.remove(caller, id))


@router.post("/test", responses=documented(403, 404))
async def test_vault_filters(body: VaultFilterTest, app: Served, caller: Caller) -> VaultSeen:
    """A page as an audience sees it, with marks of what is hidden."""
    must_be_owner(caller)
    seen = await app.visibility.views.tried(replace(caller, audience=body.audience), body.path)
    return VaultSeen.of(seen)
