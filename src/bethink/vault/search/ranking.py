"""From pages that may hold what is sought to those that do, ranked. `search` calls it.

Pages are read some at a time, those first that the catalogue thinks best, until
there are enough: within each lot they are ranked by what they say.
"""

from __future__ import annotations

import math
import re
import time
import unicodedata
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio.to_thread

from bethink.errors import BadInput
from bethink.vault.markdown.format import parse, section_at, sections
from bethink.vault.markdown.frontmatter import name_of, title_of

if TYPE_CHECKING:
    from bethink.vault.markdown.lines import Span
    from bethink.vault.regex import Regex
    from bethink.vault.search.catalogue import CatalogueRow
    from bethink.vault.search.query import PageSearch, SearchFilters


MAX_HITS: Final = 200
"""Of one page that are counted: more make it no better."""
_MAX_EXCERPTS: Final = 5
_MAX_LINE_CHARS: Final = 300
_BEFORE_CHARS: Final = 100
"""Of a long line, what is shown before its first mark."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a page, the first one's number from 1, and the places in `text` of what is sought."""

    line: int
    text: str
    marks: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class PageMatches:
    """Where a page says it: `spans` in order, how many of the terms, and how many stand as whole words."""

    spans: tuple[Span, ...]
    met: int
    whole: int


def matcher_of(term: str, *, case: bool) -> re.Pattern[str]:
    """Finds a word or a phrase, in whichever Unicode form it is written."""
    forms = dict.fromkeys((unicodedata.normalize("NFC", term), unicodedata.normalize("NFD", term), term))
    return re.compile("|".join(map(re.escape, forms)), 0 if case else re.IGNORECASE)


def matched(
    text: str, matchers: Sequence[re.Pattern[str]], parts: Sequence[Span], *, name: str = ""
) -> PageMatches:
    """Where the parts of a text hold what the matchers seek; a page's `name` may hold it, too."""
    spans: set[Span] = set()
    met = whole = 0
    for matcher in matchers:
        found = [
            hit.span() for start, end in parts for hit in islice(matcher.finditer(text, start, end), MAX_HITS)
        ]
        met += bool(found) or matcher.search(name) is not None
        whole += any(_is_whole(text, span) for span in found[:_LOOKED_AT])
        spans.update(found)
    return PageMatches(tuple(sorted(spans)[:MAX_HITS]), met, whole)


def within(spans: Sequence[Span], parts: Sequence[Span]) -> tuple[Span, ...]:
    """The spans that begin in one of the parts; both in order."""
    starts = [start for start, _ in parts]
    found: list[Span] = []
    for span in spans:
        place = bisect_right(starts, span[0]) - 1
        if place >= 0 and span[0] < max(parts[place][1], parts[place][0] + 1):
            found.append(span)
    return tuple(found)


def excerpts(text: str, spans: Sequence[Span], context: int) -> tuple[Excerpt, ...]:
    """The lines of the first hits with so many around each; those that touch are shown as one."""
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    blocks: list[tuple[int, int, list[Span]]] = []
    for span in spans:
        line = bisect_right(starts, span[0]) - 1
        last = bisect_right(starts, max(span[0], span[1] - 1)) - 1
        low, high = max(0, line - context), min(len(starts) - 1, last + context)
        if blocks and low <= blocks[-1][1] + 1:
            blocks[-1] = (blocks[-1][0], max(high, blocks[-1][1]), [*blocks[-1][2], span])
        elif len(blocks) < _MAX_EXCERPTS:
            blocks.append((low, high, [span]))
        else:
            break
    return tuple(_excerpt(text, starts, block) for block in blocks)


_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_LOOKED_AT: Final = 50
_MAX_MARKS: Final = 50
_MAX_LINES: Final = 60


def _excerpt(text: str, starts: Sequence[int], block: tuple[int, int, Sequence[Span]]) -> Excerpt:
    low, high, spans = block
    parts: list[str] = []
    marks: list[Span] = []
    place = 0
    for line in range(low, min(high, low + _MAX_LINES) + 1):
        end = starts[line + 1] if line + 1 < len(starts) else len(text)
        content = text[starts[line] : end].rstrip("\r\n")
        inside = [
            (max(0, start - starts[line]), min(len(content), stop - starts[line]))
            for start, stop in spans
            if start < starts[line] + len(content) and stop > starts[line]
        ]
        shown, inside = _cut(content, inside)
        marks += [(place + start, place + stop) for start, stop in inside if stop > start]
        parts.append(shown)
        place += len(shown) + 1
    return Excerpt(low + 1, "\n".join(parts), tuple(marks[:_MAX_MARKS]))


