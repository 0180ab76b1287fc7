"""A user's memory while their requests are answered: taken from their bucket, and put back there.

The facts live in the memory of this process, under an owner of their own, so that
everything that works with facts works with these. They are put back before an
answer ends, since the key that may write them ends with it.

The file is `__long-memories/data.json`, its form spec 000's ("Storage Format"). What that form
does not know (dates, sources, what was superseded, which model made a vector) stands in fields
named `bethink`, which other programs pass over; what other programs added is kept as it stands.
Entries that did not change are written back byte for byte.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import to_datetime, to_us
from bethink.dial.core import Core, url_in
from bethink.errors import BadInput, BethinkError, DialChanged, NewerSchema
from bethink.export.collection import read
from bethink.export.records import KeptFact
from bethink.memory import FACTS, STEPS, Fact, Memory
from bethink.memory.facts import digest
from bethink.store import DeleteAll
from bethink.telemetry import log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel
    from bethink.principal import Principal

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
class BucketFact:
    """A fact of the file. `raw` is how it stands there, `vector` its vector if it is of our model.

    One that is `changed` does not stand there so any more.
    """

    fact: Fact
    raw: bytes | None = field(default=None, repr=False)
    vector: Vector | None = field(default=None, repr=False)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One version of the file: its facts by their ids, in order, and what is not ours to change.

    `strange` are entries that are no facts; `deduplicated_at` is microseconds UTC.
    """

    entries: Mapping[str, BucketFact] = field(default_factory=dict[str, BucketFact])
    strange: tuple[bytes, ...] = ()
    rest: Mapping[str, msgspec.Raw] = field(default_factory=dict[str, msgspec.Raw])
    deduplicated_at: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost with the file."""
        return not (self.entries or self.strange or self.rest)


def parse(content: bytes, model: EmbeddingModel) -> MemoryFile:
    """What a file says. Vectors of another model than `model` are left out.

    Raises:
        BadInput: it is no such file.
        NewerSchema: a newer Bethink wrote it.
    """
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        root = msgspec.json.decode(content, type=_Root)
        rest = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        own = root.bethink
        if own.schema > SCHEMA:
            raise NewerSchema
        others = [msgspec.json.decode(raw, type=Fact) for raw in own.facts]
        at = None if root.last_deduplicated_at is None else to_us(_zoned(root.last_deduplicated_at))
        # It is written again, as a time of UTC, for which a day may be missing at either end.
        to_datetime(at or 0)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise BadInput(f"The memory file in DIAL is damaged or not one: {error}.") from error
    except RecursionError as error:
        raise BadInput("The memory file in DIAL is not one: it is nested too deep.") from error
    entries: dict[str, BucketFact] = {}
    strange: list[bytes] = []
    for raw, line in zip(root.memories, read(io.BytesIO(content)), strict=True):
        entry = _entry(bytes(raw), line.fact, model) if isinstance(line, KeptFact) else None
        if entry is None or entry.fact.id in entries:
            strange.append(bytes(raw))
        else:
            entries[entry.fact.id] = entry
    entries |= {fact.id: BucketFact(fact) for fact in others if fact.id not in entries}
    known = {"memories", "updated_at", "last_deduplicated_at", _OWN}
    kept = {name: raw for name, raw in rest.items() if name not in known}
    return MemoryFile(entries, tuple(strange), kept, at)


def merged(base: Mapping[str, Fact], ours: Mapping[str, BucketFact], theirs: MemoryFile) -> MemoryFile:
    """The file as it is by now, with what we changed since `base` was read from it.

    What either side removed is gone; what both changed is as we have it.
    """
    digests = {digest(entry.fact.content) for id, entry in theirs.entries.items() if id not in base}
    entries: dict[str, BucketFact] = {}
    for id, entry in theirs.entries.items():
        if id not in base:
            entries[id] = entry
        elif id in ours:
            # A vector that was worked out meanwhile is worth being kept, too.
            same = ours[id].fact == base[id] and (ours[id].vector is None or entry.vector is not None)
            entries[id] = (
                entry if same else BucketFact(ours[id].fact, entry.raw, ours[id].vector, changed=True)
            )
    for id, entry in ours.items():
        if id not in base and id not in entries and digest(entry.fact.content) not in digests:
            entries[id] = entry
    return MemoryFile(entries, theirs.strange, theirs.rest, theirs.deduplicated_at)


def written(document: MemoryFile, model: EmbeddingModel, *, now: int) -> bytes:
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


def _entry(raw: bytes, told: Fact, model: EmbeddingModel) -> BucketFact | None:
    """An entry: the fact as Bethink wrote it, unless another program has changed what it says since."""
    try:
        entry = msgspec.json.decode(raw, type=_Entry)
        own = None if entry.bethink is None else msgspec.json.decode(entry.bethink.fact, type=Fact)
    except msgspec.DecodeError:
        return BucketFact(told, raw)
    is_current = own is not None and _said(own) == _said(told)
    fact = own if own is not None and is_current else told
    vector = None
    if is_current and entry.bethink and entry.bethink.model == _named(model):
        vector = _vector(entry.bethink.vector or entry.embedding, model)
    return BucketFact(msgspec.structs.replace(fact, legacy_id=told.legacy_id), raw, vector)


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


def _encoded(entry: BucketFact, number: int, model: EmbeddingModel) -> bytes:
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
    before: dict[str, Any] | None = known.get(_OWN)
    is_theirs = bool(known.get("embedding")) and (before is None or "vector" in before)
    if is_theirs and told.get("content") == fact.content:
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


def _zoned(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=to_datetime(0).tzinfo)


FOLDER, NAME = "__long-memories", "data.json"
"""Spec 000, "Memory storage": `files/{appdata}/__long-memories/data.json`."""
_TRIES: Final = 8
_PAUSE_S: Final = 0.05
_MAX_BYTES: Final = 200_000_000
_DAY_US: Final = 86_400_000_000
_FEW: Final = 10
"""Of fewer facts nothing is merged (spec 000, "Deduplication")."""
_MERGE_S: Final = 5.0
"""How long an answer's end may wait until duplicates are merged; else it is tried the next time."""

