"""Builds a knowledge base from files and texts, and brings it up to date. `bethink kb build` asks.

What a document is made of is named by its origin: the path of a file, or the id of a text. A file that did
not change is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.library import Library, NewDocument, Scope
from bethink.documents.records import WORKING, Document, DocumentCollection, Origin
from bethink.errors import BadInput, EmbeddingsUnavailable, UnknownId

if TYPE_CHECKING:
    from bethink.documents.ingest import Ingest
    from bethink.principal import Principal

_LOOK_S: Final = 0.1
_MAX_JSON: Final = 500_000_000
_MOST_FILES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSources:
    """What a base is built from: files, folders with all below them, and a JSON file with texts.

    Of folders, files with one of these `extensions`, such as ".md", are taken; all that are read if none is
    named.
    """

    paths: tuple[Path, ...] = ()
    extensions: frozenset[str] = frozenset()
    texts: Path | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        """The paths from the root of the file system; a link stays what it is called."""
        return tuple(Path(os.path.abspath(path)) for path in self.paths)  # noqa: PTH100 - resolves no link


class Unread(msgspec.Struct, frozen=True):
    """A file that is not part of the base, and why."""

    name: str
    why: str


class BuildReport(msgspec.Struct, kw_only=True):
    """What became of the sources. `left` are files of folders of no format that is read."""

    name: str
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    left: int = 0
    failed: list[Unread] = msgspec.field(default_factory=list[Unread])
    note: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read."""
        return not self.added + self.changed + self.unchanged - len(self.failed)


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """What is being done, and how much of it is."""

    stage: Literal["adding", "reading", "embedding"]
    done: int = 0
    of: int = 0


class _Text(msgspec.Struct, frozen=True):
    """A document of a JSON file, as `kb-build --json_input` takes it; it may hold more."""

    text: str
    id: str | int = ""


@dataclass(frozen=True, slots=True)
class _Source:
    place: str
    name: str
    content: bytes | Path
    kind: Literal["folder", "text"] = "folder"
    is_named: bool = True


@dataclass(slots=True, kw_only=True)
class BaseBuilder:
    """Builds one base; `tell` hears how far it is."""

    library: Library
    ingest: Ingest
    principal: Principal
    tell: Callable[[BuildProgress], None]
    _contents: set[str] = field(default_factory=set[str])
    _report: BuildReport = field(default_factory=lambda: BuildReport(name=""))

    async def build(self, name: str, sources: BuildSources, *, update: bool = False) -> BuildReport:
        """Add what is new to a base, made if there is none, and read again what changed.

        To `update` it also removes documents whose files, or texts, are gone from the sources.

        Raises:
            BadInput: a source is not there or not valid, or there is nothing in any of them.
        """
        found = await anyio.to_thread.run_sync(lambda: [*_sources(sources)])
        if not found:
            raise BadInput("There is nothing to read: no file of these sources fits.")
        base = await self._base(name)
        self._report.name = base.name
        before = await self.library.in_scope(self.principal, Scope(collection=base.id))
        if update:
            gone = await anyio.to_thread.run_sync(_gone, before, sources, found)
            for document in gone:
                await self.library.remove(self.principal, document.id)
            self._report.removed = len(gone)
            removed = {one.id for one in gone}
            before = [one for one in before if one.id not in removed]
        known = {(one.origin.kind, one.origin.place): one for one in before}
        for done, source in enumerate(found):
            self.tell(BuildProgress("adding", done, len(found)))
            await self._take(source, base.id, known.get((source.kind, source.place)))
        await self._wait_until_read()
        await self._wait_for_vectors()
        return self._report

    async def _base(self, name: str) -> DocumentCollection:
        try:
            return await self.library.collection(self.principal, name)
        except UnknownId:
            return await self.library.create_collection(self.principal, name)

    async def _take(self, source: _Source, collection: str, known: Document | None) -> None:
        report = self._report
        if not source.is_named and isinstance(source.content, Path):
            kind = await self.ingest.extraction.kind(source.content, source.name, "")
            if kind is None:
                report.left += 1
                return
        new = NewDocument(
            name=source.name,
            content=source.content,
            media_type="text/markdown" if source.kind == "text" else "application/octet-stream",
            collection=collection,
            origin=Origin(kind=source.kind, place=source.place),
        )
        try:
            if known is None:
                document = await self.library.add(self.principal, new)
                report.added += 1
            else:
                document = await self.library.replace(self.principal, known.id, new)
                is_same = document.newest == known.newest
                report.unchanged += is_same
                report.changed += not is_same
        except BadInput as error:
            report.failed.append(Unread(source.name, error.message))
        except OSError as error:
            report.failed.append(Unread(source.name, f"It cannot be read: {error.strerror}."))
        else:
            self._contents.add(document.newest)

    async def _wait_until_read(self) -> None:
        self.library.added.set()
        waiting, total = set(self._contents), len(self._contents)
        while waiting:
            found = await self.library.contents.of(self.principal.owner, waiting)
            waiting &= found.keys()
            for content in found.values():
                if content.stage not in WORKING:
                    waiting.discard(content.id)
                    if content.stage != "ready":
                        why = content.error or "Its reading was stopped."
                        self._report.failed.append(Unread(content.name, why))
            self.tell(BuildProgress("reading", total - len(waiting), total))
            if waiting:
                await anyio.sleep(_LOOK_S)

    async def _wait_for_vectors(self) -> None:
        """Have all found by their meaning, too, if there is a model; another process may be making them."""
        owner, embeddings = self.principal.owner, self.ingest.embeddings
        try:
            await embeddings.load()
        except EmbeddingsUnavailable as error:
            self._report.note = f"Its passages are found by words only: {error.message}"
            return
        self.ingest.ask_vectors(owner)
        while await self.ingest.index.missing_vectors(owner, embeddings.model, 1):
            self.tell(BuildProgress("embedding"))
            await anyio.sleep(_LOOK_S)


