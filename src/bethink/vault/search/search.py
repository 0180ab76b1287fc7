"""Search in the vault: words, phrases and regular expressions, in what the principal may see.

Tools, doors and the command line call it. The catalogue says which pages may
hold what is sought, and in which order they are worth a look; only those that
are shown are read. Nothing that a principal may not see is matched, counted or
told, and nothing that only the catalogue says is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.errors import BadInput
from bethink.principal import PerKey, Principal, Recent
from bethink.vault.files.folder import FileContent, Folder, version_of
from bethink.vault.markdown.frontmatter import name_of
from bethink.vault.regex import Regex, literals
from bethink.vault.search.catalogue import Catalogue, CataloguePage, CatalogueRow, PageContent
from bethink.vault.search.query import LEAST_BYTES, PageSearch, SearchFilters, folded
from bethink.vault.search.ranking import Candidate, Ranking, SearchResults

if TYPE_CHECKING:
    from bethink.vault.filters.views import VaultViews
    from bethink.vault.service import Vault

FOLDER: Final = "vault-search"
_NAME_CHARS: Final = 32
_KEPT: Final = 4
"""Owners of whom is at hand what the catalogue tells."""
_FAR: Final = 1 << 62
"""No change has this number: nothing came behind it."""


@dataclass(frozen=True, slots=True)
class VaultSearch:
    """Searches the vaults of all owners; every call acts for one principal."""

    views: VaultViews
    _pages: Recent[str, tuple[int, Sequence[CataloguePage]]] = field(
        default_factory=lambda: Recent(_KEPT), repr=False
    )
    _turns: PerKey[str, anyio.Lock] = field(
        default_factory=lambda: PerKey[str, anyio.Lock](anyio.Lock), repr=False
    )

    @property
    def vault(self) -> Vault:
        """The vaults behind the views."""
        return self.views.vault

    async def search(self, principal: Principal, asked: PageSearch) -> SearchResults:
        """The pages that say what is asked for, as the principal sees them, the best first.

        Raises:
            BadInput: it cannot be asked so; or a regular expression takes too long.
        """
        asked.checked()
        filters = SearchFilters.of(asked.filters)
        regex = Regex(asked.query, case=asked.case) if asked.regex else None
        needed_texts = required(asked.query, case=asked.case) if regex else []
        await self.refresh(principal.owner)
        catalogue = self.catalogue(principal.owner)
        is_free = not await self.views.filters.rules_for(principal)
        terms = [folded(term) for term in asked.terms]
        rows, met = await anyio.to_thread.run_sync(
            catalogue.candidates, [*terms, *needed_texts, *filters.literal]
        )
        needed = met[len(terms) :]
        candidates = [
            Candidate(
                row if is_free else _bare(row), sum(row.number in numbers for numbers in met[: len(terms)])
            )
            for row in rows
            if all(row.number in numbers for numbers in needed) and filters.pass_path(row.path)
        ]
        texts = partial(self._texts, principal, is_free=is_free)
        walk = Ranking(asked, filters, texts, self.vault.context.clock.now_us(), terms, regex)
        return await walk.found(candidates)

    async def pages(self, owner: str) -> Sequence[CataloguePage]:
        """What the catalogue tells of all pages of an owner: everything, for code that filters behind it.

        The very same object until a page changes.
        """
        # Asked before: what changes meanwhile may not be told yet, and is told the next time.
        change, _ = await self.vault.changed_since(owner, _FAR)
        await self.refresh(owner)
        known = self._pages.get(owner)
        if known is None or known[0] != change:
            known = change, await anyio.to_thread.run_sync(self.catalogue(owner).pages)
            self._pages[owner] = known
        return known[1]

    async def refresh(self, owner: str) -> int:
        """Bring the catalogue up to date; how many pages were looked at."""
        catalogue = self.catalogue(owner)
        async with self._turns[owner]:
            change, _ = await self.vault.changed_since(owner, _FAR)
            if await anyio.to_thread.run_sync(catalogue.is_at, change):
                return 0
            pages = await self.vault.pages(owner)
            versions = {path: page.version for path, page in pages.items()}
            look = partial(_looked, self.vault.context.folder(owner), self.vault.settings.max_file_bytes)
            return await anyio.to_thread.run_sync(catalogue.refresh, change, versions, look)

    async def purge(self, owner: str) -> None:
        """Have the catalogue tell nothing of what was forgotten: see `Vault.purge`."""
        self._pages.pop(owner)
        if await anyio.to_thread.run_sync(self.catalogue(owner).path.exists):
            await self.refresh(owner)
            await anyio.to_thread.run_sync(self.catalogue(owner).purge)

    def catalogue(self, owner: str) -> Catalogue:
        """The owner's catalogue; there may be none yet."""
        name = sha256(owner.encode()).hexdigest()[:_NAME_CHARS]
        return Catalogue(self.vault.context.data_dir / FOLDER / f"{name}.sqlite3")

    async def _texts(
        self, principal: Principal, paths: Sequence[str], *, is_free: bool
    ) -> list[tuple[str, str]]:
        """The pages that can be read, with their texts as the principal sees them."""
        if not is_free:
            return [found async for found in self.views.texts(principal, paths)]
        folder, most = self.vault.context.folder(principal.owner), self.vault.settings.max_file_bytes

        def read() -> list[tuple[str, str]]:
            found = ((path, _read(folder, most, path)) for path in paths)
            return [(path, one[1]) for path, one in found if one is not None]

        return await anyio.to_thread.run_sync(read)


def required(pattern: str, *, case: bool) -> list[str]:
    """Folded texts that everything the pattern matches holds, long enough to look pages up by.

    Raises:
        BadInput: it is no regular expression.
    """
    runs = literals(pattern, case=case)
    return [text for run in runs if len((text := folded(run)).encode()) >= LEAST_BYTES]


def _read(folder: Folder, most: int, path: str) -> tuple[FileContent, str] | None:
    """A page's file as it is now, with its text; None if it cannot be read."""
    try:
        content = folder.read(path, most)
        return None if content is None else (content, content.body.decode())
    except (BadInput, UnicodeDecodeError):
        return None


def _looked(folder: Folder, most: int, path: str) -> PageContent | None:
    found = _read(folder, most, path)
    if found is None:
        return None
    content, text = found
    return PageContent(version_of(content.body), content.stat.mtime // 1_000, content.stat.size, text)


def _bare(row: CatalogueRow) -> CatalogueRow:
    """A page as its path alone tells of it, for who may not see all: no order shall tell them more."""
    return row._replace(names=folded(name_of(row.path)), headings="")
