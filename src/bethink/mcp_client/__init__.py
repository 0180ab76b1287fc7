"""Port: servers that speak the Model Context Protocol, and the tools that they offer.

`Servers` (servers.py) owns a `Connection` for each configured server;
`tools/mcp.py` makes the remote tools ordinary ones. Adapters: `sdk.py` over the
official SDK, `fake.py` for tests. Source: https://modelcontextprotocol.io,
revisions 2024-11-05 to 2026-07-28.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import msgspec

from bethink.errors import NotAllowed
from bethink.questions import CANCELLED, Answer, Question

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

Start = Literal["lazy", "eager"]
Transport = Literal["stdio", "http", "sse"]
State = Literal["off", "idle", "connecting", "ready", "retrying", "sign_in"]
"""`off` by choice; `idle` is lazy and not needed yet; `sign_in` waits for a person."""

Confinement = Literal["none", "sandbox", "offline"]
"""A program may do what Bethink may, or runs in a sandbox with the network, or in one without."""

MEGABYTE = 1024 * 1024
MAX_MESSAGE_BYTES = 32 * MEGABYTE
"""A larger message of a server is refused: ten such at once must fit into memory."""
MAX_MESSAGE_VALUES = 1_000_000
"""Of the JSON of one message: the interpreter stands still for a fifth of a second while so many are made."""


AuthMethod = Literal["client_secret_basic", "client_secret_post"]
"""How a secret is handed to an authorization server, by the names of RFC 7591."""


@dataclass(frozen=True, slots=True)
class OAuth:
    """How to sign in to a server: the address its browser comes back to, and what to ask for.

    Without a `token_endpoint_auth_method` one is taken that the authorization server knows.
    """

    redirect_uri: str
    scope: str | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    token_endpoint_auth_method: AuthMethod | None = None


@dataclass(frozen=True, slots=True)
class Sandboxed:
    """What a command may reach from its sandbox, besides what is installed and what it names."""

    network: bool = True
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server as the owner of the machine configured it: `command` or `url`. Times in seconds.

    `call_timeout_s` bounds a call in all; `idle_timeout_s`, where it is set, the
    time in which neither progress nor a result comes. Without `sandbox` a command may do what Bethink may.
    It may ask its callers if it has `questions`, their model if it `samples`; `roots` are the places that
    it is told of.
    """

    name: str
    transport: Transport
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    start: Start = "lazy"
    sandbox: Sandboxed | None = None
    certificates: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of this process that say where private certificate authorities are, for a command."""
    connect_timeout_s: float = 30
    call_timeout_s: float = 60
    idle_timeout_s: float | None = None
    ping_every_s: float = 30
    pin: bool = True
    oauth: OAuth | None = None
    max_message_bytes: int = MAX_MESSAGE_BYTES
    questions: bool = True
    samples: bool = False
    roots: tuple[str, ...] = ()

    @property
    def confinement(self) -> Confinement | None:
        """How a command is held; None for a server that is no program of this machine."""
        if self.transport != "stdio":
            return None
        return "none" if self.sandbox is None else "sandbox" if self.sandbox.network else "offline"

    @property
    def origin(self) -> str:
        """A digest of what answers under this name: another command or address is another server."""
        place = [*self.command, self.cwd or "", self.url]
        return hashlib.sha256(msgspec.json.encode(place)).hexdigest()[:16]


class RemoteTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as its server describes it. The hints are the server's claims; None is not said."""

    name: str
    description: str = ""
    title: str = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None

    @property
    def digest(self) -> str:
        """A digest of everything that a model or the policy is told by it; `open_world` is for people."""
        told = msgspec.structs.replace(self, open_world=None)
        return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Text:
    """Text that a call gave."""

    text: str


@dataclass(frozen=True, slots=True)
class ResultFile:
    """Bytes that a call gave: a picture, a sound, a resource. `name` may be empty."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NamedResource:
    """A resource that a call only names."""

    uri: str
    name: str
    media_type: str = ""
    description: str = ""


Part = Text | ResultFile | NamedResource


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """Something that a server lets read: a file, a page, a record. Of a `template` the address has gaps."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    size: int | None = None
    template: bool = False


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """What a prompt leaves open."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A text that a server offers to begin with."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    part: Part


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave, in order. `structured` is JSON beside the parts, None where there is none."""

    parts: tuple[Part, ...]
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who answered: the protocol's revision, the server's own name and version, what it has beside tools."""

    protocol: str
    name: str = ""
    version: str = ""
    resources: bool = False
    prompts: bool = False


@dataclass(frozen=True, slots=True)
class SignIn:
    """A page that a person must visit; the answer comes back with this `state`."""

    url: str
    state: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a server wants answered by a model: at most `max_tokens`."""

    system: str
    text: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the `model` answered; it `is_cut` where the bound ended it."""

    text: str
    model: str
    is_cut: bool = False


class CallOwner(Protocol):
    """Whom a call is made for: the server may ask them something while it runs."""

    @property
    def owner(self) -> str:
        """Who it is."""
        ...

    async def answer(self, question: Question) -> Answer:
        """What they answer."""
        ...

    async def sample(self, wanted: Sampling) -> Sampled:
        """What their model answers.

        Raises:
            BethinkError: it may not be asked, or does not answer.
        """
        ...


async def _no_answer(question: Question) -> Answer:
    del question
    return CANCELLED


async def _no_model(wanted: Sampling) -> Sampled:
    del wanted
    raise NotAllowed("There is nobody whose model could be asked.")


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a session tells its connection, at any time, from any task."""

    on_change: Callable[[], None]
    """The list of tools is another one."""
    on_lost: Callable[[str], None]
    """The session is over; why, in a sentence."""
    on_sign_in: Callable[[SignIn | None], None]
    """A person must sign in; None once that is done."""
    on_words: Callable[[str], None] = lambda _words: None
    """What the server wrote last for people to read, its secrets hidden; again with each line."""
    on_question: Callable[[Question], Awaitable[Answer]] = _no_answer
    """It asks whoever the running call is made for."""
    on_sampling: Callable[[Sampling], Awaitable[Sampled]] = _no_model
    """It wants an answer of their model; raises `BethinkError` if it gets none."""


