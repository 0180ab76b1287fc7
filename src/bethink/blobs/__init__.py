"""Port: the contents of files, each under its owner and its file's id. `files` keeps the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path


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
        """A block in which nobody else, in any process, is in such a block of the owner's."""
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
