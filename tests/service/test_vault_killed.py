"""A process that is killed while it changes pages and memories loses nothing that it acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)


def test_wherever_a_process_is_killed_files_and_records_agree_afterwards(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.killed", str(tmp_path), "3"], capture_output=True, text=True, check=True
    )
    *faults, last = ended.stdout.splitlines()
    assert faults == []
    assert int(last.removesuffix(" steps")) > 50
