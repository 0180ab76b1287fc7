"""A page gets another path, and the links of all pages go on meaning what they meant. Doors call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.errors import BadInput, Conflict
from bethink.store import retry_conflicts
from bethink.vault.files.page_writer import Authorship
from bethink.vault.files.paths import checked
from bethink.vault.markdown.links import Moves, Resolver, relinked
from bethink.vault.search.graph import aliases_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.principal import Principal
    from bethink.vault.files.records import By, Change
    from bethink.vault.filters.views import VaultViews
    from bethink.vault.search.catalogue import CataloguePage
    from bethink.vault.search.search import VaultSearch

"""A page that is written by somebody else just then is read again so often."""


@dataclass(frozen=True, slots=True)
class PageMoves:
    """Moves pages in the vaults of all owners, each as its reader may see and change it."""

    views: VaultViews
    searching: VaultSearch

    async def move(self, principal: Principal, path: str, to: str, *, by: By) -> tuple[Change, list[Change]]:
        """Move a page and rewrite the links that would mean something else; the move, and those changes.

        Each of them can be taken back. Pages that the principal may not change as
        needed keep their links.

        Raises:
            NoSuchPage: there is none.
            Conflict: there is one at `to`.
        """
        path, to = checked(path), checked(to)
        pages = await self.searching.pages(principal.owner)
        moves = moves_of(pages, {path: to})
        places = await anyio.to_thread.run_sync(touched, pages, moves)
        change = await self.views.move(principal, path, to, by=by)
        how = Authorship(by, f"Links follow {path} to {to}")
        changes = [
            await self._relink(principal, one, moves, how=how)
            for one in dict.fromkeys((change.path, *places))
        ]
        return change, [one for one in changes if one is not None and one.undo is not None]

    async def _relink(
        self, principal: Principal, path: str, moves: Moves, *, how: Authorship
    ) -> Change | None:
        @retry_conflicts
        async def relink() -> Change:
            page = await self.views.read(principal, path)
            text = await anyio.to_thread.run_sync(relinked, page.text, path, moves)
            return await self.views.put(principal, path, text, if_version=page.version, how=how)

        try:
            return await relink()
        except (BadInput, Conflict):
            # It is hidden from them, too large now, or others keep changing it: its links stay as they are.
            return None


def moves_of(pages: Sequence[CataloguePage], to: Mapping[str, str]) -> Moves:
    """What links mean before and behind these moves, from old to new paths; several may end as one page."""
    aliases = aliases_of(pages)
    paths = {page.path for page in pages}
    behind = {name: to.get(path, path) for name, path in aliases.items()}
    return Moves(to, Resolver(paths, aliases), Resolver({to.get(path, path) for path in paths}, behind))


def touched(pages: Sequence[CataloguePage], moves: Moves) -> list[str]:
    """The pages, by their paths behind the move, of which a link would mean another page than before."""
    found: list[str] = []
    for page in pages:
        place = moves.paths.get(page.path, page.path)
        for link in page.info.links:
            meant = moves.before.resolve_link(link, page.path) if link.target else None
            if meant is None:
                continue
            if moves.behind.resolve_link(link, place) != moves.paths.get(meant, meant):
                found.append(place)
                break
    return found