_log = log("dial")


@dataclass(slots=True)
class BucketMemory:
    """The facts of one user under `principal`, and the version of the file that they came from.

    `fault` says why they could not be loaded, None while they could; then nothing
    is remembered and nothing written.
    """

    memory: Memory
    principal: Principal
    home: str
    fault: BethinkError | None = None
    _etag: str | None = None
    _file: MemoryFile | None = None
    _base: Mapping[str, Fact] = field(default_factory=dict[str, "Fact"])
    _is_stale: bool = False
    _early: bool = False

    @property
    def url(self) -> str:
        """The file."""
        return url_in(self.home, FOLDER, NAME)

    async def load(self, core: Core) -> None:
        """Take the facts from the bucket, unless those that are here are of that very version.

        What goes wrong is left in `fault`: an error is not an empty memory.
        """
        try:
            await self._load(core)
            self.fault = None
        except BethinkError as error:
            _log.warning("a memory was not loaded: %s", error)
            self.fault = error
            await self.drop()

    async def drop(self) -> None:
        """Hold no facts any more."""
        self._file, self._etag, self._base, self._is_stale = None, None, {}, False
        await self.memory.store.commit(self.principal.owner, [DeleteAll(FACTS), DeleteAll(STEPS)])

    async def save(self, core: Core) -> bool:
        """Put back what was changed, duplicates merged where that is due; whether anything was.

        Raises:
            DialError: it is not kept; the sentence says why.
        """
        if self.fault is not None or self._file is None:
            return False
        tidied = await self._merge_duplicates()
        is_changed = await self._put_back(core, anyway=tidied)
        early, self._early = self._early, False
        return is_changed or early

    async def save_early(self, core: Core) -> None:
        """Put back what was changed so far; what fails is tried again by `save`."""
        if self.fault is not None or self._file is None:
            return
        try:
            self._early |= await self._put_back(core)
        except BethinkError as error:
            _log.info("a memory is put back later: %s", error)

    async def _put_back(self, core: Core, *, anyway: bool = False) -> bool:
        ours = await self._entries()
        if not anyway and {id: entry.fact for id, entry in ours.items()} == self._base:
            return False
        for tried in range(_TRIES):
            document = merged(self._base, ours, self._file or MemoryFile())
            try:
                self._etag = await self._write(core, document)
            except DialChanged:
                await asyncio.sleep(tried * _PAUSE_S)
                await self._read(core)
                continue
            self._file = document
            # What others have added since is loaded with the next request.
            self._is_stale |= set(document.entries) != set(ours)
            self._base = {id: entry.fact for id, entry in ours.items()}
            return True
        raise DialChanged(f"{self.url} was changed by others {_TRIES} times meanwhile: nothing was stored.")

    async def _load(self, core: Core) -> None:
        is_current = self._file is not None and self._etag is not None and not self._is_stale
        if is_current and await core.etag(self.url) == self._etag:
            return
        await self.drop()
        self._file = await self._read(core)
        entries = self._file.entries.values()
        vectors = {entry.fact.id: entry.vector for entry in entries if entry.vector is not None}
        facts = [entry.fact for entry in entries]
        await self.memory.restore_many(self.principal, facts, source="dial", vectors=vectors)
        self._base = {id: entry.fact for id, entry in (await self._entries(bare=True)).items()}

    async def _read(self, core: Core) -> MemoryFile:
        held = await core.get(self.url, max_bytes=_MAX_BYTES)
        self._etag = held and held.etag
        self._file = MemoryFile() if held is None else parse(held.content, self.memory.embeddings.model)
        return self._file

    async def _write(self, core: Core, document: MemoryFile) -> str | None:
        if document.is_empty:
            await core.delete(self.url, etag=self._etag)
            return None
        content = written(document, self.memory.embeddings.model, now=self.memory.clock.now_us())
        new = self._etag is None
        return await core.put(self.url, content, "application/json", etag=self._etag, new=new)

    async def _entries(self, *, bare: bool = False) -> dict[str, BucketFact]:
        """What is here now; without vectors if `bare`."""
        facts = [fact async for page in self.memory.pages(self.principal) for fact in page]
        ids = [fact.id for fact in facts if fact.state == "active" and not bare]
        model = self.memory.embeddings.model
        vectors = await self.memory.index.vectors(self.principal.owner, model, ids)
        firsts = {id: of_fact[0] for id, of_fact in vectors.items()}
        return {fact.id: BucketFact(fact, vector=firsts.get(fact.id)) for fact in facts}

    async def _merge_duplicates(self) -> bool:
        """Once a day, where there are more than ten facts (spec 000): while the key still lives."""
        if self._file is None or len(self._base) <= _FEW:
            return False
        now = self.memory.clock.now_us()
        last = self._file.deduplicated_at
        if last is not None and now - last < _DAY_US:
            return False
        try:
            async with asyncio.timeout(_MERGE_S):
                await self.memory.consolidate(self.principal)
        except TimeoutError:
            _log.info("duplicates are merged another time")
        except BethinkError as error:
            _log.warning("duplicates were not merged: %s", error)
        else:
            self._file = replace(self._file, deduplicated_at=now)
            return True
        return False
