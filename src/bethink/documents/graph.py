"""What hangs together in documents: passages that are alike, that name the same things, or follow each other.

The graph is a view over the index, not a second copy of it: an edge is found when it is asked for, by the
vectors and words that searches use. So it is as new as the index, goes with what it is made of, and has
nothing of its own to build, to forget or to export. `knowledge_bases` widens searches by it, `web` shows it.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.documents.records import KIND, PASSAGES, passage_id
from bethink.errors import EmbeddingsUnavailable, NotAllowed, UnknownId
from bethink.index import IndexQuery
from bethink.search.analysis import STOP_WORDS
from bethink.store import Scan, records_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bethink.documents.library import Library, PassageHit, Scope
    from bethink.embeddings import Embeddings
    from bethink.index import Index
    from bethink.principal import Principal

_OFF: Final = "The graph is switched off: BETHINK_GRAPH_ENABLED=true switches it on."
_HIDDEN: Final = "A filter hides a part of the documents from this reader: their graph would tell of it."
MOST_NODES: Final = 500
_SEEDS: Final = 5
"""Of what was found, so many are looked around: what stands below is seldom an answer itself."""
_NEAR: Final = 10
"""Passages that are alike, of one; as kb-mcp-server has it (`graph.limit`)."""
_MOST_NAMES: Final = 12
_COMMON: Final = 20
"""What more passages name sets none of them apart."""
_NAMED_WEIGHT, _NEXT_WEIGHT = 0.6, 0.5
"""How sure an edge is beside likeness, which weighs itself. Chosen, not measured yet."""
_WHOLE: Final = 0.999
"""Share of a name's words that a passage must hold."""
_TOPIC_WORDS: Final = 4
_FEW: Final = 2
_ROUNDS: Final = 20
_MOST_EDGES: Final = 5
"""Of one passage to others like it, in what is shown."""
_MOST_SHARED_NAMES: Final = 60
_LINK: Final = re.compile(r"\[\[([^\]|#\n]{1,100})[^\]\n]*\]\]|\[[^\]\n]{0,200}\]\(([^)\s]{1,300})\)")
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_TOKEN: Final = re.compile(r"\w[\w'’&-]*")
_INSIDE: Final = frozenset({"of", "de", "von", "van", "du", "da", "del", "der"})
"""Words that stand inside of names."""
_SHORTEST: Final = 3
_ENDING: Final = re.compile(r"\.[a-z0-9]{1,5}$")

