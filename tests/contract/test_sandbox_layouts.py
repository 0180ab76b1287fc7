"""Sandboxes around interpreters that lie in odd places: below a mount of ours, or behind links."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from bethink.sandbox.confinement import Bubblewrap, interpreter
from tests.contract.sandboxes import EVERY, lacking, needs_kernel, sandbox_named

pytestmark = [pytest.mark.timeout(60)]

_SOURCE = Path(__file__).parents[2] / "src"
_PACKAGES = Path(sysconfig.get_path("purelib"))
_PROGRAM = """
import json, sys, tempfile
from pathlib import Path
import anyio
from bethink.sandbox import CodeLimits
from bethink.sandbox.choice import choose

async def main():
    with tempfile.TemporaryDirectory() as place:
        work = Path(place, "work")
        work.mkdir()
        choice = await choose(sys.argv[1], Path(place, "data"))
        told = {"reasons": choice.reasons}
        if choice.sandbox is not None:
            told["run"] = (await choice.sandbox.run("6 * 7", work, CodeLimits(timeout_s=20))).text
            session = await choice.sandbox.open(work, CodeLimits())
            told["session"] = (await session.execute("import os, numpy\\nos.getcwd()", 20)).text
            await session.close()
        print(json.dumps(told))

anyio.run(main)
"""


@pytest.mark.parametrize("folder", ["/work/clone", "/run/scratch/clone"])
def test_code_runs_in_a_clone_that_lies_where_the_sandbox_would_mount_its_directory(folder: str) -> None:
    needs_kernel()
    sandbox_named("bubblewrap")
    bwrap = Bubblewrap().found()
    assert bwrap is not None
    source, packages = f"{folder}/src", f"{folder}/.venv/lib/site-packages"
    own = folder.split("/")[1]
    host = [
        argument
        for entry in sorted(os.scandir("/"), key=lambda entry: entry.name)
        if entry.name not in {own, "proc", "dev"}
        for argument in _laid_out(entry)
    ]
    told = _told(
        [
            *(str(bwrap), *host, "--proc", "/proc", "--dev-bind", "/dev", "/dev"),
            *("--ro-bind", str(_SOURCE), source, "--ro-bind", str(_PACKAGES), packages),
            *(str(interpreter()), "-B", "-c", _PROGRAM, "bubblewrap"),
        ],
        f"{source}:{packages}",
    )
    assert told["reasons"] == []
    assert told["run"] == "42\n"
    assert "work" in told["session"]


@pytest.mark.parametrize("wall", EVERY)
def test_code_runs_where_every_part_of_the_interpreter_is_reached_by_links(tmp_path: Path, wall: str) -> None:
    needs_kernel()
    sandbox_named(wall)
    linked = _linked_layout(tmp_path)
    told = _told([str(linked), "-B", "-c", _PROGRAM, wall], str(_SOURCE))
    assert told["reasons"] == []
    assert told["run"] == "42\n"
    assert told["session"].strip()


def _linked_layout(place: Path) -> Path:
    """The interpreter of an environment as uv makes it: behind a link to a build that lies elsewhere."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    build = place / "builds" / "one-build"
    (build / "bin").mkdir(parents=True)
    shutil.copy2(interpreter(), build / "bin" / version)
    (build / "lib").symlink_to(Path(sys.base_prefix) / "lib")
    (place / "builds" / "minor").symlink_to(build)
    environment = place / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(place / "builds" / "minor" / "bin" / version)
    (environment / "pyvenv.cfg").write_text(f"home = {place / 'builds' / 'minor' / 'bin'}\n")
    (environment / "lib" / version).mkdir(parents=True)
    (environment / "lib" / version / "site-packages").symlink_to(_PACKAGES)
    return environment / "bin" / "python"


def _laid_out(entry: os.DirEntry[str]) -> list[str]:
    if entry.is_symlink():
        return ["--symlink", str(Path(entry.path).readlink()), entry.path]
    return ["--bind", entry.path, entry.path]


def _told(command: list[str], path: str) -> dict[str, Any]:
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PYTHONPATH": path, "PATH": os.environ["PATH"]},
    )
    if "user namespace" in ended.stderr or "Creating new namespace failed" in ended.stderr:
        lacking(f"no namespace within which the test can lie: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])
