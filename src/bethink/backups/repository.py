"""Where backups are: archives, and the parts of files that archives share. `service` and `contents` use it.

    DIR/parts/ab/cdef…       a part of a file, by its digest: written once, however many archives name it
    DIR/archives/ID.backup   what one backup holds: its files, and of which parts each of them is
    DIR/archives/ID.checked  how its last verification ended
    DIR/lock                 who writes locks it alone, who reads shares it (flock(2))

An archive is written last and at once: what was cut short has left parts, which nobody names and the next
backup removes. With a passphrase parts and lists are sealed (AES-256-GCM, NIST SP 800-38D; the key by scrypt,
RFC 7914), and a part's name is a digest that only the key makes: nobody can look for a file that they know.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.clock import to_datetime
from bethink.durable_files import replacing, sync
from bethink.errors import BadInput, BethinkError, Busy, DiskFull, StorageError, UnknownId

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
_MAGIC: Final = b"bethink backup\n"
_ARCHIVE: Final = ".backup"
_CHECKED: Final = ".checked"
_PARTIAL: Final = ".part"
_DIGEST_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_SALT_BYTES: Final = 16
_SCRYPT_N: Final = 2**15
_SCRYPT_MEMORY: Final = 2**26
"""32 MB and a tenth of a second for each guess of a passphrase."""
_RAW, _DEFLATED = b"\0", b"\1"
_LEVEL: Final = 1
"""Of zlib: half of the size for a tenth of the time of its best."""

Reason = Literal["asked", "scheduled", "upgrade"]


class ArchiveHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What everybody may read of an archive. `bytes` are those of its files, `at` is microseconds UTC."""

    format: int = FORMAT
    id: str
    at: int
    reason: Reason
    version: str
    schema: int
    files: int
    bytes: int
    salt: str | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether it needs a passphrase."""
        return self.salt is not None


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its path with slashes, permissions, time of change in nanoseconds, and parts in order.

    `mark` is what S3 had of it, by which it is known again.
    """

    path: str
    mode: int
    changed_ns: int
    size: int
    parts: tuple[str, ...]
    mark: str = ""


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds.

    `records` counts the rows of each collection. `vault` is where the pages were, if that was outside of the
    data directory. `unread` are the paths of what could not be read, and is not in it. `elsewhere` is where
    contents of files are that are not in it by choice.
    """

    files: tuple[FileEntry, ...]
    folders: tuple[str, ...] = ()
    records: dict[str, int] = {}
    vault: str | None = None
    unread: tuple[str, ...] = ()
    elsewhere: str | None = None


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """How looking at an archive ended: `fault` says what is wrong with it, None if it is whole."""

    at: int
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """What a passphrase and a salt make: no key does two things."""

    salt: bytes
    naming: bytes = field(repr=False)
    sealing: bytes = field(repr=False)

    @classmethod
    def of(cls, passphrase: str, salt: bytes) -> Keys:
        """The keys."""
        made = hashlib.scrypt(
            passphrase.encode(), salt=salt, n=_SCRYPT_N, r=8, p=1, dklen=64, maxmem=_SCRYPT_MEMORY
        )
        return cls(salt, made[:32], made[32:])

    def seal(self, content: bytes, bound_to: bytes) -> bytes:
        """The content, unreadable without the keys, and only in the place it is bound to."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self.sealing).encrypt(nonce, content, bound_to)

    def open(self, sealed: bytes, bound_to: bytes) -> bytes | None:
        """The content; None if other keys sealed it, or it is damaged."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return AESGCM(self.sealing).decrypt(nonce, rest, bound_to)
        except (InvalidTag, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that was opened."""

    repository: Repository
    header: ArchiveHeader
    contents: Contents
    keys: Keys | None

    def parts(self, file: FileEntry) -> Iterator[bytes]:
        """What a file holds, part by part.

        Raises:
            StorageError: a part is missing, damaged, or cannot be read.
        """
        for name in file.parts:
            yield self.repository.part(self.header.id, name, self.keys)

    def damaged(self, fault: str) -> StorageError:
        """The error for what is wrong with it."""
        return _damaged(self.header.id, fault)


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive in a list. `fault` says why it cannot be read, or what its last verification found."""

    id: str
    header: ArchiveHeader | None
    checked: Verification | None = None
    fault: str | None = None

    @property
    def is_good(self) -> bool:
        """Whether it was verified, and whole."""
        return self.header is not None and self.checked is not None and self.fault is None


@dataclass(frozen=True)
class Repository:
    """A directory of backups; calls block."""

    root: Path

    @cached_property
    def _archives(self) -> Path:
        return self.root / "archives"

    @contextmanager
    def locked(self, *, shared: bool = False) -> Generator[None]:
        """A block beside which nobody else writes; with `shared`, one in which others read, too.

        Raises:
            Busy: somebody else is at it.
            StorageError: the directory cannot be written.
        """
        with translating(self.root):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Busy(
                    "A backup is being made or read at the moment: try again when it is done."
                ) from error
            yield
        finally:
            os.close(file)

    @property
    def is_busy(self) -> bool:
        """Whether somebody makes, removes or reads a backup now."""
        if not (self.root / "lock").exists():
            return False
        try:
            with self.locked():
                return False
        except Busy:
            return True

    def backups(self) -> list[Backup]:
        """All archives, the newest first; those that cannot be read, too."""
        found = [self._backup(id) for id in self._ids()]
        return sorted(found, key=lambda one: one.id, reverse=True)

    def _ids(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [path.name.removesuffix(_ARCHIVE) for path in self._archives.glob(f"*{_ARCHIVE}")]
        return []

    def _backup(self, id: str) -> Backup:
        try:
            header = self._header(id)
        except StorageError as error:
            return Backup(id, None, fault=error.message)
        checked: Verification | None = None
        with suppress(OSError, msgspec.DecodeError):
            checked = msgspec.json.decode(
                (self._archives / f"{id}{_CHECKED}").read_bytes(), type=Verification
            )
        return Backup(id, header, checked, checked.fault if checked else None)

    def _header(self, id: str) -> ArchiveHeader:
        with translating(self.root), (self._archives / f"{id}{_ARCHIVE}").open("rb") as file:
            magic, line = file.readline(len(_MAGIC)), file.readline()
        return _header_of(id, magic, line)

    def new_id(self, at: int) -> str:
        """An id for an archive of this time: ids sort as their times do."""
        stem = f"{to_datetime(at):%Y%m%dT%H%M%SZ}"
        taken = set(self._ids())
        return next(id for id in (stem, *(f"{stem}-{n:03}" for n in range(1, 1000))) if id not in taken)

    def keys_for(self, passphrase: str | None) -> Keys | None:
        """The keys to write with: those of archives with this passphrase, so that parts are shared."""
        if passphrase is None:
            return None
        tried: set[str] = set()
        for one in self.backups():
            if one.header is None or one.header.salt is None or one.header.salt in tried:
                continue
            tried.add(one.header.salt)
            with suppress(BethinkError):
                return self.open(one.id, passphrase).keys
        return Keys.of(passphrase, secrets.token_bytes(_SALT_BYTES))

    def open(self, id: str, passphrase: str | None) -> Archive:
        """An archive, with all that it holds.

        Raises:
            UnknownId: there is none with this id.
            BadInput: it needs a passphrase, or another one.
            StorageError: it is damaged, or cannot be read.
        """
        path = self._archives / f"{id}{_ARCHIVE}"
        if not path.is_file():
            raise UnknownId(f"There is no backup {id!r} in {self.root}: `bethink backup list` shows them.")
        with translating(self.root):
            text = path.read_bytes()
        content, digest = text[:-_DIGEST_BYTES], text[-_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            raise _damaged(id, "the archive was cut short or changed after it was written")
        magic, line, names, body = _split(id, content)
        header = _header_of(id, magic, line)
        keys: Keys | None = None
        if header.salt is not None:
            if passphrase is None:
                raise BadInput(f"The backup {id} is encrypted: give its passphrase (--passphrase-file).")
            keys = Keys.of(passphrase, bytes.fromhex(header.salt))
            opened = keys.open(body, line + names)
            if opened is None:
                raise BadInput(f"The backup {id} was encrypted with another passphrase.")
            body = opened
        try:
            contents = msgspec.json.decode(zlib.decompress(body), type=Contents)
        except (zlib.error, msgspec.DecodeError) as error:
            raise _damaged(id, f"its list of files cannot be read ({error})") from error
        return Archive(self, header, contents, keys)

    def write(self, header: ArchiveHeader, contents: Contents, keys: Keys | None) -> None:
        """Keep an archive; durable when it returns, and not there at all before."""
        names = sorted({part for file in contents.files for part in file.parts})
        line = msgspec.json.encode(header) + b"\n"
        listed = msgspec.json.encode(names) + b"\n"
        body = zlib.compress(msgspec.json.encode(contents))
        if keys is not None:
            body = keys.seal(body, line + listed)
        content = _MAGIC + line + listed + body
        # The names of parts may not be on the disk yet, though what is in them is.
        with translating(self.root):
            for folder in ("parts", *(f"parts/{name}" for name in sorted({name[:2] for name in names}))):
                if (self.root / folder).is_dir():
                    sync(self.root / folder)
        _write(self._archives / f"{header.id}{_ARCHIVE}", content + hashlib.sha256(content).digest())
        with translating(self.root):
            sync(self._archives)
            sync(self.root)

    def set_checked(self, id: str, found: Verification) -> None:
        """Keep how a verification ended."""
        with translating(self.root):
            _write(self._archives / f"{id}{_CHECKED}", msgspec.json.encode(found))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove archives; `sweep` removes their parts."""
        with translating(self.root):
            for id in ids:
                for end in (_ARCHIVE, _CHECKED):
                    (self._archives / f"{id}{end}").unlink(missing_ok=True)

    def sweep(self) -> int:
        """Remove parts that no archive names; how many. Nothing while it is not known what one names."""
        try:
            named = {name for id in self._ids() for name in self._named(id)}
        except StorageError:
            return 0
        gone = 0
        with translating(self.root):
            for folder in _listed(self.root / "parts"):
                for file in _listed(folder):
                    if f"{folder.name}{file.name}" not in named:
                        file.unlink(missing_ok=True)
                        gone += 1
        return gone

    def _named(self, id: str) -> Sequence[str]:
        with translating(self.root):
            text = (self._archives / f"{id}{_ARCHIVE}").read_bytes()
        *_, names, _ = _split(id, text)
        try:
            return msgspec.json.decode(names, type=list[str])
        except msgspec.DecodeError as error:
            raise _damaged(id, f"its list of parts cannot be read ({error})") from error

    def has(self, parts: Collection[str]) -> bool:
        """Whether all of these parts are there."""
        return all(self._path(part).exists() for part in parts)

    def put(self, content: bytes, keys: Keys | None) -> str:
        """Keep a part, unless it is there; its name. `write` makes it durable."""
        if keys is None:
            name = hashlib.sha256(content).hexdigest()
        else:
            name = hmac.digest(keys.naming, content, "sha256").hex()
        path = self._path(name)
        if not path.exists():
            packed = zlib.compress(content, _LEVEL)
            packed = _DEFLATED + packed if len(packed) < len(content) else _RAW + content
            _write(path, packed if keys is None else keys.seal(packed, name.encode()))
        return name

    def part(self, id: str, name: str, keys: Keys | None) -> bytes:
        """A part that an archive names, as it was.

        Raises:
            StorageError: it is missing, damaged, or cannot be read.
        """
        with translating(self.root):
            try:
                kept = self._path(name).read_bytes()
            except FileNotFoundError as error:
                raise _damaged(id, f"its part {name[:12]}… is missing") from error
        packed = kept if keys is None else keys.open(kept, name.encode())
        content: bytes | None = None
        if packed:
            with suppress(zlib.error):
                content = zlib.decompress(packed[1:]) if packed[:1] == _DEFLATED else packed[1:]
        if content is None or (keys is None and hashlib.sha256(content).hexdigest() != name):
            raise _damaged(id, f"its part {name[:12]}… was changed after it was written")
        return content

    def _path(self, name: str) -> Path:
        return self.root / "parts" / name[:2] / name[2:]


