"""A sealed home: nothing of it can be read from the disk without its key, whatever was cut short."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from obstore.store import MemoryStore
from pydantic import SecretStr

from bethink.app import open_app
from bethink.backups.service import BackupService
from bethink.blobs.bucket import Bucket
from bethink.blobs.directory import DirectoryBlobs, SealedContents, opened_parts
from bethink.blobs.s3 import COPIES
from bethink.clock import FakeClock
from bethink.engines.sqlite.bus import open_bus
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput, Busy, StorageError
from bethink.index import IndexItem, IndexQuery
from bethink.maintenance import key_change
from bethink.maintenance.key_change import reseal
from bethink.ports import open_blobs, open_ports
from bethink.sealing import FILE, Cipher, MasterKey, cipher_of, new_key, state_of
from bethink.secrets_at_rest import made_key
from bethink.settings import Settings
from bethink.store import Delete, Put
from tests.contract.records import LINES, Line

NEEDLE = "the-heron-nests-by-the-old-mill"
MASTER = "a passphrase of many characters"
ENVIRONMENT = MasterKey(None, MASTER)

Said = tuple[set[str], list[bytes]]


def found_in(root: Path) -> list[str]:
    """The files that hold the needle, in either width of characters."""
    forms = (NEEDLE.encode(), NEEDLE.encode("utf-16-le"))
    files = [path for path in root.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if any(form in path.read_bytes() for form in forms))


async def fill(home: Path) -> None:
    contents = {"f1": NEEDLE.encode() * 90_000, "f2": b"", "f3": b"bethink sealed 1\nnot really"}
    async with open_database(home) as database, open_blobs(home, None) as blobs:
        for number in range(20):
            said = f"{NEEDLE} {number}"
            line = Line(id=f"line{number}", conversation="c", position=number, text=said)
            await database.store.commit("ann", [Put(LINES, line, index=IndexItem("turn", said, number))])
        await database.store.commit("ann", [Delete(LINES, "line0")])
        for id, content in contents.items():
            await blobs.write("ann", id, content)


async def said_in(home: Path, chosen: str | None) -> Said:
    """What a home says, by its index, its records and its files."""
    cipher = await anyio.to_thread.run_sync(cipher_of, home, chosen)
    async with open_database(home, cipher) as database, open_blobs(home, cipher) as blobs:
        found = await database.index.search(IndexQuery("ann", NEEDLE, limit=100))
        held = await database.store.get(LINES, "ann", [item.id for item in found.items])
        files = [await anyio.Path(await blobs.opened("ann", id)).read_bytes() for id in ("f1", "f2", "f3")]
        return {one.record.text for one in held if one}, files


async def open_home(home: Path) -> None:
    async with open_ports(Settings(data_dir=home)):
        pass


@pytest.mark.requirement("R186")
def test_a_sealed_home_shows_nothing_and_says_the_same_to_who_has_the_key(tmp_path: Path) -> None:
    home, key_file = tmp_path / "home", tmp_path / "elsewhere" / "key"
    anyio.run(fill, home)
    before = anyio.run(said_in, home, None)
    assert len(before[0]) == 19
    assert found_in(home) == ["bethink.sqlite3", "f1"]
    reseal(home, MASTER, ENVIRONMENT)
    assert found_in(home) == []
    assert anyio.run(said_in, home, MASTER) == before
    wrapped = (home / FILE).read_bytes()
    made_key(key_file)
    assert key_file.stat().st_mode & 0o077 == 0
    reseal(home, MASTER, MasterKey(key_file))
    assert found_in(home) == []
    assert anyio.run(said_in, home, None) == before
    # The earlier key opens nothing that was written since.
    now = (home / FILE).read_bytes()
    (home / FILE).write_bytes(wrapped)
    with pytest.raises(StorageError, match="sealed with another key"):
        anyio.run(said_in, home, MASTER)
    (home / FILE).write_bytes(now)
    reseal(home, None, None)
    assert state_of(home) is None
    assert anyio.run(said_in, home, None) == before


def test_a_missing_or_wrong_key_is_told_and_nothing_is_changed(tmp_path: Path) -> None:
    home, key_file = tmp_path / "home", tmp_path / "key"
    anyio.run(fill, home)
    made_key(key_file)
    reseal(home, None, MasterKey(key_file))
    kept = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    right = key_file.read_bytes()
    key_file.unlink()
    with pytest.raises(StorageError, match=r"cannot be read .* bring it back"):
        anyio.run(open_home, home)
    made_key(key_file)
    with pytest.raises(StorageError, match="is another one: bring back the key"):
        anyio.run(open_home, home)
    key_file.write_bytes(b"nonsense")
    with pytest.raises(StorageError, match="is damaged"):
        anyio.run(open_home, home)
    assert {path: path.read_bytes() for path in kept} == kept
    key_file.write_bytes(right)
    (home / FILE).unlink()
    with pytest.raises(StorageError, match=r"database is sealed, and sealed\.json .* says otherwise"):
        anyio.run(said_in, home, None)
    (home / FILE).write_bytes(b"{")
    with pytest.raises(StorageError, match=r"sealed\.json is damaged"):
        cipher_of(home, None)


@pytest.mark.parametrize(
    "wanted", [None, ENVIRONMENT, MasterKey(None, MASTER)], ids=["end", "start", "rotate"]
)
@pytest.mark.parametrize(
    ("step", "after"),
    [("_reseal_database", 0), ("_copy", 0), ("_reseal_file", 0), ("_reseal_file", 2), ("keep_state", 1)],
)
def test_what_was_cut_short_is_refused_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: int, wanted: MasterKey | None
) -> None:
    anyio.run(fill, tmp_path)
    before = anyio.run(said_in, tmp_path, None)
    if wanted is not ENVIRONMENT:
        reseal(tmp_path, MASTER, ENVIRONMENT)
    calls, does = [0], getattr(key_change, step)

    def breaks(*given: object) -> object:
        calls[0] += 1
        if calls[0] > after:
            raise OSError(28, "No space left on device", "the disk")
        return does(*given)

    with monkeypatch.context() as patched:
        patched.setattr(key_change, step, breaks)
        with pytest.raises((StorageError, OSError)):
            reseal(tmp_path, MASTER, wanted)
    with pytest.raises(StorageError, match="was cut short"):
        cipher_of(tmp_path, MASTER)
    reseal(tmp_path, MASTER, wanted)
    assert (state_of(tmp_path) is None) is (wanted is None)
    assert anyio.run(said_in, tmp_path, MASTER) == before
    assert found_in(tmp_path) == ([] if wanted else ["bethink.sqlite3", "f1"])
    assert not list(tmp_path.rglob("*resealed*"))


class BreakingBucket(Bucket):
    """A bucket in memory that cannot be written any more after some contents."""

    __slots__ = ("left",)
    left: int

    def write(self, key: str, parts: Iterable[bytes]) -> None:
        """As the bucket does, while any are left."""
        object.__setattr__(self, "left", self.left - 1)
        if self.left < 0:
            raise StorageError("It is away.")
        super().write(key, parts)


CONTENTS = {
    f"{'0' * 32}/large": NEEDLE.encode() * 90_000,
    f"{'0' * 32}/empty": b"",
    f"documents/{'1' * 32}/looks-sealed": b"bethink sealed 1\nnot really",
    f"{'0' * 32}/one-part": NEEDLE.encode().ljust(1 << 20),
}
STRANGE = "somebody/else.txt"


def in_bucket(bucket: Bucket) -> dict[str, bytes]:
    return {one.key: b"".join(bucket.read(one.key)) for one in bucket.objects()}


def opened_by(cipher: Cipher, content: bytes) -> bytes:
    return b"".join(opened_parts(io.BytesIO(content), cipher))


@pytest.fixture
def bucket() -> BreakingBucket:
    made = BreakingBucket(cast("Any", MemoryStore()), "s3://files", "The storage")
    object.__setattr__(made, "left", 1_000)
    for key, content in (CONTENTS | {STRANGE: NEEDLE.encode()}).items():
        made.write(key, [content])
    return made


@pytest.mark.requirement("R186")
@pytest.mark.parametrize("written", [1_000, 0, 1, 3])
@pytest.mark.parametrize(
    "wanted", [None, ENVIRONMENT, MasterKey(None, MASTER)], ids=["end", "start", "rotate"]
)
def test_files_in_s3_are_sealed_with_the_home_whatever_is_cut_short(
    tmp_path: Path, bucket: BreakingBucket, wanted: MasterKey | None, written: int
) -> None:
    anyio.run(fill, tmp_path)
    copy = tmp_path / COPIES / "copy"
    copy.parent.mkdir()
    copy.write_text(NEEDLE)
    if wanted is not ENVIRONMENT:
        reseal(tmp_path, MASTER, ENVIRONMENT, bucket=bucket)
    was = in_bucket(bucket)
    object.__setattr__(bucket, "left", written)
    if written < len(CONTENTS):
        with pytest.raises(StorageError, match="is away"):
            reseal(tmp_path, MASTER, wanted, bucket=bucket)
        with pytest.raises(StorageError, match="was cut short"):
            cipher_of(tmp_path, MASTER)
        object.__setattr__(bucket, "left", 1_000)
    assert reseal(tmp_path, MASTER, wanted, bucket=bucket).remains == ()
    now, cipher = in_bucket(bucket), cipher_of(tmp_path, MASTER)
    assert now.pop(STRANGE) == NEEDLE.encode()
    assert not copy.exists()
    assert (
        now == CONTENTS if cipher is None else {k: opened_by(cipher, v) for k, v in now.items()} == CONTENTS
    )
    assert not [key for key, content in now.items() if NEEDLE.encode() in content and cipher]
    assert not [key for key, content in now.items() if content == was[key]]


def test_what_nobody_can_open_in_s3_is_told_and_stays(tmp_path: Path, bucket: BreakingBucket) -> None:
    anyio.run(fill, tmp_path)
    reseal(tmp_path, MASTER, ENVIRONMENT, bucket=bucket)
    (key, *_) = CONTENTS
    damaged = in_bucket(bucket)[key][:-1]
    bucket.write(key, [b"bethink sealed 1\n" + bytes(len(damaged))])
    (told,) = reseal(tmp_path, MASTER, ENVIRONMENT, bucket=bucket).remains
    assert told == "1 files in S3 are damaged or sealed with another key, and stay as they are."
    assert in_bucket(bucket)[key] == b"bethink sealed 1\n" + bytes(len(damaged))


@pytest.mark.anyio
async def test_a_home_in_use_and_one_that_is_not_sealed_are_refused(tmp_path: Path) -> None:
    async with open_bus(tmp_path):
        with pytest.raises(Busy, match="stop it first"):
            await anyio.to_thread.run_sync(reseal, tmp_path, MASTER, ENVIRONMENT)
    with pytest.raises(BadInput, match="not sealed"):
        await anyio.to_thread.run_sync(reseal, tmp_path, MASTER, None)


def test_a_sealed_home_is_backed_up_and_its_backups_share_parts(tmp_path: Path) -> None:
    home, parts = tmp_path / "home", tmp_path / "home" / "backups" / "parts"
    anyio.run(fill, home)
    reseal(home, MASTER, ENVIRONMENT)
    service = BackupService(Settings(data_dir=home, master_key=SecretStr(MASTER)), FakeClock())
    anyio.run(service.create)
    first = {path for path in parts.rglob("*") if path.is_file()}
    anyio.run(service.create)
    assert {path for path in parts.rglob("*") if path.is_file()} == first
    anyio.run(service.restore, "latest", tmp_path / "new")
    assert found_in(tmp_path) == []
    assert anyio.run(said_in, tmp_path / "new", MASTER) == anyio.run(said_in, home, MASTER)


@pytest.mark.anyio
async def test_notices_between_processes_are_sealed(tmp_path: Path) -> None:
    cipher = Cipher(new_key())
    async with open_bus(tmp_path, cipher=cipher) as one, open_bus(tmp_path, cipher=cipher) as other:
        async with other.subscribe("topic") as notices:
            await one.publish("topic", NEEDLE)
            notice = await anext(notices)
        assert notice.payload == NEEDLE
        assert await anyio.to_thread.run_sync(found_in, tmp_path) == []


def test_contents_that_were_changed_cut_or_swapped_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "opened").mkdir()
    blobs = DirectoryBlobs(tmp_path / "files", SealedContents(Cipher(new_key()), tmp_path / "opened"))
    content, path = b"0123456789abcdef" * 200_000, blobs.path("ann", "f")
    anyio.run(blobs.write, "ann", "f", content)
    assert anyio.run(blobs.opened, "ann", "f").read_bytes() == content
    held, head, part = path.read_bytes(), 17, (1 << 20) + 28
    first, second = held[head : head + part], held[head + part : head + 2 * part]
    rest = held[head + 2 * part :]
    for damaged in (
        held[:-40],
        held[: head + part],
        held[:head] + second + first + rest,
        held[:500] + bytes([held[500] ^ 1]) + held[501:],
        b"",
    ):
        anyio.run(blobs.write, "ann", "f", content)
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match="restore it from a backup"):
            anyio.run(blobs.opened, "ann", "f")
    anyio.run(blobs.delete, "ann", ["f"])
    assert not anyio.run(blobs.opened, "ann", "f").exists()
    assert list((tmp_path / "opened").iterdir()) == []


async def talk(home: Path) -> list[str]:
    """Have somebody say the needle in a home; where it stands meanwhile."""
    settings = Settings(data_dir=home, master_key=SecretStr(MASTER), model="scripted:demo")
    async with open_app(settings) as app:
        me = await app.accounts.authenticate(audience="cli")
        conversation = (await app.conversations.create(me)).id
        run = await app.runs.start(me, conversation, f"Remember that {NEEDLE}.")
        async for _ in app.runs.follow(me, run, None):
            pass
        assert NEEDLE in str((await app.conversations.messages(me, conversation)).items)
        return await anyio.to_thread.run_sync(found_in, home)


@pytest.mark.timeout(60)
def test_the_whole_application_leaves_no_words_on_the_disk(tmp_path: Path) -> None:
    reseal(tmp_path, MASTER, ENVIRONMENT)
    assert anyio.run(talk, tmp_path) == []
    assert found_in(tmp_path) == []
