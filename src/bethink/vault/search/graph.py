"""How pages hang together: links both ways, links to nothing, ways between two, and moves of pages.

The page of the web app, the tools and the command line ask. All comes from the catalogue: no file is read,
unless the reader does not see everything.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import BadInput, Conflict, NoSuchPage
from bethink.principal import Principal, Recent
from bethink.store import retry_conflicts
from bethink.vault.files.page_writer import Authorship
from bethink.vault.files.paths import checked
from bethink.vault.markdown.frontmatter import info_of
from bethink.vault.markdown.links import LinkKind, Moves, Resolver, relinked
from bethink.vault.search.catalogue import CataloguePage

if TYPE_CHECKING:
    from bethink.vault.files.records import By, Change
    from bethink.vault.filters.views import VaultViews
    from bethink.vault.search.search import VaultSearch


MAX_DEPTH: Final = 6
_KEPT: Final = 4
"""Graphs at hand, of the owners who asked last."""


@dataclass(frozen=True, slots=True)
class Node:
    """A page in the graph, and how many links leave and reach it."""

    path: str
    title: str
    tags: tuple[str, ...]
    links: int
    backlinks: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Links from one page to another; `count` of them."""

    source: str
    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A part of the graph: pages by path, and the links among them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A page that a page links to, or that links to it, and the lines of the links, from 1."""

    path: str
    title: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A link to a page that is not there."""

    path: str
    target: str
    line: int
    kind: LinkKind = "wiki"


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """The links of a vault. `lines` are the lines of the links, by linking page and then by linked page.

    What takes a path raises `NoSuchPage` if there is no such page.
    """

    pages: Mapping[str, CataloguePage]
    lines: Mapping[str, Mapping[str, tuple[int, ...]]]
    back: Mapping[str, tuple[str, ...]]
    unresolved: tuple[Unresolved, ...]

    def links(self, path: str) -> list[Pointer]:
        """The pages that a page links to."""
        self._check(path)
        return [self._pointer(to, lines) for to, lines in self.lines[path].items()]

    def backlinks(self, path: str) -> list[Pointer]:
        """The pages that link to a page."""
        self._check(path)
        return [self._pointer(source, self.lines[source][path]) for source in self.back[path]]

    def tagged(self) -> dict[str, list[Node]]:
        """The pages of each tag, by its name; capitals do not tell two tags apart."""
        names: dict[str, str] = {}
        found: dict[str, list[Node]] = {}
        for path, page in self.pages.items():
            for tag in dict.fromkeys(page.info.tags):
                name = names.setdefault(tag.casefold(), tag)
                nodes = found.setdefault(name, [])
                if not nodes or nodes[-1].path != path:
                    nodes.append(self._node(path))
        return {name: found[name] for name in sorted(found, key=str.casefold)}

    def orphans(self) -> list[str]:
        """The pages that no link leaves or reaches."""
        return [path for path in self.pages if not self.lines[path] and not self.back[path]]

    def around(self, path: str, depth: int = 1) -> Neighbourhood:
        """The pages that are at most so many links away, whichever way these lead."""
        self._check(path)
        reached, edge = {path}, {path}
        for _ in range(min(depth, MAX_DEPTH)):
            edge = {other for one in edge for other in self._beside(one)} - reached
            reached |= edge
        return self.net(reached)

    def way(self, start: str, end: str) -> list[str] | None:
        """The shortest way from page to page, whichever way the links lead; None where there is none."""
        self._check(start)
        self._check(end)
        came_from: dict[str, str | None] = {start: None}
        waiting = deque((start,))
        while waiting and end not in came_from:
            here = waiting.popleft()
            for other in self._beside(here):
                if other not in came_from:
                    came_from[other] = here
                    waiting.append(other)
        if end not in came_from:
            return None
        way: list[str] = []
        place: str | None = end
        while place is not None:
            way.append(place)
            place = came_from[place]
        return way[::-1]

    def net(self, paths: Iterable[str] | None = None) -> Neighbourhood:
        """These pages, or all, with the links among them."""
        chosen = dict.fromkeys(self.pages if paths is None else sorted(paths))
        edges = [
            Edge(source, target, len(lines))
            for source in chosen
            for target, lines in self.lines[source].items()
            if target in chosen
        ]
        return Neighbourhood(tuple(self._node(path) for path in chosen), tuple(edges))

    def lost(self, net: Neighbourhood) -> dict[tuple[str, str], int]:
        """How many links of these pages, by page and target, lead to no page."""
        paths = {node.path for node in net.nodes}
        return dict(Counter((link.path, link.target) for link in self.unresolved if link.path in paths))

    def _beside(self, path: str) -> dict[str, None]:
        return dict.fromkeys((*self.lines[path], *self.back[path]))

    def _node(self, path: str) -> Node:
        info = self.pages[path].info
        return Node(path, info.title, info.tags, len(self.lines[path]), len(self.back[path]))

    def _pointer(self, path: str, lines: tuple[int, ...]) -> Pointer:
        return Pointer(path, self.pages[path].info.title, lines)

    def _check(self, path: str) -> None:
        if path not in self.pages:
            raise NoSuchPage


