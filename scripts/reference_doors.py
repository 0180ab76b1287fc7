"""Write the reference pages of the command line and of HTTP: `python scripts/reference_doors.py`.

With `--check` it only compares, and fails where a page in `docs/reference` says
something else than the code; a test does the same.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bethink.cli.commands import make_parser
from bethink.cli.exits import Exit
from bethink.web import create_web

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager

    from bethink.app import App

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
_METHODS = ("get", "post", "patch", "put", "delete")
_ALWAYS = frozenset({"400", "401", "403", "413", "422", "429", "500", "503"})
"""Problems that every route may answer with; the page says so once."""

_FRAMEWORK = frozenset({"HTTPValidationError", "ValidationError"})
"""Shapes that FastAPI adds to the document and Bethink never answers with."""

_CLI_HEAD = """\
# Command line

`bethink COMMAND`. Results go to standard output, all other messages to standard error. Each command also
has `--help`. This page is written from the program by `scripts/reference_doors.py`.
"""

_HTTP_HEAD = """\
# HTTP

Every route, written from the server's own `/openapi.json` by `scripts/reference_doors.py`. That document
also has the exact shapes, the events' among them.

- Bodies are JSON (`Content-Type: application/json`). Unknown fields are refused.
- Times are ISO 8601 with a zone. Ids are opaque.
- Lists come in pages: `cursor` of one page asks for the next; null is the end.
- Errors are `application/problem+json`: `type` is `urn:bethink:error:<code>`, `detail` says what happened
  and what to do, `errors` names each part of the request that is not valid.
- Any route can answer the problems 400, 401, 403, 413, 422, 429, 500 and 503; further ones are named with
  the route.
- Once there are [users](../how-to/users-and-keys.md), requests carry a key: `Authorization: Bearer bk_…`.
- Requests must name this machine (`127.0.0.1`, `localhost`) and must not come from another site's page.
- An answer streams as server-sent events. Each has an `id`, its position, and `data`, an event as
  JSON; the last is `data: [DONE]`. If a stream ends without it, continue at `GET /runs/{run}/events`
  with the last id as `Last-Event-ID`.
"""


def cli_page() -> str:
    """The page of all commands."""
    parser = make_parser()
    commands = list(_commands(parser))
    parts = [_CLI_HEAD, "## Options of every command\n", _arguments(parser)]
    for command in commands:
        parts += [f"## `{command.prog}`\n", f"{command.description}\n"]
        if command.epilog:
            parts.append(f"```text\n{command.epilog.strip()}\n```\n")
        if own := _arguments(command, besides=parser):
            parts.append(own)
    codes = "".join(f"| {code.value} | {code.meaning} |\n" for code in Exit)
    parts.append(f"## Exit codes\n\n| code | meaning |\n|---|---|\n{codes}")
    return "\n".join(parts)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other way to list them


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands that do something, in the order of the help."""
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            for choice in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                below = list(_commands(choice))
                yield from below or [choice]


def _arguments(parser: argparse.ArgumentParser, besides: argparse.ArgumentParser | None = None) -> str:
    # By what is typed: an option of one command may be kept where a common one is, as `version` is.
    known = {("-h", "--help")} | {
        tuple(action.option_strings) for action in (_actions(besides) if besides else ())
    }
    own = [
        action
        for action in _actions(parser)
        if not isinstance(action.choices, dict)
        and (not action.option_strings or tuple(action.option_strings) not in known)
    ]
    # What is typed without a name comes first, as in the help's own first line.
    own.sort(key=lambda action: bool(action.option_strings))
    rows = [f"| {_typed(action)} | {_cell(action.help or '')} |\n" for action in own]
    return f"| | |\n|---|---|\n{''.join(rows)}" if rows else ""


