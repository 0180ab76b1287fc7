"""Files in S3-compatible storage over HTTP: a server that others wrote (moto), and a Bethink on it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest

from bethink.blobs.bucket import bucket_at
from bethink.blobs.directory import DirectoryBlobs
from bethink.blobs.s3 import S3Blobs, open_s3
from bethink.engines.memory import MemoryBus
from bethink.errors import BadInput, StorageError
from bethink.settings import Settings
from bethink.telemetry import Supervisor
from tests.server_process import ROOT, Running, environment, running
from tests.traces import left_of
from tests.warm import BETHINK, start

PROGRAM = ROOT / ".servers" / "s3" / "bin" / "moto_server"
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(120),
    pytest.mark.foreign(make="servers"),
    pytest.mark.skipif(
        not PROGRAM.exists() and "CI" not in os.environ, reason="`make servers` makes its environment"
    ),
]
GIVEN = {
    "files_url": "s3://files/bethink",
    "files_s3_region": "us-east-1",
    "files_s3_key_id": "id",
    "files_s3_secret_key": "k3y",
}
UPLOAD = """
import anyio, sys
from pathlib import Path
from tests.service.test_s3_server import opened

async def main():
    async with opened(sys.argv[1], Path(sys.argv[2])) as blobs:
        print("uploading", flush=True)
        await blobs.write("ann", "large", bytes(300_000_000))

anyio.run(main)
"""

DIES = """
import os, signal, sys
from bethink.blobs.bucket import Bucket
from bethink.cli import main

write, left = Bucket.write, [2]

def dying(*given):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(*given)

Bucket.write = dying
sys.exit(main(sys.argv[1:]))
"""


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@asynccontextmanager
async def s3_server() -> AsyncGenerator[str]:
    """The address of a storage with the bucket `files`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "-H", "127.0.0.1", "-p", str(port), stdout=quiet, stderr=quiet
    )
    try:
        async with httpx2.AsyncClient(trust_env=False) as http:
            while True:
                try:
                    (await http.put(f"{url}/files")).raise_for_status()
                    break
                except httpx2.TransportError:
                    assert process.returncode is None
                    await anyio.sleep(0.05)
        yield url
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def opened(url: str, home: Path, **other: str) -> AsyncGenerator[S3Blobs]:
    settings = Settings.model_validate({**GIVEN, "files_s3_endpoint": url, "data_dir": home} | other)
    before = DirectoryBlobs(home / "files")
    async with open_s3(settings, MemoryBus(), Supervisor().supervise, before=before) as blobs:
        yield blobs


async def keys(url: str) -> list[str]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        listed = (await http.get(f"{url}/files")).text
    return [part.partition("</Key>")[0] for part in listed.split("<Key>")[1:]]


async def test_a_content_goes_there_and_back_and_away(tmp_path: Path) -> None:
    async with s3_server() as url, opened(url, tmp_path) as blobs:
        await blobs.write("ann", "one", b"one")
        await blobs.area("documents").write("ann", "large", bytes(12_000_000))
        assert await anyio.Path(await blobs.opened("ann", "one")).read_bytes() == b"one"
        large = await blobs.area("documents").opened("ann", "large")
        assert (await anyio.Path(large).stat()).st_size == 12_000_000
        assert await blobs.ids("ann") == ["one"]
        assert len(await keys(url)) == 2
        await blobs.area("documents").delete("ann", ["large", "never-there"])
        await blobs.delete("ann", ["one"])
        assert await keys(url) == []
        assert not await anyio.Path(await blobs.opened("ann", "one")).exists()


async def test_what_is_wrong_is_told_with_what_to_do(tmp_path: Path) -> None:
    async with s3_server() as url, opened(url, tmp_path, files_url="s3://nowhere") as blobs:
        with pytest.raises(StorageError, match="make the bucket, or correct `files_url`"):
            await blobs.write("ann", "one", b"one")
    async with opened("http://127.0.0.1:9", tmp_path) as blobs:
        with pytest.raises(StorageError, match="check that the storage runs") as told:
            await blobs.write("ann", "one", b"one")
    assert "k3y" not in str(told.value)
    with pytest.raises(BadInput, match="write it as s3://BUCKET"):
        async with opened("http://127.0.0.1:9", tmp_path, files_url="files"):
            pass


