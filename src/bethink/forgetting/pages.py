"""What of a page says a forgotten fact, and the page without it. `forgetting` hands it to the vault.

A sentence goes that says it in nearly its own words, as in conversations where
the fact was not known; a line `- name: value` also where it has all the words
that give the fact away, on the page about whom the fact is; and a line that is
the fact's own view, by its `^id`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.errors import BadInput
from bethink.forgettable import without
from bethink.redaction import Cut, Redaction, Span
from bethink.vault import USER_PAGE, Erase, title_of
from bethink.vault.files.erasure import PageText
from bethink.vault.files.records import CONTENTS

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.search.analysis import Analyzer
    from bethink.store import Store
    from bethink.vault.filters.views import VaultViews


_LINE: Final = re.compile(r"[^\r\n]+")
_FIELD: Final = re.compile(r"[ \t]*[-*+][ \t]+[^:\r\n]{1,80}:")
_VIEW: Final = re.compile(r"\^(fact-[a-z2-7]+)(?:-now)?[ \t]*\Z")
_APART: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
"""Words of lower-case ASCII letters and digits, by themselves: several times faster than a pattern."""
_APART_IN_LINES: Final = _APART | {ord("\n"): "\n"}
_FEW: Final = 16
"""So many words are sought in a line sooner than the line is split into its own."""
_MOST_CHARS: Final = 16_000_000
"""Of the lines that are known; beyond these all are forgotten, and looked at again."""

Named = tuple[frozenset[str], bool]
"""The words of a page's name that what is forgotten has, and whether it has all of them."""


@dataclass(slots=True)
class LineMatchers:
    """Those of all pages, for what is `gone` and the facts' lines with these `ids`."""

    gone: Redaction
    ids: frozenset[str]
    _made: dict[Named | None, LineMatcher] = field(default_factory=dict["Named | None", "LineMatcher"])

    def of(self, name: str) -> list[LineMatcher]:
        """Those of a page of this name, which needs not be said in it; "" for what is said of the owner."""
        if not name:
            return [self._matcher((frozenset(), True))]
        words = frozenset(self.gone.analyzer.words(name))
        named = frozenset(word for word in words if self.gone.sayings_with(word))
        return [self._matcher(None), *([self._matcher((named, named == words))] if named else ())]

    def _matcher(self, named: Named | None) -> LineMatcher:
        if (matcher := self._made.get(named)) is not None:
            return matcher
        if named is None or not named[0]:
            # Where a page's name says nothing of it; there no line tells it by name and value alone.
            made = LineMatcher(self.gone, self.ids, _fields(self.gone, frozenset()) if named else {})
        else:
            words, has_all = named
            made = LineMatcher(
                self.gone.naming(words), frozenset(), _fields(self.gone, words) if has_all else {}
            )
        self._made[named] = made
        return made


@dataclass(slots=True)
class LineMatcher:
    """Finds what says it in texts: sentences, views of facts by their `ids`, and lines `- name: value`.

    `fields` are the words that give a fact away in such a line, by the rarest of them; by "" those without.
    """

    gone: Redaction
    ids: frozenset[str]
    fields: dict[str, list[frozenset[str]]]
    _clean: set[str] = field(default_factory=set[str])
    _known: dict[str, list[Span]] = field(default_factory=dict[str, "list[Span]"])
    _chars: int = 0

    def spans(self, text: str) -> list[Span]:
        """Where a text says it: no sentence goes on behind its line."""
        if self._chars > _MOST_CHARS:
            self._clean.clear()
            self._known.clear()
            self._chars = 0
        lines = text.split("\n")
        new = set(lines) - self._clean - self._known.keys()
        if new:
            suspects = self._suspects(new)
            new_spans = {line: spans for line in suspects if (spans := [*self._of(line)])}
            self._known |= new_spans
            self._clean |= new - new_spans.keys()
            self._chars += sum(map(len, new))
        if self._known.keys().isdisjoint(lines):
            return []
        found: list[Span] = []
        start = 0
        for line in lines:
            found += [(start + first, start + last) for first, last in self._known.get(line, ())]
            start += len(line) + 1
        return found

    def _suspects(self, lines: set[str]) -> Collection[str]:
        """The lines that have one of the words without which no line says it; all if it may have any."""
        if self.gone.needed is None or "" in self.fields:
            return lines
        of_ids = {word for id in self.ids for word in self.gone.analyzer.words(id.rpartition("-")[2])}
        return _having(lines, {*self.gone.needed, *self.fields, *of_ids}, self.gone.analyzer)

    def _of(self, text: str) -> Iterator[Span]:
        yield from self.gone.spans(text, close=False)
        for found in _LINE.finditer(text):
            line = found.group()
            if (view := _VIEW.search(line)) is not None and view[1] in self.ids:
                yield found.span()
            elif self.fields and _FIELD.match(line):
                words = {"", *self.gone.analyzer.words(line)}
                if any(marks <= words for word in words for marks in self.fields.get(word, ())):
                    yield found.span()


