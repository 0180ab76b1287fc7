"""The sandboxes of this machine, for the tests of the port; what it lacks is skipped, and fails in CI."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from bethink.sandbox import MIB, CodeLimits, InterpreterSession, Sandbox
from bethink.sandbox.choice import LinuxSandbox
from bethink.sandbox.confinement import Bubblewrap, Confinement, Landlock

CONFINEMENTS: dict[str, Confinement] = {
    "bubblewrap": Bubblewrap(),
    "landlock": Landlock(),
    "landlock-1": Landlock(version=1),
}
"""With what a kernel of 2021 has of Landlock, too."""
EVERY = ("bubblewrap", "landlock")

_MISSING = {name: confinement.missing() for name, confinement in CONFINEMENTS.items()}
SMALL = CodeLimits(
    timeout_s=3, memory_bytes=300 * MIB, disk_bytes=16 * MIB, files=300, output_chars=2_000, threads=40
)


def sandbox_named(name: str) -> LinuxSandbox:
    """The sandbox over one confinement."""
    if reason := _MISSING[name]:
        lacking(f"{name}: {reason}")
    return LinuxSandbox(CONFINEMENTS[name])


def lacking(reason: str) -> NoReturn:
    """Skip, or fail where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def needs_kernel() -> None:
    """For a test of sessions."""
    if find_spec("ipykernel") is None or find_spec("jupyter_client") is None:
        lacking("needs the extra `code`")


@asynccontextmanager
async def opened(
    sandbox: Sandbox, directory: Path, limits: CodeLimits = SMALL
) -> AsyncGenerator[InterpreterSession]:
    """A session, closed at the end."""
    session = await sandbox.open(directory, limits)
    try:
        yield session
    finally:
        await session.close()
