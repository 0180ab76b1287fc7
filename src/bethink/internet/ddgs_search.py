"""Search without a key: the `ddgs` library asks several search engines and merges what they find.

It speaks HTTP by itself, in threads; it is imported on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from bethink.errors import RateLimited, WebError
from bethink.internet import Found

_SAFE = {"off": "off", "moderate": "moderate", "strict": "on"}
_AT_ONCE = 4
"""Searches that run at once; each takes threads of its own."""


@dataclass(frozen=True, slots=True)
class DdgsSearch:
    """`engines` are ddgs' backends, comma-separated; `region` is as in `us-en`, "" for its default."""

    engines: str = "auto"
    safe: str = "moderate"
    region: str = ""
    timeout_s: float = 15
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_AT_ONCE))

    @property
    def name(self) -> str:
        """The engines' names."""
        return "search engines (ddgs)" if self.engines == "auto" else self.engines

    async def search(self, query: str, max_results: int) -> list[Found]:
        """What the engines found, the most often found first."""
        with anyio.move_on_after(self.timeout_s):
            results = await anyio.to_thread.run_sync(
                self._searched, query, max_results, abandon_on_cancel=True, limiter=self._limiter
            )
            return [found for result in results if (found := _found(result)).url][:max_results]
        raise WebError(f"The search took longer than {self.timeout_s:g} s.")

    def _searched(self, query: str, max_results: int) -> list[dict[str, Any]]:
        from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType] - it has no types
        from ddgs.exceptions import DDGSException, RatelimitException

        region = {"region": self.region} if self.region else {}
        try:
            return DDGS(timeout=max(1, int(self.timeout_s / 2))).text(
                query, safesearch=_SAFE[self.safe], max_results=max_results, backend=self.engines, **region
            )
        except RatelimitException as error:
            raise RateLimited("The search engines want fewer queries; try again later.") from error
        except DDGSException as error:
            if "No results found" in str(error):
                return []
            raise WebError("No search engine answered. Try again later, or other words.") from error


def _found(result: dict[str, Any]) -> Found:
    """A result as ddgs gives it: `title`, `href`, `body` (its README, "text()")."""
    title, url, snippet = (str(result.get(key) or "") for key in ("title", "href", "body"))
    return Found(title or url, url, snippet)
