"""The corpus of escapes against every sandbox, both uses of it, as this user and as nobody."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from bethink.sandbox import CodeLimits, Execution, Sandbox
from bethink.sandbox.choice import LinuxSandbox, choose, fault_of
from bethink.sandbox.confinement import ConfinedCommand, Job, Landlock, packages
from tests.contract.escapes.driver import Use, attempts, tried
from tests.contract.sandboxes import CONFINEMENTS, EVERY, lacking, needs_kernel, sandbox_named

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

ALL = [(confinement, use) for confinement in CONFINEMENTS for use in ("run", "session")]
_NOBODY = 65534
_SYSTEM_PYTHON = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")


@pytest.mark.requirement("R83", "R122", "R123", "C19")
@pytest.mark.parametrize(("confinement", "use"), ALL)
async def test_nothing_gets_out_and_what_must_work_works(confinement: str, use: Use, tmp_path: Path) -> None:
    _needs(confinement, use)
    results, harm = await tried(confinement, use, tmp_path)
    assert [fault for result in results if (fault := result.fault)] == []
    assert harm == []
    assert len(results) >= len(attempts()) - 1


@pytest.mark.parametrize(("confinement", "use"), ALL)
async def test_nothing_gets_out_for_an_ordinary_user_either(confinement: str, use: Use) -> None:
    _needs(confinement, use)
    if os.getuid() != 0:
        pytest.skip("this user is no root: the test above is this one")
    shown = await anyio.to_thread.run_sync(_as_nobody, confinement, use)
    assert shown["faults"] == []
    assert shown["harm"] == []
    assert shown["tried"] >= len(attempts()) - 1


@pytest.mark.parametrize("confinement", CONFINEMENTS)
async def test_what_an_ordinary_user_cannot_list_is_no_room_to_write_in(confinement: str) -> None:
    _needs(confinement, "run")
    shown = await anyio.to_thread.run_sync(_as_nobody, confinement, "hidden")
    assert shown == {"ending": "out_of_disk", "left": []}


@pytest.mark.parametrize("name", EVERY)
async def test_the_probe_finds_no_fault_in_a_sandbox(name: str) -> None:
    assert await fault_of(sandbox_named(name)) is None


async def test_the_probe_names_what_a_sandbox_lets_through() -> None:
    sandbox_named("landlock")
    assert await fault_of(LinuxSandbox(_Open())) == (
        "code in it could read outside and write outside and list outside and see other processes"
    )


async def test_the_probe_refuses_a_sandbox_that_does_not_start() -> None:
    fault = await fault_of(LinuxSandbox(_Broken()))
    assert fault is not None
    assert fault.startswith("it does not start: ")


async def test_a_probe_that_is_cancelled_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sandbox = _Endless(Landlock())
    probe = asyncio.create_task(fault_of(sandbox))
    await sandbox.begun.wait()
    assert _names(tmp_path)
    probe.cancel()
    await asyncio.sleep(0)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert not _names(tmp_path)


async def test_the_best_sandbox_is_chosen_and_a_data_directory_within_reach_refused(tmp_path: Path) -> None:
    sandbox: Sandbox = sandbox_named("landlock")
    assert (await choose("landlock", tmp_path)).sandbox == sandbox
    refused = await choose("auto", packages()[0] / "data")
    assert refused.sandbox is None
    assert "which code may read" in refused.reasons[0]


@dataclass(frozen=True, slots=True)
class _Endless(LinuxSandbox):
    """Runs code that never ends."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, code: str, directory: Path, limits: CodeLimits) -> Execution:
        self.begun.set()
        await asyncio.sleep(3600)
        raise AssertionError


class _Open(Landlock):
    """Landlock that forgot its rules of files."""

    def command(self, job: Job) -> ConfinedCommand:
        command = super().command(job)
        return ConfinedCommand(command.arguments, dict(command.orders) | {"landlock": None})


class _Broken(Landlock):
    """Names a program that is not there."""

    def command(self, job: Job) -> ConfinedCommand:
        return ConfinedCommand(["/nowhere/python"], super().command(job).orders)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _needs(confinement: str, use: str) -> None:
    sandbox_named(confinement)
    if use == "session":
        needs_kernel()


def _as_nobody(confinement: str, use: str) -> dict[str, Any]:
    """The driver's results as a user who owns nothing; their own interpreter may be out of their reach."""
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), *map(str, packages())])
    interpreters = [Path(sys.executable).resolve(), _SYSTEM_PYTHON]
    driver = Path(__file__).parent / "escapes" / "driver.py"
    if shutil.which("setpriv") is None:
        lacking("needs setpriv")
    fault = ""
    for interpreter in interpreters:
        ended = subprocess.run(
            [
                *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
                *("env", "-i", f"PYTHONPATH={path}", f"PATH={os.environ['PATH']}"),
                *(str(interpreter), str(driver), confinement, use),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        if ended.returncode == 0:
            return json.loads(ended.stdout)
        fault = ended.stderr[-300:]
    return lacking(f"no interpreter that user {_NOBODY} can run: {fault}")
