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
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from bethink.errors import BadInput
from bethink.settings_shapes import (
    Access,
    Assistant,
    DialDoor,
    InRedis,
    Masking,
    McpServer,
    Reading,
    Talking,
    Vaulted,
    as_list,
    as_object,
    explained,
)

ENV_PREFIX = "BETHINK_"
ALIASES = {
    "COGNICAL_KB_PATH": "data_dir",
    "COGNICAL_MCP_MAX_CONTEXT": "recall_limit",
    "COGNICAL_TOOLS_ENABLED": "tools_enabled",
    "COGNICAL_TOOLS_TIMEOUT_MS": "tool_timeout_s",
    "COGNICAL_MEMORY_SEARCH_LIMIT": "memory_search_limit",
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


class Price(BaseModel):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


_Directory = Annotated[Path, AfterValidator(Path.expanduser)]


class Settings(Access, Reading, InRedis, Talking, Masking, Vaulted):
    """What a Bethink is told at its start."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    data_dir: _Directory = Field(
        default_factory=default_data_dir, description="Everything that Bethink keeps."
    )
    models_dir: _Directory | None = Field(
        default=_CLONE_MODELS if _CLONE_MODELS.is_dir() else None,
        description="Embedding model's files; `.models` of a clone, else `models` in the data directory.",
    )
    host: str = Field(default="127.0.0.1", description="Address that `serve` binds.")
    port: int = Field(
        default=8484, ge=0, le=65535, description="Port that `serve` binds; 0 picks a free one."
    )
    time_zone: str = Field(default="UTC", description="IANA name of the local owner's time zone.")
    log_level: str = Field(
        default="info",
        pattern="^(debug|info|warning|error)$",
        description="Least that is logged: `debug`, `info`, `warning` or `error`.",
    )

    model: str = Field(
        default="", description="`provider:name`, for example `openai:gpt-4o`; empty is no model."
    )
    model_fallbacks: Annotated[list[str], BeforeValidator(as_list)] = Field(
        default=[], description="Models to try, in order, when the first one fails (comma-separated)."
    )
    models_offered: Annotated[list[str], BeforeValidator(as_list)] = Field(
        default=[], description="Models that may be chosen beside `model` (comma-separated)."
    )
    assistants: Annotated[dict[str, Assistant], BeforeValidator(as_object)] = Field(
        default={}, description="What `/v1/models` lists beside models: `[assistants.NAME]`."
    )
    model_base_url: str | None = Field(
        default=None, description="Base URL of `model`, instead of its provider's own."
    )
    model_api_key: SecretStr | None = Field(
        default=None, description="Key of `model`, instead of its provider's own."
    )
    model_context_tokens: int | None = Field(
        default=None, ge=1024, description="Window of the model in tokens."
    )
    model_max_output_tokens: int | None = Field(
        default=None, ge=1, description="Longest answer to ask for, in tokens."
    )
    model_temperature: float | None = Field(default=None, ge=0, le=2, description="Sampling temperature.")
    model_top_p: float | None = Field(default=None, ge=0, le=1, description="Nucleus sampling.")
    model_stop: Annotated[list[str], BeforeValidator(as_list)] = Field(
        default=[], max_length=4, description="Texts that end an answer (comma-separated)."
    )
    model_seed: int | None = Field(default=None, description="Seed of sampling, for servers that take one.")
    model_reasoning_effort: str | None = Field(
        default=None,
        max_length=20,
        description="How long a reasoning model thinks: `none`, `minimal`, `low`, `medium`, `high`.",
    )
    model_parallel_tool_calls: bool | None = Field(
        default=None, description="Whether the model may ask for several calls at once."
    )
    model_attempts: int = Field(default=3, ge=1, le=10, description="Tries per model before the next one.")
    model_connect_timeout_s: float = Field(
        default=10, gt=0, description="Longest wait for a connection, in seconds."
    )
    model_first_byte_timeout_s: float = Field(
        default=120, gt=0, description="Longest wait for an answer's first byte."
    )
    model_gap_timeout_s: float = Field(
        default=60, gt=0, description="Longest silence inside an answer, in seconds."
    )
    prices: Annotated[dict[str, Price], BeforeValidator(as_object)] = Field(
        default={}, description="Dollars per million tokens, by `provider:name`."
    )

    openai_api_key: SecretStr | None = Field(default=None, description="Key for `openai:` models.")
    openai_base_url: str | None = Field(default=None, description="Base URL for `openai:` models.")
    azure_api_key: SecretStr | None = Field(default=None, description="Key for `azure:` models.")
    azure_base_url: str | None = Field(default=None, description="Endpoint for `azure:` models.")
    azure_api_version: str = Field(
        default="2024-10-21", description="`api-version` for `azure:`; empty sends none."
    )
    dial_api_key: SecretStr | None = Field(default=None, description="Key for `dial:` models.")
    dial_base_url: str | None = Field(default=None, description="URL of DIAL Core.")
    openrouter_api_key: SecretStr | None = Field(default=None, description="Key for `openrouter:` models.")

    max_steps: int = Field(default=20, ge=1, description="Requests to the model in one run.")
    max_tool_calls: int = Field(default=100, ge=1, description="Tool calls in one run.")
    max_run_tokens: int = Field(default=400_000, ge=1, description="Tokens in and out in one run.")
    max_run_cost_usd: float = Field(
        default=2.0, gt=0, description="Dollars in one run, where prices are known."
    )
    max_run_s: float = Field(default=900, gt=0, description="Seconds of one run.")
    max_repeated_calls: int = Field(
        default=3, ge=1, description="Times that the very same call may be asked for."
    )

    tools_enabled: bool = Field(default=True, description="Whether the model is offered tools.")
    tool_timeout_s: float = Field(
        default=5, gt=0, description="Seconds of one tool call, unless the tool says other."
    )
    tool_uses_days: int | None = Field(
        default=365, ge=1, description="Days for which the log of tool calls is kept; none is for ever."
    )
    tool_policy: Annotated[dict[str, Literal["auto", "ask", "deny"]], BeforeValidator(as_object)] = Field(
        default={},
        description="`auto`, `ask` or `deny` by a tool's name or pattern (`git__*`), or by effect.",
    )
    approval_timeout_s: float = Field(
        default=7 * 86_400, gt=0, description="Seconds after which a call that waits for approval is dropped."
    )
    plugins: Annotated[list[str], BeforeValidator(as_list)] = Field(
        default=[],
        description="Entry points of `bethink.tools` to load, by their names; they have all rights.",
    )
    user_tools: bool = Field(
        default=False,
        description="Load the tools in the data directory's `tools/*.py`; they have all rights.",
    )
    max_file_bytes: int = Field(
        default=50_000_000, ge=1000, description="Largest file of a conversation, in bytes."
    )
    master_key: SecretStr | None = Field(
        default=None,
        description="Seals secrets that are kept; without it `master.key` in the data directory does.",
    )
    tool_concurrency: int = Field(default=100, ge=1, description="Calls of one owner that run at once.")
    max_tool_result_chars: int = Field(
        default=20_000, ge=500, description="Longest result that the model reads."
    )
    max_message_chars: int = Field(default=200_000, ge=1000, description="Longest message that is accepted.")

    recall_limit: int = Field(default=5, ge=0, le=50, description="Memories recalled into a turn's context.")
    recall_profile_limit: int = Field(
        default=8, ge=0, le=50, description="Important facts that are always in context."
    )
    recall_min_score: float = Field(
        default=0.25, ge=0, le=1, description="Least score of a memory in context."
    )
    recall_timeout_s: float = Field(
        default=5, gt=0, description="Longest search for memories; after it the answer goes without them."
    )
    extraction: Literal["off", "suggest", "store"] = Field(
        default="off",
        description="Have the model look for facts in finished turns: `suggest` leaves them to your review,"
        " `store` keeps them. Costs one more request a turn.",
    )
    memory_search_limit: int = Field(
        default=10, ge=1, le=50, description="Results of a memory search, unless asked."
    )

    memory_consolidation: bool = Field(
        default=True,
        description="Whether memories that say the same are merged once a day; it can be undone.",
    )
    memory_retention_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which a memory that was not said again is retracted; none is never.",
    )
    memory_retention_keep_importance: float = Field(
        default=0.8, ge=0, le=1, description="Memories of this importance, and pinned ones, are always kept."
    )
    memory_retention_forget_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which a memory so retracted is forgotten for good; none is never.",
    )
    max_import_bytes: int = Field(
        default=200_000_000, ge=1000, description="Largest file that `POST /memories/import` takes, in bytes."
    )

    code_enabled: bool = Field(default=True, description="Whether the model may run Python, in a sandbox.")
    code_sandbox: Literal["auto", "bubblewrap", "landlock"] = Field(
        default="auto", description="What holds the code; `auto` takes the first that holds here."
    )
    code_timeout_s: float = Field(default=30, gt=0, description="Seconds of one execution of code.")
    code_memory_mb: int = Field(default=1024, ge=128, description="Memory of one interpreter.")
    code_disk_mb: int = Field(default=256, ge=1, description="Room for a conversation's files of code.")
    code_output_chars: int = Field(default=16_000, ge=500, description="What is kept of one output.")
    code_interpreters: int = Field(default=4, ge=1, description="Interpreters that live at once.")
    code_idle_s: float = Field(default=900, gt=0, description="Seconds unused after which one is closed.")
    code_prewarmed: int = Field(default=0, ge=0, le=8, description="Interpreters held ready; 0 is none.")

    web_enabled: bool = Field(
        default=True, description="Whether the model may search the web and read its pages."
    )
    web_search_url: str = Field(
        default="", description="A SearXNG to search with, as a URL; empty asks search engines through ddgs."
    )
    web_search_engines: str = Field(
        default="auto", description="ddgs' engines, comma-separated (`duckduckgo,brave`); `auto` takes any."
    )
    web_search_region: str = Field(
        default="", description="Region of searches: `us-en` for ddgs, a language such as `en` for SearXNG."
    )
    web_safe_search: Literal["off", "moderate", "strict"] = Field(
        default="moderate", description="How much search engines leave out."
    )
    web_timeout_s: float = Field(default=20, gt=0, description="Seconds of one search or one page.")
    web_max_bytes: int = Field(
        default=10_000_000, ge=1000, description="Largest page that is read, in bytes."
    )
    web_robots: bool = Field(
        default=True, description="Whether pages that a site's robots.txt forbids to programs are left alone."
    )
    web_ports: Annotated[list[int], BeforeValidator(as_list)] = Field(
        default=[80, 443, 8080, 8443], description="Ports of public hosts that are opened (comma-separated)."
    )
    web_allow_private: Annotated[list[str], BeforeValidator(as_list)] = Field(
        default=[],
        description="Addresses beside the public internet that may be opened: `127.0.0.1:8080`,"
        " `10.0.0.0/8`, `wiki.lan` (comma-separated).",
    )

    dial: Annotated[DialDoor, BeforeValidator(as_object)] = Field(
        default=DialDoor(),
        description="Bethink as an application of DIAL: `enabled`, `url`, `model`, `hosts`, `memory` and more"
        " (`docs/how-to/use-with-dial.md`).",
    )

    mcp_servers: Annotated[dict[str, McpServer], BeforeValidator(as_object)] = Field(
        default={}, description="MCP servers whose tools are used, by name; `[mcpServers.NAME]` is the same."
    )
    mcp_servers_file: _Directory | None = Field(
        default=None, description="A JSON file with `mcpServers`, as other programs have it."
    )
    max_offered_tools: int = Field(
        default=30, ge=5, description="With more tools than these, the model searches those of MCP servers."
    )

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
    given = {name: value for name, value in flags.items() if value is not None}
    aliases = _from_aliases()
    values = _from_file(given, aliases) | aliases | _from_environment() | given
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise BadInput(explained(error, list(Settings.model_fields))) from error


def origins(**flags: Any) -> dict[str, str]:  # noqa: ANN401 - each setting has its own type
    """Where each setting that is set comes from, by its name: a flag, a variable or a file.

    Raises:
        BadInput: the file cannot be read.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    found: dict[str, str] = dict.fromkeys(_from_file(given, _from_aliases()), "bethink.toml")
    found |= {field: variable for variable, field in ALIASES.items() if os.environ.get(variable)}
    found |= {name: f"{ENV_PREFIX}{name.upper()}" for name in _from_environment()}
    return found | dict.fromkeys(given, "the command line")


def variable(name: str) -> str | None:
    """A variable of the environment that a setting names, such as the key of a server."""
    return os.environ.get(name)


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none: mistyped ones."""
    known = {f"{ENV_PREFIX}{name}".upper() for name in Settings.model_fields}
    return sorted(key for key in os.environ if key.upper().startswith(ENV_PREFIX) and key not in known)


@dataclass(frozen=True, slots=True)
class TerminalWishes:
    """How the person wants the terminal used: `plain` without colours, `editor` a command line."""

    editor: str | None
    plain: bool


def terminal_wishes() -> TerminalWishes:
    """What the environment says of the terminal: EDITOR, TERM, and NO_COLOR (https://no-color.org)."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or None
    return TerminalWishes(editor, bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb")


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
            message = f"COGNICAL_TOOLS_TIMEOUT_MS is {timeout_ms!r}: give a number of milliseconds."
            raise BadInput(message) from error
    return values


def _from_file(given: dict[str, Any], aliases: dict[str, Any]) -> dict[str, Any]:
    ours = os.environ.get(f"{ENV_PREFIX}DATA_DIR")
    data_dir = given.get("data_dir") or ours or aliases.get("data_dir") or default_data_dir()
    for path in (Path("bethink.toml"), Path(data_dir).expanduser() / "bethink.toml"):
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
            # As other programs call it, so that what people have can be pasted.
            return {"mcp_servers" if name == "mcpServers" else name: value for name, value in found.items()}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except tomllib.TOMLDecodeError as error:
            message = f"{path} is not valid TOML: {error}"
            raise BadInput(message) from error
        except UnicodeDecodeError as error:
            message = f"{path} is not UTF-8 text (at byte {error.start:,}): save it as UTF-8."
            raise BadInput(message) from error
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise BadInput(message) from error
    return {}