def _fields(gone: Redaction, named: frozenset[str]) -> dict[str, list[frozenset[str]]]:
    """What gives facts away that have all the words of a name, where these are said already."""
    by_word: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for saying in gone.sayings:
        if saying.marks and named <= saying.words:
            marks = saying.marks - named
            # By the rarest of its words: of ten thousand facts few are looked at for one line.
            by_word[min(sorted(marks), key=gone.sayings_with, default="")].append(marks)
    return dict(by_word)


def _having(lines: Collection[str], wanted: set[str], analyzer: Analyzer) -> list[str]:
    """Those of the lines, which are different ones, that may have one of these words."""
    plain = [line for line in lines if line.isascii()]
    found = [line for line in lines if not line.isascii() and not wanted.isdisjoint(analyzer.words(line))]
    lowered = "\n".join(plain).lower()
    words = analyzer.forms({*lowered.translate(_APART).split()}, wanted)
    if len(words) > _FEW:
        pairs = zip(plain, lowered.translate(_APART_IN_LINES).split("\n"), strict=True)
        return found + [line for line, low in pairs if not words.isdisjoint(low.split())]
    starts = [0, *accumulate(len(line) + 1 for line in plain)]
    places = {bisect(starts, place) - 1 for word in words for place in _places(word, lowered)}
    return found + [plain[place] for place in sorted(places)]


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        end = place + len(word)
        if not (text[place - 1 : place].isalnum() or text[end : end + 1].isalnum()):
            yield place
        place = text.find(word, end)


class PageCut(msgspec.Struct, frozen=True):
    """What is to go of one content of pages, whose SHA-256 is `content`, by its places alone."""

    content: str
    spans: tuple[Span, ...]


_NAMELESS: Final = "forgotten.md"


async def cut_out(store: Store, owner: str, cuts: Sequence[PageCut]) -> list[str]:
    """What the cuts name, as it stands in the contents that are kept."""
    found = await store.get(CONTENTS, owner, [cut.content for cut in cuts])
    return [
        text[start:end]
        for cut, one in zip(cuts, found, strict=True)
        if one is not None and (text := one.record.inflated.decode())
        for start, end in cut.spans
    ]


async def excerpts_of(views: VaultViews, principal: Principal, erase: Erase) -> list[PageText]:
    """What would go out of pages, as far as this reader sees them."""
    found: list[PageText] = []
    for said in await views.vault.said(principal.owner, erase):
        try:
            page = await views.read(principal, said.path)
        except BadInput:
            continue
        if parts := erase(said.path, page.text)[1]:
            found.append(PageText(said.path, parts))
    return found


def erase_of(gone: Redaction, lines: Collection[str]) -> Erase:
    """Takes out of pages all that `gone` names, and the facts' lines with these ids.

    It keeps what it looked at: one for many pages, in one thread at a time.
    """
    matchers = LineMatchers(gone, frozenset(lines))

    def erase(path: str, text: str) -> Cut:
        name = "" if path == USER_PAGE else title_of(path)
        return without(text, _merged([span for matcher in matchers.of(name) for span in matcher.spans(text)]))

    return erase


def rename_of(gone: Redaction, path: str) -> str | None:
    """The path of a page without what its name says of it; None where it says nothing."""
    if not gone.says(title_of(path), close=False):
        return None
    folder = path.rpartition("/")[0]
    return f"{folder}/{_NAMELESS}" if folder else _NAMELESS


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
