"""What an export turns out to hold: conversations, pages, and what of it could not be taken.

Readers of exports yield these, name pages by `file_name`, `snake` and `UniquePaths`, and read foreign JSON
by the functions at the end, which never raise; `conversations` and `pages` take the items in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from bethink.clock import time_of
from bethink.errors import BadInput
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
        spelled = ""
        for part in folder.split("/"):
            above = f"{spelled}/{part}" if spelled else part
            spelled = self._folders.setdefault(twin_key(above), above)
        path = f"{spelled}{slash}{last}"
        stem, dot, ending = path.rpartition(".")
        stem, ending = (stem, dot + ending) if stem and "/" not in ending else (path, "")
        number, name = 1, path
        while (folded := twin_key(name)) in self._taken:
            number += 1
            name = f"{stem}_{number}{ending}"
        self._taken.add(folded)
        return name


FULL_PAGE_BYTES = 900_000
"""Of a page that is made here: a little less than a file of the vault may have."""
_CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
Kind = Literal["talk", "page"]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that belongs to a message: a member of the export, or a `text` that the export tells of it."""

    key: str
    name: str
    media_type: str = "application/octet-stream"
    member: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """What was said. What is `foreign` in the owner's own message was pasted: anybody may have written it."""

    text: str
    reasoning: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """A call of a tool with what came of it; `arguments` is JSON, `result` None if the export has none."""

    name: str
    arguments: str
    result: str | None
    failed: bool = False
    files: tuple[ExportedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """One message of the export: `parent` is the key of the one before it, `at` microseconds UTC."""

    key: str
    parent: str | None
    role: Literal["user", "assistant"]
    pieces: tuple[TextPart | ToolExchange, ...]
    at: int | None = None
    files: tuple[ExportedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """A conversation. Its turns come parents first; `current` is the key of the one that was looked at last.

    `key` is the source's own id, `lost` counts what of it could not be read.
    """

    key: str
    title: str
    messages: tuple[ExportedMessage, ...]
    created_at: int | None = None
    updated_at: int | None = None
    current: str | None = None
    archived: bool = False
    lost: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def substance(self) -> object:
        """Equal for two that hold the same messages, whatever they are called."""
        return [(turn.key, turn.parent, turn.role, turn.pieces) for turn in self.messages]

    @property
    def words(self) -> object:
        """Equal for two that say the same, though their ids differ."""
        return [(turn.role, turn.at, turn.pieces) for turn in self.messages]

    def line(self) -> list[ExportedMessage]:
        """The turns that were looked at last, first to last; all of them where nothing names the last."""
        by_key = {turn.key: turn for turn in self.messages}
        found: list[ExportedMessage] = []
        here = self.current if self.current in by_key else (self.messages[-1].key if self.messages else None)
        while here is not None and len(found) < len(by_key):
            found.append(by_key[here])
            here = by_key[here].parent
        return found[::-1]


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """A page for the vault, at its path there. `key` is the source's own id or path, `at` its last change.

    What is `untrusted` holds what an assistant said, who may have had it from anywhere.
    """

    key: str
    path: str
    title: str
    text: str
    at: int | None = None
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not taken: its name, and why, as a sentence. `count` things that are alike are told once.

    `whole` says that a conversation or page is left, and not a part of one.
    """

    name: str
    why: str
    is_fault: bool = True
    count: int = 1
    whole: Kind | None = None


@dataclass(frozen=True, slots=True)
class ExportedAttachment:
    """A file that lies beside the pages of an export: the member, and its path in the vault."""

    key: str
    path: str
    member: str


Item = ExportedConversation | ExportedPage | ExportedAttachment | Skipped


def mapping(value: object) -> dict[str, object]:
    """An object's members; none if it is no object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """A list's values; none if it is no list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """A text fit to be kept: without lone surrogates and control characters; "" for what is none."""
    return clean(value) if isinstance(value, str) else ""


def clean(value: str) -> str:
    """The text without what no file and no database keeps."""
    if value.isascii() and value.isprintable():
        return value
    tidy = value.replace("\r\n", "\n").translate(_CONTROLS)
    return tidy if tidy.isascii() else tidy.encode("utf-8", "ignore").decode()


def moment(value: object) -> int | None:
    """Microseconds UTC of a time as exports write it; None if there is none, or one before 1970."""
    if value is None or value == "":
        return None
    try:
        us = time_of(value)
    except BadInput:
        return None
    return us if us > 0 else None


def one_line(value: str, limit: int = 200) -> str:
    """The text folded into one line of at most `limit` characters."""
    line = " ".join(value.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def link_label(value: str) -> str:
    """A text as what a link shows."""
    return " ".join(value.replace("[", "(").replace("]", ")").replace("|", "/").split())


def fenced(content: str, language: str = "") -> str:
    """A text as a block of code, whatever it holds."""
    fence = "```"
    while fence in content:
        fence += "`"
    return f"{fence}{language}\n{content.strip(chr(10))}\n{fence}"
