"""A part of the graph as nodes, edges and topics, made of what its items say. `service` calls it; pure."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.errors import UnknownId
from bethink.graph.names import link_name, names_of
from bethink.search.analysis import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.feature import GraphItem

COMMON: Final = 20
"""What more items name sets none of them apart."""
_NAMES, _NEXT = 0.6, 0.5
"""How much an edge weighs in topics and drawings, beside likeness, which weighs itself."""
_TOPIC_WORDS: Final = 4
_ROUNDS: Final = 20
_MOST_ALIKE: Final = 5
"""Edges of one item to others like it."""
_MOST_NAMES: Final = 60
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")

EdgeKind = Literal["alike", "names", "next", "holds", "links"]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """An item (`kind` is recall's), a whole that holds some, or a name that several share.

    `source` names it in citations, `whole` is the node that holds it, `page` the number of its page there,
    and `topic` the number of its topic.
    """

    id: str
    kind: str
    label: str
    source: str | None = None
    whole: str | None = None
    page: int | None = None
    topic: int | None = None


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that hang together; `weight` is 0..1. `next`, `holds` and `links` lead from `a` to `b`."""

    a: str
    b: str
    kind: EdgeKind
    weight: float


class GraphTopic(msgspec.Struct, frozen=True, kw_only=True):
    """Items that hang together, how many, and the words that set them apart from the others."""

    number: int
    label: str
    words: tuple[str, ...]
    items: int


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the graph; `left` are the items that it has no room for."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    topics: tuple[GraphTopic, ...] = ()
    left: int = 0


def drawn(
    items: Sequence[GraphItem],
    vectors: Mapping[str, NDArray[np.float32]],
    similarity: float,
    *,
    named: Iterable[str] = (),
    left: int = 0,
) -> GraphView:
    """The view of these items, alike from a cosine of `similarity` on; `named` names go before others."""
    alike = _alike(items, vectors, similarity)
    shared = _shared_names(items, {name.casefold() for name in named})
    topics = _topics(items, alike, shared)
    topic_of = {id: number for number, (_, ids) in enumerate(topics) for id in ids}
    nodes = [node_of(one, topic_of.get(one.id)) for one in items]
    wholes = {one.whole[0]: one.whole[1] for one in items if one.whole is not None}
    nodes += [
        GraphNode(id=id, kind=id.partition(":")[0], label=label, source=id) for id, label in wholes.items()
    ]
    edges = [GraphEdge(a=a, b=b, kind="alike", weight=round(weight, 3)) for a, b, weight in alike]
    there = {node.id for node in nodes}
    for one in items:
        if one.whole is not None:
            edges.append(GraphEdge(a=one.whole[0], b=one.id, kind="holds", weight=1.0))
        if one.behind in there:
            edges.append(GraphEdge(a=one.id, b=one.behind, kind="next", weight=_NEXT))
        edges += [GraphEdge(a=one.id, b=to, kind="links", weight=1.0) for to in one.links if to in there]
    for name, (label, ids) in shared.items():
        nodes.append(GraphNode(id=f"name:{name}", kind="name", label=label))
        edges += [GraphEdge(a=f"name:{name}", b=id, kind="names", weight=_NAMES) for id in ids]
    return GraphView(
        nodes=tuple(nodes),
        edges=tuple(edges),
        topics=tuple(
            GraphTopic(number=number, label=", ".join(words[:2]), words=words, items=len(ids))
            for number, (words, ids) in enumerate(topics)
        ),
        left=left,
    )


def node_of(one: GraphItem, topic: int | None = None) -> GraphNode:
    """An item as a node."""
    whole = one.whole and one.whole[0]
    return GraphNode(
        id=one.id, kind=one.kind, label=one.label, source=one.source, whole=whole, page=one.page, topic=topic
    )


def way(view: GraphView, start: str, end: str) -> list[GraphNode]:
    """The shortest way between two nodes of a view, in as few steps as there are; nothing if there is none.

    Raises:
        UnknownId: it has no such node.
    """
    nodes = {node.id: node for node in view.nodes}
    for id in (start, end):
        if id not in nodes:
            raise UnknownId(f"The graph has no node {id[:100]!r}.")
    beside: dict[str, list[str]] = defaultdict(list)
    for edge in view.edges:
        beside[edge.a].append(edge.b)
        beside[edge.b].append(edge.a)
    before: dict[str, str] = {start: start}
    queue = deque([start])
    while queue and end not in before:
        here = queue.popleft()
        for other in sorted(beside[here]):
            if other not in before:
                before[other] = here
                queue.append(other)
    if end not in before:
        return []
    steps = [end]
    while steps[-1] != start:
        steps.append(before[steps[-1]])
    return [nodes[id] for id in reversed(steps)]


def _alike(
    items: Sequence[GraphItem], vectors: Mapping[str, NDArray[np.float32]], similarity: float
) -> list[tuple[str, str, float]]:
    """Pairs of items that are alike, in whichever of their parts: the best few of each."""
    known = [one.id for one in items if one.id in vectors]
    if not known:
        return []
    import numpy as np  # heavy: a server answers before it is loaded

    rows = np.concatenate([vectors[id] for id in known])
    starts = np.cumsum([0, *(len(vectors[id]) for id in known[:-1])])
    cosines = np.maximum.reduceat(np.maximum.reduceat(rows @ rows.T, starts, axis=0), starts, axis=1)
    np.fill_diagonal(cosines, -1.0)
    pairs: dict[tuple[int, int], float] = {}
    for place in range(len(known)):
        best = np.argsort(-cosines[place], kind="stable")[:_MOST_ALIKE]
        for other in (int(one) for one in best if cosines[place, one] >= similarity and one != place):
            pairs[min(place, other), max(place, other)] = float(cosines[place, other])
    return [(known[a], known[b], weight) for (a, b), weight in sorted(pairs.items())]


def _shared_names(items: Sequence[GraphItem], first: set[str]) -> dict[str, tuple[str, list[str]]]:
    """The names that several items have, and not nearly all: how they are written, and who has them."""
    holders: dict[str, list[str]] = defaultdict(list)
    written: dict[str, str] = {}
    for one in items:
        for name in (*names_of(one.text), *map(link_name, one.names)):
            key = name.casefold()
            written.setdefault(key, name)
            if key and one.id not in holders[key]:
                holders[key].append(one.id)
    places = {one.id: one.whole[0] if one.whole else one.id for one in items}
    most = max(2, min(COMMON, len(items) // 2))
    shared = {
        name: ids
        for name, ids in holders.items()
        if len({places[id] for id in ids}) > 1 and (name in first or len(ids) <= most)
    }
    best = sorted(shared, key=lambda name: (name not in first, -len(shared[name]), name))[:_MOST_NAMES]
    return {name: (written[name], shared[name]) for name in best}


def _topics(
    items: Sequence[GraphItem],
    alike: Sequence[tuple[str, str, float]],
    shared: Mapping[str, tuple[str, list[str]]],
) -> list[tuple[tuple[str, ...], list[str]]]:
    """Groups of items that hang together, the largest first, each with its words.

    Words by c-TF-IDF (Grootendorst 2022): a word's share of the group, times the logarithm of one plus the
    groups' mean length by how often the word occurs.
    """
    weights: dict[str, Counter[str]] = {one.id: Counter() for one in items}
    pairs = [*alike]
    pairs += [(a, b, _NAMES / len(ids)) for _, ids in shared.values() for a, b in combinations(ids, 2)]
    pairs += [(one.id, to, 1.0) for one in items for to in one.links if to in weights]
    for a, b, weight in pairs:
        weights[a][b] += weight  # pyright: ignore[reportArgumentType] - counted in parts
        weights[b][a] += weight  # pyright: ignore[reportArgumentType] - the same
    members: dict[str, list[str]] = defaultdict(list)
    for id, group in _groups(weights).items():
        members[group].append(id)
    groups = sorted((ids for ids in members.values() if len(ids) > 1), key=lambda ids: (-len(ids), ids[0]))
    texts = {one.id: one.text for one in items}
    counts = [Counter(_words(texts[id] for id in ids)) for ids in groups]
    total = Counter[str]()
    for count in counts:
        total.update(count)
    mean = sum(total.values()) / max(1, len(counts))
    return [(_best_words(count, total, mean), ids) for count, ids in zip(counts, groups, strict=True)]


def _groups(weights: Mapping[str, Counter[str]]) -> dict[str, str]:
    """The group of each node, by label propagation (Raghavan et al. 2007) in a fixed order."""
    group = {id: id for id in weights}
    for _ in range(_ROUNDS):
        before = dict(group)
        for id, beside in weights.items():
            votes: Counter[str] = Counter()
            for other, weight in beside.items():
                votes[group[other]] += weight
            if votes:
                group[id] = min(votes, key=lambda one: (-votes[one], one))
        if group == before:
            break
    return group


def _words(texts: Iterable[str]) -> list[str]:
    found = (word for text in texts for word in _WORD.findall(text.casefold()))
    return [word for word in found if word not in STOP_WORDS]


def _best_words(count: Counter[str], total: Counter[str], mean: float) -> tuple[str, ...]:
    size = max(1, sum(count.values()))
    scores = {word: times / size * math.log(1 + mean / total[word]) for word, times in count.items()}
    return tuple(sorted(scores, key=lambda word: (-scores[word], word))[:_TOPIC_WORDS])
