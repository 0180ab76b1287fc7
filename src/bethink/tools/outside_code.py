"""`execute_code` in an interpreter that an MCP server offers, in place of our sandbox. `app` decides which.

The tool keeps its name, arguments and approval; where the code runs is in its label, its description and
`/health`. Files go both ways as Python that the interpreter runs: any server will do that runs Python.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import mimetypes
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import anyio.to_thread
from pydantic import Field

from bethink.errors import BethinkError, NotAllowed
from bethink.mcp_client import CallResult, RemoteTool, Text
from bethink.principal import Recent
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput, tool
from bethink.tools.mcp import NO_RULES, McpTools, output_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.messages import Attachment
    from bethink.settings import Settings

_SESSION: Final = "session_id"
_MOST_BYTES: Final = 8 << 20
"""Of files that go one way with one call: a message of 32 MB is refused, and base64 adds a third."""
_MOST_FILES: Final = 20
_LISTED: Final = 500
_CONVERSATIONS: Final = 1_000
_CARRY_S: Final = 40
_ANY: Final = "application/octet-stream"

_ENTER: Final = """
def _bethink_enter(folder, files):
    import base64, os, tempfile
    try:
        place = os.path.join(tempfile.gettempdir(), folder)
        os.makedirs(place, exist_ok=True)
        os.chdir(place)
        for name, data in files.items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "wb") as file:
                file.write(base64.b64decode(data))
    except OSError as error:
        print("[files are not there: %s]" % error)
"""
_LEAVE: Final = """
def _bethink_leave(folder, known, mark, most_files, listed, most_bytes):
    import base64, hashlib, json, os, tempfile
    place, found, count = os.path.join(tempfile.gettempdir(), folder), [], 0
    for top, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(top, name)
            if len(found) >= listed or os.path.islink(path) or not os.path.isfile(path):
                continue
            size, short = os.path.getsize(path), os.path.relpath(path, place).replace(os.sep, "/")
            if size > most_bytes:
                found.append([short, size, "", None])
                continue
            with open(path, "rb") as file:
                content = file.read()
            digest, data = hashlib.sha256(content).hexdigest(), None
            if known.get(short) != digest and count < most_files and size <= most_bytes:
                data, count, most_bytes = base64.b64encode(content).decode(), count + 1, most_bytes - size
            found.append([short, size, digest, data])
    print(mark + base64.b64encode(json.dumps(found).encode()).decode() + mark)
"""
"""Python for the interpreter; it stands on the standard library, and on nothing of earlier code."""


@dataclass(slots=True)
class OutsideInterpreter:
    """The tool of a server that runs code. A conversation has a folder, and a session if there are any."""

    mcp: McpTools
    server: str
    tool: str
    timeout_s: float
    _known: Recent[tuple[str, str], dict[str, str]] = field(
        default_factory=lambda: Recent[tuple[str, str], dict[str, str]](_CONVERSATIONS)
    )
    _sessions: Recent[tuple[str, str], str] = field(
        default_factory=lambda: Recent[tuple[str, str], str](_CONVERSATIONS)
    )
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _owner: str | None = None

    @property
    def offered(self) -> RemoteTool | None:
        """The tool as its server describes it; None if no such server or tool is known."""
        tools = (tools for config, tools in self.mcp.servers.offers() if config.name == self.server)
        return next((one for one in next(tools, ()) if one.name == self.tool), None)

    async def run(self, context: ToolContext, code: str) -> ToolOutput:
        """Run code behind what the conversation's last one left, and hand files both ways.

        Raises:
            NotAllowed: the interpreter keeps one state for all, which is another user's.
        """
        key = (context.principal.owner, context.conversation)
        if not self._has_sessions:
            self._owner = self._owner or key[0]
            if self._owner != key[0]:
                raise NotAllowed(
                    f"The interpreter of {self.server} keeps one state for all, and serves somebody else: "
                    "it needs a tool with `session_id`, or a Bethink of one user."
                )
        # One at a time: with one state for all, two conversations would be in each other's folder.
        async with self._turn:
            files, notes = await self._files_for(context, self._known.get(key) or {})
            enter = f"{_ENTER}_bethink_enter({_folder(key)!r}, {files!r})\n"
            hidden = base64.b64encode(enter.encode()).decode()
            start = f"exec(__import__('base64').b64decode('{hidden}').decode())\n"
            try:
                async with asyncio.timeout(self.timeout_s):
                    result = await self._call(key, start + code)
            except TimeoutError:
                told = f"[It took longer than {self.timeout_s:g} s: the server was told to stop it.]"
                return ToolOutput(told, error="timeout")
            output = await output_of(context, result, "")
            made = await self._made(context, key, files)
        text = "\n".join(part for part in (output.text.rstrip(), *notes, made.text) if part)
        return replace(output, text=text, attachments=(*output.attachments, *made.attachments))

    @property
    def _has_sessions(self) -> bool:
        return self.offered is not None and _SESSION in self._properties

    @property
    def _properties(self) -> Mapping[str, Any]:
        schema = self.offered.input_schema if self.offered is not None else {}
        return cast("dict[str, Any]", schema.get("properties") or {})

    async def _call(self, key: tuple[str, str], code: str) -> CallResult:
        properties = self._properties
        name = "code" if "code" in properties or not properties else next(iter(properties))
        arguments: dict[str, Any] = {name: code}
        if self._has_sessions and (session := self._sessions.get(key)):
            arguments[_SESSION] = session
        result = await self.mcp.servers.call(
            self.server, self.tool, arguments=arguments, on_progress=lambda _text, _share: None
        )
        if session := _session_in(result):
            self._sessions[key] = session
        return result

    async def _files_for(
        self, context: ToolContext, known: Mapping[str, str]
    ) -> tuple[dict[str, str], list[str]]:
        """The conversation's files that the interpreter lacks, as base64; what is said of too long ones."""
        files: dict[str, str] = {}
        notes: list[str] = []
        left = _MOST_BYTES
        for file in await context.files():
            name = file.made_as if file.made_as is not None else file.name
            if not name or name in known:
                continue
            content = await anyio.to_thread.run_sync(_content, file.path, left)
            if content is None:
                notes.append(f"[{name} was not handed to the interpreter: too large]")
                continue
            left -= len(content)
            files[name] = base64.b64encode(content).decode()
        return files, notes

    async def _made(self, context: ToolContext, key: tuple[str, str], given: Mapping[str, str]) -> ToolOutput:
        """What code wrote, kept for the user; a server that does not show it has made nothing."""
        mark = f"<{secrets.token_hex(8)}>"
        digests = {name: _digest(base64.b64decode(data)) for name, data in given.items()}
        known = (self._known.get(key) or {}) | digests
        arguments = (_folder(key), known, mark, _MOST_FILES, _LISTED, _MOST_BYTES)
        try:
            async with asyncio.timeout(_CARRY_S):
                result = await self._call(key, f"{_LEAVE}_bethink_leave(*{arguments!r})")
        except (BethinkError, TimeoutError):
            return ToolOutput("")
        found = _listed(result, mark)
        self._known[key] = {name: digest for name, _, digest, _ in found if digest}
        attachments: list[Attachment] = []
        notes: list[str] = []
        for name, size, _, data in found:
            if data is None:
                continue
            plain = name.rpartition("/")[2]
            media_type = mimetypes.guess_type(plain)[0] or _ANY
            file = NewFile(plain[-100:], media_type, base64.b64decode(data), made_as=name)
            try:
                attachments.append(await context.keep(file))
                notes.append(f"[Given to the user: {attachments[-1].name}]")
            except BethinkError as error:
                notes.append(f"[{plain} ({size:,} bytes) was not kept: {error}]")
        return ToolOutput("\n".join(notes), attachments=tuple(attachments))


