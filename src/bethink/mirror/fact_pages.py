"""Pages on which facts' lines are written: each once. `passing` fills them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput
from bethink.mirror.diff import FOLDER
from bethink.mirror.lines import noted, rendered, shown_in
from bethink.vault.files.paths import ENDING, checked_new
from bethink.vault.markdown.format import new_line_of
from bethink.vault.markdown.lines import BOM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.mirror.diff import Seen
    from bethink.mirror.lines import Shown
    from bethink.mirror.records import Line

_ROOM: Final = 32_000
"""Bytes of a page of facts before another is begun: pages are read, and their versions kept, whole."""
_NUMBER: Final = re.compile(r"(?P<category>.+?)(?:-\d+)?")
_UNFIT: Final = re.compile(r"[^\w-]+")
_NAME_CHARS: Final = 60
_PROBE: Final = "fact-aaaaaaaaaa"


@dataclass(slots=True)
class Sheet:
    """What a page becomes. `lines` are true once it is written."""

    seen: Seen
    lines: list[Line] = field(default_factory=list["Line"])
    _edits: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    _more: list[str] = field(default_factory=list[str])

    @property
    def is_changed(self) -> bool:
        """Whether anything is to be written."""
        return bool(self._edits or self._more)

    def say(self, shown: Shown, content: str, id: str) -> None:
        """Have a line say this, under this id."""
        self._edits.append((shown.text, shown.stop, _head(self.seen.text, shown) + rendered(content, id)))

    def mark(self, shown: Shown, id: str) -> None:
        """Give a line an id, and leave its words as they are written."""
        stop = shown.stop if not shown.id else _before_id(self.seen.text, shown)
        written = self.seen.text[shown.text : stop].rstrip(" \t")
        self._edits.append((shown.text, shown.stop, f"{written} ^{id}"))

    def remove(self, shown: Shown) -> None:
        """Take out a line, with its ending."""
        self._edits.append((*_whole(self.seen.text, shown), ""))

    def note(self, below: Shown, content: str, id: str) -> None:
        """Have what the memory says stand below a line."""
        text = self.seen.text
        indent = text[below.start : below.text]
        outer = indent[: len(indent) - len(indent.lstrip(" \t>"))]
        line = f"{new_line_of(text)}{outer}  - {noted(content, id)}"
        self._edits.append((below.stop, below.stop, line))

    def renote(self, note: Shown, content: str, id: str) -> None:
        """Have the note below a line say this."""
        self._edits.append((note.text, note.stop, noted(content, id)))

    def unnote(self, note: Shown, content: str, id: str) -> None:
        """Put the line itself in the place of the note that was below it."""
        start, _ = _whole(self.seen.text, note)
        self._edits.append((start, note.stop, f"- {rendered(content, id)}"))

    def add(self, content: str, id: str) -> None:
        """Have a line more at the end."""
        self._more.append(f"- {rendered(content, id)}")

    def text(self) -> str:
        """The page as it becomes."""
        text = self.seen.text
        for start, stop, by in sorted(self._edits, reverse=True):
            text = text[:start] + by + text[stop:]
        if not self._more:
            return text
        if not text.strip(f"{BOM} \t\r\n"):
            text = f"{text.rstrip()}{_title(self.seen.path)}"
        ending = new_line_of(text)
        if not text.endswith(("\n", "\r")):
            text += ending
        return text + "".join(f"{line}{ending}" for line in self._more)


@dataclass(slots=True)
class Room:
    """On which page a fact of a category gets its line. `sizes` are those of all pages, in bytes."""

    sizes: dict[str, int]
    most: int

    @classmethod
    def of(cls, sizes: Mapping[str, int], most: int) -> Room:
        """Pages are filled up to `most` bytes, or to what is handy."""
        return cls({**sizes}, min(_ROOM, most * 9 // 10))

    def place(self, category: str, content: str) -> str:
        """The path of the last page of the category, or of a new one where that is full."""
        stem = stem_of(category)
        size = len(content.encode("utf-8", "replace")) + 24
        number = 1
        while _path(stem, number + 1) in self.sizes:
            number += 1
        path = _path(stem, number)
        if self.sizes.get(path, 0) and self.sizes[path] + size > self.most:
            path = _path(stem, number + 1)
        self.sizes[path] = self.sizes.get(path, 0) + size
        return path

    def close(self, path: str) -> None:
        """Put no more lines on a page."""
        self.sizes[path] = self.most


def stem_of(category: str) -> str:
    """What the pages of a category are called."""
    stem = _UNFIT.sub("_", category.casefold()).strip("_-")[:_NAME_CHARS] or "general"
    try:
        return checked_new(_path(stem, 1))[len(FOLDER) : -len(ENDING)]
    except BadInput:
        return "general"


def category_of(path: str) -> str:
    """The category of a new line of a page."""
    found = _NUMBER.fullmatch(path.rpartition("/")[2].removesuffix(ENDING))
    return "general" if found is None else found["category"]


def takes_lines(seen: Seen) -> bool:
    """Whether a line at the end of a page is one: no comment or fence is open there."""
    if seen.odd:
        return False
    sheet = Sheet(seen)
    sheet.add("x", _PROBE)
    return any(one.id == _PROBE for one in shown_in(sheet.text())[0])


def _path(stem: str, number: int) -> str:
    return f"{FOLDER}{stem}{'' if number == 1 else f'-{number}'}{ENDING}"


def _title(path: str) -> str:
    name = category_of(path).replace("_", " ")
    return f"# {name[:1].upper()}{name[1:]}\n\n"


def _head(text: str, shown: Shown) -> str:
    """What stands between the mark of an item and its words: a box to tick is none of them."""
    return "" if shown.text > shown.start and text[shown.text - 1] in " \t>" else "- "


def _before_id(text: str, shown: Shown) -> int:
    return text.rindex(f"^{shown.id}", shown.text, shown.stop)


def _whole(text: str, shown: Shown) -> tuple[int, int]:
    stop = shown.stop
    if text.startswith("\r\n", stop):
        return shown.start, stop + 2
    return shown.start, stop + 1 if text[stop : stop + 1] in {"\n", "\r"} else stop