def _cut(line: str, marks: list[Span]) -> tuple[str, list[Span]]:
    """A line short enough to be shown, around its first mark."""
    if len(line) <= _MAX_LINE_CHARS:
        return line, marks
    start = max(0, (marks[0][0] if marks else 0) - _BEFORE_CHARS)
    end = min(len(line), start + _MAX_LINE_CHARS)
    before = "…" if start else ""
    moved = [
        (a - start + len(before), min(b, end) - start + len(before)) for a, b in marks if start <= a < end
    ]
    return f"{before}{line[start:end]}{'…' if end < len(line) else ''}", moved


def _is_whole(text: str, span: Span) -> bool:
    start, end = span
    return not (text[start - 1 : start].isalnum() and text[start : start + 1].isalnum()) and not (
        text[end : end + 1].isalnum() and text[end - 1 : end].isalnum()
    )


Texts = Callable[["Sequence[str]"], Awaitable[list[tuple[str, str]]]]
"""The pages that can be read among these paths, with their texts as they are seen."""

_TIME_S: Final = 4.0
"""For one search: a tool's call has five."""
_LOT: Final = 60
_DAY_US: Final = 86_400_000_000
_HALF_LIFE_DAYS: Final = 180.0
_HALF_SCORE: Final = 4.0
"""The points at which a score is one half."""
_IS_NAME, _IN_NAME, _IN_HEADING, _IN_PATH = 4.0, 2.0, 1.0, 0.5
_PHRASE, _WHOLE, _NEW, _MANY = 2.0, 0.5, 0.5, 0.25
"""Points: what a name or a heading holds counts most, then the phrase as it was asked for."""
_SOME: Final = "No page contains all of these words; these contain some of them."
_TOO_LONG: Final = (
    "The regular expression takes too long on these pages: make it simpler, or narrow the search by a "
    "filter such as `entities/*`."
)
_STOPPED: Final = (
    "The search stopped after {seconds:.0f} s: {looked:,} of {all:,} pages were looked at. Narrow it."
)


class Candidate(NamedTuple):
    """A page that may hold what is sought, and how many of the terms."""

    row: CatalogueRow
    met: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that was found. `score` is 0..1, `hits` how often it says it, `changed` microseconds UTC.

    `section` are the headings above the first hit, from the topmost.
    """

    path: str
    title: str
    score: float
    hits: int
    changed: int
    section: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Some of what was found, the best first. `total` pages were found in all; at least, unless `is_exact`.

    `notes` say in words what else there is to know.
    """

    pages: tuple[SearchResult, ...]
    total: int
    is_exact: bool
    page: int
    has_more: bool
    notes: tuple[str, ...] = ()


class _Hit(NamedTuple):
    row: CatalogueRow
    text: str
    matched: PageMatches
    points: float


class _Looked(NamedTuple):
    """What was found among some pages; whether all were looked at, and whether the time was over."""

    hits: list[_Hit]
    is_all: bool = True
    note: str = ""


