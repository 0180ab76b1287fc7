"""Model files that are downloaded, or used where they lie, through `/models/downloads`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.door import called
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

HEADER = b"GGUF" + (3).to_bytes(4, "little") + bytes(16)
MODEL = HEADER + bytes(range(256)) * 16
HALF = len(MODEL) // 2


@dataclass(slots=True)
class Shelf:
    """A server with one file, which breaks off behind `most` bytes of it, or stays silent there."""

    content: bytes = MODEL
    tag: str = '"1"'
    most: int = len(MODEL)
    silent: bool = False
    location: str = ""
    asked: list[str] = field(default_factory=list[str])
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(request)
        wanted = re.search(r"Range: bytes=(\d+)-", request)
        version = re.search(r"If-Range: (\S+)", request)
        start = int(wanted[1]) if wanted and (version is None or version[1] == self.tag) else 0
        whole = len(self.content)
        status = f"206 Part\r\nContent-Range: bytes {start}-{whole - 1}/{whole}" if start else "200 OK"
        if self.location:
            status = f"302 Found\r\nLocation: {self.location}"
        head = f"HTTP/1.1 {status}\r\nETag: {self.tag}\r\nContent-Length: {whole - start}\r\n\r\n"
        writer.write(head.encode() + self.content[start : self.most])
        await writer.drain()
        if self.silent:
            await reader.read()
        writer.close()


@asynccontextmanager
async def shelf(**has: Any) -> AsyncGenerator[Shelf]:  # noqa: ANN401 - each has its own type
    found = Shelf(**has)
    server = await asyncio.start_server(found.answer, "127.0.0.1", 0)
    async with server:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/tiny.gguf"
        yield found


@asynccontextmanager
async def desk(path: Path) -> AsyncGenerator[tuple[House, httpx2.AsyncClient]]:
    async with open_house(data_dir=path) as house, called(house) as http:
        yield house, http


async def listed(http: httpx2.AsyncClient) -> list[dict[str, Any]]:
    return (await http.get("/models/downloads")).json()["downloads"]


async def ended(http: httpx2.AsyncClient, **body: str) -> dict[str, Any]:
    """What came of a download."""
    answer = await http.post("/models/downloads", json=body)
    assert answer.status_code == 202, answer.text
    file = answer.json()
    with anyio.fail_after(5):
        while file["state"] == "downloading":
            (file,) = await listed(http)
    return file


async def half(http: httpx2.AsyncClient, server: Shelf) -> None:
    """Start a download whose server falls silent in the middle, and wait until it does."""
    server.most, server.silent = HALF, True
    await http.post("/models/downloads", json={"url": server.url})
    with anyio.fail_after(5):
        while (await listed(http))[0]["bytes"] < HALF:
            pass
    server.most, server.silent = len(MODEL), False


async def test_a_download_goes_on_after_a_break_and_is_a_model_to_choose(tmp_path: Path) -> None:
    async with shelf(most=HALF) as server, desk(tmp_path) as (house, http):
        broken = await ended(http, url=server.url)
        assert (broken["state"], broken["bytes"], broken["total"]) == ("failed", HALF, len(MODEL))
        assert broken["problem"]
        assert broken["model"] == ""
        server.most = len(MODEL)
        ready = await ended(http, url=server.url)
        path = tmp_path / "models" / "gguf" / "tiny.gguf"
        assert (ready["state"], ready["model"], ready["problem"]) == ("ready", f"gguf:{path}", "")
        assert path.read_bytes() == MODEL
        assert f"Range: bytes={HALF}-" in server.asked[1]
        assert 'If-Range: "1"' in server.asked[1]
        assert not path.with_name("tiny.gguf.part").exists()
        assert (await ended(http, url=server.url))["state"] == "ready"
        assert len(server.asked) == 2, "what is here is not asked for again"
        assert (await http.patch("/settings", json={"model": ready["model"]})).status_code == 200
        assert house.app.settings.model == ready["model"]
        used = await http.delete("/models/downloads/tiny.gguf")
        assert (used.status_code, path.exists()) == (409, True)
        await http.patch("/settings", json={"model": None})
        assert (await http.delete("/models/downloads/tiny.gguf")).status_code == 204
        assert (await listed(http), list(path.parent.iterdir())) == ([], [])
        assert (await http.delete("/models/downloads/tiny.gguf")).status_code == 404


async def test_a_download_goes_on_after_a_new_start(tmp_path: Path) -> None:
    async with shelf() as server:
        async with desk(tmp_path) as (_, http):
            await half(http, server)
        async with desk(tmp_path) as (_, http):
            (file,) = await listed(http)
            assert (file["state"], file["bytes"], file["source"]) == ("failed", HALF, server.url)
            assert "goes on" in file["problem"]
            assert (await ended(http, url=server.url))["state"] == "ready"
        assert f"Range: bytes={HALF}-" in server.asked[1]
    assert (tmp_path / "models" / "gguf" / "tiny.gguf").read_bytes() == MODEL


async def test_a_download_is_cancelled_and_started_again(tmp_path: Path) -> None:
    async with shelf() as server, desk(tmp_path) as (_, http):
        await half(http, server)
        assert (await http.delete("/models/downloads/tiny.gguf")).status_code == 204
        (file,) = await listed(http)
        assert (file["state"], file["bytes"], file["problem"]) == ("cancelled", HALF, "")
        assert (await ended(http, url=server.url))["state"] == "ready"
        assert f"Range: bytes={HALF}-" in server.asked[1]


async def test_a_file_that_has_changed_meanwhile_begins_anew(tmp_path: Path) -> None:
    async with shelf(most=HALF) as server, desk(tmp_path) as (_, http):
        await ended(http, url=server.url)
        server.content, server.tag, server.most = HEADER + b"another", '"2"', 1_000
        assert (await ended(http, url=server.url))["state"] == "ready"
    assert (tmp_path / "models" / "gguf" / "tiny.gguf").read_bytes() == HEADER + b"another"


@pytest.mark.parametrize("content", [b"<!doctype html>" * 50, b"", b"GGUF", HEADER[:4] + b"\xff" * 60])
async def test_what_is_no_model_is_refused_and_leaves_nothing(content: bytes, tmp_path: Path) -> None:
    async with shelf(content=content) as server, desk(tmp_path) as (_, http):
        refused = await ended(http, url=server.url)
        assert (refused["state"], refused["model"]) == ("failed", "")
        assert "GGUF" in refused["problem"]
        server.content = MODEL
        assert (await ended(http, url=server.url))["state"] == "ready"


async def test_a_disk_without_room_is_told_before_anything_comes(tmp_path: Path) -> None:
    async with shelf() as server, desk(tmp_path) as (house, http):
        house.app.model_files.free_bytes = lambda _: 1_000
        refused = await ended(http, url=server.url)
        assert "not enough room on the disk" in refused["problem"]
        assert refused["bytes"] == 0


async def test_only_safe_addresses_are_opened(tmp_path: Path) -> None:
    async with shelf(location="http://192.168.0.1/tiny.gguf") as server, desk(tmp_path) as (_, http):
        for url in ("http://models.example/a.gguf", "ftp://models.example/a.gguf", "https://u:p@m.example/a"):
            answer = await http.post("/models/downloads", json={"url": url})
            assert answer.status_code == 403, url
        split = await http.post("/models/downloads", json={"url": "https://m.example/a-00001-of-00002.gguf"})
        assert (split.status_code, "several files" in split.json()["detail"]) == (422, True)
        for body in ({}, {"url": server.url, "path": "/a.gguf"}):
            assert (await http.post("/models/downloads", json=body)).status_code == 422
        assert "without encryption" in (await ended(http, url=server.url))["problem"]
        server.location = "https://10.0.0.1/tiny.gguf"
        assert "not on the public internet" in (await ended(http, url=server.url))["problem"]
        private = await http.post("/models/downloads", json={"url": "https://10.0.0.1/other.gguf"})
        assert private.status_code == 202
        with anyio.fail_after(5):
            while (file := (await listed(http))[0])["state"] == "downloading":
                pass
        assert "not on the public internet" in file["problem"]


async def test_an_address_of_a_path_upwards_stays_in_its_folder(tmp_path: Path) -> None:
    async with shelf() as server, desk(tmp_path) as (_, http):
        url = server.url.replace("tiny.gguf", "..%2F..%2F%2e%2e%2Fmy%20model%00.GGUF")
        assert (await ended(http, url=url))["id"] == "my-model.gguf"
        assert (tmp_path / "models" / "gguf" / "my-model.gguf").read_bytes() == MODEL


async def test_a_file_of_this_machine_is_used_where_it_lies(tmp_path: Path) -> None:
    (own := tmp_path / "own.gguf").write_bytes(MODEL)
    (text := tmp_path / "text.gguf").write_text("hello")
    async with shelf() as server, desk(tmp_path / "data") as (_, http):
        ready = await ended(http, path=str(own))
        assert (ready["state"], ready["model"]) == ("ready", f"gguf:{own}")
        for path in (str(text), "own.gguf", str(tmp_path), str(tmp_path / "none.gguf")):
            assert (await http.post("/models/downloads", json={"path": path})).status_code == 422, path
        other = await http.post("/models/downloads", json={"url": server.url.replace("tiny", "own")})
        assert other.status_code == 409
        own.rename(tmp_path / "moved.gguf")
        assert "no file" in (await listed(http))[0]["problem"]
        (tmp_path / "moved.gguf").rename(own)
        assert (await http.delete("/models/downloads/own.gguf")).status_code == 204
        assert (await listed(http), own.read_bytes()) == ([], MODEL)
