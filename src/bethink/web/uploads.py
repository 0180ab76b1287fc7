"""The file of a request, written to disk as it comes: as the field `file` of a form, or as the body."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

import anyio.to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from bethink.errors import BadInput, DiskFull, StorageError, TooLarge

if TYPE_CHECKING:
    from fastapi import Request

_NO_FILE = "The request contains no file: send it as the field `file` of a form, or as the body."
_EMPTY = "{} is empty: there is nothing to read in it."
_CUT = "The form ends in the middle: its upload was cut short. Send it again."
_FIELD = b"file"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOST_FIELD_BYTES: Final = 64 * 1024
"""Of all fields beside the file."""
_MOST_BESIDE: Final = 2 * _MOST_FIELD_BYTES
"""Bytes of a request that are none of its file: fields, and what parts them."""


def file_body(**fields: str) -> dict[str, Any]:
    """The OpenAPI of a body with a file; `fields` are beside it in the form, with what they mean."""
    properties: dict[str, Any] = {"file": {"type": "string", "contentMediaType": "application/octet-stream"}}
    properties |= {name: {"type": "string", "description": about} for name, about in fields.items()}
    form = {"schema": {"type": "object", "required": ["file"], "properties": properties}}
    content: dict[str, Any] = {"multipart/form-data": form, "application/octet-stream": {}}
    return {"requestBody": {"required": True, "content": content}}


@dataclass(frozen=True, slots=True)
class Received:
    """What came: the file's name, its media type as the client has it, and the form's other fields."""

    name: str
    media_type: str
    fields: Mapping[str, str]


class _Form:
    """A form, whose parts are taken as they come; of files only the first one is."""

    def __init__(self, boundary: bytes) -> None:
        self.name: str | None = None
        self._media_type = ""
        self._content: list[bytes] = []
        self._fields: dict[str, bytes] = {}
        self._is_ended = False
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = b""
        self._field: str | None = None
        self._is_file = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._headers.clear,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers,
                "on_part_data": self._on_data,
                "on_end": self._on_end,
            },
        )

    def take(self, part: bytes) -> bytes:
        """The bytes of the file in this part of the body."""
        try:
            self._parser.write(part)
        except FormParserError as error:
            raise BadInput(f"The form cannot be read: {error}.") from error
        content, self._content = b"".join(self._content), []
        return content

    def received(self) -> Received:
        """What came, when all of it has."""
        if not self._is_ended:
            raise BadInput(_CUT)
        fields = {name: value.decode("utf-8", "replace") for name, value in self._fields.items()}
        return Received(self.name or "", self._media_type, fields)

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        named, called = options.get(b"filename"), options.get(b"name", b"")
        self._is_file = self.name is None and called == _FIELD and bool(named)
        self._field = None if named else called.decode("utf-8", "replace")
        if self._is_file and named is not None:
            # Browsers write a quote so (HTML, "multipart/form-data encoding algorithm").
            self.name = named.replace(b"%22", b'"').decode("utf-8", "replace")
            self._media_type = self._headers.get(b"content-type", b"").decode("latin-1")

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._content.append(data[start:end])
        elif self._field is not None:
            self._fields[self._field] = self._fields.get(self._field, b"") + data[start:end]
            if sum(map(len, self._fields.values())) > _MOST_FIELD_BYTES:
                raise TooLarge("The fields of the form are too long.")

    def _on_end(self) -> None:
        self._is_ended = True


async def receive(
    request: Request, make: Callable[[str], IO[bytes]], *, limit: int, name: str, too_large: str
) -> Received:
    """Write the request's file to what `make` opens for its name; it is `name` if the request has none.

    Raises:
        TooLarge: it has more than `limit` bytes; `too_large` is what is said then.
        BadInput: there is none, or the form is damaged or cut short.
        StorageError: it cannot be written.
    """
    media_type = request.headers.get("content-type", "")
    kind, options = parse_options_header(media_type)
    is_form = kind == b"multipart/form-data"
    if is_form and not options.get(b"boundary"):
        raise BadInput("The header Content-Type of a form names its boundary.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit + _MOST_BESIDE:
        raise TooLarge(too_large)
    form = _Form(options.get(b"boundary", b"")) if is_form else None
    file: IO[bytes] | None = None
    size = 0
    try:
        async for part in request.stream():
            content = form.take(part) if form else part
            size += len(content)
            if size > limit:
                raise TooLarge(too_large)
            if content:
                file = file or await anyio.to_thread.run_sync(make, (form and form.name) or name)
                await anyio.to_thread.run_sync(file.write, content)
    except OSError as error:
        raise storage_error(error) from error
    finally:
        if file is not None:
            await anyio.to_thread.run_sync(file.close)
    if file is None:
        raise BadInput(_EMPTY.format(form.name) if form and form.name else _NO_FILE)
    return form.received() if form else Received(name, media_type, {})


def storage_error(error: OSError) -> StorageError:
    """Why an upload cannot be kept."""
    if error.errno in _FULL:
        return DiskFull()
    return StorageError(f"The upload cannot be kept: {error.strerror}.")