async def test_an_upload_that_is_killed_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    async with s3_server() as url:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", UPLOAD, url, str(tmp_path / "a")), stdout=subprocess.PIPE, cwd=ROOT
        )
        assert process.stdout
        await process.stdout.readline()
        await anyio.sleep(0.3)
        assert process.returncode is None
        process.kill()
        await process.wait()
        async with opened(url, tmp_path / "b") as blobs:
            assert await blobs.ids("ann") == []
            await blobs.write("ann", "large", b"whole")
            assert await anyio.Path(await blobs.opened("ann", "large")).read_bytes() == b"whole"


async def test_a_server_keeps_files_there_answers_ranges_and_forgets_them(tmp_path: Path) -> None:
    async with s3_server() as url:
        environment = {f"BETHINK_{name.upper()}": value for name, value in GIVEN.items()}
        environment["BETHINK_FILES_S3_ENDPOINT"] = url
        async with running(tmp_path, None, **environment) as server:
            made = (await server.http.post("/conversations", json={})).json()["id"]
            given = {"file": ("a.txt", b"0123456789", "text/plain")}
            file = (await server.http.post(f"/conversations/{made}/files", files=given)).json()
            part = await server.http.get(f"/files/{file['id']}", headers={"Range": "bytes=3-5"})
            assert (part.status_code, part.content) == (206, b"345")
            assert len(await keys(url)) == 1
            assert not await anyio.Path(tmp_path / "files").exists()
            await server.http.delete(f"/conversations/{made}")
            assert await keys(url) == []


def readable(url: str) -> int:
    """How many contents anybody reads who has the bucket."""
    bucket = bucket_at(Settings.model_validate(GIVEN | {"files_s3_endpoint": url}))
    return sum(b"0123456789" in b"".join(bucket.read(one.key)) for one in bucket.objects())


async def uploaded(server: Running) -> tuple[str, list[str]]:
    """A conversation and its files."""
    made = (await server.http.post("/conversations", json={})).json()["id"]
    ids: list[str] = []
    for number in range(5):
        file = {"file": ("a.txt", f"0123456789 of {number}".encode(), "text/plain")}
        ids.append((await server.http.post(f"/conversations/{made}/files", files=file)).json()["id"])
    return made, ids


async def test_a_home_is_sealed_and_opened_with_its_files_there_also_after_a_kill(tmp_path: Path) -> None:
    async with s3_server() as url:
        given = {f"BETHINK_{name.upper()}": value for name, value in GIVEN.items()}
        given |= {"BETHINK_FILES_S3_ENDPOINT": url, "BETHINK_MASTER_KEY": "a passphrase of many characters"}

        async def does(code: str, *words: str) -> int:
            process = start(code, *words, environment=environment(tmp_path / "home", None) | given)
            try:
                return await process.wait()
            finally:
                process.close()

        async def seal(code: str, *words: str) -> int:
            return await does(code, "seal", *words)

        async with running(tmp_path / "home", None, **given) as server:
            made, ids = await uploaded(server)
            assert await server.stop() == 0
        assert await anyio.to_thread.run_sync(readable, url) == 5
        assert await seal(DIES, "start", "--environment") == -signal.SIGKILL
        assert await anyio.to_thread.run_sync(readable, url) >= 3
        assert await seal(BETHINK, "continue") == 0
        assert await anyio.to_thread.run_sync(readable, url) == 0
        async with running(tmp_path / "home", None, **given) as server:
            for number, id in enumerate(ids):
                assert (await server.http.get(f"/files/{id}")).content == f"0123456789 of {number}".encode()
            assert await server.stop() == 0
        assert await seal(BETHINK, "rotate") == 0
        assert await anyio.to_thread.run_sync(readable, url) == 0
        assert await seal(BETHINK, "end") == 0
        assert await anyio.to_thread.run_sync(readable, url) == 5
        assert await seal(BETHINK, "start", "--environment") == 0
        assert await does(BETHINK, "backup", "create") == 0
        restored, where = tmp_path / "restored", str(tmp_path / "home" / "backups")
        told = ("restore", where, "--data-dir", str(restored), "--files", "directory")
        assert await does(BETHINK, *told) == 0
        here = {name: value for name, value in given.items() if "FILES" not in name}
        async with running(restored, None, **here) as server:
            assert (await server.http.get(f"/files/{ids[4]}")).content == b"0123456789 of 4"
            assert await server.stop() == 0
        assert left_of(["0123456789"], restored) == []
        async with running(tmp_path / "home", None, **given) as server:
            assert (await server.http.get(f"/files/{ids[0]}")).content == b"0123456789 of 0"
            await server.http.delete(f"/conversations/{made}")
            assert await keys(url) == []
