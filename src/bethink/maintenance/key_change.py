"""Seals a home, opens it for good, or gives it another key: the command line calls `reseal`.

All that is sealed is written anew with the new key, beside what is there: at every moment each part is whole
under one of the two keys. What was cut short is gone on with. Records in PostgreSQL change in one
transaction, in which the database says so, too: cut short in it, nothing has happened.
"""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import anyio

from bethink.blobs.directory import FIRST_BYTES, is_sealed_by, opened_parts, sealed_parts
from bethink.blobs.s3 import COPIES
from bethink.durable_files import sync
from bethink.engines.postgres.sealed import end_resealing, home_of, reseal_database
from bethink.engines.sqlite.bus import FILE_NAME as BUS
from bethink.engines.sqlite.bus import is_in_use
from bethink.engines.sqlite.schema import FILE_NAME, check_files, open_connection, open_writer, translated
from bethink.errors import BadInput, Busy, StorageError
from bethink.sealing import Cipher, MasterKey, NotSealedSoError, SealedHome, keep_state, new_key, state_of

if TYPE_CHECKING:
    from bethink.blobs.bucket import Bucket

_FILES: Final = "files"
_NEW: Final = f".{FILE_NAME}.resealed"
_PARTIAL: Final = ".resealed"
_AT_ONCE: Final = 8
"""Objects of a bucket that are written at once: each waits for the network most of the time."""
_BUFFER_BYTES: Final = 1 << 20
_TABLES: Final = """
SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'
ORDER BY type = 'table' DESC, rowid
"""


@dataclass(frozen=True, slots=True)
class Resealed:
    """How a home is sealed now; where the server keeps what was there before, in a sentence each."""

    state: SealedHome | None
    remains: tuple[str, ...] = ()


_BODIES: Final = """
SELECT place, body FROM bodies WHERE place NOT IN (SELECT place FROM blanks) ORDER BY place
"""


def reseal(
    data_dir: Path,
    chosen: str | None,
    wanted: MasterKey | None,
    *,
    url: str | None = None,
    bucket: Bucket | None = None,
) -> Resealed:
    """Have a home be sealed with a new key that `wanted` wraps, or by none; how it is sealed now.

    `chosen` is BETHINK_MASTER_KEY, `url` the address of a PostgreSQL that has the records, `bucket` has the
    files that are in S3. One that was cut short is ended first, whatever is wanted.

    Raises:
        Busy: a Bethink uses it.
        BadInput: there is nothing to do.
        StorageError: a key is missing or another one, or something cannot be read or written: do it again.
    """
    if is_in_use(data_dir):
        raise Busy(f"A Bethink uses {data_dir}: stop it first.")
    state = state_of(data_dir) if url is None else anyio.run(home_of, url, data_dir)
    if state is None or not state.is_moving:
        if state is None and wanted is None:
            raise BadInput("This home is not sealed.")
        state = SealedHome(
            key_file=str(wanted.file) if wanted and wanted.file else None,
            now=wanted.wrap(new_key()) if wanted else None,
            before=state.now if state else None,
            key_file_before=state.key_file if state else None,
            is_moving=True,
        )
        # Who has lost the key learns it now, and not when half is written.
        _cipher(state.before, state.key_file_before, chosen)
        if url is None:
            keep_state(data_dir, state)
    before = _cipher(state.before, state.key_file_before, chosen)
    now = _cipher(state.now, state.key_file, chosen)
    after = SealedHome(key_file=state.key_file, now=state.now) if state.now else None
    told: list[str] = []
    try:
        if url is None:
            _reseal_database(data_dir / FILE_NAME, before, now)
        else:
            anyio.run(partial(reseal_database, url, state, before=before, now=now))
            keep_state(data_dir, state)
        told = _reseal_files(data_dir, bucket, before=before, now=now)
        for end in ("", "-wal", "-shm"):  # it may hold notices as they were
            (data_dir / f"{BUS}{end}").unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be used ({error.strerror}): do it again.") from error
    if url is not None:
        told += anyio.run(end_resealing, url, after)
    keep_state(data_dir, after)
    return Resealed(after, tuple(told))


def _cipher(wrapped: bytes | None, key_file: str | None, chosen: str | None) -> Cipher | None:
    if wrapped is None:
        return None
    return MasterKey(Path(key_file) if key_file else None, chosen).unwrap(wrapped)


def _reseal_database(path: Path, before: Cipher | None, now: Cipher | None) -> None:
    new = path.with_name(_NEW)
    for end in ("", "-wal", "-shm", "-journal"):
        new.with_name(f"{_NEW}{end}").unlink(missing_ok=True)
    try:
        check_files(path)
        if not path.exists():
            return
        _upgrade(path, before, now)
        with closing(open_connection(path, write=True)) as source:
            (kept,) = source.execute("SELECT secret FROM seal").fetchone()
            if _is_done(kept, before, now):
                return
            source.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            new.touch(mode=0o600)
            with closing(open_connection(new, write=True)) as target:
                _copy(source, target, _translation(before, now))
    except sqlite3.Error as error:
        raise translated(error, str(path)) from error
    sync(new)
    new.replace(path)
    sync(path.parent)


def _upgrade(path: Path, before: Cipher | None, now: Cipher | None) -> None:
    """Bring a database of an older Bethink to the newest schema first, by the key that it has."""
    for cipher in (before, now):
        try:
            open_writer(path, cipher).close()
        except StorageError as error:
            fault = error
        else:
            return
    raise fault


