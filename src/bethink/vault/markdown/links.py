"""Links between pages: where they stand in a text, and which page each means.

`format` reads them with the rest of a page; the graph, the tools and the
renaming of pages resolve them. Recognised are `[[page]]`, `[[page|label]]`,
`[[page#Section]]`, `[[page#^block]]`, `![[page]]` and `[label](page.md)`, not
in code and not in comments.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, Protocol
from urllib.parse import quote, unquote

import msgspec

from bethink.vault.markdown.lines import Lines, Span, scan

LinkKind = Literal["wiki", "embed", "markdown"]
"""`[[page]]`, `![[page]]` and `[label](page.md)`; a picture by `![label](…)` is a markdown link, too."""

SUFFIX: Final = ".md"
_TOKEN: Final = re.compile(r"\\[!-/:-@\[-`{-~]|`+|!?\[\[|!?\[|\]")
_BRACKETS: Final = 2
_RUN: Final = re.compile(r"`+")
_WIKI: Final = re.compile(r"([^\[\]\n]+)\]\]")
_BAR: Final = re.compile(r"\\?\|")
_INLINE: Final = re.compile(
    r"\([ \t\n]*(?:<(?P<angled>[^<>\n]*)>|(?P<bare>[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*))"
    r"""(?:[ \t\n]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t\n]*\)"""
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ATTACHED: Final = re.compile(
    r"\.(?:3gp|avif|base|bmp|canvas|csv|docx|flac|gif|html?|jpe?g|js|json|m4a|mkv|mov|mp[34]|odt|og[gv]|opus|pdf|png"
    r"|pptx|py|svg|toml|txt|wav|web[mp]|xlsx?|xml|ya?ml|zip)$",
    re.IGNORECASE,
)
"""Endings of files that are no pages; `[[v1.2 notes]]` is one."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as it is written.

    `target` is the page's name without section and block, "" for a link within
    its own page; `span` the whole link, `target_span` what a new name replaces.
    """

    kind: LinkKind
    target: str
    section: str
    block: str
    label: str
    span: Span
    target_span: Span

    @property
    def is_to_page(self) -> bool:
        """Whether it means a page, and no picture or other file."""
        return _ATTACHED.search(self.target) is None


def links_of(text: str) -> list[Link]:
    """The links of a page, in order."""
    return links_in(scan(text))


def links_in(lines: Lines) -> list[Link]:
    """The same, of lines that were read already."""
    plain = lines.plain
    if "[" not in plain:
        return []
    found: list[Link] = []
    chunks, done = lines.chunks, -1
    at = plain.find("[", lines.body)
    while at >= 0:
        place = bisect_right(chunks, (at, len(plain) + 1)) - 1
        if place > done and chunks[place][1] > at:
            start, end = chunks[place]
            found += _Chunk(lines, start, end).links()
            done, at = place, end - 1
        at = plain.find("[", at + 1)
    return found


def parse_link(link: str) -> Link:
    """A link as somebody names it: with or without its brackets, or just a page's name."""
    text = link.strip()
    found = [one for one in links_of(text) if one.span == (0, len(text))]
    return found[0] if found else _wiki(text, (0, len(text)), 0)


class _Chunk:
    """The links in one part of running text."""

    def __init__(self, lines: Lines, start: int, end: int) -> None:
        self.lines = lines
        self.start, self.end = start, end
        self._runs: dict[int, list[int]] | None = None

    def links(self) -> Iterator[Link]:
        plain, at = self.lines.plain, self._first()
        open_marks: list[int] = []
        while (token := _TOKEN.search(plain, at, self.end)) is not None:
            mark, at = token[0], token.end()
            if mark[0] == "`":
                at = self._behind_code(len(mark), at)
            elif mark == "]":
                link = self._markdown(open_marks.pop(), token.start()) if open_marks else None
                if link is not None:
                    yield link
                    at = link.span[1]
            elif mark.endswith("[["):
                link = self._wiki(token)
                if link is not None:
                    yield link
                    at = link.span[1]
                else:
                    open_marks.append(token.start())
                    at -= 1
            elif mark[-1] == "[" and mark[0] != "\\":
                open_marks.append(token.start())

    def _first(self) -> int:
        """Where there is something to look at: most of a text is not."""
        places = [self.lines.plain.find(mark, self.start, self.end) for mark in ("[", "![", "`", "\\")]
        return min(place for place in places if place >= 0)

    def _wiki(self, token: re.Match[str]) -> Link | None:
        inner = _WIKI.match(self.lines.plain, token.end(), self.end)
        if inner is None or not inner[1].strip(" \t|\\"):
            return None
        return _wiki(inner[1], (token.start(), inner.end()), inner.start())

    def _markdown(self, opening: int, closing: int) -> Link | None:
        plain = self.lines.plain
        if closing + 1 >= self.end or plain[closing + 1] != "(":
            return None
        inner = _INLINE.match(plain, closing + 1, self.end)
        if inner is None:
            return None
        group = "bare" if inner["angled"] is None else "angled"
        written = inner[group]
        if not written or _SCHEME.match(written):
            return None
        path, mark, section = written.partition("#")
        label = plain[opening:closing].lstrip("!")[1:]
        start = inner.start(group)
        return Link(
            "markdown",
            unquote(path),
            *_place(unquote(section) if mark else ""),
            label,
            (opening, inner.end()),
            (start, start + len(path)),
        )

    def _behind_code(self, length: int, at: int) -> int:
        """Behind the run of as many backticks; `at` where there is none (CommonMark, 6.1)."""
        if self._runs is None:
            self._runs = {}
            for run in _RUN.finditer(self.lines.plain, self.start, self.end):
                self._runs.setdefault(len(run[0]), []).append(run.start())
        runs = self._runs.get(length, [])
        place = bisect_right(runs, at - 1)
        return runs[place] + length if place < len(runs) else at


