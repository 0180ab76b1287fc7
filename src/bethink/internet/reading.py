"""Pages and PDF files into Markdown, in a process of its own: `python -m bethink.internet.reading`.

What strangers wrote is taken apart here by parsers in C and by code whose time
nobody can promise, so it happens where memory and time end with the process,
and without a variable of the environment. `reader` starts it: one document on
standard input behind a line of JSON, the answer as JSON on standard output.
"""

from __future__ import annotations

import contextlib
import io
import re
import resource
import sys
import time
from collections.abc import Iterator
from importlib import import_module

import msgspec

from bethink.internet.decoder import visible

MAX_CHARS = 2_000_000
"""Of a document's text, so much is kept: a thick book."""
_MEMORY = 1_500 * 2**20
_RENDERED = 800_000
"""Characters of HTML for which looking for the page's own text pays: it takes 2 s here, and 80 s at 5 MB."""
_LITTLE = 80
"""Less text than this is compared with all that the page holds: furniture may have been its point."""
_MAX_PAGES = 2_000
_HIDDEN = (
    "//*[@hidden]",
    "//*[contains(translate(@style,' ',''),'display:none')]",
    "//*[contains(translate(@style,' ',''),'visibility:hidden')]",
    "//*[contains(translate(@style,' ',''),'font-size:0')]",
)
"""What a person does not see; people hide orders to models there."""
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|li|main"
    r"|nav|ol|p|pre|section|table|td|th|tr|ul"
)
_FOREIGN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What parsers raise over documents that lie about themselves."""


class ReadingTask(msgspec.Struct, frozen=True):
    """What is to be read, and in how many seconds."""

    kind: str
    url: str
    seconds: float


class PageReading(msgspec.Struct, frozen=True):
    """A document as Markdown. `note` says what is not in it; `error` why it cannot be read."""

    title: str = ""
    text: str = ""
    note: str = ""
    error: str = ""


def read_html(html: str, url: str) -> PageReading:
    """A page's own text as Markdown, with its links made whole, without what surrounds it."""
    import trafilatura
    from trafilatura.settings import use_config

    # Its own is 250: of a short page it would take all, furniture and all.
    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(_LITTLE))
    try:
        tree = import_module("lxml.html").document_fromstring(html)
    except import_module("lxml.etree").ParserError:
        return PageReading()
    title = " ".join((tree.findtext(".//title") or "").split())
    for path in _HIDDEN:
        for element in tree.xpath(path):
            if element.getparent() is not None:
                element.drop_tree()
    text = ""
    if len(html) <= _RENDERED:
        text = (
            trafilatura.extract(
                tree,
                url=url,
                output_format="markdown",
                include_links=True,
                include_comments=False,
                favor_recall=True,
                config=config,
            )
            or ""
        )
    if len(text) < _LITTLE:
        plain = "".join(_plain(tree))
        plain = re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", plain)).strip()
        text = plain if len(plain) > 2 * len(text) else text
    return _bounded(title, text)


def _plain(tree: object) -> Iterator[str]:
    """All that a page shows, a line a block; takes time in proportion to the page."""
    walk = import_module("lxml.etree").iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        tag = element.tag
        if event in {"comment", "pi"} or not isinstance(tag, str):
            yield element.tail or ""
        elif event == "start" and tag in _SKIPPED:
            walk.skip_subtree()
        elif event == "start":
            yield ("\n" if _BLOCKS.fullmatch(tag) else "") + (element.text or "")
        else:
            yield ("\n" if _BLOCKS.fullmatch(tag) else "") + (element.tail or "")


def read_pdf(content: bytes, seconds: float) -> PageReading:
    """A PDF's text, a heading a page, as many pages as the time allows."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    end = time.monotonic() + seconds
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return PageReading(error="This PDF is locked with a password.")
        count = len(reader.pages)
        title = str((reader.metadata and reader.metadata.title) or "")
    except PyPdfError as error:
        return PageReading(error=f"This PDF is damaged: {error}")
    parts: list[str] = []
    size = 0
    for number in range(min(count, _MAX_PAGES)):
        if time.monotonic() > end or size > MAX_CHARS:
            break
        try:
            text = reader.pages[number].extract_text().strip()
        except (PyPdfError, *_FOREIGN):
            text = "(this page cannot be read)"
        parts.append(f"## Page {number + 1}\n\n{text}")
        size += len(text)
    if not parts:
        return PageReading(title=title, error="This PDF could not be read in time.")
    if not size:
        return PageReading(title=title, error="This PDF contains no text: its pages are images.")
    note = "" if len(parts) == count else f"Only the first {len(parts)} of {count} pages were read."
    reading = _bounded(title, "\n\n".join(parts))
    return msgspec.structs.replace(reading, note=note or reading.note)


def _bounded(title: str, text: str) -> PageReading:
    text = visible(text).strip()
    note = "" if len(text) <= MAX_CHARS else f"Only its first {MAX_CHARS:,} characters were read."
    return PageReading(visible(title)[:300], text[:MAX_CHARS], note)


def main() -> None:
    """Read the document on standard input."""
    limits = ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
    for kind, most in limits:
        # Some systems know a limit and do not let it be set.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    # A library's complaints about a document are no answer.
    with contextlib.redirect_stdout(sys.stderr):
        # While the document is still on its way.
        import_module("trafilatura")
        task = msgspec.json.decode(sys.stdin.buffer.readline(), type=ReadingTask)
        content = sys.stdin.buffer.read()
        try:
            if task.kind == "pdf":
                reading = read_pdf(content, task.seconds)
            else:
                reading = read_html(content.decode("utf-8", "replace"), task.url)
        except _FOREIGN as error:
            reading = PageReading(error=f"This document cannot be read: {type(error).__name__}.")
    sys.stdout.buffer.write(msgspec.json.encode(reading))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
