"""HTML as Markdown, all of it: headings, lists, tables, in order. `reader`, `epub` and `mail` call it.

Of pages of the web `bethink.internet` gives the main part; chapters of books and letters are wanted whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from bethink.documents.reading.messages import MAX_CHARS
from bethink.documents.reading.tables import as_markdown, with_whole_lists

_SKIPPED: Final = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "head", "iframe", "object", "select", "button")
)
_BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "nav"),
        *("ol", "p", "pre", "section", "summary", "ul"),
    )
)
_HEADING: Final = re.compile(r"h[1-6]")
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0", re.IGNORECASE)
"""What a person does not see; people hide orders to models there."""
_DEEPEST_LIST: Final = 6
_SPACE: Final = re.compile(r"[ \t\r\f\v\n]+")


def html_blocks(html: str) -> Iterator[str]:
    """Headings, paragraphs, lists and tables of a page; "" has none."""
    yield from with_whole_lists(_walked(html))


def _walked(html: str) -> Iterator[str]:
    etree: Any = import_module("lxml.etree")
    root = _root(html)
    if root is None:
        return
    writer = _Writer()
    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    size = 0
    for event, element in walk:
        if event in {"comment", "pi"} or not isinstance(element.tag, str):
            writer.text(element.tail)
        elif event == "start" and _is_hidden(element):
            walk.skip_subtree()
            writer.skipped = element
        elif event == "start":
            writer.start(element.tag, element)
            writer.text(element.text)
        else:
            writer.leave(element)
        yield from writer.done
        size += sum(map(len, writer.done))
        writer.done.clear()
        if size > MAX_CHARS:
            return
    writer.flush()
    yield from writer.done


def _root(html: str) -> Any:  # noqa: ANN401 - lxml's elements have no types
    errors: Any = import_module("lxml.etree")
    lxml_html: Any = import_module("lxml.html")
    # As bytes: text that declares an encoding, which it is not in any more, is refused.
    parser = lxml_html.HTMLParser(encoding="utf-8")
    try:
        return lxml_html.document_fromstring(html.encode("utf-8", "replace"), parser)
    except (errors.ParserError, ValueError):
        return None


def _is_hidden(element: Any) -> bool:  # noqa: ANN401 - the same
    is_skipped = element.tag in _SKIPPED or element.get("hidden") is not None
    return is_skipped or _HIDDEN.search(element.get("style", "")) is not None


def title_of(html: str) -> str:
    """What stands in a page's `title`."""
    found = re.search(r"<title[^>]*>(.{0,1000}?)</title", html, re.IGNORECASE | re.DOTALL)
    if found is None:
        return ""
    from html import unescape

    return " ".join(unescape(found[1]).split())


class _Writer:
    """Collects a walk's text into blocks."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.skipped: object = None
        self._line: list[str] = []
        self._before = ""
        self._lists: list[tuple[str, int]] = []
        self._rows: list[list[str]] = []
        self._tables = 0
        self._is_kept = False

    def text(self, text: str | None) -> None:
        if text:
            self._line.append(text if self._is_kept else _SPACE.sub(" ", text))

    def leave(self, element: Any) -> None:  # noqa: ANN401 - lxml's elements have no types
        """End an element, whether it was walked or skipped."""
        if self.skipped is element:
            self.skipped = None
        else:
            self.end(element.tag)
        self.text(element.tail)

    def start(self, tag: str, element: Any) -> None:  # noqa: ANN401 - the same
        if tag == "br":
            self._line.append("\n")
        elif tag == "table":
            if not self._tables:
                self.flush()
                self._rows = []
            self._tables += 1
        elif self._tables:
            self._start_in_table(tag)
        elif _HEADING.fullmatch(tag):
            self.flush()
            self._before = "#" * int(tag[1]) + " "
        elif tag == "li":
            self.flush()
            self._before = self._bullet()
        elif tag in _BLOCKS:
            self._flush_if_begun()
            if tag in _LISTS:
                start = element.get("start", "1")
                self._lists.append(
                    (tag, int(start) if start.isdecimal() and len(start) < _DEEPEST_LIST else 1)
                )
            elif tag == "pre":
                self._is_kept = True

    def end(self, tag: str) -> None:
        if tag == "table" and self._tables:
            self._tables -= 1
            if not self._tables:
                self._end_cell()
                self._line.clear()
                if table := as_markdown([row for row in self._rows if any(row)]):
                    self.done.append(table)
        elif self._tables:
            if tag in {"td", "th", "tr"} and self._tables == 1:
                self._end_cell()
        elif tag in _BLOCKS or tag == "li" or _HEADING.fullmatch(tag):
            self.flush()
            if tag in _LISTS and self._lists:
                self._lists.pop()
            self._is_kept = self._is_kept and tag != "pre"

    def _start_in_table(self, tag: str) -> None:
        if self._tables > 1 or tag in _BLOCKS or tag == "li":
            self._line.append(" ")
        elif tag == "tr":
            self._end_cell()
            self._rows.append([])
        elif tag in {"td", "th"}:
            self._end_cell()
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append("")
        elif tag == "caption":
            self._end_cell()

    def _end_cell(self) -> None:
        text = " ".join("".join(self._line).split())
        self._line.clear()
        if not text:
            return
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] = f"{self._rows[-1][-1]} {text}".strip()
        else:
            # A caption, or text that somebody left between the rows.
            self.done.append(text)

    def _bullet(self) -> str:
        if not self._lists:
            return "- "
        indent = "  " * (min(len(self._lists), _DEEPEST_LIST) - 1)
        kind, number = self._lists[-1]
        if kind != "ol":
            return f"{indent}- "
        self._lists[-1] = (kind, number + 1)
        return f"{indent}{number}. "

    def _flush_if_begun(self) -> None:
        """End a block, but not a heading's or an item's that has said nothing yet."""
        if "".join(self._line).strip():
            self.flush()

    def flush(self) -> None:
        """End a block."""
        text = "".join(self._line)
        self._line.clear()
        if self._is_kept:
            text = f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""
        else:
            text = "\n".join(line.strip() for line in text.split("\n")).strip()
        before, self._before = self._before, ""
        if not text:
            return
        is_heading = before.startswith("#")
        text = before + (" ".join(text.split()) if is_heading else text)
        self.done.append(text)
