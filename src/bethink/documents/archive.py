"""A knowledge base as one `.tar.gz`: what its documents say, passage by passage, with vectors and digests.

`knowledge_bases` writes what an `ArchiveWriter` was given, and reads what `unpacked` has verified. An archive
may come from anywhere, so nothing of it is believed: members are unpacked under names of our own, by what the
manifest says of them, and every line is checked before anything is kept.

The members, in their order:

    manifest.json      format, schema, version, model, counts, and size and SHA-256 of all other members
    documents.jsonl    a line for each document: name, tags, origin, versions
    contents.jsonl     a line for each content, followed by its pages, followed by its passages
    vectors.i16        rows of 16-bit integers in the order of the passages, each component by `SCALE`
    originals/…        the files themselves by their SHA-256, if they were asked for

The same base gives the same bytes: no member has a time, an owner or a number of this machine.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final, TypeVar

import msgspec

from bethink import __version__
from bethink.documents.passages import PassageLimits, passages_of
from bethink.documents.records import DocumentVersion, Origin
from bethink.documents.work_folders import work_folder
from bethink.errors import BadInput, BethinkError, DiskFull, TooLarge

if TYPE_CHECKING:
    from bethink.documents.model import NewText
    from bethink.embeddings import EmbeddingModel

T = TypeVar("T")
Moment = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
"""Microseconds UTC, as far as engines order by it."""

FORMAT: Final = "bethink-knowledge-base"
SCHEMA: Final = 1
SCALE: Final = 32_767
"""What 1.0 is as a vector's component: engines keep no more of it, so that nothing is lost on the way."""
_COMPONENT: Final = 2
"""Bytes."""
_MANIFEST, DOCUMENTS, CONTENTS, VECTORS = (
    "manifest.json",
    "documents.jsonl",
    "contents.jsonl",
    "vectors.i16",
)
_ORIGINALS: Final = "originals/"
_MEMBER: Final = re.compile(r"documents\.jsonl|contents\.jsonl|vectors\.i16|originals/[0-9a-f]{64}")
_CONTENT_ID: Final = re.compile(r"[0-9a-f]{64}")
_BLOCK: Final = 512
_PART: Final = 1 << 20
_MAX_MANIFEST: Final = 64_000_000
_MAX_LINE: Final = 64_000_000
"""Bytes of a line: a page has some thousand."""
_MAX_TOTAL: Final = 100_000_000_000
_MAX_RATIO: Final = 250
"""Deflate reaches a thousand for one byte repeated; texts and vectors stay below thirty."""
_FREE: Final = 50_000_000
"""So much may come out before the ratio counts."""
_DAMAGED: Final = (
    "The archive is damaged or cut short{}: nothing of it was imported. Copy or export it again."
)
_FOREIGN: Final = "This is no knowledge base of Bethink: its archives begin with a member `manifest.json`."
_NO_SPACE: Final = 28


class ModelName(msgspec.Struct, frozen=True, kw_only=True):
    """The model of an archive's vectors, as `EmbeddingModel` has it."""

    id: str
    tokenizer: str
    dimensions: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many there are of what an archive holds."""

    documents: int = 0
    contents: int = 0
    pages: int = 0
    passages: int = 0
    vectors: int = 0
    originals: int = 0


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """How many bytes a member has, and their hex SHA-256."""

    size: int
    sha256: str


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """What of a manifest is the same in all versions."""

    format: str = ""
    schema: int = 0
    bethink: str = ""


class Manifest(_Head, frozen=True, kw_only=True):
    """What an archive holds. `model` is None if no passage has a vector."""

    name: str
    description: str = ""
    model: ModelName | None = None
    scale: int = SCALE
    counts: Counts
    members: dict[str, Digest]


class DocumentLine(msgspec.Struct, frozen=True, kw_only=True):
    """A document: `content` is the id of what it says now, the last of its versions."""

    name: str
    content: str
    versions: tuple[DocumentVersion, ...]
    tags: tuple[str, ...] = ()
    origin: Origin
    created_at: Moment
    updated_at: Moment


class ContentLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="content"):
    """What was read of a file; its pages and passages follow."""

    id: str
    name: str
    media_type: str
    size: int
    kind: str
    title: str
    note: str
    at: int


class PageLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="page"):
    """What a page says."""

    number: int
    text: str
    label: str = ""


class PassageLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="passage"):
    """A span of a page, with so many rows of the vectors."""

    page: int
    begin: int
    end: int
    heading: str = ""
    vectors: int = 0


Line = ContentLine | PageLine | PassageLine
_LINES: Final = msgspec.json.Decoder(Line)
_DOCUMENT_LINES: Final = msgspec.json.Decoder(DocumentLine)


@dataclass(slots=True)
class ArchiveContent:
    """A content with its pages and passages."""

    content: ContentLine
    pages: list[PageLine] = field(default_factory=list[PageLine])
    passages: list[PassageLine] = field(default_factory=list[PassageLine])

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of what it holds, by the names of `Counts`."""
        vectors = sum(passage.vectors for passage in self.passages)
        pages, passages = len(self.pages), len(self.passages)
        return {"contents": 1, "pages": pages, "passages": passages, "vectors": vectors}


