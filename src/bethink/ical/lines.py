"""Content lines and components of iCalendar (RFC 5545, 3.1 and 3.6), within bounds, from files of any origin.

A line that is written as it was read is the same to the letter: its name, its parameters and its value
are taken apart, and nothing is made of those that nobody here knows.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from bethink.errors import BadInput, TooLarge

MAX_BYTES: Final = 10_000_000
"""Of a file: more than ten thousand events."""
MAX_LINE: Final = 1_000_000
"""Characters of an unfolded line: attachments may stand in one."""
MAX_DEPTH: Final = 10
"""The standard nests four deep: a calendar, an event, its alarm, and what others add."""
MAX_LINES: Final = 20_000
"""Of one component."""
_FOLD: Final = 75
"""Octets of a line, without its end (3.1)."""
_MOST_PROBLEMS: Final = 100
_FOLDED = re.compile(rb"(?:\r\n|\r|\n)[ \t]")
_ENDS = re.compile(rb"\r\n|\r|\n")
_PARAMETER = r';[^":;,=\s]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*'
_LINE = re.compile(rf"([A-Za-z0-9-]+)((?:{_PARAMETER})*):(.*)", re.DOTALL)
_ONE_PARAMETER = re.compile(r';([^":;,=\s]+)=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)')
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_QUOTED = re.compile(r'[":;,]')
_CARETS = {"^n": "\n", "^N": "\n", "^^": "^", "^'": '"'}
"""RFC 6868: what a parameter cannot hold."""
_CARET = re.compile(r"\^[nN^']")


@dataclass(frozen=True, slots=True)
class Line:
    """One content line: its `name` in capitals, its parameters as they stand, its value as it stands."""

    name: str
    value: str
    parameters: str = ""

    def parameter(self, name: str) -> str | None:
        """The first value of a parameter, without its quotes; None if it is not there."""
        if not self.parameters:
            return None
        for key, value in _ONE_PARAMETER.findall(self.parameters):
            if key.upper() == name:
                plain = value[1:].partition('"')[0] if value.startswith('"') else value.partition(",")[0]
                return _CARET.sub(lambda found: _CARETS[found[0]], plain)
        return None

    def but(self, value: str | None = None, **parameters: str | None) -> Line:
        """The same line with another value, and with these parameters in place of its own; None drops one."""
        kept = [
            f";{key}={text}"
            for key, text in _ONE_PARAMETER.findall(self.parameters)
            if key.upper() not in parameters
        ]
        added = [f";{key}={_parameter(text)}" for key, text in parameters.items() if text is not None]
        return Line(self.name, self.value if value is None else value, "".join((*kept, *added)))

    def __str__(self) -> str:
        """The line, unfolded."""
        return f"{self.name}{self.parameters}:{self.value}"


@dataclass(slots=True)
class Component:
    """What stands between BEGIN and END: lines, and components in it, in the order of the file."""

    name: str
    lines: list[Line] = field(default_factory=list[Line])
    parts: list[Component] = field(default_factory=list["Component"])

    def line(self, name: str) -> Line | None:
        """The first line of this name."""
        return next((line for line in self.lines if line.name == name), None)

    def all(self, *names: str) -> list[Line]:
        """The lines of these names."""
        return [line for line in self.lines if line.name in names]

    def value(self, name: str) -> str:
        """The value of the first line of this name as it stands; "" if there is none."""
        line = self.line(name)
        return line.value.strip() if line else ""

    def unfolded(self) -> Iterator[str]:
        """All its lines, unfolded, from BEGIN to END."""
        yield f"BEGIN:{self.name}"
        yield from map(str, self.lines)
        for part in self.parts:
            yield from part.unfolded()
        yield f"END:{self.name}"

    def walk(self) -> Iterator[Component]:
        """It, and all that it holds."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class ParsedCalendar:
    """What a file holds: its calendars, and a sentence for each thing that was not as it should be."""

    calendars: list[Component] = field(default_factory=list[Component])
    problems: list[str] = field(default_factory=list[str])


def parsed(text: str) -> Line | None:
    """The content line of an unfolded text; None if it is none."""
    found = _LINE.fullmatch(text)
    return found and Line(found[1].upper(), found[3], found[2])


def read(content: bytes) -> ParsedCalendar:
    """The calendars of a file; what cannot be read of it is told and passed over, all else is taken.

    Raises:
        TooLarge: it has more than 10 MB.
        BadInput: there is no calendar in it.
    """
    if len(content) > MAX_BYTES:
        raise TooLarge(f"A calendar file has at most {MAX_BYTES // 1_000_000} MB: export it in parts.")
    reader = _Reader()
    text = _decoded(content, reader)
    for number, line in enumerate(text.split("\n"), 1):
        if line:
            reader.take(line, number)
    return reader.finished()


