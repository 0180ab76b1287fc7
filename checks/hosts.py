"""No committed file names a package registry's host; run by `make check`.

Lock files are plain names, versions and hashes, so that everybody installs
from the registry or the mirror that their own machine is set up for.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOSTS = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|npmmirror\.com|yarnpkg\.com|jsr\.io"
    r"|deb\.debian\.org|crates\.io|proxy\.golang\.org|conda\.anaconda\.org"
    r"|https?://(?:registry|files|mirror|mirrors|deb)\.[\w.-]+|https?://\S+/simple(?:/|\b)"
    r"|--(?:extra-)?index-url|--find-links"
)
OWN = {"checks/hosts.py"}


def named_hosts(text: str) -> list[tuple[int, str]]:
    """Line numbers, from 1, and what names a host or an index in them."""
    lines = enumerate(text.splitlines(), start=1)
    return [(number, found[0]) for number, line in lines if (found := HOSTS.search(line))]


def main() -> int:
    """Prints every place that names a registry's host; 1 if there is one."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    faults = [
        f"{name}:{number}: {host}"
        for name in listed.stdout.split("\0")
        if name and name not in OWN and (path := ROOT / name).is_file()
        for number, host in named_hosts(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    print("\n".join(faults) or "none is named")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
