"""What hangs together in all that recall sees: what is alike, names the same, or leads to one another.

The graph is a view over the index, not a second copy of it: an edge is found when it is asked for, by the
vectors and words that searches use. So it is as new as the index, goes with what it is made of, and has
nothing of its own to build, to forget or to export. Features say by `GraphKind` how their items stand in it.
Searches of knowledge bases are widened by it, `web` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import EmbeddingsUnavailable, NotAllowed, UnknownId
from bethink.graph.names import link_name, names_of
from bethink.graph.view import COMMON, GraphNode, GraphView, drawn, node_of, way
from bethink.index import IndexQuery
from bethink.recall.service import Recall, RecallQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.feature import FilterFor, GraphItem, GraphKind, RecallKind
    from bethink.principal import Principal
    from bethink.settings import Settings

_OFF: Final = "The graph is switched off: BETHINK_GRAPH_ENABLED=true switches it on."
_HIDDEN: Final = "A filter hides a part of your things from this reader: their graph would tell of it."
MOST_ITEMS: Final = 500
_SEEDS: Final = 3
"""Of what was found, so many are looked around: more of them found no more (ADR 0058)."""
_CENTRE: Final = 8
"""Items of a node, such as passages of a document, that are looked around when it is shown."""
_NEAR: Final = 10
"""Items that are alike, of one; as kb-mcp-server has it (`graph.limit`)."""
_MOST_NAMES: Final = 12
_MOST_VECTORS: Final = 5
_MOST_NEIGHBOURS: Final = 60
_NAMED, _ALIKE, _NEXT = 0.9, 0.3, 0.2
"""How much of a score goes along an edge: of a name by the root of how many others have it, of likeness by
the cosine. Measured (`benchmarks/documents/graph.py`, ADR 0058)."""
_FAR: Final = 0.7
"""What is left of that for what has nothing to do with the question; all of it for what says the same."""
_WHOLE: Final = 0.999
"""Share of a name's words that an item must hold."""
_NAME: Final = "name:"


@dataclass(frozen=True, slots=True)
class GraphFocus:
    """A node with what it says, and the view of what is right beside it."""

    node: GraphNode
    text: str
    view: GraphView


