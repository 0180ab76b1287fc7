"""Exports that are Markdown: plain files, an Obsidian folder, Notion's Markdown & CSV; each also as a zip.

Obsidian: pages stay as they are, byte for byte, but for links that name folders. A
link by a page's name alone finds it wherever it stands; one that names its folder is
given the folder's new place. Attachments lie beside the pages as they did; `.obsidian` and templates are left
and told.

Notion: names lose their ids, links become wikilinks. A page is `Title 0123…ef.md`
with its subpages in a folder of the same name; a database is a table
`Name 0123…ef.csv`, its rows pages in a folder like that. Large exports are zips in
a zip. The 32 digits are the page's id, by which links find it.
"""

from __future__ import annotations

import codecs
import csv
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from bethink.errors import BadInput, TooLarge
from bethink.importing.items import (
    FULL_PAGE_BYTES,
    ExportedAttachment,
    ExportedPage,
    Skipped,
    UniquePaths,
    clean,
    file_name,
    link_label,
    snake,
    text,
)

if TYPE_CHECKING:
    from bethink.importing.archive import Archive, Readable
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
    others = _Attachments(names)
    for name in archive.members:
        if not is_page(name):
            others.add(name, (*ROOT.split("/"), *name.split("/")[:-1]))
            continue
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
        else:
            path = names.free(f"{ROOT}/{_fit_path(name)}.md")
            yield ExportedPage(name, path, title_of(page, name), page, archive.members[name].changed)
    yield from others.items()


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


def _fit_path(name: str) -> str:
    """A member's name as a path of the vault, without its ending."""
    return "/".join(file_name(part) for part in (*name.split("/")[:-1], stem_of(name)))


@dataclass(slots=True)
class _Attachments:
    """What is no page: files that lie beside them come along, settings and other hidden files do not."""

    names: UniquePaths
    paths: dict[str, str] = field(default_factory=dict[str, str])
    """By the members' names, where they go."""
    _hidden: list[str] = field(default_factory=list[str])

    def add(self, name: str, folders: Sequence[str]) -> None:
        """A member; `folders` are those in which it goes, the last one the nearest."""
        if _HIDDEN.search(name):
            self._hidden.append(name)
            return
        stem, dot, ending = name.rpartition("/")[2].rpartition(".")
        called = f"{file_name(stem)}.{file_name(ending)}" if stem and dot else file_name(stem + ending)
        path = "/".join((*(file_name(folder) for folder in folders), called))
        self.paths[name] = self.names.free(path)

    def items(self, top: str = "") -> Iterator[Item]:
        """All of them; their keys are their names without `top`."""
        for name, path in self.paths.items():
            yield ExportedAttachment(name.removeprefix(top), path, name)
        if self._hidden:
            names = self._hidden
            shown = names[0] if len(names) == 1 else f"{len(names):,} files .hidden, such as {names[0]}"
            why = "Settings and other hidden files: skipped."
            yield Skipped(shown[:200], why, is_fault=False, count=len(names))


