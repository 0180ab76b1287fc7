"""Shapes of settings that are more than one value. `settings` holds them, `app` hands them on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

Effect = Literal["read", "write", "destructive", "egress"]
Trust = Literal["owner", "untrusted"]
Redacted = Literal["card", "ssn", "phone", "email", "iban"]
"""Personal numbers that can be masked in what tools return."""


def as_object(value: object) -> object:
    """What JSON text says: so objects are written into the environment."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error


def as_list(value: object) -> object:
    """What a comma-separated text lists; anything else as it is."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _origin(url: str) -> str:
    """An origin (RFC 6454) as browsers send it."""
    parts = urlsplit(url.strip().rstrip("/"))
    if parts.scheme not in _PORTS or not parts.hostname or parts.path or parts.query or "@" in url:
        raise ValueError(
            f"{url!r} is no address of a site: give a scheme and a name, as https://bethink.example"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (
        f":{parts.port}" if parts.port not in (None, _PORTS[parts.scheme]) else ""
    )


_PORTS = {"http": 80, "https": 443}
Origins = Annotated[
    list[str], AfterValidator(lambda urls: [_origin(url) for url in urls]), BeforeValidator(as_list)
]
"""Addresses of sites, as browsers send them."""


class Assistant(BaseModel):
    """What `/v1/models` lists under a name: a model, with what it is told and may use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    system: str = ""
    tools: bool = True
    memory: bool = True


class ToolRule(BaseModel):
    """What an MCP server's tool is, by the word of who configured it.

    `decisive` names the arguments that decide whom a call reaches, or what it costs; the others are what it
    tells. `lists` names the fields of its answers that tell where calls may go: recipients that are known,
    channels that there are. `*` is all that it answers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    effect: Effect | None = None
    trust: Trust | None = None
    decisive: list[str] | None = None
    lists: list[str] = []


class Redaction(BaseModel):
    """Personal numbers that are masked in what tools return, before it is shown, kept or sent to a model.

    `exceptions` name tools, or patterns of names, with the kinds that are masked in theirs instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool_results: Annotated[list[Redacted], BeforeValidator(as_list)] = ["card", "ssn"]
    exceptions: dict[str, list[Redacted]] = {"*_memory": ["card", "ssn"], "*_memories": ["card", "ssn"]}


class McpOAuth(BaseModel):
    """How to sign in to an MCP server; all of it may be found out by asking the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scope: str | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    redirect_uri: str | None = None


class McpServer(BaseModel):
    """An MCP server, in the shape that other programs use under `mcpServers`, and what Bethink adds.

    What others have beside that, such as their own lists of approved tools, is left alone.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = Field(None, validation_alias=AliasChoices("url", "serverUrl", "httpUrl"))
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http", "streamable_http", "sse"] | None = Field(
        None, validation_alias=AliasChoices("type", "transport")
    )
    enabled: bool = True
    disabled: bool = False
    start: Literal["lazy", "eager"] = "lazy"
    connect_timeout_s: float = Field(30, gt=0, le=600)
    call_timeout_s: float = Field(60, gt=0, le=86_400)
    idle_timeout_s: float | None = Field(None, gt=0)
    ping_every_s: float = Field(30, ge=1)
    effect: Effect = "egress"
    trust: Trust = "untrusted"
    pin: bool = True
    tools: dict[str, ToolRule] = {}
    oauth: bool | McpOAuth = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either `command` (with `args`), or `url`")
        if (self.type == "stdio") != (self.command is not None) and self.type is not None:
            raise ValueError(f"the type {self.type} does not go with {'command' if self.command else 'url'}")
        return self


class DialDoor(BaseModel):
    """Bethink as an application of DIAL: where Core is, which model answers, where memory is kept.

    `hosts` are the names under which Core calls this Bethink, beside this machine's own.
    `model` and `models` are deployments of Core, asked with the key of each request.
    `memory` is kept in the user's `bucket`, as other applications know it, in Bethink's own
    `store` under a hash, or is `off`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    name: str = Field(default="bethink", pattern="^[A-Za-z0-9._-]{1,100}$")
    url: str | None = None
    hosts: list[str] = []
    model: str = ""
    models: list[str] = []
    context_tokens: int = Field(default=128_000, ge=1024)
    memory: Literal["bucket", "store", "off"] = "bucket"
    timeout_s: float = Field(default=30, gt=0)
    approval_timeout_s: float = Field(default=900, gt=0)
    idle_s: float = Field(default=900, gt=0)
    max_files: int = Field(default=20, ge=0)


class VaultSettings(BaseModel):
    """The vault: a folder of Markdown files that its owner edits, the agent maintains and recall searches.

    `path` is the folder of whoever works at this machine (none: `vault` in the data directory); other
    users have theirs below `vaults` there. The three sizes bound a page, the pages of one folder, and
    all of them; `max_export_bytes` an export that is uploaded to be imported. With `mirror` each fact is a
    line of a page, too. Of versions older than `versions_days` the last of each day stays (none: all stay).
    Pages that other programs lay in, and those of an import, are from outside until their owner vouches for
    them; `trust` "owner" says that whatever lies there is the owner's own.

    The memory agent asks `agent_model` (`auto`: the usual model, else one that is found on this machine), at
    most `agent_turns` times a question. `agent_protocol` says how that model is told of tools: as its server
    takes them, by tags, or by a schema; `auto` goes by its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    path: Annotated[Path, AfterValidator(Path.expanduser)] | None = None
    max_file_bytes: int = Field(default=1_000_000, ge=1_000)
    max_directory_bytes: int = Field(default=10_000_000, ge=1_000)
    max_bytes: int = Field(default=100_000_000, ge=1_000)
    trust: Trust = "untrusted"
    watch: bool = True
    mirror: bool = True
    versions_days: int | None = Field(default=30, ge=1)
    agent_model: str = "auto"
    agent_turns: int = Field(default=20, ge=1)
    agent_protocol: Literal["auto", "native", "tagged", "routed"] = "auto"
    max_export_bytes: int = Field(default=5_000_000_000, ge=1_000)


def explained(error: ValidationError, names: list[str]) -> str:
    """What is wrong with settings, a sentence each; `names` are those that there are."""
    from difflib import get_close_matches

    faults: list[str] = []
    for detail in error.errors(include_input=False, include_url=False):
        place = ".".join(map(str, detail["loc"]))
        if detail["type"] != "extra_forbidden":
            faults.append(f"setting {place or '?'}: {detail['msg']}")
            continue
        near = get_close_matches(place, names, 1) if len(detail["loc"]) == 1 else []
        faults.append(f"there is no setting {place}" + (f": perhaps {near[0]}?" if near else ""))
    return "; ".join(faults)
