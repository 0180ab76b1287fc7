"""A page line by line: headings, items, tables, code, and where links may stand.

`format` and `links` call it. Nothing here changes a text: every place is an offset into it, by characters.
What is recognised is CommonMark 0.31 as people write it in Obsidian, with
tables (GitHub Flavored Markdown 0.29, 4.10). Every step goes forward only, so
that time grows with the length of a page and no faster.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

import msgspec

Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""


class Heading(msgspec.Struct, frozen=True, gc=False):
    """A heading: `level` 1 to 6, `line` from 1, `span` its line or lines without the last ending."""

    level: int
    title: str
    line: int
    span: Span


class Lines(msgspec.Struct, frozen=True, gc=False):
    """What `scan` found.

    `plain` is as long as `text`; comments are blank in it, and every line ends
    in one line feed. `starts` are the offsets of the lines; `body` is where the
    text behind the front matter begins, `front` the front matter without its
    fences. `chunks` are the parts that hold running text, `code` those that are
    blocks of code; both in order.
    """

    text: str
    plain: str
    starts: list[int]
    body: int
    front: Span | None
    headings: list[Heading]
    chunks: list[Span]
    code: list[Span]


_NOT_END: Final = re.compile(r"[^\n]")
_EDGE: Final = "\0"
"""The first and the last character of a comment: with spaces there, its line would seem to be code."""
_RUN: Final = re.compile(r"`+")
_BLANK: Final = re.compile(r"\n[ \t]*(?=\n)")
_MARK: Final = re.compile(
    r"^(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|(?P<escape>\\[\\`%<])|(?P<run>`+)|(?P<open><!--|%%)",
    re.MULTILINE,
)


def blanked(plain: str, start: int) -> str:
    """The text with nothing to be read in comments behind `start`, every line where it was."""
    if "<!--" not in plain and "%%" not in plain:
        return plain
    return _Blanking(plain).run(start)


class _Blanking:
    def __init__(self, plain: str) -> None:
        self.plain = plain
        self._runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(plain):
            self._runs.setdefault(len(run[0]), []).append(run.start())
        self._blanks = [blank.start() for blank in _BLANK.finditer(plain)]
        # Ends that were sought in vain are not sought again: that would take the square of the time.
        self._missing: set[str] = set()

    def run(self, start: int) -> str:
        parts = [self.plain[:start]]
        done = at = start
        while (mark := _MARK.search(self.plain, at)) is not None:
            if (fence := mark["fence"]) is not None:
                at = self._behind_fence(fence, mark.end())
            elif (run := mark["run"]) is not None:
                at = self._behind_code(len(run), mark.end())
            elif (opening := mark["open"]) is not None:
                at = self._behind_comment(opening, mark)
                if at > mark.end():
                    inner = _NOT_END.sub(" ", self.plain[mark.start() + 1 : at - 1])
                    parts += (self.plain[done : mark.start()], _EDGE, inner, _EDGE)
                    done = at
            else:
                at = mark.end()
        return "".join((*parts, self.plain[done:]))

    def _behind_fence(self, fence: str, at: int) -> int:
        closing = re.compile(
            rf"^[ \t>]*{fence[0]}{{{min(len(fence), _LONGEST_FENCE)},}}[ \t]*$", re.MULTILINE
        )
        end = closing.search(self.plain, at)
        return end.end() if end is not None else len(self.plain)

    def _behind_code(self, length: int, at: int) -> int:
        """Behind the run of as many backticks in the same paragraph; `at` where there is none."""
        runs = self._runs.get(length, [])
        place = bisect_left(runs, at)
        if place == len(runs):
            return at
        blank = bisect_left(self._blanks, at)
        if blank < len(self._blanks) and self._blanks[blank] < runs[place]:
            return at
        return runs[place] + length

    def _behind_comment(self, opening: str, mark: re.Match[str]) -> int:
        closing = "-->" if opening == "<!--" else opening
        if closing not in self._missing:
            end = self.plain.find(closing, mark.end())
            if end >= 0:
                return end + len(closing)
            self._missing.add(closing)
        line = self.plain.rfind("\n", 0, mark.start()) + 1
        begins_line = not self.plain[line : mark.start()].strip()
        return len(self.plain) if opening == "<!--" and begins_line else mark.end()


_LONGEST_FENCE: Final = 255
"""What the expression may count to at once; a longer fence is closed by as many."""


BOM: Final = "\ufeff"

_FRONT_END: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_MARKER: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FENCE: Final = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)$")
_QUOTE: Final = re.compile(r"(?:>[ \t]*)+")
_DELIMITER: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?")
_BAR: Final = re.compile(r"\\.|\|")
_CODE_INDENT: Final = 4
_RULE_MARKS: Final = 3
_MAX_NESTED: Final = 8
"""Items that begin in one line, as `- - text`: each costs the rest of the line once more."""


def scan(text: str) -> Lines:
    """The lines of a page."""
    plain = text
    if "\r" in plain:
        plain = plain.replace("\r\n", " \n").replace("\r", "\n")
    first = 0
    if plain.startswith(BOM):
        plain = f" {plain[1:]}"
        first = 1
    front, body = _front(plain, first)
    plain = blanked(plain, body)
    found = _Scanner(plain, text)
    found.run(body)
    return Lines(text, plain, found.starts, body, front, found.headings, found.chunks, found.code)


def _column_count(plain: str, start: int, end: int) -> int:
    bars = [bar.start() for bar in _BAR.finditer(plain, start, end) if bar[0] == "|"]
    if bars and not plain[start : bars[0]].strip():
        bars.pop(0)
    if bars and not plain[bars[-1] + 1 : end].strip():
        bars.pop()
    return len(bars) + 1


def _front(plain: str, first: int) -> tuple[Span | None, int]:
    """The front matter without its fences, and where the text behind it begins."""
    line = plain.find("\n")
    if line < 0 or plain[first:line].rstrip(" \t") != "---":
        return None, 0
    end = _FRONT_END.search(plain, line + 1)
    if end is None:
        return None, 0
    return (line + 1, end.start()), min(end.end() + 1, len(plain))


class _Fence(msgspec.Struct, frozen=True):
    mark: str
    length: int
    quotes: int
    start: int


class _Scanner:
    """Goes through the lines once; its lists fill up."""

    def __init__(self, plain: str, text: str) -> None:
        self.plain = plain
        self.text = text
        self.starts: list[int] = []
        self.headings: list[Heading] = []
        self.chunks: list[Span] = []
        self.code: list[Span] = []
        self._end = self._last = self._next = 0
        """The ends of the line that is read and of the one before, and where the next one begins."""
        self._open = -1
        """Where the running text began that may go on, and the paragraph that a line of dashes would
        make a heading; -1 where there is none."""
        self._paragraph = -1
        self._paragraph_line = 0
        self._fence: _Fence | None = None
        self._is_in_table = False
        self._is_listed = False
        self._is_behind_blank = True
        self._coded = -1

    def run(self, body: int) -> None:
        """Read every line from `body` on; those before are only counted."""
        at = 0
        plain, starts = self.plain, self.starts
        while at < body:
            starts.append(at)
            at = plain.find("\n", at) + 1 or len(plain)
        has_returns = "\r" in self.text
        is_over = body > 0 and body == len(plain) and not plain.endswith("\n")
        for line in () if is_over else plain[body:].split("\n"):
            starts.append(at)
            self._end = at + len(line)
            self._next = self._end + 1
            if has_returns and line and self.text[self._end - 1] == "\r":
                self._end -= 1
                self._line(line[:-1], at)
            else:
                self._line(line, at)
            self._last, at = self._end, self._next
        self._break()
        if self._fence is not None:
            self.code.append((self._fence.start, len(plain)))

    def _line(self, line: str, at: int) -> None:
        if self._fence is not None and self._in_fence(self._fence, line, at):
            return
        head = line.lstrip(" \t")
        if not head:
            self._break()
            self._is_behind_blank = True
            return
        indent = len(line) - len(head)
        if indent and self._is_code(line, at, indent):
            return
        handle = _HANDLERS.get(head[0])
        if handle is None or not handle(self, head, at, indent):
            self._running(at, indent)
        self._is_behind_blank = False

    def _is_code(self, line: str, at: int, indent: int) -> bool:
        """Whether an indented line is code: behind a blank line, in no list (CommonMark, 4.4)."""
        deep = indent >= _CODE_INDENT or "\t" in line[:indent]
        if not deep or self._is_listed or not (self._is_behind_blank or self._coded == at):
            return False
        if self._coded == at and self.code:
            self.code[-1] = (self.code[-1][0], self._end)
        else:
            self.code.append((at, self._end))
        self._coded = self._next
        return True

    def _running(self, at: int, indent: int) -> None:
        """A line of running text, or a row of a table."""
        if self._is_in_table:
            self.chunks.append((at, self._end))
            return
        if self._is_behind_blank and not indent:
            self._is_listed = False
        if self._open < 0:
            self._open = at
            if not self._is_listed:
                self._paragraph = at
                self._paragraph_line = len(self.starts)

    def _break(self) -> None:
        """The running text and the table end with the line before."""
        if self._open >= 0:
            self.chunks.append((self._open, self._last))
        self._open = self._paragraph = -1
        self._is_in_table = False

    def _alone(self, at: int) -> None:
        """A line whose running text is its own."""
        self._break()
        self.chunks.append((at, self._end))

    # --- what lines begin with; each says whether the line was such a one ---

    def heading(self, head: str, at: int, indent: int) -> bool:
        mark = _HEADING.match(head)
        if mark is None or (indent >= _CODE_INDENT and not self._is_listed):
            return False
        self._alone(at)
        self._is_listed = self._is_listed and indent > 0
        title = head[mark.end() :].rstrip(" \t")
        without = title.rstrip("#")
        if not without or without[-1] in " \t":
            title = without.rstrip(" \t")
        start = at + indent + mark.end()
        title = self.text[start : start + len(title)]
        self.headings.append(Heading(len(mark[1]), title, len(self.starts), (at, self._end)))
        return True

    def dashed(self, head: str, at: int, indent: int) -> bool:
        """Items, rules, lines below headings and below headers of tables: all may begin with a dash."""
        if not head.strip("- \t"):
            if self._paragraph >= 0 and self.underline(head, at, indent):
                return True
            if head.count("-") >= _RULE_MARKS:
                self._break()
                self._is_listed = False
                return True
        return self.table(head, at, indent) or self.item(head, at, indent)

    def starred(self, head: str, at: int, indent: int) -> bool:
        if not head.strip("* \t") and head.count("*") >= _RULE_MARKS:
            self._break()
            self._is_listed = False
            return True
        return self.item(head, at, indent)

    def underline(self, head: str, _: int, __: int) -> bool:
        """The line below a paragraph that makes it a heading (CommonMark, 4.3)."""
        mark = head.rstrip(" \t")
        if self._paragraph < 0 or self._is_in_table or mark.strip(mark[0]):
            return False
        start, line = self._paragraph, self._paragraph_line
        title = " ".join(self.text[start : self._last].split())
        self._break()
        level = 1 if mark[0] == "=" else 2
        self.headings.append(Heading(level, title, line, (start, self._end)))
        return True

    def item(self, head: str, at: int, _: int) -> bool:
        mark = _MARKER.match(head)
        if mark is None:
            return False
        self._break()
        self._is_listed = True
        content = head[mark.end() :]
        for _ in range(_MAX_NESTED):
            if (mark := _MARKER.match(content)) is None:
                break
            content = content[mark.end() :]
        if content[:3] not in _FENCES or not self._opens(content, at, 0):
            self._open = at
        return True

    def fenced(self, head: str, at: int, _: int) -> bool:
        return self._opens(head, at, 0)

    def _opens(self, head: str, at: int, quotes: int) -> bool:
        mark = _FENCE.match(head)
        if mark is None:
            return False
        self._break()
        fence = mark[1] or mark[2]
        self._fence = _Fence(fence[0], len(fence), quotes, at)
        return True

    def _in_fence(self, fence: _Fence, line: str, at: int) -> bool:
        """Whether the line is inside of the fence, or closes it."""
        if fence.quotes:
            quote = _QUOTE.match(line.lstrip(" \t"))
            if quote is None or quote[0].count(">") < fence.quotes:
                self.code.append((fence.start, at))
                self._fence = None
                return False
            line = line.lstrip(" \t")[quote.end() :]
        mark = line.strip(" \t")
        if len(mark) >= fence.length and not mark.strip(fence.mark):
            self.code.append((fence.start, self._end))
            self._fence = None
            self._is_behind_blank = False
        return True

    def quote(self, head: str, at: int, indent: int) -> bool:
        quote = _QUOTE.match(head)
        if quote is None:
            return False
        inner = head[quote.end() :]
        if inner[:3] in _FENCES and self._opens(inner, at, quote[0].count(">")):
            return True
        was_listed = self._is_listed
        if inner[:1] in _MARKS and self.item(inner, at, indent + quote.end()):
            self._is_listed = was_listed
            return True
        if not inner:
            self._break()
        elif self._open < 0:
            self._break()
            self._open = at
        return True

    def table(self, head: str, at: int, indent: int) -> bool:
        """The line below the header of a table."""
        if self._open < 0 or self._is_in_table or _DELIMITER.fullmatch(head) is None:
            return False
        header = self.starts[-2]
        is_barred = "|" in self.plain[header : self._last] and "|" in head
        columns = _column_count(self.plain, header, self._last)
        if not is_barred or columns != _column_count(self.plain, at + indent, self._end):
            return False
        self._break()
        self._is_in_table = True
        return True


_FENCES: Final = frozenset({"```", "~~~"})
_MARKS: Final = frozenset("-*+0123456789")
_HANDLERS: Final = {
    "#": _Scanner.heading,
    "-": _Scanner.dashed,
    "*": _Scanner.starred,
    "+": _Scanner.item,
    "=": _Scanner.underline,
    "`": _Scanner.fenced,
    "~": _Scanner.fenced,
    ">": _Scanner.quote,
    "|": _Scanner.table,
    ":": _Scanner.table,
    **dict.fromkeys("0123456789", _Scanner.item),
}
