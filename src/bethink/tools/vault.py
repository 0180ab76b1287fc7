"""The tools of the vault: pages read, searched, listed and changed, and code over them.

Names and arguments are those of spec 003 ("Tool Registry Implementation") and of mem-agent, whose
`update_file` replaces a text that is given exactly. `app` offers them, `agent/subagent` gives them to
the memory agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from bethink.errors import BadInput, Conflict, NoSuchPage
from bethink.principal import LOCAL_OWNER, Principal
from bethink.tool import Foretold, Tool, ToolContext, ToolOutput, tool, tools_in
from bethink.tools.memory_agent import MemoryAgent, agent_tool
from bethink.tools.vault_access import VaultAccess, named
from bethink.tools.vault_code import VaultCode
from bethink.vault import PAGES, Change, ListedFile
from bethink.vault.checks.check import VaultCheck
from bethink.vault.markdown.format import line_meant
from bethink.vault.markdown.links import Resolver, parse_link
from bethink.vault.search.graph import Graphs, PageMoves
from bethink.vault.search.query import MAX_FILTERS, MAX_LIMIT, MAX_QUERY_CHARS, PageSearch
from bethink.vault.search.search import VaultSearch

if TYPE_CHECKING:
    from bethink.sandbox.interpreters import Interpreters
    from bethink.settings import Settings
    from bethink.vault.filters.views import VaultViews
    from bethink.vault.search.ranking import SearchResults


_vault_tool = partial(tool, timeout_s=10, family="vault", needs_memory=True, filters_itself=True)
_BACKLINKS: Final = 200
_LINES: Final = 10
_ANSWER_CHARS: Final = 12_000
"""Of an answer: some three thousand tokens. Pages that do not fit are named without their lines."""


def search_tool(searching: VaultSearch) -> Tool:
    """The tool, over these vaults."""

    @_vault_tool(effect="read", label="Search the vault for {query}")
    async def search_files(
        context: ToolContext,
        query: Annotated[
            str,
            Field(description='Words to find; "a phrase" in quotes.', max_length=MAX_QUERY_CHARS),
        ],
        filters: Annotated[
            list[str],
            Field(
                description="Only entities/* (paths), section:Health, tag:work; -tag:work is all others.",
                max_length=MAX_FILTERS,
            ),
        ] = [],  # noqa: B006 - never changed
        regex: Annotated[bool, Field(description="The query is a regular expression.")] = False,  # noqa: FBT002
        case_sensitive: Annotated[bool, Field(description="Capitals matter.")] = False,  # noqa: FBT002
        context_lines: Annotated[int, Field(ge=0, le=20, description="Lines shown around each hit.")] = 1,
        page: Annotated[int, Field(ge=1, le=1_000, description="Further results.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Pages at once.")] = 10,
    ) -> ToolOutput:
        """Search the user's vault of Markdown pages, the best pages first, with the lines that match.

        Case is ignored by default. If no page has all words, pages with some are shown.
        """
        asked = PageSearch(
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
        return ToolOutput(_results_text(found), memories=paths, untrusted=untrusted)

    return search_files


def backlinks_tool(graphs: Graphs) -> Tool:
    """The tool that tells which pages link to one."""

    @_vault_tool(effect="read", label="What links to {path}")
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


def _results_text(found: SearchResults) -> str:
    if not found.pages:
        return "\n".join(("No page of the vault contains this.", *found.notes))
    parts = [f"{'' if found.is_exact else 'At least '}{found.total:,} pages.", *found.notes]
    room = _ANSWER_CHARS
    for one in found.pages:
        above = f" › {' › '.join(one.section)}" if one.section else ""
        head = f"[{one.path}]{above} ({one.hits} hits)"
        lines = (
            f"{number}: {line}"
            for excerpt in one.excerpts
            for number, line in enumerate(excerpt.text.split("\n"), excerpt.line)
        )
        shown = "\n".join((head, *lines))
        if len(shown) > room:
            shown = head
        room -= len(shown)
        parts.append(shown)
    if found.has_more:
        parts.append(f"There are more: ask for page {found.page + 1}.")
    return "\n\n".join(parts)


_READ_CHARS: Final = 16_000
"""Of one reading: some four thousand tokens."""
_LISTED: Final = 200
_MOST_CHARS: Final = 1_000_000
_PATIENCE_S: Final = 60
"""Beyond the code's own time: to lay pages out and take them over, twice."""

_Path = Annotated[
    str, Field(description="Path in the vault, such as user.md or entities/jane_doe.md.", max_length=1_000)
]
_Text = Annotated[str, Field(description="Markdown.", max_length=_MOST_CHARS)]


def vault_tools(desk: VaultAccess) -> list[Tool]:
    """The tools that read and change pages."""
    return tools_in(PageTools(desk))


