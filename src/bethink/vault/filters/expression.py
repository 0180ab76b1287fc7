"""Regular expressions that cannot take long: an owner's own pattern, in time that grows with the text alone.

`patterns` compiles one for a filter. Python's own expressions try one way after another, and a
pattern such as `(a+)+b` keeps them busy for years; these follow all ways at once
(Thompson, "Regular expression search algorithm", 1968; states made when they are first met).
Matched is line by line, without regard to case, and as much as possible: what a filter
is about is hidden rather too much than too little. Of a line that takes too long even so, all is matched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bethink.errors import BadInput
from bethink.vault.filters.syntax import Around, At, Chars, Either, Node, Reader, Repeated, Row, is_of

Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""

_MAX_NODES: Final = 2_000
"""A repetition such as `{500}` is written out: this bounds what it becomes."""
_MAX_STATES: Final = 500
"""More are forgotten and made anew: memory stays small whatever the pattern."""
_STEPS_PER_CHAR: Final = 8
_STEPS: Final = 20_000
"""What a line may cost beyond that: more than one of ordinary length ever does."""


class _State:
    """Where all ways stand after some characters; `on` is where a further one leads, as far as is known."""

    __slots__ = ("before", "is_search", "nodes", "on")

    def __init__(self, nodes: frozenset[int], before: Around, *, is_search: bool) -> None:
        self.nodes = nodes
        self.before: Around = before
        self.is_search = is_search
        self.on: dict[str, tuple[_State, bool]] = {}


@dataclass(slots=True)
class Expression:
    r"""A pattern that is ready. Safe to use from several threads.

    Understood are characters, `.`, `[…]`, `\d \w \s \D \W \S`, `\b \B ^ $`, `( )`, `(?: )`, `|` and the
    repetitions `* + ? {m,n}`. What looks ahead, behind or back at what was matched is refused.

    Raises:
        BadInput: it is none of these, matches nothing at all, or is too large.
    """

    pattern: str
    _chars: list[Chars | None] = field(default_factory=list["Chars | None"], repr=False)
    _at: list[At | None] = field(default_factory=list["At | None"], repr=False)
    _next: list[list[int]] = field(default_factory=list[list[int]], repr=False)
    _first: int = 0
    _states: dict[tuple[frozenset[int], Around, bool], _State] = field(
        default_factory=dict[tuple[frozenset[int], Around, bool], _State], repr=False
    )

    def __post_init__(self) -> None:
        node = Reader(self.pattern).read()
        self._node()  # the end: node 0
        self._first = self._built(node, 0)
        if 0 in self._reached({self._first}, None, None):
            message = f"The pattern {self.pattern!r} matches nothing at all too: it would be everywhere."
            raise BadInput(message)

    def spans(self, text: str) -> list[Span]:
        """Where the text says it, in order, none overlapping another."""
        found: list[Span] = []
        start = 0
        while start <= len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            line = text[start:end].removesuffix("\r")
            found += [(start + first, start + last) for first, last in self._of_line(line)]
            start = end + 1
        return found

    def _of_line(self, line: str) -> list[Span]:
        found: list[Span] = []
        place, left = 0, _STEPS_PER_CHAR * len(line) + _STEPS
        while (end := self._first_end(line, place)) is not None:
            for start in range(place, end):
                last, steps = self._longest(line, start)
                left -= steps
                if left < 0:
                    return [(0, len(line))]
                if last is not None:
                    found.append((start, last))
                    place = last
                    break
        return found

    def _first_end(self, line: str, place: int) -> int | None:
        """Where the match ends that ends first, of those that begin at `place` or behind it."""
        state = self._state(frozenset({self._first}), _around(line, place - 1), is_search=True)
        for at in range(place, len(line)):
            char = line[at]
            state, is_end = state.on.get(char) or self._moved(state, char)
            if is_end:
                return at
        return len(line) if self._ends(state) else None

    def _longest(self, line: str, start: int) -> tuple[int | None, int]:
        """Where the longest match that begins at `start` ends, and how many steps it took to see."""
        state = self._state(frozenset({self._first}), _around(line, start - 1), is_search=False)
        last: int | None = None
        for at in range(start, len(line)):
            char = line[at]
            state, is_end = state.on.get(char) or self._moved(state, char)
            if is_end:
                last = at
            if not state.nodes:
                return last, at - start + 1
        return len(line) if self._ends(state) else last, len(line) - start + 1

    def _moved(self, state: _State, char: str) -> tuple[_State, bool]:
        """Where a character leads, and whether a match ends before it."""
        behind: Around = "word" if is_of("w", char) else "other"
        reached = self._reached(state.nodes, state.before, behind)
        there: set[int] = set()
        for node in reached:
            chars = self._chars[node]
            if chars is not None and chars.has(char):
                there.update(self._next[node])
        if state.is_search:
            there.add(self._first)
        moved = self._state(frozenset(there), behind, is_search=state.is_search), 0 in reached
        state.on[char] = moved
        return moved

    def _ends(self, state: _State) -> bool:
        return 0 in self._reached(state.nodes, state.before, "edge")

    def _reached(
        self, nodes: frozenset[int] | set[int], before: Around | None, behind: Around | None
    ) -> set[int]:
        """The nodes to which ways lead without a character; without a place around, through every `At`."""
        reached: set[int] = set()
        left = [*nodes]
        while left:
            node = left.pop()
            if node in reached:
                continue
            reached.add(node)
            at = self._at[node]
            if self._chars[node] is not None:
                continue
            if at is None or before is None or behind is None or at.holds(before, behind):
                left += self._next[node]
        return reached

    def _state(self, nodes: frozenset[int], before: Around, *, is_search: bool) -> _State:
        key = nodes, before, is_search
        if (known := self._states.get(key)) is not None:
            return known
        if len(self._states) > _MAX_STATES:
            # Those in use go on: nobody finds them any more.
            self._states = {}
        return self._states.setdefault(key, _State(nodes, before, is_search=is_search))

    def _node(self, chars: Chars | None = None, at: At | None = None, *following: int) -> int:
        if len(self._next) >= _MAX_NODES:
            message = f"The pattern {self.pattern!r} is too large: repeat less, or make several filters."
            raise BadInput(message)
        self._chars.append(chars)
        self._at.append(at)
        self._next.append([*following])
        return len(self._next) - 1

    def _built(self, node: Node, following: int) -> int:
        """The first of the nodes that stand for it, and lead to `following`."""
        match node:
            case Chars():
                return self._node(node, None, following)
            case At():
                return self._node(None, node, following)
            case Row(parts):
                for part in reversed(parts):
                    following = self._built(part, following)
                return following
            case Either(ways):
                return self._node(None, None, *(self._built(way, following) for way in ways))
            case Repeated(part, least, most):
                return self._built_repeated(part, least, most, following=following)

    def _built_repeated(self, part: Node, least: int, most: int | None, *, following: int) -> int:
        if most is None:
            first = self._node(None, None, following)
            self._next[first].append(self._built(part, first))
        else:
            first = following
            for _ in range(most - least):
                first = self._node(None, None, self._built(part, first), following)
        for _ in range(least):
            first = self._built(part, first)
        return first


def _around(line: str, place: int) -> Around:
    if not 0 <= place < len(line):
        return "edge"
    return "word" if is_of("w", line[place]) else "other"
