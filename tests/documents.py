"""The project's documents as tests read them: files, links and the examples in them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block. `info` are the words behind its fence: language, kind of check, the rest."""

    document: str
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def kind(self) -> str:
        """How it is checked: `sh run`, `python run`, `text part`, `sh settings`, `toml settings`,
        `python file`, `diff apply`, or not."""
        return " ".join(self.info[:2])

    @property
    def name(self) -> str:
        return f"{self.document}:{self.line}"


@cache
def documents() -> list[str]:
    """Every Markdown file of the project for people, by its path in it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [name for name in listed if not name.startswith(("src/", "ui/")) and (ROOT / name).is_file()]


def examples(document: str) -> list[Example]:
    """The fenced blocks of a document, in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Example(document, text.count("\n", 0, found.start()) + 1, tuple(found["info"].split()), found["text"])
        for found in _FENCE.finditer(text)
    ]


def code_of(document: str) -> str:
    """What a document shows as code: examples, and what stands in backticks, a line each."""
    text = (ROOT / document).read_text(encoding="utf-8")
    inline = re.findall(r"`[^`]+`", _FENCE.sub("", text))
    return "\n".join((*(one.text for one in examples(document)), *(" ".join(one.split()) for one in inline)))


def links(document: str) -> list[str]:
    """Where a document's links and pictures lead, outside of its examples."""
    text = _FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    return [found["target"] for found in _LINK.finditer(text)]


def anchors(document: str) -> set[str]:
    """The names of a document's headings, as links write them."""
    text = _FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
