"""The memory file in a user's bucket, `__long-memories/data.json`: read, merged and written again.

Its form is spec 000's ("Storage Format"). What that form does not know (dates, sources,
what was superseded, which model made a vector) stands in fields named `bethink`,
which other programs pass over; what other programs added is kept as it stands. Entries
that did not change are written back byte for byte.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput, NewerSchema
from bethink.export.collection import read
from bethink.export.records import KeptFact
from bethink.memory import Fact
from bethink.memory.facts import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel

    Vector = NDArray[np.float32]

SCHEMA: Final = 1
_DIGITS: Final = 7
"""Significant digits of a float32."""
_FLOAT_BYTES: Final = 4
_S: Final = 1_000_000
_OWN: Final = "bethink"


class _Own(msgspec.Struct, frozen=True, omit_defaults=True):
    """What Bethink adds to an entry: the whole fact, and the model that made the vector.

    The vector stands here where the entry's own is another program's: float32 in base64.
    """

    fact: msgspec.Raw = msgspec.Raw(b"null")
    model: str = ""
    vector: bytes = b""


class _Entry(msgspec.Struct, frozen=True):
    embedding: list[float] = []
    bethink: _Own | None = None


class _OwnRoot(msgspec.Struct, frozen=True):
    schema: int = SCHEMA
    facts: list[msgspec.Raw] = []


class _Root(msgspec.Struct, frozen=True):
    memories: list[msgspec.Raw] = []
    last_deduplicated_at: str | None = None
    bethink: _OwnRoot = _OwnRoot()


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact of the file. `raw` is how it stands there, `vector` its vector if it is of our model.

    One that is `changed` does not stand there so any more.
    """

    fact: Fact
    raw: bytes | None = field(default=None, repr=False)
    vector: Vector | None = field(default=None, repr=False)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One version of the file: its facts by their ids, in order, and what is not ours to change.

    `strange` are entries that are no facts; `deduplicated_at` is microseconds UTC.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    strange: tuple[bytes, ...] = ()
    rest: Mapping[str, msgspec.Raw] = field(default_factory=dict[str, msgspec.Raw])
    deduplicated_at: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost with the file."""
        return not (self.entries or self.strange or self.rest)

    def deduplicated(self, at: int) -> Document:
        """The same, its duplicates merged at that time."""
        return replace(self, deduplicated_at=at)


def parse(content: bytes, model: EmbeddingModel) -> Document:
    """What a file says. Vectors of another model than `model` are left out.

    Raises:
        BadInput: it is no such file.
        NewerSchema: a newer Bethink wrote it.
    """
    try:
        return _parsed(content, model)
    except RecursionError as error:
        raise BadInput("The memory file in DIAL is not one: it is nested too deep.") from error


def _parsed(content: bytes, model: EmbeddingModel) -> Document:
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        root = msgspec.json.decode(content, type=_Root)
        rest = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        own = root.bethink
        if own.schema > SCHEMA:
            raise NewerSchema
        others = [msgspec.json.decode(raw, type=Fact) for raw in own.facts]
        deduplicated = root.last_deduplicated_at
        at = None if deduplicated is None else to_us(_zoned(deduplicated))
        # It is written again, as a time of UTC, for which a day may be missing at either end.
        to_datetime(at or 0)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise BadInput(f"The memory file in DIAL is damaged or not one: {error}.") from error
    entries: dict[str, Entry] = {}
    strange: list[bytes] = []
    for raw, line in zip(root.memories, read(io.BytesIO(content)), strict=True):
        entry = _entry(bytes(raw), line.fact, model) if isinstance(line, KeptFact) else None
        if entry is None or entry.fact.id in entries:
            strange.append(bytes(raw))
        else:
            entries[entry.fact.id] = entry
    entries |= {fact.id: Entry(fact) for fact in others if fact.id not in entries}
    known = {"memories", "updated_at", "last_deduplicated_at", _OWN}
    kept = {name: raw for name, raw in rest.items() if name not in known}
    return Document(entries, tuple(strange), kept, at)


def merged(base: Mapping[str, Fact], ours: Mapping[str, Entry], theirs: Document) -> Document:
    """The file as it is by now, with what we changed since `base` was read from it.

    What either side removed is gone; what both changed is as we have it.
    """
    digests = {digest(entry.fact.content) for id, entry in theirs.entries.items() if id not in base}
    entries: dict[str, Entry] = {}
    for id, entry in theirs.entries.items():
        if id not in base:
            entries[id] = entry
        elif id in ours:
            # A vector that was worked out meanwhile is worth being kept, too.
            same = ours[id].fact == base[id] and (ours[id].vector is None or entry.vector is not None)
            entries[id] = entry if same else Entry(ours[id].fact, entry.raw, ours[id].vector, changed=True)
    for id, entry in ours.items():
        if id not in base and id not in entries and digest(entry.fact.content) not in digests:
            entries[id] = entry
    return Document(entries, theirs.strange, theirs.rest, theirs.deduplicated_at)


def written(document: Document, model: EmbeddingModel, *, now: int) -> bytes:
    """The file. Entries that were not changed keep their bytes."""
    ids = _Numbers(entry.fact for entry in document.entries.values())
    memories: list[bytes] = [*document.strange]
    others: list[msgspec.Raw] = []
    for entry in document.entries.values():
        if entry.fact.state != "active":
            others.append(msgspec.Raw(msgspec.json.encode(entry.fact)))
        elif entry.raw is not None and not entry.changed:
            memories.append(entry.raw)
        else:
            memories.append(_encoded(entry, ids.of(entry.fact), model))
    done = document.deduplicated_at
    root = {
        **document.rest,
        "updated_at": to_datetime(now).isoformat(),
        "last_deduplicated_at": None if done is None else to_datetime(done).isoformat(),
        _OWN: {"schema": SCHEMA, "facts": others},
    }
    return b'{"memories":[' + b",".join(memories) + b"]," + msgspec.json.encode(root)[1:]


class _Numbers:
    """Integer ids, as the form asks: each fact's own, else the second in which it was learnt."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._taken = {fact.legacy_id for fact in facts if fact.legacy_id is not None}

    def of(self, fact: Fact) -> int:
        if fact.legacy_id is not None:
            return fact.legacy_id
        number = fact.created_at // _S
        while number in self._taken:
            number += 1
        self._taken.add(number)
        return number


