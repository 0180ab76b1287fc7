"""`data.json` as the general purpose agent keeps it (spec 000, "Storage Format"), read and written.

It knows neither states nor history: what is written are the active facts, with
integer ids and with vectors, which its readers need. What is read becomes
facts with ids made from what they say, so that a file read twice is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from bethink.clock import hashed_id, time_of
from bethink.errors import BadInput, TooLarge
from bethink.export.records import BadLine, ExportHeader, ExportWriter, FactBatch, ImportLine, KeptFact
from bethink.memory import Fact, NewFact, Source

MAX_BYTES = 1_000_000_000
"""The format is one JSON document, read whole: some 120,000 memories with their vectors."""

_DIGITS = 7
"""Significant digits of a float32."""
_S = 1_000_000
_EARLIEST_S = 946_684_800
"""An id below the year 2000 is a counter, not the time that spec 002 ("MemoryData") makes it."""
_IDS = range(-(2**63), 2**63)


class _FactData(msgspec.Struct, frozen=True):
    id: int
    content: str
    importance: float = 0.5
    category: str = "general"
    topics: tuple[str, ...] = ()


class _StoredMemory(msgspec.Struct, frozen=True):
    data: _FactData


class _DataFile(msgspec.Struct, frozen=True):
    memories: list[msgspec.Raw]
    updated_at: str | None = None


_memory = msgspec.json.Decoder(_StoredMemory)
_file = msgspec.json.Decoder(_DataFile)


class DataFileWriter(ExportWriter):
    """Writes one file; facts come with their vectors, oldest first."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._end = ""

    def head(self, about: ExportHeader) -> str:
        """The document's beginning."""
        dates = {"updated_at": about.at, "last_deduplicated_at": about.consolidated_at}
        self._end = "]," + msgspec.json.encode(dates).decode()[1:]
        return '{"memories":['

    def facts(self, batch: FactBatch) -> str:
        """More facts."""
        vectors: Sequence[Sequence[float]] = [] if batch.vectors is None else batch.vectors.tolist()
        written: list[str] = []
        for fact, vector in zip(batch.facts, vectors, strict=True):
            separator = "," if self._ids else ""
            # Its own integer id, or the second in which it was learnt, or the next one that is free.
            id = fact.created_at // _S if fact.legacy_id is None else fact.legacy_id
            while id in self._ids:
                id += 1
            self._ids.add(id)
            data = {
                "id": id,
                "content": fact.content,
                "importance": fact.importance,
                "category": fact.category,
                "topics": fact.topics,
            }
            embedding = ",".join(f"{value:.{_DIGITS}g}" for value in vector)
            document = msgspec.json.encode(data).decode()
            written.append(f'{separator}{{"data":{document},"embedding":[{embedding}]}}')
        return "".join(written)

    def tail(self) -> str:
        """The document's end."""
        return f"{self._end}\n"


def read(file: BinaryIO) -> Iterator[ImportLine]:
    """What each memory says, in order; its number counts memories, for the file may be one line.

    Raises:
        BadInput: the file is not such a document.
        TooLarge: it is too large to be read whole.
    """
    file.seek(0)
    body = file.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise TooLarge(f"The file is larger than {MAX_BYTES // _S:,} MB; split it into several.")
    try:
        found = _file.decode(body.removeprefix(b"\xef\xbb\xbf"))
        updated_at = None if found.updated_at is None else time_of(found.updated_at)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"This is not a memory file of the general purpose agent: {error}.") from error
    for number, raw in enumerate(found.memories, 1):
        yield _line(number, raw, updated_at=updated_at)


def _line(number: int, raw: msgspec.Raw, *, updated_at: int | None) -> ImportLine:
    try:
        data = _memory.decode(raw).data
        said = NewFact(data.content, data.category, data.importance, data.topics).checked()
    except BadInput as error:
        return BadLine(number, error.message)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadLine(number, f"{error}.")
    if data.id not in _IDS:
        return BadLine(number, "its id does not fit into 64 bits.")
    at = data.id * _S if _EARLIEST_S <= data.id < 10 * _EARLIEST_S else updated_at or 0
    return KeptFact(
        number,
        Fact(
            id=hashed_id(at, msgspec.json.encode((data.id, data.content))),
            content=said.content,
            digest="",
            weight=0,
            created_at=at,
            category=said.category,
            importance=said.importance,
            topics=said.topics,
            sources=(Source(kind="import", at=at),),
            trust="untrusted",
            legacy_id=data.id,
        ),
    )


def is_collection(head: str) -> bool:
    """Whether a file that begins so is such a document."""
    return head.startswith("{") and '"memories"' in head.partition("[")[0]
