"""Markdown for people: a list of facts under a heading for each category, the rest of each in a comment.

A file that a person wrote is read too: each item of a list is a fact of the
category that the heading above it names. Escapes are CommonMark's (0.31, 2.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from bethink.clock import to_datetime
from bethink.export.records import (
    SCHEMA,
    BadLine,
    ExportWriter,
    check_schema,
    document_of,
    kept_from,
    lines,
    stated_from,
)

if TYPE_CHECKING:
    from bethink.export.records import ExportHeader, FactBatch, ImportLine

_HEADER = re.compile(r"<!-- bethink_memory schema (\d+)\b.*-->")
_HEADING = re.compile(r"#{1,6}\s+(.*?)(?:\s+#+)?\s*")
_ITEM = re.compile(r"\s{0,8}(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_COMMENT = re.compile(r"\s*<!-- (\{.*\}) -->\s*")
_PAST = re.compile(r"~~(.*)~~(?: \([^()]*\))?")
_FENCE = "---"

_SPECIAL = re.compile(r"[\\`*<\[~&]|(?<!\w)_|_(?!\w)|^(?:[#>+=-]|\d{1,9}(?=[.)]))")
"""What Markdown takes for more than text, in the middle of a line or at its beginning."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class MarkdownWriter(ExportWriter):
    """Writes one file; facts come category by category."""

    def __init__(self) -> None:
        self._category: str | None = None

    def head(self, about: ExportHeader) -> str:
        """The title and the header."""
        return (
            "# What Bethink remembers\n\n"
            f"<!-- bethink_memory schema {SCHEMA}, {about.facts} facts, {about.at}, {about.program} -->\n"
        )

    def facts(self, batch: FactBatch) -> str:
        """More facts, under a new heading if a new category begins."""
        parts: list[str] = []
        for fact in batch.facts:
            if fact.category != self._category:
                parts.append(f"\n## {_escaped(fact.category)}\n\n")
                self._category = fact.category
            document = document_of(fact)
            del document["content"], document["category"]
            # Two dashes end a comment in some readers. They stand in strings only, where an escape says it.
            comment = msgspec.json.encode(document).decode().replace("--", "-\\u002d")
            content = _escaped(fact.content)
            if fact.state != "active":
                until = "" if fact.valid_until is None else f" until {to_datetime(fact.valid_until):%Y-%m-%d}"
                content = f"~~{content}~~ ({fact.state}{until})"
            parts.append(f"- {content} <!-- {comment} -->\n")
        return "".join(parts)


def read(file: BinaryIO) -> Iterator[ImportLine]:
    """What each item of a list says, in order.

    Raises:
        NewerSchema: a newer Bethink wrote the file.
    """
    reader = _MarkdownReader()
    for found in lines(file):
        if isinstance(found, BadLine):
            yield from reader.end_item()
            yield found
        else:
            yield from reader.line(*found)
    yield from reader.end_item()


class _MarkdownReader:
    """Where in the file the reading is."""

    def __init__(self) -> None:
        self._category = ""
        self._is_ours = False
        self._in_front_matter = False
        self._item: tuple[int, str] | None = None
        """An item of a foreign list: its next lines may belong to it."""

    def line(self, number: int, text: str) -> Iterator[ImportLine]:
        if self._in_front_matter or (number == 1 and text.rstrip() == _FENCE):
            self._in_front_matter = number == 1 or text.rstrip() != _FENCE
        elif heading := _HEADING.fullmatch(text):
            yield from self.end_item()
            self._category = _unescaped(heading[1])
        elif item := _ITEM.fullmatch(text):
            yield from self.end_item()
            yield from self._begin_item(number, item[1])
        elif not text.strip():
            yield from self.end_item()
        elif header := _HEADER.match(text):
            check_schema(int(header[1]))
            self._is_ours = True
        elif self._item is not None:
            self._item = (self._item[0], f"{self._item[1]} {text.strip()}")
        elif not text.lstrip().startswith("<!--"):
            reason = (
                "this is neither a heading nor an item of a list: put a dash before what is to be remembered."
            )
            yield BadLine(number, reason)

    def end_item(self) -> Iterator[ImportLine]:
        if self._item is not None:
            number, text = self._item
            self._item = None
            yield stated_from(number, {"content": _unescaped(text), "category": self._category})

    def _begin_item(self, number: int, text: str) -> Iterator[ImportLine]:
        # The content's own `<` is escaped: the first comment there is, is the record's.
        comment = _COMMENT.search(text) if self._is_ours else None
        if comment is None or comment.end() != len(text):
            self._item = (number, text)
            return
        try:
            more: dict[str, Any] = msgspec.json.decode(comment[1], type=dict[str, Any])
        except msgspec.DecodeError as error:
            yield BadLine(number, f"its comment is not as Bethink wrote it: {error}.")
            return
        content = text[: comment.start()]
        if more.get("state", "active") != "active" and (past := _PAST.fullmatch(content)):
            content = past[1]
        yield kept_from(number, {**more, "content": _unescaped(content), "category": self._category})


def _escaped(text: str) -> str:
    def escape(found: re.Match[str]) -> str:
        # Behind a number it is the dot that makes a list of it.
        return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"

    return _SPECIAL.sub(escape, text)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