def _entry(raw: bytes, told: Fact, model: EmbeddingModel) -> Entry | None:
    """An entry: the fact as Bethink wrote it, unless another program has changed what it says since."""
    try:
        entry = msgspec.json.decode(raw, type=_Entry)
        own = None if entry.bethink is None else msgspec.json.decode(entry.bethink.fact, type=Fact)
    except msgspec.DecodeError:
        return Entry(told, raw)
    is_current = own is not None and _said(own) == _said(told)
    fact = own if own is not None and is_current else told
    vector = None
    if is_current and entry.bethink and entry.bethink.model == _named(model):
        vector = _vector(entry.bethink.vector or entry.embedding, model)
    return Entry(msgspec.structs.replace(fact, legacy_id=told.legacy_id), raw, vector)


def _vector(embedding: list[float] | bytes, model: EmbeddingModel) -> Vector | None:
    import numpy as np

    is_packed = isinstance(embedding, bytes)
    if len(embedding) != model.dimensions * (_FLOAT_BYTES if is_packed else 1):
        return None
    with np.errstate(over="ignore"):
        vector = (
            np.frombuffer(embedding, dtype="<f4")
            if isinstance(embedding, bytes)
            else np.asarray(embedding, dtype=np.float32)
        )
        norm = float(np.linalg.norm(vector))
    return vector / norm if 0.5 < norm < 2 else None  # noqa: PLR2004 - of length 1, but for rounding


def _said(fact: Fact) -> tuple[str, str, float, tuple[str, ...]]:
    return fact.content, fact.category, fact.importance, fact.topics


def _named(model: EmbeddingModel) -> str:
    return f"{model.id} {model.tokenizer}"


def _encoded(entry: Entry, number: int, model: EmbeddingModel) -> bytes:
    """An entry with what other programs had added to it."""
    fact, vector = entry.fact, entry.vector
    known: dict[str, Any] = msgspec.json.decode(entry.raw) if entry.raw else {}
    told: dict[str, Any] = known.get("data") or {}
    data = told | {
        "id": number,
        "content": fact.content,
        "importance": fact.importance,
        "category": fact.category,
        "topics": fact.topics,
    }
    own: dict[str, Any] = {"fact": fact}
    if vector is not None:
        own["model"] = _named(model)
    if told.get("content") == fact.content and _is_theirs(known):
        # Another program's vector, which it may go by: ours stands beside it.
        if vector is not None:
            own["vector"] = vector.astype("<f4").tobytes()
        return msgspec.json.encode(known | {"data": data, _OWN: own})
    # Readers of the form stack the vectors: one that is missing is one that is near nothing.
    values = [0.0] * model.dimensions if vector is None else vector.tolist()
    embedding = "[" + ",".join(f"{value:.{_DIGITS}g}" for value in values) + "]"
    return msgspec.json.encode(
        known | {"data": data, "embedding": msgspec.Raw(embedding.encode()), _OWN: own}
    )


def _is_theirs(known: dict[str, Any]) -> bool:
    """Whether an entry's vector is another program's."""
    own: dict[str, Any] | None = known.get(_OWN)
    return bool(known.get("embedding")) and (own is None or "vector" in own)


def _zoned(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=to_datetime(0).tzinfo)
