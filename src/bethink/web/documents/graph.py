"""`/documents/graph`: how documents, facts and pages hang together, and the way between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bethink.documents.library import Scope
from bethink.graph.service import MOST_ITEMS
from bethink.web.deps import Caller, ResponseModel, Served
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.graph.view import GraphNode, GraphView
    from bethink.principal import Principal

router = APIRouter(prefix="/documents/graph", tags=["documents"], responses=documented(403, 404))

_Collection = Annotated[
    str | None, Query(max_length=300, description="Only the documents of this collection: its id or name.")
]
_Node = Annotated[str, Query(max_length=1_000, description="Of a node of the graph.")]
_DOCUMENT = "document:"


class DocumentGraphNode(ResponseModel):
    """A node: a document, a passage, a fact, a page of the vault, or a name that several of them share."""

    id: str
    kind: str = Field(description="`document`, `passage`, `fact`, `page` or `name`.")
    label: str
    source: str | None = Field(description="What names it in citations; null for a name.")
    document: str | None = Field(description="The document that the passage stands in.")
    page: int | None = Field(description="The passage's page there.")
    topic: int | None = Field(description="The number of its topic.")


class DocumentGraphEdge(ResponseModel):
    """Two nodes: they are `alike`, or one `names`, `holds` or `links` the other, or stands `next` to it."""

    a: str
    b: str
    kind: Literal["alike", "names", "next", "holds", "links"]
    weight: float


class DocumentGraphTopic(ResponseModel):
    """Passages, facts and pages that hang together, how many, and the words that set them apart."""

    number: int
    label: str
    words: list[str]
    passages: int


class DocumentGraphShown(BaseModel):
    """A part of the graph; `left` counts the passages, facts and pages that it has no room for."""

    nodes: list[DocumentGraphNode]
    edges: list[DocumentGraphEdge]
    topics: list[DocumentGraphTopic]
    left: int


class DocumentGraphFocus(DocumentGraphShown):
    """A node with what it says, and what is right beside it."""

    node: DocumentGraphNode
    text: str


class DocumentGraphPath(BaseModel):
    """Nodes in order: from one to the other, none if they do not hang together; or best first."""

    nodes: list[DocumentGraphNode]


@router.get("")
async def get_graph(
    app: Served,
    caller: Caller,
    *,
    collection: _Collection = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ITEMS, description="Passages, facts and pages at most.")] = 200,
) -> DocumentGraphShown:
    """How what changed last hangs together; the setting `graph_enabled` switches it on."""
    within = await _within(app, caller, collection)
    return shown(await app.graph.view(caller, part_of=within, limit=limit))


@router.get("/focus")
async def get_focus(
    app: Served, caller: Caller, node: _Node, *, collection: _Collection = None
) -> DocumentGraphFocus:
    """A node, such as `document:ID`, `fact:ID`, `page:PATH` or `name:ada lovelace`, and what is beside it."""
    within = await _within(app, caller, collection)
    found = await app.graph.focus(caller, node, part_of=within)
    return DocumentGraphFocus(**dict(shown(found.view)), node=_node(found.node), text=found.text)


@router.get("/search")
async def search_graph(
    app: Served,
    caller: Caller,
    query: Annotated[str, Query(max_length=2_000, description="A question or words.")],
    *,
    collection: _Collection = None,
    limit: Annotated[int, Query(ge=1, le=50, description="Nodes at most.")] = 10,
) -> DocumentGraphPath:
    """The nodes that answer a question, best first."""
    within = await _within(app, caller, collection)
    return DocumentGraphPath(nodes=_nodes(await app.graph.search(caller, query, limit, part_of=within)))


@router.get("/path")
async def get_path(
    app: Served,
    caller: Caller,
    start: _Node,
    end: _Node,
    *,
    collection: _Collection = None,
) -> DocumentGraphPath:
    """The shortest way between two nodes, such as `document:ID`."""
    within = await _within(app, caller, collection)
    return DocumentGraphPath(nodes=_nodes(await app.graph.path(caller, start, end, part_of=within)))


async def _within(app: App, caller: Principal, collection: str | None) -> frozenset[str] | None:
    """The contents of a collection's documents; None for everything."""
    if collection is None:
        return None
    inside = Scope(collection=(await app.library.collection(caller, collection)).id)
    return frozenset(one.content for one in await app.library.in_scope(caller, inside))


def shown(view: GraphView) -> DocumentGraphShown:
    """A view of the graph as JSON."""
    return DocumentGraphShown(
        nodes=_nodes(view.nodes),
        edges=[DocumentGraphEdge.of(one) for one in view.edges],
        topics=[DocumentGraphTopic.of(one, words=list(one.words), passages=one.items) for one in view.topics],
        left=view.left,
    )


def _nodes(nodes: Sequence[GraphNode]) -> list[DocumentGraphNode]:
    return [_node(one) for one in nodes]


def _node(one: GraphNode) -> DocumentGraphNode:
    whole = one.whole or ""
    document = whole.removeprefix(_DOCUMENT) if whole.startswith(_DOCUMENT) else None
    return DocumentGraphNode.of(one, document=document)
