"""The tools of the vault: pages read, searched, listed and changed, and code over them.

Names and arguments are those of spec 003 ("Tool Registry Implementation") and of mem-agent, whose
`update_file` replaces a text that is given exactly. `app` offers them, `agent/subagent` gives them to
the memory agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from bethink.errors import BadInput, Conflict, NoSuchPage
from bethink.tool import Foretold, ToolContext, ToolOutput, tool
from bethink.tools.vault_access import VaultAccess, named
from bethink.vault.markdown.format import line_meant
from bethink.vault.markdown.links import Resolver, parse_link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.tool import Tool
    from bethink.tools.vault_code import VaultCode
    from bethink.vault import Change, Entry

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
    return [*_reading(desk), *_changing(desk)]


def _reading(desk: VaultAccess) -> list[Tool]:
    return [_read_file_tool(desk), _list_directory_tool(desk), _go_to_link_tool(desk)]


def _read_file_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="read",
        label="Read {file_path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def read_file(
        context: ToolContext,
        file_path: _Path,
        start_line: Annotated[int, Field(ge=1, description="Begin at this line, to read on.")] = 1,
    ) -> ToolOutput:
        """Read a page of the vault, the user's own Markdown notes.

        A long page comes in parts; the answer says where it goes on.
        """
        seen = await desk.read(context.principal, file_path)
        return ToolOutput(shown(seen.text, start_line), memories=(seen.path,), untrusted=seen.untrusted)

    return read_file


def _list_directory_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="read",
        label="List {path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def list_directory(
        context: ToolContext,
        path: Annotated[str, Field(description='Folder, such as entities; "" is the whole vault.')] = "",
        page: Annotated[int, Field(ge=1, description="For more, where there are many.")] = 1,
    ) -> ToolOutput:
        """List a folder of the vault: its folders and pages, with their sizes."""
        entries = await desk.listed(context.principal, path.strip("/"))
        # Names are words, too.
        untrusted = await desk.is_untrusted(context.principal, (entry.path for entry in entries))
        return ToolOutput(listing(entries, page), untrusted=untrusted)

    return list_directory


def _go_to_link_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="read",
        label="Follow {link}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def go_to_link(
        context: ToolContext,
        link: Annotated[
            str, Field(description="As it stands in a page: [[jane_doe]], [[entities/jane_doe.md|her]].")
        ],
        from_path: Annotated[str, Field(description="The page in which the link stands, if known.")] = "",
    ) -> ToolOutput:
        """Read the page that a link leads to, from the section or block on that it names."""
        beside = named(from_path) if from_path else ""
        path = await desk.views.meant(context.principal, parse_link(link), beside)
        if path is None:
            # Perhaps a page that was made just now by hand.
            entries = await desk.listed(context.principal, deep=True)
            path = Resolver(entry.path for entry in entries).resolve_link(parse_link(link), beside)
        if path is None:
            raise NoSuchPage(f"{link} leads to no page. search_files finds what it may be called now.")
        seen = await desk.read(context.principal, path)
        text = shown(seen.text, line_meant(seen.text, parse_link(link)))
        return ToolOutput(f"[{path}]\n{text}", memories=(path,), untrusted=seen.untrusted)

    return go_to_link


def _changing(desk: VaultAccess) -> list[Tool]:
    return [_write_file_tool(desk), _create_file_tool(desk), _update_file_tool(desk), _delete_file_tool(desk)]


def _write_file_tool(desk: VaultAccess) -> Tool:
    @tool(effect="write", label="Write {file_path}", timeout_s=10, family="vault", needs_memory=True)
    async def write_file(context: ToolContext, file_path: _Path, content: _Text) -> str:
        """Have a page of the vault hold exactly this text, whether it was there or not.

        Prefer update_file for a page that is there: it leaves the rest of it as it is.
        """
        return told(await desk.write(context, file_path, content))

    return write_file


def _create_file_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="write",
        label="Create {file_path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def create_file(context: ToolContext, file_path: _Path, content: _Text = "") -> str:
        """Create a page of the vault. Folders come with it; one that is there already is left alone."""
        try:
            return told(await desk.write(context, file_path, content, if_version=""))
        except Conflict as error:
            raise Conflict(f"{error} To change a page that is there, use update_file.") from error

    return create_file


def _update_file_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="write",
        label="Change {file_path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def update_file(
        context: ToolContext,
        file_path: _Path,
        old_content: Annotated[
            str,
            Field(description="The exact text to replace, line breaks and all.", max_length=_MOST_CHARS),
        ],
        new_content: Annotated[str, Field(description="What to put there.", max_length=_MOST_CHARS)],
    ) -> str:
        """Replace one text in a page of the vault by another.

        The old text must stand in the page exactly once; give enough of it to be sure which is meant.
        To add a line, replace the line before it by both.
        """
        if old_content == new_content:
            raise BadInput("old_content and new_content are the same: nothing would change.")
        return told(await desk.replace(context, file_path, old_content, new_content))

    return update_file


def _delete_file_tool(desk: VaultAccess) -> Tool:
    @tool(
        effect="write",
        label="Delete {file_path}",
        timeout_s=10,
        family="vault",
        needs_memory=True,
        filters_itself=True,
    )
    async def delete_file(context: ToolContext, file_path: _Path) -> str:
        """Delete a page of the vault. The user can take it back."""
        change = await desk.delete(context, file_path)
        return f"Deleted {change.path}."

    return delete_file


def code_tool(runner: VaultCode, timeout_s: float, *, effect: Literal["read", "write"] = "write") -> Tool:
    """`execute_python`; what it changes is not kept where its effect is to read."""

    @tool(
        effect=effect,
        label="Run Python over the vault: {code}",
        timeout_s=2 * timeout_s + _PATIENCE_S,
        may_ask=effect == "write",
        family="vault",
        needs_memory=True,
        filters_itself=True,
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


def shown(text: str, start_line: int) -> str:
    """A page from a line on, as much as one answer holds, and where it goes on.

    Raises:
        BadInput: it has no such line.
    """
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


def listing(entries: Sequence[Entry], page: int) -> str:
    """A folder as lines; folders end in a slash.

    Raises:
        BadInput: there is no such page of it.
    """
    pages = max(-(-len(entries) // _LISTED), 1)
    if page > pages:
        raise BadInput(f"The listing has {pages} pages.")
    lines = [_line(entry) for entry in entries[(page - 1) * _LISTED : page * _LISTED]]
    if pages > 1:
        lines.append(f"[page {page} of {pages}, {len(entries):,} entries in all]")
    return "\n".join(lines) or "(The folder is empty.)"


def _line(entry: Entry) -> str:
    if entry.is_folder:
        return f"{entry.path}/"
    return f"{entry.path} ({entry.size:,} bytes{f'; {entry.trouble}' if entry.trouble else ''})"


def told(change: Change) -> str:
    """What became of a page, for the model."""
    if change.undo is None:
        return f"{change.path} says that already: nothing was changed."
    return f"{'Created' if change.before is None else 'Changed'} {change.path}."
