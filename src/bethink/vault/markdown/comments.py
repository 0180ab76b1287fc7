"""Comments of a page, made blank before its lines are read. `lines` calls it.

Comments are HTML's (CommonMark 0.31, 4.6 and 6.6) and Obsidian's `%%`. One that
stands in code is code; code that stands in a comment is a comment: what begins
first wins. A comment that is never closed is none, unless it begins its line as HTML.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

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
