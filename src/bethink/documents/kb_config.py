"""The YAML configuration of kb-mcp-server, as far as it says something here. `kb build --config` reads it.

Source: kb-mcp-server 0.3.1, its README and example of a configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

from bethink.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES: Final = 1_000_000
_KEYS: Final[Mapping[str, str]] = {
    "path": "",
    "writable": "",
    "content": "",
    "embeddings": "path backend gpu batch normalize scoring hybrid hybridalpha content writable keywords "
    "graph storetokens storeannoy storepath method functions",
    "search": "hybrid path",
    "scoring": "",
    "pipeline": "workers queue timeout",
    "extractor": "path maxlength minscore method template output",
    "textractor": "paragraphs sentences lines minlength join tika sections cleantext chunker headers",
    "graph": "backend path similarity limit minscore approximate topics centrality copyattributes",
}
"""The keys that kb-mcp-server and the txtai below it know, with those below them; none is any."""
_SILENT: Final = frozenset({"path", "writable", "content", "graph"})
_NAMELESS: Final = frozenset({"", "index", "embeddings", "data", "kb"})


@dataclass(frozen=True, slots=True)
class KbConfig:
    """What a file says: the base's name, if its index has one, and what a person should know of the rest."""

    name: str | None
    remarks: tuple[str, ...] = ()


def read_config(path: Path) -> KbConfig:
    """The configuration in a file. Blocks.

    Raises:
        BadInput: it cannot be read, or is no mapping.
    """
    try:
        text = path.read_bytes()[: _MAX_BYTES + 1]
        found = yaml.safe_load(text) if len(text) <= _MAX_BYTES else None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BadInput(f"{path} is not valid YAML: {error}") from error
    if not isinstance(found, dict):
        raise BadInput(f"{path} is not a configuration: it has no keys.")
    values = {str(key): value for key, value in cast("dict[Any, Any]", found).items()}
    unknown = [*_unknown(values)]
    idle = sorted(values.keys() & _KEYS.keys() - _SILENT)
    remarks = [f"no effect here: {', '.join(idle)} (Bethink's own model and reader are used)"] if idle else []
    remarks += [f"unknown keys: {', '.join(unknown)}"] if unknown else []
    if "graph" in values:
        remarks.append("the graph is a setting here: BETHINK_GRAPH_ENABLED")
    stem = str(values.get("path") or "").rstrip("/").rpartition("/")[2].removesuffix(".tar.gz")
    return KbConfig(None if stem.lower() in _NAMELESS else stem, tuple(remarks))


def _unknown(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if key not in _KEYS:
            yield key
        elif isinstance(value, dict) and _KEYS[key]:
            names = map(str, cast("dict[Any, Any]", value))
            yield from (f"{key}.{name}" for name in names if name not in _KEYS[key].split())
