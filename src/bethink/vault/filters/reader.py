"""One reader of one vault, and what is hidden from them. `views` makes one for each call."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import Conflict, NoSuchPage, NotAllowed, TooLarge
from bethink.vault.filters.fields import told
from bethink.vault.filters.page_filter import Around, view
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.links import key_of
from bethink.vault.markdown.page_info import other_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from bethink.principal import Principal
    from bethink.vault.files.records import Change, Page, PageRecord
    from bethink.vault.filters.hidden_pages import HiddenPages
    from bethink.vault.filters.page_filter import SectionCut, View
    from bethink.vault.filters.rules import Rule
    from bethink.vault.service import Vault


_MOST_CHARS: Final = 100
_LINK: Final = re.compile(r"\[\[([^\[\]|#\n]+)")
_FACT: Final = re.compile(
    r"[ \t]*(?:[-*+] )?(?:region|state|province|county|country) ?:{1,2} *(\S[^\n]*)", re.IGNORECASE
)


def names_of(value: str) -> Iterator[str]:
    """The names by which a page about the place of this value may be found."""
    plain = value.strip()
    if not plain or len(plain) > _MOST_CHARS or "\n" in plain:
        return
    if (link := _LINK.search(plain)) is not None:
        yield link[1].strip()
        return
    for name in (plain, plain.partition(",")[0].strip()):
        yield name
        yield "_".join(name.casefold().split())


def region_in(text: str) -> str | None:
    """What a page says of the region of its place, the nearest first; None where it says nothing."""
    for line in text.splitlines():
        match = _FACT.match(line)
        if match is not None:
            return _LINK.sub(r"\1", match[1]).replace("]]", "").strip() or None
    return None


_IN_THREAD: Final = 20_000
"""A longer text is looked through in a thread: it takes milliseconds."""
_TOO_LARGE: Final = "The page, its folder or the vault would be larger than it may be: write less."
CANNOT_WRITE: Final = "No page can be written here by this name: choose another."


@dataclass(frozen=True, slots=True)
class VaultReader:
    """Who reads, and which pages they do not see."""

    vault: Vault
    principal: Principal
    unseen: HiddenPages
    shade: SectionCut | None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The filters that restrain them."""
        return self.unseen.rules

    def hides(self, path: str) -> bool:
        """Whether there is no page at a path for them, whatever there is."""
        return bool(self.rules) and self.unseen.is_hidden(path)

    def must_see(self, path: str) -> None:
        """Go on only where a page is not hidden.

        Raises:
            NoSuchPage: it is; in the words that are said of one that is not there.
        """
        if self.hides(path):
            raise NoSuchPage

    def must_place(self, path: str) -> None:
        """Go on only where a page may be put, as far as filters go.

        Raises:
            NotAllowed: here nothing may be, whether something is there or not.
        """
        if self.hides(path):
            raise NotAllowed(CANNOT_WRITE)

    def record(self, record: PageRecord) -> PageRecord:
        """What they may know of a page without reading it: of one that something hides, not its size."""
        if not any(rule.is_at(record.path) for rule in self.rules):
            return record
        return msgspec.structs.replace(record, version="", size=0, aliases=())

    async def page(self, path: str) -> Page:
        """A page as its file is.

        Raises:
            NoSuchPage: there is none, or none for them.
        """
        self.must_see(path)
        return await self.vault.read(self.principal.owner, path)

    async def page_or_none(self, path: str) -> Page | None:
        """The same, None where there is none."""
        try:
            return await self.page(path)
        except NoSuchPage:
            return None

    async def is_named(self, path: str, name: str) -> bool:
        """Whether they see in a page's front matter that it is called so."""
        page = await self.page_or_none(path)
        told = () if page is None else other_names(parse((await self.view(page)).text))
        return key_of(name) in map(key_of, told)

    async def view(self, page: Page) -> View:
        """What they see of a page."""
        return await self.view_of(page.path, page.text)

    async def view_of(self, path: str, text: str, *, was: str | None = None) -> View:
        """What they see of a text that is on a page, or `was` on it when it stood elsewhere."""
        broader = await self._broader(text)
        look = partial(
            view,
            text,
            path,
            self.rules,
            was=was,
            around=Around(self.unseen.links_of(path) if self.unseen.matters else None, broader, self.shade),
        )
        return await anyio.to_thread.run_sync(look) if len(text) > _IN_THREAD and self.rules else look()

    async def _broader(self, text: str) -> Callable[[str], str | None]:
        """The regions of the places that fields to be made general name, where the vault has them."""
        regions: dict[str, str] = {}
        for rule in self.rules:
            if rule.field and rule.action == "generalise":
                values = {text[start:end] for one in told(text, rule.field) for start, end in one.values}
                for value in values - regions.keys():
                    if region := await self._region(value):
                        regions[value] = region
        return regions.get

    async def _region(self, value: str) -> str | None:
        for name in names_of(value):
            path = self.unseen.visible.resolve(name)
            page = None if path is None else await self.page_or_none(path)
            if page is not None:
                # What is said there may be hidden itself.
                plain = [rule for rule in self.rules if rule.action != "generalise"]
                return region_in(view(page.text, page.path, plain).text)
        return None


async def quietly(change: Callable[[], Awaitable[Change]], reader: VaultReader) -> Change:
    """Make a change; who is restrained is told no more than that it cannot be made.

    Raises:
        Conflict: see `Vault`.
        TooLarge: see `Vault`.
    """
    if not reader.rules:
        return await change()
    try:
        return await change()
    except Conflict:
        raise Conflict from None
    except TooLarge:
        raise TooLarge(_TOO_LARGE) from None


def told_less(change: Change, before: View | None, after: View | None) -> Change:
    """A change with the versions of what is seen in place of the pages' own."""
    return replace(
        change,
        before=None if before is None else before.version,
        after=None if after is None else after.version,
    )


def shown_of(page: Page, seen: View) -> Page:
    """A page as it is seen."""
    if seen.is_whole:
        return page
    return replace(page, text=seen.text, version=seen.version, size=len(seen.text.encode()))
