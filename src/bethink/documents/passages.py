"""Pages of Markdown as passages: what is searched of a document, and shown of it.

`ingest` cuts what the library keeps, `recall/passages` what conversations have. A cut follows what the
text is made of: sections first, then blocks (tables and code whole), list items and sentences, words last.
Where several places are as good, a hash of what stands before decides: an edit moves the cuts near it and no
others (content-defined chunking; Muthitacharoen et al. 2001, "A Low-bandwidth Network File System").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple
from zlib import crc32

from bethink.embeddings.windows import WORD, estimated_pieces, tokens_in

Span = tuple[int, int]

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_SENTENCE: Final = re.compile(r"(?:[.!?]['\")\]]*\s+|[。！？]\s*|\n(?=[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]))")
"""Behind it a sentence begins, or the item of a list."""
_LINE: Final = re.compile(r"\n")
_END: Final = re.compile(r"[.!?]['\")\]]*\s+|[。！？]\s*|\n\s*")
_FENCES: Final = ("```", "~~~")
_RULE: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$")
"""The line below a table's head."""
_PATH: Final = " › "
_MAX_TITLE: Final = 120
_MAX_LINE: Final = 500
"""A heading is not longer than that."""
_MAX_HEAD: Final = 600
"""A table's head that is longer is not repeated."""
_MAX_TABLE: Final = 200_000
"""Nor is it behind so many characters of its table: some 3,000 rows. Looking back costs time."""
_HASHED: Final = 100
_CHARS_PER_TOKEN: Final = 8
"""More than a token has of anything that is made of words."""

_SMALL_SHARE: Final = 4
"""Sections below one part in so many of a passage stand together with others."""
_LEAST_SHARE: Final = 2
"""A passage that is followed by another has at least one part in so many."""

_SECTION, _BLOCK, _PART, _WORD = range(4)
"""What begins at a cut, the best first."""


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How long a passage may be, and how much of the one before it may repeat, in tokens.

    `pieces` says how many of them a word takes.
    """

    tokens: int = 500
    overlap: int = 50
    pieces: Callable[[str], int] = estimated_pieces


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """Characters `begin` to `end` of a page; `heading` is the path of the section in which it begins."""

    page: int
    begin: int
    end: int
    heading: str = ""


def passages_of(pages: Mapping[int, str], limits: PassageLimits) -> list[PassageSpan]:
    """The passages of all pages, in order. They hold all text but white space.

    No passage has more than `limits.tokens`; two share at most `limits.overlap`, and only within a section.
    What else stands above a passage in searched text `above` gives. Takes some tenths of a second per
    megabyte: call it on a thread.
    """
    spans: list[PassageSpan] = []
    path = _HeadingPath()
    for number in sorted(pages):
        text = pages[number]
        blocks = _blocks(text)
        headings = [block for block in blocks if block.level]
        for begin, end in _Cut(text, blocks, limits).spans():
            while headings and headings[0].begin <= begin:
                path.enter(headings.pop(0), text)
            spans.append(PassageSpan(number, begin, end, str(path)))
        for block in headings:
            path.enter(block, text)
    return spans


def above(text: str, begin: int, heading: str) -> str:
    """What stands above a passage in its searched text: its headings, and the head of the table it is in.

    Nothing that the passage says itself. `text` is its page's.
    """
    line = text[begin : begin + _MAX_LINE].partition("\n")[0]
    if found := _HEADING.match(line):
        heading = heading.removesuffix(found[2][:_MAX_TITLE]).removesuffix(_PATH)
    head = _table_head(text, begin) if line.startswith("|") else ""
    return "\n".join(filter(None, (heading, head)))


def _table_head(text: str, place: int) -> str:
    """The head of the table whose row begins at a place; "" if it is the head."""
    least = max(0, place - _MAX_TABLE)
    begin = text.rfind("\n\n", least, place) + 1
    if least and not begin:
        return ""
    for head, rule in pairwise(text[begin : min(begin + _MAX_LINE, place)].split("\n")):
        if head.lstrip().startswith("|"):
            return head.strip() if _RULE.match(rule.strip()) and len(head) <= _MAX_HEAD else ""
    return ""


@dataclass(slots=True)
class _HeadingPath:
    """The headings above a place, from the document's title down."""

    _titles: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def enter(self, block: _Block, text: str) -> None:
        """Go on behind a heading."""
        while self._titles and self._titles[-1][0] >= block.level:
            self._titles.pop()
        found = _HEADING.match(text[block.begin : block.begin + _MAX_LINE].lstrip().partition("\n")[0])
        self._titles.append((block.level, found[2][:_MAX_TITLE] if found else ""))

    def __str__(self) -> str:
        return _PATH.join(title for _, title in self._titles if title)