NodeKind = Literal["document", "passage", "name"]
EdgeKind = Literal["alike", "names", "next", "holds"]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """A document, a passage, or a name that passages share. `topic` is the number of its topic."""

    id: str
    kind: NodeKind
    label: str
    document: str | None = None
    page: int | None = None
    topic: int | None = None


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that hang together, by their ids; `weight` is 0..1."""

    a: str
    b: str
    kind: EdgeKind
    weight: float


class GraphTopic(msgspec.Struct, frozen=True, kw_only=True):
    """Passages that hang together, and the words that set them apart from the others."""

    number: int
    label: str
    words: tuple[str, ...]
    passages: int


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the graph; `left` are the passages that it has no room for."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    topics: tuple[GraphTopic, ...] = ()
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGraph:
    """The graph of each owner's documents. Passages are `alike` from a cosine of `similarity` on."""

    library: Library
    index: Index
    embeddings: Embeddings
    enabled: bool
    similarity: float

    # --- searches

    async def widened(
        self, principal: Principal, query: str, hits: Sequence[PassageHit], *, scope: Scope
    ) -> list[PassageHit]:
        """What was found and what hangs together with it, ranked anew; `hits` alone if it is switched off.

        A neighbour counts as much as what it hangs on, less for a weaker edge, and less the farther it is
        from the question.
        """
        seeds = [hit for hit in hits if hit.owner is None][:_SEEDS]
        if not self.enabled or not seeds or await self.library.filter_for(principal) is not None:
            return [*hits]
        within = None
        if not scope.is_all:
            within = frozenset(one.content for one in await self.library.in_scope(principal, scope))
        found: dict[str, float] = {}
        for seed, vector in zip(seeds, await self._vectors(principal.owner, seeds), strict=True):
            for id, weight in await self._around(principal.owner, seed, vector, within=within):
                found[id] = max(found.get(id, 0.0), seed.score * weight)
        near = await self._near(principal.owner, query, [*found])
        scores = {id: score * near.get(id, 0.5) for id, score in found.items()}
        kept = [hit for hit in hits if hit.score >= scores.get(hit.id, 0.0)]
        new = [(id, score) for id, score in scores.items() if id not in {hit.id for hit in kept}]
        more = await self.library.hits(principal, new, scope=scope)
        return sorted((*kept, *more), key=lambda hit: -hit.score)

    async def _around(
        self,
        owner: str,
        seed: PassageHit,
        vector: NDArray[np.float32] | None,
        *,
        within: frozenset[str] | None,
    ) -> list[tuple[str, float]]:
        """The neighbours of a passage, each with the weight of its edge."""
        content, _, number = seed.id.rpartition(":p")
        places = (int(number) - 1, int(number) + 1)
        found = [(passage_id(content, place), _NEXT_WEIGHT) for place in places if place >= 0]
        query = IndexQuery(owner, kinds=frozenset({KIND}), part_of=within, limit=_NEAR + 1)
        if vector is not None:
            alike = await self.index.search(replace(query, vector=vector, model=self.embeddings.model))
            found += [
                (one.id, one.dense)
                for one in alike.items
                if one.dense is not None and one.dense >= self.similarity and one.id != seed.id
            ]
        for name in names_of(seed.text)[:_MOST_NAMES]:
            named = await self.index.search(replace(query, text=name, limit=_COMMON + 1))
            holders = [one.id for one in named.items if one.met >= _WHOLE and one.id != seed.id]
            if len(holders) < _COMMON:
                found += [(id, _NAMED_WEIGHT) for id in holders]
        return found

    async def _vectors(self, owner: str, hits: Sequence[PassageHit]) -> list[NDArray[np.float32] | None]:
        found = await self.index.vectors(owner, self.embeddings.model, [hit.id for hit in hits])
        return [found[hit.id][0] if hit.id in found else None for hit in hits]

    async def _near(self, owner: str, query: str, ids: Sequence[str]) -> dict[str, float]:
        """How near passages are to a question, 0.5 to 1; nothing of those that have no vector."""
        if not ids:
            return {}
        try:
            (asked,) = await self.embeddings.embed([query])
        except EmbeddingsUnavailable:
            return {}
        vectors = await self.index.vectors(owner, self.embeddings.model, ids)
        return {id: 0.5 + 0.5 * max(0.0, float((rows @ asked).max())) for id, rows in vectors.items()}

    # --- what is shown

    async def view(
        self, principal: Principal, *, scope: Scope, limit: int = 200, first: Sequence[str] = ()
    ) -> GraphView:
        """The graph of the newest documents of a scope, `first` before them, of at most `limit` passages.

        Raises:
            NotAllowed: the graph is switched off, or a filter hides something from this reader.
        """
        if not self.enabled:
            raise NotAllowed(_OFF)
        if await self.library.filter_for(principal) is not None:
            raise NotAllowed(_HIDDEN)
        passages, left = await self._chosen(principal, scope, limit=limit, first=first)
        vectors = await self.index.vectors(
            principal.owner, self.embeddings.model, [one.id for one in passages]
        )
        return _drawn(passages, vectors, self.similarity, left=left)

    async def _chosen(
        self, principal: Principal, scope: Scope, *, limit: int, first: Sequence[str]
    ) -> tuple[list[PassageHit], int]:
        """Passages of all documents by turns: the first of each, the second of each."""
        documents = await self.library.in_scope(principal, scope)
        documents.sort(key=lambda one: (one.id not in first, -one.updated_at))
        owner, store = principal.owner, self.library.store
        rows: list[list[str]] = []
        total = 0
        for document in documents:
            total += await store.count(owner, PASSAGES, {"content": document.content})
            if len(rows) < limit:
                scan = Scan(PASSAGES, {"content": document.content}, order="number", limit=limit)
                rows.append([one.id async for one in records_of(store, owner, scan)][:limit])
        # Those that are named take half of the room before the others get any.
        named = [id for ids in rows[: len(first)] for id in ids[: limit // (2 * len(first))]] if first else []
        longest = max(map(len, rows), default=0)
        turns = [ids[turn] for turn in range(longest) for ids in rows if turn < len(ids)]
        chosen = [*dict.fromkeys((*named, *turns))][:limit]
        hits = await self.library.hits(principal, [(id, 1.0) for id in chosen], scope=scope)
        return hits, max(0, total - len(hits))

    async def path(self, principal: Principal, start: str, end: str, *, scope: Scope) -> list[GraphNode]:
        """The shortest way between two nodes, by their ids; nothing if there is none.

        Raises:
            UnknownId: there is no such node.
            NotAllowed: see `view`.
        """
        documents = [id.removeprefix("document:") for id in (start, end) if id.startswith("document:")]
        view = await self.view(principal, scope=scope, limit=MOST_NODES, first=documents)
        return way(view, start, end)


def names_of(text: str) -> list[str]:
    """What a text names, each once: capital words in a row, codes, and where links lead.

    A single capital word at the beginning of a sentence is no name.
    """
    found = [link_name(link[1] or link[2]) for link in _LINK.finditer(text)]
    row: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        is_beside = bool(row) and text[row[-1].end() : token.start()] == " "
        if row and not (is_beside and (_is_capital(token[0]) or token[0] in _INSIDE)):
            found.append(_name(row, text))
            row = []
        if _is_capital(token[0]) or row:
            row.append(token)
    if row:
        found.append(_name(row, text))
    fit = (name for name in found if len(name) >= _SHORTEST and name.casefold() not in STOP_WORDS)
    return list({name.casefold(): name for name in fit}.values())


def link_name(target: str) -> str:
    """What a link to a page or a file calls it, without path and ending."""
    last = _ENDING.sub("", target.rstrip("/").rpartition("/")[2].lower())
    return re.sub(r"[-_]+|%20", " ", last).strip()


def _is_capital(word: str) -> bool:
    has_digit = any(char.isdigit() for char in word)
    return word[0].isupper() or (has_digit and any(char.isalpha() for char in word))


def _name(row: list[re.Match[str]], text: str) -> str:
    """A row of words as a name; nothing if it is only how a sentence begins."""
    while row and row[-1][0] in _INSIDE:
        row.pop()
    first = row[0]
    before = text[: first.start()].rstrip(" ")[-1:]
    opens = not before or not (before.isalnum() or before in ",;(\"“'")
    if opens and first[0].casefold() in STOP_WORDS:
        row = row[1:]
    elif opens and len(row) == 1 and not (first[0].isupper() or any(char.isdigit() for char in first[0])):
        return ""
    return text[row[0].start() : row[-1].end()] if row else ""


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


def _drawn(
    passages: Sequence[PassageHit],
    vectors: Mapping[str, NDArray[np.float32]],
    similarity: float,
    *,
    left: int,
) -> GraphView:
    """The view of these passages."""
    alike = _alike([one.id for one in passages], vectors, similarity)
    named = _shared_names(passages)
    topics = _topics(passages, alike, named)
    topic_of = {id: number for number, (_, ids) in enumerate(topics) for id in ids}
    edges = [GraphEdge(a=a, b=b, kind="alike", weight=round(weight, 3)) for a, b, weight in alike]
    nodes = [
        GraphNode(
            id=one.id,
            kind="passage",
            label=one.heading or one.label or " ".join(one.text.split())[:60],
            document=one.document.id,
            page=one.page,
            topic=topic_of.get(one.id),
        )
        for one in passages
    ]
    there = {one.id for one in passages}
    documents = {one.document.id: one.document for one in passages}
    nodes += [
        GraphNode(id=f"document:{id}", kind="document", label=one.name) for id, one in documents.items()
    ]
    for one in passages:
        edges.append(GraphEdge(a=f"document:{one.document.id}", b=one.id, kind="holds", weight=1.0))
        content, _, number = one.id.rpartition(":p")
        if (behind := passage_id(content, int(number) + 1)) in there:
            edges.append(GraphEdge(a=one.id, b=behind, kind="next", weight=_NEXT_WEIGHT))
    for name, (label, ids) in named.items():
        nodes.append(GraphNode(id=f"name:{name}", kind="name", label=label))
        edges += [GraphEdge(a=f"name:{name}", b=id, kind="names", weight=_NAMED_WEIGHT) for id in ids]
    return GraphView(
        nodes=tuple(nodes),
        edges=tuple(edges),
        topics=tuple(
            GraphTopic(number=number, label=", ".join(words[:2]), words=words, passages=len(ids))
            for number, (words, ids) in enumerate(topics)
        ),
        left=left,
    )


def _alike(
    ids: Sequence[str], vectors: Mapping[str, NDArray[np.float32]], similarity: float
) -> list[tuple[str, str, float]]:
    """Pairs of passages whose first vectors are alike: the best few of each."""
    known = [id for id in ids if id in vectors]
    if not known:
        return []
    import numpy as np  # heavy: a server answers before it is loaded

    rows = np.stack([vectors[id][0] for id in known])
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, 0.0)
    pairs: dict[tuple[int, int], float] = {}
    for place in range(len(known)):
        best = np.argsort(-cosines[place], kind="stable")[:_MOST_EDGES]
        for other in (int(one) for one in best if cosines[place, one] >= similarity):
            pairs[min(place, other), max(place, other)] = float(cosines[place, other])
    return [(known[a], known[b], weight) for (a, b), weight in sorted(pairs.items())]


def _shared_names(passages: Sequence[PassageHit]) -> dict[str, tuple[str, list[str]]]:
    """The names that several passages have, and not nearly all: how they are written, and who has them."""
    holders: dict[str, list[str]] = defaultdict(list)
    written: dict[str, str] = {}
    for one in passages:
        for name in (*names_of(one.text), link_name(one.document.name)):
            key = name.casefold()
            written.setdefault(key, name)
            if one.id not in holders[key]:
                holders[key].append(one.id)
    most = max(_FEW, min(_COMMON, len(passages) // 2))
    shared = {name: ids for name, ids in holders.items() if 1 < len(ids) <= most and not _is_one(ids)}
    best = sorted(shared, key=lambda name: (-len(shared[name]), name))[:_MOST_SHARED_NAMES]
    return {name: (written[name], shared[name]) for name in best}


def _is_one(ids: Iterable[str]) -> bool:
    """Whether all passages are of one content."""
    return len({id.rpartition(":p")[0] for id in ids}) == 1


def _topics(
    passages: Sequence[PassageHit],
    alike: Sequence[tuple[str, str, float]],
    named: Mapping[str, tuple[str, list[str]]],
) -> list[tuple[tuple[str, ...], list[str]]]:
    """Groups of passages that hang together, the largest first, each with its words.

    Words by c-TF-IDF (Grootendorst 2022): a word's share of the group, times the logarithm of one plus the
    groups' mean length by how often the word occurs.
    """
    weights: dict[str, Counter[str]] = {one.id: Counter() for one in passages}
    pairs = [(a, b, weight) for a, b, weight in alike]
    pairs += [(a, b, _NAMED_WEIGHT / len(ids)) for _, ids in named.values() for a, b in combinations(ids, 2)]
    for a, b, weight in pairs:
        weights[a][b] += weight  # pyright: ignore[reportArgumentType] - counted in parts
        weights[b][a] += weight  # pyright: ignore[reportArgumentType] - the same
    members: dict[str, list[str]] = defaultdict(list)
    for id, group in _groups(weights).items():
        members[group].append(id)
    groups = sorted((ids for ids in members.values() if len(ids) > 1), key=lambda ids: (-len(ids), ids[0]))
    texts = {one.id: one.text for one in passages}
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
