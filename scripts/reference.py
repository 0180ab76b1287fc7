"""Write the reference pages of settings, errors, events and tools: `python scripts/reference.py`.

With `--check` it only compares, and fails where a page in `docs/reference` says
something else than the code; a test does the same.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from pydantic import BaseModel, SecretStr

from bethink import errors, events
from bethink.agent.tool_selection import search_tool as search_all_tools
from bethink.calendar import service as calendar_service
from bethink.calendar_sync import caldav_objects, sync
from bethink.documents.passages import PassageLimits
from bethink.documents.reading.extraction import Extraction
from bethink.images.factory import Exchange, OpenAiImages
from bethink.internet.connect import connect_internet
from bethink.messages import Attachment
from bethink.recall.passages import Passages
from bethink.settings import ALIASES, ENV_PREFIX, Settings
from bethink.tasks import service as task_service
from bethink.tool import tools_in
from bethink.tools import artifacts, calendar, schedules, tasks
from bethink.tools.code import code_tools
from bethink.tools.documents import document_tools
from bethink.tools.forgetting import ForgettingTools
from bethink.tools.images import image_tools
from bethink.tools.memory import MemoryTools
from bethink.tools.memory_agent import agent_tool
from bethink.tools.people import PeopleTools
from bethink.tools.vault import backlinks_tool, code_tool, search_tool, vault_tools
from bethink.tools.web import web_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo

    from bethink.tool import Tool

_Error = errors.BethinkError
_WITH_ERRORS = [
    module.__name__.split(".")[:2] for module in (caldav_objects, sync, calendar_service, task_service)
]
"""The features that have errors of their own."""
FOLDER = Path(__file__).parent.parent / "docs" / "reference"

_SETTINGS_HEAD = """\
# Settings

A setting can be given in several ways. The first one found is used:

1. an option of the command, if it has one;
2. the environment variable below;
3. a variable of another program that serves as an alias;
4. `bethink.toml` in the working directory, otherwise in the data directory, with the names below;
5. what is kept in the data directory (`bethink settings`, or the page);
6. the default.

Keys are never shown, neither by `GET /settings` nor in the log. If a value is not valid, Bethink does not
start and names the setting. This page is written from `src/bethink/settings` by
`scripts/reference.py`.
"""

_ERRORS_HEAD = """\
# Errors

Every error has a code that does not change. Over HTTP it is the last part of the problem's `type`,
`urn:bethink:error:<code>`, with the status below; in a run it is the `code` of `run_failed`, or the `error`
of a tool's result. The message of an error is often more exact than its meaning here. This page is written
from `src/bethink/errors.py` and the features' own errors by `scripts/reference.py`. A method that a path does
not have is `method_not_allowed`, 405.
"""

_EVENTS_HEAD = f"""\
# Events

The events of a run, the same in every interface: the page, `--json` on the command line and the streams over
HTTP. Each event is one JSON object with its `kind`. A run begins with `run_started` and ends with exactly
one `run_done`. Fields with their default value may be left out. Show or skip kinds that you do not know; they
are no error. `schema` is {events.SCHEMA}; it is raised if an old reader could misunderstand a change.

The `id` in a stream is the position, `sequence.characters`: consecutive text shares one sequence and
counts characters. To reconnect, send the last position; you get the rest, or first one `text_so_far`.

This page is written from `src/bethink/events.py` by `scripts/reference.py`.
"""

_TOOLS_HEAD = """\
# Tools

