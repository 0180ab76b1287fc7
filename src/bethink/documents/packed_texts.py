"""What the bytes of a file say, also if no page shows it: properties, comments, hidden sheets, attachments.

`forgetting` looks here for what is forgotten. Nothing is read as its format says: parts are unpacked and
their marks taken away, within bounds, so that a hostile file costs no more than its bytes. Blocks.
"""

from __future__ import annotations

import binascii
import email
import html
import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from email import policy
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST: Final = 200_000_000
"""Bytes that are looked through of one file, unpacked: some ten times what the longest of a library has."""
_DEEP: Final = 4
"""A picture in a sheet in a letter in a message."""
_ZIP, _PDF = b"PK\x03\x04", b"%PDF-"
_MEDIA: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"OTTO", b"\x00\x01\x00\x00", b"wOF")
"""Pictures, sound and fonts: what they say of themselves stands at their beginning or end."""
_OF_MEDIA: Final = 65_536
_MAIL: Final = "eml"
_XML: Final = re.compile(rb"\s*<")
_MARK: Final = re.compile(r"<[^>]*>")
_VALUE: Final = re.compile(r"=\s*(?:\"([^\"]+)\"|'([^']+)')")
_END: Final = re.compile(
    r"</[\w.-]*:?(?:p|tr|row|si|h|c|br|title|subject|keywords|description)>", re.IGNORECASE
)
"""Behind it another paragraph, cell or property begins."""
_STREAM: Final = re.compile(rb"stream\r?\n(.*?)\r?\n?endstream", re.DOTALL)
_STRING: Final = re.compile(r"\(((?:\\.|[^\\()])*)\)|<([0-9A-Fa-f\s]{4,})>")
_SHOWN: Final = re.compile(r"\[((?:[^\][\\]|\\.)*)\]\s*TJ")
_ESCAPED: Final = re.compile(r"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\n": ""}
_PLAIN: Final = re.compile(rb"[A-Za-z]{6}")
"""Among bytes that are no text: six letters in a row, which chance makes seventy times in a megabyte."""
_AROUND: Final = 200
"""Bytes before and behind them that belong to what is said."""
_UNFIT: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WIDE: Final = re.compile(rb"(?:[\t\n\r -~\xa0-\xff]\x00|[\x00-\xff][\x01-\x06\x30]){8,}")
"""Text of two bytes a character, as Outlook and old Office files keep it: Latin to Arabic, and Kana."""
_GLUED: Final = re.compile(r"\w(?:<[^>]*>)+\w")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LOOKED_AT: Final = 2_000
_MOST_BINARY: Final = 0.02
"""Of the first bytes of what a stream holds, if it is words: pictures and fonts have more."""
_FAULTS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    binascii.Error,
    LookupError,
)


class NotLookedThroughError(Exception):
    """The file is encrypted, damaged, or unpacks to more than is looked through."""


def texts_of(path: Path, kind: str) -> Iterator[str]:
    """The texts of a file's parts, always in the same order; of a mark-up also without its marks.

    Raises:
        NotLookedThroughError: it could not be looked through as a whole.
    """
    try:
        content = path.read_bytes()
        yield from _Walk(_MOST).texts(content, kind == _MAIL, 0)
    except _FAULTS as error:
        raise NotLookedThroughError from error