def _content(path: Path, most: int) -> bytes | None:
    """A file's content, None if it is longer than `most` bytes or gone."""
    try:
        return path.read_bytes() if path.stat().st_size <= most else None
    except OSError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _folder(key: tuple[str, str]) -> str:
    return f"bethink-{_digest(json.dumps(key).encode())[:16]}"


def _session_in(result: CallResult) -> str | None:
    """The id of the server's session, where it says one in its answer."""
    values: list[Any] = [result.structured]
    for part in result.parts:
        if isinstance(part, Text) and _SESSION in part.text:
            try:
                values.append(json.loads(part.text))
            except (ValueError, RecursionError):
                continue
    for value in values:
        for one in (value, value.get("session_info") if isinstance(value, dict) else None):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON
            if isinstance(one, dict) and isinstance(found := one.get(_SESSION), str):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the same
                return found
    return None


def _listed(result: CallResult, mark: str) -> list[tuple[str, int, str, str | None]]:
    """The files that the interpreter named between the marks; what is none of that form is no file."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    found = re.search(f"{re.escape(mark)}([A-Za-z0-9+/=]*){re.escape(mark)}", text)
    try:
        told: Any = json.loads(base64.b64decode(found[1])) if found else []
    except (ValueError, RecursionError):
        return []
    entries = cast("list[Any]", told) if isinstance(told, list) else []
    return [tuple(one) for one in entries if _is_file(one)]


def _is_file(one: object) -> bool:
    match one:
        case [str(name), int(), str(), str() | None]:
            return bool(name) and not name.startswith("/") and ".." not in name.split("/")
        case _:
            return False


def outside_source(mcp: McpTools, settings: Settings) -> Callable[[], Sequence[Tool]]:
    """`execute_code` as the server named by `code_server` runs it, while that server offers its tool."""
    server, name = mcp.code_tool
    runner = OutsideInterpreter(mcp, server, name, settings.code_timeout_s)
    made: dict[object, tuple[Tool, ...]] = {}

    def source() -> Sequence[Tool]:
        if not settings.code_enabled or runner.offered is None:
            return ()
        rules = mcp.rules.get(server, NO_RULES)
        rule = rules.tools.get(runner.tool)
        effect = (rule and rule.effect) or rules.effect
        if effect not in made:
            made[effect] = (replace(_execute_code(runner), effect=effect),)
        return made[effect]

    return source


def _execute_code(runner: OutsideInterpreter) -> Tool:
    @tool(
        effect="egress",
        trust="untrusted",
        timeout_s=runner.timeout_s + 2 * _CARRY_S,
        label=f"Run Python at {runner.server.replace('{', '').replace('}', '')}: {{code}}",
        family="python",
        echoes_arguments=True,
    )
    async def execute_code(
        context: ToolContext,
        code: Annotated[str, Field(description="Python code to execute", min_length=1, max_length=200_000)],
    ) -> ToolOutput:
        """Execute Python code in an interpreter outside of Bethink.

        Files of this conversation lie in the working directory; those that you
        write there are given to the user. Whether variables stay for later
        calls, which packages are there and whether there is a network depends
        on that interpreter.
        """
        return await runner.run(context, code)

    return execute_code
