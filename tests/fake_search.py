"""A search that finds what it was given, for tests and demonstrations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.internet import SearchResult


@dataclass(slots=True)
class FakeSearch:
    """Gives those of `pages` that hold a word of the query. `asked` keeps the queries."""

    pages: Sequence[SearchResult] = ()
    asked: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        """What it calls itself."""
        return "a fake"

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        """The pages in which a word of the query stands."""
        self.asked.append(query)
        words = set(query.casefold().split())
        fitting = [
            page for page in self.pages if words & set(f"{page.title} {page.snippet}".casefold().split())
        ]
        return fitting[:max_results]