# --- writing


@dataclass(slots=True)
class ArchiveWriter:
    """Takes in what an archive will hold, in files of its folder; `write` puts it together. Blocks."""

    folder: Path
    originals: dict[str, Path] = field(default_factory=dict[str, Path])
    _counts: Counter[str] = field(default_factory=Counter[str])

    def add_documents(self, documents: list[DocumentLine]) -> None:
        """All documents, in their order."""
        self._counts["documents"] += len(documents)
        self._append(DOCUMENTS, documents)

    def add(self, some: ArchiveContent, vectors: bytes) -> None:
        """A content, with the vectors of its passages."""
        self._counts.update(some.counts)
        self._append(CONTENTS, [some.content, *some.pages, *some.passages])
        with (self.folder / VECTORS).open("ab") as file:
            file.write(vectors)

    def add_text(self, text: NewText, limits: PassageLimits) -> None:
        """A document that was read elsewhere, with its bytes; its passages have no vectors."""
        pages = dict(enumerate(text.pages, 1))
        spans = passages_of(pages, limits)
        line = ContentLine(
            id=text.id,
            name=text.name,
            media_type="application/jsonl",
            size=len(text.original),
            kind="json",
            title=text.title,
            note="",
            at=text.updated_at,
        )
        lines = [
            PageLine(number=number, text=pages[number], label=label)
            for number, label in enumerate(text.labels, 1)
        ]
        passages = [
            PassageLine(page=one.page, begin=one.begin, end=one.end, heading=one.heading) for one in spans
        ]
        self.add(ArchiveContent(line, lines, passages), b"")
        original = self.originals[text.id] = self.folder / text.id
        original.write_bytes(text.original)
        document = DocumentLine(
            name=text.name,
            content=text.id,
            versions=(DocumentVersion(content=text.id, at=text.updated_at),),
            origin=Origin(kind="import", place=text.place),
            created_at=text.created_at,
            updated_at=text.updated_at,
        )
        self.add_documents([document])

    def _append(self, name: str, lines: list[DocumentLine] | list[Line]) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(msgspec.json.Encoder().encode_lines(lines))

    def write(self, target: IO[bytes], name: str, description: str, *, model: EmbeddingModel) -> Manifest:
        """Write the archive."""
        files = {one: self.folder / one for one in (DOCUMENTS, CONTENTS, VECTORS)}
        files = {one: path for one, path in files.items() if path.exists()}
        files |= {f"{_ORIGINALS}{id}": path for id, path in sorted(self.originals.items())}
        manifest = Manifest(
            format=FORMAT,
            schema=SCHEMA,
            bethink=__version__,
            name=name,
            description=description,
            model=ModelName(id=model.id, tokenizer=model.tokenizer, dimensions=model.dimensions)
            if self._counts["vectors"]
            else None,
            counts=Counts(**self._counts, originals=len(self.originals)),
            members={one: _digest(path) for one, path in files.items()},
        )
        with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as packed:
            head = msgspec.json.format(msgspec.json.encode(manifest))
            # Never closed: it would pad to whole records.
            members = tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115
            members.addfile(_member(_MANIFEST, len(head)), io.BytesIO(head))
            for one, path in files.items():
                with path.open("rb") as file:
                    members.addfile(_member(one, manifest.members[one].size), file)
            packed.write(bytes(2 * _BLOCK))
        return manifest


def _digest(path: Path) -> Digest:
    with path.open("rb") as file:
        return Digest(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=file.tell())


def _member(name: str, size: int) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.size = size
    return one


def _parts(file: IO[bytes] | gzip.GzipFile, size: int) -> Iterator[bytes]:
    """`size` bytes of a file.

    Raises:
        EOFError: there are fewer.
    """
    while size:
        part = file.read(min(size, _PART))
        if not part:
            raise EOFError
        size -= len(part)
        yield part


