"""XML of WebDAV (RFC 4918) and CalDAV (RFC 4791), read within bounds and without entities, and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from bethink.errors import BadInput

DAV: Final = "{DAV:}"
CALDAV: Final = "{urn:ietf:params:xml:ns:caldav}"
SERVER: Final = "{http://calendarserver.org/ns/}"
APPLE: Final = "{http://apple.com/ns/ical/}"
_PREFIXES: Final = {
    "DAV:": "D",
    "urn:ietf:params:xml:ns:caldav": "C",
    "http://calendarserver.org/ns/": "S",
    "http://apple.com/ns/ical/": "A",
}
_DEEPEST: Final = 30
_MOST: Final = 1_000_000
"""Elements of a document: a listing has about seven for each event."""


@dataclass(slots=True)
class Element:
    """An element: its name is `{namespace}name`."""

    name: str
    text: str = ""
    children: list[Element] = field(default_factory=list["Element"])
    attributes: dict[str, str] = field(default_factory=dict[str, str])

    def find(self, *path: str) -> Element | None:
        """The first element at the end of a path of names."""
        found: Element | None = self
        for name in path:
            found = next((child for child in found.children if child.name == name), None) if found else None
        return found

    def all(self, name: str) -> Iterator[Element]:
        """The children of this name."""
        return (child for child in self.children if child.name == name)

    def text_of(self, *path: str) -> str:
        """The text at the end of a path, without white space around it; "" if there is none."""
        found = self.find(*path)
        return found.text.strip() if found else ""


def parsed(content: bytes) -> Element:
    """The root of a document.

    Raises:
        BadInput: it is no XML, or declares what it is made of: entities could stand for anything.
    """
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = builder.begin
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.say
    parser.StartDoctypeDeclHandler = builder.refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise BadInput(f"This is no XML that can be read: {error}.") from error
    if builder.root is None:
        raise BadInput("This is no XML: it is empty.")
    return builder.root


@dataclass(slots=True)
class _Builder:
    root: Element | None = None
    _open: list[tuple[Element, list[str]]] = field(default_factory=list[tuple[Element, list[str]]])
    _count: int = 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= _DEEPEST or self._count > _MOST:
            raise BadInput("This XML is nested too deep, or has too many elements.")
        element = Element(_clark(name), attributes=attributes)
        if self._open:
            self._open[-1][0].children.append(element)
        else:
            self.root = element
        self._open.append((element, []))

    def end(self, _: str) -> None:
        element, texts = self._open.pop()
        element.text = "".join(texts)

    def say(self, text: str) -> None:
        if self._open:
            self._open[-1][1].append(text)

    def refuse(self, *_: Any) -> None:  # noqa: ANN401 - expat's
        raise BadInput("XML with a DOCTYPE is not read: it could hold entities.")


def _clark(name: str) -> str:
    namespace, brace, local = name.rpartition("}")
    return f"{{{namespace}}}{local}" if brace else name


def written(root: Element) -> bytes:
    """The document of an element."""
    parts = ['<?xml version="1.0" encoding="utf-8"?>\n']
    declared = "".join(f' xmlns:{prefix}="{name}"' for name, prefix in _PREFIXES.items())
    _write(root, parts, declared)
    return "".join(parts).encode()


def _write(element: Element, parts: list[str], declared: str = "") -> None:
    namespace, _, local = element.name.removeprefix("{").rpartition("}")
    prefix = _PREFIXES.get(namespace)
    tag = f"{prefix}:{local}" if prefix else local
    if not prefix:
        declared += f" xmlns={quoteattr(namespace)}"
    told = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    if not element.children and not element.text:
        parts.append(f"<{tag}{declared}{told}/>")
        return
    parts.append(f"<{tag}{declared}{told}>{escape(element.text)}")
    for child in element.children:
        _write(child, parts)
    parts.append(f"</{tag}>")


def made(name: str, *children: Element | str) -> Element:
    """An element with children, or with a text."""
    texts = [child for child in children if isinstance(child, str)]
    elements = [child for child in children if not isinstance(child, str)]
    return Element(name, "".join(texts), elements)