def _split(id: str, text: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    magic, rest = text[: len(_MAGIC)], text[len(_MAGIC) :]
    line, has_line, rest = rest.partition(b"\n")
    names, has_names, body = rest.partition(b"\n")
    if not (has_line and has_names):
        raise _damaged(id, "the archive was cut short")
    return magic, line + b"\n", names + b"\n", body


def _header_of(id: str, magic: bytes, line: bytes) -> ArchiveHeader:
    if magic != _MAGIC:
        raise _damaged(id, "the file is no archive of Bethink")
    try:
        format = json.loads(line)["format"]
        if isinstance(format, int) and format > FORMAT:
            raise StorageError(f"A newer Bethink made the backup {id}: restore it with that version.")
        header = msgspec.json.decode(line, type=ArchiveHeader)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(id, f"its header cannot be read ({error})") from error
    if header.id != id:
        raise _damaged(id, f"its file was renamed from {header.id}")
    return header


def _damaged(id: str, fault: str) -> StorageError:
    return StorageError(f"The backup {id} is damaged: {fault}. Use another one.")


@contextmanager
def translating(place: Path) -> Generator[None]:
    """Within the block, errors of the file system are ours."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(f"The disk of {place} is full: free some space, then try again.") from error
        raise StorageError(f"{error.filename or place} cannot be used: {error.strerror}.") from error


def _write(path: Path, content: bytes) -> None:
    with translating(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path, path.with_name(f"{path.name}{_PARTIAL}")) as file:
            file.write(content)


def _listed(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return sorted(folder.iterdir())
    return []
