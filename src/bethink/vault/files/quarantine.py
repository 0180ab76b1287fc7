"""Files that cannot be pages, kept beside them by a name that is no page's. Blocking: `service` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bethink.errors import Conflict
from bethink.vault.files.folder import CHANGED, version_of
from bethink.vault.files.records import ASIDE

if TYPE_CHECKING:
    from bethink.vault.files.folder import Folder

_MOST_BYTES: Final = 1_000_000_000
"""No file that is repaired has more: see `repair`."""


def kept_beside(folder: Folder, path: str, version: str) -> str:
    """Where a copy of the file lies, from now on or already.

    Raises:
        Conflict: it is of another version, or not there any more.
    """
    content = folder.read(path, _MOST_BYTES)
    if content is None or version_of(content.body) != version:
        raise Conflict(CHANGED.format(path=path))
    aside = f"{path}{ASIDE}"
    found = folder.read(aside, _MOST_BYTES)
    if found is not None and found.body != content.body:
        aside = f"{aside}-{version[:8]}"
        found = folder.read(aside, _MOST_BYTES)
    if found is None:
        folder.write(aside, content.body, before=None)
    return aside


def brought_back(folder: Folder, path: str, aside: str) -> None:
    """Have the file be only where it was before `kept_beside`.

    Raises:
        Conflict: there is another one.
    """
    kept, now = folder.read(aside, _MOST_BYTES), folder.read(path, _MOST_BYTES)
    if kept is not None and now is not None and kept.body == now.body:
        folder.delete(aside, before=version_of(kept.body))
    else:
        folder.rename(aside, path.rpartition("/")[2])
