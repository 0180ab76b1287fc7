"""Every setting: its default, its unit, its reason. The only reader of the environment.

Strongest first: what is passed in (flags), the environment (`BETHINK_*`),
`bethink.toml` (in the working directory, else in the data directory). The
variables of Cognical (spec 004, "Environment variables") are read as aliases.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

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

from bethink.errors import BadInput
from bethink.setting_values import SEEING, Origins, TimeZone, as_list, as_object

Effect = Literal["read", "write", "destructive", "egress"]
Trust = Literal["owner", "untrusted"]
Redacted = Literal["card", "ssn", "phone", "email", "iban"]
"""Personal numbers that can be masked in what tools return."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Assistant(_Shape):
    """What `/v1/models` lists under a name: a model, with what it is told and may use."""

    model: str | None = None
    system: str = ""
    tools: bool = True
    memory: bool = True


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

    tool_results: Annotated[list[Redacted], BeforeValidator(as_list)] = ["card", "ssn"]
    exceptions: dict[str, list[Redacted]] = {"*_memory": ["card", "ssn"], "*_memories": ["card", "ssn"]}


class McpOAuth(_Shape):
    """How to sign in to an MCP server; all of it may be found out by asking the server."""

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


class DialDoor(_Shape):
    """Bethink as an application of DIAL: where Core is, which model answers, where memory is kept.

    `hosts` are the names under which Core calls this Bethink, beside this machine's own.
    `model` and `models` are deployments of Core, asked with the key of each request.
    `memory` is kept in the user's `bucket`, as other applications know it, in Bethink's own
    `store` under a hash, or is `off`.
    """

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


class VaultSettings(_Shape):
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


ENV_PREFIX = "BETHINK_"
ALIASES = {
    "COGNICAL_KB_PATH": "data_dir",
    "COGNICAL_MCP_ENABLED": "memory_enabled",
    "COGNICAL_MCP_MAX_CONTEXT": "recall_limit",
    "COGNICAL_TOOLS_ENABLED": "tools_enabled",
    "COGNICAL_TOOLS_TIMEOUT_MS": "tool_timeout_s",
    "COGNICAL_MEMORY_SEARCH_LIMIT": "memory_search_limit",
    "COGNICAL_MEMORY_ENABLE_GRAPH": "graph_enabled",
    "OPENAI_API_KEY": "openai_api_key",
    "OPENAI_BASE_URL": "openai_base_url",
    "AZURE_OPENAI_API_KEY": "azure_api_key",
    "AZURE_OPENAI_ENDPOINT": "azure_base_url",
    "DIAL_API_KEY": "dial_api_key",
    "DIAL_URL": "dial_base_url",
    "OPENROUTER_API_KEY": "openrouter_api_key",
}
"""Variables of other programs that people already have set."""

_MS_PER_S = 1000

_CLONE_MODELS = Path(__file__).parents[2] / ".models"
"""Where `make` puts the embedding model of a clone: every command of that clone finds it there."""


def default_data_dir() -> Path:
    """Where data lives if nobody says: the XDG base directory's place for it."""
    root = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(root) / "bethink"


def _setting(default: Any, description: str, **bounds: Any) -> Any:  # noqa: ANN401 - each has its own type
    return Field(default=default, description=description, **bounds)


class Price(BaseModel):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


_Directory = Annotated[Path, AfterValidator(Path.expanduser)]
_Texts = Annotated[list[str], BeforeValidator(as_list)]


