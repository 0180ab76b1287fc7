"""A library of documents over in-memory ports, read by a fake that starts no process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import numpy as np
from numpy.typing import NDArray

from bethink.documents.ingest import Ingest
from bethink.documents.library import Library
from bethink.documents.model import NewDocument
from bethink.documents.reading.extraction import Extraction
from bethink.documents.reading.messages import Extracted, Kind
from bethink.documents.records import Content, Document
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import DocumentError
from bethink.principal import Principal
from bethink.store import Collection
from tests.house import House, open_house, ports_of


@dataclass(slots=True)
class FakeExtraction:
    """Reads text whose pages form feeds part; what begins with BROKEN cannot be read.

    While `gate` is there, what is read waits for it; `read_names` are the files that were read.
    """

    read_names: list[str] = field(default_factory=list[str])
    gate: anyio.Event | None = None
    state: str = "Documents are read by a fake."

    @asynccontextmanager
    async def kept_warm(self) -> AsyncGenerator[None]:
        yield

    async def kind(self, path: Path, name: str, media_type: str) -> Kind | None:
        del path, name, media_type
        return "text"

    async def read(
        self, path: Path, name: str, media_type: str, *, first: int = 1, last: int = 10_000
    ) -> Extracted:
        del media_type
        self.read_names.append(name)
        if self.gate is not None:
            await self.gate.wait()
        try:
            text = (await anyio.Path(path).read_bytes()).decode()
        except OSError as error:
            raise DocumentError(f"The content of {name} is not there any more.") from error
        if text.startswith("BROKEN"):
            raise DocumentError(f"{name} cannot be read: it is damaged.")
        if text.startswith("FAULT"):
            raise ZeroDivisionError
        pages = text.split("\f")
        return Extracted(
            len(pages), {number: pages[number - 1] for number in range(first, min(last, len(pages)) + 1)}, ""
        )


class CountingEmbeddings(HashingEmbeddings):
    """Remembers the texts that were embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return await super().embed(texts)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until this holds: work in the background ends when it ends."""
    with anyio.fail_after(10):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.002)


@dataclass(frozen=True, slots=True)
class Reading:
    """A house whose documents the fake reads."""

    house: House
    extraction: FakeExtraction
    embeddings: CountingEmbeddings

    @property
    def library(self) -> Library:
        return self.house.app.library

    @property
    def ingest(self) -> Ingest:
        return self.house.app.features.of(Documents).ingest

    @property
    def me(self) -> Principal:
        return self.house.me

    async def add(self, name: str, text: str, *, who: Principal | None = None, **more: object) -> Document:
        """A document, read to its end."""
        who = who or self.me
        new = NewDocument(name=name, content=text.encode(), media_type="text/plain", **more)  # pyright: ignore[reportArgumentType] - by name
        document = await self.library.add(who, new)
        await self.settled(document.content, who=who)
        return document

    async def replaced(self, id: str, text: str, name: str = "") -> Document:
        """A document's newer version, read to its end."""
        document = await self.library.replace(self.me, id, NewDocument(name=name, content=text.encode()))
        await self.settled(document.newest)
        return await self.library.get(self.me, id)

    async def settled(self, content: str, *, who: Principal | None = None) -> Content | None:
        """A content that nobody reads any more; None if it is gone."""
        who = who or self.me
        with anyio.fail_after(10):
            await self.ingest.finish(who, [content], pause_s=0.002)
        return (await self.library.contents.of(who.owner, [content])).get(content)

    async def found(self, query: str, who: Principal | None = None) -> list[str]:
        """The names of the documents that answer, and what of them does."""
        hits = await self.library.search(who or self.me, query)
        return [f"{hit.document.name}: {hit.text}" for hit in hits]

    async def count(self, collection: Collection[Any], owner: str | None = None) -> int:
        """How many records there are."""
        return await self.library.store.count(owner or self.me.owner, collection, {})

    async def embedded(self) -> None:
        """Wait until no passage lacks its vector."""
        ports, model = self.house.app.ports, self.embeddings.model
        with anyio.fail_after(10):
            while await ports.index.missing_vectors(self.me.owner, model, 1):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.002)


@asynccontextmanager
async def open_reading(**settings: object) -> AsyncGenerator[Reading]:
    """A house with a library."""
    embeddings = CountingEmbeddings()
    async with open_house(None, ports=ports_of(embeddings=embeddings), tools=(), **settings) as house:
        extraction = FakeExtraction()
        house.app.features.of(Documents).ingest.extraction = cast("Extraction", extraction)
        yield Reading(house, extraction, embeddings)
