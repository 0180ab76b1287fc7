"""`/vault`: search in the pages, and how they hang together."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.errors import BadInput
from bethink.vault.search.graph import MAX_DEPTH, Net
from bethink.vault.search.query import MAX_CONTEXT, MAX_FILTERS, MAX_LIMIT, MAX_PAGE, MAX_QUERY_CHARS, Search
from bethink.web.deps import Caller, Served
from bethink.web.problems import documented
from bethink.web.vault.pages import PagePath
from bethink.web.vault.shapes import MAX_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.vault.search.graph import Pointer
    from bethink.vault.search.ranking import FoundPage

router = APIRouter(prefix="/vault", tags=["vault"])

Filter = Annotated[str, Query(max_length=300)]


class VaultMarked(BaseModel):
    """A stretch of an excerpt, in characters."""

    start: int
    end: int


class VaultExcerpt(BaseModel):
    """Some lines of a page; `line` is the first one's number, from 1."""

    line: int
    text: str
    marks: list[VaultMarked]


class VaultHit(BaseModel):
    """A page that was found."""

    path: str
    title: str
    score: float = Field(description="0..1")
    hits: int = Field(description="How often it says it.")
    changed_at: datetime | None
    section: list[str] = Field(description="The headings above the first hit, from the topmost.")
    excerpts: list[VaultExcerpt]


class VaultFound(BaseModel):
    """Pages that were found, best first. `total` is at least so many, unless `is_exact`."""

    items: list[VaultHit]
    total: int
    is_exact: bool
    has_more: bool
    notes: list[str] = Field(description="What else there is to know, in words.")


class VaultPointer(BaseModel):
    """A page at the other end of links, and the lines in which these stand, from 1."""

    path: str
    title: str
    lines: list[int]


class VaultMissing(BaseModel):
    """A link to a page that is not there."""

    target: str
    line: int


class VaultLinks(BaseModel):
    """Where the links of a page lead, and those that lead nowhere."""

    items: list[VaultPointer]
    unresolved: list[VaultMissing]


class VaultBacklinks(BaseModel):
    """The pages that link to a page."""

    items: list[VaultPointer]


class VaultNode(BaseModel):
    """A page in the graph."""

    path: str
    title: str
    tags: list[str]
    links: int
    backlinks: int


class VaultEdge(BaseModel):
    """Links from one page to another; `count` of them."""

    source: str
    target: str
    count: int


class VaultLost(BaseModel):
    """Links from a page to one that is not there; `count` of them."""

    source: str
    target: str
    count: int


class VaultGraph(BaseModel):
    """Pages and the links among them."""

    nodes: list[VaultNode]
    edges: list[VaultEdge]
    missing: list[VaultLost] = Field(description="Where links of these pages name what is no page.")
    orphans: list[str] = Field(description="Pages that no link leaves or reaches.")
    way: list[str] | None = Field(
        description="The shortest way that was asked for; null where there is none."
    )


@router.get("/search", responses=documented(403))
async def search_vault(
    app: Served,
    caller: Caller,
    query: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description='Words and "phrases".')] = "",
    *,
    regex: Annotated[bool, Query(description="The query is a regular expression.")] = False,
    case: Annotated[bool, Query(description="Capitals matter.")] = False,
    context: Annotated[int, Query(ge=0, le=MAX_CONTEXT, description="Lines around each hit.")] = 1,
    page: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 20,
    filters: Annotated[
        list[Filter] | None,
        Query(max_length=MAX_FILTERS, description="Such as `entities/*`, `section:Health`, `tag:work`."),
    ] = None,
) -> VaultFound:
    """Search what the pages say, without a language model."""
    asked = Search(query, regex, case, context=context, page=page, limit=limit, filters=filters or ())
    found = await app.vault_tools.searching.search(caller, asked)
    return VaultFound(
        items=[_hit(one) for one in found.pages],
        total=found.total,
        is_exact=found.is_exact,
        has_more=found.has_more,
        notes=list(found.notes),
    )


@router.get("/links/{path:path}", responses=documented(403, 404))
async def get_vault_links(path: PagePath, app: Served, caller: Caller) -> VaultLinks:
    """Where the links of a page lead."""
    graph = await app.vault_tools.graphs.of(caller)
    items = [_pointer(one) for one in graph.links(path)]
    lost = [VaultMissing(target=one.target, line=one.line) for one in graph.unresolved if one.path == path]
    return VaultLinks(items=items, unresolved=lost)


@router.get("/backlinks/{path:path}", responses=documented(403, 404))
async def get_vault_backlinks(path: PagePath, app: Served, caller: Caller) -> VaultBacklinks:
    """The pages that link to a page."""
    found = await app.vault_tools.graphs.backlinks(caller, path)
    return VaultBacklinks(items=[_pointer(one) for one in found])


@router.get("/graph", responses=documented(403, 404))
async def get_vault_graph(
    app: Served,
    caller: Caller,
    around: Annotated[
        str | None, Query(max_length=MAX_PATH, description="Only the pages near this one.")
    ] = None,
    depth: Annotated[int, Query(ge=1, le=MAX_DEPTH, description="So many links away.")] = 1,
    to: Annotated[
        str | None, Query(max_length=MAX_PATH, description="With `around`: the shortest way to this page.")
    ] = None,
) -> VaultGraph:
    """The pages and the links among them, or those near one page, or the way between two."""
    if to and not around:
        raise BadInput("Say in `around` where the way to this page begins.")
    graph = await app.vault_tools.graphs.of(caller)
    way = graph.way(around, to) if around and to else None
    net = graph.around(around, depth) if around else graph.net()
    if way is not None:
        net = graph.net(way)
    return _net(net, graph.lost(net), orphans=[] if around else graph.orphans(), way=way)


def _net(
    net: Net, lost: Mapping[tuple[str, str], int], *, orphans: list[str], way: list[str] | None
) -> VaultGraph:
    return VaultGraph(
        missing=[
            VaultLost(source=source, target=target, count=count) for (source, target), count in lost.items()
        ],
        nodes=[
            VaultNode(
                path=one.path,
                title=one.title,
                tags=list(one.tags),
                links=one.links,
                backlinks=one.backlinks,
            )
            for one in net.nodes
        ],
        edges=[VaultEdge(source=one.source, target=one.target, count=one.count) for one in net.edges],
        orphans=orphans,
        way=way,
    )


def _pointer(one: Pointer) -> VaultPointer:
    return VaultPointer(path=one.path, title=one.title, lines=list(one.lines))


def _hit(one: FoundPage) -> VaultHit:
    return VaultHit(
        path=one.path,
        title=one.title,
        score=one.score,
        hits=one.hits,
        changed_at=to_datetime(one.changed) if one.changed else None,
        section=list(one.section),
        excerpts=[
            VaultExcerpt(
                line=each.line,
                text=each.text,
                marks=[VaultMarked(start=start, end=end) for start, end in each.marks],
            )
            for each in one.excerpts
        ],
    )
