"""From pages that may hold what is sought to those that do, ranked. `search` calls it.

Pages are read some at a time, those first that the catalogue thinks best, until
there are enough: within each lot they are ranked by what they say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio.to_thread

from bethink.errors import BadInput
from bethink.vault.markdown.format import parse, section_at, sections
from bethink.vault.markdown.page_info import name_of, title_of
from bethink.vault.search.excerpts import MAX_HITS, PageMatches, excerpts, matched, matcher_of, within

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from bethink.vault.regex import Regex
    from bethink.vault.search.catalogue import CatalogueRow
    from bethink.vault.search.excerpts import Excerpt
    from bethink.vault.search.query import Search, SearchFilters

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
_SOME: Final = "No page holds all of these words; these hold some of them."
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

    asked: Search
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
        best = sorted(candidates, key=self._rank)
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
            found = await anyio.to_thread.run_sync(partial(self._matched, pages, need, deadline=deadline))
            hits += sorted(found, key=_order)
        return _Looked(hits)

    def _matched(
        self, pages: Sequence[tuple[CatalogueRow, str]], need: int, *, deadline: float
    ) -> list[_Hit]:
        return self._with_terms(pages, need) if self.regex is None else self._with_regex(pages, deadline)

    def _with_terms(self, pages: Sequence[tuple[CatalogueRow, str]], need: int) -> list[_Hit]:
        hits: list[_Hit] = []
        for row, text in pages:
            parts = self.filters.parts(text)
            found = matched(text, self.matchers, parts, name=name_of(row.path))
            if parts and found.met >= need:
                hits.append(_Hit(row, text, found, self._points(row, text, found)))
        return hits

    def _with_regex(self, pages: Sequence[tuple[CatalogueRow, str]], deadline: float) -> list[_Hit]:
        hits: list[_Hit] = []
        for row, text in pages:
            if time.monotonic() > deadline:
                raise BadInput(_TOO_LONG)
            spans = self.regex.spans(text, MAX_HITS) if self.regex else ()
            inside = within(spans, self.filters.parts(text)) if spans else ()
            if inside:
                found = PageMatches(inside, 0, 0)
                hits.append(_Hit(row, text, found, self._points(row, text, found)))
        return hits

    def _rank(self, one: Candidate) -> tuple[int, float, int, str]:
        return -one.met, -self._named(one.row), -one.row.changed, one.row.path

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


def _order(hit: _Hit) -> tuple[float, int, str]:
    return -hit.points, -hit.row.changed, hit.row.path
