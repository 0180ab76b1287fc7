"""A folder of a bucket in S3-compatible storage: how it is reached, what is in it, what is wrong with it.

`s3` keeps contents of files there. Backups, migrations and `bethink doctor` read and fill it in threads.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio

from bethink.blobs import BlobsState
from bethink.errors import BadInput, DiskFull, NotInstalled, StorageError

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

    from bethink.settings import Settings

MISSING: Final = "Files in S3 need a package that is not installed: pip install 'bethink[s3]'."
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
"""How a storage names what it refuses; an answer to HEAD has none."""
_KEY: Final = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken"})
_CLOCK: Final = frozenset({"RequestTimeTooSkewed", "RequestExpired", "AccessDeniedTimeSkewed"})
_REGION: Final = frozenset(
    {"AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException"}
)
_FULL: Final = frozenset({"XMinioStorageFull", "QuotaExceeded", "InsufficientStorage", "SlowDownStorageFull"})
_OF_MACHINE: Final = "169.254."
"""Where machines of a cloud are asked for their key: an error there says that they have none."""
_LOOK_S: Final = 5.0
_AGAIN_S: Final = 30.0
_TRIED: Final = "tried-by-bethink"
"""An object without content, to learn whether this one may be written, and has versions."""
_PART_BYTES: Final = 1 << 20
_CONTENT: Final = re.compile(r"(?:[a-z]+/)?[0-9a-f]{32}/[\w-]+")


def is_content(key: str) -> bool:
    """Whether a content may lie under this key: its area, the hash of its owner, its id."""
    return _CONTENT.fullmatch(key) is not None


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object, by its key below the folder; another content has another `mark`."""

    key: str
    size: int
    changed_ns: int
    mark: str