_MAX_CELL = 1_000
_MAX_FIELD = 10_000_000
_READ_AT_ONCE = 1 << 16
_ALL = re.compile(r"_all(?=\.csv$)", re.IGNORECASE)
NOTION_ROOT = "imported/notion"
_ID = re.compile(r"[ _-]?([0-9a-f]{32})(?=$|_all$|\.)", re.IGNORECASE)
_NAMED = re.compile(r"(^|/)[^/]* [0-9a-f]{32}(_all)?\.(md|csv)$", re.IGNORECASE)
_ANYWHERE = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
_WRAPPER = re.compile(r"(Export-|ExportBlock-)[0-9a-f-]+", re.IGNORECASE)
_PROPERTY = re.compile(r"([^\s:*#>|\-][^:\n]{0,60}): (.*)")
_TITLE = re.compile(r"(\ufeff?#[ \t]+[^\n]*\n)\n?")
_ADDRESS = re.compile(
    r"\[([^\[\]\n]*)\]\(https://(?:www\.)?notion\.so/[^\s()]*?([0-9a-f]{32})[^\s()]*\)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Destinations:
    """Where everything of the export goes: by its id, and by its name there."""

    by_id: Mapping[str, str]
    by_name: Mapping[str, str]
    databases: frozenset[str]
    """Folders, as the export names them, that hold the rows of a database."""
    attachments: _Attachments


def is_notions(name: str) -> bool:
    """Whether a member's name is one that Notion gives."""
    return _NAMED.search(name) is not None


def read_notion(archive: Archive) -> Iterator[Item]:
    """Each page and each database as a page; what else there is, told."""
    others, pages, tables = list[str](), list[str](), list[str]()
    for name in archive.members:
        if is_page(name):
            pages.append(name)
        elif name.lower().endswith(".csv"):
            tables.append(name)
        elif name.rpartition("/")[2] != "index.html":
            others.append(name)
    tables = tables_of(tables)
    placed = _mapped(pages, tables, others)
    for name in pages:
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
            continue
        title = title_of(page, _bare(name))
        text = _relinked(_with_facts(page, name, placed), name, placed)
        yield ExportedPage(_key(name), placed.by_name[name], title, text, archive.members[name].changed)
    for name in tables:
        yield from _read_table(
            archive, name, path=placed.by_name[name], key=_key(name), rows=_rows(name, placed)
        )
    yield from placed.attachments.items()


def _mapped(pages: list[str], tables: list[str], others: list[str]) -> _Destinations:
    names, by_id, by_name = UniquePaths(), dict[str, str](), dict[str, str]()
    for name in (*pages, *tables):
        parts = [file_name(_bare(part)) for part in name.split("/") if not _WRAPPER.fullmatch(part)]
        path = names.free(f"{NOTION_ROOT}/{'/'.join(parts)}.md")
        by_name[name] = path
        if found := _ID.search(stem_of(name)):
            by_id[found[1].lower()] = path
    folders = frozenset(_without_all(name).rpartition(".")[0] for name in tables)
    attachments = _Attachments(names)
    for name in others:
        parts = [_bare(part) for part in name.split("/")[:-1] if not _WRAPPER.fullmatch(part)]
        attachments.add(name, (*NOTION_ROOT.split("/"), *parts))
    databases = folders | {_bare_path(folder) for folder in folders}
    return _Destinations(by_id, by_name, databases, attachments)


def _bare(part: str) -> str:
    """A part of a name without its id and ending: what a person called it."""
    stem = part.rpartition("/")[2]
    for ending in (".md", ".csv"):
        if stem.lower().endswith(ending):
            stem = stem[: -len(ending)]
    return _ID.sub("", _without_all(stem)).strip() or stem


def _bare_path(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{_bare(name)}"


def _without_all(name: str) -> str:
    return re.sub(r"_all(?=$|\.csv$)", "", name, flags=re.IGNORECASE)


def _key(name: str) -> str:
    """Notion's id, the same in every export; the name where it has none."""
    found = _ID.search(stem_of(name))
    return found[1].lower() if found else name


def _rows(table: str, placed: _Destinations) -> dict[str, str]:
    """By their titles the pages of a database's rows."""
    folder = _without_all(table).rpartition(".")[0]
    folders = {folder, _bare_path(folder)}
    return {
        _bare(name): path
        for name, path in placed.by_name.items()
        if name.rpartition("/")[0] in folders and is_page(name)
    }


def _with_facts(page: str, name: str, placed: _Destinations) -> str:
    """A row's properties as facts: `Due date: May 3` becomes `- due_date: May 3`."""
    title = _TITLE.match(page)
    if title is None or name.rpartition("/")[0] not in placed.databases:
        return page
    lines = page[title.end() :].split("\n")
    count = next((place for place, line in enumerate(lines) if not _PROPERTY.fullmatch(line.rstrip("\r"))), 0)
    if not count:
        return page
    facts = [
        f"- {snake(found[1])}: {found[2].strip()}"
        for line in lines[:count]
        if (found := _PROPERTY.fullmatch(line.rstrip("\r"))) is not None
    ]
    return "\n".join((title[1], *facts, *lines[count:]))


def _relinked(page: str, name: str, placed: _Destinations) -> str:
    """The page with links to others of the export as wikilinks, and those to files leading to them."""
    from bethink.vault.markdown.links import links_of

    parts: list[str] = []
    done = 0
    here = placed.by_name[name]
    for link in links_of(page):
        if link.kind != "markdown":
            continue
        path = _target(link.target, name, placed)
        file = placed.attachments.paths.get(_resolved(link.target, name))
        if file is not None:
            start, end = link.target_span
            parts += [page[done:start], _address(file, here)]
        elif path is not None and page[link.span[0]] != "!":
            start, end = link.span
            parts += [page[done:start], _wikilink(path, link.label)]
        else:
            continue
        done = end
    text = "".join((*parts, page[done:]))

    def linked(found: re.Match[str]) -> str:
        path = placed.by_id.get(found[2].lower())
        return found[0] if path is None else _wikilink(path, found[1])

    return _ADDRESS.sub(linked, text)


def _target(target: str, name: str, placed: _Destinations) -> str | None:
    ids = _ANYWHERE.findall(target.rpartition("/")[2])
    if ids and ids[-1].lower() in placed.by_id:
        return placed.by_id[ids[-1].lower()]
    return placed.by_name.get(_resolved(target, name))


def _resolved(target: str, name: str) -> str:
    """The member that a link in another one means."""
    here = name.split("/")[:-1]
    for part in unquote(target).split("/"):
        if part == "..":
            here = here[:-1]
        elif part not in {"", "."}:
            here = [*here, part]
    return "/".join(here)


def _address(file: str, page: str) -> str:
    """How a page names a file that lies near it."""
    return quote(posixpath.relpath(file, posixpath.dirname(page) or "."))


def _wikilink(path: str, label: str) -> str:
    shown = link_label(label)
    return f"[[{path}|{shown}]]" if shown else f"[[{path}]]"


def tables_of(names: list[str]) -> list[str]:
    """The tables, each once: of a database's view and the whole of it (`_all`) the whole."""
    whole = {_ALL.sub("", name) for name in names if _ALL.search(name)}
    return [name for name in names if _ALL.search(name) or name not in whole]


def _read_table(
    archive: Archive, name: str, *, path: str, key: str, rows: Mapping[str, str]
) -> Iterator[Item]:
    """The pages of a database; `rows` are the pages of its rows by their titles, to which it links."""
    title = path.rpartition("/")[2].removesuffix(".md")
    number, lines, size, head = 1, list[str](), 0, ""

    def page() -> ExportedPage:
        more = "" if number == 1 else f" {number}"
        return ExportedPage(
            key=f"{key}{more.replace(' ', ':')}",
            path=f"{path.removesuffix('.md')}{more.replace(' ', '_')}.md",
            title=f"{title}{more}",
            text=f"# {title}{more}\n\n" + "\n".join([head, *lines]) + "\n",
            at=archive.members[name].changed,
        )

    csv.field_size_limit(_MAX_FIELD)
    try:
        with archive.open(name) as file:
            for place, row in enumerate(row for row in csv.reader(_lines(file)) if row):
                line = _table_line(row, rows)
                if not place:
                    head = line + "\n|" + " --- |" * len(row)
                    continue
                if size + len(line.encode()) > FULL_PAGE_BYTES:
                    yield page()
                    number, lines, size = number + 1, [], 0
                lines.append(line)
                size += len(line.encode()) + 1
    except TooLarge:
        raise
    except (BadInput, csv.Error) as error:
        yield Skipped(name, f"It is no table that can be read ({error}).")
    if head:
        yield page()


def _lines(file: Readable) -> Iterator[str]:
    """The lines of a file, with their ends; one without an end is cut."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    while part := file.read(_READ_AT_ONCE):
        *lines, rest = (rest + decoder.decode(part)).splitlines(keepends=True) or [""]
        yield from lines
        if len(rest) > _MAX_FIELD:
            yield rest
            rest = ""
    yield rest + decoder.decode(b"", final=True)


def _table_line(row: list[str], rows: Mapping[str, str]) -> str:
    lines = [" ".join(clean(cell).split()).replace("|", "\\|") for cell in row]
    first, *others = [line if len(line) <= _MAX_CELL else line[:_MAX_CELL] + "…" for line in lines]
    if (page := rows.get(first)) is not None:
        first = f"[[{page}\\|{first}]]"
    return "| " + " | ".join((first, *others)) + " |"


OBSIDIAN_ROOT = "imported/obsidian"
_SETTINGS = 1_000_000
_SETTINGS_FILES = (r"\.obsidian/templates\.json", r"\.obsidian/plugins/templater-obsidian/data\.json")
_FOLDERS = ("folder", "templates_folder")


def read_obsidian(archive: Archive) -> Iterator[Item]:
    """Each page where it stood in its folder; what is left, told."""
    # What stands before all names if the zip holds the folder itself.
    settings = next((name for name in archive.members if "/.obsidian/" in f"/{name}"), "")
    top = settings[: f"/{settings}".index("/.obsidian/")] if settings else ""
    templates, names = _templates(archive), UniquePaths()
    others = _Attachments(names)
    wanted: list[str] = []
    left = 0
    for name in archive.members:
        if not is_page(name):
            others.add(name, (*OBSIDIAN_ROOT.split("/"), *name.removeprefix(top).split("/")[:-1]))
        elif any(f"{name.removeprefix(top).rpartition('/')[0]}/".startswith(f"{one}/") for one in templates):
            left += 1
        else:
            wanted.append(name)
    paths = {name: names.free(f"{OBSIDIAN_ROOT}/{_fit_path(name.removeprefix(top))}.md") for name in wanted}
    everything = (paths | others.paths).items()
    moved = {_folded(name.removeprefix(top)): path for name, path in everything}
    # An attachment is named alone, wherever it lies; the first one of a name is meant.
    for name, path in others.paths.items():
        moved.setdefault(f"//{_folded(name.rpartition('/')[2])}", path)
    for name, path in paths.items():
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
        else:
            key = name.removeprefix(top)
            yield ExportedPage(
                key, path, title_of(page, name), relinked(page, moved, path), archive.members[name].changed
            )
    if left:
        yield Skipped(", ".join(sorted(templates)), "Templates: skipped.", is_fault=False, count=left)
    yield from others.items(top)


def relinked(page: str, moved: Mapping[str, str], here: str) -> str:
    """The page, which is now at `here`, with links leading to where things are now; all else as it was.

    Those are links that name a folder, and what names a file that lies elsewhere.
    """
    from bethink.vault.markdown.links import links_of

    if "[[" not in page and "](" not in page:
        return page
    parts: list[str] = []
    done = 0
    for link in links_of(page):
        target = unquote(link.target) if link.kind == "markdown" else link.target
        path = moved.get(_folded(target))
        if link.kind == "markdown":
            # A file is named from the page, else from the top of the vault.
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
            path = None if path is None or link.is_to_page or beside in moved.values() else quote(path)
        elif "/" not in target:
            path = None if link.is_to_page else moved.get(f"//{_folded(target)}")
            path = None if path and posixpath.dirname(path) == posixpath.dirname(here) else path
        if path is None:
            continue
        start, end = link.target_span
        parts += [page[done:start], path if target.endswith(".md") else path.removesuffix(".md")]
        done = end
    return "".join((*parts, page[done:]))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold().removesuffix(".md").lstrip("/")


def _templates(archive: Archive) -> set[str]:
    """The folders of templates, as Obsidian and its plug-in Templater are set up."""
    found = {"Templates", "templates"}
    for pattern in _SETTINGS_FILES:
        for name in archive.named(pattern):
            settings = archive.small_json(name, _SETTINGS)
            found |= {text(settings.get(one)).strip("/") for one in _FOLDERS}
    return found - {""}
