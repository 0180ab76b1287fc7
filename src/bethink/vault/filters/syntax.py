"""What may be written in an owner's own pattern, and what it means. `expression` follows it through texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bethink.errors import BadInput

MAX_CHARS: Final = 500
_MAX_REPEATED: Final = 1_000
_MAX_DEPTH: Final = 20

Around = Literal["edge", "word", "other"]
"""What stands beside a place of a line."""


@dataclass(frozen=True, slots=True)
class Chars:
    r"""Some characters: those listed, those between two, and those of kinds such as `\d`."""

    listed: frozenset[str] = frozenset()
    between: tuple[tuple[str, str], ...] = ()
    kinds: str = ""
    is_all_but: bool = False

    def has(self, char: str) -> bool:
        """Whether the character, written large or small, is one of them."""
        forms = {char, char.lower(), char.upper()}
        found = (
            not forms.isdisjoint(self.listed)
            or any(low <= form <= high for form in forms for low, high in self.between)
            or any(is_of(kind, char) for kind in self.kinds)
        )
        return found != self.is_all_but


_ANY: Final = Chars(is_all_but=True)


@dataclass(frozen=True, slots=True)
class At:
    """A place without a character: `^`, `$`, `b`, `B`."""

    what: str

    def holds(self, before: Around, behind: Around) -> bool:
        """Whether it is such a place, between what stands before and behind."""
        match self.what:
            case "^":
                return before == "edge"
            case "$":
                return behind == "edge"
            case _:
                return ((before == "word") != (behind == "word")) == (self.what == "b")


@dataclass(frozen=True, slots=True)
class Row:
    """One behind the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of these."""

    ways: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same from `least` to `most` times; None is any number."""

    part: Node
    least: int
    most: int | None


Node = Chars | At | Row | Either | Repeated


class Reader:
    """Reads a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0

    def read(self) -> Node:
        """The pattern, taken apart.

        Raises:
            BadInput: it cannot be understood; the sentence says why.
        """
        if not 0 < len(self.pattern) <= MAX_CHARS:
            message = f"A pattern has 1 to {MAX_CHARS} characters."
            raise BadInput(message)
        node = self._ways(0)
        if self.place < len(self.pattern):
            raise self._refused("a bracket closes that was not opened")
        return node

    def _ways(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self._refused("its brackets are too deep")
        ways = [self._row(depth)]
        while self._took("|"):
            ways.append(self._row(depth))
        return ways[0] if len(ways) == 1 else Either(tuple(ways))

    def _row(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.place < len(self.pattern) and self._next not in "|)":
            parts.append(self._repeated(self._one(depth)))
        return Row(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        if self._took("*"):
            least, most = 0, None
        elif self._took("+"):
            least, most = 1, None
        elif self._took("?"):
            least, most = 0, 1
        elif (bounds := self._bounds()) is not None:
            least, most = bounds
        else:
            return part
        # As few as possible is as many as possible here.
        if not self._took("?") and self._took("+"):
            raise self._refused("a repetition is repeated")
        if self.place < len(self.pattern) and self._next in "*+?":
            raise self._refused("a repetition is repeated")
        return Repeated(part, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        """What `{m}`, `{m,}` or `{m,n}` says; None for a bracket that says something else."""
        end = self.pattern.find("}", self.place)
        if self.place >= len(self.pattern) or self._next != "{" or end < 0:
            return None
        low, comma, high = self.pattern[self.place + 1 : end].partition(",")
        if not (low.isascii() and low.isdecimal()) or not (
            high == "" or (high.isascii() and high.isdecimal())
        ):
            return None
        self.place = end + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if least > _MAX_REPEATED or (most is not None and not least <= most <= _MAX_REPEATED):
            raise self._refused(f"it repeats something {low}{comma}{high} times: at most {_MAX_REPEATED:,}")
        return least, most

    def _one(self, depth: int) -> Node:
        char = self._take()
        match char:
            case "(":
                if self._took("?") and not self._took(":"):
                    raise self._refused("of what begins with `(?` only `(?:` is understood")
                node = self._ways(depth + 1)
                if not self._took(")"):
                    raise self._refused("a bracket is not closed")
                return node
            case "[":
                return self._set()
            case ".":
                return _ANY
            case "^" | "$":
                return At(char)
            case "*" | "+" | "?":
                raise self._refused("there is nothing to repeat")
            case "\\":
                return self._escaped()
            case _:
                return Chars(frozenset({char}))

    def _escaped(self) -> Chars | At:
        char = self._take()
        if char in "bB":
            return At(char)
        return Chars(kinds=char) if char in "dwsDWS" else Chars(frozenset({self._plain(char)}))

    def _plain(self, char: str) -> str:
        """The character for which an escape stands."""
        known = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
        if char in known:
            return known[char]
        if char.isalnum():
            raise self._refused(f"`\\{char}` is not understood")
        return char

    def _set(self) -> Chars:
        is_all_but = self._took("^")
        listed: set[str] = set()
        between: list[tuple[str, str]] = []
        kinds = ""
        is_first = True
        while is_first or self._next != "]":
            is_first = False
            char = self._take()
            if char == "\\" and self._next in "dwsDWS":
                kinds += self._take()
                continue
            char = self._plain(self._take()) if char == "\\" else char
            if not (self._next == "-" and self.pattern[self.place + 1 : self.place + 2] not in ("]", "")):
                listed.add(char)
                continue
            self.place += 1
            last = self._take()
            last = self._plain(self._take()) if last == "\\" else last
            if last < char:
                raise self._refused(f"nothing is between {char} and {last}")
            between.append((char, last))
        self.place += 1
        return Chars(frozenset(listed), tuple(between), kinds, is_all_but)

    @property
    def _next(self) -> str:
        if self.place >= len(self.pattern):
            raise self._refused("it ends too early")
        return self.pattern[self.place]

    def _take(self) -> str:
        char = self._next
        self.place += 1
        return char

    def _took(self, char: str) -> bool:
        is_next = self.pattern.startswith(char, self.place)
        self.place += is_next
        return is_next

    def _refused(self, why: str) -> BadInput:
        advice = "Write what is not meant as a sign with `\\` before it."
        return BadInput(f"The pattern {self.pattern!r} cannot be used: {why}. {advice}")


def is_of(kind: str, char: str) -> bool:
    r"""Whether a character is of a kind: d, w or s, or D, W or S for all others."""
    match kind.lower():
        case "d":
            is_one = char.isdecimal()
        case "s":
            is_one = char.isspace()
        case _:
            is_one = char.isalnum() or char == "_"
    return is_one != kind.isupper()