def components(text: str) -> list[Component]:
    """The components of unfolded lines that we wrote: no calendar need stand around them."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        if line:
            reader.take(line, number)
    return reader.found


def written(unfolded: Iterable[str]) -> str:
    """Lines as a file has them: folded, each with its end."""
    return "".join([f"{_folded(line)}\r\n" for line in unfolded])


def _folded(line: str) -> str:
    content = line.encode()
    if len(content) <= _FOLD:
        return line
    parts: list[bytes] = []
    start, room = 0, _FOLD
    while start < len(content):
        end = min(start + room, len(content))
        # No character is cut in two: readers that decode before they unfold would lose it.
        while end < len(content) and content[end] & 0xC0 == 0x80:  # noqa: PLR2004 - a byte within UTF-8
            end -= 1
        parts.append(content[start:end])
        start, room = end, _FOLD - 1
    return b"\r\n ".join(parts).decode()


def _decoded(content: bytes, reader: _Reader) -> str:
    """The text with one line feed behind each unfolded line. Unfolded before it is decoded (3.1)."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        content = content.decode("utf-16", "replace").encode()
    content = _ENDS.sub(b"\n", _FOLDED.sub(b"", content.removeprefix(BOM_UTF8)))
    try:
        text = content.decode()
    except UnicodeDecodeError:
        reader.tell("The file is not in UTF-8: it was read as Windows-1252.")
        text = content.decode("cp1252", "replace")
    return _CONTROL.sub("", text)


def _parameter(text: str) -> str:
    text = text.replace("^", "^^").replace("\n", "^n").replace('"', "^'")
    return f'"{text}"' if _QUOTED.search(text) else text


@dataclass(slots=True)
class _Reader:
    """Builds components line by line; without recursion, so that depth costs nothing."""

    found: list[Component] = field(default_factory=list[Component])
    problems: list[str] = field(default_factory=list[str])
    _open: list[Component] = field(default_factory=list[Component])
    _too_deep: int = 0

    def tell(self, problem: str) -> None:
        """Note what was not as it should be; of very many the first."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def take(self, text: str, number: int) -> None:
        """Go on with one unfolded line."""
        if len(text) > MAX_LINE:
            self.tell(f"Line {number} is longer than {MAX_LINE:,} characters and was left out.")
            return
        line = parsed(text)
        if line is None:
            self._mend(text, number)
        elif line.name == "BEGIN":
            self._begin(line.value.strip().upper(), number)
        elif line.name == "END":
            self._end(line.value.strip().upper(), number)
        elif self._too_deep:
            return
        elif not self._open:
            self.tell(f"Line {number} stands outside of any calendar and was left out.")
        elif len(self._open[-1].lines) < MAX_LINES:
            self._open[-1].lines.append(line)

    def finished(self) -> ParsedCalendar:
        """What was read, to the end of the file."""
        while self._open:
            self.tell(f"The file ends before END:{self._open[-1].name}: it may be cut short.")
            self._close()
        calendars = [one for one in self.found if one.name == "VCALENDAR"]
        if not calendars:
            raise BadInput("This is no calendar file: it holds no line BEGIN:VCALENDAR.")
        return ParsedCalendar(calendars, self.problems)

    def _begin(self, name: str, number: int) -> None:
        if self._too_deep or len(self._open) >= MAX_DEPTH:
            if not self._too_deep:
                self.tell(f"What is nested deeper than {MAX_DEPTH} at line {number} was left out.")
            self._too_deep += 1
            return
        self._open.append(Component(name))

    def _end(self, name: str, number: int) -> None:
        if self._too_deep:
            self._too_deep -= 1
        elif not any(one.name == name for one in self._open):
            self.tell(f"END:{name[:40]} at line {number} ends nothing.")
        else:
            while self._open[-1].name != name:
                self.tell(f"END:{self._open[-1].name} is missing before line {number}.")
                self._close()
            self._close()

    def _close(self) -> None:
        done = self._open.pop()
        (self._open[-1].parts if self._open else self.found).append(done)

    def _mend(self, text: str, number: int) -> None:
        """A line that is none goes on with the one before it: some programs break texts without folding."""
        if self._too_deep or not self._open or not self._open[-1].lines:
            self.tell(f"Line {number} cannot be read and was left out.")
            return
        last = self._open[-1].lines[-1]
        if len(last.value) + len(text) > MAX_LINE:
            return
        self.tell(f"Line {number} was read as the rest of the one before it.")
        self._open[-1].lines[-1] = last.but(f"{last.value}\\n{text}")
