"""Reads one document in a process of its own: `python -m bethink.documents.reading.reader TASK < FILE`.

Strangers may have made the file: it is taken apart where memory and time end
with the process, which has none of our environment's variables and may write no file.
`extraction` starts it; what it tells is a line of JSON each on standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.documents.reading.docx import docx_blocks
from bethink.documents.reading.messages import (
    FOREIGN,
    HEAD,
    MAX_CHARS,
    Ended,
    Failed,
    Opened,
    PageRead,
    Task,
    UnfitError,
    bare_utf16,
)
from bethink.documents.reading.pdf import read_pdf
from bethink.documents.reading.tables import csv_pages, paged, paragraphs
from bethink.internet.decoding import decoded, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bethink.documents.reading.messages import Told

_CPU_SPARE_S: Final = 5
_SAMPLE: Final = 65_536
_TOO_LONG: Final = f"Only its first {MAX_CHARS:,} characters are read."
_NOT_INSTALLED: Final = "{} files cannot be read: install `pip install 'bethink[{}]'`, then restart."
_TOO_MUCH: Final = "This document cannot be read: it asks for too much memory."


def read(content: bytes, task: Task) -> Iterator[Told]:
    """What there is to tell of a document."""
    try:
        if task.kind == "pdf":
            yield from read_pdf(content, task)
            return
        pages, note = _pages(content, task)
    except UnfitError as error:
        yield Failed(str(error))
        return
    except ModuleNotFoundError:
        extra = "documents" if task.kind == "docx" else "web"
        yield Failed(_NOT_INSTALLED.format(task.kind.upper(), extra))
        return
    yield Opened(len(pages))
    for number in range(task.first, min(task.last, len(pages)) + 1):
        yield PageRead(number, pages[number - 1])
    yield Ended(note)


def _pages(content: bytes, task: Task) -> tuple[Sequence[str], str]:
    match task.kind:
        case "docx":
            text = visible("\n\n".join(docx_blocks(content)))
        case "csv":
            return csv_pages(text_of(content)[: 2 * MAX_CHARS], task.name)
        case "html":
            text = _html(text_of(content))
        case "json":
            text = _json(text_of(content))
        case "text" | "pdf":
            text = text_of(content)
    note = _TOO_LONG if len(text) > MAX_CHARS else ""
    return list(paged(paragraphs(text[:MAX_CHARS]))), note


def text_of(content: bytes) -> str:
    """A file's characters, whatever they are written in; those that nobody sees are left out."""
    if bare := bare_utf16(content[:HEAD]):
        return visible(content.decode(bare, "replace"))
    try:
        return visible(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return decoded(content, _guessed(content))


def _guessed(content: bytes) -> str | None:
    """The encoding that a text's bytes look most like, where somebody is there to tell."""
    with contextlib.suppress(ModuleNotFoundError):
        from charset_normalizer import from_bytes

        if (best := from_bytes(content[:_SAMPLE]).best()) is not None:
            return best.encoding
    return None


def _html(html: str) -> str:
    from bethink.internet.reading import read_html

    page = read_html(html, "")
    return f"# {page.title}\n\n{page.text}" if page.title else page.text


def _json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def main() -> None:
    """Read the document on standard input as the first argument says."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    _limit(task)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    # A library's complaints about a document are no answer.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            for told in read(sys.stdin.buffer.read(), task):
                out.write(msgspec.json.encode(_sound(told)) + b"\n")
        except MemoryError:
            out.write(msgspec.json.encode(Failed(_TOO_MUCH)) + b"\n")
        except FOREIGN as error:
            text = f"This document cannot be read: {type(error).__name__}."
            out.write(msgspec.json.encode(Failed(text)) + b"\n")


def _sound(told: Told) -> Told:
    """The same without halves of surrogate pairs, which cannot be written."""
    if isinstance(told, PageRead):
        return PageRead(told.number, told.text.encode("utf-8", "replace").decode())
    return told


def _limit(task: Task) -> None:
    seconds = int(task.seconds) + _CPU_SPARE_S
    limits = (
        (resource.RLIMIT_AS, task.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, most in limits:
        # Some systems know a limit and do not let it be set.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
