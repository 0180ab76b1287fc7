"""`execute_code` of spec 002: Python in an interpreter that remembers, within a sandbox.

Pictures, tables and files come back as attachments of the conversation; its
files lie in the working directory under their names.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from bethink.errors import BethinkError
from bethink.sandbox import REASONS
from bethink.sandbox.interpreters import Interpreters, Ran, WorkFiles
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from bethink.messages import Attachment

_PATIENCE_S: Final = 40
"""Beyond the code's own time: to start an interpreter, to interrupt it, to carry files."""
_NAMES: Final = {
    "image/png": "figure-{}.png",
    "image/jpeg": "figure-{}.jpg",
    "image/gif": "figure-{}.gif",
    "image/webp": "figure-{}.webp",
    "image/svg+xml": "figure-{}.svg",
    "text/html": "table-{}.html",
}
_ANY: Final = "application/octet-stream"
_EMPTIED: Final = "its directory was emptied, and only what the user was given before is there again"
_NOTHING: Final = "(It ran and printed nothing.)"
_ERRORS: Final = {"finished": None, "timed_out": "timeout", "failed": "code_failed"}
"""Codes of endings; of every other one it is `code_` and its name."""


def code_source(interpreters: Interpreters | None, timeout_s: float) -> Callable[[], Sequence[Tool]]:
    """The tools that may be offered now: none where code is off, not installed, or no sandbox holds."""
    if interpreters is None:
        return tuple
    tools = code_tools(interpreters, timeout_s)
    return lambda: tools if interpreters.may_run else ()


def code_tools(interpreters: Interpreters, timeout_s: float) -> list[Tool]:
    """`execute_code`, whose code may take `timeout_s`; without a sandbox it refuses with a sentence."""

    @tool(
        effect="write",
        trust="untrusted",
        timeout_s=timeout_s + _PATIENCE_S,
        label="Run Python: {code}",
        family="python",
        echoes_arguments=True,
    )
    async def execute_code(
        context: ToolContext,
        code: Annotated[str, Field(description="Python code to execute", min_length=1, max_length=200_000)],
    ) -> str | ToolOutput:
        """Execute Python code in a stateful Jupyter kernel.

        Variables, imports and functions stay for later calls in this
        conversation. The value of a last line that is an expression is shown;
        so are matplotlib figures, and they reach the user as pictures. pandas, numpy and
        matplotlib are there. Files of this conversation lie in the working
        directory; those that you write there are given to the user. No network,
        no other programs, no packages to install.
        """
        held = await context.files()
        # Oldest first. What was only shown is no file of the code's.
        files = WorkFiles(
            {file.name: file.path for file in held if file.made_as is None},
            {file.made_as: file.path for file in held if file.made_as},
        )
        owner = context.principal.owner
        ran = await interpreters.execute(owner, context.conversation, code, files=files, timeout_s=timeout_s)
        kept, notes = await _kept(context, ran)
        return ToolOutput(
            _answer_text(ran, notes),
            attachments=tuple(kept),
            error=_ERRORS.get(ran.answer.ending, f"code_{ran.answer.ending}"),
        )

    return [execute_code]


async def _kept(context: ToolContext, ran: Ran) -> tuple[list[Attachment], list[str]]:
    """What was shown and made, kept as attachments, and what is to be said of it."""
    kept: list[Attachment] = []
    notes: list[str] = []

    async def keep(file: NewFile, note: str) -> None:
        try:
            kept.append(await context.keep(file))
        except BethinkError as error:
            notes.append(f"[{file.name} was not kept: {error}]")
        else:
            notes.append(f"[{note}: {kept[-1].name}]")

    for number, display in enumerate(ran.answer.displays, 1):
        name = _NAMES.get(display.media_type, "display-{}").format(number)
        await keep(NewFile(name, display.media_type, display.content, made_as=""), "Shown to the user")
    for found in ran.files:
        if found.content is None:
            notes.append(f"[{found.name} {found.why}: {found.size:,} bytes]")
            continue
        name = found.name.rpartition("/")[2]
        media_type = mimetypes.guess_type(name)[0] or _ANY
        await keep(NewFile(name, media_type, found.content, made_as=found.name), "Given to the user")
    if ran.more_files:
        notes.append(f"[{ran.more_files:,} more files were made or changed, and not given to the user]")
    return kept, notes


def _answer_text(ran: Ran, notes: Sequence[str]) -> str:
    answer = ran.answer
    parts: list[str] = []
    if ran.lost_before:
        parts.append(f"[A new interpreter: state was lost because {ran.lost_before}. Files are still there.]")
    parts.append(answer.text.rstrip())
    if answer.ending == "timed_out" and not answer.lost:
        parts.append("[It was interrupted because it took longer than it may. Variables are kept.]")
    if answer.lost:
        files = _EMPTIED if answer.ending == "out_of_disk" else "files are still there"
        parts.append(
            f"[The interpreter was ended because {REASONS[answer.ending]}. Variables and imports are lost, "
            f"{files}; the next call begins a new one.]"
        )
    parts += notes
    return "\n".join(part for part in parts if part) or _NOTHING
