"""A user's memory while their requests are answered: taken from their bucket, and put back there.

The facts live in the memory of this process, under an owner of their own, so that
everything that works with facts works with these. They are put back before an
answer ends, since the key that may write them ends with it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.dial.core import url_in
from bethink.dial.facts_file import Document, Entry, merged, parse, written
from bethink.errors import BethinkError, DialChanged
from bethink.memory import FACTS, STEPS
from bethink.store import DeleteAll
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.dial.core import Core
    from bethink.memory import Fact, Memory
    from bethink.principal import Principal

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
    _file: Document | None = None
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
            document = merged(self._base, ours, self._file or Document())
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

    async def _read(self, core: Core) -> Document:
        held = await core.get(self.url, max_bytes=_MAX_BYTES)
        self._etag = held and held.etag
        self._file = Document() if held is None else parse(held.content, self.memory.embeddings.model)
        return self._file

    async def _write(self, core: Core, document: Document) -> str | None:
        if document.is_empty:
            await core.delete(self.url, etag=self._etag)
            return None
        content = written(document, self.memory.embeddings.model, now=self.memory.clock.now_us())
        new = self._etag is None
        return await core.put(self.url, content, "application/json", etag=self._etag, new=new)

    async def _entries(self, *, bare: bool = False) -> dict[str, Entry]:
        """What is here now; without vectors if `bare`."""
        facts = [fact async for page in self.memory.pages(self.principal) for fact in page]
        ids = [fact.id for fact in facts if fact.state == "active" and not bare]
        model = self.memory.embeddings.model
        vectors = await self.memory.index.vectors(self.principal.owner, model, ids)
        return {fact.id: Entry(fact, vector=vectors.get(fact.id)) for fact in facts}

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
            self._file = self._file.deduplicated(now)
            return True
        return False
