"""Whether what only some changes can break is due: `python3 checks/due.py NAME`, and 0 says that it is.

`.ci/run` asks. Foreign MCP servers, foreign clients and a real language model have to be fetched and
started, and change only with our locks; a first `make serve` in a fresh clone installs and builds everything
once more. So each runs if what it proves was touched since the last landed commit, for a release, and where
that cannot be known. Four of the names are targets of make and those of the tests that need them
(`@pytest.mark.foreign(make="servers")`; `make test-foreign` runs all).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTED: dict[str, tuple[str, ...]] = {
    "real-model": (
        "requirements",
        "scripts/fetch_smollm2.py",
        "scripts/serve_smollm2.py",
        "src/bethink/embeddings",
        "src/bethink/llm",
        "tests/contract/test_embeddings_e5.py",
        "tests/contract/test_embeddings_minilm.py",
        "tests/evals/languages.json",
        "tests/evals/test_languages.py",
        "tests/service/test_changed_embedder.py",
        "tests/service/test_gguf.py",
        "tests/service/test_real_model.py",
    ),
    "servers": (
        "requirements",
        "src/bethink/blobs",
        "src/bethink/calendar/vevent.py",
        "src/bethink/calendar_sync",
        "src/bethink/child_process.py",
        "src/bethink/components.py",
        "src/bethink/ical",
        "src/bethink/mcp_client",
        "src/bethink/tasks/vtodo.py",
        "src/bethink/web/dav.py",
        "tests/calendar_server.py",
        "tests/servers",
        "tests/service/calendar_client.txt",
        "tests/service/test_calendar_compared.py",
        "tests/service/test_calendar_servers.py",
        "tests/service/test_mcp_servers.py",
        "tests/service/test_s3_server.py",
        "tests/tool_servers.py",
    ),
    "clients": (
        "requirements",
        "src/bethink/dial",
        "src/bethink/web/endpoints.py",
        "src/bethink/web/v1",
        "tests/dial.py",
        "tests/openai_client.py",
        "tests/service/dial_client.txt",
        "tests/service/openai_client.txt",
        "tests/service/test_dial_clients.py",
        "tests/service/test_openai_clients.py",
    ),
    "conformance": (
        "requirements",
        "src/bethink/mcp_client",
        "src/bethink/mcp_server",
        "src/bethink/questions.py",
        "src/bethink/web/endpoints.py",
        "src/bethink/web/security",
        "tests/conformance",
        "tests/service/test_mcp_conformance.py",
    ),
    "postgresql": (
        "src/bethink/bus",
        "src/bethink/engines",
        "src/bethink/index",
        "src/bethink/ports.py",
        "src/bethink/store",
        "tests/postgres_server.py",
    ),
    "newcomer": (
        "Makefile",
        "README.md",
        "checks/newcomer.py",
        "hatch_build.py",
        "pyproject.toml",
        "requirements",
        "src/bethink/cli/serve.py",
        "src/bethink/embeddings/fetch.py",
        "ui/package-lock.json",
        "ui/package.json",
        "ui/scripts",
        "ui/vite.config.ts",
    ),
}
"""What each proves. The wheel in an empty environment (`make check-package`) is tried at every change."""
_LONG = {"postgresql"}
"""What takes so long that it is due only where that is known."""
_AT_ONCE_S = 86_400
"""Commits of a day may have come at once: without a better sign, the last landed one is older than that."""


def git(*words: str) -> str:
    """What git says; nothing if it cannot."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def landed(name: str) -> str:
    """The last landed commit before HEAD, as far as this clone knows; empty if it does not.

    What CI was told (LANDED), else what a merge was made into, else where the branch left the main one,
    else the newest that is a day older; that is not guessed for what takes as long as all tests.
    """
    if told := os.environ.get("LANDED"):
        return git("rev-parse", "--verify", "--quiet", f"{told}^{{commit}}")
    if git("rev-parse", "--verify", "--quiet", "HEAD^2"):
        return git("rev-parse", "HEAD^1")
    branched = git("merge-base", "HEAD", "origin/HEAD")
    if branched and branched != git("rev-parse", "HEAD"):
        return branched
    if name in _LONG:
        return ""
    at = git("log", "-1", "--format=%ct")
    return git("rev-list", "-1", f"--before={int(at) - _AT_ONCE_S}", "HEAD") if at else ""


def why(base: str, name: str) -> str:
    """Why it is due; empty if it is not."""
    paths = ("checks/due.py", *TESTED[name])
    if git("tag", "--points-at", "HEAD"):
        return "this is a release"
    if not base:
        return "" if name in _LONG else "the last landed commit is not known"
    if gone := [path for path in paths if not (ROOT / path).exists()]:
        return f"checks/due.py names what is not there: {', '.join(gone)}"
    touched = git("diff", "--name-only", base, "--", *paths).splitlines()
    return f"{touched[0]} was touched since {base[:10]}" if touched else ""


def main(name: str) -> int:
    """Says whether, and why."""
    base = landed(name)
    reason = why(base, name)
    print(
        f"{name}: due, {reason}"
        if reason
        else f"{name}: not due, nothing of it was touched since {base[:10] or 'what is known'}"
    )
    return 0 if reason else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