def _wiki(inner: str, span: Span, start: int) -> Link:
    """The link whose brackets hold `inner` from `start` on: what is before them tells its kind."""
    kind: LinkKind = "embed" if start - span[0] > _BRACKETS else "wiki"
    bar = _BAR.search(inner)
    named, label = (inner, "") if bar is None else (inner[: bar.start()], inner[bar.end() :])
    path, mark, place = named.partition("#")
    target = path.strip(" \t")
    start += len(path) - len(path.lstrip(" \t"))
    return Link(
        kind, target, *_place(place if mark else ""), label.strip(" \t"), span, (start, start + len(target))
    )


def _place(place: str) -> tuple[str, str]:
    """The section and the block that stand behind `#`; of `A#B` the section is B, within A."""
    place = place.strip(" \t")
    if place.startswith("^"):
        return "", place[1:]
    section, _, block = place.partition("#^")
    return section.strip(" \t#"), block


class Named(Protocol):
    """What names a page as a link does."""

    @property
    def kind(self) -> LinkKind:
        """How it is written."""
        ...

    @property
    def target(self) -> str:
        """The page's name."""
        ...


class Resolver:
    """Which page a link means, among the pages of one vault.

    `aliases` are other names of pages, each with its page's path. Names are
    compared without case and in one Unicode form; of several pages of one name
    the one beside the linking page counts, then the one nearest to the top. Made once for many links:
    it takes a walk over all paths.
    """

    def __init__(self, paths: Iterable[str], aliases: Mapping[str, str] | None = None) -> None:
        self._by_path: dict[str, str] = {}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            key = key_of(path)
            self._by_path.setdefault(key, path)
            self._by_name.setdefault(key.rpartition("/")[2], []).append(path)
        self._aliases: dict[str, str] = {}
        for alias, path in (aliases or {}).items():
            self._aliases.setdefault(key_of(alias), path)

    def resolve(self, target: str, from_path: str = "") -> str | None:
        """The path of the page that `target` names on the page at `from_path`; None where there is none.

        "" is that page itself.
        """
        return self.named(target, from_path) or self._aliases.get(key_of(target))

    def named(self, target: str, from_path: str = "") -> str | None:
        """The same by paths and names of files alone, without other names."""
        if not target:
            return from_path or None
        folder = posixpath.dirname(from_path)
        key = key_of(target)
        return self._by_path.get(key.lstrip("/")) or self._relative(key, folder) or self._by_end(key)

    def resolve_link(self, link: Named, from_path: str) -> str | None:
        """The same for a link; one in Markdown's form is relative to its page first."""
        return self.beside(link, from_path) or self.resolve(link.target, from_path)

    def beside(self, link: Named, from_path: str) -> str | None:
        """The page that a link in Markdown's form means as every program reads it: relative to its page."""
        if link.kind != "markdown" or not link.target or link.target.startswith("/"):
            return None
        return self._relative(key_of(link.target), posixpath.dirname(from_path))

    def shortest(self, path: str, from_path: str = "") -> str:
        """The shortest name by which a wikilink on that page means this one: without its ending."""
        name = path.removesuffix(SUFFIX)
        short = name.rpartition("/")[2]
        return short if self.resolve(short, from_path) == path else name

    def _relative(self, key: str, folder: str) -> str | None:
        joined = (
            posixpath.normpath(posixpath.join(key_of(folder), key)) if folder else posixpath.normpath(key)
        )
        return self._by_path.get(joined)

    def _by_end(self, key: str) -> str | None:
        named = self._by_name.get(key.rpartition("/")[2], [])
        if "/" in key:
            named = [path for path in named if key_of(path).endswith(f"/{key}")]
        return named[0] if named else None


