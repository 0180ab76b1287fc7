"""`/documents/uploads`: files in parts, whatever comes between; and `/documents/url`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.documents.service import Documents
from bethink.errors import Conflict, UnknownId
from bethink.internet import Internet
from bethink.internet.addresses import AddressGate, exceptions
from bethink.internet.pages import Pages
from bethink.memory import NewFact
from tests.door import Door, open_door
from tests.fake_search import FakeSearch
from tests.house import ports_of
from tests.library import UNREADABLE, finished, plain_reading, read
from tests.pages import page, redirect, served

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
TEXT = b"# Glaciers\n\nThey melt faster every summer."


def staged(door: Door) -> list[Path]:
    return [path for path in (door.house.app.settings.data_dir / "uploads").rglob("*") if path.is_file()]


async def begun(door: Door, content: bytes = TEXT, **more: object) -> str:
    answer = await door.http.post("/documents/uploads", json={"name": "g.md", "size": len(content)} | more)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_a_file_in_parts_becomes_a_document() -> None:
    async with open_door() as door:
        await door.http.post("/documents/collections", json={"name": "Ice"})
        digest = hashlib.sha256(TEXT).hexdigest()
        url = f"/documents/uploads/{await begun(door, sha256=digest, collection='ice', tags=['a'])}"
        first = await door.http.patch(url, content=TEXT[:9], headers={"Upload-Offset": "0"})
        assert (first.json()["offset"], first.json()["document"]) == (9, None)
        assert (await door.http.get(url)).json()["offset"] == 9
        wrong = await door.http.patch(url, content=b"x", headers={"Upload-Offset": "3"})
        assert (wrong.status_code, "9 bytes" in wrong.json()["detail"]) == (409, True)
        last = (await door.http.patch(url, content=TEXT[9:], headers={"Upload-Offset": "9"})).json()
        document = await read(door, last["document"])
        assert (document["content"], document["stage"], document["tags"]) == (digest, "ready", ["a"])
        assert document["collection"]["name"] == "Ice"
        assert staged(door) == []
        # The answer may have been lost: asked again, it is the same.
        assert (await door.http.get(url)).json()["document"]["id"] == document["id"]
        again = await door.http.patch(url, content=b"", headers={"Upload-Offset": "0"})
        assert again.json()["document"]["id"] == document["id"]


async def test_a_newer_version_comes_in_parts() -> None:
    async with open_door() as door:
        old = await read(
            door, (await door.http.post("/documents/text", json={"name": "g.md", "text": "Ice."})).json()
        )
        url = f"/documents/uploads/{await begun(door, version_of=old['id'])}"
        await door.http.patch(url, content=TEXT[:9], headers={"Upload-Offset": "0"})
        last = (await door.http.patch(url, content=TEXT[9:], headers={"Upload-Offset": "9"})).json()
        new = await read(door, last["document"])
        assert (new["id"], len(new["versions"])) == (old["id"], 2)
        assert new["content"] == hashlib.sha256(TEXT).hexdigest()
        lost = await begun(door, version_of=old["id"])
        assert (await door.http.delete(f"/documents/{old['id']}")).status_code == 204
        answer = await door.http.patch(
            f"/documents/uploads/{lost}", content=TEXT, headers={"Upload-Offset": "0"}
        )
        assert (answer.status_code, "removed" in answer.json()["detail"]) == (404, True)
        assert staged(door) == []
        refused = await door.http.post(
            "/documents/uploads", json={"name": "x", "size": 1, "version_of": old["id"]}
        )
        assert refused.status_code == 404


async def test_what_came_of_a_part_that_is_cut_off_is_kept() -> None:
    async with open_door() as door:
        uploads = door.house.app.features.of(Documents).uploads
        id = await begun(door)

        async def cut() -> AsyncIterator[bytes]:
            yield TEXT[:7]
            raise ConnectionError

        with pytest.raises(Exception, match="cannot be kept"):
            await uploads.append(door.house.me, id, cut(), offset=0)
        assert (await uploads.get(door.house.me, id)).offset == 7


async def test_one_request_writes_an_upload_at_a_time() -> None:
    async with open_door() as door:
        uploads = door.house.app.features.of(Documents).uploads
        id, is_writing, goes_on = await begun(door), anyio.Event(), anyio.Event()

        async def slow() -> AsyncIterator[bytes]:
            is_writing.set()
            await goes_on.wait()
            yield TEXT

        async def write() -> None:
            await uploads.append(door.house.me, id, slow(), offset=0)

        async def fast() -> AsyncIterator[bytes]:
            yield TEXT

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await is_writing.wait()
            with pytest.raises(Conflict, match="Another request"):
                await uploads.append(door.house.me, id, fast(), offset=0)
            await uploads.clean(door.house.me.owner)
            goes_on.set()
        assert (await uploads.get(door.house.me, id)).upload.document is not None


async def test_damaged_too_long_and_unfit_uploads_are_refused() -> None:
    async with open_door(documents_max_bytes=1000) as door:
        url = f"/documents/uploads/{await begun(door, sha256='0' * 64)}"
        damaged = await door.http.patch(url, content=TEXT, headers={"Upload-Offset": "0"})
        assert (damaged.status_code, "hash" in damaged.json()["detail"]) == (422, True)
        assert (await door.http.get(url)).status_code == 404
        url = f"/documents/uploads/{await begun(door)}"
        longer = await door.http.patch(url, content=TEXT + b"!", headers={"Upload-Offset": "0"})
        assert longer.status_code == 413
        for draft, status in (
            ({"name": "a", "size": 1001}, 413),
            ({"name": "a", "size": 0}, 422),
            ({"name": " / ", "size": 1}, 422),
            ({"name": "a", "size": 1, "sha256": "xyz"}, 422),
            ({"name": "a", "size": 1, "collection": "none"}, 404),
        ):
            assert (await door.http.post("/documents/uploads", json=draft)).status_code == status, draft
        assert (await door.http.get("/documents")).json()["items"] == []
        assert (await door.http.delete(url)).status_code == 204
        assert staged(door) == []


async def test_uploads_go_after_a_day_and_when_something_is_forgotten() -> None:
    async with open_door() as door:
        uploads, me = door.house.app.features.of(Documents).uploads, door.house.me
        id = await begun(door)
        await uploads.clean(me.owner)
        assert len(staged(door)) == 1
        door.house.clock.advance(86_401)
        with pytest.raises(UnknownId):
            await uploads.get(me, id)
        assert (await uploads.expire(me), staged(door)) == (1, [])
        url = f"/documents/uploads/{await begun(door)}"
        await door.http.patch(url, content=TEXT[:20], headers={"Upload-Offset": "0"})
        fact = await door.house.app.memory.add(me, NewFact("Glaciers are in danger."))
        forgotten = await door.http.delete(f"/memories/{fact.fact.id}?forget=true")
        assert forgotten.status_code == 200, forgotten.text
        assert (await door.http.get(url)).status_code == 404
        assert staged(door) == []


async def test_what_a_killed_upload_left_goes_at_the_next_start() -> None:
    async with open_door() as door:
        uploads = door.house.app.features.of(Documents).uploads
        await begun(door)
        (known,) = staged(door)
        left, new = known.with_name("left"), known.with_name("new")
        for path in (left, new):
            path.write_bytes(b"half of it")
        for path in (known, left):
            os.utime(path, (1, 1))
        await uploads.clean_all()
        assert {*staged(door)} == {known, new}


async def test_a_file_of_the_web_is_kept_with_its_address() -> None:
    site = {
        "/report.txt": page(TEXT, "text/plain; charset=utf-8"),
        "/moved": redirect("/report.txt"),
        "/latin": page("Größe".encode("latin-1"), "text/plain; charset=latin-1"),
    }
    async with served(site) as web:
        internet = Internet(FakeSearch([]), Pages(AddressGate(opened=exceptions(["127.0.0.0/8"]))))
        async with open_door(ports=ports_of(internet=internet)) as door:
            added = await door.http.post("/documents/url", json={"url": web.url("/moved"), "tags": ["web"]})
            assert added.status_code == 202, added.text
            shown = await read(door, added.json())
            assert (shown["name"], shown["stage"], shown["tags"]) == ("report.txt", "ready", ["web"])
            assert shown["origin"] == {"kind": "url", "place": web.url("/moved")}
            assert (await door.http.get(f"/documents/{shown['id']}/file")).content == TEXT
            latin = (await door.http.post("/documents/url", json={"url": web.url("/latin")})).json()
            await finished(door.house, latin["content"])
            pages = (await door.http.get(f"/documents/{latin['id']}/pages")).json()
            assert pages["items"][0]["text"] == "Größe"
            gone = await door.http.post("/documents/url", json={"url": web.url("/gone")})
            assert (gone.status_code, "404" in gone.json()["detail"]) == (502, True)


async def test_an_address_that_is_added_again_gives_a_newer_version_or_nothing() -> None:
    site = {"/report.txt": page(TEXT, "text/plain"), "/moved": redirect("/report.txt")}
    async with served(site) as web:
        internet = Internet(FakeSearch([]), Pages(AddressGate(opened=exceptions(["127.0.0.0/8"]))))
        async with open_door(ports=ports_of(internet=internet)) as door:

            async def add(**more: object) -> dict[str, Any]:
                answer = await door.http.post("/documents/url", json={"url": web.url("/moved")} | more)
                assert answer.status_code == 202, answer.text
                return await read(door, answer.json())

            await door.http.post("/documents/collections", json={"name": "Ice"})
            first = await add(collection="ice")
            await door.http.patch(f"/documents/{first['id']}", json={"name": "Mine.txt"})
            same = await add()
            assert (same["id"], same["name"], len(same["versions"])) == (first["id"], "Mine.txt", 1)
            web.answers["/report.txt"] = page(b"# Glaciers\n\nThey are gone.", "text/plain")
            second = await add(collection="Ice")
            assert (second["id"], len(second["versions"])) == (first["id"], 2)
            web.answers |= {"/moved": redirect("/2027.txt"), "/2027.txt": page(b"Ice.", "text/plain")}
            assert (await add())["id"] == first["id"]
            assert (await add(name="Ours.txt"))["name"] == "Ours.txt"
            assert len((await door.http.get("/documents")).json()["items"]) == 1


async def test_what_could_not_be_read_at_an_address_is_tried_once_more() -> None:
    site = {"/a.bin": page(UNREADABLE, "application/octet-stream")}
    async with served(site) as web:
        internet = Internet(FakeSearch([]), Pages(AddressGate(opened=exceptions(["127.0.0.0/8"]))))
        async with open_door(ports=ports_of(internet=internet)) as door:
            ingest = door.house.app.features.of(Documents).ingest
            id = ""
            for _ in range(2):
                shown = (await door.http.post("/documents/url", json={"url": web.url("/a.bin")})).json()
                assert shown["stage"] == "waiting"
                await ingest.finish(door.house.me, [shown["content"]])
                id = shown["id"]
            assert (await door.http.get(f"/documents/{id}")).json()["stage"] == "failed"


async def test_an_address_that_may_not_be_opened_is_refused() -> None:
    internet = Internet(FakeSearch([]), Pages(AddressGate()))
    async with open_door(ports=ports_of(internet=internet)) as door:
        for url in ("http://127.0.0.1:1/", "file:///etc/passwd", "http://169.254.169.254/"):
            answer = await door.http.post("/documents/url", json={"url": url})
            assert answer.status_code in {422, 502, 403}, answer.text
    async with open_door() as door:
        answer = await door.http.post("/documents/url", json={"url": "http://example.org/"})
        assert (answer.status_code, "BETHINK_WEB_ENABLED" in answer.json()["detail"]) == (403, True)
