"""The vault behind its filters: views, what is searched of it, what recall finds. `app` wires it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bethink.feature import OpenFeature, RecallKind
from bethink.vault import KIND, OWN_KIND, Vault
from bethink.vault.filters.index_items import IndexItems
from bethink.vault.filters.rules import FilterStore
from bethink.vault.filters.views import VaultViews
from bethink.visibility.pages import PageResolver
from bethink.visibility.reader_filter import FilteredResolve, ReaderFilters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.clock import Clock, Ids
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Store
    from bethink.visibility.reader_filter import ReaderFilter


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
