"""Packages of XML: what Office, Open Document and EPUB files are. Opened within bounds; entities are refused.

Sources: ECMA-376 part 2 (packages and their relationships), OASIS Open Document 1.3, EPUB 3.3.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final
from urllib.parse import unquote

from bethink.documents.reading.messages import FOREIGN, Kind, UnfitError

_MAX_UNPACKED: Final = 200_000_000
"""Bytes of all parts: more is a bomb, or a book of photographs, which are not packed any smaller."""
_MOST_PACKED: Final = 10
"""So many times smaller than its parts is no archive of photographs."""
_MAX_PART: Final = 100_000_000
"""Bytes of a part that is read."""
_MAX_PARTS: Final = 10_000
_NO_MEMORY: Final = 2
"""libxml2's XML_ERR_NO_MEMORY."""
_ARCHIVE: Final = "It is an archive: unpack it and give the files in it."
_BY_MIMETYPE: Final[tuple[tuple[str, Kind], ...]] = (
    ("application/epub+zip", "epub"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/vnd.oasis.opendocument.presentation", "odp"),
)
_BY_PART: Final[tuple[tuple[str, Kind], ...]] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsx"),
    ("META-INF/container.xml", "epub"),
)


class Package:
    """A package's parts, by their names."""

    def __init__(self, content: bytes, what: str = "file") -> None:
        """Open it. `what` is what its owner would call it.

        Raises:
            UnfitError: it is damaged, locked, or unpacks to too much.
        """
        self.content, self.what = content, what
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except FOREIGN as error:
            raise UnfitError(f"This {what} is damaged: it cannot be unpacked.") from error
        parts = self._archive.infolist()
        if any(part.flag_bits & 1 for part in parts):
            raise UnfitError(f"This {what} is locked with a password: save it without one.")
        size = sum(part.file_size for part in parts)
        if len(parts) > _MAX_PARTS:
            raise UnfitError(f"This {what} has {len(parts):,} parts, more than {_MAX_PARTS:,}: divide it.")
        if size > _MAX_UNPACKED and size > _MOST_PACKED * len(content):
            raise UnfitError(f"Unpacked, this {what} is larger than {_MAX_UNPACKED // 1_000_000} MB.")
        self.names: Final = frozenset(self._archive.namelist())

    @property
    def kind(self) -> Kind:
        """What the file is, by what is in it.

        Raises:
            UnfitError: it is something else.
        """
        said = (self.part("mimetype") or b"").decode("ascii", "replace").strip()
        for mimetype, kind in _BY_MIMETYPE:
            if said.startswith(mimetype):
                return kind
        for name, kind in _BY_PART:
            if name in self.names:
                return kind
        if any(name.endswith(".iwa") for name in self.names):
            raise UnfitError("Files of Pages, Numbers and Keynote are not read: export it as PDF.")
        raise UnfitError(_ARCHIVE)

    @property
    def has_macros(self) -> bool:
        """Whether there are programs in it, which nobody runs here."""
        return any(name.endswith("vbaProject.bin") or name.startswith("Basic/") for name in self.names)

    def part(self, name: str) -> bytes | None:
        """A part's bytes; None if there is none.

        Raises:
            UnfitError: it is damaged or too large.
        """
        if name not in self.names:
            return None
        if self._archive.getinfo(name).file_size > _MAX_PART:
            raise UnfitError(
                f"Unpacked, a part of this {self.what} is larger than {_MAX_PART // 1_000_000} MB."
            )
        try:
            return self._archive.read(name)
        except FOREIGN as error:
            raise UnfitError(f"This {self.what} is damaged: it cannot be unpacked.") from error

    def xml(self, name: str) -> Any:  # noqa: ANN401 - lxml's elements have no types
        """A part's root element; None if there is none.

        Raises:
            UnfitError: it is damaged, or declares entities.
        """
        content = self.part(name)
        return None if content is None else parsed(content, self.what)

    def related(self, name: str) -> Mapping[str, tuple[str, str]]:
        """What a part refers to within the package, by its identifier: the kind and the name of each."""
        folder, _, file = name.rpartition("/")
        root = self.xml(f"{folder}/_rels/{file}.rels")
        found: dict[str, tuple[str, str]] = {}
        for one in () if root is None else root:
            if one.get("TargetMode") != "External":
                kind = str(one.get("Type")).rpartition("/")[2]
                found[str(one.get("Id"))] = kind, resolved(folder, str(one.get("Target")))
        return found

    def title(self, name: str = "docProps/core.xml") -> str:
        """What the metadata say that it is called."""
        root = self.xml(name)
        if root is None:
            return ""
        return " ".join("".join(element.text or "" for element in root.iter("{*}title")).split())


def parsed(content: bytes, what: str) -> Any:  # noqa: ANN401 - the same
    """The root of XML that somebody sent. Nothing outside of it is read.

    Raises:
        UnfitError: it is damaged, or declares entities, which is how small files grow beyond all bounds.
    """
    etree: Any = import_module("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except FOREIGN as error:
        if getattr(error, "code", 0) == _NO_MEMORY:
            raise MemoryError from error
        raise UnfitError(f"This {what} is damaged: it cannot be opened.") from error
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise UnfitError(f"This {what} declares entities, which no program writes: it is not read.")
    return root


def resolved(folder: str, target: str) -> str:
    """The name of a part that another one in `folder` refers to."""
    target = unquote(target.partition("#")[0])
    return (
        target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
    )


def local(element: Any) -> str:  # noqa: ANN401 - the same
    """An element's name without its namespace, of which Office has two generations; "" for comments."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str, missing: str = "") -> str:  # noqa: ANN401 - the same
    """An attribute's value by its name without a namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return missing
