"""What of pages is searched, and by whom: the text as the strictest sees it, and all of it for others.

`context` asks for the items of each part; `views`, whether a part was made by the
filters that hold now. Filters that change have their pages indexed anew, in the
background: until that is done, who is restrained does not find what is concerned.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import msgspec

from bethink.errors import BethinkError
from bethink.store import Put
from bethink.store.reading import owners_of
from bethink.telemetry import log
from bethink.vault.files.parts import Part, plain_items, said_in
from bethink.vault.files.records import KIND, OWN_KIND
from bethink.vault.filters.hidden_pages import HiddenPages
from bethink.vault.filters.page_filter import Around, View, view
from bethink.vault.filters.rules import RULE_SETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.vault.files.parts import Items
    from bethink.vault.filters.rules import FilterStore, Rule, RuleSet
    from bethink.vault.service import Vault

_DONE = "indexed"
_log = log("filters")


@dataclass(slots=True)
class StrictestView:
    """The items of parts where somebody is restrained."""

    rules: tuple[Rule, ...]
    unseen: HiddenPages
    _last: tuple[str, str, View] | None = None

    def __call__(self, path: str, text: str, part: Part) -> Sequence[tuple[str, str]]:
        """What is searched of a part: one item where nothing of it is hidden from anybody."""
        said = said_in(self._view(path, text).shown(part.start, part.end))
        above, _, whole = part.text.partition("\n")
        if said == whole:
            shown = self._above(path, above)
            if shown == above:
                return [(KIND, part.text)]
            above = shown
        else:
            above = self._above(path, above)
        own = (OWN_KIND, part.text)
        return [(KIND, f"{above}\n{said}"), own] if any(char.isalnum() for char in said) else [own]

    def _view(self, path: str, text: str) -> View:
        if self._last is None or self._last[:2] != (path, text):
            links = self.unseen.links_of(path) if self.unseen.matters else None
            self._last = path, text, view(text, path, self.rules, around=Around(links))
        return self._last[2]

    def _above(self, path: str, above: str) -> str:
        """The page's name and the headings above a part, without what a pattern hides."""
        rules = [rule for rule in self.rules if rule.pattern and not (rule.field or rule.section)]
        return view(above, path, rules).text


@dataclass(slots=True)
class IndexItems:
    """The items of all owners' pages by their filters."""

    vault: Vault
    filters: FilterStore
    _asked: set[str] = field(default_factory=set[str])
    _has_asked: anyio.Event = field(default_factory=anyio.Event)
    _alone: anyio.Lock = field(default_factory=anyio.Lock)

    async def items_of(self, owner: str) -> Items:
        """What makes the items of an owner's parts now."""
        rules = (await self.filters.of(owner)).enforced
        if not rules:
            return plain_items
        paths, aliases = [*await self.vault.pages(owner)], await self.vault.aliases(owner)
        return StrictestView(rules, HiddenPages(rules, paths, aliases))

    def ask(self, owner: str) -> None:
        """Have the pages concerned indexed anew, soon."""
        self._asked.add(owner)
        self._has_asked.set()

    async def keep_up(self) -> None:
        """Work off what was asked for, and first what another process left undone; for ever."""
        with suppress(BethinkError):
            async for owner in owners_of(self.vault.context.store, RULE_SETS):
                self.ask(owner)
        while True:
            await self._has_asked.wait()
            self._has_asked = anyio.Event()
            while self._asked:
                owner = self._asked.pop()
                try:
                    count = await self.catch_up(owner)
                except BethinkError as error:
                    _log.warning("pages are not searched by the filters that hold now: %s", error)
                else:
                    if count:
                        _log.info("indexed %d pages by the filters that hold now", count)

    async def catch_up(self, owner: str) -> int:
        """Index anew what the filters that changed since the last time are about; how many pages."""
        async with self._alone:
            now = await self.filters.of(owner)
            (found,) = await self.vault.context.store.get(RULE_SETS, owner, [_DONE])
            was: tuple[Rule, ...] = () if found is None else found.record.enforced
            changed = [*set(was).symmetric_difference(now.enforced)]
            if not changed:
                return 0
            pages = [*await self.vault.pages(owner)]
            # A page that is hidden, or not any more, may be linked from anywhere.
            leads = any(rule.is_of_pages or rule.section or rule.pattern for rule in changed)
            paths = [path for path in pages if leads or any(rule.is_at(path) for rule in changed)]
            await self.vault.reindex(owner, paths)
            done = msgspec.structs.replace(now, id=_DONE)
            await self.vault.context.store.commit(owner, [Put(RULE_SETS, done)])
            return len(paths)

    def heard(self, owner: str, was: RuleSet, now: RuleSet) -> None:
        """Filters changed."""
        if was.enforced != now.enforced:
            self.ask(owner)
