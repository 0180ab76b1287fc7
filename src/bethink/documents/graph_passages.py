"""Passages as the graph shows them. `service` makes it; `graph` above calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.documents.records import DOCUMENTS, KIND, PASSAGES, passage_id
from bethink.feature import GraphItem, GraphKind, graph_label
from bethink.store import Scan, records_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.documents.library import Library
    from bethink.documents.model import PassageHit
    from bethink.principal import Principal

_DOCUMENT: Final = "document:"
_OF_ONE: Final = 40
"""Passages of one document that are shown, if it is named."""
_NEWEST: Final = Scan(DOCUMENTS, order="updated_at", reverse=True, limit=200)


@dataclass(frozen=True, slots=True)
class PassageGraph:
    """The passages of all owners, each in its document and between those before and behind it."""

    library: Library

    @property
    def kind(self) -> GraphKind:
        """How they stand in the graph."""
        return GraphKind(newest=self.newest, of_items=self.of_items, of_nodes=self.of_nodes)

    async def newest(
        self, principal: Principal, limit: int, part_of: frozenset[str] | None
    ) -> tuple[list[GraphItem], int]:
        """Passages of the newest documents by turns: the first of each, the second of each."""
        owner, store = principal.owner, self.library.store
        if part_of is None:
            total = await store.count(owner, PASSAGES, {})
        else:
            total = sum([await store.count(owner, PASSAGES, {"content": one}) for one in part_of])
        contents: dict[str, None] = {}
        async for document in records_of(store, owner, _NEWEST):
            if part_of is None or document.content in part_of:
                contents[document.content] = None
            if len(contents) == limit:
                break
        rows = await self._ids(owner, [*contents], limit)
        longest = max(map(len, rows), default=0)
        ids = [row[turn] for turn in range(longest) for row in rows if turn < len(row)][:limit]
        return [*(await self.of_items(principal, ids)).values()], total

    async def of_items(self, principal: Principal, ids: Sequence[str]) -> dict[str, GraphItem]:
        """The passages with these ids that are there."""
        hits = await self.library.hits(principal, [(id, 1.0) for id in ids])
        return {hit.id: _item(hit) for hit in hits}

    async def of_nodes(self, principal: Principal, ids: Sequence[str]) -> list[GraphItem]:
        """The passages that are named, and the first of the documents that are."""
        owner, store = principal.owner, self.library.store
        wanted = [id for id in ids if not id.startswith(_DOCUMENT)]
        for id in ids:
            if id.startswith(_DOCUMENT):
                (held,) = await store.get(DOCUMENTS, owner, [id.removeprefix(_DOCUMENT)])
                if held is not None:
                    wanted += (await self._ids(owner, [held.record.content], _OF_ONE))[0]
        return [*(await self.of_items(principal, wanted)).values()]

    async def _ids(self, owner: str, contents: Sequence[str], limit: int) -> list[list[str]]:
        """The first passages of each of these contents, in their order."""
        scans = [Scan(PASSAGES, {"content": one}, order="number", limit=limit) for one in contents]
        pages = await self.library.store.scan(owner, *scans) if scans else []
        return [[item.record.id for item in page.items] for page in pages]


def _item(hit: PassageHit) -> GraphItem:
    content, _, number = hit.id.rpartition(":p")
    place = int(number)
    return GraphItem(
        id=hit.id,
        kind=KIND,
        label=hit.heading or hit.label or graph_label(hit.text),
        text=hit.text,
        source=hit.source,
        items=(hit.id,),
        whole=(f"{_DOCUMENT}{hit.document.id}", hit.document.name),
        page=hit.page,
        names=(hit.document.name,),
        before=passage_id(content, place - 1) if place else None,
        behind=passage_id(content, place + 1),
    )
