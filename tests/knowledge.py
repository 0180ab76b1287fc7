"""Knowledge bases for tests, over each engine, and archives made by hand. They need `plain_reading`."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec

from bethink.app import App
from bethink.clock import FakeClock
from bethink.documents.archive import CONTENTS, DOCUMENTS, FORMAT, SCHEMA
from bethink.documents.library import NewDocument
from bethink.documents.records import Document
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.ports import Ports
from tests.house import House, open_house, ports_of

ACME = b"# Acme\n\nThe Acme contract ends on the 4th of May. Zurich keeps the copy.\n"
ZEBRA = b"# Zebra\n\nA zebra has stripes.\fThe second page: zebras sleep while standing."
ENGINES = ("memory", "sqlite")


def documents_of(app: App) -> Documents:
    """The documents of an app."""
    return app.features.of(Documents)


@asynccontextmanager
async def open_library(engine: str, directory: Path, *, dimensions: int = 384) -> AsyncGenerator[House]:
    """A house over one of the engines."""
    embeddings = HashingEmbeddings(dimensions)
    if engine == "memory":
        async with open_house(ports=ports_of(embeddings=embeddings)) as house:
            yield house
        return
    await anyio.Path(directory).mkdir(exist_ok=True)
    async with open_database(directory) as database:
        ports = Ports(database.store, database.index, MemoryBus(), embeddings, None, FakeClock())
        async with open_house(ports=ports) as house:
            yield house


async def added(
    house: House, contents: Mapping[str, bytes], *, collection: str | None = None, tags: tuple[str, ...] = ()
) -> list[Document]:
    """Documents, read and embedded."""
    found = documents_of(house.app)
    documents = [
        await house.app.library.add(
            house.me, NewDocument(name=name, content=content, collection=collection, tags=tags)
        )
        for name, content in contents.items()
    ]
    await found.ingest.finish(house.me, [one.content for one in documents], pause_s=0.001)
    await embedded(house)
    return documents


async def embedded(house: House) -> None:
    """All has its vectors."""
    await house.app.background.vectors.fill(house.me.owner)


async def exported(house: House, path: Path, name: str = "Contracts", **options: bool) -> Path:
    """A base in a file."""
    with path.open("wb") as file:
        await documents_of(house.app).bases.export(house.me, name, file, **options)
    return path


def members(path: Path) -> dict[str, bytes]:
    """What an archive holds, by name, in order."""
    with tarfile.open(path) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}  # pyright: ignore[reportOptionalMemberAccess] - files only


def empty_base() -> bytes:
    """An archive without documents."""
    manifest = {"format": FORMAT, "schema": SCHEMA, "name": "Empty", "counts": {}, "members": {}}
    return archived({"manifest.json": msgspec.json.encode(manifest), DOCUMENTS: b"", CONTENTS: b""})


def packed(path: Path, contents: Mapping[str, bytes], *, sealed: bool = True) -> Path:
    """An archive made by hand in a file."""
    path.write_bytes(archived(contents, sealed=sealed))
    return path


def archived(contents: Mapping[str, bytes], *, sealed: bool = True) -> bytes:
    """An archive made by hand; if it is `sealed`, the manifest names what the members are."""
    contents = dict(contents)
    if sealed:
        manifest = msgspec.json.decode(contents["manifest.json"])
        manifest["members"] = {
            name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in contents.items()
            if name != "manifest.json"
        }
        contents["manifest.json"] = msgspec.json.encode(manifest)
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in contents.items():
            one = tarfile.TarInfo(name)
            one.size = len(content)
            archive.addfile(one, io.BytesIO(content))
    return gzip.compress(written.getvalue(), mtime=0)
