"""Files of which one finds the whole or nothing, whenever the machine loses its power."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path


def sync(path: Path) -> None:
    """Have what a file says, or which names a folder has, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path, partial: Path) -> Generator[BinaryIO]:
    """A file for its owner alone, which takes the place of `path` when the block ends without an error.

    It is `partial` until then, on the same disk. The name is on the disk once its folder is synced.
    """
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
