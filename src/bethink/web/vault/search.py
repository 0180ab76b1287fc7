"""`/vault`: search in the pages, the links among them, and questions to the agent that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from bethink.errors import BadInput, BethinkError
from bethink.tools.memory_agent import MAX_QUESTION_CHARS, VaultReply, sources
from bethink.vault.search.graph import MAX_DEPTH
from bethink.vault.search.query import (
    MAX_CONTEXT,
    MAX_FILTERS,
    MAX_LIMIT,
    MAX_PAGE,
    MAX_QUERY_CHARS,
    PageSearch,
)
from bethink.web.deps import Body, Caller, Items, KnownTime, ResponseModel, Served
from bethink.web.problems import documented
from bethink.web.sse import EventStream, begun
from bethink.web.vault.pages import MAX_PATH, PagePath

if TYPE_CHECKING:
    from bethink.vault.search.ranking import SearchResult

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


class VaultHit(ResponseModel):
    """A page that was found."""

    path: str
    title: str
    score: float = Field(description="0..1")
    hits: int = Field(description="How often it says it.")
    changed_at: KnownTime
    section: list[str] = Field(description="The headings above the first hit, from the topmost.")
    excerpts: list[VaultExcerpt]


class VaultFound(ResponseModel):
    """Pages that were found, best first. `total` is at least so many, unless `is_exact`."""

    items: list[VaultHit]
    total: int
    is_exact: bool
    has_more: bool
    notes: list[str] = Field(description="What else there is to know, in words.")


class VaultPointer(ResponseModel):
    """A page at the other end of links, and the lines in which these stand, from 1."""

    path: str
    title: str
    lines: list[int]


class VaultMissing(ResponseModel):
    """A link to a page that is not there."""

    target: str
    line: int


class VaultLinks(Items[VaultPointer]):
    """Where the links of a page lead, and those that lead nowhere."""

    unresolved: list[VaultMissing]


class VaultBacklinks(Items[VaultPointer]):
    """The pages that link to a page."""


class VaultNode(ResponseModel):
    """A page in the graph."""

    path: str
    title: str
    tags: list[str]
    links: int
    backlinks: int


class VaultEdge(ResponseModel):
    """Links from one page to another; `count` of them."""

    source: str
    target: str
    count: int


class VaultLost(BaseModel):
    """Links from a page to one that is not there; `count` of them."""

    source: str
    target: str
    count: int


class VaultGraph(ResponseModel):
    """Pages and the links among them."""

    nodes: list[VaultNode]
    edges: list[VaultEdge]
    missing: list[VaultLost] = Field(description="Broken links in these pages.")
    orphans: list[str] = Field(description="Pages that no link leaves or reaches.")
    way: list[str] | None = Field(description="The shortest path; null if there is none.")


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
    asked = PageSearch(query, regex, case, context=context, page=page, limit=limit, filters=filters or ())
    found = await app.vault_tools.searching.search(caller, asked)
    return VaultFound.of(found, items=[_hit(one) for one in found.pages])


@router.get("/links/{path:path}", responses=documented(403, 404))
async def get_vault_links(path: PagePath, app: Served, caller: Caller) -> VaultLinks:
    """Where the links of a page lead."""
    graph = await app.vault_tools.graphs.of(caller)
    items = [VaultPointer.of(one) for one in graph.links(path)]
    lost = [VaultMissing.of(one) for one in graph.unresolved if one.path == path]
    return VaultLinks(items=items, unresolved=lost)


@router.get("/backlinks/{path:path}", responses=documented(403, 404))
async def get_vault_backlinks(path: PagePath, app: Served, caller: Caller) -> VaultBacklinks:
    """The pages that link to a page."""
    found = await app.vault_tools.graphs.backlinks(caller, path)
    return VaultBacklinks(items=[VaultPointer.of(one) for one in found])


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
        raise BadInput("Give in `around` the page where the path begins.")
    graph = await app.vault_tools.graphs.of(caller)
    way = graph.way(around, to) if around and to else None
    net = graph.around(around, depth) if around else graph.net()
    if way is not None:
        net = graph.net(way)
    lost = graph.lost(net).items()
    missing = [VaultLost(source=source, target=target, count=count) for (source, target), count in lost]
    return VaultGraph.of(net, missing=missing, orphans=[] if around else graph.orphans(), way=way)


class VaultTagged(ResponseModel):
    """A page that has a tag."""

    path: str
    title: str


class VaultTag(BaseModel):
    """A tag, with the pages that have it."""

    name: str = Field(description="Without `#`, as the first page writes it.")
    pages: list[VaultTagged]


class VaultTags(Items[VaultTag]):
    """All tags, by name."""


@router.get("/tags", responses=documented(403))
async def get_vault_tags(app: Served, caller: Caller) -> VaultTags:
    """The tags of the pages, from their front matter and their text; capitals do not tell two apart."""
    graph = await app.vault_tools.graphs.of(caller)
    items = [
        VaultTag(name=name, pages=[VaultTagged.of(page) for page in pages])
        for name, pages in graph.tagged().items()
    ]
    return VaultTags(items=items)


def _hit(one: SearchResult) -> VaultHit:
    excerpts = [
        VaultExcerpt(
            line=each.line,
            text=each.text,
            marks=[VaultMarked(start=start, end=end) for start, end in each.marks],
        )
        for each in one.excerpts
    ]
    return VaultHit.of(one, changed_at=one.changed, excerpts=excerpts)


class Question(Body):
    """What to ask, or to have noted."""

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    filters: Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=50)] = Field(
        default=[], description="In words, what must not be told, or only what may be: for this question."
    )
    stream: bool = Field(default=False, description="Answer with the events as they come, as SSE.")


class VaultAnswer(VaultReply):
    """What the memory agent answered."""

    reason: str = Field(description="Why it ended: `answered`, or a bound that it reached.")


@router.post(
    "/ask",
    response_model=VaultAnswer,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "The answer, or with `stream` its events"},
        **documented(409, 503),
    },
)
async def ask_vault(app: Served, caller: Caller, body: Question) -> VaultAnswer | Response:
    """Have the memory agent read the vault and answer; it notes what is new and worth keeping."""
    if body.stream:
        return EventStream(await begun(app.asking.follow(caller, body.question, body.filters)))
    done = await app.asking.ask(caller, body.question, body.filters)
    if done.code:
        raise Failed(done.failure, done.code)
    reply = done.reply or app.asking.agent.stopped(done)
    return VaultAnswer(reply=reply, thoughts=done.thoughts, sources=list(sources(done)), reason=done.reason)


class Failed(BethinkError):
    """The memory agent could not answer."""

    status = 502

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code
