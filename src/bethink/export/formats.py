"""The formats of export and import, and how a file's own is recognised. `service` and the doors ask here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from bethink.errors import BadInput
from bethink.export import collection, jsonl, markdown, table
from bethink.export.text_lines import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bethink.export.records import ExportHeader, FactBatch, ImportLine

AUTO = "auto"


class ExportWriter(Protocol):
    """Writes one file, in parts that follow one another."""

    def head(self, about: ExportHeader) -> str:
        """What stands before the facts."""
        ...

    def facts(self, batch: FactBatch) -> str:
        """More facts."""
        ...

    def tail(self) -> str:
        """What stands behind them."""
        ...


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format.

    Its files are named with `suffix`. `by_category` has facts come category by
    category, else oldest first; `only_active` leaves out what is past;
    `with_vectors` has each come with its vector.
    """

    suffix: str
    media_type: str
    writer: Callable[[], ExportWriter]
    read: Callable[[BinaryIO], Iterator[ImportLine]]
    by_category: bool = False
    only_active: bool = False
    with_vectors: bool = False


FORMATS: dict[str, ExportFormat] = {
    "jsonl": ExportFormat(".jsonl", "application/x-ndjson", jsonl.JsonLinesWriter, jsonl.read),
    "md": ExportFormat(
        ".md", "text/markdown; charset=utf-8", markdown.MarkdownWriter, markdown.read, by_category=True
    ),
    "csv": ExportFormat(".csv", "text/csv; charset=utf-8; header=present", table.CsvWriter, table.read),
    "data.json": ExportFormat(
        ".json",
        "application/json",
        collection.DataFileWriter,
        collection.read,
        only_active=True,
        with_vectors=True,
    ),
}


def format_named(name: str) -> ExportFormat:
    """The format of this name.

    Raises:
        BadInput: there is none.
    """
    if (found := FORMATS.get(name)) is None:
        message = f"There is no format {name!r}: choose one of {', '.join(FORMATS)}."
        raise BadInput(message)
    return found


def recognised(file: BinaryIO) -> str:
    """The name of a file's format, by how it begins.

    Raises:
        BadInput: it is not UTF-8, it is empty, or it begins like none of them.
    """
    head = opening(file)
    first = head.partition("\n")[0]
    if not head:
        raise BadInput("The file is empty.")
    if collection.is_collection(head):
        return "data.json"
    if head.startswith("{"):
        return "jsonl"
    if table.delimiter_of(first) is not None:
        return "csv"
    if head.startswith(("#", "- ", "* ", "+ ", "1.", "<!--", "---\n", "---\r\n")):
        return "md"
    message = f"The file's format is not known by its beginning: name one of {', '.join(FORMATS)}."
    raise BadInput(message)
