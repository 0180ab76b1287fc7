"""The OpenAPI document, and the server held to it by requests that nobody would think of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from bethink.events import Event
from tests.door import open_door
from tests.server_process import running

pytestmark = pytest.mark.anyio

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "use_after_free",
    "ensure_resource_availability",
)
"""All but two: what is valid for a schema may still be refused, as an undo token that is none, and the
address /memories/undo is that of a memory too, so that it allows more methods than the document names."""


async def document() -> dict[str, Any]:
    async with open_door() as door:
        return (await door.http.get("/openapi.json")).json()


def references(part: object) -> set[str]:
    match part:
        case dict():
            own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set[str]()
            return own.union(*(references(value) for value in part.values()))
        case list():
            return set[str]().union(*(references(value) for value in part))
        case _:
            return set()


async def test_the_openapidescribes_every_event_and_refers_to_nothing_that_is_missing() -> None:
    schemas = (openapi := await document())["components"]["schemas"]
    kinds = {schema.__struct_config__.tag for schema in get_args(Event)}
    assert set(schemas["Event"]["discriminator"]["mapping"]) == kinds
    assert references(openapi) <= {f"#/components/schemas/{name}" for name in schemas}


async def test_the_document_says_how_a_key_is_sent_and_what_any_route_answers_without_it_or_too_often() -> (
    None
):
    openapi = await document()
    assert openapi["security"] == [{"key": []}, {}]
    scheme = openapi["components"]["securitySchemes"]["key"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for methods in openapi["paths"].values():
        for each in methods.values():
            assert {"401", "429"} <= each["responses"].keys()


async def test_every_route_documents_its_problems_and_every_operation_has_a_name_of_its_own() -> None:
    paths: dict[str, dict[str, Any]] = (await document())["paths"]
    operations = [each for path in paths.values() for each in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert all(operation["description"] for operation in operations)
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, methods in paths.items():
        for each in methods.values():
            refused = each["responses"]["422"]["content"]
            # OpenAI's clients get errors in OpenAI's shape, and nobody else.
            assert ("application/json" in refused) if path.startswith("/v1/") else refused == problem


EXPECTED = """
# Credentials are refused unread if they are larger than a person's can be.
[[operations]]
include-path = "/session"
[operations.checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "406", "413", "415", "422", "429"]

# A server of tools that cannot be reached is no fault of ours.
[[operations]]
include-path-regex = "^/mcp-servers/"
[operations.checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""
"""What schemathesis expects beside its defaults."""


@pytest.mark.timeout(300)
async def test_the_server_keeps_what_its_openapisays(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as bethink:
        # It gives the document ten seconds, and a busy machine may need more for the first one.
        await anyio.Path(tmp_path / "openapi.json").write_bytes(
            (await bethink.http.get("/openapi.json")).content
        )
        await anyio.Path(tmp_path / "schemathesis.toml").write_text(EXPECTED)
        command = [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json"]
        command += ["--url", str(bethink.http.base_url), "--request-timeout", "60"]
        command += ["--phases", "coverage,fuzzing", "--max-examples", "10", "--generation-deterministic"]
        command += ["--checks", ",".join(CHECKS), "--no-color", "--warnings", "off", "--no-shrink"]
        result = await anyio.run_process(command, cwd=tmp_path, check=False, stderr=subprocess.STDOUT)
        assert (await bethink.get("/health"))["parts"]["store"]["status"] == "ok"
    report = result.stdout.decode()
    assert result.returncode == 0, report[-5000:]
    counted = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", report)
    assert counted is not None
    assert len(set(counted.groups())) == 1
