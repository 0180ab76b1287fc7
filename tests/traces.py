"""What the files of a data directory still hold: read as bytes, so that no record's end hides anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def left_of(words: Iterable[str], directory: Path) -> list[str]:
    """The files in which one of the words stands, in any case, with the word."""
    return [
        f"{word} in {path.name}"
        for path in sorted(directory.rglob("*"))
        if path.is_file()
        for word in words
        if word.casefold().encode() in path.read_bytes().lower()
    ]
