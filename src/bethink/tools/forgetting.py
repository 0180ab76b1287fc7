"""Tools that forget for good: `delete_all_memories` (spec 002, "Memory Tools") and `forget_memory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from bethink.events import MemoryChanged, Warned
from bethink.forgetting.selection import ForgetRequest, Receipt, is_token
from bethink.forgetting.service import Forgetting
from bethink.tool import Foretold, Tool, ToolContext, tool, tools_in

if TYPE_CHECKING:
    from bethink.feature import Surroundings
    from bethink.principal import Principal

DELETED = "Successfully deleted all memories. The memory file has been removed."
NOTHING_TO_DELETE = "There were no memories to delete."
NOTHING_FOUND = "Nothing was forgotten: there are no memories of this: {what}"

_IDS_TOLD = 100
"""Ids in one event; the counts are exact beyond them."""


def forgotten(receipt: Receipt) -> MemoryChanged:
    """The receipt as an event."""
    return MemoryChanged(change="forgotten", ids=receipt.facts[:_IDS_TOLD], text=receipt.summary)


def tools_of(at: Surroundings) -> list[Tool]:
    """`delete_all_memories` and `forget_memory`."""
    return tools_in(ForgettingTools(at.features.of(Forgetting)))


def _tell(context: ToolContext, receipt: Receipt) -> None:
    context.emit(forgotten(receipt))
    for what in receipt.remains:
        context.emit(Warned(part="redis", message=what))


@dataclass(frozen=True, slots=True)
class ForgettingTools:
    """The tools that forget for good; both ask their owner first."""

    forgetting: Forgetting

    async def _foretell_all(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        preview = await self.forgetting.preview(principal, _everything(arguments))
        return Foretold(arguments, NOTHING_TO_DELETE if preview.is_empty else preview.listing())

    @tool(
        effect="destructive",
        label="Delete all memories",
        foretell=_foretell_all,
        family="memory",
        needs_memory=True,
    )
    async def delete_all_memories(
        self,
        context: ToolContext,
        kinds: Annotated[
            list[str], Field(description="What else to forget: pages, files, people", max_length=20)
        ] = [],  # noqa: B006 - never changed
        conversations: Annotated[
            Literal["keep", "remove"],
            Field(description="Messages: keep (readable, never recalled) or remove"),
        ] = "keep",
    ) -> str:
        """Delete ALL stored memories. Use only when user explicitly requests.

        "Forget everything about me" and "Delete my data" ask for it.
        This cannot be undone. Never call it for "start over" or "new topic".
        """
        wanted = _everything({"kinds": kinds, "conversations": conversations}, context.conversation)
        # Nobody lets it run without an approval, which shows all of it (`_foretell_all`).
        receipt = await self.forgetting.forget_all(context.principal, wanted, is_shown=True)
        if not receipt:
            return NOTHING_TO_DELETE
        _tell(context, receipt)
        return DELETED

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        wanted = await self.forgetting.meant(principal, arguments["query_or_id"])
        preview = await self.forgetting.preview(principal, wanted)
        if preview.is_empty:
            return Foretold({**arguments, "token": ""}, "")
        return Foretold({**arguments, "token": preview.token}, preview.listing())

    @tool(
        effect="destructive",
        label="Forget for good: {query_or_id}",
        foretell=_foretell,
        family="memory",
        needs_memory=True,
    )
    async def forget_memory(
        self,
        context: ToolContext,
        query_or_id: Annotated[
            str,
            Field(
                description="What to forget in a few words (e.g. 'my former employer'), or a memory's id",
                min_length=1,
                max_length=2000,
            ),
        ],
        token: Annotated[
            str, Field(description="Leave it out: it is filled in when the user sees the preview.")
        ] = "",
    ) -> str:
        """Remove memories about one thing for good, and messages about it.

        Use only when the user explicitly asks to forget or delete something.
        The user is shown what would go and decides. This cannot be undone; to
        correct a memory, store the correction instead.
        """
        wanted = await self.forgetting.meant(context.principal, query_or_id)
        wanted = replace(wanted, asked_in=context.conversation)
        # Without a preview there is nothing that anybody agreed to.
        receipt = await self.forgetting.confirm(context.principal, wanted, token) if is_token(token) else None
        if not receipt:
            return NOTHING_FOUND.format(what=query_or_id)
        _tell(context, receipt)
        return receipt.summary


def _everything(arguments: Mapping[str, Any], asked_in: str | None = None) -> ForgetRequest:
    return ForgetRequest(
        everything=True,
        kinds=arguments.get("kinds", ()),
        conversations=arguments.get("conversations"),
        asked_in=asked_in,
    )
