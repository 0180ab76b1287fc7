"""An Obsidian folder, or a zip of it: pages as they are, byte for byte, but for links that name folders.

A link by a page's name alone finds it wherever it stands. One that names its
folder is given the folder's new place. `.obsidian`, templates and attachments
are left where they are, and told.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import BadInput, TooLarge
from bethink.importing.items import ExportedPage, Skipped, mapping, text
from bethink.importing.markdown import OtherFiles, fit_path, is_page, page_of, title_of
from bethink.importing.names import UniquePaths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

ROOT = "imported/obsidian"
_SETTINGS = 1_000_000
_SETTINGS_FILES = (r"\.obsidian/templates\.json", r"\.obsidian/plugins/templater-obsidian/data\.json")
_FOLDERS = ("folder", "templates_folder")


def read(archive: Archive) -> Iterator[Item]:
    """Each page where it stood in its folder; what is left, told."""
    top, templates, others, names = _top(archive), _templates(archive), OtherFiles(), UniquePaths()
    wanted: list[str] = []
    left = 0
    for name in archive.members:
        if not is_page(name):
            others.count(name)
        elif any(f"{name.removeprefix(top).rpartition('/')[0]}/".startswith(f"{one}/") for one in templates):
            left += 1
        else:
            wanted.append(name)
    paths = {name: names.free(f"{ROOT}/{fit_path(name.removeprefix(top))}.md") for name in wanted}
    moved = {_folded(name.removeprefix(top)): path for name, path in paths.items()}
    for name, path in paths.items():
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
        else:
            key = name.removeprefix(top)
            yield ExportedPage(
                key, path, title_of(page, name), relinked(page, moved), archive.members[name].changed
            )
    if left:
        yield Skipped(", ".join(sorted(templates)), "Templates: left alone.", is_fault=False, count=left)
    yield from others.told()


def relinked(page: str, moved: Mapping[str, str]) -> str:
    """The page with links that name a folder leading to where the page is now; all else as it was."""
    from bethink.vault.markdown.links import links_of

    if "[[" not in page:
        return page
    parts: list[str] = []
    done = 0
    for link in links_of(page):
        path = moved.get(_folded(link.target))
        if link.kind == "markdown" or "/" not in link.target or path is None:
            continue
        start, end = link.target_span
        parts += [page[done:start], path if link.target.endswith(".md") else path.removesuffix(".md")]
        done = end
    return "".join((*parts, page[done:]))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold().removesuffix(".md").lstrip("/")


def _top(archive: Archive) -> str:
    """What stands before all names where the zip holds the folder itself."""
    found = next((name for name in archive.members if "/.obsidian/" in f"/{name}"), "")
    return found[: f"/{found}".index("/.obsidian/")] if found else ""


def _templates(archive: Archive) -> set[str]:
    """The folders of templates, as Obsidian and its plug-in Templater are set up."""
    found = {"Templates", "templates"}
    for pattern in _SETTINGS_FILES:
        for name in archive.named(pattern):
            try:
                parsed: object = msgspec.json.decode(archive.content(name, _SETTINGS) or b"{}")
            except TooLarge:
                raise
            except (BadInput, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            found |= {text(mapping(parsed).get(one)).strip("/") for one in _FOLDERS}
    return found - {""}