class Settings(BaseModel):
    """What a Bethink is told at its start."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    data_dir: _Directory = Field(
        default_factory=default_data_dir, description="Directory of all data of Bethink."
    )
    models_dir: _Directory | None = _setting(
        _CLONE_MODELS if _CLONE_MODELS.is_dir() else None,
        "Embedding model's files; `.models` of a clone, else `models` in the data directory.",
    )
    host: str = _setting("127.0.0.1", "Address that `serve` binds.")
    port: int = _setting(8484, "Port that `serve` binds; 0 picks a free one.", ge=0, le=65535)
    time_zone: TimeZone = _setting(
        "", "IANA name of the local owner's time zone; empty is this machine's.", validate_default=True
    )
    log_level: str = _setting(
        "info",
        "Lowest level that is logged: `debug`, `info`, `warning` or `error`.",
        pattern="^(debug|info|warning|error)$",
    )

    # --- who may come in, from where, and how often

    user: str = _setting(
        "", "User whose data the command line and `bethink mcp` use; by default the first one."
    )
    public_urls: Origins = _setting(
        [],
        "Public addresses of this server, such as `https://bethink.example`"
        " (comma-separated): what a proxy in front of it answers to. Needs a user with a key.",
    )
    cors_origins: Origins = _setting(
        [],
        "Pages of other sites that may send requests with a key, such as `https://app.example`"
        " (comma-separated). Needs a user with a key.",
    )
    trusted_proxies: _Texts = _setting(
        [],
        "Addresses of proxies whose `X-Forwarded-For` is trusted (comma-separated): failed"
        " sign-ins are counted by it.",
    )

    sign_in_days: int = _setting(30, "How long a browser stays signed in.", ge=1, le=365)
    requests_per_minute: int = _setting(
        600, "Requests per minute of one key or browser, if there are users; 0 is no limit.", ge=0
    )
    owner_requests_per_minute: int = _setting(
        1200, "Requests per minute of one user with all keys; 0 is no limit.", ge=0
    )
    runs_at_once: int = _setting(
        16, "Answers of one user that run at once in a process; 0 is no limit.", ge=0
    )

    # --- models

    model: str = _setting("", "`provider:name`, for example `openai:gpt-4o`; empty means no model.")
    model_fallbacks: _Texts = _setting(
        [], "Models to try, in order, when the first one fails (comma-separated)."
    )
    models_offered: _Texts = _setting(
        [], "Models that can be chosen in addition to `model` (comma-separated)."
    )
    assistants: Annotated[dict[str, Assistant], BeforeValidator(as_object)] = _setting(
        {}, "Assistants that `/v1/models` lists in addition to models: `[assistants.NAME]`."
    )
    model_base_url: str | None = _setting(None, "Base URL of `model`, instead of its provider's own.")
    model_api_key: SecretStr | None = _setting(None, "Key of `model`, instead of its provider's own.")
    model_context_tokens: int | None = _setting(None, "Window of the model in tokens.", ge=1024)
    model_max_output_tokens: int | None = _setting(None, "Longest answer to ask for, in tokens.", ge=1)
    model_temperature: float | None = _setting(None, "Sampling temperature.", ge=0, le=2)
    model_top_p: float | None = _setting(None, "Nucleus sampling.", ge=0, le=1)
    model_stop: _Texts = _setting([], "Texts that end an answer (comma-separated).", max_length=4)
    model_seed: int | None = _setting(None, "Seed of sampling, for servers that take one.")
    model_reasoning_effort: str | None = _setting(
        None, "How long a reasoning model thinks: `none`, `minimal`, `low`, `medium`, `high`.", max_length=20
    )
    model_parallel_tool_calls: bool | None = _setting(
        None, "Whether the model may make several tool calls at once."
    )
    model_attempts: int = _setting(3, "Tries per model before the next one.", ge=1, le=10)
    model_connect_timeout_s: float = _setting(10, "Longest wait for a connection, in seconds.", gt=0)
    model_first_byte_timeout_s: float = _setting(120, "Longest wait for an answer's first byte.", gt=0)
    model_gap_timeout_s: float = _setting(60, "Longest silence inside an answer, in seconds.", gt=0)
    prices: Annotated[dict[str, Price], BeforeValidator(as_object)] = _setting(
        {}, "Dollars per million tokens, by `provider:name`."
    )

    openai_api_key: SecretStr | None = _setting(None, "Key for `openai:` models.")
    openai_base_url: str | None = _setting(None, "Base URL for `openai:` models.")
    azure_api_key: SecretStr | None = _setting(None, "Key for `azure:` models.")
    azure_base_url: str | None = _setting(None, "Endpoint for `azure:` models.")
    azure_api_version: str = _setting("2024-10-21", "`api-version` for `azure:`; empty sends none.")
    dial_api_key: SecretStr | None = _setting(None, "Key for `dial:` models.")
    dial_base_url: str | None = _setting(None, "URL of DIAL Core.")
    openrouter_api_key: SecretStr | None = _setting(None, "Key for `openrouter:` models.")

    # --- runs and tools

    max_steps: int = _setting(20, "Requests to the model in one run.", ge=1)
    max_tool_calls: int = _setting(100, "Tool calls in one run.", ge=1)
    max_run_tokens: int = _setting(400_000, "Tokens in and out in one run.", ge=1)
    max_run_cost_usd: float = _setting(2.0, "Dollars in one run, if prices are known.", gt=0)
    max_run_s: float = _setting(900, "Seconds of one run.", gt=0)
    max_repeated_calls: int = _setting(3, "How often the same call may be repeated.", ge=1)

    tools_enabled: bool = _setting(True, "Whether the model is offered tools.")
    tool_timeout_s: float = _setting(5, "Seconds of one tool call, unless the tool sets another limit.", gt=0)
    tool_uses_days: int | None = _setting(
        365, "Days for which the log of tool calls is kept; forever if unset.", ge=1
    )
    redaction: Annotated[Redaction, BeforeValidator(as_object)] = _setting(
        Redaction(),
        "Personal numbers masked in tool results: `tool_results` and `exceptions`"
        " (`docs/how-to/decide-what-tools-may-do.md`).",
    )
    tool_policy: Annotated[dict[str, Literal["auto", "ask", "deny"]], BeforeValidator(as_object)] = _setting(
        {}, "`auto`, `ask` or `deny` by a tool's name or pattern (`git__*`), or by effect."
    )
    approval_timeout_s: float = _setting(
        7 * 86_400, "Seconds after which a call that waits for approval is dropped.", gt=0
    )
    plugins: _Texts = _setting(
        [], "Entry points of `bethink.tools` to load, by their names; they have all rights."
    )
    user_tools: bool = _setting(
        False, "Load the tools in the data directory's `tools/*.py`; they have all rights."
    )
    max_file_bytes: int = _setting(50_000_000, "Largest file of a conversation, in bytes.", ge=1000)
    master_key: SecretStr | None = _setting(
        None, "Encrypts stored secrets; by default `master.key` in the data directory is used."
    )
    tool_concurrency: int = _setting(100, "Tool calls of one owner that run at once.", ge=1)
    max_tool_result_chars: int = _setting(20_000, "Longest result that the model reads.", ge=500)
    max_message_chars: int = _setting(200_000, "Longest message that is accepted.", ge=1000)

    # --- conversations and what is known of them

    titles: Literal["words", "model"] = _setting(
        "words", "Title of a conversation: its first words, or chosen by the model after its answer."
    )
    summaries: bool = _setting(
        True,
        "Whether the model summarises the earlier part of a long conversation; otherwise that"
        " part is left out.",
    )
    summary_share: float = _setting(
        0.7,
        "Share of the model's window that history may fill before its oldest part is summarised.",
        gt=0.05,
        le=0.9,
    )
    summary_after_messages: int | None = _setting(
        None, "Summarise also above this number of messages; by default only the window counts.", ge=4
    )
    summary_keep_messages: int = _setting(20, "Newest messages that are not summarised.", ge=2)

    redis_url: SecretStr | None = _setting(
        None,
        "A Redis for a copy of the conversations, which other programs can use: `redis://host:6379/0`,"
        " `rediss://` with TLS, `unix:///path`.",
    )
    redis_owner: str = _setting(
        "local",
        "Owner whose conversations have plain keys; those of others begin with `bethink:OWNER:`.",
        min_length=1,
    )
    redis_timeout_s: float = _setting(5, "Longest wait for Redis.", gt=0, le=60)

    memory_enabled: bool = _setting(
        True, "Whether conversations use memory; without it nothing is recalled or remembered in them."
    )
    recall_limit: int = _setting(5, "Memories recalled into a turn's context.", ge=0, le=50)
    recall_profile_limit: int = _setting(
        8, "Number of important facts that are always in context.", ge=0, le=50
    )
    recall_min_score: float = _setting(0.25, "Lowest score of a memory in context.", ge=0, le=1)
    recall_timeout_s: float = _setting(
        5, "Longest search for memories; after that the answer does not use them.", gt=0
    )
    extraction: Literal["off", "suggest", "store"] = _setting(
        "off",
        "Whether the model extracts facts from finished turns: `suggest` leaves them to your"
        " review, `store` stores them. Costs one more request per turn.",
    )
    memory_search_limit: int = _setting(10, "Default number of results of a memory search.", ge=1, le=50)

    conversations_archive_above: int | None = _setting(
        50_000, "Turns above which old conversations are archived by themselves; never if unset.", ge=1
    )
    conversations_archive_days: int = _setting(183, "Days after which a conversation is old.", ge=1)
    memory_consolidation: bool = _setting(
        True, "Whether memories that say the same are merged once a day; it can be undone."
    )
    memory_retention_days: int | None = _setting(
        None, "Days after which a memory that was not repeated is retracted; never if unset.", ge=1
    )
    memory_retention_keep_importance: float = _setting(
        0.8, "Memories of this importance, and pinned ones, are always kept.", ge=0, le=1
    )
    memory_retention_forget_days: int | None = _setting(
        None, "Days after which such a retracted memory is forgotten for good; never if unset.", ge=1
    )
    max_import_bytes: int = _setting(
        200_000_000, "Largest file that `POST /memories/import` takes, in bytes.", ge=1000
    )

    # --- files, pages, code and the web

    models_that_see: _Texts = _setting(
        SEEING,
        "Models that are shown pictures: patterns of `provider:name` (comma-separated);"
        " `!` before one takes out what fits it.",
    )

    models_routed: _Texts = _setting(
        [],
        "Models whose server takes no tools, which are asked for each call by a schema instead:"
        " patterns of `provider:name` (comma-separated). Costs one more request a step.",
    )

    documents_enabled: bool = _setting(True, "Whether the model may read and search a conversation's files.")
    documents_timeout_s: float = _setting(30, "Longest reading of one file, in seconds.", gt=0)
    documents_memory_mb: int = _setting(1024, "Memory of the process that reads a file.", ge=256)
    documents_max_bytes: int = _setting(
        500_000_000, "Largest file that the library of documents takes, in bytes.", ge=1000
    )
    documents_quota_mb: int | None = _setting(
        None, "Room of one user's documents in MB; unlimited if unset.", ge=1
    )
    documents_folders: Annotated[list[_Directory], BeforeValidator(as_list)] = _setting(
        [],
        "Folders below which any may be watched for documents (comma-separated); without users and without"
        " this, any folder that Bethink can read.",
    )
    documents_versions_days: int | None = _setting(
        None, "Days that old versions of documents are kept, for citations of them; for ever if unset.", ge=1
    )
    tasks_archived_days: int | None = _setting(None, "Days until archived tasks go; never if unset.", ge=1)
    documents_passage_tokens: int = _setting(
        500, "Longest passage that documents are cut into to be searched, in tokens.", ge=50, le=5_000
    )
    documents_passage_overlap: int = _setting(
        50, "Tokens that a passage may repeat of the one before it; at most half of a passage.", ge=0, le=500
    )
    graph_enabled: bool = _setting(False, "Whether there is a graph, which searches of bases may follow.")
    graph_similarity: float = _setting(0.75, "Least cosine of what is alike in the graph.", ge=0, le=1)
    kb_max_archive_bytes: int = _setting(
        5_000_000_000, "Largest archive of a knowledge base that is uploaded, in bytes.", ge=1000
    )
    documents_search_timeout_s: float = _setting(
        60, "Longest search of files, in seconds; the answer says what was not read by then.", gt=0
    )
    images_model: str = _setting(
        "",
        ("`provider:name` of an image model, for example `openai:gpt-image-1`; empty means none."),
    )
    images_base_url: str | None = _setting(None, "Base URL of `images_model`, instead of its provider's own.")
    images_api_key: SecretStr | None = _setting(None, "Key of `images_model`, instead of its provider's own.")
    images_timeout_s: float = _setting(120, "Longest wait for an image, in seconds.", gt=0)
    images_price_usd: float | None = _setting(None, "Price of one image in dollars, if known.", ge=0)
    audio_model: str = _setting(
        "", "Model that turns speech into text, for example `whisper-1`; empty means none."
    )
    speech_model: str = _setting(
        "", "Model that reads answers aloud, for example `gpt-4o-mini-tts`; empty means none."
    )
    speech_voice: str = _setting("alloy", "Voice of `speech_model`.", min_length=1, max_length=100)
    audio_base_url: str | None = _setting(
        None, "Base URL of both, if it is not that of `openai:` models; it speaks OpenAI's audio API."
    )
    audio_api_key: SecretStr | None = _setting(None, "Key for `audio_base_url`.")
    audio_timeout_s: float = _setting(120, "Longest silence of the audio endpoint, in seconds.", gt=0)
    quiet_hours: str = _setting("", "Hours without notices, such as `22:00-07:00`, in the owner's time zone.")
    smtp_url: SecretStr | None = _setting(
        None, "Server of e-mail: `smtps://user:password@host` or `smtp://…`."
    )
    smtp_from: str = _setting("", "Sender of e-mails; by default the user of `smtp_url`.")

    vault: Annotated[VaultSettings, BeforeValidator(as_object)] = _setting(
        VaultSettings(),
        "The folder of Markdown files: `path`, `max_file_bytes`, `watch` and more (`docs/how-to/vault.md`).",
    )

    code_enabled: bool = _setting(True, "Whether the model may run Python, in a sandbox.")
    code_sandbox: Literal["auto", "bubblewrap", "landlock"] = _setting(
        "auto", "The sandbox; `auto` uses the first that works on this machine."
    )
    code_timeout_s: float = _setting(30, "Seconds of one execution of code.", gt=0)
    code_memory_mb: int = _setting(1024, "Memory of one interpreter.", ge=128)
    code_disk_mb: int = _setting(256, "Disk space for the files of code in one conversation.", ge=1)
    code_output_chars: int = _setting(16_000, "Characters kept of one output.", ge=500)
    code_interpreters: int = _setting(4, "Interpreters that run at once.", ge=1)
    code_idle_s: float = _setting(900, "Seconds without use after which an interpreter is closed.", gt=0)
    code_prewarmed: int = _setting(0, "Interpreters started in advance.", ge=0, le=8)

    web_enabled: bool = _setting(True, "Whether the model may search the web and read its pages.")
    web_search_url: str = _setting(
        "", "A SearXNG to search with, as a URL; empty asks search engines through ddgs."
    )
    web_search_engines: str = _setting(
        "auto", "ddgs' engines, comma-separated (`duckduckgo,brave`); `auto` takes any."
    )
    web_search_region: str = _setting(
        "", "Region of searches: `us-en` for ddgs, a language such as `en` for SearXNG."
    )
    web_safe_search: Literal["off", "moderate", "strict"] = _setting(
        "moderate", "Safe search of the search engines."
    )
    web_timeout_s: float = _setting(20, "Seconds of one search or one page.", gt=0)
    web_max_bytes: int = _setting(10_000_000, "Largest page that is read, in bytes.", ge=1000)
    web_robots: bool = _setting(True, "Whether to respect robots.txt.")
    web_ports: Annotated[list[int], BeforeValidator(as_list)] = _setting(
        [80, 443, 8080, 8443], "Ports of public hosts that are opened (comma-separated)."
    )
    web_allow_private: _Texts = _setting(
        [],
        "Addresses outside of the public internet that may be opened: `127.0.0.1:8080`,"
        " `10.0.0.0/8`, `wiki.lan` (comma-separated).",
    )

    # --- other systems

    dial: Annotated[DialDoor, BeforeValidator(as_object)] = _setting(
        DialDoor(),
        "Bethink as an application of DIAL: `enabled`, `url`, `model`, `hosts`, `memory` and more"
        " (`docs/how-to/use-with-dial.md`).",
    )

    mcp_servers: Annotated[dict[str, McpServer], BeforeValidator(as_object)] = _setting(
        {}, "MCP servers whose tools are used, by name; `[mcpServers.NAME]` is the same."
    )
    mcp_servers_file: _Directory | None = _setting(
        None, "A JSON file with `mcpServers`, as other programs have it."
    )
    max_offered_tools: int = _setting(
        30, "With more tools than this, the model finds tools with `search_tools`.", ge=5
    )

    @property
    def needs_users(self) -> bool:
        """Whether nobody comes in over the network without a key, also while there are no users."""
        return bool(self.public_urls)

    @property
    def models(self) -> Path:
        """Directory of the embedding model's files."""
        return self.models_dir or self.data_dir / "models"


