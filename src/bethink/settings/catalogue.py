"""All settings one by one, those inside of others included: `vault.trust` is one of its own.

The page, `bethink settings` and what is kept in the data directory know settings by these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from pydantic import BaseModel, SecretStr

from bethink.settings.fields import Settings
from bethink.settings.groups import GROUP, RESTART, SEALED
from bethink.settings.shapes import McpOAuth, McpServer
from bethink.settings.values import AddressOf

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

UNKEPT: Final = frozenset({"data_dir", "master_key", "mcp_servers_file", "setup_key_file"})
"""What is not kept in the data directory: where that is, its key, and files that decide who may do what."""
HIDDEN: Final = "••••"
"""Stands for a text that is not shown; given back, it means the text that is there."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. With `restart` a change holds from the next start; a `sealed` one is kept sealed."""

    name: str
    group: str
    title: str
    description: str
    field: FieldInfo
    secret: bool
    restart: bool
    sealed: bool

    @property
    def default(self) -> object:
        """What holds if nobody says."""
        return self.field.get_default(call_default_factory=True, validated_data={})

    def of(self, settings: Settings) -> object:
        """The value in these settings."""
        head, _, leaf = self.name.partition(".")
        value: object = getattr(settings, head)
        return getattr(value, leaf) if leaf else value

    def address_fault(self, value: object) -> str | None:
        """What is wrong with a value that is to be an address; None if it is one, or needs to be none."""
        kinds = [one for one in self.field.metadata if isinstance(one, AddressOf)]
        return kinds[0].fault(value) if kinds and isinstance(value, str) and value else None


def _each() -> Iterator[Setting]:
    for name, field in Settings.model_fields.items():
        shape = field.annotation
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            for leaf, inner in shape.model_fields.items():
                yield _setting(f"{name}.{leaf}", inner)
        else:
            yield _setting(name, field)


def _setting(name: str, field: FieldInfo) -> Setting:
    says = cast("dict[str, Any]", field.json_schema_extra)
    secret = SecretStr in (field.annotation, *get_args(field.annotation))
    return Setting(
        name,
        says[GROUP],
        field.title or name,
        field.description or "",
        field,
        secret,
        restart=says[RESTART],
        sealed=says[SEALED] or secret,
    )


SETTINGS: Final[Mapping[str, Setting]] = {setting.name: setting for setting in _each()}
"""By their names, in the order of their declaration."""


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON schema of each setting's value, whole in itself."""
    document = Settings.model_json_schema()
    definitions = cast("dict[str, Any]", document.get("$defs", {}))
    found: dict[str, dict[str, Any]] = {}
    for name, schema in cast("dict[str, dict[str, Any]]", document["properties"]).items():
        whole = _resolved(schema, definitions)
        if name in SETTINGS:
            found[name] = _value_only(whole)
        else:
            inner = cast("dict[str, dict[str, Any]]", whole["properties"])
            found |= {f"{name}.{leaf}": _value_only(one) for leaf, one in inner.items()}
    return found


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(schema, list):
        return [_resolved(one, definitions) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    if (name := given.get("$ref")) is not None:
        rest = {key: value for key, value in given.items() if key != "$ref"}
        return _resolved(definitions[str(name).rpartition("/")[2]], definitions) | rest
    return {key: _resolved(value, definitions) for key, value in given.items()}


def _value_only(schema: dict[str, Any]) -> dict[str, Any]:
    said = {"title", "description", "default", GROUP, RESTART, SEALED}
    return {key: value for key, value in schema.items() if key not in said}


def shown(setting: Setting, value: object) -> object:
    """The value as JSON, without what nobody may read."""
    if setting.secret:
        return None
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in cast("dict[str, object]", value).items()}
    return _shown(value)


def _shown(value: object) -> object:
    if isinstance(value, McpServer):
        return server_shown(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if value is None or isinstance(value, str | int | float):
        return value
    return cast("object", value) if isinstance(value, list | dict) else str(value)


def server_shown(server: McpServer) -> dict[str, Any]:
    """A tool server as JSON: what it is given as a secret is hidden, what names a variable is not."""
    document = server.model_dump(mode="json", exclude_defaults=True)
    for part in ("env", "headers"):
        if part in document:
            texts = cast("dict[str, str]", document[part])
            document[part] = {key: text if "${" in text else HIDDEN for key, text in texts.items()}
    if isinstance(document.get("oauth"), dict) and document["oauth"].get("client_secret"):
        document["oauth"]["client_secret"] = HIDDEN
    return document


def server_written(server: McpServer) -> dict[str, Any]:
    """A tool server as JSON, whole: what is kept of it, sealed."""
    document = server.model_dump(mode="json", exclude_defaults=True)
    if isinstance(server.oauth, McpOAuth) and server.oauth.client_secret is not None:
        document["oauth"]["client_secret"] = server.oauth.client_secret.get_secret_value()
    return document


def unhidden(given: McpServer, held: McpServer | None) -> McpServer:
    """The server as it was given, with the texts that are there where it has `HIDDEN`."""
    update: dict[str, Any] = {}
    for part in ("env", "headers"):
        texts: dict[str, str] = getattr(given, part)
        known: dict[str, str] = getattr(held, part) if held else {}
        update[part] = {key: known.get(key, text) if text == HIDDEN else text for key, text in texts.items()}
    if isinstance(given.oauth, McpOAuth) and given.oauth.client_secret is not None:
        is_hidden = given.oauth.client_secret.get_secret_value() == HIDDEN
        if is_hidden and held is not None and isinstance(held.oauth, McpOAuth):
            update["oauth"] = given.oauth.model_copy(update={"client_secret": held.oauth.client_secret})
    return given.model_copy(update=update)
