"""Knowledge bases for MCP clients: the tools of kb-mcp-server, and those of spec 004 ("MCP Client").

`mcp_server/families` makes them, for all documents or for one base. They are not among those of a chat, where
`rag_search` does the same for fewer tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from pydantic import BaseModel, Field

from bethink.documents.library import DocumentQuery, DocumentState, NewDocument, PassageHit, Scope
from bethink.documents.records import Document, Origin
from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.messages import tokens_in
from bethink.recall.service import AnswerCheck
from bethink.tool import Foretold, ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from bethink.documents.service import Documents
    from bethink.principal import Principal
    from bethink.recall.message_search import MessageSearch

_FAMILY: Final = "knowledge"
_READ_WITHIN_S: Final = 10.0
"""So long a call waits for what it added to be found; it is kept and will be in any case."""
_PATIENCE_S: Final = 30.0
"""Of a call that needs the embedding model, which a slow machine that has just started still loads."""
_MOST: Final = 100
_BEGINNING: Final = 200
"""Characters of a document that a list shows."""
_MOST_TAGS, _MAX_TAG = 32, 60
_NAMED_BY: Final = ("name", "title", "filename", "source", "id")
"""Metadata by which a document is called."""
_ENDS: Final = ".!?\n"

_search_tool = partial(tool, effect="read", trust="untrusted", timeout_s=_PATIENCE_S, family=_FAMILY)


class FoundPassage(BaseModel):
    """A passage; `document` is the id of the document that says it, `score` is 0..1."""

    id: str
    document: str
    name: str
    page: int
    heading: str
    text: str
    score: float
    source: str


class PassagesFound(BaseModel):
    """Passages, best first; `note` says why there are fewer than was asked for."""

    results: list[FoundPassage]
    note: str


class ContextFound(BaseModel):
    """Passages as context: `relevance_scores` in the order of `entries`, `total_tokens` of all texts."""

    entries: list[FoundPassage]
    relevance_scores: list[float]
    total_tokens: int


class QuestionAnswered(BaseModel):
    """What a base says on a question, in its own words; null if nothing answers. `passages` are why."""

    answer: str | None
    passages: list[FoundPassage]


class ListedDocument(BaseModel):
    """A document, and how its text begins."""

    id: str
    name: str
    text: str
    pages: int
    stage: str
    tags: list[str]


class DocumentsListed(BaseModel):
    """Documents, the one that changed last first."""

    status: str
    count: int
    documents: list[ListedDocument]


class DocumentsAdded(BaseModel):
    """The ids of what was added, in its order."""

    status: str
    count: int
    ids: list[str]


class DocumentAdded(BaseModel):
    """The id of what was added."""

    id: str


class DocumentsDeleted(BaseModel):
    """How many documents were deleted."""

    status: str
    count: int


class BaseExported(BaseModel):
    """Where an archive is, and how much it holds."""

    path: str
    documents: int
    passages: int
    note: str


class GivenDocument(BaseModel):
    """A document to add. The same `id` again replaces its text."""

    id: str = Field(min_length=1, max_length=255)
    text: str = Field(min_length=1, max_length=2_000_000)


_Query = Annotated[str, Field(min_length=1, max_length=2_000, description="A question or words")]
_Limit = Annotated[int, Field(ge=1, le=_MOST, description="How many results at most")]


@dataclass(frozen=True, slots=True)
class KnowledgeTools:
    """The tools over the documents that a client has: all of its owner's, or those of one base."""

    documents: Documents
    words: MessageSearch
    base: str | None
    check: AnswerCheck = field(default_factory=AnswerCheck)

    async def _found(
        self, principal: Principal, query: str, limit: int, *, graph: bool = False, sure: float = 0.0
    ) -> list[PassageHit]:
        return await self.documents.bases.search(
            principal, self.base, query, limit=limit, graph=graph, min_similarity=sure
        )

    async def _collection(self, principal: Principal) -> str | None:
        if self.base is None:
            return None
        return (await self.documents.library.collection(principal, self.base)).id

    async def _all(self, principal: Principal) -> list[Document]:
        collection = await self._collection(principal)
        return await self.documents.library.in_scope(principal, Scope(collection=collection))

    async def _add(
        self, principal: Principal, given: Sequence[GivenDocument], tags: tuple[str, ...] = ()
    ) -> list[str]:
        """Keep texts, and wait a moment until they are found; their documents' ids."""
        library, collection = self.documents.library, await self._collection(principal)
        texts = [one for one in await self._all(principal) if one.origin.kind == "text"]
        known = {one.origin.place: one for one in texts}
        added: list[Document] = []
        for one in given:
            new = NewDocument(
                name=one.id,
                content=one.text.encode("utf-8", "replace"),
                media_type="text/markdown",
                collection=collection,
                tags=tags,
                origin=Origin(kind="text", place=one.id),
            )
            held = known.get(one.id)
            known[one.id] = document = (
                await library.add(principal, new)
                if held is None
                else await library.replace(principal, held.id, new)
            )
            added.append(document)
        with anyio.move_on_after(_READ_WITHIN_S):
            await self.documents.ingest.finish(principal, [one.newest for one in added])
        return [one.id for one in added]

    async def _named(self, principal: Principal, ids: Sequence[str]) -> list[Document]:
        """Documents by their ids, or by those under which they were added.

        Raises:
            UnknownId: there is no such document here.
        """
        there = await self._all(principal)
        by_id = {one.origin.place: one for one in there if one.origin.kind == "text"}
        by_id |= {one.id: one for one in there}
        if missing := [id for id in ids if id not in by_id]:
            raise UnknownId(
                f"There is no document {missing[0][:100]!r} here: list_documents shows which are."
            )
        return list({by_id[id].id: by_id[id] for id in ids}.values())

    def _answer(self, question: str, hits: Sequence[PassageHit]) -> str | None:
        """The sentence of these passages that holds most words of a question, with the one behind it."""
        terms = frozenset(self.words.analyzer.question(question))
        best, most = None, 0
        for hit in hits:
            sentences = _sentences(hit.text)
            for number, sentence in enumerate(sentences):
                words = len(
                    {sentence[begin:end].casefold() for begin, end in self.words.marks(sentence, terms)}
                )
                if words > most:
                    best, most = " ".join(sentences[number : number + 2]), words
        return best or (hits[0].text.strip() if hits else None)

    @_search_tool(label="Search: {query}", output=PassagesFound)
    async def semantic_search(
        self,
        context: ToolContext,
        query: _Query,
        limit: _Limit = 5,
        graph: Annotated[bool, Field(description="Also what hangs together with what was found")] = True,  # noqa: FBT002 - a default of the schema
    ) -> ToolOutput:
        """Find the passages of the user's documents that answer a question, by meaning and by words."""
        hits = await self._found(context.principal, query, limit, graph=graph)
        return ToolOutput.of(_passages(hits))

    @_search_tool(label="Search: {query}", output=PassagesFound)
    async def search(self, context: ToolContext, query: _Query, limit: _Limit = 5) -> ToolOutput:
        """Find the passages of the user's documents that answer a question."""
        return ToolOutput.of(_passages(await self._found(context.principal, query, limit)))

    @_search_tool(label="Context: {query}", output=ContextFound)
    async def retrieve_context(
        self,
        context: ToolContext,
        query: _Query,
        limit: _Limit = 5,
        min_similarity: Annotated[
            float, Field(ge=0, le=1, description="Only what answers at least so surely")
        ] = 0.3,
    ) -> ToolOutput:
        """Give context from the user's documents for a question: what answers it, and what is near that."""
        hits = await self._found(context.principal, query, limit, graph=True, sure=min_similarity)
        found = [_passage(hit) for hit in hits]
        return ToolOutput.of(
            ContextFound(
                entries=found,
                relevance_scores=[one.score for one in found],
                total_tokens=sum(tokens_in(one.text) for one in found),
            )
        )

    @_search_tool(label="Answer: {question}", output=QuestionAnswered)
    async def answer_question(
        self,
        context: ToolContext,
        question: _Query,
        limit: Annotated[int, Field(ge=1, le=_MOST, description="Passages to look through")] = 3,
    ) -> ToolOutput:
        """Answer a question with the sentences of the user's documents that say most about it."""
        hits = await self._found(context.principal, question, limit)
        found = [(f"{hit.document.name}\n{hit.heading}\n{hit.text}", hit.score) for hit in hits]
        if not self.check.verdict(question, found).answers:
            hits = []
        answer = self._answer(question, hits)
        return ToolOutput.of(QuestionAnswered(answer=answer, passages=[_passage(hit) for hit in hits]))

    @tool(effect="write", label="Add documents", output=DocumentsAdded, timeout_s=_PATIENCE_S, family=_FAMILY)
    async def add_documents(
        self,
        context: ToolContext,
        documents: Annotated[list[GivenDocument], Field(min_length=1, max_length=_MOST)],
    ) -> ToolOutput:
        """Add texts to the user's documents; one with the `id` of an earlier one takes its place."""
        ids = await self._add(context.principal, documents)
        return ToolOutput.of(DocumentsAdded(status="success", count=len(ids), ids=ids))

    @tool(effect="write", label="Add a document", output=DocumentAdded, timeout_s=_PATIENCE_S, family=_FAMILY)
    async def add_document(
        self,
        context: ToolContext,
        text: Annotated[str, Field(min_length=1, max_length=2_000_000)],
        metadata: Annotated[
            dict[str, str], Field(max_length=_MOST_TAGS, description="`name` names it; the rest are its tags")
        ] = {},  # noqa: B006 - pydantic copies it
    ) -> ToolOutput:
        """Add a text to the user's documents."""
        called = next((metadata[key] for key in _NAMED_BY if metadata.get(key)), "") or _first_line(text)
        tags = tuple(f"{key}: {value}"[:_MAX_TAG] for key, value in metadata.items() if key not in _NAMED_BY)
        (id,) = await self._add(context.principal, [GivenDocument(id=called[:255], text=text)], tags)
        return ToolOutput.of(DocumentAdded(id=id))

    @tool(effect="read", trust="untrusted", label="List documents", output=DocumentsListed, family=_FAMILY)
    async def list_documents(
        self,
        context: ToolContext,
        limit: Annotated[int, Field(ge=1, le=1_000, description="How many at most")] = 100,
    ) -> ToolOutput:
        """List the user's documents, the one that changed last first."""
        principal, library = context.principal, self.documents.library
        wanted = DocumentQuery(collection=await self._collection(principal))
        states: list[DocumentState] = []
        cursor = None
        while len(states) < limit:
            page = await library.list(principal, wanted, limit=min(limit - len(states), _MOST), cursor=cursor)
            states += page.items
            cursor = page.cursor
            if cursor is None:
                break
        listed = [await self._listed(principal, one) for one in states]
        return ToolOutput.of(DocumentsListed(status="success", count=len(listed), documents=listed))

    async def _foretell_delete(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        documents = await self._named(principal, arguments["ids"])
        return Foretold(arguments, "\n".join(one.name for one in documents))

    @tool(
        effect="destructive",
        label="Delete documents",
        foretell=_foretell_delete,
        output=DocumentsDeleted,
        timeout_s=_PATIENCE_S,
        family=_FAMILY,
    )
    async def delete_documents(
        self,
        context: ToolContext,
        ids: Annotated[list[str], Field(min_length=1, max_length=_MOST, description="Of list_documents")],
    ) -> ToolOutput:
        """Delete documents for good, with all that was read of them. The user is asked first."""
        documents = await self._named(context.principal, ids)
        for one in documents:
            await self.documents.library.remove(context.principal, one.id)
        return ToolOutput.of(DocumentsDeleted(status="success", count=len(documents)))

    def _base_of(self, given: str) -> str:
        if not (name := self.base or given):
            raise BadInput("Name the knowledge base: `base`.")
        return name

    async def _foretell_export(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        summary = await self.documents.bases.get(principal, self._base_of(arguments["base"]))
        said = f"{summary.base.name}, {summary.documents:,} documents, into the file {arguments['path']}"
        return Foretold(arguments, said)

    @tool(
        effect="destructive",
        label="Export to {path}",
        foretell=_foretell_export,
        output=BaseExported,
        timeout_s=_PATIENCE_S * 10,
        family=_FAMILY,
    )
    async def export_knowledge_base(
        self,
        context: ToolContext,
        path: Annotated[str, Field(min_length=1, max_length=1_000, description="Of the .tar.gz to write")],
        base: Annotated[str, Field(max_length=255, description="The base's name, if there are several")] = "",
    ) -> ToolOutput:
        """Write a knowledge base to an archive on this machine. The user is asked first."""
        if context.principal.audience.startswith("mcp-http:"):
            raise NotAllowed("Only a program on this machine may have files written: fetch /kb/NAME/export.")
        target = Path(path)
        report = await self.documents.bases.export_file(context.principal, self._base_of(base), target)
        counts = report.counts
        return ToolOutput.of(
            BaseExported(path=path, documents=counts.documents, passages=counts.passages, note=report.note)
        )

    async def _listed(self, principal: Principal, one: DocumentState) -> ListedDocument:
        first = await self.documents.library.pages(principal, one.content.id, first=1, last=1)
        return ListedDocument(
            id=one.document.id,
            name=one.document.name,
            text=first[0].text[:_BEGINNING] if first else "",
            pages=one.content.pages,
            stage=one.content.stage,
            tags=list(one.document.tags),
        )


def _passages(hits: Sequence[PassageHit]) -> PassagesFound:
    note = "" if hits else "Nothing in these documents answers that."
    return PassagesFound(results=[_passage(hit) for hit in hits], note=note)


def _passage(hit: PassageHit) -> FoundPassage:
    return FoundPassage(
        id=hit.id,
        document=hit.document.id,
        name=hit.document.name,
        page=hit.page,
        heading=hit.heading,
        text=hit.text,
        score=round(hit.score, 4),
        source=hit.source,
    )


def _sentences(text: str) -> list[str]:
    sentences, begin = list[str](), 0
    for place, char in enumerate(text):
        if char in _ENDS and (place + 1 == len(text) or text[place + 1].isspace()):
            sentences.append(text[begin : place + 1].strip(" \n#>|"))
            begin = place + 1
    sentences.append(text[begin:].strip(" \n#>|"))
    return [one for one in sentences if one]


def _first_line(text: str) -> str:
    return next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), "text")[:_MAX_TAG]
