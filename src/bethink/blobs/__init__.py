"""Port: the contents of files, each under its owner and its file's id. `files` keeps the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class BlobsState:
    """How the place of contents is, in sentences.

    `fault` says what does not work and what to do, `kept` what stays there of contents that were deleted.
    """

    fault: str | None = None
    kept: str | None = None


class Blobs(Protocol):
    """Contents of files. Ids are those of records: letters, digits and hyphens."""

    async def write(self, owner: str, id: str, content: bytes) -> None:
        """Keep a content; durable when it returns.

        Raises:
            DiskFull: there is no room; nothing was written.
            StorageError: it cannot be written.
        """
        ...

    async def keep(self, owner: str, id: str, content: bytes | Path) -> None:
        """Keep a content that may lie in a file of this machine.

        Raises:
            DiskFull: there is no room; nothing was written.
            StorageError: it cannot be read or written.
        """
        ...

    def alone(self, owner: str) -> AbstractAsyncContextManager[None]:
        """A block in which nobody else, in any process, is in such a block of the owner's.

        Raises:
            Busy: somebody else still is, after minutes; or nobody knows any more that this process lives.
        """
        ...

    def area(self, name: str) -> Blobs:
        """Contents of another kind, whose ids are their own."""
        ...

    async def opened(self, owner: str, id: str) -> Path:
        """Where the content is read, and never changed, until it is deleted; there may be none.

        Raises:
            StorageError: it cannot be read.
        """
        ...

    async def ids(self, owner: str) -> Sequence[str]:
        """The ids of all contents of the owner, those too that are only half written."""
        ...

    async def clean(self, owner: str) -> None:
        """Remove what writes that were cut short have left, and nothing that any process is writing.

        Raises:
            StorageError: one cannot be removed.
        """
        ...

    async def delete(self, owner: str, ids: Iterable[str]) -> None:
        """Remove contents, half written ones too; nothing happens for those that are not there.

        Raises:
            StorageError: one cannot be removed.
        """
        ...

    async def state(self) -> BlobsState:
        """How the place is now, or was a moment ago; a fault is no error here."""
        ...

    async def used(self) -> tuple[int, int]:
        """How many contents all owners have, of all kinds, and how many bytes they take. Looks at all.

        Raises:
            StorageError: they cannot be counted.
        """
        ...
