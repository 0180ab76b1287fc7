"""The vault behind its filters, and what each reader may see of all kinds of memory. `app` wires it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import BethinkError
from bethink.feature import OpenFeature, Recallable, RecallKind, RetentionRule
from bethink.principal import Principal, Recent, WaitingOwners, if_filtered
from bethink.store import Put, owners_of
from bethink.telemetry import log
from bethink.vault import KIND, OWN_KIND, VAULTS, Vault
from bethink.vault.files.parts import Items, PagePart, digest_of, plain_items, said_in, title_of
from bethink.vault.filters.page_filter import HiddenPages, PageView, ViewContext, view
from bethink.vault.filters.rules import RULE_SETS, FilterRule, FilterStore, RuleSet
from bethink.vault.filters.structure import names
from bethink.vault.filters.views import VaultViews
from bethink.vault.graph_pages import PageGraph
from bethink.visibility.reader_filter import ReaderFilter

if TYPE_CHECKING:
    from bethink.memory import Fact
    from bethink.vault.files.page_reader import FoundPart

_KEPT: Final = 16
_ANY: Final = 2**62
_IMPORTANCE: Final = 0.5
"""As much as a fact of which nobody said how much it matters."""
_INDEXED: Final = "indexed"
"""The id of the filters by which pages were indexed last."""
_log = log("filters")


@dataclass(frozen=True, slots=True)
class ReaderFilters:
    """What is hidden from each reader."""

    vault: Vault
    filters: FilterStore
    _kept: Recent[tuple[str, str], tuple[int, ReaderFilter]] = field(
        default_factory=lambda: Recent(_KEPT), repr=False
    )

    async def of(self, principal: Principal) -> ReaderFilter | None:
        """What a reader is not told; None if no filter restrains them."""
        rules = await self.filters.rules_for(principal)
        if not rules:
            return None
        key = principal.owner, principal.audience
        change, _ = await self.vault.changed_since(principal.owner, _ANY)
        kept = self._kept.get(key)
        if kept is None or kept[0] != change or kept[1].rules != rules:
            made = await self._made(principal, rules)
            # What changed in the vault may bear on nothing hidden: then the texts filtered so far stay known.
            kept = self._kept[key] = change, kept[1] if kept is not None and kept[1] == made else made
        return kept[1]

    async def facts(self, principal: Principal, facts: Sequence[Fact]) -> list[Fact]:
        """Facts as a reader sees them, in order, without those that are hidden."""
        reader_filter = await self.of(principal)
        if reader_filter is None:
            return [*facts]
        return [shown for fact in facts if (shown := reader_filter.fact(fact)) is not None]

    async def _made(self, principal: Principal, rules: tuple[FilterRule, ...]) -> ReaderFilter:
        hidden: list[tuple[FilterRule, str]] = []
        of_pages = [rule for rule in rules if rule.path or rule.section or rule.field]
        for path in await self.vault.pages(principal.owner) if of_pages else ():
            here = [rule for rule in of_pages if rule.is_at(path)]
            if not here:
                continue
            try:
                text = (await self.vault.read(principal.owner, path)).text
            except BethinkError:
                continue
            for rule in here:
                if not rule.field or names(rule.field).search(text):
                    hidden += [(rule, piece) for piece in view(text, path, [rule]).hidden]
        return await anyio.to_thread.run_sync(ReaderFilter.of, principal.audience, rules, hidden)


@dataclass(slots=True)
class StrictestView:
    """What is searched of the parts of pages, if anything is hidden from anybody."""

    rules: tuple[FilterRule, ...]
    hidden_pages: HiddenPages
    _last: tuple[str, str, PageView] | None = None

    def __call__(self, path: str, text: str, part: PagePart) -> Sequence[tuple[str, str]]:
        """The items of a part: one if nothing is hidden, else what all may see, and all for the owner."""
        if self._last is None or self._last[:2] != (path, text):
            context = ViewContext(self.hidden_pages.links_of(path))
            self._last = path, text, view(text, path, self.rules, context=context)
        said = said_in(self._last[2].shown(part.start, part.end))
        above, _, whole = part.text.partition("\n")
        patterns = [rule for rule in self.rules if rule.pattern and not (rule.field or rule.section)]
        above_shown = view(above, path, patterns).text
        if (above_shown, said) == (above, whole):
            return [(KIND, part.text)]
        own = (OWN_KIND, part.text)
        return [(KIND, f"{above_shown}\n{said}"), own] if any(map(str.isalnum, said)) else [own]


@dataclass(slots=True)
class IndexItems:
    """The items of all owners' pages by their filters.

    After a change of filters the pages concerned are indexed anew in the background: until that is
    done, readers who are restrained do not find them.
    """

    vault: Vault
    filters: FilterStore
    _asked: WaitingOwners = field(default_factory=WaitingOwners)
    _alone: anyio.Lock = field(default_factory=anyio.Lock)

    async def items_of(self, owner: str) -> Items:
        """What makes the items of an owner's parts now."""
        rules = (await self.filters.of(owner)).enforced
        if not rules:
            return plain_items
        paths, aliases = [*await self.vault.pages(owner)], await self.vault.aliases(owner)
        return StrictestView(rules, HiddenPages(rules, paths, aliases))

    def on_change(self, owner: str, was: RuleSet, now: RuleSet) -> None:
        """Have the pages concerned indexed anew, soon."""
        if was.enforced != now.enforced:
            self._asked.add(owner)

    async def keep_up(self) -> None:
        """Work off what was asked for, and first what another process left undone; for ever."""
        with suppress(BethinkError):
            async for owner in owners_of(self.vault.context.store, RULE_SETS):
                self._asked.add(owner)
        while True:
            try:
                count = await self.catch_up(await self._asked.next())
            except BethinkError as error:
                _log.warning("pages are not searched by the filters that hold now: %s", error)
            else:
                if count:
                    _log.info("indexed %d pages by the filters that hold now", count)

    async def catch_up(self, owner: str) -> int:
        """Index anew what the filters that changed since the last time are about; how many pages."""
        async with self._alone:
            now = await self.filters.of(owner)
            (found,) = await self.vault.context.store.get(RULE_SETS, owner, [_INDEXED])
            was: tuple[FilterRule, ...] = () if found is None else found.record.enforced
            changed = [*set(was).symmetric_difference(now.enforced)]
            if not changed:
                return 0
            pages = [*await self.vault.pages(owner)]
            # A page that is hidden, or not any more, may be linked from anywhere.
            leads = any(rule.is_of_pages or rule.section or rule.pattern for rule in changed)
            paths = [path for path in pages if leads or any(rule.is_at(path) for rule in changed)]
            await self.vault.reindex(owner, paths)
            done = msgspec.structs.replace(now, id=_INDEXED)
            await self.vault.context.store.commit(owner, [Put(RULE_SETS, done)])
            return len(paths)


