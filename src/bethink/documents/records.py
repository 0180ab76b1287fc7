"""What is kept of documents: their names and versions, what their contents say, passage by passage.

A `Document` is a name and a place; a `Content` is what was read, once for the same bytes however many
documents have them. The pages of a content are the truth of what it says: passages are spans of them.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from bethink.store import Collection, Record

KIND: Final = "passage"
"""The kind of a passage's index item."""

Stage = Literal["waiting", "reading", "indexing", "ready", "failed", "cancelled"]
"""How far a content is. It ends as one of the last three; `ready` is searched."""

STAGES: Final[tuple[Stage, ...]] = ("waiting", "reading", "indexing", "ready", "failed", "cancelled")
WORKING: Final[tuple[Stage, ...]] = ("waiting", "reading", "indexing")


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a document came from; `place` is its address, its path, or the id of a text."""

    kind: Literal["upload", "url", "folder", "text", "import"] = "upload"
    place: str = ""


class DocumentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One content of a document, from when on it was, microseconds UTC."""

    content: str
    at: int


class Document(Record, frozen=True, kw_only=True):
    """A document. `content` is what it says now; `pending` is read meanwhile, and takes its place when ready.

    `versions` are those of before and the current one, the oldest first. `folder` is the id of the watched
    folder whose file it is. Times are microseconds UTC.
    """

    name: str
    content: str
    pending: str | None = None
    versions: tuple[DocumentVersion, ...] = ()
    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    origin: Origin = msgspec.field(default_factory=Origin)
    folder: str | None = None
    created_at: int
    updated_at: int

    @property
    def newest(self) -> str:
        """The content that it has, or will have when that was read."""
        return self.pending or self.content


class Content(Record, frozen=True, kw_only=True):
    """What was read of a file: `id` is the hex SHA-256 of its bytes, `name` and `media_type` how it came.

    `kind` is its format, `note` what of it could not be read, `error` why nothing could. `done` of its
    `pages` are read, `passages` counts those that are searched. Without an `original` its bytes are not
    kept: it came as text, or from an archive, or a part of it was forgotten.
    """

    name: str
    media_type: str
    size: int
    stage: Stage = "waiting"
    kind: str = ""
    title: str = ""
    pages: int = 0
    done: int = 0
    passages: int = 0
    note: str = ""
    error: str = ""
    original: bool = True
    is_cut: bool = False
    revision: int = 0
    at: int

    @property
    def is_read(self) -> bool:
        """Whether all its pages are kept."""
        return 0 < self.pages == self.done

    @property
    def is_whole(self) -> bool:
        """Whether its bytes are kept as they came."""
        return self.original and not self.is_cut

    def restaged(self, stage: Stage, **fields: object) -> Content:
        """The same at another stage; whoever reads it stops."""
        fields = {"stage": stage, "error": "", "revision": self.revision + 1} | fields
        return msgspec.structs.replace(self, **fields)


class ForgottenFile(Record, frozen=True, kw_only=True):
    """A file a part of which was forgotten, or all of it: `id` is the keyed digest of its content's id."""

    at: int


class Use(Record, frozen=True, kw_only=True):
    """That a document has, or had, a content."""

    content: str
    document: str


class PageText(Record, frozen=True, kw_only=True):
    """What a page of a content says, as Markdown; `label` names it where it has a name."""

    content: str
    number: int
    text: str
    label: str = ""


class Passage(Record, frozen=True, kw_only=True):
    """A part of a page: characters `begin` to `end` of its text, below a `heading`."""

    content: str
    number: int
    page: int
    begin: int
    end: int
    heading: str = ""


class WatchedFolder(Record, frozen=True, kw_only=True):
    """A folder of this machine whose files are documents, in a collection if one is named.

    Only files with one of these `extensions` (with a dot, lower case) if any are named. It is not watched
    while it is `paused`. `is_missing` since it was not there when it was looked at last; `note` says what
    of it is left out. Times are microseconds UTC.
    """

    path: str
    collection: str | None = None
    extensions: tuple[str, ...] = ()
    paused: bool = False
    is_missing: bool = False
    note: str = ""
    synced_at: int | None = None
    created_at: int


class FolderFile(Record, frozen=True, kw_only=True):
    """A file of a watched folder as it was read last; `id` is a keyed digest of its path.

    An unchanged file has the same size, time and inode. Without a `document` it could not be read: `error`
    says why, or it was forgotten.
    """

    folder: str
    size: int
    mtime_ns: int
    inode: int
    content: str = ""
    document: str | None = None
    error: str = ""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Who else sees a collection, since when; `writes` who may add to it, and change and remove there."""

    user: str
    writes: bool = False
    at: int = 0


class ReceivedShare(Record, frozen=True, kw_only=True):
    """Where a user finds a collection that another owner shares with them: `id` is the collection's."""

    owner: str
    at: int


class DocumentCollection(Record, frozen=True, kw_only=True):
    """Documents that belong together; a knowledge base is one with a name that commands use."""

    name: str
    description: str = ""
    shares: tuple[Share, ...] = ()
    created_at: int


DOCUMENTS: Final = Collection(
    "documents",
    Document,
    ("collection", "folder", "updated_at"),
    scans=(("updated_at",), ("collection", "updated_at"), ("folder", "updated_at")),
    searchable=False,
)
USES: Final = Collection(
    "document_uses", Use, ("content", "document"), scans=(("content",), ("document",)), searchable=False
)
CONTENTS: Final = Collection(
    "document_contents", Content, ("stage", "at"), scans=(("stage", "at"),), searchable=False
)
FORGOTTEN_FILES: Final = Collection("document_forgotten", ForgottenFile, searchable=False)
PAGES: Final = Collection(
    "document_pages", PageText, ("content", "number"), scans=(("content", "number"),), searchable=False
)
PASSAGES: Final = Collection(
    "document_passages", Passage, ("content", "number"), scans=(("content", "number"),)
)
COLLECTIONS: Final = Collection(
    "document_collections", DocumentCollection, ("created_at",), scans=(("created_at",),), searchable=False
)
FOLDERS: Final = Collection(
    "document_folders", WatchedFolder, ("created_at",), scans=(("created_at",),), searchable=False
)
FOLDER_FILES: Final = Collection(
    "document_folder_files", FolderFile, ("folder",), scans=(("folder",),), searchable=False
)
RECEIVED: Final = Collection("document_shares_received", ReceivedShare, searchable=False)


def page_id(content: str, number: int) -> str:
    """The id of a page's record."""
    return f"{content}:{number:06}"


def passage_id(content: str, number: int) -> str:
    """The id of a passage's record, and of its index item."""
    return f"{content}:p{number:06}"


def use_id(content: str, document: str) -> str:
    """The id of a use's record."""
    return f"{content}:{document}"
