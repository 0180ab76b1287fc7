"""Repairs of a vault: planned on the pages as they are, shown, and made as changes that can be taken back.

Only the owner's own eyes plan and make them. What is made is what was shown: by
then the pages are still of the versions that the plan was made for, or nothing is done.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import anyio
import anyio.to_thread

from bethink.errors import BadInput, BethinkError, Conflict
from bethink.vault.checks.rewrites import Piece, as_text, contents, mended, merged, read_as, snake, split
from bethink.vault.files.folder import EXISTS, FileTree, Folder, version_of
from bethink.vault.files.page_writer import Authorship
from bethink.vault.files.paths import checked, checked_new, folder_of, twin_key
from bethink.vault.files.records import ASIDE, Change
from bethink.vault.files.versions import unified
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import set_field
from bethink.vault.markdown.links import (
    SUFFIX,
    Moves,
    Resolver,
    key_of,
    relinked,
    resectioned,
    retargeted,
    unlinked,
)
from bethink.vault.search.graph import aliases_of, moves_of, touched

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.vault.search.catalogue import CataloguePage
    from bethink.vault.search.search import VaultSearch


Way = Literal["lead", "create", "unlink", "merge", "mend", "aside", "split", "rename", "convert"]
_SHOWN: Final = 40
"""Lines of a page that is new or goes: what it says stands elsewhere, too."""


@dataclass(frozen=True, slots=True)
class RepairOption:
    """One way to mend something on the page at `path`; `said` says which, in words.

    `target` is the name that a broken link has. `to` is the page that is led to, made or merged into, the
    new path, or the encoding. `is_sure` where it leaves no doubt: these are made without a question.
    """

    way: Way
    path: str
    said: str = ""
    target: str = ""
    to: str = ""
    is_sure: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """A page holds this text in place of `old`, which is that of `version`; "" for a page that is new."""

    path: str
    version: str
    old: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """A page is deleted; its history is kept."""

    path: str
    version: str
    old: str


@dataclass(frozen=True, slots=True)
class Move:
    """A page gets another path."""

    path: str
    version: str
    to: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A file that cannot be a page is kept beside, too, by a name that is none of a page's."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Replace:
    """A page with this text takes the place of a file that was kept beside."""

    path: str
    version: str
    text: str


Step = Write | Remove | Move | Aside | Replace


@dataclass(frozen=True, slots=True)
class Repair:
    """All that a choice would do, in order. `id` stands for exactly this, on pages as they are.

    Wherever the steps end, nothing is lost, and the same choice does the rest.
    """

    choice: RepairOption
    steps: Sequence[Step]

    @property
    def id(self) -> str:
        """The same only for the same steps from the same versions."""
        return sha256(repr(self.steps).encode()).hexdigest()

    @property
    def shown(self) -> list[RepairPreview]:
        """What would become of each page."""
        return [_preview(step) for step in self.steps]


class RepairPreview(NamedTuple):
    """A step in words, and as a unified diff; of a page that is new or goes, the first lines of it."""

    said: str
    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What a repair did. Taken back in this order, `undo` brings everything back."""

    changes: tuple[Change, ...]
    undo: tuple[str, ...]


def _preview(step: Step) -> RepairPreview:
    path = step.path
    match step:
        case Write(version="") | Replace():
            return RepairPreview(f"{path} is made", path, _clipped(unified("", step.text, path=path)))
        case Write():
            return RepairPreview(f"{path} changes", path, unified(step.old, step.text, path=path))
        case Remove():
            said = f"{path} is deleted; its history is kept"
            return RepairPreview(said, path, _clipped(unified(step.old, "", path=path)))
        case Move():
            return RepairPreview(f"{path} becomes {step.to}, with its history", path, "")
        case Aside():
            said = f"{path} stays as it is beside its page, as {path}{ASIDE}"
            return RepairPreview(said, path, "")


def _clipped(diff: str) -> str:
    lines = diff.splitlines(keepends=True)
    rest = len(lines) - _SHOWN
    return diff if rest <= 1 else "".join(lines[:_SHOWN]) + f"\\ {rest:,} lines more\n"


