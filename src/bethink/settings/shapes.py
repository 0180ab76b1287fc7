"""The shapes of settings that are more than one value: assistants, rules, tool servers, the vault, DIAL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from bethink.settings.groups import place
from bethink.settings.values import WebAddressOrNone, as_list

Effect = Literal["read", "write", "destructive", "egress"]
Trust = Literal["owner", "untrusted"]
Redacted = Literal["card", "ssn", "phone", "email", "iban"]
"""Personal numbers that can be masked in what tools return."""
_vault, _dial, _privacy, _backups = place("vault"), place("dial"), place("privacy"), place("backups")


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Assistant(_Shape):
    """What `/v1/models` lists under a name: a model, with what it is told and may use."""

    model: str | None = Field(
        None, title="Model", description="Such as `openai:gpt-4o`; the usual one if unset."
    )
    system: str = Field("", title="Instructions", description="What it is told before every conversation.")
    tools: bool = Field(True, title="Tools", description="Whether it may use tools.")
    memory: bool = Field(True, title="Memory", description="Whether it recalls and remembers.")


class Price(BaseModel):
    """US dollars for a million tokens."""

    input: float = Field(ge=0, title="Input", description="Dollars for a million tokens read.")
    output: float = Field(ge=0, title="Output", description="Dollars for a million tokens written.")


class ToolRule(_Shape):
    """What an MCP server's tool is, by the word of who configured it.

    `decisive` names the arguments that decide whom a call reaches, or what it costs; the others are what it
    tells. `lists` names the fields of its answers that tell where calls may go: recipients that are known,
    channels that there are. `*` is all that it answers.
    """

    enabled: bool = True
    effect: Effect | None = None
    trust: Trust | None = None
    decisive: list[str] | None = None
    lists: list[str] = []


class Redaction(_Shape):
    """Personal numbers that are masked in what tools return, before it is shown, kept or sent to a model.

    `exceptions` name tools, or patterns of names, with the kinds that are masked in theirs instead.
    """

    tool_results: Annotated[list[Redacted], BeforeValidator(as_list)] = _privacy(
        ["card", "ssn"],
        "Numbers masked in tool results",
        "Kinds of personal numbers that are masked in what tools return, before it is shown, kept or sent.",
    )
    exceptions: dict[str, list[Redacted]] = _privacy(
        {"*_memory": ["card", "ssn"], "*_memories": ["card", "ssn"]},
        "Tools with other masks",
        "Tools, or patterns of their names, with the kinds that are masked in their results instead.",
    )


class McpOAuth(_Shape):
    """How to sign in to an MCP server; all of it may be found out by asking the server."""

    scope: str | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    token_endpoint_auth_method: Literal["client_secret_basic", "client_secret_post"] | None = None
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
    sandbox: bool | None = None
    network: bool = True
    readable: list[str] = []
    writable: list[str] = []
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
    questions: bool = True
    question_timeout_s: float = Field(300, gt=0, le=3_600)
    sampling: Literal["never", "ask", "allow"] = "never"
    sampling_tokens: int = Field(2_000, ge=1, le=100_000)
    sampling_calls: int = Field(3, ge=1, le=100)
    roots: list[str] = []

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either `command` (with `args`), or `url`")
        if self.sandbox is False and not self.network:
            raise ValueError("`network = false` needs the sandbox: leave `sandbox` out, or set it to true")
        if self.url is not None and not re.match(r"https?://[^/?#\s]|\$\{", self.url, re.IGNORECASE):
            raise ValueError("`url` begins with http:// or https:// and the name of a host")
        if (self.type == "stdio") != (self.command is not None) and self.type is not None:
            raise ValueError(f"the type {self.type} does not go with {'command' if self.command else 'url'}")
        return self


class DialDoor(_Shape):
    """Bethink as an application of DIAL: where Core is, which model answers, where memory is kept.

    `memory` is kept in the user's `bucket`, as other applications know it, in Bethink's own
    `store` under a hash, or is `off`.
    """

    enabled: bool = _dial(False, "DIAL application", "Whether DIAL Core may call this Bethink.", restart=True)
    name: str = _dial(
        "bethink",
        "Name in DIAL",
        "Name of the deployment in DIAL.",
        pattern="^[A-Za-z0-9._-]{1,100}$",
        restart=True,
    )
    url: WebAddressOrNone = _dial(None, "Address of Core", "Where DIAL Core is.", restart=True)
    hosts: list[str] = _dial(
        [], "Names for Core", "Names under which Core calls this Bethink, beside this machine's own."
    )
    model: str = _dial(
        "", "Model", "Deployment of Core that answers, asked with each request's key.", restart=True
    )
    models: list[str] = _dial(
        [], "More models", "Deployments of Core that may be chosen instead.", restart=True
    )
    context_tokens: int = _dial(
        128_000, "Context window", "Window of these models in tokens.", ge=1024, restart=True
    )
    memory: Literal["bucket", "store", "off"] = _dial(
        "bucket",
        "Where memory is",
        "Whether memory is kept in DIAL, as other applications know it, or by Bethink itself.",
        restart=True,
    )
    timeout_s: float = _dial(30, "Time to wait", "Longest wait for Core, in seconds.", gt=0, restart=True)
    approval_timeout_s: float = _dial(
        900, "Time to approve", "Seconds after which a waiting call is dropped.", gt=0, restart=True
    )
    idle_s: float = _dial(
        900, "Forget after", "Seconds after which what a conversation left is dropped.", gt=0, restart=True
    )
    max_files: int = _dial(
        20, "Files per request", "Files that are taken with one request.", ge=0, restart=True
    )


class Backups(_Shape):
    """Copies of everything: how often they are made, where, and which of them are kept."""

    every_hours: int = _backups(
        0,
        "Hours between backups",
        "A backup is made so often while Bethink runs; 0 makes none.",
        ge=0,
        le=8760,
    )
    keep: int = _backups(
        7, "Backups kept", "Of those made by this rhythm the newest are kept, as many as this.", ge=1, le=1000
    )
    folder: Annotated[Path, AfterValidator(Path.expanduser)] | None = _backups(
        None,
        "Folder of backups",
        "Better on another disk; by default `backups` in the data directory.",
    )
    passphrase: SecretStr | None = _backups(
        None,
        "Passphrase",
        "Backups are encrypted with it. Keep it in another place, too: without it nobody can restore them.",
    )
    s3_files: bool = _backups(
        True,
        "Files in S3",
        "Whether files that are in S3 are in backups, too. Backups of before an upgrade never have them.",
    )
    before_upgrade: bool = _backups(
        True,
        "Before upgrades",
        "Whether a backup is made before a new version changes the database; it is kept for 30 days.",
    )


class VaultSettings(_Shape):
    """The vault: a folder of Markdown files that its owner edits, the agent maintains and recall searches.

    Other users than the one of `path` have theirs below `vaults` in the data directory. Pages that other
    programs lay in, and those of an import, are from outside until their owner vouches for them.
    """

    enabled: bool = _vault(True, "Vault", "Whether there is a folder of pages.", restart=True)
    path: Annotated[Path, AfterValidator(Path.expanduser)] | None = _vault(
        None,
        "Folder",
        "Folder of whoever works at this machine; by default `vault` in the data directory.",
        restart=True,
    )
    max_file_bytes: int = _vault(1_000_000, "Largest page", "Largest page, in bytes.", ge=1_000)
    max_directory_bytes: int = _vault(
        10_000_000, "Largest folder", "Largest sum of the pages of one folder, in bytes.", ge=1_000
    )
    max_bytes: int = _vault(100_000_000, "Largest vault", "Largest sum of all pages, in bytes.", ge=1_000)
    trust: Trust = _vault(
        "untrusted",
        "Pages of other programs",
        "Whether pages that other programs lay in are the owner's own words, or from outside.",
    )
    watch: bool = _vault(True, "Watch the folder", "Whether changes of files are seen at once.", restart=True)
    mirror: bool = _vault(True, "Facts as lines", "Whether each fact is a line of a page, too.")
    daily_folder: str = _vault(
        "daily", "Folder of daily notes", "Where the note of a day lies.", max_length=200
    )
    daily_name: str = _vault(
        "YYYY-MM-DD",
        "Names of daily notes",
        "YYYY, MM and DD stand for the day; a slash makes a folder.",
        min_length=1,
        max_length=200,
    )
    templates: str = _vault(
        "templates",
        "Folder of templates",
        "Pages here are offered for new ones; `daily` is the one of daily notes.",
        max_length=200,
    )
    versions_days: int | None = _vault(
        30,
        "Days all versions are kept",
        "Of older versions the last of each day stays; all stay if unset.",
        ge=1,
    )
    agent_model: str = _vault(
        "auto",
        "Model of the memory agent",
        "Model of the memory agent; `auto` is the usual model, else one that is found on this machine.",
    )
    agent_turns: int = _vault(20, "Steps of the memory agent", "Requests to its model for a question.", ge=1)
    agent_protocol: Literal["auto", "native", "tagged", "routed"] = _vault(
        "auto",
        "How the memory agent calls tools",
        "As its server takes them, by tags, or by a schema; `auto` goes by the model's name.",
    )
    max_export_bytes: int = _vault(
        5_000_000_000, "Largest import", "Largest export that is uploaded to be imported, in bytes.", ge=1_000
    )
