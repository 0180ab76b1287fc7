"""The vault behind its filters: views, what is searched of it, what recall finds. `app` wires it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.vault import KIND, OWN_KIND, Vault
from bethink.vault.filters.index_items import Indexing
from bethink.vault.filters.rules import Filters
from bethink.vault.filters.views import Views
from bethink.visibility.pages import PageResolver
from bethink.visibility.reader_filter import FilteredResolve, ReaderFilters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.clock import Clock, Ids
    from bethink.feature import Resolve
    from bethink.settings import Settings
    from bethink.store import Store


@dataclass(frozen=True, slots=True)
class Visibility:
    """What stands between a vault and its readers."""

    vault: Vault
    filters: Filters
    views: Views
    indexing: Indexing
    pages: PageResolver
    reader_filters: ReaderFilters

    @classmethod
    def of(cls, settings: Settings, store: Store, clock: Clock, *, new_id: Ids) -> Visibility:
        """The guard of the vaults that the settings want."""
        return cls.over(Vault.of(settings, store, clock, new_id=new_id))

    def kinds(self, others: Mapping[str, Resolve]) -> dict[str, Resolve]:
        """What tells recall of each kind: of the vault's items, and of others that may say the same."""
        veiled = {kind: FilteredResolve(resolve, self.reader_filters) for kind, resolve in others.items()}
        return {**veiled, KIND: self.pages, OWN_KIND: self.pages}

    @property
    def own(self) -> dict[str, str]:
        """The kind that only those find who see all, by that which everybody does."""
        return {KIND: OWN_KIND}

    @classmethod
    def over(cls, vault: Vault) -> Visibility:
        """The guard of a vault; from now on its parts are searched by the filters."""
        filters = Filters(vault.shop.store)
        reader_filters = ReaderFilters(vault, filters)
        views = Views(vault, filters, reader_filters.of)
        indexing = Indexing(vault, filters)
        vault.shop.items_of = indexing.items_of
        filters.on_change.append(indexing.heard)
        return cls(vault, filters, views, indexing, PageResolver(views, indexing), reader_filters)
