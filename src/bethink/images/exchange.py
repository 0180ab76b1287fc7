"""One request to a provider of pictures and its answer, bounded; its errors as ours. Both adapters use it."""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import anyio
import msgspec

from bethink.errors import InvalidResponse, LlmError, RateLimited, Refused, Unreachable

DEFAULT: Final = "1024x1024"
"""Spec 002, "ImageGenerationTool": every model makes it."""
_KNOWN: Final = (
    ("dall-e-2", ("256x256", "512x512", "1024x1024")),
    ("dall-e-3", ("1024x1024", "1792x1024", "1024x1792")),
    ("gpt-image", ("1024x1024", "1536x1024", "1024x1536")),
)


def sizes_of(model: str) -> tuple[str, ...]:
    """The sizes of a model that is known, whatever stands around its name; else none."""
    return next((sizes for name, sizes in _KNOWN if name in model.lower()), ())


_MARKS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def media_type_of(content: bytes) -> str:
    """The kind of picture.

    Raises:
        InvalidResponse: it is none that a browser shows.
    """
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    for mark, media_type in _MARKS:
        if content.startswith(mark):
            return media_type
    raise InvalidResponse("The image provider sent something that is not an image.")


def decoded(text: str) -> bytes:
    """A picture that came as text in base64, perhaps as a `data:` address.

    Raises:
        InvalidResponse: it is not base64.
    """
    try:
        return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidResponse("The image provider sent a damaged image.") from error


MAX_BYTES: Final = 60_000_000
"""Of an answer: a picture of 40 MB in base64."""
_OK: Final = 200
_SHOWN: Final = 300


class _Fault(msgspec.Struct, frozen=True):
    message: str = ""
    code: str | None = None
    type: str | None = None


class _Faulty(msgspec.Struct, frozen=True):
    error: _Fault | str


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests to `base_url` with these headers, each within `timeout_s`."""

    base_url: str
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout_s: float = 120

    async def post(self, path: str, body: dict[str, Any], params: dict[str, str] | None = None) -> bytes:
        """The answer to a JSON body.

        Raises:
            LlmError: one of its family says what is wrong.
        """
        url = f"{self.base_url.rstrip('/')}/{path}"
        return await self._asked("POST", url, json=body, params=params, headers=self.headers)

    async def get(self, url: str) -> bytes:
        """What lies at an address that the provider gave; only its own host sees the key.

        Raises:
            LlmError: one of its family says what is wrong.
        """
        whole = urljoin(f"{self.base_url}/", url)
        is_own = urlsplit(whole)[:2] == urlsplit(self.base_url)[:2]
        if not is_own and not whole.startswith("https://"):
            raise InvalidResponse("The image provider gave an address that is not allowed.")
        return await self._asked("GET", whole, headers=self.headers if is_own else {})

    async def _asked(self, method: str, url: str, **more: Any) -> bytes:  # noqa: ANN401 - as httpx2 takes it
        await anyio.to_thread.run_sync(import_module, "httpx2")
        import httpx2

        context = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                httpx2.AsyncClient(verify=context, timeout=self.timeout_s) as client,
                client.stream(method, url, **more) as response,
            ):
                content = bytearray()
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > MAX_BYTES:
                        raise InvalidResponse("The answer of the image provider is too large.")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unreachable(f"The provider of pictures at {self.base_url} cannot be reached.") from error
        except TimeoutError as error:
            raise Unreachable(f"No image came within {self.timeout_s:g} s.") from error
        if response.status_code != _OK:
            raise _fault(response.status_code, bytes(content))
        return bytes(content)


def _fault(status: int, content: bytes) -> LlmError:
    """The error that an answer tells of, in OpenAI's shape or, from DIAL, as plain text."""
    try:
        fault = msgspec.json.decode(content, type=_Faulty).error
        said = fault if isinstance(fault, str) else fault.message
    except (msgspec.DecodeError, UnicodeError):
        said = content[:_SHOWN].decode("utf-8", "replace")
    said = " ".join(said.split())[:_SHOWN] or f"HTTP {status}"
    match status:
        case 429:
            return RateLimited(f"The image provider limits the rate of requests: {said}")
        case 400 | 403 | 422:
            return Refused(f"The image provider refused: {said}")
        case 401:
            return Refused("The image provider does not accept the key: set BETHINK_IMAGES_API_KEY.")
        case 404:
            return InvalidResponse(f"The image provider does not know this model: {said}")
        case _:
            return Unreachable(f"The image provider answered with HTTP {status}: {said}")