@dataclass(slots=True)
class _Walk:
    """Goes through the parts of one file; `left` is how much may still be unpacked."""

    left: int

    def texts(self, content: bytes, is_mail: bool, depth: int) -> Iterator[str]:  # noqa: FBT001 - two kinds of reading
        if depth > _DEEP:
            raise NotLookedThroughError
        self._take(len(content))
        if content.startswith(_ZIP):
            yield from self._members(content, depth)
        elif content.startswith(_PDF):
            yield from self._streams(content)
        elif is_mail:
            yield from self._parts(content, depth)
        else:
            yield from _said(content)

    def _members(self, content: bytes, depth: int) -> Iterator[str]:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for member in packed.infolist():
                yield member.filename
                if member.is_dir():
                    continue
                with packed.open(member) as file:
                    part = file.read(self.left + 1)
                yield from self.texts(part, False, depth + 1)

    def _streams(self, content: bytes) -> Iterator[str]:
        # What is packed says nothing as it is.
        yield from _pdf_said(_STREAM.sub(b"", content))
        for found in _STREAM.finditer(content):
            packed = zlib.decompressobj()
            try:
                said = packed.decompress(found[1], self.left)
            except zlib.error:
                # Packed in another way, as a picture is, or not at all.
                said = found[1]
            self._take(len(said))
            if len(said) > len(found[1]) and packed.unconsumed_tail:
                raise NotLookedThroughError
            if not _is_binary(said):
                yield from _pdf_said(said)

    def _parts(self, content: bytes, depth: int) -> Iterator[str]:
        message = email.message_from_bytes(content, policy=policy.default)
        for part in message.walk():
            yield "\n".join(f"{name}: {value}" for name, value in part.items())
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                yield from self.texts(payload, False, depth + 1)

    def _take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise NotLookedThroughError


def _said(content: bytes) -> Iterator[str]:
    """What bytes say as a text, or as one of the ways to keep a text among other things."""
    if content.startswith(_MEDIA):
        content = b"\x00".join((content[:_OF_MEDIA], content[_OF_MEDIA:][-_OF_MEDIA:]))
    try:
        text = content.decode("utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        yield "\n".join(_plain_in(content))
        yield "\n".join(found.decode("utf-16-le", "replace") for found in _WIDE.findall(content))
        return
    if not _XML.match(content):
        yield text
        return
    parted = _END.sub("\n", text)
    yield html.unescape(_MARK.sub(" ", parted))
    if _GLUED.search(parted):
        # Marks may also stand in a word.
        yield html.unescape(_MARK.sub("", parted))
    values = dict.fromkeys(found[1] or found[2] for found in _VALUE.finditer(text))
    yield html.unescape("\n".join(values))


def _plain_in(content: bytes) -> Iterator[str]:
    """What stands around letters among bytes that are no text."""
    done = 0
    for found in _PLAIN.finditer(content):
        if found.start() < done:
            continue
        before = content[max(done, found.start() - _AROUND) : found.start()]
        behind = content[found.end() : found.end() + _AROUND]
        end = _UNFIT.search(behind)
        done = found.end() + (end.start() if end else len(behind))
        head = _UNFIT.split(before)[-1]
        yield (head + content[found.start() : done]).decode("latin-1")


def _is_binary(content: bytes) -> bool:
    head = content[:_LOOKED_AT]
    return len(_BINARY.findall(head)) > _MOST_BINARY * len(head)


def _pdf_said(content: bytes) -> Iterator[str]:
    """The strings of a PDF's part, as they are kept: what a font maps is on its pages."""
    text = content.decode("latin-1")
    shown = ("".join(map(_string, _STRING.finditer(found[1]))) for found in _SHOWN.finditer(text))
    strings = dict.fromkeys((*shown, *map(_string, _STRING.finditer(text))))
    # Numbers of a font's signs are no text.
    yield "\n".join(one for one in strings if not _CONTROL.search(one))
    if _XML.match(content):
        yield from _said(content)


def _string(found: re.Match[str]) -> str:
    """A string of a PDF: in brackets with escapes, or as hexadecimal digits (ISO 32000-1, 7.3.4)."""
    if found[2] is not None:
        digits = "".join(found[2].split())
        kept = bytes.fromhex(digits + "0" * (len(digits) % 2))
    else:
        kept = _ESCAPED.sub(_unescaped, found[1]).encode("latin-1", "replace")
    return (
        kept.decode("utf-16", "replace") if kept[:2] in {b"\xfe\xff", b"\xff\xfe"} else kept.decode("latin-1")
    )


def _unescaped(found: re.Match[str]) -> str:
    return (
        chr(int(found[1], 8) & 0xFF)
        if found[1]
        else {"n": "\n", "r": "\r", "t": "\t", "\n": ""}.get(found[2], found[2])
    )
