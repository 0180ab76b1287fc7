"""What is known of the vault beside its files: pages, where their parts stand, versions, contents.

The files are the truth: all of this follows them, and everything but the versions can be made again from
them. A `PageTable` has an owner's pages at hand in memory (`context`): whoever changes pages, in whichever
process, raises the vault's change number in the same commit, and who knows the number reads only what came
since.
"""

from __future__ import annotations

import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from bethink.store import Collection, Record
from bethink.vault.files.paths import folder_of

KIND: Final = "page"
"""The kind of a part's index item, as the strictest audience may see it."""
OWN_KIND: Final = "page_own"
"""The kind of the item that holds all of a part, where something of it is hidden from others."""

ASIDE: Final = ".original"
"""How the name ends of a file that was put aside; a second one's version stands behind it."""

By = Literal["person", "agent", "outside", "import", "mirror"]
"""Who changed a page; `outside` is a change that was found in the file."""
What = Literal["created", "written", "moved", "deleted", "vouched"]
Trouble = Literal["too_large", "directory_full", "vault_full", "not_utf8", "unreadable"]
"""Why a file is listed and not read."""

TROUBLES: Final[dict[Trouble, str]] = {
    "too_large": "it is larger than a page may be",
    "directory_full": "its folder is larger than a folder may be",
    "vault_full": "the vault is larger than it may be",
    "not_utf8": "it is not UTF-8 text",
    "unreadable": "this user may not read it",
}


@dataclass(frozen=True, slots=True)
class CurrentPage:
    """A page as its file is now.

    `path` is relative, POSIX, NFC and ends in `.md`; `version` is the hex SHA-256
    of the file's `size` bytes; `changed` is the file's time, microseconds UTC.
    `untrusted` says that a model wrote in it what may come from outside.
    """

    path: str
    text: str
    version: str
    size: int
    changed: int
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A page or a folder in a listing. `size` is in bytes, `changed` microseconds UTC; 0 for a folder.

    `trouble` says, in words, why a file is not read.
    """

    path: str
    is_folder: bool = False
    size: int = 0
    changed: int = 0
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a page. `before` and `after` are its versions; None where there is no page.

    `moved_from` is its path before a move. `undo` takes the change back; None where nothing changed.
    """

    path: str
    before: str | None
    after: str | None
    undo: str | None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class VaultState:
    """How a vault is. `troubles` are files and folders that are not read, by path, each with the reason."""

    pages: int
    bytes: int
    troubles: tuple[tuple[str, str], ...]


class PageRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one page; it keeps its id when the file is renamed.

    `there`, `gone` (deleted; its history stays) or `unread`, with its `trouble`.
    `change` counts the changes of the vault. `size`, `mtime` and `ctime` (ns) and `inode`
    are the file's when it was read; `sure` says that it cannot have changed since
    without one of them showing it. `parts` numbers the parts that were ever made.
    `aliases` are other names of the page; None for one that was last read before they were kept.
    What is `untrusted` stays so until its owner vouches for it.
    """

    path: str
    change: int
    state: Literal["there", "gone", "unread"] = "there"
    version: str = ""
    size: int = 0
    mtime: int = 0
    inode: int = 0
    ctime: int = 0
    sure: bool = False
    changed: int = 0
    trouble: Trouble | None = None
    parts: int = 0
    gone_at: int = 0
    untrusted: bool = False
    aliases: tuple[str, ...] | None = None


class PartPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where a part stands in its page's text, in characters; `line` counts from 1.

    `digest` is of what is searched of it, `kinds` are those of its index items.
    """

    id: str
    start: int
    end: int
    line: int
    headings: tuple[str, ...]
    digest: str
    kinds: tuple[str, ...]


class Places(Record, frozen=True, kw_only=True):
    """The parts of one page, under the page's id, in the content whose SHA-256 is `version`."""

    version: str
    places: tuple[PartPlace, ...] = ()


class PartRecord(Record, frozen=True, kw_only=True):
    """A part that is searched. Where it stands is told by its page's `Places`."""

    page: str