def _typed(action: argparse.Action) -> str:
    """What is to be typed, as code."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        value = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    if not action.option_strings:
        return {"*": f"`[{value} …]`", "+": f"`{value} …`", "?": f"`[{value}]`"}.get(
            str(action.nargs), f"`{value}`"
        )
    takes = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{option}{takes}`" for option in action.option_strings)


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|").replace("\n", " ")


def openapi_document() -> dict[str, Any]:
    """What the server answers to `GET /openapi.json`."""
    return asyncio.run(_get("/openapi.json"))


async def _get(path: str) -> dict[str, Any]:
    # The document needs no app at work, so none is opened.
    web = create_web(cast("AbstractAsyncContextManager[App]", nullcontext(None)))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1),
    }
    chunks: list[bytes] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401 - an ASGI message, a mapping of many shapes
        await asyncio.sleep(0)
        chunks.append(message.get("body", b""))

    await web(scope, receive, send)
    return json.loads(b"".join(chunks))


def http_page() -> str:
    """The page of all routes, a section for each of their tags."""
    document = openapi_document()
    sections: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if operation := methods.get(method):
                tag = operation.get("tags", ["other"])[0]
                sections.setdefault(tag, []).append(_route(document, f"{method.upper()} {path}", operation))
    bodies = [f"## {tag.capitalize()}\n\n" + "\n".join(routes) for tag, routes in sections.items()]
    return "\n".join([_HTTP_HEAD, *bodies, f"## Shapes\n\n{_shapes(document)}"])


def _route(document: dict[str, Any], name: str, operation: dict[str, Any]) -> str:
    parts = [f"### `{name}`\n", f"{operation['description']}\n"]
    rows = [
        (parameter["name"], parameter["in"], parameter["schema"], parameter)
        for parameter in operation.get("parameters", [])
        if parameter["in"] != "path"
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        shape = _shape(document, body)
        required = shape.get("required", [])
        rows += [
            (name, "body", schema, {"required": name in required, **schema})
            for name, schema in shape.get("properties", {}).items()
        ]
    if rows:
        lines = [
            f"| `{name}` | {where} | {_type(schema)} | {_about(schema, told)} |\n"
            for name, where, schema, told in rows
        ]
        parts.append(f"| name | in | type | |\n|---|---|---|---|\n{''.join(lines)}")
    answers = [
        f"{status}: {_answer(response)}"
        for status, response in operation["responses"].items()
        if status.startswith("2")
    ]
    faults = sorted(
        status for status in operation["responses"] if not status.startswith("2") and status not in _ALWAYS
    )
    also = f" Problems also: {', '.join(faults)}." if faults else ""
    parts.append(f"Answers {'; '.join(answers)}.{also}\n")
    return "\n".join(parts)


def _shapes(document: dict[str, Any]) -> str:
    """The objects that bodies and answers are made of; the events have a schema of their own."""
    schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
    events = {choice["$ref"].rpartition("/")[2] for choice in schemas["Event"]["anyOf"]}
    parts: list[str] = []
    for name, shape in sorted(schemas.items()):
        if name in events | _FRAMEWORK or "properties" not in shape:
            continue
        rows = "".join(
            f"| `{field}` | {_type(schema)} | {_about(schema, {})} |\n"
            for field, schema in shape["properties"].items()
        )
        about = f"{shape['description']}\n\n" if shape.get("description") else ""
        parts.append(f"### {name}\n\n{about}| field | type | |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def _shape(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The object behind a reference, or behind the one of several choices that is an object."""
    for choice in schema.get("anyOf", [schema]):
        if reference := choice.get("$ref"):
            return document["components"]["schemas"][reference.rpartition("/")[2]]
    return schema


def _type(schema: dict[str, Any]) -> str:
    """A schema in few words."""
    if reference := schema.get("$ref"):
        return f"`{reference.rpartition('/')[2]}`"
    if choices := schema.get("anyOf"):
        kinds = [_type(choice) for choice in choices if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if values := schema.get("enum"):
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type", "anything"))


def _about(schema: dict[str, Any], told: dict[str, Any]) -> str:
    """What is said about a parameter: its description, whether it is needed, what it is otherwise."""
    said = told.get("description") or schema.get("description") or ""
    if told.get("required"):
        return _cell(f"{said} **Needed.**".strip())
    default = schema.get("default")
    return _cell(f"{said} Otherwise `{json.dumps(default)}`.".strip() if default is not None else said)


def _answer(response: dict[str, Any]) -> str:
    kinds: list[str] = []
    for media_type, content in response.get("content", {}).items():
        schema = content.get("schema", {})
        kinds.append("a stream of events" if media_type == "text/event-stream" else _type(schema))
    return " or ".join(kinds) or "nothing"


PAGES = {"cli.md": cli_page, "http.md": http_page}


def main() -> int:
    """Write the pages, or with `--check` name those that differ. Returns the exit code."""
    differing = 0
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(
                f"docs/reference/{name} is not what the code says; run scripts/reference_doors.py\n"
            )
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
