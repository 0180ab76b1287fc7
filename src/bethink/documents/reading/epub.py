"""EPUB books as Markdown: a chapter is a page, or several if it is long. `reader` calls it.

Source: EPUB 3.3, sections 4 (container) and 5 (package document); the Navigation Control file of EPUB 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bethink.documents.reading.markup import html_blocks, title_of
from bethink.documents.reading.messages import MAX_CHARS, TOO_LONG, FileText, UnfitError
from bethink.documents.reading.package import Package, attribute, resolved
from bethink.documents.reading.tables import paged
from bethink.internet.decoder import decoded, visible

_HEADING: Final = re.compile(r"#{1,6} (.+)")


def read_epub(package: Package) -> FileText:
    """The chapters.

    Raises:
        UnfitError: it is damaged, or protected against copying.
    """
    name = _package_document(package)
    root = package.xml(name)
    if root is None:
        raise UnfitError("This EPUB file is damaged: it names no chapters.")
    folder = name.rpartition("/")[0]
    items = {
        str(item.get("id")): (resolved(folder, str(item.get("href"))), str(item.get("media-type")))
        for item in root.iter("{*}item")
    }
    spine = [items[ref] for one in root.iter("{*}itemref") if (ref := one.get("idref")) in items]
    titles = _contents(package, items)
    locked = package.part("META-INF/encryption.xml") or b""
    pages: list[str] = []
    labels: list[str] = []
    for part, _ in spine:
        content = package.part(part)
        if content is None:
            continue
        if part.rpartition("/")[2].encode() in locked:
            raise UnfitError("This EPUB file is protected against copying: it cannot be read.")
        html = decoded(content, None)
        blocks = [visible(block) for block in html_blocks(html)]
        label = titles.get(part) or _first_heading(blocks) or title_of(html)
        for page in paged(blocks):
            pages.append(page)
            labels.append(label)
        if sum(map(len, pages)) > MAX_CHARS:
            break
    note = TOO_LONG if sum(map(len, pages)) > MAX_CHARS else ""
    return FileText(pages, labels, package.title(name), note)


def _package_document(package: Package) -> str:
    container = package.xml("META-INF/container.xml")
    for element in () if container is None else container.iter("{*}rootfile"):
        if name := element.get("full-path"):
            return str(name)
    raise UnfitError("This EPUB file is damaged: it names no chapters.")


def _contents(package: Package, items: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The titles that the table of contents of EPUB 2 gives to files."""
    found: dict[str, str] = {}
    for name, media_type in items.values():
        if media_type != "application/x-dtbncx+xml":
            continue
        root = package.xml(name)
        for point in () if root is None else root.iter("{*}navPoint"):
            text = next((one.text for one in point.iter("{*}text")), "")
            source: Any = next(point.iter("{*}content"), None)
            if source is not None:
                target = resolved(name.rpartition("/")[0], attribute(source, "src"))
                found.setdefault(target, " ".join((text or "").split()))
    return found


def _first_heading(blocks: list[str]) -> str:
    return next((found[1] for block in blocks if (found := _HEADING.match(block))), "")
