from __future__ import annotations

from collections.abc import AsyncGenerator

import aiohttp
import pytest

from benchmarks.stand_ins.dial_core import Fault
from bethink.dial.core import CoreClient, url_in
from bethink.errors import BadInput, DialBusy, DialChanged, DialError, DialRefused, DialUnreachable, TooLarge
from tests.dial import KEY, Dial, open_dial

pytestmark = pytest.mark.anyio


@pytest.fixture
async def dial() -> AsyncGenerator[Dial]:
    async with open_dial(timeout_s=3) as dial:
        yield dial


async def _home(dial: Dial) -> str:
    return (await dial.core.bucket()).home


async def test_another_ones_bucket_is_refused_before_anything_is_looked_for(dial: Dial) -> None:
    home = await _home(dial)
    await dial.core.put(url_in(home, "secret.txt"), b"mine", "text/plain")
    for name in ("secret.txt", "not-there.txt"):
        with pytest.raises(DialRefused, match="403"):
            await dial.other().get(url_in(home, name))


async def test_a_bucket_that_is_none_is_a_bad_request(dial: Dial) -> None:
    with pytest.raises(DialError, match="invalid bucket"):
        await dial.core.get("files/x/data.json")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(kind="status", status=500), DialError),
        (Fault(kind="status", status=404), DialError),
        (Fault(kind="status", status=401), DialRefused),
        (Fault(kind="status", status=403), DialRefused),
        (Fault(kind="status", status=429), DialBusy),
        (Fault(kind="status", status=302), DialError),
        (Fault(kind="drop", times=9), DialUnreachable),
        (Fault(kind="delay", delay_ms=30_000), DialUnreachable),
    ],
)
async def test_a_failure_is_told_and_never_taken_for_an_empty_place(
    dial: Dial, fault: Fault, error: type[DialError]
) -> None:
    home = await _home(dial)
    dial.own.faults.set([fault])
    with pytest.raises(error):
        await dial.core.bucket()
    if fault.status == 404 and fault.kind == "status":
        return
    dial.own.faults.set([fault])
    with pytest.raises(error):
        await dial.core.get(url_in(home, "data.json"))


async def test_core_that_does_not_run_is_told_with_its_address() -> None:
    client = CoreClient("http://127.0.0.1:9")
    with pytest.raises(DialUnreachable, match=r"127\.0\.0\.1:9"):
        await client.with_key(KEY).bucket()
    await client.close()


async def test_a_file_longer_than_allowed_is_not_taken(dial: Dial) -> None:
    url = url_in(await _home(dial), "long.bin")
    await dial.core.put(url, b"0" * 3_000_000, "application/octet-stream")
    with pytest.raises(TooLarge, match=r"long\.bin"):
        await dial.core.get(url, max_bytes=2_000_000)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "files/b",
        "files/b/../c",
        "files/b/%2e%2e/c",
        "files/b/a%2Fb",
        "http://b/c/d",
        "files/b/c?x=1",
        "files//c",
    ],
)
async def test_an_address_that_leads_elsewhere_is_never_asked_for(dial: Dial, url: str) -> None:
    with pytest.raises(BadInput):
        await dial.core.get(url)


async def test_a_race_is_seen(dial: Dial) -> None:
    url = url_in(await _home(dial), "data.json")
    etag = await dial.core.put(url, b"first", "text/plain")
    dial.own.faults.set([Fault(kind="race", method="PUT", text="somebody else's")])
    with pytest.raises(DialChanged):
        await dial.core.put(url, b"mine", "text/plain", etag=etag)
    held = await dial.core.get(url)
    assert held is not None
    assert held.content == b"somebody else's"


async def _plain(dial: Dial, path: str, method: str = "GET", **more: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, f"{dial.url}/{path}", headers={"Api-Key": KEY} | more) as response,
    ):
        return response.status, await response.text()


async def test_the_stand_in_has_cores_oddities(dial: Dial) -> None:
    home = await _home(dial)
    await dial.core.put(url_in(home, "folder", "file.txt"), b"text", "text/plain")
    assert await _plain(dial, f"v1/{home}/folder/") == (400, "Can't download a folder")
    assert await _plain(dial, f"v1/{home}/nothing") == (404, "")
    assert await _plain(dial, f"v1/{home}/nothing", "DELETE") == (200, "")
    assert await _plain(dial, f"v1/{home}/folder/", "DELETE") == (400, "Can't delete a folder")
    assert (await _plain(dial, f"v1/{home}/x", "PUT"))[0] == 400
    odd = {"If-None-Match": "abc"}
    assert (await _plain(dial, f"v1/{home}/folder/file.txt", "DELETE", **odd))[0] == 400
    assert (await _plain(dial, f"v1/metadata/{home}/?limit=1001"))[0] == 400
    assert (await _plain(dial, f"v1/metadata/{home}/no-folder/"))[0] == 404
    status, root = await _plain(dial, f"v1/metadata/{home}/")
    assert status == 200
    assert '"items":null' in root
    status, folder = await _plain(dial, f"v1/metadata/{home}/folder/")
    assert status == 200
    assert '"etag"' not in folder
    assert '"contentLength":0' in folder
    status, _ = await _plain(dial, "v1/bucket", Authorization="Bearer other")
    assert status == 400
    async with aiohttp.ClientSession() as http, http.get(f"{dial.url}/v1/bucket") as response:
        assert response.status == 401


async def test_an_etag_is_the_contents_md5_without_quotes(dial: Dial) -> None:
    url = url_in(await _home(dial), "file.txt")
    assert await dial.core.put(url, b"Test file content", "text/plain") == "ac79653edeb65ab5563585f2d5f14fe9"
