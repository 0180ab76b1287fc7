"""Reads one document in a process of its own: `python -m bethink.documents.reading TASK < FILE`.

Strangers may have made the file: it is taken apart where memory and time end
with the process, which has none of our environment's variables and may write no file.
`extraction` starts it; what it tells is a line of JSON each on standard output.
There is one for every file: libraries of a format are imported when one comes, by the process of which it is
a copy (`messages.imports_for`), or else by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.documents.reading.compound import kind_of_compound
from bethink.documents.reading.docx import read_docx
from bethink.documents.reading.epub import read_epub
from bethink.documents.reading.markup import html_blocks, title_of
from bethink.documents.reading.messages import (
    FOREIGN,
    HEAD,
    MAX_CHARS,
    TOO_LONG,
    Ended,
    Failed,
    FileText,
    Opened,
    PageRead,
    ReadingJob,
    UnfitError,
    bare_utf16,
)
from bethink.documents.reading.open_document import read_odp, read_odt
from bethink.documents.reading.package import Package
from bethink.documents.reading.pptx import read_pptx
from bethink.documents.reading.recognition import read_image
from bethink.documents.reading.rtf import read_rtf
from bethink.documents.reading.sheets import read_sheets
from bethink.documents.reading.tables import csv_pages, paged, paragraphs
from bethink.internet.decoder import decoded, visible

if TYPE_CHECKING:
    from bethink.documents.reading.mail import Attachments
    from bethink.documents.reading.messages import Kind, Told

_CPU_SPARE_S: Final = 5
_SAMPLE: Final = 65_536
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
_LETTERS_FOR_ONE: Final = 10
"""So many letters that are right to one byte that is not: a text was cut or put together."""
_WESTERN: Final = "cp1252"
_AS_GOOD: Final = 0.1
"""Of the share of a text that looks strange."""
_NOT_INSTALLED: Final = "{} files cannot be read: install `pip install 'bethink[documents]'`, then restart."
_TOO_MUCH: Final = "This document cannot be read: it asks for too much memory. Save it in parts."
_MACROS: Final = "It contains macros, which are neither run nor read."
_EMPTY: Final = "It contains no text."
_RENDERED: Final = 800_000
"""Characters of HTML in which the page's own text is looked for; of longer ones all text is taken."""
_MARKDOWN: Final = (".md", ".markdown", ".mdown")
_FIRST_HEADING: Final = re.compile(r"^#{1,6} +(.{1,300})$", re.MULTILINE)


def read(content: bytes, task: ReadingJob) -> Iterator[Told]:
    """What there is to tell of a document."""
    kind = task.kind
    try:
        if kind in {"zip", "ole"}:
            kind = _contained(kind, content, task.name)
        if kind == "pdf":
            from bethink.documents.reading.pdf import read_pdf

            yield from read_pdf(content, task)
            return
        document = _document(kind, content, task)
    except UnfitError as error:
        yield Failed(str(error))
        return
    except ModuleNotFoundError:
        yield Failed(_NOT_INSTALLED.format(kind.upper()))
        return
    yield Opened(len(document.pages), kind, document.title or _title(kind, task.name, document))
    for number in range(task.first, min(task.last, len(document.pages)) + 1):
        label = document.labels[number - 1] if document.labels else ""
        yield PageRead(number, document.pages[number - 1], label)
    yield Ended(document.note or ("" if document.pages else _EMPTY))


def _contained(kind: Kind, content: bytes, name: str) -> Kind:
    """What a container holds; `name` says what its owner takes it for."""
    if kind == "ole":
        return kind_of_compound(content)
    ending = name.rpartition(".")[2].lower()
    return Package(content, f"{ending.upper()} file" if ending in _PACKAGES else "file").kind


def _title(kind: Kind, name: str, document: FileText) -> str:
    """The first heading, where `#` is known to begin one."""
    if (
        not document.pages
        or kind in {"csv", "json"}
        or (kind == "text" and not name.lower().endswith(_MARKDOWN))
    ):
        return ""
    found = _FIRST_HEADING.search(document.pages[0])
    return found[1].strip() if found else ""


def _document(
    kind: Kind, content: bytes, task: ReadingJob, *, attachments: Attachments | None = None
) -> FileText:
    if kind in _PACKAGES:
        package = Package(content, f"{kind.upper()} file")
        document = _PACKAGES[kind](package)
        note = f"{document.note} {_MACROS if package.has_macros else ''}".strip()
        return FileText(document.pages, document.labels, document.title, note)
    if kind in {"eml", "msg"}:
        return _letter(kind, content, task, attachments=attachments)
    if kind == "pdf":
        return _pdf(content, task)
    return _READERS[kind](content, task)


