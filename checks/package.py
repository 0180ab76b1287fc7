"""The wheel, installed where there is nothing else, serves; run by `make check-package` and in CI.

Builds it, installs what is pinned and it into an empty virtual environment
outside of the checkout, starts `bethink serve` there and asks for two pages.
What only the checkout holds (measurements, stand-ins) is not in it, and `bethink bench` says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
START_S = 30  # a machine that has never run it, beside other programs
STOP_S = 15


def build(folder: Path) -> Path:
    """The wheel of this checkout, written into `folder`."""
    wheel = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder]
    subprocess.run([*wheel, ROOT], check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def install(wheel: Path, environment: Path) -> Path:
    """An empty environment with the pinned packages and the wheel; its `bethink`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    uv = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--python", environment]
    subprocess.run([*uv, "--require-hashes", "-r", ROOT / "requirements/runtime.txt"], check=True)
    subprocess.run([*uv, "--offline", "--no-deps", wheel], check=True)
    return environment / "bin/bethink"


def read(address: str) -> str:
    """The body of a page."""
    with urlopen(address, timeout=START_S) as answer:  # noqa: S310 - an address of loopback
        return answer.read().decode()


def faults(bethink: Path, folder: Path) -> list[str]:
    """What is wrong with the installed program when it serves."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
    with subprocess.Popen(
        [bethink, "serve", "--port", "0", "--data", folder / "data"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        watchdog = Timer(START_S, server.kill)  # or a silent server would be waited for without end
        watchdog.start()
        try:
            line = server.stdout.readline() if server.stdout else ""
            if not (found := re.search(r"http://[\d.]+:\d+", line)):
                return [f"it did not say where it serves, but: {line!r}"]
            health = json.loads(read(f"{found[0]}/health"))
            page = read(f"{found[0]}/")
        finally:
            watchdog.cancel()
            server.terminate()
            server.wait(STOP_S)
    told = subprocess.run(
        [bethink, "bench", "storage"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    said = [] if "can measure only recall" in told.stderr else [f"bethink bench said {told.stderr!r}"]
    said += [] if health.get("status") else [f"/health has no status: {health}"]
    said += [] if "<script" in page else ["/ is not the interface: it is not in the wheel"]
    return said + ([f"it ended with exit code {server.returncode}"] if server.returncode else [])


def main() -> int:
    """Prints what is wrong with the wheel; 1 if anything is."""
    with TemporaryDirectory(prefix="bethink-package-") as name:
        folder = Path(name)
        wheel = build(folder)
        found = faults(install(wheel, folder / "venv"), folder)
        print("\n".join(found) or f"{wheel.name} serves, {wheel.stat().st_size // 1000} kB")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