# --- reading


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A verified archive: what it says of itself, and where its members lie until it is closed."""

    manifest: Manifest
    folder: Path

    def original(self, content: str) -> Path | None:
        """The file of a content, if the archive has it."""
        name = f"{_ORIGINALS}{content}"
        return self.folder / content if name in self.manifest.members else None

    def documents(self) -> Iterator[DocumentLine]:
        """The documents, in order."""
        for line in self._lines(DOCUMENTS):
            yield _decoded(_DOCUMENT_LINES, line, DOCUMENTS)

    def contents(self) -> Iterator[ArchiveContent]:
        """The contents, each with its pages and passages."""
        current: ArchiveContent | None = None
        for line in self._lines(CONTENTS):
            match _decoded(_LINES, line, CONTENTS):
                case ContentLine() as content:
                    if current is not None:
                        yield current
                    current = ArchiveContent(content)
                case PageLine() as page if current is not None:
                    current.pages.append(page)
                case PassageLine() as passage if current is not None:
                    current.passages.append(passage)
                case _:
                    raise _wrong(CONTENTS, "it begins in the middle of a document")
        if current is not None:
            yield current

    def vectors(self) -> IO[bytes]:
        """The rows of vectors, to be read in the order of the passages."""
        return (self.folder / VECTORS).open("rb")

    def _lines(self, name: str) -> Iterator[bytes]:
        if name not in self.manifest.members:
            return
        with (self.folder / name).open("rb") as file:
            while line := file.readline(_MAX_LINE):
                if not line.endswith(b"\n"):
                    raise _wrong(name, "a line of it is too long, or cut short")
                yield line


def _decoded(decoder: msgspec.json.Decoder[T], line: bytes, name: str) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(name, str(error)) from error


def _wrong(name: str, why: str) -> BadInput:
    return BadInput(f"The archive's {name} is not valid ({why}): nothing of it was imported.")


@contextmanager
def unpacked(path: Path, work: Path) -> Generator[Unpacked]:
    """An archive, verified as a whole, in a folder below `work` that goes with the block. Blocks.

    Raises:
        BadInput: it is no archive, of a newer schema, damaged, or holds what no archive holds.
        TooLarge: it unpacks to more than any knowledge base does.
        DiskFull: there is no room for what it unpacks to.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(work_folder(work))
            source = stack.enter_context(path.open("rb"))
            found = Unpacked(_Unpacking(source, path.stat().st_size, folder).run(), folder)
            _check(found)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise BadInput(_DAMAGED.format(f" ({error})" if str(error) else "")) from error
        except OSError as error:
            if error.errno == _NO_SPACE:
                raise DiskFull(
                    "There is no room to unpack this archive: free some space and repeat it."
                ) from error
            raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
        yield found


@contextmanager
def archive_file(path: Path) -> Generator[IO[bytes]]:
    """A file to write an archive to, in place of an older one; it is there once it is whole. Blocks.

    Raises:
        BadInput: there is another file of that name.
        BethinkError: it cannot be written.
    """
    if path.exists() and manifest_of(path) is None:
        raise BadInput(f"{path} already exists and is no knowledge base: choose another name.")
    part = path.with_name(f"{path.name}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123 - with a mode
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise BethinkError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def manifest_of(path: Path) -> Manifest | None:
    """What the archive in a file says of itself; None if it is none. Verifies nothing else. Blocks."""
    try:
        with path.open("rb") as source:
            return _Unpacking(source, path.stat().st_size, Path()).manifest()
    except (OSError, EOFError, zlib.error, BethinkError):
        return None


class _Unpacking:
    """Takes an archive apart, member by member, into files named by us."""

    def __init__(self, source: IO[bytes], packed: int, folder: Path) -> None:
        self._file = gzip.GzipFile(fileobj=source, mode="rb")
        self._packed = packed
        self._folder = folder
        self._out = 0

    def run(self) -> Manifest:
        manifest = self.manifest()
        missing = dict(manifest.members)
        while (member := self._next()) is not None:
            digest = missing.pop(member.name, None)
            if digest is None:
                raise BadInput(
                    f"The archive holds {member.name[:200]!r}, which its manifest does not name, or twice: "
                    "nothing of it was imported."
                )
            if digest != self._kept(member):
                raise BadInput(
                    f"The archive's {member.name} is not what its manifest says (SHA-256): it is damaged or "
                    "was changed, and nothing of it was imported."
                )
        if missing:
            raise BadInput(_DAMAGED.format(f" ({next(iter(missing))} is missing)"))
        self._end()
        return manifest

    def manifest(self) -> Manifest:
        """The first member."""
        member = self._next()
        if member is None or member.name != _MANIFEST:
            raise BadInput(_FOREIGN)
        if member.size > _MAX_MANIFEST:
            raise TooLarge("The archive's manifest is too long: nothing of it was imported.")
        content = b"".join(_parts(self._file, member.size))
        self._skip_padding(member.size)
        return _manifest(content)

    def _next(self) -> tarfile.TarInfo | None:
        """The next member; None behind the last one."""
        self._take(_BLOCK)
        block = self._file.read(_BLOCK)
        if len(block) < _BLOCK:
            raise EOFError
        if not any(block):
            return None
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, UnicodeDecodeError) as error:
            raise BadInput(_FOREIGN) from error
        if member.type != tarfile.REGTYPE:
            raise BadInput(
                f"The archive holds {member.name[:200]!r}, which is a link, a folder or something else that "
                "no knowledge base has: nothing of it was imported."
            )
        return member

    def _kept(self, member: tarfile.TarInfo) -> Digest:
        """What a member is, once it was unpacked."""
        digest = hashlib.sha256()
        with (self._folder / member.name.removeprefix(_ORIGINALS)).open("wb") as file:
            for part in _parts(self._file, member.size):
                self._take(len(part))
                digest.update(part)
                file.write(part)
        self._skip_padding(member.size)
        return Digest(size=member.size, sha256=digest.hexdigest())

    def _skip_padding(self, size: int) -> None:
        for _ in _parts(self._file, -size % _BLOCK):
            pass

    def _end(self) -> None:
        """Read to the end, which verifies the checksum of what was packed."""
        while rest := self._file.read(_PART):
            self._take(len(rest))
            if rest.strip(b"\0"):
                raise BadInput(_DAMAGED.format(" (there is something behind its end)"))

    def _take(self, size: int) -> None:
        self._out += size
        if self._out > _MAX_TOTAL or (self._out > _FREE and self._out > _MAX_RATIO * self._packed):
            raise TooLarge(
                f"This archive unpacks to more than {self._out // 1_000_000:,} MB, which no knowledge base "
                "of its size does: nothing of it was imported."
            )


