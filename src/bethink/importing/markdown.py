"""Plain Markdown: a file, a folder or a zip of it. `obsidian` and `notion` share what holds of any page."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from bethink.errors import BadInput, TooLarge
from bethink.importing.items import ExportedPage, Skipped, clean
from bethink.importing.names import UniquePaths, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

ROOT = "imported/markdown"
MAX_PAGE_BYTES = 1_000_000
"""What a file of the vault may have, unless its settings say otherwise."""
_PAGE = re.compile(r".*\.(md|markdown|mdown|mkd)", re.IGNORECASE)
_HIDDEN = re.compile(r"(^|/)\.[^/]")
_FRONT = re.compile(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_HEADING = re.compile(r"#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read(archive: Archive) -> Iterator[Item]:
    """Each Markdown file as a page, where it stands in its folder; what else there is, told."""
    names = UniquePaths()
    others = OtherFiles()
    for name in archive.members:
        if not is_page(name):
            others.count(name)
            continue
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
        else:
            path = names.free(f"{ROOT}/{fit_path(name)}.md")
            yield ExportedPage(name, path, title_of(page, name), page, archive.members[name].changed)
    yield from others.told()


def is_page(name: str) -> bool:
    """Whether a member is Markdown that people see."""
    return _PAGE.fullmatch(name) is not None and not _HIDDEN.search(name)


def page_of(archive: Archive, name: str) -> str | Skipped:
    """A page's text; why there is none.

    Raises:
        TooLarge: the archive unpacks to more than any export would.
    """
    try:
        content = archive.content(name, MAX_PAGE_BYTES)
    except TooLarge:
        raise
    except BadInput as error:
        return Skipped(name, error.message, whole="page")
    if content is None:
        return Skipped(name, f"It is larger than {MAX_PAGE_BYTES // 1_000_000} MB: split it.", whole="page")
    if content.startswith(_UTF16):
        return clean(content.decode("utf-16", "replace"))
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    return text.replace("\0", "") if "\0" in text else text


def title_of(text: str, name: str) -> str:
    """What a page is called: its first heading where it begins with one, else its file's name."""
    body = text.removeprefix("\ufeff")
    if front := _FRONT.match(body):
        body = body[front.end() :]
    heading = _HEADING.match(body.lstrip())
    return heading[1] if heading else stem_of(name)


def stem_of(name: str) -> str:
    """A file's name without its folder and ending."""
    return name.rpartition("/")[2].rpartition(".")[0] or name


def fit_path(name: str) -> str:
    """A member's name as a path of the vault, without its ending."""
    return "/".join(file_name(part) for part in (*name.split("/")[:-1], stem_of(name)))


class OtherFiles:
    """Counts what is no page by its kind, so that thousands of pictures are told in a line."""

    def __init__(self) -> None:
        self._kinds: dict[str, list[str]] = {}

    def count(self, name: str) -> None:
        """One more that is not taken."""
        base = name.rpartition("/")[2]
        ending = base.rpartition(".")[2].lower() if "." in base.lstrip(".") else ""
        self._kinds.setdefault("hidden" if _HIDDEN.search(name) else ending[:12], []).append(name)

    def told(self) -> Iterator[Skipped]:
        """What there was, a kind at a time."""
        for kind, names in sorted(self._kinds.items()):
            if kind == "hidden":
                why, is_fault = "Settings and other hidden files: left alone.", False
            else:
                why, is_fault = "The vault keeps pages only; keep these files where they are.", True
            shown = names[0] if len(names) == 1 else f"{len(names):,} files .{kind}, such as {names[0]}"
            yield Skipped(shown[:200], why, is_fault=is_fault, count=len(names))
