"""What doors and the library tell one another: what is added, changed, meant, shown and found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from bethink.documents.records import Content, Document, Origin, Stage
from bethink.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.principal import DocumentBounds

MAX_TAGS: Final = 32
_MAX_NAME: Final = 255
_MAX_TAG: Final = 60
_HIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
"""What no name holds: control characters, marks that hide an ending, halves of characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """What is added: its bytes, or a file that holds them, which is moved away if it is `taken`."""

    name: str
    content: bytes | Path
    media_type: str = "application/octet-stream"
    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    folder: str | None = None
    taken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewText:
    """What another feature gives into a knowledge base's archive: read already, page by page.

    `id` is the hex SHA-256 of the `original` bytes, `place` where it came from. Times are microseconds UTC.
    """

    id: str
    name: str
    title: str
    place: str
    original: bytes
    pages: Sequence[str]
    labels: Sequence[str]
    created_at: int
    updated_at: int


class DocumentEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What changes of a document's name and place; what is unset stays."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    collection: str | msgspec.UnsetType | None = msgspec.UNSET
    project: str | msgspec.UnsetType | None = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which documents are meant: those of a collection or project, with all these tags, of these formats.

    `documents` are ids. What is None, or empty, bounds nothing. `since` (inclusive) and `until`
    (exclusive) bound when it was last changed, microseconds UTC. `bounds` are those of a principal.
    """

    collection: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    documents: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None
    bounds: DocumentBounds | None = None

    @property
    def is_all(self) -> bool:
        """Whether it leaves nothing out."""
        return self == EVERYTHING

    def reaches(self, collection: str) -> bool:
        """Whether documents of a collection may be meant that somebody else shares."""
        is_bounded = self.bounds is not None and collection not in self.bounds.collections
        return self.collection in {None, collection} and not is_bounded

    def holds(self, document: Document) -> bool:
        """Whether a document is meant, as far as its own record tells."""
        return (
            self.collection in {None, document.collection}
            and self.project in {None, document.project}
            and {*self.tags} <= {*document.tags}
            and (self.documents is None or document.id in self.documents)
            and (self.since is None or document.updated_at >= self.since)
            and (self.until is None or document.updated_at < self.until)
            and (self.bounds is None or self.bounds.holds(document.collection, document.project))
        )


EVERYTHING: Final = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageHit:
    """A passage that answers: characters `begin` to `end` of a page of a content. `score` is 0..1.

    `owner` is whose it is, None for the principal's own.
    """

    id: str
    document: Document
    content: Content
    page: int
    label: str
    heading: str
    begin: int
    end: int
    text: str
    score: float
    owner: str | None = None

    @property
    def title(self) -> str:
        """What a person calls the place."""
        return title_of(self.document, self.content, self.page, label=self.label)

    @property
    def source(self) -> str:
        """What names the place in citations."""
        return source_of(self.document.id, self.content.id, self.page, span=(self.begin, self.end))


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document with what was read of it; `next` is read now and takes the content's place when ready.

    `owner` is whose it is, None for the principal's own.
    """

    document: Document
    content: Content
    next: Content | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """Which documents are listed: `text` stands in their name or title; what is None bounds nothing."""

    text: str | None = None
    collection: str | None = None
    project: str | None = None
    tag: str | None = None
    kind: str | None = None
    stage: Stage | None = None

    @property
    def is_by_content(self) -> bool:
        """Whether many may have to be looked at for each that fits."""
        return replace(self, collection=None) != DocumentQuery()

    def fits(self, state: DocumentState) -> bool:
        """Whether a document is one of these."""
        document, read = state.document, state.content
        stages = {one.stage for one in (read, state.next) if one is not None}
        return (
            (self.text is None or self.text.casefold() in f"{document.name}\n{read.title}".casefold())
            and (self.project is None or document.project == self.project)
            and (self.tag is None or self.tag in document.tags)
            and (self.kind is None or read.kind == self.kind)
            and (self.stage is None or self.stage in stages)
        )


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents, the one that changed last first; `cursor` continues behind them."""

    items: Sequence[DocumentState]
    cursor: str | None = None


def title_of(document: Document, content: Content, page: int, *, label: str) -> str:
    """What a person calls a place of a document."""
    return f"{document.name}, {label or f'page {page:,}'}" if content.pages > 1 or label else document.name


def source_of(document: str, content: str, page: int, *, span: tuple[int, int]) -> str:
    """What names a place of a document in citations: the version that was seen, its page, and characters."""
    query = urlencode({"content": content, "page": page, "at": f"{span[0]}-{span[1]}"})
    return f"document:{document}?{query}"


def fit_name(name: str) -> str:
    """A name without path, control characters and marks that hide its ending.

    Raises:
        BadInput: nothing is left of it.
    """
    fit = _HIDDEN.sub(" ", name.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip()
    if not fit:
        raise BadInput("A document needs a name.")
    if len(fit) <= _MAX_NAME:
        return fit
    stem, dot, ending = fit.rpartition(".")
    is_ending = dot and len(ending) < _MAX_NAME // 4
    return f"{stem[: _MAX_NAME - len(ending) - 1]}.{ending}" if is_ending else fit[:_MAX_NAME]


def fit_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without doubles.

    Raises:
        BadInput: there are too many, or one is too long.
    """
    fit = tuple(dict.fromkeys(tag for one in tags if (tag := " ".join(_HIDDEN.sub(" ", one).split()))))
    if len(fit) > MAX_TAGS:
        raise BadInput(f"A document has at most {MAX_TAGS} tags.")
    if any(len(tag) > _MAX_TAG for tag in fit):
        raise BadInput(f"A tag has at most {_MAX_TAG} characters.")
    return fit