class PageVersion(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One change of a page. `content` is the SHA-256 of what it became, None where it was deleted.

    `before` is that of what it was, None where there was none; `was` its path
    before a move. `at` is microseconds UTC. What is `final` cannot be taken back any more.
    `untrusted` tells whether the page was, after it and, `was_untrusted`, before.
    """

    page: str
    at: int
    by: By
    what: What
    path: str
    content: str | None = None
    before: str | None = None
    was: str | None = None
    size: int = 0
    note: str = ""
    final: bool = False
    untrusted: bool = False
    was_untrusted: bool = False


class PageBytes(Record, frozen=True, kw_only=True):
    """The bytes of a page, once however often they come back, under their SHA-256; deflated (RFC 1950)."""

    body: bytes

    @classmethod
    def of(cls, version: str, body: bytes) -> PageBytes:
        """The record of these bytes."""
        return cls(id=version, body=zlib.compress(body, _LEVEL))

    @property
    def inflated(self) -> bytes:
        """What was kept."""
        return zlib.decompress(self.body)


_LEVEL: Final = 3
"""Text shrinks to two fifths, at some 60 MB a second; the best level saves a tenth at a fifth of that."""


class Meant(msgspec.Struct, frozen=True, array_like=True):
    """What is about to be written at a path, of which version, and by whom: see `Draft.announce`."""

    path: str
    version: str
    by: By
    note: str = ""
    untrusted: bool | None = None


class VaultRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One an owner. `change` is the last change's number; who knows pages of before `floor` reads all anew.

    `odd` are files and folders that cannot be pages, each with the reason; `looked_at` is when all
    files were last compared, microseconds UTC. `folder` is the id that the pages' folder has. `meant` is what
    is being written just now. `ignored` are kinds of defects that a check is to say nothing of.
    """

    change: int = 0
    floor: int = 0
    odd: tuple[tuple[str, str], ...] = ()
    looked_at: int = 0
    folder: str = ""
    meant: tuple[Meant, ...] = ()
    ignored: tuple[str, ...] = ()


ONE: Final = "vault"
VAULTS = Collection("vaults", VaultRecord, searchable=False)
PAGES = Collection("pages", PageRecord, ("change",), scans=(("change",),), searchable=False)
PLACES = Collection("page_places", Places, searchable=False)
PARTS = Collection("page_parts", PartRecord, ("page",), scans=(("page",),))
VERSIONS = Collection(
    "page_versions",
    PageVersion,
    ("page", "at", "content"),
    scans=(("page", "at"), ("at",), ("content",)),
    searchable=False,
)
CONTENTS = Collection("page_contents", PageBytes, searchable=False)


_LEFT: Final = 5_000
"""More moves than these between two looks of a page: it reads all anew when it is opened again."""


@dataclass(slots=True)
class PageTable:
    """The pages of one owner. `version` is that of the vault's record, 0 where there is none."""

    vault: VaultRecord = field(default_factory=lambda: VaultRecord(id=ONE))
    version: int = 0
    pages: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    gone: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    ids: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    by_version: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    bytes: int = 0
    folder_bytes: Counter[str] = field(default_factory=Counter[str])
    left: deque[tuple[int, str]] = field(default_factory=lambda: deque[tuple[int, str]](maxlen=_LEFT))
    """Paths that pages moved away from, each with the number of the change; for those who follow."""

    def put(self, record: PageRecord) -> None:
        """Take in what a page became."""
        old = self.ids.get(record.id)
        if old is not None and old.path != record.path and "gone" not in {old.state, record.state}:
            self.left.append((record.change, old.path))
        self.drop(record.id)
        self.ids[record.id] = record
        if record.state == "gone":
            self.gone[record.path] = record
            return
        self.pages[record.path] = record
        if record.state == "there":
            self.bytes += record.size
            self.folder_bytes[folder_of(record.path)] += record.size
            self.by_version.setdefault(record.version, set()).add(record.path)

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of the pages, with their paths; what two pages call themselves is the first one's."""
        found: dict[str, str] = {}
        for path in sorted(path for path, page in self.pages.items() if page.aliases):
            for alias in self.pages[path].aliases or ():
                found.setdefault(alias, path)
        return found

    def drop(self, id: str) -> None:
        """Know nothing of a page any more."""
        old = self.ids.pop(id, None)
        if old is None:
            return
        if old.state == "gone":
            if self.gone.get(old.path) is old:
                del self.gone[old.path]
            return
        if self.pages.get(old.path) is old:
            del self.pages[old.path]
        if old.state == "there":
            self.bytes -= old.size
            self.folder_bytes[folder_of(old.path)] -= old.size
            same = self.by_version[old.version]
            same.discard(old.path)
            if not same:
                del self.by_version[old.version]
