"""What an application relies on in DIAL Core: the stand-in keeps it, and so must a real Core.

Run against a real one with DIAL_URL and DIAL_API_KEY (a project's key) set; what needs to
look into the stand-in, or to make it fail, is in tests/unit/test_dial_core.py.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from bethink.dial.core import url_in
from bethink.errors import DialChanged, DialRefused
from tests.dial import Dial, open_dial

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Place:
    dial: Dial
    folder: str

    def url(self, name: str = "data.json") -> str:
        return url_in(self.folder, name)


@pytest.fixture
async def place() -> AsyncGenerator[Place]:
    async with open_dial(real=True) as dial:
        bucket = await dial.core.bucket()
        folder = url_in(bucket.home, "bethink tests", uuid.uuid4().hex)
        yield Place(dial, folder)
        for name in ("data.json", "name with spaces & ümlauts.txt"):
            await dial.core.delete(url_in(folder, name))


async def test_a_key_has_a_bucket_of_letters_and_digits(place: Place) -> None:
    bucket = await place.dial.core.bucket()
    assert bucket.bucket.isalnum()
    assert bucket.appdata is None


async def test_an_unknown_key_is_refused(place: Place) -> None:
    with pytest.raises(DialRefused, match="Unknown api key"):
        await place.dial.core.client.with_key("nobody's").bucket()


async def test_a_file_comes_back_as_it_was_written_with_its_etag(place: Place) -> None:
    core = place.dial.core
    etag = await core.put(place.url(), b'{"a": 1}', "application/json")
    held = await core.get(place.url())
    assert held is not None
    assert (held.content, held.media_type) == (b'{"a": 1}', "application/json")
    assert held.etag == etag
    assert await core.etag(place.url()) == etag


async def test_a_file_that_is_not_there_is_none_and_can_be_deleted_all_the_same(place: Place) -> None:
    assert await place.dial.core.get(place.url()) is None
    assert await place.dial.core.etag(place.url()) is None
    await place.dial.core.delete(place.url())


async def test_a_new_file_is_written_once(place: Place) -> None:
    await place.dial.core.put(place.url(), b"first", "text/plain", new=True)
    with pytest.raises(DialChanged):
        await place.dial.core.put(place.url(), b"second", "text/plain", new=True)
    held = await place.dial.core.get(place.url())
    assert held is not None
    assert held.content == b"first"


async def test_only_the_version_that_was_read_is_written_over(place: Place) -> None:
    core = place.dial.core
    stale = await core.put(place.url(), b"first", "text/plain")
    fresh = await core.put(place.url(), b"second", "text/plain", etag=stale)
    with pytest.raises(DialChanged):
        await core.put(place.url(), b"third", "text/plain", etag=stale)
    with pytest.raises(DialChanged):
        await core.delete(place.url(), etag=stale)
    assert await core.put(place.url(), b"third", "text/plain", etag=fresh) not in {stale, fresh}


async def test_an_etag_passes_where_there_is_no_file_at_all(place: Place) -> None:
    etag = await place.dial.core.put(place.url(), b"first", "text/plain")
    await place.dial.core.delete(place.url())
    assert await place.dial.core.put(place.url(), b"second", "text/plain", etag=etag)


async def test_names_of_every_kind_are_kept(place: Place) -> None:
    url = place.url("name with spaces & ümlauts.txt")
    await place.dial.core.put(url, b"text", "text/plain")
    held = await place.dial.core.get(url)
    assert held is not None
    assert held.content == b"text"


async def test_a_foreign_bucket_is_refused_whether_a_file_is_there_or_not(place: Place) -> None:
    with pytest.raises(DialRefused):
        await place.dial.core.client.with_key("nobody's").get(place.url())