Progress = Callable[[str, float | None], None]
"""Takes a text and a fraction of 0..1, None where it is not known."""


class Library(Protocol):
    """What a server has beside tools: resources to read, and prompts to begin with.

    Each raises `McpError` if the server refuses or answers what cannot be understood.
    """

    async def resources(self) -> list[RemoteResource]:
        """What can be read, then the templates of addresses; the first few thousand."""
        ...

    async def read(self, uri: str) -> tuple[Part, ...]:
        """The content at an address."""
        ...

    async def prompts(self) -> list[RemotePrompt]:
        """The prompts that it offers; the first few thousand."""
        ...

    async def prompt(self, name: str, arguments: dict[str, str]) -> tuple[PromptMessage, ...]:
        """A prompt with its gaps filled."""
        ...


class Launcher(Protocol):
    """How a program is started in its sandbox."""

    async def __call__(
        self, config: ServerConfig, env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command line and the variables.

        Raises:
            OSError: there is no such program.
            SandboxUnavailable: there is no sandbox here, or it names what it must not reach.
        """
        ...


class ServerSession(Protocol):
    """An open connection to one server. Cancelling a call cancels it on the server."""

    @property
    def library(self) -> Library:
        """What it has beside tools."""
        ...

    @property
    def info(self) -> ServerInfo:
        """Who answered."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """What its last list of tools had that is no tool by the protocol, by name."""
        ...

    async def tools(self) -> list[RemoteTool]:
        """All tools that the server offers now.

        Raises:
            McpError: it did not say.
        """
        ...

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: Progress) -> CallResult:
        """Make a call; no bound of time but the caller's.

        Raises:
            McpLost: the connection ended; whether the call had effects is not known.
            McpError: the server refused it or answered what cannot be understood.
        """
        ...

    async def ping(self) -> None:
        """Ask for a sign of life.

        Raises:
            McpError: there was none.
        """
        ...


class Connector(Protocol):
    """Opens sessions; one task enters and leaves each."""

    def open(self, config: ServerConfig, hooks: Hooks) -> AbstractAsyncContextManager[ServerSession]:
        """A session with the server.

        Raises:
            McpError: it cannot be started or reached, or does not speak the protocol.
        """
        ...

    def signed_in(self, state: str, code: str, issuer: str | None) -> bool:
        """Hand in what the sign-in page gave; False where nobody waits for this state."""
        ...

    async def close(self) -> None:
        """End what is shared between sessions, when all are closed."""
        ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tool whose definition no person has accepted."""

    name: str
    change: Literal["new", "changed"]
    description: str


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is. `since` is microseconds UTC; `reason` says what is wrong and what to do.

    The tools that are `waiting` are not offered until they are accepted. Those `unreviewed` are, since they
    are the server's first ones; what they say of themselves counts as words from outside until then.
    `suggested` are settings that the server's own claims speak for; a person decides. `resources` and
    `prompts` say that it has some, or had when it was last connected to. `confinement` is that of a program;
    None where nothing runs here.
    """

    name: str
    transport: Transport
    start: Start
    state: State
    since: int
    reason: str | None = None
    last_error: str | None = None
    protocol: str | None = None
    server: str | None = None
    tools: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    unreviewed: tuple[Waiting, ...] = ()
    suggested: Mapping[str, str] = field(default_factory=dict[str, str])
    resources: bool = False
    prompts: bool = False
    digest: str | None = None
    sign_in: str | None = None
    attempts: int = 0
    confinement: Confinement | None = None

    @classmethod
    def of(cls, config: ServerConfig, state: State, since: int, *, reason: str | None = None) -> Self:
        """How a server is of which nothing more is known."""
        return cls(
            config.name, config.transport, config.start, state, since, reason, confinement=config.confinement
        )


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The definitions of a server's tools that were accepted, and of which server.

    `reviewed` says that a person accepted them, and not only that they came first. `resources` and
    `prompts` say that it had some when it was last connected to.
    """

    origin: str
    tools: tuple[RemoteTool, ...] = ()
    reviewed: bool = False
    resources: bool = False
    prompts: bool = False


class Keeping(Protocol):
    """What outlives the process: accepted definitions, and the tokens of signed-in servers, sealed."""

    async def pinned(self, server: str) -> Pinned | None:
        """The accepted definitions; None where the server was never seen."""
        ...

    async def pin(self, server: str, pinned: Pinned) -> None:
        """Keep the accepted definitions."""
        ...

    async def secret(self, server: str) -> str | None:
        """What `keep_secret` kept."""
        ...

    async def keep_secret(self, server: str, secret: str | None) -> None:
        """Keep a text sealed; None forgets it."""
        ...