def key_of(name: str) -> str:
    """A page's path, or a name of it, as names are compared: without ending and case, in Unicode's NFC."""
    name = name if name.isascii() else unicodedata.normalize("NFC", name)
    return name.strip().replace("\\", "/").casefold().removesuffix(SUFFIX)


class Moves(msgspec.Struct, frozen=True):
    """Pages that got new paths: `paths` from old to new, and all pages before and behind it."""

    paths: Mapping[str, str]
    before: Resolver
    behind: Resolver


def relinked(text: str, path: str, moves: Moves, *, was_at: str = "") -> str:
    """The text of the page that is now at `path`, its links meaning what they meant before the moves.

    `was_at` is where the text stood, unless `moves` tell. Only names of pages change, and only where they
    would mean something else now; each stays as it was written: whole path or name alone, with `.md` or
    without.
    """
    was_at = was_at or next((old for old, new in moves.paths.items() if new == path), path)

    def renamed(link: Link) -> str | None:
        meant = moves.before.resolve_link(link, was_at) if link.target else None
        if meant is None:
            return None
        meant = moves.paths.get(meant, meant)
        # Others read Markdown's links by their place alone: where they could, they still can.
        was_beside = moves.before.beside(link, was_at) is not None
        find = moves.behind.beside if was_beside else moves.behind.resolve_link
        return None if find(link, path) == meant else _named_as(link, text, meant, at=(path, moves.behind))

    return _replaced(text, lambda link: link.target_span, renamed)


def retargeted(text: str, path: str, names: Mapping[str, str], *, resolver: Resolver) -> str:
    """The text of the page at `path`, its broken links that name one of `names` leading to that page."""

    def renamed(link: Link) -> str | None:
        meant = names.get(link.target)
        is_broken = meant is not None and resolver.resolve_link(link, path) is None
        return _named_as(link, text, meant, at=(path, resolver)) if is_broken and meant else None

    return _replaced(text, lambda link: link.target_span, renamed)


def unlinked(text: str, path: str, target: str, *, resolver: Resolver) -> str:
    """The text of the page at `path`, its broken links of this name the words that they showed."""

    def words(link: Link) -> str | None:
        is_meant = link.target == target and resolver.resolve_link(link, path) is None
        return (link.label or link.target) if is_meant else None

    return _replaced(text, lambda link: link.span, words)


def resectioned(text: str, path: str, whole: str, *, places: Mapping[str, str], behind: Resolver) -> str:
    """The text of the page at `path`, its links to what stood on the page `whole` and lies elsewhere now.

    `places` tells the pages: of sections without case, of blocks behind `^`.
    """

    def renamed(link: Link) -> str | None:
        own = whole if path == whole or path in places.values() else path
        meant = behind.resolve_link(link, path) if link.target else own
        name = f"^{link.block}" if link.block else link.section.rpartition("#")[2].strip().casefold()
        now = places.get(name) if meant == whole and name else None
        return None if now in {None, path} else _named_as(link, text, now or "", at=(path, behind))

    return _replaced(text, lambda link: link.target_span, renamed)


def _replaced(text: str, span: Callable[[Link], Span], words: Callable[[Link], str | None]) -> str:
    """The text with other words in the spans of those links that get some."""
    parts: list[str] = []
    done = 0
    for link in links_of(text):
        if (new := words(link)) is not None:
            start, end = span(link)
            parts += (text[done:start], new)
            done = end
    return "".join((*parts, text[done:]))


def _named_as(link: Link, text: str, meant: str, *, at: tuple[str, Resolver]) -> str:
    """A page's name in the manner of the one that stands in a link."""
    written = text[slice(*link.target_span)]
    path, resolver = at
    ending = SUFFIX if link.target.casefold().endswith(SUFFIX) else ""
    if link.kind == "markdown":
        is_rooted = link.target.startswith("/")
        name = f"/{meant}" if is_rooted else posixpath.relpath(meant, posixpath.dirname(path) or ".")
        name = name.removesuffix(SUFFIX) + ending
        return quote(name, safe="/._-~!$&'*+,;=:@") if "%" in written or " " in name else name
    name = meant.removesuffix(SUFFIX) if "/" in link.target else resolver.shortest(meant, path)
    return name + ending
