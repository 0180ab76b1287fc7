"""Tools of MCP servers as tools of the house: safe names, plain schemas, effects that are only ever stricter.

`app` gives `McpTools.source` to the toolbox. A server's word about its own tool
makes the policy stricter, never laxer; what the owner of the machine says in
the configuration stands above it.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from bethink.errors import BethinkError
from bethink.events import ToolProgress
from bethink.mcp_client import File, Link, Text
from bethink.mcp_client.schemas import plain
from bethink.tool import NewFile, ToolContext, ToolOutput, foreign_tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.mcp_client import CallResult, Part, Progress, RemoteTool, ServerConfig
    from bethink.mcp_client.servers import Servers
    from bethink.messages import Attachment
    from bethink.settings_shapes import McpServer
    from bethink.tool import Effect, Handler, Tool

MAX_NAME = 64
"""Longest name that all models take."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_DIGEST = 8
_STRICTNESS: tuple[Effect, ...] = ("read", "write", "egress", "destructive")
_PROGRESS_EVERY_S = 0.1
"""A server may report a thousand times a second; nobody reads faster than this."""
_MARGIN_S = 5
"""The server's own time-out comes first: it says more."""
_MAX_FILES = 20


@dataclass(slots=True)
class McpTools:
    """The tools of all servers. Those of one are made anew, in a thread, when what it offers has changed."""

    servers: Servers
    rules: Mapping[str, McpServer]
    _made: tuple[Tool, ...] = ()
    _version: int = field(default=-1)
    _ready: dict[str, tuple[tuple[RemoteTool, ...], tuple[Tool, ...]]] = field(
        default_factory=dict[str, "tuple[tuple[RemoteTool, ...], tuple[Tool, ...]]"]
    )

    def __post_init__(self) -> None:
        self.servers.prepare = self._prepare

    def source(self) -> Sequence[Tool]:
        """All tools; the same tuple as long as nothing changes."""
        if self._version != self.servers.version:
            self._version = self.servers.version
            self._made = tuple(self._tools())
        return self._made

    def _tools(self) -> list[Tool]:
        made: list[Tool] = []
        taken: set[str] = set()
        for config, remote in self.servers.offers():
            if config.name not in self._ready or self._ready[config.name][0] is not remote:
                self._prepare(config, remote)
            for one in self._ready[config.name][1]:
                # Two servers may be called alike but for what stands in no name.
                name = public_name(config.name, one.name, taken) if one.name in taken else one.name
                made.append(one if name == one.name else one.renamed(name))
                taken.add(name)
        return made

    def _prepare(self, config: ServerConfig, remote: tuple[RemoteTool, ...]) -> None:
        self._ready[config.name] = (remote, tuple(self._of(config, remote)))

    def _of(self, config: ServerConfig, remotes: tuple[RemoteTool, ...]) -> list[Tool]:
        made: list[Tool] = []
        taken: set[str] = set()
        rules = self.rules.get(config.name)
        for remote in remotes:
            rule = rules.tools.get(remote.name) if rules else None
            if rule is not None and not rule.enabled:
                continue
            name = public_name(config.name, remote.name, taken)
            taken.add(name)
            made.append(
                foreign_tool(
                    _handler(self.servers, config, remote),
                    name=name,
                    description=_described(config, remote),
                    parameters=plain(remote.input_schema),
                    effect=(rule and rule.effect) or _effect(remote, rules.effect if rules else "egress"),
                    trust=(rule and rule.trust) or (rules.trust if rules else "untrusted"),
                    label=f"{config.name}: {remote.title or remote.name}"[:120],
                    source=config.name,
                    origin=f"{config.origin}:{remote.digest}",
                    timeout_s=config.connect_timeout_s + config.call_timeout_s + _MARGIN_S,
                )
            )
        return made


def public_name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` in letters, digits, `_` and `-`, of at most 64 characters, and not among `taken`."""
    name = f"{_UNSAFE.sub('_', server)}__{_UNSAFE.sub('_', tool)}"
    if len(name) <= MAX_NAME and name not in taken:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_DIGEST]
    return f"{name[: MAX_NAME - _DIGEST - 1]}_{digest}"


def _effect(remote: RemoteTool, given: Effect) -> Effect:
    """The stricter of what is configured and what the server says; its silence says nothing."""
    claimed: Effect = (
        "destructive" if remote.destructive else "write" if remote.read_only is False else "read"
    )
    return given if _STRICTNESS.index(given) >= _STRICTNESS.index(claimed) else claimed


def _described(config: ServerConfig, remote: RemoteTool) -> str:
    return remote.description.strip() or remote.title or f"{remote.name}, a tool of {config.name}."


def _handler(servers: Servers, config: ServerConfig, remote: RemoteTool) -> Handler:
    async def call(context: ToolContext, /, **arguments: object) -> ToolOutput:
        result = await servers.call(
            config.name, remote.name, arguments=arguments, on_progress=_reporting(context, remote)
        )
        return await _output(context, result)

    return call


def _reporting(context: ToolContext, remote: RemoteTool) -> Progress:
    last = 0.0

    def report(text: str, fraction: float | None) -> None:
        nonlocal last
        now = monotonic()
        if now - last < _PROGRESS_EVERY_S and fraction != 1:
            return
        last = now
        context.emit(ToolProgress(call=context.call, text=text[:300] or remote.name, fraction=fraction))

    return report


async def _output(context: ToolContext, result: CallResult) -> ToolOutput:
    """The parts in their order: text as it is, files kept, links named."""
    lines: list[str] = []
    kept: list[Attachment] = []
    for part in result.parts:
        match part:
            case Text(text):
                lines.append(text)
            case Link():
                lines.append(_named(part))
            case File() if len(kept) < _MAX_FILES:
                lines.append(await _kept(context, part, kept))
            case File():
                lines.append(f"[one more file, left out: {part.media_type}]")
    if result.structured is not None and not _says(result.parts, result.structured):
        lines.append(json.dumps(result.structured, ensure_ascii=False))
    text = "\n".join(lines) or (
        "The tool failed without a word." if result.is_error else "Done, without a result."
    )
    return ToolOutput(text, attachments=tuple(kept), error="mcp_tool_error" if result.is_error else None)


async def _kept(context: ToolContext, part: File, kept: list[Attachment]) -> str:
    """Keep a file; what the model reads of that. A file that cannot be kept costs the rest nothing."""
    file = _file(part, len(kept) + 1)
    try:
        attachment = await context.keep(file)
    except BethinkError as error:
        return f"[file left out: {error}]"
    kept.append(attachment)
    return f"[file kept: {attachment.name}, {attachment.media_type}]"


def _named(link: Link) -> str:
    told = ", ".join(filter(None, (link.name, link.media_type, link.description)))
    return f"[resource {link.uri}: {told}]"


def _file(part: File, number: int) -> NewFile:
    ending = mimetypes.guess_extension(part.media_type) or ""
    kind = part.media_type.partition("/")[0]
    name = part.name or f"{kind if kind in {'image', 'audio'} else 'file'}-{number}{ending}"
    return NewFile(name=name[-100:], media_type=part.media_type, content=part.content)


def _says(parts: Sequence[Part], structured: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether the text is the structured result already, as the specification asks of servers."""
    for part in parts:
        if isinstance(part, Text):
            try:
                if json.loads(part.text) == structured:
                    return True
            except (ValueError, RecursionError):
                continue
    return False
