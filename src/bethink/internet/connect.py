"""The internet that the settings name, with its providers of search. `ports` asks for it once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import RateLimited, WebError
from bethink.internet import Internet, SearchResult
from bethink.internet.addresses import AddressGate, exceptions
from bethink.internet.http_get import ready, user_agent
from bethink.internet.pages import Pages
from bethink.internet.robots import RobotsCache

if TYPE_CHECKING:
    import httpx2

    from bethink.settings import Settings


_DDGS_SAFE = {"off": "off", "moderate": "moderate", "strict": "on"}
_AT_ONCE = 4
"""Searches that run at once; each takes threads of its own."""


@dataclass(frozen=True, slots=True)
class DdgsSearch:
    """Adapter: search without a key. The `ddgs` library asks several engines and merges what they find.

    It speaks HTTP by itself, in threads; it is imported on first use. `engines` are its backends,
    comma-separated; `region` is as in `us-en`, "" for its default.
    """

    engines: str = "auto"
    safe: str = "moderate"
    region: str = ""
    timeout_s: float = 15
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_AT_ONCE))

    @property
    def name(self) -> str:
        """The engines' names."""
        return "search engines (ddgs)" if self.engines == "auto" else self.engines

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """What the engines found, the most often found first."""
        with anyio.move_on_after(self.timeout_s):
            results = await anyio.to_thread.run_sync(
                self._searched, query, max_results, abandon_on_cancel=True, limiter=self._limiter
            )
            # Results have `title`, `href` and `body` (its README, "text()").
            found = [[str(result.get(key) or "") for key in ("title", "href", "body")] for result in results]
            return [SearchResult(title or url, url, snippet) for title, url, snippet in found if url][
                :max_results
            ]
        raise WebError(f"The search took longer than {self.timeout_s:g} s.")

    def _searched(self, query: str, max_results: int) -> list[dict[str, Any]]:
        from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType] - it has no types
        from ddgs.exceptions import DDGSException, RatelimitException

        region = {"region": self.region} if self.region else {}
        try:
            return DDGS(timeout=max(1, int(self.timeout_s / 2))).text(
                query,
                safesearch=_DDGS_SAFE[self.safe],
                max_results=max_results,
                backend=self.engines,
                **region,
            )
        except RatelimitException as error:
            raise RateLimited("The search engines want fewer queries; try again later.") from error
        except DDGSException as error:
            if "No results found" in str(error):
                return []
            raise WebError("No search engine answered. Try again later, or other words.") from error


_MAX_BYTES = 5_000_000
_SEARXNG_SAFE = {"off": "0", "moderate": "1", "strict": "2"}


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
    """Adapter: a SearXNG, or what answers in its JSON format (SearXNG's documents, "Search API").

    Its address is the operator's own choice, so it may be on this machine. The instance at `url` must have
    `json` among its `search.formats`; `/search` is added if the address has no path.
    """

    url: str
    safe: str = "moderate"
    region: str = ""
    timeout_s: float = 15

    @property
    def name(self) -> str:
        """The instance's address."""
        return self.url

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        """The first page of what it finds."""
        await ready()
        content = await self._asked(query)
        try:
            answer = msgspec.json.decode(content, type=_Answer)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise WebError(f"{self.url} did not answer in SearXNG's JSON format.") from error
        return [
            SearchResult(result.title or result.url, result.url, result.content or "")
            for result in answer.results
            if result.url
        ][:max_results]

    async def _asked(self, query: str) -> bytes:
        import httpx2

        language = {"language": self.region} if self.region else {}
        url = httpx2.URL(self.url)
        url = url if url.path.strip("/") else url.copy_with(path="/search")
        url = url.copy_merge_params(
            {"q": query, "format": "json", "safesearch": _SEARXNG_SAFE[self.safe]} | language
        )
        context = await asyncio.to_thread(httpx2.create_ssl_context, trust_env=False)
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                httpx2.AsyncClient(verify=context, trust_env=False, timeout=self.timeout_s) as client,
                client.stream("GET", url, headers={"User-Agent": user_agent()}) as response,
            ):
                match response.status_code:
                    case 429:
                        raise RateLimited(f"The search at {self.url} wants fewer queries; try again later.")
                    case 403:
                        raise WebError(
                            f"The search at {self.url} refuses: it needs `json` in its search.formats."
                        )
                    case 200:
                        return await _read_bounded(response)
                    case status:
                        raise WebError(f"The search at {self.url} answered with HTTP {status}.")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise WebError(f"The search at {self.url} cannot be reached.") from error
        except TimeoutError as error:
            raise WebError(f"The search at {self.url} took longer than {self.timeout_s:g} s.") from error


async def _read_bounded(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > _MAX_BYTES:
            raise WebError("The search answered with more than can be read.")
    return bytes(content)


MISSING = 'Searching and reading the web needs more packages: pip install "bethink[web]"'
_NEEDED = ("ddgs", "trafilatura", "pypdf", "protego")


def gate_for(settings: Settings) -> AddressGate:
    """The gate that the settings describe.

    Raises:
        BadInput: an entry of `web_allow_private` is neither an address, a network nor a name.
    """
    return AddressGate(ports=frozenset(settings.web_ports), opened=exceptions(settings.web_allow_private))


def connect_internet(settings: Settings) -> Internet:
    """Search and pages by the settings. Looks on the disk for what is installed; nothing is sent.

    Raises:
        BadInput: an entry of `web_allow_private` is neither an address, a network nor a name.
    """
    gate, url = gate_for(settings), settings.web_search_url
    safe, region, timeout_s = settings.web_safe_search, settings.web_search_region, settings.web_timeout_s
    return Internet(
        search=(
            SearxngSearch(url, safe, region, timeout_s)
            if url
            else DdgsSearch(settings.web_search_engines, safe, region, timeout_s)
        ),
        pages=Pages(
            gate,
            RobotsCache(gate) if settings.web_robots else None,
            timeout_s=timeout_s,
            max_bytes=settings.web_max_bytes,
        ),
        missing=MISSING if any(find_spec(name) is None for name in _NEEDED) else "",
    )