_CHANGED: Final = "The vault has changed, or this needs no repair any more: check again."
_FULL: Final = 90
"""Per cent of a page's room that a piece fills: links in it may become longer."""
_TIMES: Final = 10
"""A file so many times as large as a page may be is still split."""


@dataclass(frozen=True, slots=True)
class VaultRepair:
    """Repairs the vaults of all owners."""

    searching: VaultSearch

    async def plan(self, owner: str, choice: RepairOption) -> Repair:
        """All that a choice would do to the pages as they are now.

        Raises:
            Conflict: there is nothing to mend in this way any more, or something is where a page would be.
            BadInput: it cannot be done; the sentence says why.
        """
        checked(choice.path)
        pages = await self.searching.pages(owner)
        plan = _Plan(self.searching, owner, pages, choice)
        steps = [
            step for step in await plan.steps() if not (isinstance(step, Write) and step.text == step.old)
        ]
        if not steps or (choice.way == "split" and len(steps) == 1):
            raise Conflict(_CHANGED)
        folder = self.searching.vault.context.folder(owner)
        await anyio.to_thread.run_sync(_check_places, folder, steps)
        return Repair(choice, tuple(steps))

    async def make(self, principal: Principal, choice: RepairOption, id: str) -> RepairResult:
        """Make the repair that was shown; all of it, or nothing.

        Raises:
            Conflict: it would not be the one that was shown: a page has changed since.
            TooLarge: a page or the vault would be larger than it may be.
        """
        repair = await self.plan(principal.owner, choice)
        if repair.id != id:
            raise Conflict(_CHANGED)
        vault = self.searching.vault
        how = Authorship("person", "Repaired by the check of the vault")
        changes: list[Change] = []
        # Who leaves meanwhile finds all of it done.
        with anyio.CancelScope(shield=True):
            try:
                for step in repair.steps:
                    done = await self._do(principal, step, how)
                    changes.append(done)
            except BaseException:
                for change in reversed(changes):
                    with suppress(BethinkError):
                        await vault.undo(principal, change.undo or "")
                raise
        return RepairResult(
            tuple(changes), tuple(one.undo for one in reversed(changes) if one.undo is not None)
        )

    async def raw(self, owner: str, path: str) -> bytes | None:
        """The bytes of a file that may be no page; None where there is none, or far too many."""
        vault = self.searching.vault
        most = vault.settings.max_file_bytes * _TIMES
        with suppress(BethinkError):
            content = await anyio.to_thread.run_sync(vault.context.folder(owner).read, checked(path), most)
            return None if content is None else content.body
        return None

    async def _do(self, principal: Principal, step: Step, how: Authorship) -> Change:
        vault = self.searching.vault
        match step:
            case Write():
                return await vault.put(principal, step.path, step.text, if_version=step.version, how=how)
            case Remove():
                return await vault.delete(
                    principal, step.path, if_version=step.version, by="person", note=how.note
                )
            case Move():
                return await vault.move(principal, step.path, step.to, by="person", note=how.note)
            case Aside():
                return await vault.set_aside(principal, step.path, step.version)
            case Replace():
                return await vault.replace(principal, step.path, step.text, version=step.version, how=how)