def _manifest(content: bytes) -> Manifest:
    try:
        head = msgspec.json.decode(content, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(_FOREIGN) from error
    if head.format != FORMAT:
        raise BadInput(_FOREIGN)
    if head.schema > SCHEMA:
        raise BadInput(
            f"This archive was written by Bethink {head.bethink[:20]} in a newer form (schema {head.schema}; "
            f"this is {__version__}, which reads {SCHEMA}): import it with that Bethink, or a newer one."
        )
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _wrong(_MANIFEST, str(error)) from error
    for name in manifest.members:
        if not _MEMBER.fullmatch(name):
            raise _wrong(_MANIFEST, f"no knowledge base has a member {name[:200]!r}")
    if {DOCUMENTS, CONTENTS} - manifest.members.keys() or manifest.scale != SCALE:
        raise _wrong(_MANIFEST, "it names no documents, or vectors of another scale")
    return manifest


def _check(found: Unpacked) -> None:
    """That all lines are valid, belong together, and are as many as the manifest says."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for some in found.contents():
        _check_content(some, seen)
        seen.add(some.content.id)
        counts.update(some.counts)
    for document in found.documents():
        counts["documents"] += 1
        named = {document.content, *(version.content for version in document.versions)}
        if not document.versions or document.versions[-1].content != document.content or named - seen:
            raise _wrong(DOCUMENTS, f"{document.name[:100]!r} names what the archive does not hold")
    members = found.manifest.members
    originals = {name.removeprefix(_ORIGINALS) for name in members if name.startswith(_ORIGINALS)}
    counts["originals"] = len(originals)
    for id in originals:
        if id not in seen or members[f"{_ORIGINALS}{id}"].sha256 != id:
            raise _wrong(_MANIFEST, "it names a file that belongs to no document")
    if Counts(**counts) != found.manifest.counts:
        raise _wrong(_MANIFEST, "it counts other than there is")
    _check_vectors(found)


def _check_content(some: ArchiveContent, seen: set[str]) -> None:
    content = some.content
    if not _CONTENT_ID.fullmatch(content.id) or content.id in seen or content.size < 0:
        raise _wrong(CONTENTS, f"{content.name[:100]!r} has no fit id, or is there twice")
    lengths = {page.number: len(page.text) for page in some.pages}
    if len(lengths) < len(some.pages) or min(lengths, default=1) < 1:
        raise _wrong(CONTENTS, f"pages of {content.name[:100]!r} are numbered twice")
    for passage in some.passages:
        if not 0 <= passage.begin < passage.end <= lengths.get(passage.page, 0) or passage.vectors < 0:
            raise _wrong(CONTENTS, f"a passage of {content.name[:100]!r} lies outside of its page")


def _check_vectors(found: Unpacked) -> None:
    model, rows = found.manifest.model, found.manifest.counts.vectors
    dimensions = 0 if model is None else model.dimensions
    kept = found.manifest.members.get(VECTORS, Digest(size=0, sha256="")).size
    if kept != rows * dimensions * _COMPONENT or (rows and dimensions < 1):
        raise _wrong(VECTORS, "it has not as many rows as there are")
