"""The tools `search_files` (spec 003, "Search Features") and `backlinks`: to find pages of the vault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from bethink.tool import ToolContext, ToolOutput, tool
from bethink.tools.vault_access import named
from bethink.vault.search.query import MAX_FILTERS, MAX_LIMIT, MAX_QUERY_CHARS, Search

if TYPE_CHECKING:
    from bethink.tool import Tool
    from bethink.vault.search.graph import Graphs
    from bethink.vault.search.ranking import SearchResult, SearchResults
    from bethink.vault.search.search import VaultSearch

_BACKLINKS: Final = 200
_LINES: Final = 10
_MOST_CHARS: Final = 12_000
"""Of an answer: some three thousand tokens. Pages that do not fit are named without their lines."""


def search_tool(searching: VaultSearch) -> Tool:
    """The tool, over these vaults."""

    @tool(
        effect="read",
        label="Search the vault for {query}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def search_files(
        context: ToolContext,
        query: Annotated[
            str,
            Field(
                description='Words that a page should hold; "a phrase" in quotes.', max_length=MAX_QUERY_CHARS
            ),
        ],
        filters: Annotated[
            list[str],
            Field(
                description="Only entities/* (paths), section:Health, tag:work; -tag:work is all others.",
                max_length=MAX_FILTERS,
            ),
        ] = [],  # noqa: B006 - never changed
        regex: Annotated[bool, Field(description="The query is a Python regular expression.")] = False,  # noqa: FBT002
        case_sensitive: Annotated[bool, Field(description="Capitals matter.")] = False,  # noqa: FBT002
        context_lines: Annotated[int, Field(ge=0, le=20, description="Lines shown around each hit.")] = 1,
        page: Annotated[int, Field(ge=1, le=1_000, description="Further results.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Pages at once.")] = 10,
    ) -> ToolOutput:
        """Search the user's vault of Markdown pages, the best pages first, with the lines that match.

        Capitals do not matter unless asked. Where no page holds all words, those with some are shown.
        """
        asked = Search(
            query,
            regex=regex,
            case=case_sensitive,
            context=context_lines,
            page=page,
            limit=limit,
            filters=filters,
        )
        found = await searching.search(context.principal, asked)
        paths = tuple(one.path for one in found.pages)
        untrusted = await searching.vault.is_untrusted(context.principal.owner, paths)
        return ToolOutput(told(found), memories=paths, untrusted=untrusted)

    return search_files


def backlinks_tool(graphs: Graphs) -> Tool:
    """The tool that tells which pages link to one, over these vaults."""

    @tool(
        effect="read",
        label="What links to {path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def backlinks(
        context: ToolContext,
        path: Annotated[
            str, Field(description="Of a page in the vault: entities/jane_doe.md.", max_length=1_000)
        ],
    ) -> ToolOutput:
        """List the pages of the user's vault that link to a page, with the lines of the links."""
        found = await graphs.backlinks(context.principal, named(path))
        lines = [
            f"{one.path} ({one.title}): line{'s' if len(one.lines) > 1 else ''}"
            f" {', '.join(map(str, one.lines[:_LINES]))}"
            for one in found[:_BACKLINKS]
        ]
        if len(found) > _BACKLINKS:
            lines.append(f"And {len(found) - _BACKLINKS:,} more.")
        paths = tuple(one.path for one in found)
        untrusted = await graphs.searching.vault.is_untrusted(context.principal.owner, paths)
        return ToolOutput("\n".join(lines) or "No page links there.", memories=paths, untrusted=untrusted)

    return backlinks


def told(found: SearchResults) -> str:
    """What a model reads of a search."""
    if not found.pages:
        return "\n".join(("No page of the vault holds this.", *found.notes))
    parts = [f"{'' if found.is_exact else 'At least '}{found.total:,} pages.", *found.notes]
    room = _MOST_CHARS
    for one in found.pages:
        shown = _told(one)
        if len(shown) > room:
            shown = _head(one)
        room -= len(shown)
        parts.append(shown)
    if found.has_more:
        parts.append(f"There are more: ask for page {found.page + 1}.")
    return "\n\n".join(parts)


def _head(one: SearchResult) -> str:
    above = f" › {' › '.join(one.section)}" if one.section else ""
    return f"[{one.path}]{above} ({one.hits} hits)"


def _told(one: SearchResult) -> str:
    lines = [
        f"{number}: {line}"
        for excerpt in one.excerpts
        for number, line in enumerate(excerpt.text.split("\n"), excerpt.line)
    ]
    return "\n".join((_head(one), *lines))
