"""Documents as people and models call them: by id, by an address, by a citation, by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bethink.documents.model import DocumentQuery
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    from bethink.documents.library import Library
    from bethink.documents.records import Document
    from bethink.principal import Principal

_ADDRESS: Final = re.compile(r"(?:.*/documents/|document:)([0-9a-f-]{36})(?:[/?#].*)?", re.DOTALL)
_LISTED: Final = 20


async def documents_named(library: Library, principal: Principal, wanted: str) -> list[Document]:
    """The document with this id or address, else those with this name, the newest first."""
    wanted = wanted.strip()
    match = _ADDRESS.fullmatch(wanted)
    for id in (match[1], wanted) if match else (wanted,):
        try:
            return [await library.get(principal, id)]
        except UnknownId:
            pass
    name = unquote(wanted.rstrip("/").rpartition("/")[2])
    if not name:
        return []
    listed = await library.list(principal, DocumentQuery(text=name), limit=_LISTED)
    return [one.document for one in listed.items if one.document.name.casefold() == name.casefold()]


async def document_named(library: Library, principal: Principal, wanted: str) -> Document:
    """The one document that is meant.

    Raises:
        UnknownId: there is none.
        BadInput: there are several of this name.
    """
    found = await documents_named(library, principal, wanted)
    if not found:
        raise UnknownId(f"There is no document {wanted[:200]!r}.")
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise BadInput(f"There are {len(found)} documents {wanted[:200]!r}: name one by its id: {ids}.")
    return found[0]