@dataclass(slots=True)
class Ranking:
    """One search on its way. `terms` are folded."""

    asked: PageSearch
    filters: SearchFilters
    texts: Texts
    now_us: int
    terms: Sequence[str]
    regex: Regex | None = None
    matchers: list[re.Pattern[str]] = field(init=False)
    phrase: re.Pattern[str] | None = field(init=False, default=None)
    whole: str = field(init=False)

    def __post_init__(self) -> None:
        self.whole = " ".join(self.terms)
        self.matchers = [matcher_of(term, case=self.asked.case) for term in self.asked.terms]
        if len(self.matchers) > 1:
            self.phrase = matcher_of(" ".join(self.asked.query.split()), case=self.asked.case)

    async def found(self, candidates: Sequence[Candidate]) -> SearchResults:
        """The page of results that is asked for.

        Raises:
            BadInput: a regular expression takes too long.
        """
        deadline = time.monotonic() + _TIME_S
        best = sorted(
            candidates, key=lambda one: (-one.met, -self._named(one.row), -one.row.changed, one.row.path)
        )
        most = len(self.terms)
        whole = [one.row for one in best if one.met == most]
        looked = await self._looked(whole, deadline, need=most)
        if not looked.hits and not looked.note and most > 1:
            some = [one.row for one in best if one.met]
            looked = await self._looked(some, deadline, need=1)
            looked = looked._replace(note=looked.note or _SOME) if looked.hits else looked
        return await anyio.to_thread.run_sync(self._page, looked)

    async def _looked(self, rows: Sequence[CatalogueRow], deadline: float, *, need: int) -> _Looked:
        """Look at pages until there are enough, a lot at a time."""
        by_path = {row.path: row for row in rows}
        enough = self.asked.page * self.asked.limit + 1
        hits: list[_Hit] = []
        for start in range(0, len(rows), _LOT):
            if len(hits) >= enough:
                return _Looked(hits, is_all=False)
            if time.monotonic() > deadline:
                note = _STOPPED.format(seconds=_TIME_S, looked=start, all=len(rows))
                return _Looked(hits, is_all=False, note=note)
            texts = await self.texts([row.path for row in rows[start : start + _LOT]])
            pages = [(by_path[path], text) for path, text in texts]
            found = await anyio.to_thread.run_sync(partial(self._hits, pages, need, deadline=deadline))
            hits += sorted(found, key=lambda hit: (-hit.points, -hit.row.changed, hit.row.path))
        return _Looked(hits)

    def _hits(self, pages: Sequence[tuple[CatalogueRow, str]], need: int, *, deadline: float) -> list[_Hit]:
        hits: list[_Hit] = []
        for row, text in pages:
            if self.regex is None:
                parts = self.filters.parts(text)
                found = matched(text, self.matchers, parts, name=name_of(row.path))
                is_hit = bool(parts) and found.met >= need
            else:
                if time.monotonic() > deadline:
                    raise BadInput(_TOO_LONG)
                spans = self.regex.spans(text, MAX_HITS)
                found = PageMatches(within(spans, self.filters.parts(text)) if spans else (), 0, 0)
                is_hit = bool(found.spans)
            if is_hit:
                hits.append(_Hit(row, text, found, self._points(row, text, found)))
        return hits

    def _named(self, row: CatalogueRow) -> float:
        """Points for what a page's names, headings and path hold."""
        points = 0.0
        path = row.path.casefold()
        for term in self.terms:
            points += _IN_NAME * (term in row.names)
            points += _IN_HEADING * (term in row.headings)
            points += _IN_PATH * (term in path)
        is_name = self.whole in row.names and self.whole in row.names.split("\n")
        return points / max(1, len(self.terms)) + _IS_NAME * is_name

    def _points(self, row: CatalogueRow, text: str, found: PageMatches) -> float:
        age_days = max(0.0, (self.now_us - row.changed) / _DAY_US)
        points = self._named(row) + _MANY * math.log2(1 + len(found.spans))
        points += _NEW * 0.5 ** (age_days / _HALF_LIFE_DAYS)
        points += found.met + _WHOLE * found.whole / max(1, found.met)
        return points + _PHRASE * (self.phrase is not None and self.phrase.search(text) is not None)

    def _page(self, looked: _Looked) -> SearchResults:
        first = (self.asked.page - 1) * self.asked.limit
        shown = looked.hits[first : first + self.asked.limit]
        return SearchResults(
            pages=tuple(self._shown(hit) for hit in shown),
            total=len(looked.hits),
            is_exact=looked.is_all,
            page=self.asked.page,
            has_more=len(looked.hits) > first + len(shown) or (not looked.is_all and bool(shown)),
            notes=(looked.note,) if looked.note else (),
        )

    def _shown(self, hit: _Hit) -> SearchResult:
        document = parse(hit.text)
        spans = hit.matched.spans
        section = section_at(sections(document), spans[0][0]) if spans else None
        return SearchResult(
            path=hit.row.path,
            title=title_of(hit.row.path, document),
            score=round(hit.points / (hit.points + _HALF_SCORE), 3),
            hits=len(spans),
            changed=hit.row.changed,
            section=() if section is None else section.path,
            excerpts=excerpts(hit.text, spans, self.asked.context),
        )
