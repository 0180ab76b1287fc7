"""Pages and databases as Notion exports them (Markdown & CSV): names without their ids, links as wikilinks.

A page is `Title 0123…ef.md` with its subpages in a folder of the same name; a
database is a table `Name 0123…ef.csv`, its rows pages in a folder like that. Large
exports are zips in a zip. The 32 digits are the page's id, by which links find it.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bethink.errors import BadInput, TooLarge
from bethink.importing.items import ExportedPage, Skipped, clean
from bethink.importing.markdown import OtherFiles, is_page, page_of, stem_of, title_of
from bethink.importing.names import UniquePaths, file_name, snake

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bethink.importing.archive import Archive, Readable
    from bethink.importing.items import Item

_MOST_BYTES = 900_000
"""Of a page's table: a little less than a file of the vault may have."""
_MAX_CELL = 1_000
_MAX_FIELD = 10_000_000
_READ_AT_ONCE = 1 << 16
_ALL = re.compile(r"_all(?=\.csv$)", re.IGNORECASE)
ROOT = "imported/notion"
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


def is_notions(name: str) -> bool:
    """Whether a member's name is one that Notion gives."""
    return _NAMED.search(name) is not None


def read(archive: Archive) -> Iterator[Item]:
    """Each page and each database as a page; what else there is, told."""
    others, pages, tables = OtherFiles(), list[str](), list[str]()
    for name in archive.members:
        if is_page(name):
            pages.append(name)
        elif name.lower().endswith(".csv"):
            tables.append(name)
        elif name.rpartition("/")[2] != "index.html":
            others.count(name)
    tables = tables_of(tables)
    placed = _mapped(pages, tables)
    for name in pages:
        page = page_of(archive, name)
        if isinstance(page, Skipped):
            yield page
            continue
        title = title_of(page, _bare(name))
        text = _relinked(_with_facts(page, name, placed), name, placed)
        yield ExportedPage(_key(name), placed.by_name[name], title, text, archive.members[name].changed)
    for name in tables:
        yield from read_table(
            archive, name, path=placed.by_name[name], key=_key(name), rows=_rows(name, placed)
        )
    yield from others.told()


def _mapped(pages: list[str], tables: list[str]) -> _Destinations:
    names, by_id, by_name = UniquePaths(), dict[str, str](), dict[str, str]()
    for name in (*pages, *tables):
        parts = [file_name(_bare(part)) for part in name.split("/") if not _WRAPPER.fullmatch(part)]
        path = names.free(f"{ROOT}/{'/'.join(parts)}.md")
        by_name[name] = path
        if found := _ID.search(stem_of(name)):
            by_id[found[1].lower()] = path
    folders = frozenset(_without_all(name).rpartition(".")[0] for name in tables)
    return _Destinations(by_id, by_name, folders | {_bare_path(folder) for folder in folders})


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
    """The page with links to others of the export as wikilinks; pictures and other files as they were."""
    from bethink.vault.markdown.links import links_of

    parts: list[str] = []
    done = 0
    for link in links_of(page):
        path = _target(link.target, name, placed) if link.kind == "markdown" else None
        start, end = link.span
        if path is None or page[start] == "!":
            continue
        parts += [page[done:start], _wikilink(path, link.label)]
        done = end
    text = "".join((*parts, page[done:]))
    return _ADDRESS.sub(lambda found: _address(found, placed), text)


def _target(target: str, name: str, placed: _Destinations) -> str | None:
    ids = _ANYWHERE.findall(target.rpartition("/")[2])
    if ids and ids[-1].lower() in placed.by_id:
        return placed.by_id[ids[-1].lower()]
    here = name.split("/")[:-1]
    for part in unquote(target).split("/"):
        if part == "..":
            here = here[:-1]
        elif part not in {"", "."}:
            here = [*here, part]
    return placed.by_name.get("/".join(here))


def _address(found: re.Match[str], placed: _Destinations) -> str:
    path = placed.by_id.get(found[2].lower())
    return found[0] if path is None else _wikilink(path, found[1])


def _wikilink(path: str, label: str) -> str:
    shown = " ".join(label.replace("|", "/").replace("[", "(").replace("]", ")").split())
    return f"[[{path}|{shown}]]" if shown else f"[[{path}]]"


def tables_of(names: list[str]) -> list[str]:
    """The tables, each once: of a database's view and the whole of it (`_all`) the whole."""
    whole = {_ALL.sub("", name) for name in names if _ALL.search(name)}
    return [name for name in names if _ALL.search(name) or name not in whole]


def read_table(
    archive: Archive, name: str, *, path: str, key: str, rows: Mapping[str, str]
) -> Iterator[Item]:
    """The pages of a database; `rows` are the pages of its rows by their titles, to which it links."""
    title = path.rpartition("/")[2].removesuffix(".md")
    number, lines, size, head = 1, list[str](), 0, ""
    changed = archive.members[name].changed
    try:
        with archive.open(name) as file:
            for place, row in enumerate(_csv_rows(file)):
                line = _line([_cell(cell) for cell in row], rows)
                if not place:
                    head = line + "\n|" + " --- |" * len(row)
                    continue
                if size + len(line.encode()) > _MOST_BYTES:
                    yield _page(title, path, key, number=number, text=[head, *lines], changed=changed)
                    number, lines, size = number + 1, [], 0
                lines.append(line)
                size += len(line.encode()) + 1
    except TooLarge:
        raise
    except (BadInput, csv.Error) as error:
        yield Skipped(name, f"It is no table that can be read ({error}).")
    if head:
        yield _page(title, path, key, number=number, text=[head, *lines], changed=changed)


def _csv_rows(file: Readable) -> Iterator[list[str]]:
    csv.field_size_limit(_MAX_FIELD)
    return (row for row in csv.reader(_lines(file)) if row)


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


def _cell(cell: str) -> str:
    line = " ".join(clean(cell).split()).replace("|", "\\|")
    return line if len(line) <= _MAX_CELL else line[:_MAX_CELL] + "…"


def _line(cells: list[str], rows: Mapping[str, str]) -> str:
    page = rows.get(cells[0]) if cells else None
    first = cells[0] if page is None else f"[[{page}\\|{cells[0]}]]"
    return "| " + " | ".join((first, *cells[1:])) + " |"


def _page(
    title: str, path: str, key: str, *, number: int, text: list[str], changed: int | None
) -> ExportedPage:
    more = "" if number == 1 else f" {number}"
    return ExportedPage(
        key=f"{key}{more.replace(' ', ':')}",
        path=f"{path.removesuffix('.md')}{more.replace(' ', '_')}.md",
        title=f"{title}{more}",
        text=f"# {title}{more}\n\n" + "\n".join(text) + "\n",
        at=changed,
    )
