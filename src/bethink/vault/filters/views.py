"""The vaults as audiences see them: what everything that leaves a vault goes through, and what comes back.

Tools, routes, search, the graph and recall read and change pages here. Who is
restrained by no filter gets what `Vault` gives. To all others what is hidden is
not there: not in listings, links, sizes, versions or the sentences of errors.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, BethinkError, Conflict, NoSuchPage, NotAllowed, TooLarge, UnknownId
from bethink.principal import Principal, Recent
from bethink.vault.files.draft import UNDO
from bethink.vault.files.paths import checked, checked_folder, folders_of
from bethink.vault.files.versions import unified
from bethink.vault.filters.page_filter import CANNOT_CHANGE, HiddenPages, ViewContext, still_hides, view
from bethink.vault.filters.structure import fields_in
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import other_names
from bethink.vault.markdown.links import Named, key_of

if TYPE_CHECKING:
    from bethink.vault.files.page_reader import FoundPart
    from bethink.vault.files.page_writer import Authorship
    from bethink.vault.files.records import By, Change, CurrentPage, ListedFile, PageRecord, PageVersion
    from bethink.vault.filters.page_filter import PageView, TextFilter
    from bethink.vault.filters.rules import FilterRule, FilterStore
    from bethink.vault.service import Vault


CANNOT_WRITE: Final = "No page with this name can be written here: choose another name."
_TOO_LARGE: Final = "The page, its folder or the vault would be larger than it may be: write less."
_NOT_ALL: Final = "{done:,} pages are as they were. The others are not: {why}"
_NO_VERSION: Final = "The page has no such version: look at its history."
_SIZED: Final = 300
"""So many pages of a listing are told with the size of what is seen of them."""
_MOST_VERSIONS: Final = 100
_KEPT: Final = 16
_ANY: Final = 2**62
"""No vault has seen so many changes."""
_BETWEEN: Final = ","
_IN_THREAD: Final = 20_000
"""A longer text is filtered in a thread: it takes milliseconds."""
_MOST_CHARS: Final = 100
_LINK: Final = re.compile(r"\[\[([^\[\]|#\n]+)")
_REGION: Final = re.compile(
    r"[ \t]*(?:[-*+] )?(?:region|state|province|county|country) ?:{1,2} *(\S[^\n]*)", re.IGNORECASE
)


def undo_of_many(tokens: Sequence[str]) -> str:
    """A token that takes back many changes of pages, in this order."""
    return UNDO + _BETWEEN.join(token.removeprefix(UNDO) for token in tokens)


@dataclass(frozen=True, slots=True)
class VaultReader:
    """Who reads, and which pages they do not see."""

    vault: Vault
    principal: Principal
    hidden_pages: HiddenPages
    text_filter: TextFilter | None

    @property
    def rules(self) -> tuple[FilterRule, ...]:
        """The filters that restrain them."""
        return self.hidden_pages.rules

    def hides(self, path: str) -> bool:
        """Whether there is no page at a path for them, whatever there is."""
        return bool(self.rules) and self.hidden_pages.is_hidden(path)

    def must_see(self, path: str) -> None:
        """Raise `NoSuchPage`, as for a page that is not there, if the page is hidden."""
        if self.hides(path):
            raise NoSuchPage

    def must_place(self, path: str) -> None:
        """Raise `NotAllowed` if no page may be put here, whether something is there or not."""
        if self.hides(path):
            raise NotAllowed(CANNOT_WRITE)

    def record(self, record: PageRecord) -> PageRecord:
        """What they may know of a page without reading it: of one that something hides, not its size."""
        if not any(rule.is_at(record.path) for rule in self.rules):
            return record
        return msgspec.structs.replace(record, version="", size=0, aliases=())

    async def page(self, path: str) -> CurrentPage:
        """A page as its file is."""
        self.must_see(path)
        return await self.vault.read(self.principal.owner, path)

    async def page_or_none(self, path: str) -> CurrentPage | None:
        """The same, None where there is none."""
        try:
            return await self.page(path)
        except NoSuchPage:
            return None

    async def is_named(self, path: str, name: str) -> bool:
        """Whether they see in a page's front matter that it is called so."""
        page = await self.page_or_none(path)
        names = () if page is None else other_names(parse((await self.view(page)).text))
        return key_of(name) in map(key_of, names)

    async def view(self, page: CurrentPage) -> PageView:
        """What they see of a page."""
        return await self.view_of(page.path, page.text)

    async def view_of(self, path: str, text: str, *, was: str | None = None) -> PageView:
        """What they see of a text that is on a page, or `was` on it when it stood elsewhere."""
        context = ViewContext(self.hidden_pages.links_of(path), await self._broader(text), self.text_filter)
        look = partial(view, text, path, self.rules, was=was, context=context)
        return await anyio.to_thread.run_sync(look) if len(text) > _IN_THREAD and self.rules else look()

    async def _broader(self, text: str) -> Callable[[str], str | None]:
        """The regions of the places that fields to be made general name, where the vault has them."""
        regions: dict[str, str] = {}
        for rule in self.rules:
            if rule.field and rule.action == "generalise":
                values = {text[start:end] for one in fields_in(text, rule.field) for start, end in one.values}
                for value in values - regions.keys():
                    if region := await self._region(value):
                        regions[value] = region
        return regions.get

    async def _region(self, value: str) -> str | None:
        for name in _names_of(value):
            path = self.hidden_pages.visible.resolve(name)
            page = None if path is None else await self.page_or_none(path)
            if page is not None:
                # What is said there may be hidden itself.
                plain = [rule for rule in self.rules if rule.action != "generalise"]
                return _region_in(view(page.text, page.path, plain).text)
        return None