@dataclass(frozen=True, slots=True)
class _Plan:
    searching: VaultSearch
    owner: str
    pages: Sequence[CataloguePage]
    choice: RepairOption

    async def steps(self) -> list[Step]:
        choice = self.choice
        match choice.way:
            case "lead" | "unlink" | "mend" | "aside":
                return [await self._page(choice.path)]
            case "create":
                return [self._created()]
            case "merge":
                return await self._merged()
            case "rename":
                return await self._renamed()
            case "split" | "convert":
                return await self._unread()

    @property
    def paths(self) -> set[str]:
        return {page.path for page in self.pages}

    @property
    def resolver(self) -> Resolver:
        return moves_of(self.pages, {}).before

    async def _read(self, path: str) -> Write:
        """The page as it is: a step that changes nothing yet.

        Raises:
            NoSuchPage: there is none.
        """
        page = await self.searching.vault.read(self.owner, path)
        return Write(path, page.version, page.text, page.text)

    async def _page(self, path: str) -> Write:
        """The page with its own text mended."""
        page, choice = await self._read(path), self.choice
        match choice.way:
            case "lead":
                if choice.to not in self.paths:
                    raise Conflict(_CHANGED)
                work = partial(
                    retargeted, page.text, path, {choice.target: choice.to}, resolver=self.resolver
                )
            case "unlink":
                work = partial(unlinked, page.text, path, choice.target, resolver=self.resolver)
            case "mend":
                work = partial(_mended_or_same, page.text)
            case _:
                work = partial(as_text, page.text)
        return Write(path, page.version, page.text, await anyio.to_thread.run_sync(work))

    def _created(self) -> Write:
        """The page that a link names, called so that the link leads there."""
        target, path = self.choice.target, self.choice.to
        title = target.rpartition("/")[2].removesuffix(SUFFIX)
        text = f"# {title.replace('_', ' ')}\n"
        if Resolver({path}).resolve(target, self.choice.path) is None:
            text = set_field(text, "aliases", [target])
        return Write(path, "", "", text)

    async def _merged(self) -> list[Step]:
        if self.choice.path == self.choice.to:
            raise Conflict(_CHANGED)
        twin, keep = await self._read(self.choice.path), await self._read(self.choice.to)
        moves = moves_of(self.pages, {twin.path: keep.path})
        own = await _linked(keep.text, keep.path, moves, was_at=keep.path)
        other = await _linked(twin.text, keep.path, moves, was_at=twin.path)
        known = next(page for page in self.pages if page.path == twin.path).info
        names = [twin.path.rpartition("/")[2].removesuffix(SUFFIX), known.title]
        same = {key_of(keep.path.rpartition("/")[2])}
        same |= {key_of(page.info.title) for page in self.pages if page.path == keep.path}
        names = [name for name in names if key_of(name) not in same and name]
        text = await anyio.to_thread.run_sync(merged, own, other, dict.fromkeys(names))
        return [
            Write(keep.path, keep.version, keep.old, text),
            *await self._relinked(moves, but={twin.path, keep.path}),
            Remove(twin.path, twin.version, twin.old),
        ]

    async def _renamed(self) -> list[Step]:
        page, to = await self._read(self.choice.path), self.choice.to
        moves = moves_of(self.pages, {page.path: to})
        text = await _linked(page.text, to, moves, was_at=page.path)
        own = Write(page.path, page.version, page.text, text)
        early, late = list[Write](), list[Write]()
        for one in (own, *await self._relinked(moves, but={page.path, to})):
            # Before the move where doing it once more changes nothing: then it may end in between.
            place = to if one is own else one.path
            is_final = await _linked(one.text, place, moves, was_at=one.path) == one.text
            (early if is_final else late).append(one if is_final else replace(one, path=place))
        return [*early, Move(page.path, page.version, to), *late]

    async def _relinked(self, moves: Moves, *, but: set[str]) -> list[Write]:
        """The pages whose links would mean something else, with links that mean what they meant."""
        found = await anyio.to_thread.run_sync(touched, self.pages, moves)
        pages = [await self._read(path) for path in dict.fromkeys(found) if path not in but]
        return [
            Write(one.path, one.version, one.old, await _linked(one.text, one.path, moves, was_at=one.path))
            for one in pages
        ]

    async def _unread(self) -> list[Step]:
        """A file that cannot be a page as it is: kept beside, and what it says in its place."""
        path, choice = self.choice.path, self.choice
        body = await VaultRepair(self.searching).raw(self.owner, path)
        if body is None or path in self.paths:
            raise Conflict(_CHANGED)
        text = await anyio.to_thread.run_sync(read_as, body, choice.to or "utf-8")
        if text is None:
            raise BadInput(f"{path} cannot be read as {choice.to or 'UTF-8'}.")
        version, writes = version_of(body), list[Write]()
        if len(text.encode()) > self.searching.vault.settings.max_file_bytes:
            writes, text = await self._split(path, text)
        return [*writes, Aside(path, version), Replace(path, version, text)]

    async def _split(self, path: str, text: str) -> tuple[list[Write], str]:
        """Pages of the pieces and the pages whose links led to a piece; and the page of contents."""
        most = self.searching.vault.settings.max_file_bytes
        others = [await self._read(one) for one in self._sectioned(path)]
        head, pieces = await anyio.to_thread.run_sync(split, text, most * _FULL // 100)
        writes, text = await anyio.to_thread.run_sync(self._placed, head, pieces, others)
        return [one for one in writes if one.version or not await self._says(one)], text

    async def _says(self, write: Write) -> bool:
        """Whether a page says this already: an earlier repair came no further."""
        return write.path in self.paths and (await self._read(write.path)).old == write.text

    def _placed(self, head: str, pieces: Sequence[Piece], others: Sequence[Write]) -> tuple[list[Write], str]:
        path = self.choice.path
        stem = posixpath.basename(path).removesuffix(SUFFIX)
        folder = snake(stem) or stem
        beside = posixpath.join(posixpath.dirname(path), folder)
        places = {piece.name: f"{beside}/{piece.name}{SUFFIX}" for piece in pieces}
        pages = [page for page in self.pages if page.path not in places.values()]
        whole, aliases = {*(page.path for page in pages), path}, aliases_of(pages)
        behind = Resolver({*whole, *places.values()}, aliases)
        moves = Moves({}, Resolver(whole, aliases), behind)
        lies: dict[str, str] = {}
        for piece in pieces:
            document = parse(piece.text)
            for heading in document.headings:
                lies.setdefault(" ".join(heading.title.split()).casefold(), places[piece.name])
            for block in document.blocks:
                lies.setdefault(f"^{block.id}", places[piece.name])

        def led(text: str, at: str, was_at: str) -> str:
            return resectioned(relinked(text, at, moves, was_at=was_at), at, path, places=lies, behind=behind)

        made = [(places[one.name], one.text) for one in pieces]
        writes = [
            *(Write(at, "", "", led(said, at, path)) for at, said in made),
            *(Write(one.path, one.version, one.old, led(one.text, one.path, one.path)) for one in others),
        ]
        return writes, contents(led(head, path, path), folder, pieces)

    def _sectioned(self, path: str) -> Iterable[str]:
        """The pages with links to a section or block of this one."""
        resolver = Resolver({*self.paths, path}, aliases_of(self.pages))
        for page in self.pages:
            placed = (link for link in page.info.links if link.target and (link.section or link.block))
            if any(resolver.resolve_link(link, page.path) == path for link in placed):
                yield page.path


def _check_places(folder: Folder, steps: Sequence[Step]) -> None:
    """Refuse a page where there is something already, or where none can be.

    Raises:
        BadInput: no page can have this path.
        Conflict: there is something, or a name differs from it in case only.
    """
    new = [step.path for step in steps if isinstance(step, Write) and not step.version]
    leaving = {step.path for step in steps if isinstance(step, Move | Aside)}
    taken: dict[str, set[str]] = {}
    for path in [*new, *(step.to for step in steps if isinstance(step, Move))]:
        if path in leaving:
            continue
        parent = folder_of(checked_new(path))
        if parent not in taken:
            found = folder.look(parent) or FileTree()
            there = [*found.pages, *found.folders, *(odd.path for odd in found.odd)]
            taken[parent] = {twin_key(one) for one in there if one not in leaving}
        if twin_key(path) in taken[parent]:
            raise Conflict(EXISTS.format(path=path))


async def _linked(text: str, path: str, moves: Moves, *, was_at: str) -> str:
    return await anyio.to_thread.run_sync(partial(relinked, text, path, moves, was_at=was_at))


def _mended_or_same(text: str) -> str:
    return mended(text) or text
