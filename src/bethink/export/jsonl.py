"""JSON Lines: a header, then a fact a line with every field it has. Nothing is lost either way.

Records of other features follow, in their own document forms, and conversations if they are asked for.

Files of other programs are read too: each line an object with `content` (or
`memory`, `text`) and what else it has of category, importance, topics, dates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from bethink.export.conversations import conversation_from, message_from
from bethink.export.records import (
    SCHEMA,
    BadLine,
    ExportWriter,
    check_schema,
    document_of,
    kept_from,
    lines,
    record_from,
    stated_from,
)

if TYPE_CHECKING:
    from bethink.export.records import ExportHeader, FactBatch, ImportLine
    from bethink.feature import DocumentForm

_HEADER = "bethink_memory"
_READERS = {"fact": kept_from, "conversation": conversation_from, "message": message_from}


class JsonLinesWriter(ExportWriter):
    """Writes one file."""

    def head(self, about: ExportHeader) -> str:
        """The header."""
        header = {"kind": _HEADER, "schema": SCHEMA, "exported_at": about.at, "program": about.program}
        talk = {} if about.conversations is None else {"conversations": about.conversations}
        return _line(header | {"facts": about.facts} | talk)

    def facts(self, batch: FactBatch) -> str:
        """More facts."""
        return "".join(_line({"kind": "fact", **document_of(fact)}) for fact in batch.facts)

    def talk(self, documents: Sequence[Mapping[str, Any]]) -> str:
        """People, conversations and messages."""
        return "".join(map(_line, documents))


def read(file: BinaryIO, forms: Mapping[str, DocumentForm] | None = None) -> Iterator[ImportLine]:
    """What each line says, in order; `forms` are those of features' records, by kind.

    Raises:
        NewerSchema: a newer Bethink wrote the file.
    """
    is_ours = False
    for found in lines(file):
        if isinstance(found, BadLine):
            yield found
            continue
        number, text = found
        if not text.strip():
            continue
        document = _object(number, text)
        if isinstance(document, BadLine):
            yield document
            continue
        kind = document.get("kind")
        if kind == _HEADER:
            check_schema(document.get("schema"))
            is_ours = True
        elif not is_ours or not isinstance(kind, str):
            yield stated_from(number, document)
        elif kind in _READERS:
            yield _READERS[kind](number, document)
        elif forms is not None and kind in forms:
            yield record_from(number, document, forms[kind])
        else:
            yield stated_from(number, document)


def _object(number: int, text: str) -> dict[str, Any] | BadLine:
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return BadLine(number, f"this is not JSON: {error}.")
    except RecursionError:
        return BadLine(number, "this is nested too deeply.")
    if not isinstance(document, dict):
        return BadLine(number, "this is not a JSON object: each line is one, in braces.")
    return cast("dict[str, Any]", document)


def _line(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode() + "\n"
