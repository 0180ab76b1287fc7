"""Search through a SearXNG, or whatever answers in its JSON format (SearXNG's documents, "Search API").

Its address is the operator's own choice, so it may be on this machine. The
instance must have `json` among its `search.formats`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import RateLimited, WebError
from bethink.internet import Found
from bethink.internet.http_get import ready, user_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

_MAX_BYTES = 5_000_000
_SAFE = {"off": "0", "moderate": "1", "strict": "2"}
_OK, _FORBIDDEN, _TOO_MANY = 200, 403, 429


class _Result(msgspec.Struct, frozen=True):
    """What of a result is read."""

    url: str | None = None
    title: str | None = None
    content: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    """What of an answer is read."""

    results: list[_Result] = []


@dataclass(frozen=True, slots=True)
class SearxngSearch:
    """The instance at `url`; `/search` is added where the address has no path."""

    url: str
    safe: str = "moderate"
    region: str = ""
    timeout_s: float = 15

    @property
    def name(self) -> str:
        """The instance's address."""
        return self.url

    async def search(self, query: str, max_results: int) -> Sequence[Found]:
        """The first page of what it finds."""
        await ready()
        content = await self._asked(query)
        try:
            answer = msgspec.json.decode(content, type=_Answer)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise WebError(f"{self.url} did not answer in SearXNG's JSON format.") from error
        return [
            Found(result.title or result.url, result.url, result.content or "")
            for result in answer.results
            if result.url
        ][:max_results]

    async def _asked(self, query: str) -> bytes:
        import httpx2

        language = {"language": self.region} if self.region else {}
        url = httpx2.URL(self.url)
        url = url if url.path.strip("/") else url.copy_with(path="/search")
        url = url.copy_merge_params({"q": query, "format": "json", "safesearch": _SAFE[self.safe]} | language)
        context = await asyncio.to_thread(httpx2.create_ssl_context, trust_env=False)
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                httpx2.AsyncClient(verify=context, trust_env=False, timeout=self.timeout_s) as client,
                client.stream("GET", url, headers={"User-Agent": user_agent()}) as response,
            ):
                self._check(response.status_code)
                return await _bounded(response)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise WebError(f"The search at {self.url} cannot be reached.") from error
        except TimeoutError as error:
            raise WebError(f"The search at {self.url} took longer than {self.timeout_s:g} s.") from error

    def _check(self, status: int) -> None:
        if status == _TOO_MANY:
            raise RateLimited(f"The search at {self.url} wants fewer queries; try again later.")
        if status == _FORBIDDEN:
            raise WebError(f"The search at {self.url} refuses: it needs `json` in its search.formats.")
        if status != _OK:
            raise WebError(f"The search at {self.url} answered with HTTP {status}.")


async def _bounded(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > _MAX_BYTES:
            raise WebError("The search answered with more than can be read.")
    return bytes(content)