def load_settings(**flags: Any) -> Settings:  # noqa: ANN401 - each setting has its own type
    """The settings in force; a flag that is None counts as not given.

    Raises:
        BadInput: a value is not valid or a name is unknown; the sentence names it.
    """
    # Searches are small: more threads cost them up to ten times the time on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chosen = {name: value for name, value in flags.items() if value is not None}
    aliases = _from_aliases()
    values = _from_file(chosen, aliases) | aliases | _from_environment() | chosen
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise BadInput(explained(error, list(Settings.model_fields))) from error


def origins(**flags: Any) -> dict[str, str]:  # noqa: ANN401 - each setting has its own type
    """Where each setting that is set comes from, by its name: a flag, a variable or a file.

    Raises:
        BadInput: the file cannot be read.
    """
    chosen = {name: value for name, value in flags.items() if value is not None}
    found: dict[str, str] = dict.fromkeys(_from_file(chosen, _from_aliases()), "bethink.toml")
    found |= {field: variable for variable, field in ALIASES.items() if os.environ.get(variable)}
    found |= {name: f"{ENV_PREFIX}{name.upper()}" for name in _from_environment()}
    return found | dict.fromkeys(chosen, "the command line")


def variable(name: str) -> str | None:
    """A variable of the environment that a setting names, such as the key of a server."""
    return os.environ.get(name)


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none: mistyped ones."""
    known = {f"{ENV_PREFIX}{name}".upper() for name in Settings.model_fields}
    return sorted(key for key in os.environ if key.upper().startswith(ENV_PREFIX) and key not in known)


@dataclass(frozen=True, slots=True)
class TerminalPreferences:
    """How the person wants the terminal used: `plain` without colours, `editor` a command line."""

    editor: str | None
    plain: bool


def terminal_preferences() -> TerminalPreferences:
    """What the environment says of the terminal: EDITOR, TERM, and NO_COLOR (https://no-color.org)."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or None
    return TerminalPreferences(editor, bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb")


def _from_environment() -> dict[str, str]:
    """Our own variables. An empty one counts as not given, unless empty is a value (no model)."""
    found = {name: os.environ.get(f"{ENV_PREFIX}{name.upper()}") for name in Settings.model_fields}
    return {
        name: value
        for name, value in found.items()
        if value or (value is not None and Settings.model_fields[name].annotation is str)
    }


def _from_aliases() -> dict[str, Any]:
    values: dict[str, Any] = {
        field: os.environ[name] for name, field in ALIASES.items() if os.environ.get(name)
    }
    if (timeout_ms := values.get("tool_timeout_s")) is not None:
        try:
            values["tool_timeout_s"] = float(timeout_ms) / _MS_PER_S
        except ValueError as error:
            raise BadInput(
                f"COGNICAL_TOOLS_TIMEOUT_MS is {timeout_ms!r}: give a number of milliseconds."
            ) from error
    return values


def _from_file(chosen: dict[str, Any], aliases: dict[str, Any]) -> dict[str, Any]:
    ours = os.environ.get(f"{ENV_PREFIX}DATA_DIR")
    data_dir = chosen.get("data_dir") or ours or aliases.get("data_dir") or default_data_dir()
    for path in (Path("bethink.toml"), Path(data_dir).expanduser() / "bethink.toml"):
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
            # As other programs call it, so that what people have can be pasted.
            return {"mcp_servers" if name == "mcpServers" else name: value for name, value in found.items()}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{path} is not valid TOML: {error}") from error
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{path} is not UTF-8 text (at byte {error.start:,}): save it as UTF-8."
            ) from error
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    return {}
