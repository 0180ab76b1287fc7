"""What is wrong in a vault, and what would mend it: broken links, twins, files that are not read.

The command line and the page ask. Only the owner's own eyes see a report: it tells of everything. Nothing
changes until one of the ways out is chosen: `repair` shows what it would do, and does it.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, get_args

import anyio.to_thread

from bethink.errors import BadInput, BethinkError
from bethink.vault.checks.repair import RepairOption, VaultRepair
from bethink.vault.checks.rewrites import detected, mended, read_as, snake
from bethink.vault.files.paths import checked_new
from bethink.vault.markdown.links import SUFFIX, Resolver, key_of
from bethink.vault.search.graph import LinkGraph, Unresolved, graph_of

if TYPE_CHECKING:
    from bethink.vault.files.records import Trouble
    from bethink.vault.search.catalogue import CataloguePage
    from bethink.vault.search.search import VaultSearch

Kind = Literal["broken_link", "same_content", "same_name", "front_matter", "unread", "name", "memory_line"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_LETTERS: Final = re.compile(r"[\W_]+")
_LIKE: Final = 0.86
"""Names that are this alike are offered as a repair: `acme_gmbh` and `acme_gmb`, not `acme` and `acne`."""
_NEAR: Final = 0.6
_NEAREST: Final = 3
_COMPARED: Final = 40
_GRAM: Final = 3
_ENTITIES: Final = "entities/"
_USER: Final = "user.md"


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that is wrong: where (`line` from 1, 0 for all), what, names that may be meant, ways out.

    What mends several findings at once is offered with the first of them.
    """

    kind: Kind
    path: str
    line: int
    said: str
    near: tuple[str, ...] = ()
    choices: tuple[RepairOption, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found, by path, without what its owner wants to hear nothing of: `ignored` kinds."""

    findings: tuple[Defect, ...]
    ignored: tuple[Kind, ...] = ()

    @property
    def choices(self) -> list[RepairOption]:
        """All ways out that are offered, in the order of what they mend."""
        return [choice for finding in self.findings for choice in finding.choices]


@dataclass(frozen=True, slots=True)
class VaultCheck:
    """Checks the vaults of all owners; what it offers, `VaultRepair` does."""

    searching: VaultSearch

    @property
    def mending(self) -> VaultRepair:
        """Plans and makes what a check offers."""
        return VaultRepair(self.searching)

    async def check(self, owner: str) -> CheckReport:
        """All that is wrong in an owner's vault as its files are now, for their own eyes."""
        vault = self.searching.vault
        await vault.sync(owner)
        pages = await self.searching.pages(owner)
        state = await vault.state(owner)
        findings = await anyio.to_thread.run_sync(_checked, pages, [path for path, _ in state.troubles])
        faulty = [page for page in pages if page.info.fault is not None]
        findings += [await self._front(owner, page) for page in faulty]
        table = await vault.context.known(owner)
        known = table.pages
        ignored: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in table.vault.ignored)
        for path, why in state.troubles:
            trouble = known[path].trouble if path in known else None
            choices = await self._unread(owner, path, trouble)
            findings.append(Defect("unread", path, 0, f"It was skipped: {why}.", choices=choices))
        shown = (one for one in findings if one.kind not in ignored)
        return CheckReport(tuple(sorted(shown, key=lambda one: (one.path, one.line, one.kind))), ignored)

    async def ignore(self, owner: str, kinds: Collection[Kind]) -> None:
        """Tell nothing of these kinds from now on, until other ones are given."""
        await self.searching.vault.ignore_in_checks(owner, [kind for kind in KINDS if kind in kinds])

    async def _front(self, owner: str, page: CataloguePage) -> Defect:
        choices = [RepairOption("aside", page.path, "Keep it as plain text, in a block of code")]
        with suppress(BethinkError):
            text = (await self.searching.vault.read(owner, page.path)).text
            if await anyio.to_thread.run_sync(mended, text) is not None:
                said = "Fix it with one more character: a quotation mark, a bracket or the closing line"
                choices.insert(0, RepairOption("mend", page.path, said, is_sure=True))
        said = f"The front matter cannot be read: {page.info.fault}."
        return Defect("front_matter", page.path, 1, said, choices=tuple(choices))

    async def _unread(self, owner: str, path: str, trouble: Trouble | None) -> tuple[RepairOption, ...]:
        """What can be done about a file that is too large, or in another encoding; it is kept beside."""
        if trouble not in {"too_large", "not_utf8"}:
            return ()
        body = await self.mending.raw(owner, path)
        if body is None:
            return ()
        if await anyio.to_thread.run_sync(read_as, body, "utf-8") is not None:
            said = "Split it at its headings into pages, and replace it by links to them"
            return (RepairOption("split", path, said),)
        found = await anyio.to_thread.run_sync(detected, body)
        return tuple(
            RepairOption("convert", path, f"Read it as {name}, and write it as UTF-8", to=name)
            for name in found
        )


def _checked(pages: Sequence[CataloguePage], unread: Sequence[str]) -> list[Defect]:
    """What is wrong with these pages and the links between them; `unread` are files that are there, too."""
    graph = graph_of(pages)
    taken = {key_of(page.path) for page in pages}
    findings = [*_same_content(pages), *_same_name(pages, graph), *_unwise(pages, taken)]
    nearest, others = _Nearest(pages), Resolver(unread)
    offered: set[tuple[str, str]] = set()
    for link in graph.unresolved:
        if others.resolve(link.target, link.path) is not None:
            continue
        near, sure = nearest.of(link.target)
        choices: list[RepairOption] = []
        if (link.path, link.target) not in offered:
            offered.add((link.path, link.target))
            choices = [
                RepairOption(
                    "lead",
                    link.path,
                    f"Change [[{link.target}]] to {path}",
                    link.target,
                    path,
                    is_sure=sure and path == near[0],
                )
                for path in near
            ]
            choices += _making(link, taken)
        said = f"[[{link.target}]] leads to no page."
        findings.append(Defect("broken_link", link.path, link.line, said, near, tuple(choices)))
    return findings