@dataclass(frozen=True, slots=True)
class PageTools:
    """The tools that read and change pages."""

    desk: VaultAccess

    @_vault_tool(effect="read", label="Read {file_path}")
    async def read_file(
        self,
        context: ToolContext,
        file_path: _Path,
        start_line: Annotated[int, Field(ge=1, description="Begin at this line, to read on.")] = 1,
    ) -> ToolOutput:
        """Read a page of the vault, the user's own Markdown notes.

        A long page comes in parts; the answer says where it continues.
        """
        page = await self.desk.read(context.principal, file_path)
        return ToolOutput(_page_text(page.text, start_line), memories=(page.path,), untrusted=page.untrusted)

    @_vault_tool(effect="read", label="List {path}")
    async def list_directory(
        self,
        context: ToolContext,
        path: Annotated[str, Field(description='Folder, such as entities; "" is the whole vault.')] = "",
        page: Annotated[int, Field(ge=1, description="Page of a long listing.")] = 1,
    ) -> ToolOutput:
        """List a folder of the vault: its folders and pages, with their sizes."""
        entries = await self.desk.listed(context.principal, path.strip("/"))
        # Names are words, too.
        untrusted = await self.desk.is_untrusted(context.principal, (entry.path for entry in entries))
        return ToolOutput(_listing(entries, page), untrusted=untrusted)

    @_vault_tool(effect="read", label="Follow {link}")
    async def go_to_link(
        self,
        context: ToolContext,
        link: Annotated[
            str, Field(description="As written in a page: [[jane_doe]], [[entities/jane_doe.md|her]].")
        ],
        from_path: Annotated[str, Field(description="The page with the link, if known.")] = "",
    ) -> ToolOutput:
        """Read the page that a link leads to, from the section or block on that it names."""
        beside = named(from_path) if from_path else ""
        path = await self.desk.views.meant(context.principal, parse_link(link), beside)
        if path is None:
            # Perhaps a page that was made just now by hand.
            entries = await self.desk.listed(context.principal, deep=True)
            path = Resolver(entry.path for entry in entries).resolve_link(parse_link(link), beside)
        if path is None:
            raise NoSuchPage(f"{link} leads to no page. search_files may find its new name.")
        page = await self.desk.read(context.principal, path)
        text = _page_text(page.text, line_meant(page.text, parse_link(link)))
        return ToolOutput(f"[{path}]\n{text}", memories=(path,), untrusted=page.untrusted)

    @_vault_tool(effect="write", label="Write {file_path}", filters_itself=False)
    async def write_file(self, context: ToolContext, file_path: _Path, content: _Text) -> str:
        """Write this text as a page of the vault, new or not.

        Prefer update_file for an existing page: it keeps the rest.
        """
        return _change_text(await self.desk.write(context, file_path, content))

    @_vault_tool(effect="write", label="Create {file_path}")
    async def create_file(self, context: ToolContext, file_path: _Path, content: _Text = "") -> str:
        """Create a page of the vault. Creates its folders; never overwrites a page."""
        try:
            return _change_text(await self.desk.write(context, file_path, content, if_version=""))
        except Conflict as error:
            raise Conflict(f"{error} To change a page that is there, use update_file.") from error

    @_vault_tool(effect="write", label="Change {file_path}")
    async def update_file(
        self,
        context: ToolContext,
        file_path: _Path,
        old_content: Annotated[
            str,
            Field(description="The exact text to replace, line breaks and all.", max_length=_MOST_CHARS),
        ],
        new_content: Annotated[str, Field(description="What to put there.", max_length=_MOST_CHARS)],
    ) -> str:
        """Replace one text in a page of the vault by another.

        The old text must occur exactly once in the page; give enough of it to be unique.
        To add a line, replace the line before it by both.
        """
        if old_content == new_content:
            raise BadInput("old_content and new_content are the same: nothing would change.")
        return _change_text(await self.desk.replace(context, file_path, old_content, new_content))

    @_vault_tool(effect="write", label="Delete {file_path}")
    async def delete_file(self, context: ToolContext, file_path: _Path) -> str:
        """Delete a page of the vault. The user can undo it."""
        change = await self.desk.delete(context, file_path)
        return f"Deleted {change.path}."


def code_tool(runner: VaultCode, timeout_s: float, *, effect: Literal["read", "write"] = "write") -> Tool:
    """`execute_python`; what it changes is not kept where its effect is to read."""

    @_vault_tool(
        effect=effect,
        label="Run Python over the vault: {code}",
        timeout_s=2 * timeout_s + _PATIENCE_S,
        may_ask=effect == "write",
    )
    async def execute_python(
        context: ToolContext,
        code: Annotated[str, Field(description="Python.", min_length=1, max_length=200_000)],
        agreed: Annotated[
            str, Field(description="Leave it out: it is filled in when the user agreed.", max_length=64)
        ] = "",
    ) -> ToolOutput | Foretold:
        """Run Python over the user's vault of Markdown pages, in a sandbox.

        These functions are there; assign what they return, since the answer shows variables:
        read_file(file_path) -> str, create_file(file_path, content="") -> bool,
        update_file(file_path, old_content, new_content) -> True or an error (the old text must occur
        exactly once), delete_file(file_path) -> bool, list_files() -> tree of all pages,
        create_dir(dir_path), check_if_file_exists(file_path) -> bool, check_if_dir_exists(dir_path) -> bool,
        get_size(path="") -> bytes, go_to_link(link_string) -> text of the page.
        json, re, math, statistics and datetime can be imported; no network, no other programs.
        Changed pages are kept as versions; nothing else stays. The user is asked before more than
        three pages are deleted.
        """
        return await runner.run(context, code, agreed=agreed, may_write=effect == "write")

    return execute_python


