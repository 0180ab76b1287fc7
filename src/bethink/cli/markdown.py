"""Markdown of an answer for a terminal, line by line as it comes. `render` shows answers through it.

Only what can be told without moving the cursor is styled; tables and all else stay as they are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_ITEM: Final = re.compile(r"(\s*)[-*+]\s+(.*)")
_QUOTE: Final = re.compile(r"\s*>\s?(.*)")
_RULE: Final = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_INLINE: Final = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*|(?<![\w*])[*](?P<weak>[^*\s][^*\n]*)[*](?![\w*])"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<address>[^()\s]+)\)"
)
_RULE_CHARS: Final = 40


@dataclass(slots=True)
class MarkdownLines:
    """Turns Markdown into styled lines; `styled` puts a text into one of the terminal's styles."""

    styled: Callable[[str, str], str]
    _fence: str = ""

    def line(self, line: str) -> str:
        """The line, without a line break, as it is shown."""
        if (fence := _FENCE.match(line)) is not None:
            if not self._fence:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence):
                self._fence = ""
            return self.styled(line, "dim")
        if self._fence:
            return self.styled(line, "cyan")
        if _RULE.match(line):
            return self.styled("─" * _RULE_CHARS, "dim")
        if (heading := _HEADING.match(line)) is not None:
            return self.styled(self._plain(heading[1]), "bold")
        if (quote := _QUOTE.match(line)) is not None:
            return f"{self.styled('│', 'dim')} {self._inline(quote[1])}"
        if (item := _ITEM.match(line)) is not None:
            return f"{item[1]}• {self._inline(item[2])}"
        return self._inline(line)

    def _inline(self, text: str) -> str:
        def shown(found: re.Match[str]) -> str:
            match found.lastgroup:
                case "code":
                    return self.styled(found["code"], "cyan")
                case "strong":
                    return self.styled(found["strong"], "bold")
                case "weak":
                    return self.styled(found["weak"], "italic")
                case _:
                    address = "" if found["address"] == found["label"] else f" ({found['address']})"
                    return f"{found['label']}{self.styled(address, 'dim')}"

        return _INLINE.sub(shown, text)

    def _plain(self, text: str) -> str:
        """A text that is styled as a whole, without its own marks."""
        return _INLINE.sub(lambda found: found[found.lastgroup or 0], text)
