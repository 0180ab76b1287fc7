"""`/documents/graph`: how documents hang together, and the way between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from bethink.documents.graph import MOST_NODES, GraphNode
from bethink.documents.library import Scope
from bethink.documents.service import Documents
from bethink.web.deps import Caller, ResponseModel, Served
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(prefix="/documents/graph", tags=["documents"], responses=documented(404))

_Collection = Annotated[
    str | None, Query(max_length=300, description="Only this collection: its id or name.")
]
_Node = Annotated[str, Query(max_length=1_000, description="Of a node of the graph.")]


class DocumentGraphNode(ResponseModel):
    """A document, a passage, or a name that several documents share. `topic` is the number of its topic."""

    id: str
    kind: Literal["document", "passage", "name"]
    label: str
    document: str | None
    page: int | None
    topic: int | None


class DocumentGraphEdge(ResponseModel):
    """Two nodes that hang together: `alike`, one `names` the other, `next` to it, or it `holds` it."""

    a: str
    b: str
    kind: Literal["alike", "names", "next", "holds"]
    weight: float


class DocumentGraphTopic(ResponseModel):
    """Passages that hang together, and the words that set them apart."""

    number: int
    label: str
    words: list[str]
    passages: int


class DocumentGraphShown(BaseModel):
    """A part of the graph; `left` counts the passages that it has no room for."""

    nodes: list[DocumentGraphNode]
    edges: list[DocumentGraphEdge]
    topics: list[DocumentGraphTopic]
    left: int


class DocumentGraphPath(BaseModel):
    """The nodes from one to the other; none if they do not hang together."""

    nodes: list[DocumentGraphNode]


@router.get("")
async def get_graph(
    app: Served,
    caller: Caller,
    *,
    collection: _Collection = None,
    limit: Annotated[int, Query(ge=1, le=MOST_NODES, description="Passages at most.")] = 200,
) -> DocumentGraphShown:
    """How the newest documents hang together; the setting `graph_enabled` switches it on."""
    view = await app.features.of(Documents).graph.view(
        caller, scope=await _scope(app, caller, collection), limit=limit
    )
    return DocumentGraphShown(
        nodes=_nodes(view.nodes),
        edges=[DocumentGraphEdge.of(one) for one in view.edges],
        topics=[DocumentGraphTopic.of(one, words=list(one.words)) for one in view.topics],
        left=view.left,
    )


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
    scope = await _scope(app, caller, collection)
    nodes = await app.features.of(Documents).graph.path(caller, start, end, scope=scope)
    return DocumentGraphPath(nodes=_nodes(nodes))


async def _scope(app: App, caller: Principal, collection: str | None) -> Scope:
    inside = None if collection is None else (await app.library.collection(caller, collection)).id
    return Scope(collection=inside)


def _nodes(nodes: list[GraphNode] | tuple[GraphNode, ...]) -> list[DocumentGraphNode]:
    return [DocumentGraphNode.of(one) for one in nodes]