@dataclass(slots=True, kw_only=True)
class Graph:
    """The graph of each owner. Items are alike from a cosine of `similarity` on.

    Whoever something is hidden from gets no graph: its edges would tell of it. `part_of` names the wholes
    that are meant (`IndexItem.part_of`), None all that there is.

    Raises:
        NotAllowed: it is switched off, or a filter hides something from this reader.
    """

    recall: Recall
    filter_for: FilterFor
    enabled: bool
    similarity: float

    @classmethod
    def of(cls, settings: Settings, recall: Recall, filter_for: FilterFor) -> Graph:
        """The graph over what recall sees, as the settings have it."""
        enabled, similarity = settings.graph_enabled, settings.graph_similarity
        return cls(recall=recall, filter_for=filter_for, enabled=enabled, similarity=similarity)

    # --- searches

    async def widened(
        self,
        principal: Principal,
        query: str,
        found: Sequence[tuple[str, float]],
        *,
        kind: str,
        part_of: frozenset[str] | None = None,
    ) -> list[tuple[str, float]]:
        """What was found and what hangs together with it, ranked anew; never refused, see `Widen`.

        A neighbour counts as much as what it hangs on, less for a weaker edge, and less the farther it is
        from the question.
        """
        of_kind = self.recall.kinds[kind]
        if not self.enabled or of_kind.graph is None or await self.filter_for(principal) is not None:
            return [*found]
        scores = dict(found[:_SEEDS])
        seeds = await of_kind.graph.of_items(principal, [*scores])
        reached: dict[str, float] = {}

        def reach(id: str, score: float) -> None:
            reached[id] = max(reached.get(id, 0.0), score)

        vectors = await self._vectors(principal.owner, seeds.values())
        query_around = self._query(principal.owner, [of_kind], part_of)
        for id, seed in seeds.items():
            for _, other, weight in await self._around(seed, vectors.get(seed.id), query_around):
                reach(other, scores[id] * weight)
            beside = await of_kind.graph.of_nodes(principal, [*filter(None, (seed.before, seed.behind))])
            for one in beside:
                reach(one.items[0], scores[id] * _NEXT)
        near = await self._nearness(principal.owner, query, [*reached])
        best = dict(found)
        for id, score in reached.items():
            best[id] = max(best.get(id, 0.0), score * near.get(id, _FAR))
        return sorted(best.items(), key=lambda pair: -pair[1])

    async def _around(
        self, one: GraphItem, vectors: NDArray[np.float32] | None, query: IndexQuery
    ) -> list[tuple[str, str, float]]:
        """Index items that are like one, or name what it names: kind, id and weight of the edge."""
        found: list[tuple[str, str, float]] = []
        for vector in vectors[:_MOST_VECTORS] if vectors is not None else ():
            asked = replace(query, vector=vector, model=self.recall.embeddings.model)
            found += [
                (item.kind, item.id, _ALIKE * item.dense)
                for item in (await self.recall.index.search(asked)).items
                if item.dense is not None and item.dense >= self.similarity and item.id not in one.items
            ]
        for name in [*dict.fromkeys((*names_of(one.text), *map(link_name, one.names)))][:_MOST_NAMES]:
            holders = [pair for pair in await self._holders(query, name) if pair[1] not in one.items]
            if 0 < len(holders) < COMMON:
                weight = _NAMED / math.sqrt(len(holders))
                found += [(kind, id, weight) for kind, id in holders]
        return found

    async def _holders(self, query: IndexQuery, name: str) -> list[tuple[str, str]]:
        """Kind and id of the index items that hold a name."""
        named = await self.recall.index.search(replace(query, text=name, limit=COMMON + 1))
        return [(item.kind, item.id) for item in named.items if item.met >= _WHOLE]

    def _query(self, owner: str, kinds: Iterable[RecallKind], part_of: frozenset[str] | None) -> IndexQuery:
        names = frozenset(name for kind in kinds for name in (kind.name, kind.own) if name)
        return IndexQuery(owner, kinds=names, part_of=part_of, limit=_NEAR + 1)

    async def _vectors(self, owner: str, items: Iterable[GraphItem]) -> dict[str, NDArray[np.float32]]:
        """All vectors of each item, by its id."""
        items = [*items]
        model = self.recall.embeddings.model
        found = await self.recall.index.vectors(owner, model, [id for one in items for id in one.items])
        if not found:
            return {}
        import numpy as np  # heavy: a server answers before it is loaded

        return {
            one.id: np.concatenate(rows)
            for one in items
            if (rows := [found[id] for id in one.items if id in found])
        }

    async def _nearness(self, owner: str, query: str, ids: Sequence[str]) -> dict[str, float]:
        """How much of a score is left so far from a question; nothing of those that have no vector."""
        embeddings = self.recall.embeddings
        if not ids:
            return {}
        try:
            (asked,) = await embeddings.embed([query])
        except EmbeddingsUnavailable:
            return {}
        vectors = await self.recall.index.vectors(owner, embeddings.model, ids)
        return {id: _FAR + (1 - _FAR) * max(0.0, float((rows @ asked).max())) for id, rows in vectors.items()}

    # --- what is shown

    async def view(
        self, principal: Principal, *, part_of: frozenset[str] | None = None, limit: int = 200
    ) -> GraphView:
        """The graph of what changed last, at most `limit` items of all kinds by turns."""
        await self._check(principal)
        items, left = await self._newest(principal, part_of, limit)
        return await self._drawn(principal, items, left=left)

    async def focus(
        self, principal: Principal, node: str, *, part_of: frozenset[str] | None = None
    ) -> GraphFocus:
        """A node and what is right beside it, wherever that is.

        Raises:
            UnknownId: there is no such node.
        """
        await self._check(principal)
        items, names = await self._beside(principal, node, part_of)
        view = await self._drawn(principal, items, named=names)
        found = next((one for one in view.nodes if one.id == node), None)
        if found is None and items and node.startswith(_NAME):
            # Only one thing has this name: it is no node between things, and yet it is there.
            found = GraphNode(id=node, kind="name", label=node.removeprefix(_NAME))
        if found is None:
            raise UnknownId(f"The graph has no node {node[:100]!r}.")
        # A document says what its first passage does.
        text = next((one.text for one in items if node in {one.id, one.whole and one.whole[0]}), "")
        return GraphFocus(found, text, view)

    async def search(
        self, principal: Principal, query: str, limit: int, *, part_of: frozenset[str] | None = None
    ) -> list[GraphNode]:
        """The nodes that answer a question, best first."""
        await self._check(principal)
        kinds = [kind.name for kind in self._kinds]
        asked = RecallQuestion(query, limit, kinds=kinds, part_of=part_of)
        hits = (await self.recall.ask(principal, asked)).hits
        items = await self._items(principal, [(hit.kind, hit.id) for hit in hits])
        return [node_of(one) for one in items]

    async def path(
        self, principal: Principal, start: str, end: str, *, part_of: frozenset[str] | None = None
    ) -> list[GraphNode]:
        """The shortest way between two nodes, by their ids; nothing if there is none.

        It leads through what is beside the two and through what changed last.

        Raises:
            UnknownId: there is no such node.
        """
        await self._check(principal)
        items: dict[str, GraphItem] = {}
        names: list[str] = []
        for node in (start, end):
            beside, named = await self._beside(principal, node, part_of)
            items |= {one.id: one for one in beside}
            names += named
        newest, _ = await self._newest(principal, part_of, MOST_ITEMS)
        items |= {one.id: one for one in newest}
        return way(await self._drawn(principal, [*items.values()][:MOST_ITEMS], named=names), start, end)

    async def _check(self, principal: Principal) -> None:
        if not self.enabled:
            raise NotAllowed(_OFF)
        if await self.filter_for(principal) is not None:
            raise NotAllowed(_HIDDEN)

    @property
    def _kinds(self) -> list[RecallKind]:
        """The kinds that stand in the graph."""
        by_name = {kind.name: kind for kind in self.recall.kinds.values()}
        return [kind for kind in by_name.values() if kind.graph is not None]

    @property
    def _graph_kinds(self) -> list[GraphKind]:
        return [kind.graph for kind in self._kinds if kind.graph is not None]

    async def _newest(
        self, principal: Principal, part_of: frozenset[str] | None, limit: int
    ) -> tuple[list[GraphItem], int]:
        """What changed last of all kinds by turns, and how much is left out."""
        found = [await kind.newest(principal, limit, part_of) for kind in self._graph_kinds]
        turns = zip_longest(*(items for items, _ in found))
        items = [one for turn in turns for one in turn if one is not None][:limit]
        return items, max(0, sum(count for _, count in found) - len(items))

    async def _beside(
        self, principal: Principal, node: str, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], list[str]]:
        """The items of a node and those beside them, and the names that are shown in any case."""
        query = self._query(principal.owner, self._kinds, part_of)
        if node.startswith(_NAME):
            name = node.removeprefix(_NAME)
            pairs = await self._holders(query, name)
            return await self._items(principal, pairs), [name]
        centre = await self._nodes(principal, [node])
        vectors = await self._vectors(principal.owner, centre)
        items = {one.id: one for one in centre}
        names: list[str] = []
        pairs: list[tuple[str, str]] = []
        linked: list[str] = []
        for one in centre[:_CENTRE]:
            names += names_of(one.text)
            around = await self._around(one, vectors.get(one.id), query)
            pairs += [(kind, id) for kind, id, _ in sorted(around, key=lambda each: -each[2])]
            linked += [*filter(None, (one.before, one.behind)), *one.links]
        others = await self._nodes(principal, linked)
        others += await self._linking(principal, centre, part_of)
        others += await self._items(principal, pairs)
        for other in others:
            items.setdefault(other.id, other)
        return [*items.values()][:_MOST_NEIGHBOURS], names

    async def _linking(
        self, principal: Principal, centre: Sequence[GraphItem], part_of: frozenset[str] | None
    ) -> list[GraphItem]:
        """What leads to a thing that stands for itself, of what changed last: nobody keeps that."""
        if len(centre) != 1 or centre[0].whole is not None:
            return []
        kind = self.recall.kinds[centre[0].kind].graph
        found, _ = await kind.newest(principal, MOST_ITEMS, part_of) if kind else ((), 0)
        return [one for one in found if centre[0].id in one.links]

    async def _items(self, principal: Principal, pairs: Iterable[tuple[str, str]]) -> list[GraphItem]:
        """What index items are of, by their kinds and ids, in order, each once."""
        pairs = [*dict.fromkeys(pairs)]
        found: dict[tuple[str, str], GraphItem] = {}
        for kind in {kind for kind, _ in pairs}:
            graph = self.recall.kinds[kind].graph
            ids = [id for name, id in pairs if name == kind]
            if graph is not None:
                found |= {(kind, id): one for id, one in (await graph.of_items(principal, ids)).items()}
        return [*{one.id: one for pair in pairs if (one := found.get(pair)) is not None}.values()]

    async def _nodes(self, principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        wanted = [*dict.fromkeys(ids)]
        return [one for kind in self._graph_kinds for one in await kind.of_nodes(principal, wanted)]

    async def _drawn(
        self,
        principal: Principal,
        items: Sequence[GraphItem],
        *,
        named: Iterable[str] = (),
        left: int = 0,
    ) -> GraphView:
        vectors = await self._vectors(principal.owner, items)
        draw = partial(drawn, items, vectors, self.similarity, named=[*named], left=left)
        return await anyio.to_thread.run_sync(draw)