def _page_text(text: str, start_line: int) -> str:
    """A page from a line on, as much as one answer holds, and where it goes on."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return "(The page is empty.)"
    if start_line > len(lines):
        raise BadInput(f"The page has {len(lines):,} lines: start_line is at most that.")
    kept: list[str] = []
    size = 0
    for line in lines[start_line - 1 :]:
        if kept and size + len(line) > _READ_CHARS:
            break
        kept.append(
            line if len(line) <= _READ_CHARS else f"{line[:_READ_CHARS]}… (a line of {len(line):,})\n"
        )
        size += len(line)
    end = start_line - 1 + len(kept)
    said = "".join(kept)
    if end == len(lines) and start_line == 1:
        return said
    on = f"; go on with start_line={end + 1}" if end < len(lines) else ""
    return f"{said.rstrip()}\n[lines {start_line} to {end} of {len(lines):,}{on}]"


def _listing(entries: Sequence[ListedFile], page: int) -> str:
    pages = max(-(-len(entries) // _LISTED), 1)
    if page > pages:
        raise BadInput(f"The listing has {pages} pages.")
    lines = [
        f"{entry.path}/"
        if entry.is_folder
        else f"{entry.path} ({entry.size:,} bytes{f'; {entry.trouble}' if entry.trouble else ''})"
        for entry in entries[(page - 1) * _LISTED : page * _LISTED]
    ]
    if pages > 1:
        lines.append(f"[page {page} of {pages}, {len(entries):,} entries in all]")
    return "\n".join(lines) or "(The folder is empty.)"


def _change_text(change: Change) -> str:
    if change.undo is None:
        return f"{change.path} says that already: nothing was changed."
    return f"{'Created' if change.before is None else 'Changed'} {change.path}."


@dataclass(slots=True)
class VaultTools:
    """The tools, and whether there is anything for them. `agent` answers questions over the vault."""

    desk: VaultAccess
    searching: VaultSearch
    graphs: Graphs
    checking: VaultCheck
    moving: PageMoves
    agent: MemoryAgent
    tools: Sequence[Tool]
    code: Tool | None
    reading_code: Tool | None
    agent_tool: Tool
    _interpreters: Interpreters | None = None
    _has_vault: bool = False
    _last: tuple[Tool, ...] = field(default=())

    @classmethod
    def of(cls, settings: Settings, views: VaultViews, interpreters: Interpreters | None) -> VaultTools:
        """As the settings want it."""
        desk, searching = VaultAccess(views), VaultSearch(views)
        agent = MemoryAgent(desk, settings.vault)
        graphs = Graphs(searching)
        made = cls(
            desk,
            searching,
            graphs,
            VaultCheck(searching),
            PageMoves(views, searching),
            agent,
            tools=[*vault_tools(desk), search_tool(searching), backlinks_tool(graphs)],
            code=None,
            reading_code=None,
            agent_tool=agent_tool(agent, settings.max_run_s),
            _interpreters=interpreters,
        )
        made.follow(settings)
        views.vault.context.listeners.append(made.hear)
        views.vault.context.purge_hooks.append(searching.purge)
        return made

    def follow(self, settings: Settings) -> None:
        """Be as other settings want it."""
        self.agent.settings, timeout_s = settings.vault, settings.code_timeout_s
        self.agent_tool = agent_tool(self.agent, settings.max_run_s)
        if self._interpreters is not None:
            runner = VaultCode(self.desk, self._interpreters, timeout_s, settings.code_output_chars)
            self.code = code_tool(runner, timeout_s)
            self.reading_code = code_tool(runner, timeout_s, effect="read")
        self._last = ()

    async def look(self) -> None:
        """See whether somebody has a vault."""
        vault = self.desk.views.vault
        if vault.settings.enabled:
            owners = await vault.context.store.owners(PAGES, limit=1)
            self._has_vault = bool(owners) or await vault.exists(LOCAL_OWNER)

    def hear(self, owner: str, changes: Sequence[Change]) -> None:
        """Hear of a change of somebody's pages."""
        del owner, changes
        self._has_vault = True

    def source(self) -> Sequence[Tool]:
        """What may be offered now: the very same tuple for as long as it is the same."""
        code = (self.code,) if self.code is not None and self._can_run else ()
        now = (*self.tools, *code, self.agent_tool) if self._has_vault else ()
        if len(now) != len(self._last):
            self._last = now
        return self._last

    def for_errands(self, principal: Principal) -> Sequence[Tool]:
        """What the memory agent itself may be given; where nothing may be written, code that only reads."""
        code = self.code if "write" in principal.rights else self.reading_code
        return (*self.tools, code) if code is not None and self._can_run else self.tools

    @property
    def _can_run(self) -> bool:
        return self._interpreters is not None and self._interpreters.may_run