def _is_done(secret: bytes, before: Cipher | None, now: Cipher | None) -> bool:
    return _opens(now, secret) and not _opens(before, secret)


def _opens(cipher: Cipher | None, secret: bytes) -> bool:
    from bethink.engines.sqlite.tables import SECRET_BYTES

    if cipher is None:
        return len(secret) == SECRET_BYTES
    try:
        cipher.open(secret)
    except NotSealedSoError:
        return False
    return True


def _translation(before: Cipher | None, now: Cipher | None) -> Callable[[bytes], bytes]:
    def translate(body: bytes) -> bytes:
        said = before.open(body) if before else body
        return now.seal(said) if now else said

    return translate


def _copy(
    source: sqlite3.Connection, target: sqlite3.Connection, translate: Callable[[bytes], bytes]
) -> None:
    """All of one database to an empty one, its bodies translated; what was deleted stays behind."""
    target.execute("PRAGMA synchronous = OFF")
    target.execute("BEGIN IMMEDIATE")
    for kind, name, sql in source.execute(_TABLES).fetchall():
        target.execute(sql)
        if kind != "table" or name == "blanks":
            continue
        if name == "bodies":
            rows: Iterator[tuple[object, ...]] = (
                (place, translate(body)) for place, body in source.execute(_BODIES)
            )
            width = 2
        elif name == "seal":
            rows, width = ((translate(secret),) for (secret,) in source.execute("SELECT secret FROM seal")), 1
        else:
            held = source.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name of the file
            rows, width = held, len(held.description)
        target.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * width)})', rows)  # noqa: S608 - the same
    (schema,) = source.execute("PRAGMA user_version").fetchone()
    target.execute(f"PRAGMA user_version = {schema}")
    target.execute("COMMIT")


def _reseal_files(
    data_dir: Path, bucket: Bucket | None, *, before: Cipher | None, now: Cipher | None
) -> list[str]:
    """Write all contents anew, wherever they are; what is not as it should be then, in a sentence each."""
    for path in _contents(data_dir / _FILES):
        _reseal_file(path, before, now)
    shutil.rmtree(data_dir / COPIES, ignore_errors=True)
    return [] if bucket is None else _reseal_bucket(bucket, before, now)


def _contents(root: Path) -> Iterator[Path]:
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place) / name
            if name.endswith((".part", _PARTIAL)):
                path.unlink(missing_ok=True)
            else:
                yield path


def _reseal_file(path: Path, before: Cipher | None, now: Cipher | None) -> None:
    opened, sealed = path.with_name(f"{path.name}{_PARTIAL}"), path.with_name(f".{path.name}{_PARTIAL}")
    state = path.stat()
    try:
        if now is not None and _opened(path, opened, now):
            return
        # What does not open with the earlier key has been opened for good already.
        plain = opened if before is not None and _opened(path, opened, before) else path
        if now is None:
            new = plain
        else:
            with plain.open("rb") as source, sealed.open("wb") as target:
                target.writelines(sealed_parts(source, now))
            new = sealed
        if new != path:
            new.chmod(0o600)
            os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
            sync(new)
            new.replace(path)
            sync(path.parent)
    finally:
        opened.unlink(missing_ok=True)
        sealed.unlink(missing_ok=True)


# --- files in S3


class _Stream(io.RawIOBase):
    """Bytes that come in parts, as a file."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - what a reader gives
        while not self._rest and (part := next(self._parts, None)) is not None:
            self._rest = memoryview(part)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _file_of(parts: Iterator[bytes]) -> BinaryIO:
    return io.BufferedReader(_Stream(parts), _BUFFER_BYTES)


def _reseal_bucket(bucket: Bucket, before: Cipher | None, now: Cipher | None) -> list[str]:
    """Have all contents of a bucket be sealed with the new key; what is not so then, in a sentence each.

    Each is written as a whole or not at all, and nothing readable of a sealed one touches the disk.
    """

    def reseal_one(item: tuple[str, int]) -> bool:
        return _reseal_object(bucket, *item, before=before, now=now)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        left = [*pool.map(reseal_one, sorted(bucket.sizes().items()))].count(False)
    told: list[str] = []
    if left:
        told.append(f"{left:,} files in S3 are damaged or sealed with another key, and stay as they are.")
    if bucket.kept is not None:
        told.append(
            f"{bucket.place} keeps versions: files as they were before stay there until their old versions"
            " expire or somebody removes them."
        )
    return told


def _reseal_object(bucket: Bucket, key: str, size: int, *, before: Cipher | None, now: Cipher | None) -> bool:
    """Write an object anew if it is not as it should be; whether it is so then."""
    try:
        first = bucket.first(key, min(size, FIRST_BYTES))
    except FileNotFoundError:
        return True
    if now is not None and is_sealed_by(now, first, size):
        return True
    parts = bucket.read(key)
    if before is not None:
        if not is_sealed_by(before, first, size):
            # It has been opened for good already, or nobody can.
            return now is None
        parts = opened_parts(_file_of(parts), before)
    bucket.write(key, parts if now is None else sealed_parts(_file_of(parts), now))
    return True


def _opened(path: Path, target: Path, cipher: Cipher) -> bool:
    """Whether a file is sealed with a key; if so, the target has what it holds."""
    try:
        with path.open("rb") as source, target.open("wb") as file:
            file.writelines(opened_parts(source, cipher))
    except NotSealedSoError:
        return False
    return True