Tools that a model can call. *Effect* decides whether a call runs without asking: reads and writes of your
data do; calls that cannot be undone or leave the machine ask you first. This page is written from the
tools by `scripts/reference.py`.
"""


def settings_page() -> str:
    """Every setting with its variable, kind, default and meaning."""
    aliases: dict[str, list[str]] = {}
    for variable, name in ALIASES.items():
        aliases.setdefault(name, []).append(variable)
    rows = [
        (
            f"`{name}`",
            _variables(name, aliases.get(name, [])),
            _kind(field.annotation),
            _default(name, field),
            _meaning(field),
        )
        for name, field in Settings.model_fields.items()
    ]
    table = _table(("name in `bethink.toml`", "variable, aliases", "kind", "default", "meaning"), rows)
    return "\n".join((_SETTINGS_HEAD, *table, *_settings_notes()))


def _variables(name: str, aliases: Sequence[str]) -> str:
    ours = f"{ENV_PREFIX}{name}".upper()
    return "<br>".join(f"`{variable}`" for variable in (ours, *aliases))


def _settings_notes() -> Iterator[str]:
    yield ""
    yield "`COGNICAL_TOOLS_TIMEOUT_MS` is in milliseconds. Prices are a table, or JSON in the variable:"
    yield ""
    yield "```toml"
    yield '[prices."openai:gpt-4o-mini"]'
    yield "input = 0.15"
    yield "output = 0.60"
    yield "```"
    yield ""


def errors_page() -> str:
    """The tree of errors with codes, statuses and meanings."""
    rows = [
        (f"`{error.code}`", str(error.status), f"{'· ' * depth}{error.__name__}", _cell(_first(error)))
        for depth, error in _tree(errors.BethinkError)
    ]
    return "\n".join((_ERRORS_HEAD, *_table(("code", "HTTP status", "error", "meaning"), rows), ""))


def _tree(error: type[_Error], depth: int = 0) -> Iterator[tuple[int, type[_Error]]]:
    yield depth, error
    own = [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    features = {
        child.code: child
        for child in error.__subclasses__()
        if child.__module__.split(".")[:2] in _WITH_ERRORS and child.code != error.code
    }
    for child in (*own, *(features[code] for code in sorted(features))):
        yield from _tree(child, depth + 1)


def events_page() -> str:
    """Every event with its fields, and why runs end."""
    kinds = cast("tuple[type[msgspec.Struct], ...]", get_args(events.Event))
    parts = [_EVENTS_HEAD]
    for kind in kinds:
        parts += _shape(f"`{kind.__struct_config__.tag}`", kind)
    for shape in (events.Recalled, Attachment):
        parts += _shape(shape.__name__, shape)
    parts += ["## Why a run ends", "", "The `reason` of `run_done`:", ""]
    parts += [f"- `{reason}`" for reason in get_args(events.StopReason)]
    return "\n".join((*parts, ""))


def _shape(title: str, shape: type[msgspec.Struct]) -> list[str]:
    hints = typing.get_type_hints(shape)
    rows = [
        (
            f"`{field.name}`",
            _kind(hints[field.name]) + (" or null" if type(None) in get_args(hints[field.name]) else ""),
            "" if field.default is msgspec.NODEFAULT else f"`{json.dumps(field.default)}`",
        )
        for field in msgspec.structs.fields(shape)
    ]
    table = _table(("field", "kind", "default"), rows) if rows else ["It has no fields."]
    return [f"## {title}", "", inspect.cleandoc(shape.__doc__ or ""), "", *table, ""]


def tools_page() -> str:
    """Every tool with what the model is told of it."""
    parts = [_TOOLS_HEAD]
    for tool in tools():
        parts += [f"## `{tool.name}`", "", f"Effect: {tool.effect}.", "", _quoted(tool.description), ""]
        parts += _parameters(tool)
    return "\n".join(parts)


def tools() -> Sequence[Tool]:
    """The tools that an app has of itself; none of them is called here."""
    unused: Any = None
    rooms = (MemoryTools(unused, unused, 0), ForgettingTools(unused), PeopleTools(unused))
    own = [tool for room in rooms for tool in tools_in(room)]
    passages = Passages(Extraction(), unused, unused, limits=PassageLimits())
    files = document_tools(passages, unused)
    pictures = image_tools(OpenAiImages(Exchange(""), ""), 0)
    web = web_tools(connect_internet(Settings()), 0, 0)
    pages = [*vault_tools(unused), search_tool(unused), backlinks_tool(unused), code_tool(unused, 0)]
    asking = agent_tool(unused, 0)
    nothing: Mapping[object, None] = {}
    unopened: Any = types.SimpleNamespace(features=types.SimpleNamespace(of=nothing.get))
    planner = [tool for room in (tasks, calendar, schedules, artifacts) for tool in room.tools_of(unopened)]
    return [
        *own,
        *planner,
        *files,
        *pictures,
        *web,
        *code_tools(unused, 0),
        *pages,
        asking,
        search_all_tools(list),
    ]


def _parameters(tool: Tool) -> list[str]:
    needed = tool.parameters["required"]
    rows = [
        (
            f"`{name}`",
            _json_kind(schema),
            "needed" if name in needed else f"`{json.dumps(schema.get('default'))}`",
            _cell(schema.get("description", "")),
        )
        for name, schema in tool.parameters["properties"].items()
    ]
    if not rows:
        return ["No parameters.", ""]
    return [*_table(("parameter", "kind", "default", "meaning"), rows), ""]


def _json_kind(schema: dict[str, Any]) -> str:
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_json_kind(schema.get('items', {}))}"
    limits = " to ".join(f"{schema[bound]:g}" for bound in ("minimum", "maximum") if bound in schema)
    return f"{kind}, {limits}" if limits else kind


def _kind(hint: Any) -> str:  # noqa: ANN401 - any annotation
    """An annotation in plain words."""
    arguments = [
        argument for argument in get_args(hint) if argument is not type(None) and argument is not ...
    ]
    origin = get_origin(hint)
    if origin is Annotated:
        return _kind(arguments[0])
    if origin in {Union, types.UnionType}:
        return " or ".join(_kind(argument) for argument in arguments)
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin in {list, tuple}:
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"table of {_kind(arguments[1])}"
    return _KINDS.get(hint) or str(hint.__name__)


_KINDS: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Path: "directory",
    SecretStr: "key",
}


def _default(name: str, field: FieldInfo) -> str:
    if name == "data_dir":
        return "`$XDG_DATA_HOME/bethink`, otherwise `~/.local/share/bethink`"
    if name == "models_dir" or field.default is None or field.default in ("", [], {}):
        return ""
    if isinstance(field.default, BaseModel):
        return "off"
    return f"`{json.dumps(field.default)}`"


def _meaning(field: FieldInfo) -> str:
    bounds = {"Ge": "from {ge:g}", "Gt": "more than {gt:g}", "Le": "to {le:g}"}
    limits = [
        bounds[type(limit).__name__].format(**{name: getattr(limit, name) for name in limit.__slots__})
        for limit in field.metadata
        if type(limit).__name__ in bounds
    ]
    said = field.description or ""
    return _cell(f"{said} {' '.join(limits).capitalize()}." if limits else said)


def _first(error: type[_Error]) -> str:
    """What it says by itself, or, where each says its own, what it is."""
    try:
        return error().message
    except TypeError:
        return inspect.cleandoc(error.__doc__ or "").partition("\n\n")[0]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines]


PAGES = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "tools.md": tools_page,
}


def main() -> int:
    """Write the pages, or with `--check` name those that differ. Returns the exit code."""
    differing = 0
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"docs/reference/{name} is not what the code says; run scripts/reference.py\n")
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
