"""Archives that are damaged, forged, or not ours: each is refused with its reason, and nothing is kept."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from bethink.documents.knowledge_bases import ARCHIVE_IMPORTS
from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    PAGES,
    PASSAGES,
)
from bethink.errors import BethinkError
from bethink.store import Change, Collection, Put
from tests.house import House
from tests.knowledge import ACME, ZEBRA, added, documents_of, exported, members, open_library, packed
from tests.library import plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]

Members = dict[str, bytes]
KEPT: tuple[Collection[Any], ...] = (DOCUMENTS, CONTENTS, PAGES, PASSAGES, COLLECTIONS, ARCHIVE_IMPORTS)


async def counts(house: House) -> list[int]:
    return [await house.app.ports.store.count(house.me.owner, one, {}) for one in KEPT]


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    async with open_library("memory", tmp_path) as house:
        base = await house.app.library.create_collection(house.me, "Contracts")
        await added(house, {"acme.md": ACME, "zebra.txt": ZEBRA}, collection=base.id)
        return await exported(house, tmp_path / "kb.tar.gz", originals=True)


async def refused(path: Path) -> str:
    """Why an archive is not imported; nothing is there then."""
    async with open_library("memory", path.parent) as house:
        with pytest.raises(BethinkError) as raised:
            await documents_of(house.app).bases.import_archive(house.me, path)
        assert await counts(house) == [0] * len(KEPT)
        assert list(await house.app.library.contents.blobs.ids(house.me.owner)) == []
        return str(raised.value)


def manifest_with(**fields: object) -> Callable[[Members], Members]:
    def changed(held: Members) -> Members:
        manifest = msgspec.json.decode(held["manifest.json"]) | fields
        return held | {"manifest.json": msgspec.json.encode(manifest)}

    return changed


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Members], Members]:
    def changed(held: Members) -> Members:
        assert old in held[name]
        return held | {name: held[name].replace(old, new, 1)}

    return changed


def without(name: str) -> Callable[[Members], Members]:
    return lambda held: {one: content for one, content in held.items() if one != name}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (manifest_with(schema=2, bethink="9.1.0"), "written by Bethink 9.1.0"),
        (manifest_with(format="zip"), "no knowledge base of Bethink"),
        (manifest_with(schema="one"), "no knowledge base of Bethink"),
        (manifest_with(name=7), "manifest.json is not valid"),
        (manifest_with(name="  "), "needs a name"),
        (manifest_with(scale=1), "another scale"),
        (manifest_with(model={"id": "m", "tokenizer": "t", "dimensions": 3}), "vectors.i16"),
        (lambda held: held | {"../../escape": b"x"}, "no knowledge base has a member '../../escape'"),
        (lambda held: held | {"/etc/passwd": b"x"}, "no knowledge base has a member"),
        (lambda held: held | {"originals/" + "0" * 64: b"x"}, "belongs to no document"),
        (without("documents.jsonl"), "names no documents"),
        (replaced("documents.jsonl", b'"name":"acme.md"', b'"name":7'), "documents.jsonl is not valid"),
        (replaced("documents.jsonl", b'"name":"acme.md"', b'"name":"/"'), "needs a name"),
        (replaced("documents.jsonl", b'"created_at":', b'"created_at":-'), "documents.jsonl is not valid"),
        (replaced("documents.jsonl", b'"content":"', b'"content":"0'), "does not hold"),
        (replaced("contents.jsonl", b'"line":"page"', b'"line":"link"'), "contents.jsonl is not valid"),
        (replaced("contents.jsonl", b'"line":"content","id":"', b'"line":"content","id":"../'), "no fit id"),
        (replaced("contents.jsonl", b'"end":', b'"end":9'), "outside of its page"),
        (replaced("contents.jsonl", b'"begin":0', b'"begin":-1'), "outside of its page"),
        (replaced("contents.jsonl", b'"number":2', b'"number":1'), "numbered twice"),
        (replaced("contents.jsonl", b'"vectors":1', b'"vectors":2'), "counts other"),
        (replaced("contents.jsonl", b'{"line":"content"', b'\n{"line":"content"'), "contents.jsonl"),
        (lambda held: held | {"contents.jsonl": held["contents.jsonl"][:-1]}, "cut short"),
        (lambda held: held | {"contents.jsonl": b"[" * 100_000 + b"\n"}, "contents.jsonl is not valid"),
        (lambda held: held | {"documents.jsonl": b"\xff\xfe\n"}, "documents.jsonl is not valid"),
    ],
)
async def test_an_archive_that_is_not_valid_is_refused_with_its_reason(
    archive: Path, change: Callable[[Members], Members], why: str
) -> None:
    path = packed(archive.with_name("changed.tar.gz"), change(members(archive)))
    assert why in await refused(path)


async def test_a_member_that_is_not_what_the_manifest_says_is_refused(archive: Path) -> None:
    changed = replaced("contents.jsonl", b"zebra has", b"horse has")(members(archive))
    path = packed(archive.with_name("changed.tar.gz"), changed, sealed=False)
    assert "contents.jsonl is not what its manifest says" in await refused(path)
    path = packed(archive.with_name("missing.tar.gz"), without("vectors.i16")(members(archive)), sealed=False)
    assert "vectors.i16 is missing" in await refused(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
async def test_an_archive_that_is_cut_short_is_refused(archive: Path, share: float) -> None:
    content = await anyio.Path(archive).read_bytes()
    path = archive.with_name("short.tar.gz")
    await anyio.Path(path).write_bytes(content[: int(len(content) * share)])
    assert "damaged or cut short" in await refused(path)


async def test_what_is_no_archive_is_refused(archive: Path) -> None:
    path = archive.with_name("other.tar.gz")
    whole = await anyio.Path(archive).read_bytes()
    for content, why in (
        (b"not packed at all", "damaged"),
        (gzip.compress(b"no tar" * 1000), "no knowledge base"),
        (whole + b"more", "damaged"),
        (gzip.compress(gzip.decompress(whole) + b"more"), "behind its end"),
    ):
        await anyio.Path(path).write_bytes(content)
        assert why in await refused(path)
    assert "cannot be read" in await refused(archive.with_name("absent.tar.gz"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
async def test_links_and_folders_are_refused(archive: Path, kind: bytes) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        head = tarfile.TarInfo("manifest.json")
        manifest = members(archive)["manifest.json"]
        head.size = len(manifest)
        tar.addfile(head, io.BytesIO(manifest))
        link = tarfile.TarInfo("documents.jsonl")
        link.type, link.linkname = kind, "/etc/passwd"
        tar.addfile(link)
    path = archive.with_name("links.tar.gz")
    await anyio.Path(path).write_bytes(gzip.compress(written.getvalue()))
    assert "is a link, a folder" in await refused(path)


async def test_a_bomb_is_left_in_its_archive(archive: Path) -> None:
    held = members(archive)
    path = packed(archive.with_name("bomb.tar.gz"), held | {"vectors.i16": bytes(60_000_000)})
    assert path.stat().st_size < 1_000_000
    assert "unpacks to more than" in await refused(path)


async def test_two_members_of_one_name_are_refused(archive: Path) -> None:
    held = members(archive)
    path = packed(archive.with_name("twice.tar.gz"), held)
    with tarfile.open(path) as tar:
        content = gzip.decompress(path.read_bytes())[: tar.getmembers()[-1].offset]
    block = tarfile.TarInfo("documents.jsonl")
    block.size = 0
    await anyio.Path(path).write_bytes(gzip.compress(content + block.tobuf() + bytes(1024)))
    assert "or twice" in await refused(path)


class StopError(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize("survives", [True, False])
async def test_what_an_import_kept_in_part_goes_again(
    archive: Path, monkeypatch: pytest.MonkeyPatch, *, survives: bool
) -> None:
    async with open_library("memory", archive.parent) as house:
        bases = documents_of(house.app).bases
        base = await house.app.library.create_collection(house.me, "Mine")
        (mine,) = await added(house, {"acme.md": ACME}, collection=base.id)
        before, commit = await counts(house), house.app.ports.store.commit

        async def stops(owner: str, changes: Sequence[Change]) -> None:
            if any(isinstance(one, Put) and one.collection is COLLECTIONS for one in changes):
                raise StopError
            await commit(owner, changes)

        async def nothing(*_: object) -> None:
            pass

        monkeypatch.setattr(house.app.ports.store, "commit", stops)
        if not survives:
            monkeypatch.setattr(type(bases), "undo_import", nothing)
        with pytest.raises(StopError):
            await bases.import_archive(house.me, archive)
        monkeypatch.undo()
        if not survives:
            assert (await counts(house))[1] == before[1] + 1
            assert [one.document.id for one in (await house.app.library.list(house.me)).items] == [mine.id]
            found = await house.app.library.search(house.me, "zebra stripes")
            assert {hit.document.id for hit in found} <= {mine.id}
            await bases.finish_earlier()
        assert await counts(house) == before
        assert (await house.app.library.state(house.me, mine.id)).content.passages == 1
        assert list(await house.app.library.contents.blobs.ids(house.me.owner)) == [mine.content]
