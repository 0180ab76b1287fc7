"""Whether the tests against what others wrote are due; run by `.ci/run`, and 0 says that they are.

Foreign MCP servers, foreign clients and a real language model have to be fetched and started, and change
only with our locks. So these tests (`@pytest.mark.foreign`, `make test-foreign`) run where what they test
was touched since the last landed commit, for a release, and wherever that cannot be known.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTED = (
    "checks/foreign.py",
    "requirements",
    "scripts/fetch_smollm2.py",
    "scripts/serve_smollm2.py",
    "src/bethink/calendar/vevent.py",
    "src/bethink/calendar_sync",
    "src/bethink/child_process.py",
    "src/bethink/dial",
    "src/bethink/embeddings",
    "src/bethink/ical",
    "src/bethink/llm",
    "src/bethink/mcp_client",
    "src/bethink/tasks/vtodo.py",
    "src/bethink/web/dav.py",
    "src/bethink/web/endpoints.py",
    "src/bethink/web/v1",
    "tests/contract/test_embeddings_e5.py",
    "tests/contract/test_embeddings_minilm.py",
    "tests/evals/languages.json",
    "tests/evals/test_languages.py",
    "tests/servers",
    "tests/service/calendar_client.txt",
    "tests/service/dial_client.txt",
    "tests/service/openai_client.txt",
    "tests/service/test_calendar_servers.py",
    "tests/service/test_dial_clients.py",
    "tests/service/test_gguf.py",
    "tests/service/test_mcp_servers.py",
    "tests/service/test_openai_clients.py",
    "tests/service/test_real_model.py",
    "tests/tool_servers.py",
)
_AT_ONCE_S = 86_400
"""Commits of a day may have come at once: without a better sign, the last landed one is older than that."""


def git(*words: str) -> str:
    """What git says; nothing if it cannot."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def landed() -> str:
    """The last landed commit before HEAD, as far as this clone knows; empty if it does not.

    What CI was told (LANDED), else what a merge was made into, else where the branch left the main one,
    else the newest that is a day older.
    """
    if told := os.environ.get("LANDED"):
        return git("rev-parse", "--verify", "--quiet", f"{told}^{{commit}}")
    if git("rev-parse", "--verify", "--quiet", "HEAD^2"):
        return git("rev-parse", "HEAD^1")
    branched = git("merge-base", "HEAD", "origin/HEAD")
    if branched and branched != git("rev-parse", "HEAD"):
        return branched
    at = git("log", "-1", "--format=%ct")
    return git("rev-list", "-1", f"--before={int(at) - _AT_ONCE_S}", "HEAD") if at else ""


def why(base: str) -> str:
    """Why the tests are due; empty if they are not."""
    if git("tag", "--points-at", "HEAD"):
        return "this is a release"
    if not base:
        return "the last landed commit is not known"
    if gone := [path for path in TESTED if not (ROOT / path).exists()]:
        return f"checks/foreign.py names what is not there: {', '.join(gone)}"
    touched = git("diff", "--name-only", base, "--", *TESTED).splitlines()
    return f"{touched[0]} was touched since {base[:10]}" if touched else ""


def main() -> int:
    """Says whether, and why."""
    base = landed()
    reason = why(base)
    print(f"due: {reason}" if reason else f"not due: nothing of theirs was touched since {base[:10]}")
    return 0 if reason else 1


if __name__ == "__main__":
    sys.exit(main())
