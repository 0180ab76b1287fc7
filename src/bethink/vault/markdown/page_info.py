"""What the catalogue tells of a page without its text: names, headings, tags, links. `catalogue` keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from bethink.vault.markdown.format import parse, tags_of
from bethink.vault.markdown.frontmatter import front_matter
from bethink.vault.markdown.links import SUFFIX, LinkKind

if TYPE_CHECKING:
    from bethink.vault.markdown.format import Document

_MAX_NAMES: Final = 50
"""Aliases of one page that count; a page with more was made by a program, or to be in the way."""


class Reference(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link of a page, as it is written, and the line in which it stands, from 1."""

    kind: LinkKind
    target: str
    section: str
    block: str
    line: int
    is_to_page: bool


class PageInfo(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a page calls itself and what it points to. `fault` is what is wrong with its front matter."""

    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    headings: tuple[str, ...]
    links: tuple[Reference, ...]
    fault: str | None = None


def other_names(document: Document) -> tuple[str, ...]:
    """The aliases that its front matter gives a page."""
    return tuple(front_matter(document).aliases[:_MAX_NAMES])


def info_of(path: str, text: str) -> PageInfo:
    """What a page's text tells of itself."""
    document = parse(text)
    front = front_matter(document)
    line_at = document.line_at
    return PageInfo(
        title_of(path, document),
        other_names(document),
        tuple(dict.fromkeys((*front.tags, *tags_of(document)))),
        tuple(heading.title for heading in document.headings),
        tuple(
            Reference(
                link.kind, link.target, link.section, link.block, line_at(link.span[0]), link.is_to_page
            )
            for link in document.links
        ),
        front.fault,
    )


def name_of(path: str) -> str:
    """The name of a page's file, as it is and in words, a line each."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX)
    return f"{name}\n{name.replace('_', ' ')}"


def title_of(path: str, document: Document) -> str:
    """What a page is called: by its front matter, its first heading, or its file."""
    first = next((heading.title for heading in document.headings if heading.level == 1), "")
    return front_matter(document).title or first or path.rpartition("/")[2].removesuffix(SUFFIX)
