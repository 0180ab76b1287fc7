"""What of the host confined code may read: the interpreter, its libraries, and nothing of anybody's.

The adapters open exactly these; `probe` refuses a data directory among them.
"""

from __future__ import annotations

import functools
import itertools
import sys
import sysconfig
from pathlib import Path
from typing import Final

import bethink

LIBRARIES: Final = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_FILES: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
DEVICES: Final = ("/dev/null", "/dev/random", "/dev/urandom")
"""Not `/dev/zero`: what is mapped of it is memory that nobody counts."""
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
def own_modules() -> Path:
    """Where Bethink's own modules lie."""
    return Path(bethink.__file__).parent


@functools.cache
def readable(*, with_packages: bool, with_own: bool = False) -> tuple[Path, ...]:
    """Files and directories that code reads, none of them inside another."""
    variables = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    standard = [Path(sysconfig.get_path(name, vars=variables)) for name in ("stdlib", "platstdlib")]
    shared = sorted(Path(sys.base_exec_prefix, "lib").glob("libpython*.so*"))
    wanted = [interpreter(), *standard, *shared, *map(Path, _FILES), *(packages() if with_packages else ())]
    wanted += [own_modules()] if with_own else []
    there = [path for path in map(Path, LIBRARIES) if path.is_dir() and not path.is_symlink()]
    for path in wanted:
        # Under both names if it is reached by a link: the interpreter looks beside where it really is.
        there += [path, path.resolve()] if path.exists() else []
    return tuple(path for path in dict.fromkeys(there) if not any(other in path.parents for other in there))


@functools.cache
def free(place: str) -> str:
    """`place`, with a number behind it where something that code reads lies there, in it or above it."""
    names = itertools.chain([place], (f"{place}-{number}" for number in itertools.count(2)))
    return next(name for name in names if not _is_taken(Path(name)))


def _is_taken(place: Path) -> bool:
    fixed = [*readable(with_packages=True, with_own=True), *map(Path, (*LIBRARIES, *DEVICES))]
    return any(place == other or place in other.parents or other in place.parents for other in fixed)


def encloses(directory: Path) -> Path | None:
    """The readable place that holds `directory`; None where it is out of reach."""
    whole = directory.resolve()
    for place in readable(with_packages=True, with_own=True):
        if place == whole or place in whole.parents:
            return place
    return None