def _sources(sources: BuildSources) -> Iterator[_Source]:
    """All sources in order, each once. Blocks."""
    seen: set[str] = set()
    for path in sources.paths:
        for file, is_named in files_below(path, sources.extensions):
            place = os.path.abspath(file)  # noqa: PTH100 - a link stays what it is called
            if place not in seen:
                seen.add(place)
                yield _Source(place, file.name, file, is_named=is_named)
    if sources.texts is not None:
        yield from _texts(sources.texts)
    if len(seen) > _MOST_FILES:
        raise BadInput(f"These folders hold more than {_MOST_FILES:,} files: build several bases.")


def files_below(path: Path, extensions: frozenset[str]) -> Iterator[tuple[Path, bool]]:
    """The files of a source, and whether they were named themselves; hidden ones are left out.

    Raises:
        BadInput: it is not there.
    """
    if path.is_file():
        yield path, True
        return
    if not path.is_dir():
        raise BadInput(f"{path} is not there: name files or folders.")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            fits = not extensions or name.lower().endswith(tuple(extensions))
            if fits and not name.startswith(".") and file.is_file():
                yield file, bool(extensions)


def _texts(path: Path) -> Iterator[_Source]:
    try:
        if path.stat().st_size > _MAX_JSON:
            raise BadInput(f"{path} is larger than {_MAX_JSON // 1_000_000:,} MB: split it.")
        found: Any = msgspec.json.decode(path.read_bytes())
        if isinstance(found, dict):
            found = found.get("documents")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - checked next
        texts = msgspec.convert(found, list[_Text])
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{path} is not a list of documents with `id` and `text` as JSON ({error})."
        ) from error
    for number, one in enumerate(texts):
        id = str(one.id) or f"{path.stem}_{number}"
        yield _Source(id, id, one.text.encode(), "text")


def _gone(before: Sequence[Document], sources: BuildSources, found: Sequence[_Source]) -> list[Document]:
    """The documents that came from these sources and are not in them any more."""
    there = {(one.kind, one.place) for one in found}
    roots, gone = sources.roots, list[Document]()
    for document in before:
        origin = document.origin
        is_of_file = origin.kind == "folder" and _is_below(Path(origin.place), roots)
        is_of_text = origin.kind == "text" and sources.texts is not None
        if (is_of_file or is_of_text) and (origin.kind, origin.place) not in there:
            gone.append(document)
    return gone


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path == root or root in path.parents for root in roots)
