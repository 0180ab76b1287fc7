"""Contents of files from one place to another: `restore` and `bethink migrate` copy and prove them.

The source stays as it is. In the target nothing is overwritten, and what is there already and alike stays:
what was cut short is gone on with by doing it again. Calls block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from bethink.backups.repository import translating
from bethink.blobs.bucket import is_content
from bethink.blobs.directory import PARTIAL
from bethink.durable_files import replacing
from bethink.errors import BadInput, StorageError

if TYPE_CHECKING:
    from pathlib import Path

_PART_BYTES: Final = 1 << 20


class Place(Protocol):
    """Where contents lie by their keys: paths below the `files` of a data directory, or in a bucket."""

    @property
    def name(self) -> str:
        """How a person calls it."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """How many bytes each content has."""
        ...

    def read(self, key: str) -> Iterator[bytes]:
        """What a content holds."""
        ...

    def write(self, key: str, parts: Iterable[bytes]) -> None:
        """Keep a content, as a whole or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class FilesFolder:
    """The `files` of a data directory."""

    root: Path

    @property
    def name(self) -> str:
        """The path."""
        return str(self.root)

    def sizes(self) -> Mapping[str, int]:
        """How many bytes each content has."""
        with translating(self.root):
            found = ((path, path.relative_to(self.root).as_posix()) for path in self.root.rglob("*"))
            return {key: path.stat().st_size for path, key in found if is_content(key) and path.is_file()}

    def read(self, key: str) -> Iterator[bytes]:
        """What a content holds."""
        with translating(self.root), (self.root / key).open("rb") as file:
            while part := file.read(_PART_BYTES):
                yield part

    def write(self, key: str, parts: Iterable[bytes]) -> None:
        """Keep a content; durable when it returns."""
        target = self.root / key
        with translating(self.root):
            for folder in (self.root, target.parent.parent, target.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(target, target.with_name(f"{target.name}{PARTIAL}")) as file:
                file.writelines(parts)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: how many contents and bytes, and one digest of all of it."""

    count: int
    bytes: int
    digest: str


def copy_contents(
    source: Place, target: Place, *, check: Callable[[], None], tell: Callable[[int, int], None]
) -> Copied:
    """Have the target hold all contents of the source, and prove it by reading both.

    `check` ends the work by an error if nobody waits for it any more; `tell` hears how many of how many are
    there.

    Raises:
        BadInput: the target has something else under a name of the source; nothing was written.
        StorageError: a side cannot be read or written, or changed meanwhile: do it again.
    """
    sizes, there = source.sizes(), target.sizes()
    proofs: dict[str, str] = {}
    for key in sorted(sizes.keys() & there.keys()):
        check()
        proofs[key] = _digest(source.read(key))
        if sizes[key] != there[key] or proofs[key] != _digest(target.read(key)):
            raise BadInput(
                f"{target.name} has other contents than {source.name} under the same names ({key}): nothing "
                "was written. Take an empty place."
            )
    for key in sorted(sizes.keys() - there.keys()):
        check()
        made = hashlib.sha256()
        target.write(key, _hashing(source.read(key), made.update))
        proofs[key] = made.hexdigest()
        if _digest(target.read(key)) != proofs[key]:
            raise StorageError(f"{target.name} does not hold {key} as it was written: do it again.")
        tell(len(proofs), len(sizes))
    if target.sizes().keys() < sizes.keys() or source.sizes() != sizes:
        raise StorageError(f"{source.name} changed meanwhile: stop Bethink, then do it again.")
    whole = hashlib.sha256("".join(f"{key} {proofs[key]}\n" for key in sorted(proofs)).encode())
    return Copied(len(proofs), sum(sizes.values()), whole.hexdigest())


def _digest(parts: Iterable[bytes]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part)
    return made.hexdigest()


def _hashing(parts: Iterable[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for part in parts:
        update(part)
        yield part