@dataclass(frozen=True, slots=True)
class Visibility:
    """What stands between a vault and its readers."""

    vault: Vault
    filters: FilterStore
    views: VaultViews
    indexing: IndexItems
    reader_filters: ReaderFilters
    filter_for: Callable[[Principal], Awaitable[ReaderFilter | None]]
    """What hides things from a reader; None if nothing is hidden from them."""

    @classmethod
    def over(cls, vault: Vault) -> Visibility:
        """The guard of a vault; from now on its parts are searched by the filters."""
        filters = FilterStore(vault.context.store)
        reader_filters = ReaderFilters(vault, filters)
        views = VaultViews(vault, filters, reader_filters.of)
        indexing = IndexItems(vault, filters)
        vault.context.items_of = indexing.items_of
        filters.on_change.append(indexing.on_change)
        return cls(vault, filters, views, indexing, reader_filters, if_filtered(reader_filters.of))

    @property
    def opened(self) -> OpenFeature:
        """The vault as a feature: it is read through its filters alone."""
        pages = RecallKind(
            name=KIND,
            resolve=self.resolve_pages,
            own=OWN_KIND,
            filters_itself=True,
            graph=PageGraph(self.vault).kind,
        )
        return OpenFeature(
            service=self.vault,
            recall=[pages],
            forgettable=self.vault.forgettable,
            clean=self.vault.purge,
            retention=[
                RetentionRule(
                    of=(VAULTS,), log="old versions of pages are not kept any more", drop=self._thin
                )
            ],
        )

    async def _thin(self, principal: Principal) -> int:
        """Let go of versions of pages that are too old to be kept one by one."""
        days = self.vault.settings.versions_days
        if days is None or not await self.vault.exists(principal.owner):
            return 0
        return await self.vault.versions.thin(principal.owner, days)

    async def resolve_pages(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables of these parts of pages, in order; None for what is gone or not to be found.

        A part of which something is hidden has two items. Who sees all of it has it by its own one; who
        does not, by the other, and only if that was made by the filters that hold now.
        """
        found = await self.vault.parts(principal.owner, ids)
        reader_filter = await self.filter_for(principal)
        if reader_filter is None:
            return [
                None if part is None or (OWN_KIND in part.kinds and not part.is_own) else _recallable(part)
                for part in found
            ]
        items = await self.indexing.items_of(principal.owner)

        def is_current(part: FoundPart) -> bool:
            return not part.is_own and part.digest == digest_of(items(part.path, part.text, part.part))

        def current() -> list[FoundPart | None]:
            return [part if part is not None and is_current(part) else None for part in found]

        parts = await anyio.to_thread.run_sync(current)
        texts = await self.views.parts(principal, parts)
        return [
            None
            if part is None or text is None
            else _recallable(replace(part, headings=tuple(map(reader_filter.text, part.headings))), text)
            for part, text in zip(parts, texts, strict=True)
        ]


def _recallable(part: FoundPart, text: str | None = None) -> Recallable:
    return Recallable(
        text=part.text[part.start : part.end].strip() if text is None else text,
        at=part.changed,
        importance=_IMPORTANCE,
        source=f"vault:{part.path}" + "".join(f"#{heading}" for heading in part.headings),
        untrusted=part.untrusted,
        below=" ".join((title_of(part.path), *part.headings)),
    )
