"""Pages of the vault as recall wants to know them, each as its reader may see it. `app` wires it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.feature import Recallable
from bethink.vault import OWN_KIND
from bethink.vault.files.parts import digest_of, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.principal import Principal
    from bethink.vault.files.page_reader import FoundPart
    from bethink.vault.files.parts import Items
    from bethink.vault.filters.index_items import IndexItems
    from bethink.vault.filters.page_filter import SectionCut
    from bethink.vault.filters.views import VaultViews

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
        shade = await self.views.shade(principal)
        return [
            None if part is None or text is None else _of_part(_below(part, shade), text)
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


def _below(found: FoundPart, shade: SectionCut | None) -> FoundPart:
    """A part below headings that say no more than their reader may know."""
    if shade is None:
        return found
    return replace(found, headings=tuple(shade.view(heading).text for heading in found.headings))


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
