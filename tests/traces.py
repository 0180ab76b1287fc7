"""What the files of a data directory still hold: read as bytes, so that no record's end hides anything."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def left_of(words: Iterable[str], directory: Path) -> list[str]:
    """The files in which one of the words stands, in any case, with the word.

    A server may run meanwhile: what it removes while the files are read is gone, and holds nothing.
    """
    files = (Path(folder, name) for folder, _, names in os.walk(directory) for name in names)
    found: list[str] = []
    for path in sorted(files):
        content = b""
        with suppress(FileNotFoundError):
            content = path.read_bytes().lower() if path.is_file() else content
        found += [f"{word} in {path.name}" for word in words if word.casefold().encode() in content]
    return found