def _letter(kind: Kind, content: bytes, task: ReadingJob, *, attachments: Attachments | None) -> FileText:
    from bethink.documents.reading.mail import Attachments, read_letter

    end = time.monotonic() + task.seconds

    def attached(kind: Kind, content: bytes, name: str) -> FileText:
        if kind in {"zip", "ole"}:
            kind = _contained(kind, content, name)
        left = max(end - time.monotonic(), 0.0)
        own = msgspec.structs.replace(task, kind=kind, name=name, seconds=left, first=1)
        return _document(kind, content, own, attachments=attachments)

    attachments = attachments or Attachments(attached)
    return read_letter(kind, content, attachments)


def _pdf(content: bytes, task: ReadingJob) -> FileText:
    """One that is attached to a letter: its pages at once."""
    from bethink.documents.reading.pdf import read_pdf

    pages: list[str] = []
    title = note = ""
    for told in read_pdf(content, task):
        match told:
            case Opened():
                title = told.title
            case PageRead():
                pages.append(told.text)
            case Ended():
                note = f"{told.note} {told.cut}".strip()
            case Failed():
                raise UnfitError(told.error)
    return FileText(pages, title=title, note=note)


def _sheets(package: Package) -> FileText:
    return read_sheets(package.content, package.title() or package.title("meta.xml"))


def _csv(content: bytes, task: ReadingJob) -> FileText:
    pages, note = csv_pages(text_of(content)[: 2 * MAX_CHARS], task.name)
    return FileText(pages, note=note)


def _json(content: bytes) -> FileText:
    text = text_of(content)
    with contextlib.suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    return _paged(text)


def _html(content: bytes) -> FileText:
    """A page's own text without what surrounds it, if something here can tell; else all of it."""
    html = text_of(content)
    if len(html) <= _RENDERED:
        with contextlib.suppress(ModuleNotFoundError):
            from bethink.internet.reading import read_html

            page = read_html(html, "")
            document = _paged(f"# {page.title}\n\n{page.text}" if page.title else page.text)
            return FileText(document.pages, title=page.title, note=document.note)
    return FileText(list(paged(map(visible, html_blocks(html)))), title=title_of(html))


def _paged(text: str) -> FileText:
    note = TOO_LONG if len(text) > MAX_CHARS else ""
    return FileText(list(paged(paragraphs(text[:MAX_CHARS]))), note=note)


_PACKAGES: Final[dict[Kind, Callable[[Package], FileText]]] = {
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": _sheets,
    "ods": _sheets,
    "odt": read_odt,
    "odp": read_odp,
    "epub": read_epub,
}
_READERS: Final[dict[Kind, Callable[[bytes, ReadingJob], FileText]]] = {
    "xls": lambda content, _: read_sheets(content),
    "rtf": lambda content, _: read_rtf(content),
    "image": lambda content, task: read_image(content, task.seconds),
    "html": lambda content, _: _html(content),
    "csv": _csv,
    "json": lambda content, _: _json(content),
    "text": lambda content, _: _paged(text_of(content)),
}


def text_of(content: bytes) -> str:
    """A file's characters, whatever they are written in; those that nobody sees are left out."""
    if bare := bare_utf16(content[:HEAD]):
        return visible(content.decode(bare, "replace"))
    try:
        return visible(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _damaged_utf8(content) or decoded(content, _guessed(content))


def _damaged_utf8(content: bytes) -> str | None:
    """A text that is UTF-8 but for a few bytes: other encodings hardly ever look like it."""
    text = content.decode("utf-8-sig", "replace")
    wrong = text.count("\ufffd")
    letters = len(_NOT_ASCII.findall(text)) - wrong
    return visible(text) if letters > _LETTERS_FOR_ONE * wrong else None


def _guessed(content: bytes) -> str | None:
    """The encoding that a text's bytes look most like, if something here can tell.

    Western European, as Windows writes it, before others that fit no better: it is by far the most common.
    """
    with contextlib.suppress(ModuleNotFoundError):
        from charset_normalizer import from_bytes

        matches = [*from_bytes(content[:_SAMPLE])]
        for match in matches:
            is_near = match.chaos <= matches[0].chaos + _AS_GOOD
            if match.encoding == _WESTERN and is_near and match.coherence >= matches[0].coherence:
                return _WESTERN
        return matches[0].encoding if matches else None
    return None


def main() -> None:
    """Read the document on standard input as the first argument says."""
    task = msgspec.json.decode(sys.argv[1], type=ReadingJob)
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
    fields = msgspec.structs.asdict(told)
    texts = {name: text for name, text in fields.items() if isinstance(text, str)}
    whole = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return msgspec.structs.replace(told, **whole)


def _limit(task: ReadingJob) -> None:
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
