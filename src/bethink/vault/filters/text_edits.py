"""What a text became, part by part, to do the same where more stands between. `filters` asks."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_LINES: Final = 20_000
"""Of a text whose changes are looked for line by line."""


def changes(before: str, after: str) -> list[tuple[int, int, str]]:
    """Which parts of a text became what, in order."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if max(map(len, middle)) > _MOST_LINES:
        return [(start, start + sum(map(len, middle[0])), "".join(middle[1]))]
    places = [start]
    for line in middle[0]:
        places.append(places[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
    return [
        _narrowed(before, places[first], places[last], new="".join(middle[1][begin:stop]))
        for kind, first, last, begin, stop in matcher.get_opcodes()
        if kind != "equal"
    ]


def _narrowed(text: str, start: int, end: int, *, new: str) -> tuple[int, int, str]:
    """A change of a part of the text without what it leaves as it is at its ends."""
    old = text[start:end]
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    return start + head, end - tail, new[head : len(new) - tail]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count
