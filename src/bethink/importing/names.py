"""Names for pages: readable, fit for every system, and no two alike. The readers of exports call it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from bethink.vault.files.paths import twin_key

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f/\\:*?\"<>|#^\[\]\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
"""What no file is called, and what a wikilink cannot name."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_BETWEEN = re.compile(r"[\W_]+")
_MAX_CHARS, _MAX_BYTES = 80, 180


def file_name(title: str) -> str:
    """A title as the name of a file or folder, without an ending; it stays as it is where it can."""
    name = unicodedata.normalize("NFC", _UNFIT.sub(" ", title))
    name = _cut(" ".join(name.split()).strip(". "))
    if _RESERVED.fullmatch(name):
        name += "_"
    return name or "untitled"


def snake(title: str) -> str:
    """A title in small letters with underscores, as names of pages are written here."""
    name = _BETWEEN.sub("_", unicodedata.normalize("NFC", title.casefold())).strip("_")
    return file_name(_cut(name).strip("_"))


def _cut(name: str) -> str:
    short = name[:_MAX_CHARS]
    while len(short.encode()) > _MAX_BYTES:
        short = short[:-1]
    return short.strip(". ")


@dataclass(slots=True)
class UniquePaths:
    """Paths that are taken, whatever their case. A folder is written as it was the first time."""

    _taken: set[str] = field(default_factory=set[str])
    _folders: dict[str, str] = field(default_factory=dict[str, str])

    def free(self, path: str) -> str:
        """The path, or one like it that nothing has yet; it is taken from now on."""
        folder, slash, last = path.rpartition("/")
        path = f"{self._spelled(folder)}{slash}{last}"
        stem, ending = (path[:-3], ".md") if path.endswith(".md") else (path, "")
        number, name = 1, path
        while (folded := twin_key(name)) in self._taken:
            number += 1
            name = f"{stem}_{number}{ending}"
        self._taken.add(folded)
        return name

    def _spelled(self, folder: str) -> str:
        spelled = ""
        for part in folder.split("/"):
            wanted = f"{spelled}/{part}" if spelled else part
            spelled = self._folders.setdefault(twin_key(wanted), wanted)
        return spelled
