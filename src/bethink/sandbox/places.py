"""What of the host confined code may read: the interpreter, its libraries, and nothing of anybody's.

The adapters open exactly these; `probe` refuses a data directory among them.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from pathlib import Path
from typing import Final

LIBRARIES: Final = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_FILES: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_PACKAGE_FOLDERS: Final = frozenset({"site-packages", "dist-packages"})


@functools.cache
def interpreter() -> Path:
    """The interpreter itself, behind every link and virtual environment."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@functools.cache
def packages() -> tuple[Path, ...]:
    """Where packages are installed, in the order in which they are looked for."""
    return tuple(
        path for entry in sys.path if (path := Path(entry)).name in _PACKAGE_FOLDERS and path.is_dir()
    )


@functools.cache
def readable(*, with_packages: bool) -> tuple[Path, ...]:
    """Files and directories that code reads, none of them inside another."""
    variables = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    standard = [Path(sysconfig.get_path(name, vars=variables)) for name in ("stdlib", "platstdlib")]
    shared = sorted(Path(sys.base_exec_prefix, "lib").glob("libpython*.so*"))
    wanted = [
        interpreter(),
        *standard,
        *shared,
        *map(Path, (*LIBRARIES, *_FILES)),
        *(packages() if with_packages else ()),
    ]
    there = [path for path in dict.fromkeys(wanted) if path.exists() and not path.is_symlink()]
    there += [path.resolve() for path in shared if path.is_symlink()]
    return tuple(path for path in dict.fromkeys(there) if not any(other in path.parents for other in there))


def encloses(directory: Path) -> Path | None:
    """The readable place that holds `directory`; None where it is out of reach."""
    whole = directory.resolve()
    for place in readable(with_packages=True):
        if place == whole or place in whole.parents:
            return place
    return None
