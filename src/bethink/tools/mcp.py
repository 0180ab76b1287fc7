"""Tools of MCP servers as tools of the house: safe names, plain schemas, effects that are only ever stricter.

`app` opens the configured servers before anything is wired, and gives `McpTools.source` to the toolbox.
A server's word about its own tool makes the policy stricter, never laxer; what the owner of the machine
says in the configuration stands above it.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import anyio
import anyio.to_thread
from pydantic import ValidationError

from bethink.errors import BadInput, BethinkError
from bethink.events import ToolProgress
from bethink.mcp_client import NamedResource, OAuth, Pinned, ResultFile, Sandboxed, ServerConfig, Text
from bethink.mcp_client.schemas import plain
from bethink.mcp_client.sdk import SdkConnector
from bethink.mcp_client.servers import Servers
from bethink.principal import LOCAL_OWNER, Latest
from bethink.sandbox.programs import Program, Programs
from bethink.settings import McpOAuth, McpServer, Settings, variable
from bethink.store import Collection, Delete, Put, Record, Store
from bethink.tool import Effect, NewFile, Tool, ToolContext, ToolOutput, foreign_tool, leaves
from bethink.tools.mcp_library import READER, reader_tool
from bethink.tools.mcp_requests import CallPerson

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.mcp_client import CallResult, Part, RemoteTool, Transport
    from bethink.messages import Attachment
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings.live import Switch
    from bethink.telemetry import Supervise


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
NO_RULES = McpServer.model_construct()
_WEB = re.compile(r"https?:|//", re.IGNORECASE)
"""An address of the web, which other tools open too: a server's word does not make that harmless."""
_MOST_LISTED = 10_000


class _Ready(NamedTuple):
    """The tools made of what a server offers, whether a person had accepted that, and whether it `reads`."""

    remote: tuple[RemoteTool, ...]
    is_reviewed: bool
    reads: bool
    tools: tuple[Tool, ...]


@dataclass(slots=True)
class McpTools:
    """The tools of all servers. Those of one are made anew, in a thread, when what it offers has changed."""

    servers: Servers
    rules: Mapping[str, McpServer]
    code_tool: tuple[str, str] = ("", "")
    """Server and name of the tool that runs code for `execute_code`: it is not offered by itself."""
    source: Latest[tuple[Tool, ...]] = field(default_factory=lambda: Latest(()))
    """All tools; the same tuple as long as nothing changes."""
    _ready: dict[str, _Ready] = field(default_factory=dict[str, "_Ready"])

    def __post_init__(self) -> None:
        self.servers.prepare, self.servers.on_change = self._prepare, self._offer

    async def remade(self, wanted: Settings, changed: AbstractSet[str]) -> Switch | None:
        """What puts the servers of other settings in place; those that stay as they are stay connected.

        Raises:
            BadInput: the file of servers cannot be read or is not valid.
        """
        if changed.isdisjoint({"mcp_servers", "mcp_servers_file", "mcp_sandbox"}):
            return None
        found = await anyio.to_thread.run_sync(configured_in, wanted)

        async def switch() -> None:
            self.rules = found.rules
            self._ready.clear()
            await self.servers.reconfigure(found.servers, found.off)

        return switch

    def _offer(self) -> None:
        made: list[Tool] = []
        taken: set[str] = set()
        for config, remote in self.servers.offers():
            now = (self.servers.is_reviewed(config.name), self.servers.has_resources(config.name))
            ready = self._ready.get(config.name)
            if ready is None or ready.remote is not remote or (ready.is_reviewed, ready.reads) != now:
                self._prepare(config, remote)
            for one in self._ready[config.name].tools:
                # Two servers may be called alike but for what stands in no name.
                name = public_name(config.name, one.name, taken) if one.name in taken else one.name
                made.append(one if name == one.name else one.renamed(name))
                taken.add(name)
        self.source.value = tuple(made)

    def _prepare(self, config: ServerConfig, remotes: tuple[RemoteTool, ...]) -> None:
        is_reviewed, reads = self.servers.is_reviewed(config.name), self.servers.has_resources(config.name)
        made: list[Tool] = []
        names: dict[str, str] = {}
        rules = self.rules.get(config.name, NO_RULES)
        offered = {remote.name: rules.tools.get(remote.name) for remote in remotes}
        for name, rule in offered.items():
            if (rule is None or rule.enabled) and (config.name, name) != self.code_tool:
                names[name] = public_name(config.name, name, set(names.values()))
        reader = public_name(config.name, READER, set(names.values())) if reads else ""
        for remote in remotes:
            rule, name = offered[remote.name], names.get(remote.name)
            if name is None:
                continue
            lists = tuple(rule.lists) if rule else ()
            call = _Call(self.servers, config, remote, rules, lists, reader)
            tool = foreign_tool(
                call,
                name=name,
                description=remote.description.strip()
                or remote.title
                or f"{remote.name}, a tool of {config.name}.",
                parameters=plain(remote.input_schema),
                effect=(rule and rule.effect) or _effect(remote, rules.effect),
                trust=(rule and rule.trust) or rules.trust,
                label=f"{config.name}: {remote.title or remote.name}"[:120],
                source=config.name,
                origin=f"{config.origin}:{remote.digest}",
                timeout_s=config.connect_timeout_s + config.call_timeout_s + _MARGIN_S,
            )
            decisive = None if rule is None or rule.decisive is None else tuple(rule.decisive)
            unreviewed = not is_reviewed and tool.trust != "owner"
            made.append(replace(tool, decisive=decisive, unreviewed=unreviewed))
        if reads:
            show = partial(_shown, reader=reader)
            made.append(reader_tool(self.servers, config, rules, name=reader, show=show))
        self._ready[config.name] = _Ready(remotes, is_reviewed, reads, tuple(made))


