"""DIAL Core as an application sees it: the bucket of a key, and the files in it.

`door` makes one `CoreClient` for a process and one `Core` a request, whose key
dies with it. Whatever is not a clear answer raises: an error is never taken for
a file that is not there. aiohttp is imported at the first request.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, DialBusy, DialChanged, DialError, DialRefused, DialUnreachable, TooLarge

if TYPE_CHECKING:
    import aiohttp

_TIMEOUT_S: Final = 30
_CONNECT_S: Final = 5
_MAX_SAID: Final = 300
"""What of an error's text is repeated."""
_REFUSALS: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_PART: Final = 1 << 16


class Bucket(msgspec.Struct, frozen=True):
    """Where a key may write: its own bucket, and the user's data of this application.

    `appdata` is None for a key that no application was called with.
    """

    bucket: str
    appdata: str | None = None

    @property
    def home(self) -> str:
        """The folder of the user's data, `files/{…}`, percent-encoded, without a slash at its end.

        An application's own bucket is shared by all of its users: what is theirs never lies there.
        """
        return f"files/{self.appdata or self.bucket}"


@dataclass(frozen=True, slots=True)
class Held:
    """A file of Core's, in one version."""

    content: bytes
    media_type: str
    etag: str | None


class _Metadata(msgspec.Struct, frozen=True):
    etag: str | None = None


def url_in(home: str, *names: str) -> str:
    """The URL of a file below a folder, each name percent-encoded."""
    return "/".join((home, *(quote(name, safe="") for name in names)))


def file_name(url: str) -> str:
    """The last name of a URL, decoded."""
    return unquote(url.rstrip("/").rpartition("/")[2])


class CoreClient:
    """The connections to one DIAL Core; `close` it in the end."""

    def __init__(self, url: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"The URL of DIAL Core {url!r} is not an http:// or https:// address.")
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    def with_key(self, key: str) -> Core:
        """Core as the holder of a key sees it."""
        return Core(self, key)

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def session(self) -> aiohttp.ClientSession:
        """The connections that all requests share."""
        if self._session is None:
            if "aiohttp" not in sys.modules:
                await anyio.to_thread.run_sync(importlib.import_module, "aiohttp")
            import aiohttp

            self._session = self._session or aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


