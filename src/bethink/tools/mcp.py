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
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bethink.errors import BethinkError
from bethink.events import ToolProgress
from bethink.mcp_client import File, Link, Text
from bethink.mcp_client.schemas import plain
from bethink.tool import NewFile, ToolContext, ToolOutput, foreign_tool
from bethink.tool_schema import leaves

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
_MOST_LISTED = 10_000


class _Ready(NamedTuple):
    """The tools made of what a server offers, and whether a person had accepted that."""

    remote: tuple[RemoteTool, ...]
    is_reviewed: bool
    tools: tuple[Tool, ...]


@dataclass(slots=True)
class McpTools:
    """The tools of all servers. Those of one are made anew, in a thread, when what it offers has changed."""

    servers: Servers
    rules: Mapping[str, McpServer]
    _made: tuple[Tool, ...] = ()
    _version: int = field(default=-1)
    _ready: dict[str, _Ready] = field(default_factory=dict[str, "_Ready"])

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
            is_reviewed, ready = self.servers.is_reviewed(config.name), self._ready.get(config.name)
            if ready is None or ready.remote is not remote or ready.is_reviewed != is_reviewed:
                self._prepare(config, remote)
            for one in self._ready[config.name].tools:
                # Two servers may be called alike but for what stands in no name.
                name = public_name(config.name, one.name, taken) if one.name in taken else one.name
                made.append(one if name == one.name else one.renamed(name))
                taken.add(name)
        return made

    def _prepare(self, config: ServerConfig, remote: tuple[RemoteTool, ...]) -> None:
        is_reviewed = self.servers.is_reviewed(config.name)
        tools = tuple(self._of(config, remote, is_reviewed=is_reviewed))
        self._ready[config.name] = _Ready(remote, is_reviewed, tools)

    def _of(self, config: ServerConfig, remotes: tuple[RemoteTool, ...], *, is_reviewed: bool) -> list[Tool]:
        made: list[Tool] = []
        taken: set[str] = set()
        rules = self.rules.get(config.name)
        for remote in remotes:
            rule = rules.tools.get(remote.name) if rules else None
            if rule is not None and not rule.enabled:
                continue
            name = public_name(config.name, remote.name, taken)
            taken.add(name)
            tool = foreign_tool(
                _handler(self.servers, config, remote, rule.lists if rule else ()),
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
            decisive = None if rule is None or rule.decisive is None else tuple(rule.decisive)
            unreviewed = not is_reviewed and tool.trust != "owner"
            made.append(replace(tool, decisive=decisive, unreviewed=unreviewed))
        return made


def listed(text: str, fields: Collection[str], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands in these fields of an answer, which is JSON; for `*` all of it, or a text's lines.

    A line such as "Hotels: Ritz" names the Ritz. What the call itself said is no listing of the server's.
    """
    if not fields:
        return ()
    asked = "\n".join(leaves(dict(arguments))).casefold()
    return tuple(value for value in _values(text, fields) if value.casefold() not in asked)


def _values(text: str, fields: Collection[str]) -> Sequence[str]:
    try:
        found = [(json.loads(text), "*" in fields)]
    except (ValueError, RecursionError):
        lines = (line.strip(" -*") for line in text.splitlines()[:_MOST_LISTED])
        return [line.rpartition(": ")[2] for line in lines] if "*" in fields else []
    values: list[str] = []
    while found and len(values) < _MOST_LISTED:
        value, is_meant = found.pop()
        match value:
            case dict():
                pairs = cast("dict[str, Any]", value).items()
                found += [(inner, is_meant or name in fields) for name, inner in pairs]
            case list():
                found += [(inner, is_meant) for inner in cast("list[Any]", value)]
            case str() | int() | float() if is_meant:
                values.append(str(value))
            case _:
                pass
    return values


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


def _handler(servers: Servers, config: ServerConfig, remote: RemoteTool, lists: Collection[str]) -> Handler:
    async def call(context: ToolContext, /, **arguments: object) -> ToolOutput:
        result = await servers.call(
            config.name, remote.name, arguments=arguments, on_progress=_reporting(context, remote)
        )
        output = await _output(context, result)
        return replace(output, addresses=listed(output.text, lists, arguments))

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
