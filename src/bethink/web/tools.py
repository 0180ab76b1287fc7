"""`/tools`: which there are, what the owner decided about them, and which were called."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from bethink.agent.policy import Decision
from bethink.errors import UnknownId
from bethink.web.deps import Body, Caller, Cursor, Items, Limit, Page, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

router = APIRouter(prefix="/tools", tags=["tools"])


class ToolShown(ResponseModel):
    """One tool. `rule` is what the owner decided about it for always, null where nothing."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(description="A JSON Schema object.")
    effect: Literal["read", "write", "destructive", "egress"]
    trust: Literal["owner", "untrusted"] = Field(description="Whether what it returns is the owner's own.")
    source: str = Field(description='The server or plug-in that it comes from, "" for Bethink\'s own.')
    rule: Decision | None


class ToolList(Items[ToolShown]):
    """The tools that there are now."""


class RuleBody(Body):
    """What to do with every call of a tool; null goes back to what holds without a rule."""

    rule: Decision | None


class CallShown(ResponseModel):
    """One call that was made or refused, with who decided.

    `by` is `policy` where it ran by itself, `approve`, `edit` or `reject` where the owner decided,
    `deny` where it may not be. `arguments` is JSON text, null where its message is gone.
    """

    id: str
    at: Timestamp
    tool: str
    call: str
    conversation: str
    run: str
    by: Literal["policy", "approve", "edit", "reject", "deny"]
    error: str | None
    duration_ms: float
    arguments: str | None
    redacted: dict[str, int] = Field(
        description="How many personal numbers of each kind were masked in the result."
    )


class CallPage(Page[CallShown]):
    """Some calls, the last first."""


@router.get("")
async def list_tools(app: Served, caller: Caller) -> ToolList:
    """The tools that the agent may be offered now, Bethink's own first."""
    tools = app.toolbox.all
    rules = await app.rules.among(caller, tools)
    return ToolList(items=[ToolShown.of(tool, rule=rules.get(tool.name)) for tool in tools])


@router.get("/calls")
async def list_calls(
    app: Served,
    caller: Caller,
    *,
    tool: Annotated[str | None, Query(max_length=200)] = None,
    conversation: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CallPage:
    """Tool calls with arguments, decision and outcome."""
    page = await app.audit.calls(caller, tool=tool, conversation=conversation, limit=limit, cursor=cursor)
    called = await app.audit.with_arguments(caller, [item.record for item in page.items])
    items = [CallShown.of(one.use, arguments=one.arguments) for one in called]
    return CallPage(items=items, cursor=page.cursor)


@router.put("/{tool}/rule", status_code=204, responses=documented(404))
async def set_rule(tool: str, body: RuleBody, app: Served, caller: Caller) -> None:
    """Decide about a tool for always. What cannot be undone asks each time all the same."""
    rules = {rule.id for rule in await app.rules.list(caller)}
    known = app.toolbox.get(tool)
    if known is None and tool not in rules:
        raise UnknownId(f"There is no tool {tool[:80]!r}: GET /tools lists them.")
    name, origin = (known.name, known.origin) if known else (tool, "")
    await app.rules.set(caller, name, body.rule, origin=origin)