@dataclass(frozen=True, slots=True)
class Core:
    """DIAL Core for one request's key."""

    client: CoreClient
    key: str = field(repr=False)

    async def bucket(self) -> Bucket:
        """Where the key may write; asking proves that the key is known.

        Raises:
            DialError: one of its family says what is wrong.
        """
        async with self._asked("GET", "v1/bucket") as response:
            await _check(response, "the bucket")
            try:
                return msgspec.json.decode(await response.read(), type=Bucket)
            except msgspec.DecodeError as error:
                raise DialError(f"{self.client.url} is no DIAL Core: it gives no bucket.") from error

    async def get(self, url: str, *, max_bytes: int | None = None) -> Held | None:
        """The file at `files/{bucket}/{path}`; None only where Core says that there is none.

        Raises:
            TooLarge: it is longer than `max_bytes`.
            DialError: one of its family says what is wrong.
        """
        async with self._asked("GET", f"v1/{_checked(url)}") as response:
            if response.status == HTTPStatus.NOT_FOUND:
                return None
            if response.status != HTTPStatus.OK:
                await _check(response, url)
            content = bytearray()
            async for part in response.content.iter_chunked(_PART):
                content += part
                if max_bytes is not None and len(content) > max_bytes:
                    raise TooLarge(f"{file_name(url)} is larger than {max_bytes // 1_000_000} MB.")
            media_type = response.headers.get("Content-Type", "application/octet-stream")
            return Held(bytes(content), media_type, _etag(response))

    async def etag(self, url: str) -> str | None:
        """The ETag of a file without its content; None where there is no such file, or Core tells none.

        Raises:
            DialError: one of its family says what is wrong.
        """
        async with self._asked("GET", f"v1/metadata/{_checked(url)}") as response:
            if response.status == HTTPStatus.NOT_FOUND:
                return None
            await _check(response, url)
            try:
                return msgspec.json.decode(await response.read(), type=_Metadata).etag
            except msgspec.DecodeError as error:
                raise DialError(f"DIAL Core sent an unreadable answer for {url}.") from error

    async def put(
        self, url: str, content: bytes, media_type: str, *, etag: str | None = None, new: bool = False
    ) -> str | None:
        """Write a file; its ETag. With `etag` only over that version, if `new` only where there is none.

        Where there is no file at all, Core lets an `etag` pass.

        Raises:
            DialChanged: it is another version, or there is one.
            DialError: one of its family says what is wrong.
        """
        import aiohttp

        form = aiohttp.FormData(quote_fields=False)
        form.add_field("file", io.BytesIO(content), filename="file", content_type=media_type)
        headers = {"If-None-Match": "*"} if new else {"If-Match": etag} if etag else {}
        async with self._asked("PUT", f"v1/{_checked(url)}", body=form, headers=headers) as response:
            await _check(response, url)
            return _etag(response)

    async def delete(self, url: str, *, etag: str | None = None) -> None:
        """Remove a file, if it is still this version; fine where there is none.

        Raises:
            DialChanged: it is another version.
            DialError: one of its family says what is wrong.
        """
        headers = {"If-Match": etag} if etag else {}
        async with self._asked("DELETE", f"v1/{_checked(url)}", headers=headers) as response:
            if response.status != HTTPStatus.NOT_FOUND:
                await _check(response, url)

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        path: str,
        *,
        body: aiohttp.FormData | None = None,
        headers: dict[str, str] | None = None,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """A response, while it is read."""
        session = await self.client.session()
        import aiohttp
        from yarl import URL

        # What is encoded in it stays as it is.
        url = URL(f"{self.client.url}/{path}", encoded=True)
        sent = {"Api-Key": self.key} | (headers or {})
        try:
            async with (
                asyncio.timeout(self.client.timeout_s),
                session.request(method, url, data=body, headers=sent, allow_redirects=False) as response,
            ):
                yield response
        except TimeoutError as error:
            waited = f"DIAL Core at {self.client.url} did not answer within {self.client.timeout_s:g} s."
            raise DialUnreachable(waited) from error
        except (aiohttp.ClientError, OSError) as error:
            told = (
                f"DIAL Core at {self.client.url} cannot be reached ({type(error).__name__}): is it running?"
            )
            raise DialUnreachable(told) from error


def _checked(url: str) -> str:
    """A URL of a file of Core's own, with nothing in it that leads elsewhere."""
    names = url.split("/")
    decoded = [unquote(name) for name in names]
    is_odd = any(name in {"", ".", ".."} or "/" in name or not name.isprintable() for name in decoded)
    if names[0] != "files" or len(names) < 3 or is_odd or {"?", "#", "\\"} & {*url}:  # noqa: PLR2004 - files, bucket, name
        raise BadInput(f"{url[:200]!r} is no file of DIAL: give files/{{bucket}}/{{path}}.")
    return url


def _etag(response: aiohttp.ClientResponse) -> str | None:
    tag = response.headers.get("ETag")
    return tag.removeprefix("W/").strip('"') if tag else None


async def _check(response: aiohttp.ClientResponse, what: str) -> None:
    """Raise what an answer other than a success means; Core says it in plain text."""
    status, said = response.status, await response.text(errors="replace")
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    reason = " ".join(said.split())[:_MAX_SAID]
    told = f" ({reason})" if reason else ""
    if status in _REFUSALS:
        raise DialRefused(f"DIAL Core refuses this key for {what}, HTTP {status}{told}: ask again.")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise DialBusy(f"DIAL Core limits the rate of requests{told}: try again later.")
    if status == HTTPStatus.PRECONDITION_FAILED:
        raise DialChanged(f"{what} was changed by somebody else in the meantime{told}.")
    raise DialError(f"DIAL Core answered for {what} with HTTP {status}{told}: its log says why.")
