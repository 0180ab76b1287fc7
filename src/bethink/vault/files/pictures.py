"""Pictures and other files that lie beside the pages: neither searched nor kept in versions.

Of them pictures are shown.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bethink.errors import BadInput, StorageError, TooLarge
from bethink.vault.files.paths import checked_folder, folder_of, is_page

if TYPE_CHECKING:
    from bethink.vault.files.folder import Folder

MAX_BYTES: Final = 20_000_000
_KINDS: Final[tuple[tuple[bytes, int, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"ftypavif", 4, "image/avif"),
)
"""First bytes, where they stand, and the kind; SVG is not shown, since it can hold a script."""


class Picture(NamedTuple):
    """A picture and its kind."""

    body: bytes
    media_type: str


def picture_in(folder: Folder, source: str, page: str) -> Picture | None:
    """The picture that a page names: beside it, else from the top of the vault; None where there is none."""
    for base in dict.fromkeys((folder_of(page), "")):
        path = posixpath.normpath(posixpath.join(base, source.lstrip("/")))
        try:
            # A picture's path is as safe as a folder's.
            found = folder.read(checked_folder(path), MAX_BYTES)
        except (BadInput, TooLarge, StorageError):
            continue
        if found is not None and (kind := _kind(found.body)) is not None:
            return Picture(found.body, kind)
    return None


def remove_attached(root: Path) -> None:
    """Remove the files that imports laid beside their pages; links are not followed."""
    if root.is_symlink():
        return
    for folder, _, names in os.walk(root):
        for name in names:
            if not is_page(name) and not name.startswith("."):
                with suppress(OSError):
                    (Path(folder) / name).unlink()


def _kind(body: bytes) -> str | None:
    """What the bytes are, if a browser may show them."""
    return next((kind for start, at, kind in _KINDS if body.startswith(start, at)), None)
