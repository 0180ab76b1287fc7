"""Nothing is sent and nothing is written but what the owner knows of: no telemetry, no files elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
APART = ("unshare", "--user", "--map-root-user", "--net", "--mount")

pytestmark = pytest.mark.timeout(180)


def can_be_apart() -> bool:
    """Whether this machine lets us have a network and mounts of our own."""
    return (
        shutil.which("unshare") is not None
        and not subprocess.run([*APART, "true"], check=False, capture_output=True).returncode
    )


def gone_on(directory: Path) -> dict[str, Any]:
    """What a whole journey left behind, in a person's shell: in CI, libraries are discreet."""
    kept = ("PATH", "LANG", "BETHINK_MODELS_DIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONPATH": str(ROOT)}
    apart = can_be_apart()
    command = [sys.executable, str(Path(__file__).with_name("silent_journey.py")), str(directory)]
    done = subprocess.run(
        [*APART, *command, "--apart"] if apart else command,
        env=environment,
        cwd=directory,
        check=False,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "apart": apart}


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return gone_on(tmp_path_factory.mktemp("journey"))


@pytest.mark.requirement("R182", "P1a")
def test_a_whole_journey_writes_nothing_outside_the_data_directory(journey: dict[str, Any]) -> None:
    assert journey["files"] == []


@pytest.mark.requirement("R182", "P1a", "R199")
def test_a_whole_journey_looks_up_no_name(journey: dict[str, Any]) -> None:
    if not journey["apart"]:
        pytest.skip("this machine allows no network namespace, in which look-ups could be seen")
    assert journey["names"] == []