def aliases_of(pages: Iterable[CataloguePage]) -> dict[str, str]:
    """Other names of pages, with their paths; what two pages call themselves is the first one's."""
    found: dict[str, str] = {}
    for page in pages:
        for alias in page.info.aliases:
            found.setdefault(alias, page.path)
    return found


def graph_of(pages: Sequence[CataloguePage]) -> LinkGraph:
    """The graph of these pages. Takes a tenth of a second for ten thousand: call it in a thread."""
    resolver = Resolver((page.path for page in pages), aliases_of(pages))
    lines: dict[str, dict[str, tuple[int, ...]]] = {page.path: {} for page in pages}
    back: dict[str, list[str]] = {page.path: [] for page in pages}
    unresolved: list[Unresolved] = []
    for page in pages:
        to = lines[page.path]
        for link in page.info.links:
            meant = resolver.resolve_link(link, page.path)
            if meant is None:
                if link.target and link.is_to_page:
                    unresolved.append(Unresolved(page.path, link.target, link.line, link.kind))
            elif meant != page.path:
                if meant not in to:
                    back[meant].append(page.path)
                to[meant] = (*to.get(meant, ()), link.line)
    return LinkGraph(
        {page.path: page for page in pages},
        lines,
        {path: tuple(sources) for path, sources in back.items()},
        tuple(unresolved),
    )


def wanted(graph: LinkGraph) -> list[tuple[str, int]]:
    """What links name that is no page, with how many do, the most wanted first."""
    return Counter(link.target for link in graph.unresolved).most_common()


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs of all owners, each as its reader may see it."""

    searching: VaultSearch
    _known: Recent[str, tuple[Sequence[CataloguePage], LinkGraph]] = field(
        default_factory=lambda: Recent(_KEPT), repr=False
    )

    async def of(self, principal: Principal) -> LinkGraph:
        """The graph of what the principal sees; where rules restrain them every page is read for it."""
        if await self.searching.views.filters.rules_for(principal):
            return await self._seen(principal, None)
        pages = await self.searching.pages(principal.owner)
        known = self._known.get(principal.owner)
        if known is None or known[0] is not pages:
            known = pages, await anyio.to_thread.run_sync(graph_of, pages)
            self._known[principal.owner] = known
        return known[1]

    async def backlinks(self, principal: Principal, path: str) -> list[Pointer]:
        """The pages that link to a page, as the principal sees them.

        Raises:
            NoSuchPage: there is no such page, or none for them.
        """
        if not await self.searching.views.filters.rules_for(principal):
            return (await self.of(principal)).backlinks(path)
        pages = await self.searching.pages(principal.owner)
        everything = await anyio.to_thread.run_sync(graph_of, pages)
        around = [path, *everything.back.get(path, ())] if path in everything.pages else []
        return (await self._seen(principal, around)).backlinks(path)

    async def _seen(self, principal: Principal, paths: Sequence[str] | None) -> LinkGraph:
        pages: list[CataloguePage] = []
        async for path, text in self.searching.views.texts(principal, paths):
            info = await anyio.to_thread.run_sync(info_of, path, text)
            pages.append(CataloguePage(path, "", 0, len(text), info))
        return await anyio.to_thread.run_sync(graph_of, pages)


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
