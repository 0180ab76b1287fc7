"""Port: what the web holds. `tools/web` searches and reads through an `Internet`.

The adapters of `WebSearch` are in `connect`. Pages are read by `pages`, which has no second
implementation: what it guards against is the same for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bethink.errors import NotInstalled

if TYPE_CHECKING:
    from bethink.internet.pages import Pages


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search, as its provider gave it: none of it is to be trusted."""

    title: str
    url: str
    snippet: str


class WebSearch(Protocol):
    """Finds pages of the web by words."""

    @property
    def name(self) -> str:
        """Where queries are sent, for people."""
        ...

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        """At most `max_results` pages, best first; none where nothing fits. Never blocks the event loop.

        Raises:
            WebError: the provider did not answer, or not in its format.
            RateLimited: it wants fewer queries.
        """
        ...


@dataclass(frozen=True, slots=True)
class Internet:
    """Search and pages as one. `missing` says what is not installed, as a sentence; "" where all is."""

    search: WebSearch
    pages: Pages
    missing: str = ""

    def check(self) -> None:
        """Nothing, if all is installed.

        Raises:
            NotInstalled: it is not.
        """
        if self.missing:
            raise NotInstalled(self.missing)
