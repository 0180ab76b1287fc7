"""Backups of files in S3, moves there and back, and tidying: over a bucket in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio.to_thread
import obstore
import pytest
from obstore.store import MemoryStore

from bethink.backups import service as of_service
from bethink.backups.copying import FilesFolder, copy_contents
from bethink.backups.repository import Archive
from bethink.backups.service import BackupService
from bethink.blobs.bucket import Bucket
from bethink.blobs.directory import home_of
from bethink.clock import FakeClock
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput, StorageError
from bethink.settings import Settings
from tests.unit.test_backups import keep, settings_in

pytestmark = pytest.mark.anyio
URL = "s3://files"
KEY = f"{home_of('ann')}/one"
DOCUMENT = f"documents/{home_of('ann')}/two"


class WatchedBucket(Bucket):
    """A bucket in memory that keeps the names of what is read."""

    __slots__ = ("looked_at",)
    looked_at: list[str]

    def read(self, key: str, part_bytes: int = 1 << 20) -> Iterator[bytes]:
        """As the bucket does."""
        self.looked_at.append(key)
        return super().read(key, part_bytes)


def bucket_in_memory(**contents: bytes) -> WatchedBucket:
    made = WatchedBucket(cast("Any", MemoryStore()), URL, "The storage")
    object.__setattr__(made, "looked_at", [])
    for key, content in contents.items():
        obstore.put(made.storage, key, content)
    return made


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> WatchedBucket:
    """The bucket of all services; its name is that of the settings."""
    made = bucket_in_memory(**{KEY: b"one" * 200_000, DOCUMENT: b"two"})

    def at(settings: Settings, url: str | None = None) -> Bucket:
        del settings, url
        return made

    monkeypatch.setattr(of_service, "bucket_at", at)
    return made


def service_in(home: Path, **backups: object) -> BackupService:
    settings = settings_in(home, folder=home.parent / "backups", **backups)
    return BackupService(settings.model_copy(update={"files_url": URL}), FakeClock())


async def made_home(home: Path) -> None:
    async with open_database(home) as database:
        await keep(database, "a line")


def paths_of(archive: Archive) -> list[str]:
    return [file.path for file in archive.contents.files if file.path.startswith("files/")]


async def opened(service: BackupService, id: str) -> Archive:
    return await anyio.to_thread.run_sync(service.repository.open, id, None)


async def test_files_in_s3_are_in_a_backup_and_read_again_only_if_they_changed(
    tmp_path: Path, bucket: WatchedBucket
) -> None:
    await made_home(tmp_path / "home")
    service = service_in(tmp_path / "home")
    made = await service.create()
    assert {*paths_of(await opened(service, made.id))} == {f"files/{KEY}", f"files/{DOCUMENT}"}
    assert sorted(bucket.looked_at) == sorted([KEY, DOCUMENT])
    bucket.looked_at.clear()
    obstore.put(bucket.storage, DOCUMENT, b"new")
    again = await service.create()
    assert bucket.looked_at == [DOCUMENT]
    await service.restore(again.id, tmp_path / "new")
    assert await anyio.Path(tmp_path / "new" / "files" / DOCUMENT).read_bytes() == b"new"


async def test_a_backup_is_restored_to_a_directory_or_to_a_bucket(
    tmp_path: Path, bucket: WatchedBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made_home(tmp_path / "home")
    service = service_in(tmp_path / "home")
    made = await service.create()
    await service.restore(made.id, tmp_path / "new")
    assert await anyio.Path(tmp_path / "new" / "files" / KEY).read_bytes() == b"one" * 200_000
    empty = bucket_in_memory()
    monkeypatch.setattr(of_service, "bucket_at", lambda *_: empty)
    await service.restore(made.id, tmp_path / "newer", files_url=URL)
    assert not (tmp_path / "newer" / "files").exists()
    assert empty.sizes() == bucket.sizes() == {KEY: 600_000, DOCUMENT: 3}


async def test_a_restore_overwrites_nothing_in_a_bucket(tmp_path: Path, bucket: WatchedBucket) -> None:
    await made_home(tmp_path / "home")
    service = service_in(tmp_path / "home")
    made = await service.create()
    obstore.put(bucket.storage, DOCUMENT, b"[forgotten]")
    obstore.delete(bucket.storage, [KEY])
    with pytest.raises(BadInput, match="nothing was written"):
        await service.restore(made.id, tmp_path / "new", files_url=URL)
    assert bucket.sizes() == {DOCUMENT: 11}
    assert not (tmp_path / "new").exists()


async def test_a_backup_without_the_bucket_says_where_its_files_are(
    tmp_path: Path, bucket: WatchedBucket
) -> None:
    await made_home(tmp_path / "home")
    whole = await service_in(tmp_path / "home").create()
    service = service_in(tmp_path / "home", s3_files=False)
    for made in (await service.create(), await service_in(tmp_path / "home").create("upgrade")):
        archive = await opened(service, made.id)
        assert (archive.contents.elsewhere, paths_of(archive)) == (URL, [])
    assert (await opened(service, whole.id)).contents.elsewhere is None
    bucket.looked_at.clear()
    await service_in(tmp_path / "home").create()
    assert bucket.looked_at == []


async def test_what_is_no_content_is_named_and_left_out(tmp_path: Path, bucket: WatchedBucket) -> None:
    await made_home(tmp_path / "home")
    obstore.put(bucket.storage, "somebody/else.txt", b"theirs")
    service = service_in(tmp_path / "home")
    made = await service.create()
    archive = await opened(service, made.id)
    assert archive.contents.unread == ("files/somebody/else.txt",)


async def test_a_bucket_that_is_away_ends_a_backup_and_leaves_none(
    tmp_path: Path, bucket: WatchedBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made_home(tmp_path / "home")

    def away(home: Bucket) -> list[str]:
        raise StorageError("The storage cannot be used now.")

    monkeypatch.setattr(type(bucket), "objects", away)
    service = service_in(tmp_path / "home")
    with pytest.raises(StorageError, match="cannot be used now"):
        await service.create()
    assert await service.list() == []


# --- moves


def nobody() -> None:
    pass


def untold(done: int, total: int) -> None:
    del done, total


def test_contents_go_to_a_bucket_and_back_and_are_proved(tmp_path: Path) -> None:
    source = FilesFolder(tmp_path / "files")
    source.write(KEY, [b"one"])
    source.write(DOCUMENT, [b"t", b"wo"])
    (tmp_path / "files" / "half.part").write_bytes(b"half")
    bucket = bucket_in_memory()
    copied = copy_contents(source, bucket, check=nobody, tell=untold)
    assert (copied.count, copied.bytes) == (2, 6)
    back = FilesFolder(tmp_path / "back")
    assert copy_contents(bucket, back, check=nobody, tell=untold) == copied
    assert b"".join(back.read(DOCUMENT)) == b"two"


def test_a_move_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    source = FilesFolder(tmp_path / "files")
    for number in range(3):
        source.write(f"{home_of('ann')}/{number}", [b"%d" % number])
    bucket = bucket_in_memory()

    def killed(done: int, total: int) -> None:
        assert total == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_contents(source, bucket, check=nobody, tell=killed)
    assert len(bucket.sizes()) == 2
    copied: list[int] = []
    assert copy_contents(source, bucket, check=nobody, tell=lambda done, _: copied.append(done)).count == 3
    assert copied == [3]


@pytest.mark.parametrize("there", [b"other", b"one!"])
def test_a_move_overwrites_nothing(tmp_path: Path, there: bytes) -> None:
    source = FilesFolder(tmp_path / "files")
    source.write(KEY, [b"same!"])
    source.write(DOCUMENT, [b"two"])
    bucket = bucket_in_memory(**{KEY: there})
    with pytest.raises(BadInput, match="Take an empty place"):
        copy_contents(source, bucket, check=nobody, tell=untold)
    assert bucket.sizes() == {KEY: len(there)}


def test_a_content_that_is_not_kept_as_it_was_written_is_told(tmp_path: Path) -> None:
    class Broken(FilesFolder):
        def write(self, key: str, parts: Iterable[bytes]) -> None:
            super().write(key, [*parts, b"?"])

    source = FilesFolder(tmp_path / "files")
    source.write(KEY, [b"one"])
    with pytest.raises(StorageError, match="does not hold"):
        copy_contents(source, Broken(tmp_path / "broken"), check=nobody, tell=untold)
    assert b"".join(source.read(KEY)) == b"one"
