"""The vault behind its filters: views, what is searched of it, what recall finds. `app` wires it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.feature import OpenFeature, Recallable, RecallKind
from bethink.vault import KIND, OWN_KIND, Vault
from bethink.vault.files.parts import digest_of, title_of
from bethink.vault.filters.index_items import IndexItems
from bethink.vault.filters.rules import FilterStore
from bethink.vault.filters.views import VaultViews
from bethink.visibility.reader_filter import FilteredResolve, ReaderFilters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.clock import Clock, Ids
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Store
    from bethink.vault.files.page_reader import FoundPart
    from bethink.vault.files.parts import Items
    from bethink.vault.filters.page_filter import SectionCut
    from bethink.visibility.reader_filter import ReaderFilter


_IMPORTANCE = 0.5
"""As much as a fact of which nobody said how much it matters."""


@dataclass(frozen=True, slots=True)
class PageResolver:
    """The recallables of parts of pages."""

    views: VaultViews
    indexing: IndexItems

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables of these parts, in order; None for what is gone, and for what is not to be found.

        A part of which something is hidden has two items. Who sees all of it has it by its own one; who
        does not, by the other, and only if that was made by the filters that hold now.
        """
        found = await self.views.vault.parts(principal.owner, ids)
        if await self.sees_all(principal):
            return [
                None if part is None or (OWN_KIND in part.kinds and not part.is_own) else _of_part(part)
                for part in found
            ]
        items = await self.indexing.items_of(principal.owner)
        right = await anyio.to_thread.run_sync(_right, found, items)
        texts = await self.views.parts(principal, right)
        reader_filter = await self.views.shade(principal)
        return [
            None if part is None or text is None else _of_part(_below(part, reader_filter), text)
            for part, text in zip(right, texts, strict=True)
        ]

    async def sees_all(self, principal: Principal) -> bool:
        """Whether nothing of the vault is hidden from this reader."""
        return not await self.views.rules(principal)


def _right(found: Sequence[FoundPart | None], items: Items) -> list[FoundPart | None]:
    """The parts of which everybody may know, and that are searched as they are to be now."""
    return [
        None
        if part is None or part.is_own or part.digest != digest_of(items(part.path, part.text, part.part))
        else part
        for part in found
    ]


def _below(found: FoundPart, reader_filter: SectionCut | None) -> FoundPart:
    """A part below headings that say no more than their reader may know."""
    if reader_filter is None:
        return found
    return replace(found, headings=tuple(reader_filter.view(heading).text for heading in found.headings))


def _of_part(found: FoundPart, text: str | None = None) -> Recallable:
    return Recallable(
        text=found.text[found.start : found.end].strip() if text is None else text,
        at=found.changed,
        importance=_IMPORTANCE,
        source=source_of(found.path, found.headings),
        untrusted=found.untrusted,
        below=" ".join((title_of(found.path), *found.headings)),
    )


def source_of(path: str, headings: Sequence[str]) -> str:
    """Where a part stands: the page's path and, behind `#`, the headings above the part."""
    return f"vault:{path}" + "".join(f"#{heading}" for heading in headings)


@dataclass(frozen=True, slots=True)
class Visibility:
    """What stands between a vault and its readers."""

    vault: Vault
    filters: FilterStore
    views: VaultViews
    indexing: IndexItems
    pages: PageResolver
    reader_filters: ReaderFilters

    @classmethod
    def of(cls, settings: Settings, store: Store, clock: Clock, *, new_id: Ids) -> Visibility:
        """The guard of the vaults that the settings want."""
        return cls.over(Vault.of(settings, store, clock, new_id=new_id))

    async def for_request(self, principal: Principal) -> Principal:
        """Who asks, with the filters that hold for this request or run: they are read once."""
        return await self.filters.hold(principal)

    async def filter_for(self, principal: Principal) -> ReaderFilter | None:
        """What hides things from a reader; None if nothing is hidden from them."""
        return await self.reader_filters.of(principal)

    async def instructions_for(self, principal: Principal) -> Sequence[str]:
        """What a model that reads for them is asked not to tell, in the owner's words."""
        return await self.views.told(principal)

    def filtered(self, kind: RecallKind) -> RecallKind:
        """The same kind, showing no more than its reader may see."""
        if kind.filters_itself:
            return kind
        return replace(kind, resolve=FilteredResolve(kind.resolve, self.reader_filters))

    @property
    def opened(self) -> OpenFeature:
        """The vault as a feature: it is read through its filters alone."""
        pages = RecallKind(name=KIND, resolve=self.pages, own=OWN_KIND, filters_itself=True)
        return OpenFeature(
            service=self.vault,
            recall=[pages],
            forgettable=self.vault.forgettable,
            clean=self.vault.purge,
        )

    @classmethod
    def over(cls, vault: Vault) -> Visibility:
        """The guard of a vault; from now on its parts are searched by the filters."""
        filters = FilterStore(vault.context.store)
        reader_filters = ReaderFilters(vault, filters)
        views = VaultViews(vault, filters, reader_filters.of)
        indexing = IndexItems(vault, filters)
        vault.context.items_of = indexing.items_of
        filters.on_change.append(indexing.heard)
        return cls(vault, filters, views, indexing, PageResolver(views, indexing), reader_filters)
