"""Write what the server promises the interface to `ui/contract/`: the shapes of its OpenAPI document.

`make check` calls it with `--check`: it then only compares, and fails when the
committed file says something else than the code. The interface's own
`npm run contract` turns the file into TypeScript.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bethink.web import create_web

if TYPE_CHECKING:
    from starlette.types import Message

PATH = Path(__file__).parent.parent / "ui" / "contract" / "openapi.json"


async def openapi() -> dict[str, Any]:
    """The OpenAPI document as the server gives it; no app is opened for it."""
    body: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        body.append(message.get("body", b""))

    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/openapi.json",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    # An app that was never started answers only what needs none of its parts.
    await create_web(AsyncExitStack())(scope, receive, send)  # pyright: ignore[reportArgumentType]
    return json.loads(b"".join(body))


_KEPT = frozenset(
    {
        *("$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "oneOf"),
        *("prefixItems", "properties", "required", "type"),
    }
)
"""What a type can say. Words, examples and limits change often and are no shape."""


def shape(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with nothing but what a type can say."""
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    for key, value in kept.items():
        if key == "properties":
            kept[key] = {name: shape(inner) for name, inner in value.items()}
        elif isinstance(value, dict):
            kept[key] = shape(cast("dict[str, Any]", value))
        elif key in {"allOf", "anyOf", "oneOf", "prefixItems"}:
            kept[key] = [shape(inner) for inner in value]
    return kept


def contract() -> str:
    """The file's text."""
    schemas = asyncio.run(openapi())["components"]["schemas"]
    document = {"components": {"schemas": {name: shape(schema) for name, schema in schemas.items()}}}
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or with `--check` say whether it differs. Returns the exit code."""
    text = contract()
    if "--check" not in sys.argv[1:]:
        PATH.write_text(text, encoding="utf-8")
    elif not PATH.exists() or PATH.read_text(encoding="utf-8") != text:
        sys.stderr.write(
            f"{PATH.name} is not what the code says; run scripts/contract.py, then npm run contract in ui/\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
