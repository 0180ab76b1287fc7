"""A fresh clone serves as the README says, by `make serve` and nothing else. CI runs it first.

Clones this checkout into an empty folder, waits for the address, asks for /health
and the page, stops the server, and measures what was installed. Needs no more
than a newcomer has: Python, make, git and a network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from urllib.request import Request, urlopen

ROOT = Path(__file__).parent.parent
PATIENCE_S = 900  # packages, the page and the model come over a network
ANSWER_S = 60
MOST_MB = 500


def read(address: str, **headers: str) -> tuple[str, bytes]:
    """The encoding and the body of an answer."""
    request = Request(address, headers=headers)  # noqa: S310 - an address of loopback
    with urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
        return answer.headers.get("content-encoding", ""), answer.read()


def served(folder: Path, data: Path) -> list[str]:
    """What is wrong with `make serve` in this clone."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("BETHINK_", "MAKE"))
    }
    command = ["make", "-C", folder, "serve", f"ARGS=--port 0 --data {data}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as making:
        late = Timer(PATIENCE_S, os.killpg, (making.pid, signal.SIGKILL))
        late.start()
        try:
            address = ""
            for line in making.stdout or ():
                sys.stdout.write(f"  {line}")
                if words := [word for word in line.split() if word.startswith("http://")]:
                    address = words[0]
                    break
            if not address:
                return ["it ended before it served"]
            _, health = read(f"{address}/health", Accept="application/json")
            encoding, page = read(f"{address}/", Accept="text/html")
            told = [] if json.loads(health)["status"] in {"ok", "degraded"} else [f"/health says {health!r}"]
            told += [] if b"<title>" in page else ["the page is missing"]
            told += [] if not encoding else [f"the page came as {encoding}, unasked"]
            return told
        finally:
            late.cancel()
            os.killpg(making.pid, signal.SIGINT)


def megabytes(*folders: Path) -> int:
    """What the folders take of the disk."""
    sizes = subprocess.run(["du", "-scm", *folders], capture_output=True, text=True, check=True).stdout
    return int(sizes.splitlines()[-1].split()[0])


def main() -> int:
    """Serve from a fresh clone; 1 if something is wrong."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "bethink"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), folder], check=True)
        found = served(folder, Path(scratch) / "data")
        installed = [path for path in (folder / ".venv", folder / "ui/node_modules") if path.exists()]
        size = megabytes(*installed)
        print(f"  installed: {size} MB of {MOST_MB}")
        if size > MOST_MB:
            found.append(f"{size} MB were installed, and {MOST_MB} are enough")
    for fault in found:
        print(f"make serve in a fresh clone: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
