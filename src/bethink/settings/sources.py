"""Where settings come from, strongest first, and the only reader of the environment.

What is passed in (flags), the environment (`BETHINK_*`), variables of other programs, `bethink.toml` (in the
working directory, else in the data directory), what is kept in the data directory (`kept`), the defaults. The
variables of Cognical (spec 004, "Environment variables") are read as aliases.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from bethink.errors import BadInput, StorageError
from bethink.secrets_at_rest import SecretBox
from bethink.settings.catalogue import SETTINGS
from bethink.settings.fields import Settings
from bethink.settings.kept import KeptFile, nested
from bethink.settings.values import Given, ValueOrigin, as_object, default_data_dir
from bethink.telemetry import log

_log = log("settings")


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
    "ANTHROPIC_API_KEY": "anthropic_api_key",
}
"""Variables of other programs that people already have set."""

_MS_PER_S = 1000


def load_settings(**flags: Any) -> Settings:  # noqa: ANN401 - each setting has its own type
    """The settings in force; a flag that is None counts as not given.

    Raises:
        BadInput: a value is not valid or a name is unknown; the sentence names it.
    """
    # Searches are small: more threads cost them up to ten times the time on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = _given(flags)
    settings = settings_of(given, {})
    file = kept_file(settings)
    try:
        values = file.values(file.read())
    except StorageError as error:
        raise BadInput(error.message) from error
    return settings_of(given, values, forgiving=True) if values else settings


def kept_file(settings: Settings) -> KeptFile:
    """Where settings are kept: in the data directory that the settings name."""
    key = settings.master_key.get_secret_value() if settings.master_key else None
    return KeptFile(settings.data_dir, SecretBox(settings.data_dir, key))


def settings_of(given: Given, kept: Mapping[str, Any], *, forgiving: bool = False) -> Settings:
    """The settings of what the process was given and, weaker, of what is kept, by names of the catalogue.

    If it is `forgiving`, kept values that are not valid are left out: no start fails by them.

    Raises:
        BadInput: a value is not valid or a name is unknown; the sentence names it.
    """
    values = nested(kept)
    for name, value in given.values.items():
        # Of what has parts, the stronger source has its own, and the weaker one the others.
        below, above = values.get(name), parts_of(value)
        values[name] = {**below, **above} if isinstance(below, dict) and above is not None else value
    try:
        return Settings.model_validate(values).of_given(given)
    except ValidationError as error:
        faulty = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
        left = {name: value for name, value in kept.items() if name.partition(".")[0] not in faulty}
        if forgiving and len(left) < len(kept):
            _log.error("settings of %s are left out: %s", ", ".join(faulty), explained(error, []))
            return settings_of(given, left, forgiving=True)
        raise BadInput(explained(error, list(Settings.model_fields))) from error


def parts_of(value: object) -> dict[str, Any] | None:
    """What a value of several parts has by name, as it was written; None for any other value."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in value.model_fields_set}
    try:
        found = as_object(value)
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def origins(settings: Settings, kept: Collection[str]) -> dict[str, ValueOrigin]:
    """Where the value of each setting comes from, by the names of the catalogue; `kept` are those kept."""
    given = settings.given
    found: dict[str, ValueOrigin] = {}
    for name in SETTINGS:
        head, _, leaf = name.partition(".")
        parts = parts_of(given.values[head]) if leaf and head in given.values else None
        if head in given.values and (parts is None or leaf in parts):
            found[name] = given.origins[head]
        else:
            found[name] = ValueOrigin("kept" if name in kept else "default")
    return found


def _given(flags: Mapping[str, Any]) -> Given:
    chosen = {name: value for name, value in flags.items() if value is not None}
    aliases, environment = _from_aliases(), _from_environment()
    file = _from_file(chosen, aliases)
    origins: dict[str, ValueOrigin] = dict.fromkeys(file, ValueOrigin("file", "bethink.toml"))
    origins |= {
        field: ValueOrigin("environment", name) for name, field in ALIASES.items() if os.environ.get(name)
    }
    origins |= {name: ValueOrigin("environment", f"{ENV_PREFIX}{name.upper()}") for name in environment}
    origins |= dict.fromkeys(chosen, ValueOrigin("flag"))
    return Given(file | aliases | environment | chosen, origins)


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
