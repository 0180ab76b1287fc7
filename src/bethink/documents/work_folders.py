"""Folders for files that are needed for a moment, below the data directory: what is killed leaves them there.

Archives are unpacked and put together in them. Each is locked (flock(2)) while its process works, so that
another one can tell which are left over. All functions block.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def work_folder(below: Path) -> Generator[Path]:
    """A folder below another that goes with the block; `clear_left_over` removes it if its process is killed.

    Raises:
        OSError: it cannot be made.
    """
    below.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Nobody clears between its making and its lock.
    with _locked(below, fcntl.LOCK_SH):
        folder = Path(tempfile.mkdtemp(dir=below))
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def clear_left_over(below: Path) -> None:
    """Remove the folders of processes that have ended."""
    if not below.is_dir():
        return
    with _locked(below, fcntl.LOCK_EX):
        for folder in [
            Path(entry.path) for entry in os.scandir(below) if entry.is_dir(follow_symlinks=False)
        ]:
            with suppress(BlockingIOError, FileNotFoundError), _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