def _making(link: Unresolved, taken: Collection[str]) -> Iterator[RepairOption]:
    """To make the page that a broken link names, or to take the link away."""
    above, _, name = link.target.strip().lstrip("/").removesuffix(SUFFIX).rpartition("/")
    # As it is if it names a path, else in snake_case.
    named = posixpath.join(above, (name if above else snake(name)) + SUFFIX)
    folder = posixpath.dirname(link.path)
    path = posixpath.normpath(posixpath.join(folder, named) if link.kind == "markdown" else named)
    if link.kind != "markdown" and "/" not in path:
        is_about_all = not folder and any(one.startswith(_ENTITIES) for one in taken)
        path = posixpath.join(_ENTITIES.rstrip("/") if is_about_all else folder, path)
    with suppress(BadInput):
        if key_of(path) not in taken:
            yield RepairOption("create", link.path, f"Create the page {path}", link.target, checked_new(path))
    yield RepairOption(
        "unlink", link.path, f"Remove the link [[{link.target}]], and keep its text", link.target
    )


def _merging(path: str, other: str) -> tuple[RepairOption, ...]:
    """To have one page of two, either way round; the page about the person stays."""
    return tuple(
        RepairOption("merge", one, f"Merge {one} into {into}", to=into)
        for one, into in ((path, other), (other, path))
        if one != _USER
    )


def _unwise(pages: Sequence[CataloguePage], taken: set[str]) -> Iterator[Defect]:
    """Names that not every system can keep."""
    for page in pages:
        folder, _, name = page.path.rpartition("/")
        plain = snake(name.removesuffix(SUFFIX))
        with suppress(BadInput):
            checked_new(page.path)
            continue
        path = posixpath.join(folder, f"{plain or 'page'}{SUFFIX}")
        if key_of(path) != key_of(page.path) and key_of(path) in taken:
            path = path.removesuffix(SUFFIX) + "_2" + SUFFIX
        said = f"Rename it to {path}, and update the links to it"
        is_taken = key_of(path) in taken - {key_of(page.path)}
        choices = () if is_taken else (RepairOption("rename", page.path, said, to=path),)
        yield Defect("name", page.path, 0, "Its name does not work on every system.", choices=choices)


def _same_content(pages: Sequence[CataloguePage]) -> Iterable[Defect]:
    by_version: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        if page.size:
            by_version[page.version].append(page.path)
    for first, *others in by_version.values():
        for path in others:
            said = f"It says exactly what {first} says."
            yield Defect("same_content", path, 0, said, (first,), _merging(path, first))


def _same_name(pages: Sequence[CataloguePage], graph: LinkGraph) -> Iterable[Defect]:
    """Pages of one name or alias that lie beside each other: most likely one thing under two names."""
    by_name: dict[str, dict[str, None]] = defaultdict(dict)
    for page in pages:
        stem = page.path.rpartition("/")[2]
        for name in (key_of(stem), page.info.title, *page.info.aliases):
            if plain := _plain(name):
                by_name[plain][page.path] = None
    pairs = dict.fromkeys(pair for paths in by_name.values() for pair in combinations(paths, 2))
    for first, second in pairs:
        one, other = sorted((first, second), key=lambda path: (-len(graph.back[path]), path))
        said = f"It has the same name as {one}: are they the same thing?"
        # That they say the same is a finding of its own, and offers this.
        is_copy = graph.pages[one].version == graph.pages[other].version
        yield Defect("same_name", other, 0, said, (one,), () if is_copy else _merging(other, one))


def _plain(name: str) -> str:
    """A name without what people write one way or another: case, spaces, hyphens, underscores."""
    return _LETTERS.sub("", key_of(name))


class _Nearest:
    """Pages whose names are like a name that no page has."""

    def __init__(self, pages: Sequence[CataloguePage]) -> None:
        self._paths: dict[str, dict[str, None]] = defaultdict(dict)
        for page in pages:
            for name in (page.path.rpartition("/")[2], page.info.title, *page.info.aliases):
                self._paths[_plain(name)][page.path] = None
        self._names: dict[str, list[str]] = defaultdict(list)
        for name in self._paths:
            for gram in _grams(name):
                self._names[gram].append(name)
        self._known: dict[str, tuple[tuple[str, ...], bool]] = {}

    def of(self, target: str) -> tuple[tuple[str, ...], bool]:
        """The pages, the likeliest first, and whether the first is meant beyond doubt."""
        if target not in self._known:
            self._known[target] = self._found(_plain(target.rpartition("/")[2]))
        return self._known[target]

    def _found(self, name: str) -> tuple[tuple[str, ...], bool]:
        if paths := self._paths.get(name):
            return tuple(paths)[:_NEAREST], len(paths) == 1
        shared = Counter(other for gram in _grams(name) for other in self._names.get(gram, ()))
        likely = [
            (difflib.SequenceMatcher(None, name, other).ratio(), other)
            for other, _ in shared.most_common(_COMPARED)
        ]
        likely = sorted((one for one in likely if one[0] >= _NEAR), reverse=True)
        near = tuple(dict.fromkeys(path for _, other in likely for path in self._paths[other]))[:_NEAREST]
        alike = {path for ratio, other in likely if ratio >= _LIKE for path in self._paths[other]}
        return near, len(alike) == 1


def _grams(name: str) -> set[str]:
    return {name[at : at + _GRAM] for at in range(max(1, len(name) - _GRAM + 1))}