@dataclass(slots=True)
class _Known:
    """What is known of a bucket, and until when."""

    fault: str | None = None
    has_versions: bool | None = None
    until: float = float("-inf")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A folder of a bucket. Calls that are not async block; `place` is the storage in words, for errors."""

    storage: S3Store
    url: str
    place: str
    known: _Known = field(default_factory=_Known, repr=False, compare=False)

    @contextmanager
    def translating(self) -> Generator[None]:
        """Within the block, errors of the storage are ours; that there is no such object stays as it is.

        Raises:
            DiskFull: the storage has no room.
            StorageError: it cannot be used; the sentence says what to do.
            FileNotFoundError: there is no such object.
        """
        from obstore import exceptions

        try:
            yield
        except exceptions.AlreadyExistsError:
            raise
        except (FileNotFoundError, exceptions.BaseError) as error:
            self.known.until = float("-inf")  # who asks how it is hears of this
            found = _CODE.search(str(error))
            code = found[1] if found else ""
            if isinstance(error, FileNotFoundError) and code != "NoSuchBucket":
                raise
            if code in _FULL:
                raise DiskFull(f"{self.place} is full: make room there, then try again.") from error
            raise StorageError(self._told(code, error)) from error

    def _told(self, code: str, error: Exception) -> str:
        from obstore import exceptions

        if code == "NoSuchBucket":
            return f"{self.place} is not there: make the bucket, or correct `files_url`."
        if code in _CLOCK:
            return f"{self.place} refuses the clock of this machine: set it right, best by NTP."
        if code in _REGION:
            return f"{self.place} is in another region: correct `files_s3_region`."
        if code in _KEY or _OF_MACHINE in str(error):
            return f"{self.place} does not know the key: check `files_s3_key_id` and `files_s3_secret_key`."
        if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError) or code == (
            "AccessDenied"
        ):
            return (
                f"{self.place} refuses the key: check `files_s3_key_id` and `files_s3_secret_key`, that "
                "they may list, read, write and delete there, and the clock of this machine."
            )
        return (
            f"{self.place} cannot be used now. Try again, and check that the storage runs and that "
            "`files_s3_endpoint` and `files_s3_region` are right."
        )

    # --- how it is

    async def state(self) -> BlobsState:
        """How it is, as it was found within the last half minute."""
        known = self.known
        if anyio.current_time() > known.until:
            try:
                with anyio.fail_after(_LOOK_S):
                    await self._look()
                known.fault = None
            except TimeoutError:
                known.fault = f"{self.place} does not answer: see that it runs and can be reached."
            except StorageError as error:
                known.fault = error.message
            known.until = anyio.current_time() + _AGAIN_S
        return BlobsState(known.fault, self.kept)

    @property
    def kept(self) -> str | None:
        """What stays of what was deleted, in a sentence; None if nothing does, or nobody knows."""
        if not self.known.has_versions:
            return None
        return (
            f"{self.place} keeps versions: what is deleted stays there until its old versions expire or "
            "somebody removes them with the means of the storage."
        )

    async def _look(self) -> None:
        import obstore

        with self.translating():
            async for page in obstore.list(self.storage, return_arrow=False):  # pyright: ignore[reportUnknownMemberType] - of Arrow
                if self.known.has_versions is None:
                    await self.head(page[0]["path"])
                return
            if self.known.has_versions is None:
                self._learn(await obstore.put_async(self.storage, _TRIED, b""))
                await obstore.delete_async(self.storage, [_TRIED])

    async def head(self, key: str) -> ObjectMeta:
        """What is known of an object.

        Raises:
            FileNotFoundError: there is none.
        """
        import obstore

        with self.translating():
            found = await obstore.head_async(self.storage, key)
        self._learn(found)
        return found

    def _learn(self, answer: Any) -> None:  # noqa: ANN401 - of what is there, or of what was written
        self.known.has_versions = answer["version"] is not None

    def try_out(self) -> None:
        """See that it can be written, read and deleted.

        Raises:
            StorageError: it cannot; the sentence says what to do.
        """
        import obstore

        with self.translating():
            self._learn(obstore.put(self.storage, _TRIED, b"tried"))
            obstore.get(self.storage, _TRIED).bytes()
            obstore.delete(self.storage, [_TRIED])

    # --- what is in it

    def objects(self) -> Iterator[BucketObject]:
        """All that is in the folder, in the order of keys."""
        import obstore

        with self.translating():
            for page in obstore.list(self.storage, return_arrow=False):  # pyright: ignore[reportUnknownMemberType] - of Arrow
                for one in page:
                    if one["path"] != _TRIED:
                        changed_ns = round(one["last_modified"].timestamp() * 1_000_000) * 1_000
                        mark = f"{one['e_tag']} {one['size']}"
                        yield BucketObject(one["path"], one["size"], changed_ns, mark)

    def read(self, key: str, part_bytes: int = _PART_BYTES) -> Iterator[bytes]:
        """What an object holds, in parts that have at least so many bytes, but for the last.

        Raises:
            FileNotFoundError: there is none.
        """
        import obstore

        with self.translating():
            for part in obstore.get(self.storage, key).stream(min_chunk_size=part_bytes):
                yield bytes(part)

    def first(self, key: str, count: int) -> bytes:
        """The first bytes of an object that has at least so many.

        Raises:
            FileNotFoundError: there is none.
        """
        import obstore

        with self.translating():
            return bytes(obstore.get_range(self.storage, key, start=0, length=count)) if count else b""

    @property
    def name(self) -> str:
        """Its address."""
        return self.url

    def sizes(self) -> Mapping[str, int]:
        """How many bytes each content has, by its key."""
        return {one.key: one.size for one in self.objects() if is_content(one.key)}

    def write(self, key: str, parts: Iterable[bytes]) -> None:
        """Keep a content; it is there as a whole or not at all."""
        import obstore

        # Parts may come from a bucket, too: the client cannot read one while it writes another.
        with tempfile.TemporaryFile() as file:
            file.writelines(parts)
            file.seek(0)
            with self.translating():
                self._learn(obstore.put(self.storage, key, file))


def bucket_at(settings: Settings, url: str | None = None) -> Bucket:
    """The bucket that the settings name, or one at another address with the same key.

    Raises:
        NotInstalled: the package is missing.
        BadInput: the address names no bucket.
    """
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise NotInstalled(MISSING) from error

    address = url or settings.files_url
    parts = urlsplit(address)
    if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc:
        raise BadInput(
            "`files_url` is no address of a bucket: write it as s3://BUCKET or s3://BUCKET/FOLDER."
        )
    endpoint, secret = settings.files_s3_endpoint, settings.files_s3_secret_key
    given = {
        "endpoint": endpoint,
        "region": settings.files_s3_region or None,
        "access_key_id": settings.files_s3_key_id or None,
        "secret_access_key": secret.get_secret_value() if secret else None,
    }
    storage = S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        # Compatible storages seldom have a name for each bucket.
        virtual_hosted_style_request=endpoint is None,
        client_options={
            "allow_http": True,
            "connect_timeout": "5s",
            "read_timeout": "60s",
            "timeout": "1h",
        },
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        **{name: value for name, value in given.items() if value is not None},  # pyright: ignore[reportArgumentType] - names of its options
    )
    at = f" at {_host(endpoint)}," if endpoint else ","
    return Bucket(storage, address, f"The storage of files, {address}{at}")


def _host(endpoint: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
