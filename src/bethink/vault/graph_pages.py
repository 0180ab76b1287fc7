"""Pages as the graph shows them, with the pages that they link to. `visibility` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import BethinkError
from bethink.feature import GraphItem, GraphKind
from bethink.vault.files.records import KIND, OWN_KIND, PLACES, PageRecord, PartPlace
from bethink.vault.markdown.frontmatter import info_of
from bethink.vault.markdown.links import Resolver

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.vault.service import Vault

_NODE: Final = "page:"
_MOST_CHARS: Final = 20_000
"""Of a page that names are looked for in."""


@dataclass(frozen=True, slots=True)
class PageGraph:
    """The pages of all owners for who sees all of them, each whole, whichever of its parts was found."""

    vault: Vault

    @property
    def kind(self) -> GraphKind:
        """How they stand in the graph."""
        return GraphKind(newest=self.newest, of_items=self.of_items, of_nodes=self.of_nodes)

    async def newest(
        self, principal: Principal, limit: int, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], int]:
        """The pages that changed last, and how many there are."""
        if part_of is not None:
            return [], 0
        pages = sorted((await self.vault.pages(principal.owner)).values(), key=lambda page: -page.changed)
        return await self._items(principal.owner, pages[:limit]), len(pages)

    async def of_items(self, principal: Principal, ids: Sequence[str]) -> dict[str, GraphItem]:
        """The pages of these parts that are there."""
        parts = await self.vault.parts(principal.owner, ids)
        paths = {id: part.path for id, part in zip(ids, parts, strict=True) if part is not None}
        items = {one.id: one for one in await self._at(principal.owner, paths.values())}
        return {id: items[f"{_NODE}{path}"] for id, path in paths.items() if f"{_NODE}{path}" in items}

    async def of_nodes(self, principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        """The pages that are named."""
        paths = [id.removeprefix(_NODE) for id in ids if id.startswith(_NODE)]
        return await self._at(principal.owner, paths)

    async def _at(self, owner: str, paths: Iterable[str]) -> list[GraphItem]:
        pages = await self.vault.pages(owner)
        return await self._items(owner, [pages[path] for path in dict.fromkeys(paths) if path in pages])

    async def _items(self, owner: str, pages: Sequence[PageRecord]) -> list[GraphItem]:
        if not pages:
            return []
        texts: dict[str, str] = {}
        for page in pages:
            try:
                texts[page.path] = (await self.vault.read(owner, page.path)).text
            except BethinkError:
                continue  # removed meanwhile, or not to be read: it is no node then
        found = await self.vault.context.store.get(PLACES, owner, [page.id for page in pages])
        places = {one.record.id: one.record.places for one in found if one is not None}
        known, aliases = [*await self.vault.pages(owner)], await self.vault.aliases(owner)

        def items() -> list[GraphItem]:
            resolver = Resolver(known, aliases)
            return [
                _item(page.path, texts[page.path], places.get(page.id, ()), resolver=resolver)
                for page in pages
                if page.path in texts
            ]

        return await anyio.to_thread.run_sync(items)


def _item(path: str, text: str, places: Iterable[PartPlace], *, resolver: Resolver) -> GraphItem:
    info = info_of(path, text)
    meant = [resolver.resolve_link(link, path) for link in info.links]
    return GraphItem(
        id=f"{_NODE}{path}",
        kind=KIND,
        label=info.title,
        text=text[:_MOST_CHARS],
        source=f"vault:{path}",
        # The part as its owner sees it, if something of it is hidden from others.
        items=tuple(f"{one.id}o" if OWN_KIND in one.kinds else one.id for one in places),
        names=(info.title, *info.aliases),
        links=tuple(f"{_NODE}{to}" for to in dict.fromkeys(meant) if to is not None and to != path),
    )