def listed(text: str, fields: Sequence[str], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands in these fields of an answer, which is JSON; for `*` all of it, or a text's lines.

    A line such as "Hotels: Ritz" names the Ritz. What the call itself said is no listing of the server's.
    """
    if not fields:
        return ()
    asked = "\n".join(leaves(dict(arguments))).casefold()
    return tuple(value for value in _values(text, fields) if value.casefold() not in asked)


def _values(text: str, fields: Sequence[str]) -> Sequence[str]:
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


@dataclass(frozen=True, slots=True)
class _Call:
    """The handler of one remote tool; `reader` is the tool that opens the resources that it names."""

    servers: Servers
    config: ServerConfig
    remote: RemoteTool
    rules: McpServer
    lists: Sequence[str]
    reader: str

    async def __call__(self, context: ToolContext, /, **arguments: object) -> ToolOutput:
        """Make the call, and tell how far it is."""
        last = 0.0

        def report(text: str, fraction: float | None) -> None:
            nonlocal last
            now = monotonic()
            if now - last >= _PROGRESS_EVERY_S or fraction == 1:
                last = now
                text = text[:300] or self.remote.name
                context.emit(ToolProgress(call=context.call, text=text, fraction=fraction))

        person = CallPerson(context, self.config.name, self.rules)
        result = await self.servers.call(
            self.config.name, self.remote.name, arguments=arguments, on_progress=report, person=person
        )
        output = await output_of(context, result, self.reader)
        found = listed(output.text, self.lists, arguments)
        text = "\n".join((output.text, *person.notes))
        return replace(output, text=text, addresses=(*found, *output.addresses))


async def output_of(context: ToolContext, result: CallResult, reader: str) -> ToolOutput:
    """What a call gave, as a tool's answer; `reader` is the tool that reads what it only names."""
    output = await _shown(context, result.parts, reader=reader)
    text = output.text
    if result.structured is not None and not _says(result.parts, result.structured):
        text = "\n".join(filter(None, (text, json.dumps(result.structured, ensure_ascii=False))))
    text = text or ("The tool failed without a message." if result.is_error else "Done, without a result.")
    return replace(output, text=text, error="mcp_tool_error" if result.is_error else None)


async def _shown(context: ToolContext, parts: Sequence[Part], *, reader: str) -> ToolOutput:
    """What the model reads of parts; their files are kept. An address of no web may be read then."""
    lines: list[str] = []
    kept: list[Attachment] = []
    links: list[str] = []
    for part in parts:
        match part:
            case Text(text):
                lines.append(text)
            case NamedResource():
                about = ", ".join(filter(None, (part.name, part.media_type, part.description)))
                lines.append(f"[resource {part.uri}: {' '.join(about.split())}]")
                links.append(part.uri)
            case ResultFile() if len(kept) < _MAX_FILES:
                lines.append(await _kept(context, part, kept))
            case ResultFile():
                lines.append(f"[one more file, left out: {part.media_type}]")
    if links and reader:
        lines.append(f"[{reader} reads these resources]")
    own = tuple(uri for uri in links if not _WEB.match(uri))
    return ToolOutput("\n".join(lines), attachments=tuple(kept), addresses=own if reader else ())


async def _kept(context: ToolContext, part: ResultFile, kept: list[Attachment]) -> str:
    """Keep a file; what the model reads of that. A file that cannot be kept costs the rest nothing."""
    ending = mimetypes.guess_extension(part.media_type) or ""
    kind = part.media_type.partition("/")[0]
    name = part.name or f"{kind if kind in {'image', 'audio'} else 'file'}-{len(kept) + 1}{ending}"
    file = NewFile(name=name[-100:], media_type=part.media_type, content=part.content)
    try:
        attachment = await context.keep(file)
    except BethinkError as error:
        return f"[file left out: {error}]"
    kept.append(attachment)
    return f"[file kept: {attachment.name}, {attachment.media_type}]"


def _says(parts: Sequence[Part], structured: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether the text is the structured result already, as the specification asks of servers.

    Servers that name an answer which is no object, `{"result": …}`, write it into the text without that name,
    and each item of a list into a part of its own.
    """
    texts = [part.text for part in parts if isinstance(part, Text)]
    values = [structured]
    match structured:
        case {"result": value, **more} if not more:
            values.append(value)
        case _:
            pass
    if texts and isinstance(values[-1], list):
        items = cast("list[Any]", values[-1])
        if len(texts) == len(items) and all(map(_is, texts, items)):
            return True
    return any(_is(text, value) for text in texts for value in values)


def _is(text: str, value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a text is a value, as it is or as JSON."""
    if text == value:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False


_CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)
"""Where a company's own authorities stand: `npx` and `uvx` can download nothing behind its proxy without."""
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}`, `${env:NAME}` as VS Code writes it, and `${NAME:-default}` as shells do."""


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers to keep, those that are not with the reason, and what was said of their tools."""

    servers: tuple[ServerConfig, ...]
    off: tuple[tuple[ServerConfig, str], ...]
    rules: Mapping[str, McpServer]


def configured(
    servers: Mapping[str, McpServer],
    file: Path | None,
    *,
    variable: Callable[[str], str | None],
    redirect_uri: str,
    sandboxed: bool = False,
) -> Configured:
    """The servers of the settings and of the file; a name in both is the settings' one.

    Programs are `sandboxed` unless their entry says otherwise.

    Raises:
        BadInput: the file cannot be read, or a server in it is not valid.
    """
    rules = (_read(file) if file else {}) | dict(servers)
    kept: list[ServerConfig] = []
    off: list[tuple[ServerConfig, str]] = []
    for name, server in rules.items():
        config, missing = _config(name, server, variable, redirect_uri=redirect_uri, sandboxed=sandboxed)
        if missing:
            off.append(
                (config, f"There is no environment variable {', '.join(missing)}: set it and start again.")
            )
        elif server.disabled or not server.enabled:
            off.append((config, "It is switched off in the configuration."))
        else:
            kept.append(config)
    return Configured(tuple(kept), tuple(off), rules)


def configured_in(settings: Settings) -> Configured:
    """The servers of the settings; reads their file.

    Raises:
        BadInput: the file cannot be read, or a server in it is not valid.
    """
    return configured(
        settings.mcp_servers,
        settings.mcp_servers_file,
        variable=variable,
        redirect_uri=_callback(settings),
        sandboxed=settings.mcp_sandbox,
    )


def config_to_try(settings: Settings, name: str, server: McpServer) -> ServerConfig:
    """A server that is not kept, with the values of the variables that it names.

    Raises:
        BadInput: there is no such variable.
    """
    config, missing = _config(
        name, server, variable, redirect_uri=_callback(settings), sandboxed=settings.mcp_sandbox
    )
    if missing:
        raise BadInput(f"There is no environment variable {', '.join(missing)}: set it and start again.")
    return config


def _callback(settings: Settings) -> str:
    return f"http://127.0.0.1:{settings.port}{CALLBACK}"


def _config(
    name: str,
    server: McpServer,
    variable: Callable[[str], str | None],
    *,
    redirect_uri: str,
    sandboxed: bool,
) -> tuple[ServerConfig, list[str]]:
    """A server with the values of the variables that it names, and which of these there are not."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = variable(match[1])
        if found is None and match[2] is None:
            missing.append(match[1])
        return found or match[2] or ""

    expanded = partial(_VARIABLE.sub, value)
    transport: Transport = "stdio" if server.command else "sse" if server.type == "sse" else "http"
    oauth = McpOAuth() if server.oauth is True else server.oauth or None
    secret = oauth.client_secret if oauth else None
    config = ServerConfig(
        name,
        transport,
        command=tuple(map(expanded, (server.command, *server.args))) if server.command else (),
        env={name: expanded(text) for name, text in server.env.items()},
        certificates={name: path for name in _CERTIFICATES if (path := variable(name))}
        if server.command
        else {},
        cwd=expanded(server.cwd) if server.cwd else None,
        sandbox=_sandbox(server, expanded, wanted=sandboxed),
        url=expanded(server.url or ""),
        headers={name: expanded(text) for name, text in server.headers.items()},
        start=server.start,
        connect_timeout_s=server.connect_timeout_s,
        call_timeout_s=server.call_timeout_s,
        idle_timeout_s=server.idle_timeout_s,
        ping_every_s=server.ping_every_s,
        pin=server.pin,
        questions=server.questions,
        samples=server.sampling != "never",
        roots=tuple(map(expanded, server.roots)),
        oauth=oauth
        and OAuth(
            oauth.redirect_uri or redirect_uri,
            oauth.scope,
            oauth.client_id,
            expanded(secret.get_secret_value()) if secret else None,
            oauth.token_endpoint_auth_method,
        ),
    )
    return config, missing


def _sandbox(server: McpServer, expanded: Callable[[str], str], *, wanted: bool) -> Sandboxed | None:
    """The sandbox of a program; who says what it may reach from one wants it in one."""
    implied = not server.network or bool(server.readable or server.writable)
    if not server.command or not (wanted or implied if server.sandbox is None else server.sandbox):
        return None
    return Sandboxed(
        server.network, tuple(map(expanded, server.readable)), tuple(map(expanded, server.writable))
    )


@dataclass(frozen=True, slots=True)
class SandboxLauncher:
    """Starts servers' programs in the machine's sandbox, each with a folder of its own in `folders`."""

    programs: Programs
    folders: Path

    async def __call__(
        self, config: ServerConfig, env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """See `Launcher`."""
        held = config.sandbox or Sandboxed()
        program = Program(
            config.command,
            env,
            self.folders / _folder_of(config.name),
            cwd=Path(config.cwd) if config.cwd else None,
            network=held.network,
            readable=[Path(place) for place in (*held.readable, *config.certificates.values())],
            writable=[Path(place) for place in held.writable],
        )
        enclosed = await self.programs.enclosed(program)
        return enclosed.command, enclosed.env


def _folder_of(server: str) -> str:
    plain = _UNSAFE.sub("_", server)
    return plain if plain == server else f"{plain}_{hashlib.sha256(server.encode()).hexdigest()[:_DIGEST]}"


def code_tool_of(settings: Settings) -> tuple[str, str]:
    """Server and name of the tool that runs code in place of the sandbox."""
    server, _, tool = settings.code_server.partition("/")
    return server, tool or "execute_code"


def programs_of(settings: Settings) -> Programs:
    """The sandbox for programs that the settings ask for."""
    return Programs(settings.code_sandbox, settings.data_dir, closed_port=settings.port)


def _read(file: Path) -> dict[str, McpServer]:
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"The file of MCP servers {file} cannot be read: {error}") from error
    found: object = document
    if isinstance(document, dict):
        pasted = cast("dict[str, Any]", document)
        found = pasted.get("mcpServers", pasted.get("servers", pasted))
    if not isinstance(found, dict):
        raise BadInput(f"The file {file} contains no servers: it needs an object under `mcpServers`.")
    named = cast("dict[str, Any]", found)
    servers: dict[str, McpServer] = {}
    for name, one in named.items():
        try:
            servers[name] = McpServer.model_validate(one)
        except ValidationError as error:
            reasons = "; ".join(
                f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}".lstrip(": ")
                for detail in error.errors(include_input=False, include_url=False)
            )
            raise BadInput(f"The server {name} in {file} is not valid: {reasons}") from error
    return servers


class PinnedTools(Record, frozen=True, kw_only=True):
    """The accepted definitions of one server's tools."""

    pinned: Pinned


class SealedTokens(Record, frozen=True, kw_only=True):
    """One server's tokens, unreadable without the master key."""

    sealed: bytes


PINS = Collection("meta", PinnedTools, searchable=False)
TOKENS = Collection("meta", SealedTokens, searchable=False)


@dataclass(frozen=True, slots=True)
class McpKeeping:
    """Keeping in the store."""

    store: Store
    secret_box: SecretBox

    async def pinned(self, server: str) -> Pinned | None:
        """The accepted definitions; None where the server was never seen."""
        (found,) = await self.store.get(PINS, LOCAL_OWNER, [f"mcp-pins:{server}"])
        return found.record.pinned if found else None

    async def pin(self, server: str, pinned: Pinned) -> None:
        """Keep the accepted definitions."""
        record = PinnedTools(id=f"mcp-pins:{server}", pinned=pinned)
        await self.store.commit(LOCAL_OWNER, [Put(PINS, record)])

    async def secret(self, server: str) -> str | None:
        """What `keep_secret` kept.

        Raises:
            StorageError: it was sealed with another key.
        """
        (found,) = await self.store.get(TOKENS, LOCAL_OWNER, [f"mcp-tokens:{server}"])
        return await self.secret_box.open(found.record.sealed) if found else None

    async def keep_secret(self, server: str, secret: str | None) -> None:
        """Keep a text sealed; None forgets it."""
        id = f"mcp-tokens:{server}"
        if secret is None:
            change = Delete(TOKENS, id)
        else:
            change = Put(TOKENS, SealedTokens(id=id, sealed=await self.secret_box.seal(secret)))
        await self.store.commit(LOCAL_OWNER, [change])


_TOPIC = "mcp-servers"
CALLBACK = "/mcp-servers/callback"
FOLDERS = "mcp_servers"
"""In the data directory: what programs in the sandbox keep of their own."""


@asynccontextmanager
async def open_mcp(
    settings: Settings, store: Store, bus: Bus, *, clock: Clock, secret_box: SecretBox, supervise: Supervise
) -> AsyncGenerator[McpTools]:
    """The tools of the configured servers, which are kept while the block lasts; none is waited for.

    Raises:
        BadInput: the file of servers cannot be read or is not valid.
    """
    found = await anyio.to_thread.run_sync(configured_in, settings)
    keeping = McpKeeping(store, secret_box)
    launcher = SandboxLauncher(programs_of(settings), settings.data_dir / FOLDERS)
    connector = SdkConnector(keeping, launcher)
    servers = Servers(connector, keeping, clock, on_accept=partial(bus.publish, _TOPIC))
    tools = McpTools(servers, found.rules, code_tool_of(settings))

    async def hear() -> None:
        async with bus.subscribe(_TOPIC) as notices:
            async for _ in notices:
                await servers.look_again()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervise, "tools accepted elsewhere", hear)
        async with servers.opened(found.servers, found.off, supervise=supervise):
            yield tools
        tasks.cancel_scope.cancel()
