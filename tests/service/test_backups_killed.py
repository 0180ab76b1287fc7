"""Backups, restores and migrations killed at any step: what is left is whole, the next one goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres_server import postgres_server


@pytest.mark.timeout(300)
def test_whatever_is_killed_leaves_both_sides_whole(tmp_path: Path) -> None:
    with postgres_server() as server:
        ended = subprocess.run(
            [sys.executable, "-m", "tests.killed_backups", str(tmp_path), "4", server.new_database()],
            capture_output=True,
            text=True,
            check=True,
        )
    *faults, kills = ended.stdout.splitlines()
    assert faults == []
    assert int(kills.split()[0]) > 10