class _Block(NamedTuple):
    """A heading (of a `level` from 1), table, code or text, up to where the next one begins."""

    kind: str
    begin: int
    level: int = 0


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    begin, kind, fence = 0, "", ""
    for line in text.split("\n"):
        bare = line.lstrip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
        elif not bare:
            kind = ""
        elif bare.startswith(_FENCES):
            fence, kind = bare[:3], "code"
            blocks.append(_Block(kind, begin))
        elif bare[0] == "#" and len(bare) < _MAX_LINE and (found := _HEADING.match(bare)):
            kind = ""
            blocks.append(_Block("heading", begin, len(found[1])))
        else:
            was, kind = kind, "table" if bare[0] == "|" else "text"
            if kind != was:
                blocks.append(_Block(kind, begin))
        begin += len(line) + 1
    return blocks


class _Atom(NamedTuple):
    """Text that is not cut, up to where the next one begins. `rank` says what begins with it."""

    begin: int
    tokens: int
    rank: int
    is_row: bool = False


class _Cut:
    """The passages of one page."""

    def __init__(self, text: str, blocks: Sequence[_Block], limits: PassageLimits) -> None:
        self._text = text
        self._blocks = blocks
        self._limits = limits
        # Where each block begins, and how many tokens stand before it.
        self._begins = [*(block.begin for block in blocks), len(text)]
        self._before = [0]
        for begin, end in pairwise(self._begins):
            self._before.append(self._before[-1] + self._tokens(begin, end))
        self._levels = _run_levels(blocks)

    def spans(self) -> list[Span]:
        """Where they begin and end, in order."""
        found = self._section(0, len(self._blocks)) if self._blocks else ()
        return [self._trimmed(begin, end) for begin, end in found]

    def _tokens(self, begin: int, end: int) -> int:
        return tokens_in(self._text[begin:end], self._limits.pieces)

    def _size(self, first: int, last: int) -> int:
        """Tokens of some blocks."""
        return self._before[last] - self._before[first]

    def _trimmed(self, begin: int, end: int) -> Span:
        said = self._text[begin:end]
        return begin + len(said) - len(said.lstrip()), begin + len(said.rstrip())

    def _section(self, first: int, last: int) -> Iterator[Span]:
        """Passages of some blocks that begin with the headings of a section, or are all of the page."""
        if self._size(first, last) <= self._limits.tokens:
            yield self._begins[first], self._begins[last]
            return
        inner = first
        while inner < last and self._blocks[inner].level:
            inner += 1
        levels = [level for level in self._levels[inner:last] if level]
        if not levels:
            yield from self._packed(self._atoms(first, last), self._begins[last])
            return
        highest = min(levels)
        cuts = [place for place in range(inner, last) if self._levels[place] == highest]
        yield from self._sections([first, *cuts, last])

    def _sections(self, cuts: Sequence[int]) -> Iterator[Span]:
        """Passages of sections of one level: large ones apart, neighbours that are small together."""
        small: list[int] = []
        for first, last in pairwise(cuts):
            if self._size(first, last) * _SMALL_SHARE <= self._limits.tokens:
                small.append(first)
                continue
            yield from self._together(small, first)
            small = []
            yield from self._section(first, last)
        yield from self._together(small, cuts[-1])

    def _together(self, firsts: Sequence[int], end: int) -> Iterator[Span]:
        """Passages of small sections that begin with these blocks."""
        if firsts:
            sections = pairwise([*firsts, end])
            atoms = [_Atom(self._begins[one], self._size(one, other), _SECTION) for one, other in sections]
            yield from self._packed(atoms, self._begins[end])

    def _atoms(self, first: int, last: int) -> list[_Atom]:
        """What may be cut apart of the blocks of one section; its headings stay with what they are above."""
        atoms: list[_Atom] = []
        most = self._limits.tokens
        for place in range(first, last):
            block, size = self._blocks[place], self._size(place, place + 1)
            if size <= (most // _SMALL_SHARE if block.kind in {"text", "heading"} else most):
                found = [_Atom(block.begin, size, _BLOCK)]
            else:
                patterns = (_SENTENCE, _LINE) if block.kind == "text" else (_LINE,)
                found = [*self._parts((block.begin, self._begins[place + 1]), block.kind, patterns)]
                found[0] = found[0]._replace(rank=_BLOCK)
            is_below = place > first and self._blocks[place - 1].level
            if is_below and atoms[-1].tokens + found[0].tokens <= most:
                heading = atoms.pop()
                found[0] = _Atom(
                    heading.begin, heading.tokens + found[0].tokens, heading.rank, found[0].is_row
                )
            atoms += found
        return atoms

    def _parts(self, span: Span, kind: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[_Atom]:
        """A part of a block, cut behind what the first pattern finds, and so on; by words at last."""
        if not patterns:
            yield from self._by_words(*span)
            return
        is_row = kind == "table"
        cuts = [span[0], *(found.end() for found in patterns[0].finditer(self._text, *span)), span[1]]
        for begin, end in pairwise(dict.fromkeys(cuts)):
            size = self._tokens(begin, end)
            if size <= self._limits.tokens // (1 if is_row else _LEAST_SHARE):
                yield _Atom(begin, size, _PART, is_row)
            else:
                yield from self._parts((begin, end), kind, patterns[1:])

    def _by_words(self, begin: int, end: int) -> Iterator[_Atom]:
        """What is too long, in parts of some words."""
        most = max(1, self._limits.tokens // (2 * _SMALL_SHARE))
        size, rank = 0, _PART
        for word in WORD.finditer(self._text, begin, end):
            tokens = self._limits.pieces(word[0])
            if size and size + tokens > most:
                yield _Atom(begin, size, rank)
                begin, size, rank = word.start(), 0, _WORD
            size += tokens
        yield _Atom(begin, size, rank)

    def _packed(self, atoms: Sequence[_Atom], end: int) -> Iterator[Span]:
        """Passages of atoms, each as long as may be, but cut at the best place."""
        first, begin, room = 0, atoms[0].begin, self._limits.tokens
        while True:
            last, size = first, 0
            while last < len(atoms) and (size + atoms[last].tokens <= room or last == first):
                size += atoms[last].tokens
                last += 1
            if last == len(atoms):
                yield begin, end
                return
            last = self._best(atoms, first, last, least=room // _LEAST_SHARE)
            yield begin, atoms[last].begin
            before = atoms[first].begin
            first = last
            begin, repeated = self._overlapped(before, atoms[first])
            room = self._limits.tokens - repeated

    def _best(self, atoms: Sequence[_Atom], first: int, last: int, *, least: int) -> int:
        """Where to cut of atoms that fit: behind the first `least` tokens, before `last` at the latest."""
        size, places = 0, [last]
        for place in range(first + 1, last):
            size += atoms[place - 1].tokens
            if size >= least:
                places.append(place)
        best = min(atoms[place].rank for place in places)
        return min((place for place in places if atoms[place].rank == best), key=partial(self._hash, atoms))

    def _hash(self, atoms: Sequence[_Atom], place: int) -> int:
        """Of what stands before a cut, so that it depends on nothing beyond the section."""
        said = self._text[atoms[place - 1].begin : atoms[place].begin].strip()
        return crc32(said[-_HASHED:].encode("utf-8", "replace"))

    def _overlapped(self, least: int, atom: _Atom) -> Span:
        """Where a passage begins that goes on at an atom, and how many tokens it repeats.

        What it repeats are whole sentences, or words if it goes on within one.
        """
        tokens = self._limits.tokens
        most = min(self._limits.overlap, tokens // 2, tokens - atom.tokens)
        least = max(least, atom.begin - most * _CHARS_PER_TOKEN)
        if atom.rank == _SECTION or atom.is_row or most <= 0:
            return atom.begin, 0
        if atom.rank == _WORD:
            starts = [word.start() for word in WORD.finditer(self._text, least, atom.begin)]
        else:
            starts = [found.end() for found in _END.finditer(self._text, least, atom.begin)]
        begin, repeated = atom.begin, 0
        for start in reversed(starts):
            tokens = self._tokens(start, begin)
            if repeated + tokens > most:
                break
            begin, repeated = start, repeated + tokens
        return begin, repeated


def _run_levels(blocks: Sequence[_Block]) -> list[int]:
    """Of each block the level of the headings that begin with it, 0 if none do or one stands above them."""
    levels = [0] * len(blocks)
    start = 0
    for place, block in enumerate(blocks):
        if block.level:
            levels[start] = min(levels[start] or block.level, block.level)
        else:
            start = place + 1
    return levels