def _names_of(value: str) -> Iterator[str]:
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


def _region_in(text: str) -> str | None:
    """What a page says of the region of its place, the nearest first."""
    for line in text.splitlines():
        if (match := _REGION.match(line)) is not None:
            return _LINK.sub(r"\1", match[1]).replace("]]", "").strip() or None
    return None


async def _quietly(change: Callable[[], Awaitable[Change]], reader: VaultReader) -> Change:
    """Make a change; who is restrained learns no more than that it cannot be made."""
    if not reader.rules:
        return await change()
    try:
        return await change()
    except Conflict:
        raise Conflict from None
    except TooLarge:
        raise TooLarge(_TOO_LARGE) from None


def _with_seen_versions(change: Change, before: PageView | None, after: PageView | None) -> Change:
    """A change with the versions of what is seen in place of the pages' own."""
    return replace(
        change,
        before=None if before is None else before.version,
        after=None if after is None else after.version,
    )


def _as_seen(page: CurrentPage, page_view: PageView) -> CurrentPage:
    """A page as it is seen."""
    if page_view.is_whole:
        return page
    return replace(page, text=page_view.text, version=page_view.version, size=len(page_view.text.encode()))


@dataclass(frozen=True, slots=True)
class VaultViews:
    """The vaults of all owners, each as its reader may see it.

    Errors are those of `Vault`. What is hidden raises `NoSuchPage` and `UnknownId` as if it were not there,
    and `NotAllowed` if a change would touch it.
    """

    vault: Vault
    filters: FilterStore
    text_filter: Callable[[Principal], Awaitable[TextFilter | None]] = field(repr=False)
    _hidden_pages: Recent[tuple[str, str], tuple[int, HiddenPages]] = field(
        default_factory=lambda: Recent(_KEPT), repr=False
    )

    async def read(self, principal: Principal, path: str) -> CurrentPage:
        """A page as it is seen; its `version` is of what is seen."""
        reader = await self._reader(principal)
        page = await reader.page(checked(path))
        return _as_seen(page, await reader.view(page))

    async def tried(self, principal: Principal, path: str) -> PageView:
        """A page as a reader sees it, with marks of what is hidden: for the owner's own eyes alone."""
        reader = await self._reader(principal)
        return await reader.view(await self.vault.read(principal.owner, checked(path)))

    async def text_of(self, principal: Principal, path: str, raw: str) -> str | None:
        """What is seen of a text that is, or was, on a page; None where the page is hidden."""
        reader = await self._reader(principal)
        page_view = await reader.view_of(path, raw)
        return None if page_view.is_hidden else page_view.text

    async def paths(self, principal: Principal) -> Sequence[str]:
        """The pages that there are for this reader, as far as they are known, in order."""
        reader = await self._reader(principal)
        return [path for path in sorted(await self.vault.pages(principal.owner)) if not reader.hides(path)]

    async def meant(self, principal: Principal, link: Named, from_path: str = "") -> str | None:
        """The page to which a link leads this reader, as far as pages are known; None where there is none.

        A name that only a front matter gives counts where the reader sees it there.
        """
        reader = await self._reader(principal)
        names = (reader.hidden_pages if reader.rules else await self._all_of(principal.owner)).visible
        path = names.beside(link, from_path) or names.named(link.target, from_path)
        if path is not None or (path := names.resolve(link.target)) is None:
            return path
        return path if not reader.rules or await reader.is_named(path, link.target) else None

    async def texts(
        self, principal: Principal, paths: Sequence[str] | None = None
    ) -> AsyncGenerator[tuple[str, str]]:
        """The pages that can be read, with their texts as they are seen."""
        reader = await self._reader(principal)
        for path in await self.paths(principal) if paths is None else paths:
            try:
                page = await reader.page(path)
            except BadInput:
                continue
            yield path, (await reader.view(page)).text

    async def listed(
        self, principal: Principal, folder: str = "", *, deep: bool = False
    ) -> Sequence[ListedFile]:
        """What is in a folder for this reader. Sizes are of what is seen, 0 where there are very many."""
        reader = await self._reader(principal)
        if not reader.rules:
            return await self.vault.listed(principal.owner, folder, deep=deep)
        folder = checked_folder(folder)
        everything = await self.vault.listed(principal.owner, deep=True)
        visible = {one.path for one in everything if not one.is_folder and not reader.hides(one.path)}
        folders = {part for path in visible for part in folders_of(path)}
        taken = {part for one in everything if not one.is_folder for part in folders_of(one.path)}
        # A folder with nothing but hidden pages is not there either.
        folders |= {
            one.path
            for one in everything
            if one.is_folder and one.path not in taken and not reader.hides(f"{one.path}/x.md")
        }
        if folder and folder not in folders:
            raise NoSuchPage
        beginning = f"{folder}/" if folder else ""
        shown = [
            one
            for one in everything
            if one.path in (folders if one.is_folder else visible)
            and one.path.startswith(beginning)
            and (deep or "/" not in one.path[len(beginning) :])
        ]
        pages = sum(not entry.is_folder for entry in shown)
        return [await self._sized(reader, entry, is_read=pages <= _SIZED) for entry in shown]

    async def changed_since(self, principal: Principal, change: int) -> tuple[int, Sequence[PageRecord]]:
        """The pages that changed after the change of this number, as far as this reader may know of them."""
        reader = await self._reader(principal)
        last, records = await self.vault.changed_since(principal.owner, change)
        return last, [reader.record(record) for record in records if not reader.hides(record.path)]

    async def left_since(self, principal: Principal, change: int) -> Sequence[str]:
        """The paths from which pages moved away since, as far as this reader may know of them."""
        reader = await self._reader(principal)
        return [p for p in await self.vault.left_since(principal.owner, change) if not reader.hides(p)]

    async def history(self, principal: Principal, path: str) -> Sequence[PageVersion]:
        """The changes of what is seen of a page, the newest first."""
        reader, path = await self._reader(principal), checked(path)
        reader.must_see(path)
        found = await self.vault.history(principal.owner, path)
        if not reader.rules:
            return found
        shown: list[PageVersion] = []
        for version in found[:_MOST_VERSIONS]:
            before, after = [
                await self._side(reader, version, of=of, path=path)
                for of in (version.before, version.content)
            ]
            if version.was or (before and before.text) != (after and after.text):
                was = version.was if version.was and not reader.hides(version.was) else None
                shown.append(
                    msgspec.structs.replace(
                        version,
                        before=before and before.version,
                        content=after and after.version,
                        size=0 if after is None else len(after.text.encode()),
                        was=was,
                        note="",
                    )
                )
        return shown

    async def version(self, principal: Principal, path: str, id: str) -> CurrentPage:
        """An older version as it is seen by today's filters."""
        reader, path = await self._reader(principal), checked(path)
        reader.must_see(path)
        page = await self.vault.version(principal.owner, path, id)
        page_view = await reader.view_of(path, page.text, was=page.path)
        if page_view.is_hidden:
            raise UnknownId(_NO_VERSION)
        return _as_seen(page, page_view)

    async def diff(self, principal: Principal, path: str, id: str, *, against: str | None = None) -> str:
        """What a change did to what is seen, as a unified diff; or what lies between it and a later one."""
        reader, path = await self._reader(principal), checked(path)
        reader.must_see(path)
        if not reader.rules:
            return await self.vault.versions.diff(principal.owner, path, id, against=against)
        by_id = {version.id: version for version in await self.vault.history(principal.owner, path)}
        first, last = by_id.get(id), by_id.get(id if against is None else against)
        if first is None or last is None:
            raise UnknownId(_NO_VERSION)
        old = first.before if against is None else first.content
        sides = [
            await self._side(reader, version, of=of, path=path)
            for version, of in ((first, old), (last, last.content))
        ]
        before, after = ("" if side is None else side.text for side in sides)
        return unified(before, after, path=path)

    async def parts(self, principal: Principal, found: Sequence[FoundPart | None]) -> list[str | None]:
        """What is seen of parts of pages; None for those of which nothing is."""
        reader = await self._reader(principal)
        views: dict[tuple[str, str], PageView] = {}
        texts: list[str | None] = []
        for part in found:
            if part is None:
                texts.append(None)
                continue
            key = part.path, part.text
            if key not in views:
                views[key] = await reader.view_of(*key)
            text = views[key].shown(part.start, part.end).strip()
            texts.append(text if any(char.isalnum() for char in text) else None)
        return texts

    async def put(
        self, principal: Principal, path: str, text: str, *, if_version: str | None = None, how: Authorship
    ) -> Change:
        """Have a page say what is seen of it as `text`; what is hidden stays where it stands.

        `if_version` is the version that was read here, "" for a page that must not exist.
        """
        reader, path = await self._reader(principal), checked(path)
        if not reader.rules:
            return await self.vault.put(principal, path, text, if_version=if_version, how=how)
        reader.must_place(path)
        page = await reader.page_or_none(path)
        if page is None:
            if if_version:
                raise Conflict
            raw, page_view, expected = text, None, ""
        else:
            page_view = await reader.view(page)
            if if_version is not None and if_version != _as_seen(page, page_view).version:
                raise Conflict
            raw, expected = page_view.edited(text), page.version
        after = await reader.view_of(path, raw)
        if page_view is not None and not still_hides(page_view, after):
            raise NotAllowed(CANNOT_CHANGE)
        change = partial(self.vault.put, principal, path, raw, if_version=expected, how=how)
        return _with_seen_versions(await _quietly(change, reader), page_view, after)

    async def delete(
        self, principal: Principal, path: str, *, if_version: str | None = None, by: By, note: str = ""
    ) -> Change:
        """Delete a page of which nothing is hidden."""
        await self._must_be_whole(principal, path)
        return await self.vault.delete(principal, path, if_version=if_version, by=by, note=note)

    async def move(self, principal: Principal, path: str, to: str, *, by: By, note: str = "") -> Change:
        """Give another path to a page of which nothing is hidden, here or there."""
        await self._must_be_whole(principal, path)
        reader = await self._reader(principal)
        reader.must_place(checked(to))
        return await _quietly(partial(self.vault.move, principal, path, to, by=by, note=note), reader)

    async def restore(self, principal: Principal, path: str, id: str, *, by: By = "person") -> Change:
        """Have a page say again what it said; not where anything of it is or was hidden."""
        reader, path = await self._reader(principal), checked(path)
        if reader.rules:
            reader.must_see(path)
            old = await self.vault.version(principal.owner, path, id)
            page = await reader.page_or_none(path)
            views = [await reader.view_of(path, old.text, was=old.path)]
            views += [] if page is None else [await reader.view(page)]
            if not all(page_view.is_whole for page_view in views):
                raise NotAllowed(CANNOT_CHANGE)
        return await self.vault.restore(principal, path, id, by=by)

    async def undo(self, principal: Principal, token: str, *, by: By = "person") -> Change:
        """Take back a change, or many that have one token; not where anything of a page is or was hidden.

        Of many each is taken back that can be; the last of them is told, with a token for all.
        """
        if token.startswith(UNDO) and _BETWEEN in token:
            return await self._undo_all(principal, token.removeprefix(UNDO).split(_BETWEEN), by=by)
        reader = await self._reader(principal)
        version = (
            await self.vault.versions.get(principal.owner, token.removeprefix(UNDO))
            if reader.rules and token.startswith(UNDO)
            else None
        )
        if version is not None:
            if reader.hides(version.path) or (version.was and reader.hides(version.was)):
                raise UnknownId
            page = await reader.page_or_none(version.path)
            sides = [
                await self._side(reader, version, of=of, path=version.path)
                for of in (version.before, version.content)
            ]
            sides += [] if page is None else [await reader.view(page)]
            hidden = [side.hidden for side in sides if side is not None]
            # What was made is deleted again, and what was deleted comes back: both touch all of the page.
            is_all = version.before is None or version.content is None or page is None
            if any(one != hidden[0] for one in hidden[1:]) or (is_all and any(hidden)):
                raise NotAllowed(CANNOT_CHANGE)
        change = await _quietly(partial(self.vault.undo, principal, token, by=by), reader)
        if not reader.rules:
            return change
        now = None if change.after is None else await reader.page_or_none(change.path)
        return _with_seen_versions(change, None, None if now is None else await reader.view(now))

    async def _undo_all(self, principal: Principal, ids: Sequence[str], *, by: By) -> Change:
        done: list[Change] = []
        faults: list[BethinkError] = []
        for id in ids:
            try:
                done.append(await self.undo(principal, f"{UNDO}{id}", by=by))
            except (BadInput, Conflict, NotAllowed, UnknownId) as error:
                faults.append(error)
        if faults and not done:
            raise faults[0]
        if faults:
            raise Conflict(_NOT_ALL.format(done=len(done), why=" ".join(map(str, faults))))
        tokens = [one.undo for one in reversed(done) if one.undo is not None]
        return replace(done[-1], undo=undo_of_many(tokens))

    async def create_folder(self, principal: Principal, folder: str) -> None:
        """Have a folder be there."""
        reader = await self._reader(principal)
        reader.must_place(f"{checked_folder(folder)}/x.md")
        await self.vault.create_folder(principal, folder)

    async def _must_be_whole(self, principal: Principal, path: str) -> None:
        reader = await self._reader(principal)
        if reader.rules and not (await reader.view(await reader.page(checked(path)))).is_whole:
            raise NotAllowed(CANNOT_CHANGE)

    async def _side(
        self, reader: VaultReader, version: PageVersion, path: str, *, of: str | None
    ) -> PageView | None:
        """What is seen of a side of a change; None where there was nothing, or it is not kept."""
        body = await self.vault.versions.content(reader.principal.owner, of)
        if body is None:
            return None
        page_view = await reader.view_of(path, body.decode(), was=version.path)
        return None if page_view.is_hidden else page_view

    async def _sized(self, reader: VaultReader, entry: ListedFile, *, is_read: bool) -> ListedFile:
        if entry.is_folder or not any(rule.is_at(entry.path) for rule in reader.rules):
            return entry
        page = await reader.page_or_none(entry.path) if is_read and entry.trouble is None else None
        return replace(entry, size=0 if page is None else len((await reader.view(page)).text.encode()))

    async def _all_of(self, owner: str, rules: tuple[FilterRule, ...] = ()) -> HiddenPages:
        return HiddenPages(rules, [*await self.vault.pages(owner)], await self.vault.aliases(owner))

    async def _reader(self, principal: Principal) -> VaultReader:
        rules = await self.filters.rules_for(principal)
        if not rules:
            return VaultReader(self.vault, principal, HiddenPages((), (), {}), None)
        key = principal.owner, principal.audience
        change, _ = await self.vault.changed_since(principal.owner, _ANY)
        kept = self._hidden_pages.get(key)
        if kept is None or kept[0] != change or kept[1].rules != rules:
            kept = self._hidden_pages[key] = change, await self._all_of(principal.owner, rules)
        return VaultReader(self.vault, principal, kept[1], await self.text_filter(principal))
