"""A file of a request's body, written to the disk as it comes: `importing` takes exports of any size so.

The multipart form that browsers send (RFC 7578) is taken apart on the way; any
other body is the file itself.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import anyio.to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from bethink.errors import BadInput, DiskFull, StorageError, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

_NO_FILE = "The request holds no file: send it as the field `file` of a form, or as the body itself."
_FIELD = b"file"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class _Form:
    """The parts of a form as they come; only the first file's bytes are kept."""

    name: str | None = None
    parts: list[bytes] = field(default_factory=list[bytes])
    _headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    _header: bytes = b""
    _value: bytes = b""
    _wanted: bool = False

    def parser(self, boundary: bytes) -> MultipartParser:
        """What calls this for the bytes that it is given."""
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers,
                "on_part_data": self._on_data,
            },
        )

    def _begin(self) -> None:
        self._headers = {}

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        named = options.get(b"filename")
        self._wanted = self.name is None and options.get(b"name") == _FIELD and bool(named)
        if self._wanted and named is not None:
            self.name = named.decode("utf-8", "replace")

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted:
            self.parts.append(data[start:end])


async def receive(request: Request, make: Callable[[str], IO[bytes]], *, limit: int, name: str) -> str:
    """Write the request's file where `make` opens it; its name, `name` where the request has none.

    Raises:
        TooLarge: it has more than `limit` bytes.
        BadInput: there is none, or the form is damaged.
        StorageError: it cannot be written.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    form = _Form() if kind == b"multipart/form-data" else None
    parser = form.parser(options.get(b"boundary", b"")) if form else None
    file: IO[bytes] | None = None
    size = 0
    try:
        async for part in request.stream():
            parts = [part]
            if form is not None and parser is not None:
                parser.write(part)
                parts, form.parts = form.parts, []
                name = form.name or name
            content = b"".join(parts)
            size += len(content)
            if size > limit:
                message = (
                    f"The file is larger than {limit // 1_000_000:,} MB (BETHINK_VAULT, "
                    "`max_export_bytes`). `bethink import` takes any size."
                )
                raise TooLarge(message)
            if content:
                file = file or await anyio.to_thread.run_sync(make, name)
                await anyio.to_thread.run_sync(file.write, content)
    except FormParserError as error:
        message = f"The form cannot be read: {error}."
        raise BadInput(message) from error
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull from error
        message = f"The upload cannot be kept: {error.strerror}."
        raise StorageError(message) from error
    finally:
        if file is not None:
            await anyio.to_thread.run_sync(file.close)
    if file is None:
        raise BadInput(_NO_FILE)
    return name
