"""Letters as Markdown, with what is attached to them: EML and Outlook's MSG. `reader` calls it.

Attached files are read like any other, letters among them; how deep, and how many, is bounded.
"""

from __future__ import annotations

import email
import email.policy
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from bethink.documents.reading.markup import html_blocks
from bethink.documents.reading.messages import FOREIGN, MAX_CHARS, FileText, Kind, UnfitError, kind_of
from bethink.documents.reading.tables import paged, paragraphs
from bethink.internet.decoder import decoded, visible

_DEEPEST: Final = 3
"""Letters in letters."""
_MOST_ATTACHED: Final = 50
_DAMAGED: Final = "This letter is damaged: it cannot be opened."
_HEADERS: Final = ("From", "To", "Cc", "Date")
_MAX_HEADER: Final = 2_000
_LETTER: Final = "message/rfc822"


@dataclass(slots=True)
class Attachments:
    """Reads what is attached, as far as there is room. `read` reads a file of a kind, by its name."""

    read: Callable[[Kind, bytes, str], FileText]
    deepest: int = _DEEPEST
    left: int = _MOST_ATTACHED
    size: int = 0

    def pages_of(self, files: Iterable[tuple[str, str, bytes]]) -> tuple[list[str], list[str], list[str]]:
        """Pages, labels and notes of files, each a name, a media type and its bytes."""
        pages: list[str] = []
        labels: list[str] = []
        notes: list[str] = []
        for name, media_type, content in files:
            kind = kind_of(name, media_type, content)
            if self.left <= 0 or self.size > MAX_CHARS or not self.deepest:
                notes.append(f"The attached {name} is not read: there is too much.")
                continue
            self.left -= 1
            if kind is None or kind == "image":
                notes.append(f"The attached {name} is not read.")
                continue
            self.deepest -= 1
            try:
                document = self.read(kind, content, name)
            except (UnfitError, ModuleNotFoundError) as error:
                said = str(error) if isinstance(error, UnfitError) else "what reads it is not installed."
                notes.append(f"The attached {name} is not read: {said}")
                continue
            finally:
                self.deepest += 1
            self.size += sum(map(len, document.pages))
            pages += document.pages
            labels += _labels(name, document)
            if document.note:
                notes.append(f"{name}: {document.note}")
        return pages, labels, notes


@dataclass(slots=True)
class _Letter:
    headers: dict[str, str]
    subject: str
    blocks: list[str]
    attached: list[tuple[str, str, bytes]] = field(default_factory=list[tuple[str, str, bytes]])


def read_letter(kind: Kind, content: bytes, attachments: Attachments) -> FileText:
    """A letter, as the Internet has it (`eml`: RFC 5322, MIME) or Outlook saves it, and its attachments.

    Raises:
        UnfitError: it is damaged.
    """
    try:
        letter = _eml(content) if kind == "eml" else _msg(content)
    except FOREIGN as error:
        raise UnfitError(_DAMAGED) from error
    return _document(letter, attachments)


def _document(letter: _Letter, attachments: Attachments) -> FileText:
    about = "\n".join(f"{name}: {value}" for name, value in letter.headers.items() if value)
    title = visible(" ".join(letter.subject.split()))[:_MAX_HEADER]
    blocks = [f"# {title}" if title else "", visible(about), *map(visible, letter.blocks)]
    pages = list(paged(block for block in blocks if block))
    labels = ["" for _ in pages]
    more, named, notes = attachments.pages_of(letter.attached)
    return FileText([*pages, *more], [*labels, *named], title, " ".join(notes))


def _eml(content: bytes) -> _Letter:
    message: Any = email.message_from_bytes(content, policy=email.policy.default)
    body: Any = message.get_body(("html", "plain"))
    blocks: list[str] = []
    if body is not None:
        text = _text(body)
        is_html = body.get_content_type() == "text/html"
        blocks = list(html_blocks(text)) if is_html else paragraphs(text)
    headers = {name: " ".join(str(message.get(name, "")).split())[:_MAX_HEADER] for name in _HEADERS}
    letter = _Letter(headers, str(message.get("Subject", "")), blocks)
    for number, part in enumerate(message.iter_attachments(), 1):
        kind = part.get_content_type()
        if kind == _LETTER:
            held: Any = part.get_payload()
            name = " ".join(str(held[0].get("Subject", "") if held else "").split())[:100]
            inner = held[0].as_bytes() if held else b""
            letter.attached.append((f"{name or f'letter {number}'}.eml", _LETTER, inner))
        elif not part.is_multipart():
            payload: Any = part.get_payload(decode=True)
            letter.attached.append((_name(part.get_filename(), number), kind, payload or b""))
    return letter


def _text(part: Any) -> str:  # noqa: ANN401 - of `email`
    payload: bytes = part.get_payload(decode=True) or b""
    charset = part.get_content_charset()
    return decoded(payload, charset)


def _msg(content: bytes) -> _Letter:
    from oxmsg import Message

    message: Any = Message.load(io.BytesIO(content))
    html = message.html_body
    blocks = list(html_blocks(html)) if html else paragraphs((message.body or "").replace("\r\n", "\n"))
    to = ", ".join(one.email_address or one.name for one in message.recipients)
    date = message.sent_date
    headers = {"From": message.sender or "", "To": to, "Date": date.isoformat(" ", "minutes") if date else ""}
    letter = _Letter(headers, message.subject, blocks)
    for number, attached in enumerate(message.attachments, 1):
        letter.attached.append(
            (_name(attached.file_name, number), attached.mime_type or "", attached.file_bytes or b"")
        )
    return letter


def _name(name: str | None, number: int) -> str:
    """A file's name as its sender wrote it, without folders."""
    last = " ".join(visible(name or "").replace("\\", "/").rpartition("/")[2].split())
    return last[:255] or f"file {number}"


def _labels(name: str, document: FileText) -> list[str]:
    said = document.labels or ["" for _ in document.pages]
    if len(document.pages) == 1:
        return [f"{name}{f', {said[0]}' if said[0] else ''}"]
    return [f"{name}, {label or f'page {number}'}" for number, label in enumerate(said, 1)]
