"""Regular expressions in time that grows with the text alone: an owner's filters, and search in the vault.

Python's syntax and meaning, matched by RE2, which follows all ways through a pattern
at once (https://swtch.com/~rsc/regexp/regexp1.html). Python's own parser reads the
pattern; it is written anew for RE2, whose classes and word boundaries know ASCII only.
What no such engine can do (looking around, back references) is refused with a sentence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import groupby, islice
from typing import Any, Final, Literal, Protocol

from bethink.errors import BadInput

Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""

_Tree = Any
"""Of Python's own parser, which has no types."""
_Edges = Literal["as they are", "nowhere", "marked"]
_MAX_CHARS: Final = 500
_MAX_DEPTH: Final = 20
_LINE_S: Final = 0.1
"""All of a line is matched if its matches take longer: each of them may look to the line's end."""
_TEXT_S: Final = 2.0
"""The same for the lines of a text together."""
_WORD_EDGE: Final = "\ufdd0"
"""Marks for RE2 where a word begins or ends. No character (Unicode 23.7)."""
_NO_EDGE: Final = "\ufdd1"
_MARKS: Final = _WORD_EDGE + _NO_EDGE
_REPEATED: Final = 3
"""Marks at each place, so that an expression may ask for one as often."""
_UNIT: Final = _REPEATED + 1
_OUTSIDE: Final = re.compile(f"[\ud800-\udfff{_MARKS}]")
"""What no text in UTF-8 holds, and the marks."""
_CLASSES: Final = {
    "DIGIT": r"\p{Nd}",
    "WORD": r"\p{L}\p{N}_",
    "SPACE": r"\s\x0b\x1c-\x1f\x{85}\p{Z}",
}
r"""What `\d`, `\w` and `\s` of Python hold."""
_PLACES: Final = {
    "AT_BEGINNING": "(?m:^)",
    "AT_END": "(?m:$)",
    "AT_BEGINNING_STRING": r"\A",
    "AT_END_STRING": r"\z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
_UNSUPPORTED: Final = {
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
    "GROUPREF": "a reference to a group",
    "GROUPREF_EXISTS": "a condition on a group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repetition",
}
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_INLINE: Final = int(re.IGNORECASE | re.DOTALL | re.MULTILINE | re.VERBOSE | re.UNICODE)
_LAST_CHAR: Final = 0x10FFFF


class _Match(Protocol):
    def start(self) -> int: ...
    def span(self) -> Span: ...


class _Compiled(Protocol):
    def search(self, text: str, /) -> _Match | None: ...
    def finditer(self, text: str, pos: int = 0, /) -> Iterator[_Match]: ...


@dataclass(slots=True)
class Regex:
    """A pattern that is ready. Safe to use from several threads.

    With `case` capitals matter. With `longest` a match is as long as it can be and stays in its line;
    otherwise it is the one that Python's engine finds.

    Raises:
        BadInput: it is no regular expression, is too large, or holds what is not supported; with
            `longest` also if it matches the empty text.
    """

    pattern: str
    case: bool = False
    longest: bool = False
    _tree: _Tree = field(init=False, repr=False)
    _plain: _Compiled = field(init=False, repr=False)
    _loose: _Compiled | None = field(init=False, repr=False, default=None)
    _marked: _Compiled | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._tree = _parsed(self.pattern, case=self.case)
        if self.longest and self._tree.getwidth()[0] == 0:
            raise BadInput(
                f"The pattern {self.pattern!r} matches nothing at all too: it would be everywhere."
            )
        self._plain = self._compiled("as they are")
        if "BOUNDARY" in str(self._tree):
            self._loose, self._marked = self._compiled("nowhere"), self._compiled("marked")

    def spans(self, text: str, most: int | None = None) -> list[Span]:
        """Where the text says it, in order, none overlapping another; at most so many."""
        text = _OUTSIDE.sub("\ufffd", text)
        text = text.replace("\r\n", "\n\n") if self.longest else text
        if self._marked is None or self._loose is None or text.isascii():
            return list(islice(self._found(self._plain, text), most))
        found: list[Span] = []
        for first, last in self._parts(self._loose, text):
            marked = self._found(self._marked, _with_marks(text[first:last]))
            places = ((first + start // _UNIT, first + end // _UNIT) for start, end in marked)
            found += islice((place for place, _ in groupby(places)), most)
        return found

    def _parts(self, loose: _Compiled, text: str) -> Iterator[Span]:
        """What must be marked: marks take many times the text's memory."""
        if not self.longest:
            yield from [(0, len(text))] if loose.search(text) else []
            return
        last = -1
        for start, _ in _line_spans(loose, text):
            if start > last:
                first, last = _line_at(text, start)
                yield first, last

    def _found(self, compiled: _Compiled, text: str) -> Iterator[Span]:
        if self.longest:
            return _line_spans(compiled, text)
        return (match.span() for match in compiled.finditer(text))

    def _compiled(self, edges: _Edges) -> _Compiled:
        import re2  # on first use

        engine: Any = re2
        options = engine.Options()
        options.log_errors = False
        options.longest_match = options.never_nl = self.longest
        try:
            written = _Writer(edges).sequence(self._tree, self._tree.state.flags, 0)
            sign = "(?i)" if self._tree.state.flags & re.IGNORECASE else ""
            return engine.compile(f"{sign}{written}", options)
        except engine.error as error:
            raise _refused(self.pattern, error.args[0].decode(errors="replace")) from error
        except NotImplementedError as error:
            raise _refused(self.pattern, f"{error} is not supported") from error


def literals(pattern: str, *, case: bool = False) -> list[str]:
    """The runs of characters that stand in everything the pattern matches.

    Raises:
        BadInput: it is no regular expression.
    """
    return _literals(_parsed(pattern, case=case))


def _parsed(pattern: str, *, case: bool) -> _Tree:
    """The pattern, taken apart by the parser that `re` itself stands on."""
    if not 0 < len(pattern) <= _MAX_CHARS:
        raise BadInput(f"A pattern has 1 to {_MAX_CHARS} characters.")
    flags = int(re.MULTILINE if case else re.MULTILINE | re.IGNORECASE)
    try:
        re.compile(pattern, flags)
        return import_module("re._parser").parse(pattern, flags)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise _refused(pattern, f"it is not a regular expression ({error})") from error


def _refused(pattern: str, why: str) -> BadInput:
    advice = "Write what is not meant as a sign with `\\` before it."
    return BadInput(f"The pattern {pattern!r} cannot be used: {why}. {advice}")


def _literals(tree: Iterable[tuple[Any, Any]]) -> list[str]:
    found, run = list[str](), ""
    for operation, value in tree:
        name = str(operation)
        if name == "LITERAL":
            run += chr(value)
            continue
        if name == "AT":
            continue
        found.append(run)
        run = ""
        if name == "SUBPATTERN":
            found += _literals(value[3])
        elif name == "ATOMIC_GROUP":
            found += _literals(value)
        elif name in _REPEATS and value[0]:
            found += _literals(value[2])
    return [text for text in (*found, run) if text]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes for RE2 what Python's parser read; `edges` says how the edges of words are found."""

    edges: _Edges

    @property
    def is_marked(self) -> bool:
        return self.edges == "marked"

    def sequence(self, tree: Iterable[tuple[Any, Any]], flags: int, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise NotImplementedError("nesting so deep")
        nodes = [(str(operation), value) for operation, value in tree]
        if self.is_marked:
            # The marks of a word's beginning stand behind that of its line.
            for at in range(len(nodes) - 1):
                if [str(value) for _, value in nodes[at : at + 2]] == ["AT_BOUNDARY", "AT_BEGINNING"]:
                    nodes[at : at + 2] = reversed(nodes[at : at + 2])
        return "".join(self.node(name, value, flags, depth=depth) for name, value in nodes)

    def node(self, name: str, value: _Tree, flags: int, *, depth: int) -> str:
        match name:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self.behind_marks(self.char(name, value, flags))
            case "AT":
                return self.place(str(value))
            case "BRANCH":
                return f"(?:{'|'.join(self.sequence(way, flags, depth + 1) for way in value[1])})"
            case "SUBPATTERN":
                return self.group(value, flags, depth)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, part = value
                bounds = f"{{{least},{'' if str(most) == 'MAXREPEAT' else most}}}"
                return f"(?:{self.sequence(part, flags, depth)}){bounds}{'?' * (name == 'MIN_REPEAT')}"
            case _:
                raise NotImplementedError(_UNSUPPORTED.get(name, name))

    def behind_marks(self, written: str) -> str:
        return f"[{_MARKS}]*{written}" if self.is_marked else written

    def char(self, name: str, value: _Tree, flags: int) -> str:
        """What stands for one character."""
        match name:
            case "ANY":
                return f"[^{_MARKS}]" if flags & re.DOTALL else rf"[^\n{_MARKS}]"
            case "LITERAL":
                return f"[{_case_forms(value, flags)}]"
            case "NOT_LITERAL":
                return f"[^{_case_forms(value, flags)}{_MARKS}]"
            case _:
                return _set(tuple((str(kind), item) for kind, item in value), flags)

    def place(self, name: str) -> str:
        if "BOUNDARY" in name and self.edges != "as they are":
            return (_WORD_EDGE if name == "AT_BOUNDARY" else _NO_EDGE) * self.is_marked
        return self.behind_marks(_PLACES[name]) if name.startswith("AT_END") else _PLACES[name]

    def group(self, value: _Tree, flags: int, depth: int) -> str:
        _, added, removed, tree = value
        if (added | removed) & ~_INLINE:
            raise NotImplementedError("a flag other than i, m, s and x")
        inner = self.sequence(tree, (flags | added) & ~removed, depth + 1)
        sign = "i" if added & re.IGNORECASE else "-i" if removed & re.IGNORECASE else ""
        return f"(?{sign}:{inner})"


def _char(code: int) -> str:
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\x{{{code:x}}}"


def _case_forms(code: int, flags: int) -> str:
    """A character in a set; Python takes the dotless i, and the dotted capital, for an i, RE2 does not."""
    return r"iI\x{130}\x{131}" if flags & re.IGNORECASE and chr(code) in "iIİı" else _char(code)


@lru_cache(maxsize=256)
def _set(items: Sequence[tuple[str, Any]], flags: int) -> str:
    r"""A set such as `[a-z\d]`."""
    written, is_all_but = "", items[0][0] == "NEGATE"
    if "_NOT_" in str(items):
        if len(items) > 1:
            return f"[{_spelled(items)}]"
        is_all_but = True
    for kind, value in items:
        if kind == "LITERAL":
            written += _case_forms(value, flags)
        elif kind == "RANGE":
            written += f"{_char(value[0])}-{_char(value[1])}"
        elif kind == "CATEGORY":
            written += _CLASSES[str(value).rpartition("_")[2]]
    return f"[^{written}{_MARKS}]" if is_all_but else f"[{written}]"


def _spelled(items: Sequence[tuple[str, Any]]) -> str:
    r"""The characters of a set one by one: RE2 knows no set that holds a `\W` of Unicode's words."""
    written = ""
    for kind, value in items:
        match kind:
            case "NEGATE":
                written += "^"
            case "LITERAL":
                written += f"\\U{value:08x}"
            case "RANGE":
                written += f"\\U{value[0]:08x}-\\U{value[1]:08x}"
            case _:
                sign = str(value).rpartition("_")[2][0]
                written += f"\\{sign if '_NOT_' in str(value) else sign.lower()}"
    every = "".join(map(chr, range(_LAST_CHAR + 1)))
    runs = re.finditer(f"(?:(?!{_OUTSIDE.pattern})[{written}])+", every)
    return "".join(f"{_char(run.start())}-{_char(run.end() - 1)}" for run in runs) or _WORD_EDGE


def _line_spans(compiled: _Compiled, text: str) -> Iterator[Span]:
    """What is found in each line; all of a line that takes long."""
    text_until = time.thread_time() + _TEXT_S
    place = 0
    while time.thread_time() < text_until:
        found: list[Span] = []
        first = last = -1
        until = text_until
        for match in compiled.finditer(text, place):
            start, end = match.span()
            if start > last:
                yield from found
                found = []
                first, last = _line_at(text, start)
                until = min(time.thread_time() + _LINE_S, text_until)
            elif time.thread_time() > until:
                found = [(first, last)]
                break
            found.append((start, end))
        else:
            yield from found
            return
        yield from found
        place = last
    while (match := compiled.search(text[place:])) is not None:
        first, last = _line_at(text, place + match.start())
        yield first, last
        place = last


def _line_at(text: str, place: int) -> Span:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, len(text) if end < 0 else end


def _with_marks(text: str) -> str:
    """The text with marks before each character and at its end; `_UNIT` places for each character."""
    edges = {edge.start() for edge in re.finditer(r"\b", text)}
    marks = ((_WORD_EDGE if place in edges else _NO_EDGE) * _REPEATED for place in range(len(text) + 1))
    return "".join(mark + char for mark, char in zip(marks, [*text, ""], strict=True))
