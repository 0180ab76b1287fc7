"""Which paths a vault has: relative, POSIX, NFC, `.md`, and safe on every system. Pure.

Files that others made may have names that Bethink would not give: what is only
unwise is read all the same, what is unsafe is not.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from bethink.errors import BadInput

ENDING: Final = ".md"
MAX_NAME_BYTES: Final = 200
"""Of a new name: what encrypted folders and archives still take, with room for a copy's suffix."""
_MAX_READ_NAME_BYTES: Final = 255
_MAX_PATH_BYTES: Final = 1_000
_MAX_DEPTH: Final = 20
_SHOWN: Final = 100

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line ends and halves of characters."""
_UNWISE: Final = re.compile(r"[<>:\"\\|?*\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""What Windows cannot name (learn.microsoft.com, "Naming files"), and marks that hide or turn text around."""
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names of devices on Windows, with any ending."""
_CONFLICT_COPY: Final = re.compile(
    r"\.sync-conflict-\d{8}-\d{6}|\([^()]*conflicted copy[^()]*\)", re.IGNORECASE
)


def checked(path: str) -> str:
    """The path of a page in NFC.

    Raises:
        BadInput: it leads out of the vault, is hidden, or is no Markdown file.
    """
    known = _checked(path)
    if not known.endswith(ENDING):
        raise _refused(path, f"a page ends in {ENDING}")
    return known


def checked_new(path: str) -> str:
    """The path of a page to be made: one that every system can keep.

    Raises:
        BadInput: see `checked`; or it is a name that some system cannot keep.
    """
    known = checked(path)
    _check_wise(known, path)
    return known


def checked_folder(folder: str, *, new: bool = False) -> str:
    """The path of a folder in NFC, "" for the vault itself; a slash at its end is left out.

    Raises:
        BadInput: see `checked` and `checked_new`.
    """
    if folder in {"", ".", "/"}:
        return ""
    known = _checked(folder.rstrip("/"))
    if new:
        _check_wise(known, folder)
    return known


def is_page(name: str) -> bool:
    """Whether a file of this name is meant to be a page."""
    return name.endswith(ENDING) and not name.startswith(".")


def fault_of(path: str) -> str | None:
    """Why a file that is there cannot be a page, in words."""
    try:
        _checked(path)
    except BadInput as error:
        return error.message
    return None


def is_conflict_copy(path: str) -> bool:
    """Whether a client that brings files from elsewhere put it beside another: its older state, or a rival.

    Source: the documents of Syncthing ("conflict files"), Dropbox and Nextcloud ("conflicted copy").
    """
    return _CONFLICT_COPY.search(path.rpartition("/")[2]) is not None


def folder_of(path: str) -> str:
    """The folder of a page, "" for the vault itself."""
    return path.rpartition("/")[0]


def twin_key(name: str) -> str:
    """Equal for names that some system takes for one: they differ in case or in Unicode's forms only."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def normal(name: str) -> str:
    """The name in NFC, in which paths are compared."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _checked(path: str) -> str:
    if _UNSAFE.search(path):
        raise _refused(path, "it contains a control character")
    known = normal(path)
    parts = known.split("/")
    if path.startswith("/"):
        raise _refused(path, "give it relative to the vault, without a slash at its beginning")
    if any(part in {"", ".", ".."} for part in parts):
        raise _refused(path, "it must not hold `.`, `..` or an empty name")
    if any(part.startswith(".") for part in parts):
        raise _refused(path, "hidden files and folders are ignored")
    if len(parts) > _MAX_DEPTH or len(known.encode()) > _MAX_PATH_BYTES:
        raise _refused(path, "it is too long")
    if any(len(part.encode()) > _MAX_READ_NAME_BYTES for part in parts):
        raise _refused(path, "a name in it is too long")
    return known


def _check_wise(known: str, path: str) -> None:
    for part in known.split("/"):
        if (found := _UNWISE.search(part)) is not None:
            raise _refused(path, f"{found.group()!r} is in a name, which does not work on every system")
        if part != part.strip(" ") or part.endswith("."):
            raise _refused(path, "a name begins or ends with a space, or ends with a dot")
        if _RESERVED.fullmatch(part):
            raise _refused(path, f"{part!r} is the name of a device on Windows")
        if len(part.encode()) > MAX_NAME_BYTES:
            raise _refused(path, f"a name in it is longer than {MAX_NAME_BYTES} bytes")


def _refused(path: str, why: str) -> BadInput:
    shown = path if len(path) <= _SHOWN else f"{path[: _SHOWN - 1]}…"
    return BadInput(f"{shown!r} cannot be a path in the vault: {why}.")


def folders_of(path: str) -> list[str]:
    """The folders in which something lies, the nearest last."""
    names = path.split("/")[:-1]
    return ["/".join(names[:count]) for count in range(1, len(names) + 1)]
