"""Model files in GGUF that lie on this machine: downloaded into the data directory, or used where they are.

`web/models` calls it for an administrator. A file arrives as `models/gguf/NAME.part` and has its name when it
is whole; `NAME.json` beside it says where it comes from, so that a download goes on after a break or a new
start when it is asked for again. `gguf:PATH` names such a file as a model (`llm.llamacpp`).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, NoReturn
from urllib.parse import unquote

import anyio
import anyio.to_thread
import msgspec

from bethink.durable_files import replacing
from bethink.errors import AddressRefused, BadInput, BethinkError, Conflict, DiskFull, UnknownId, WebError
from bethink.internet.addresses import AddressGate, checked_url, exceptions
from bethink.internet.http_get import REDIRECTS, FileAnswer, http_file, ready
from bethink.llm.llamacpp import MAGIC, read_header
from bethink.llm.providers import GGUF
from bethink.telemetry import log

if TYPE_CHECKING:
    import httpx2
    from anyio.abc import TaskGroup

    from bethink.settings import Settings


FOLDER: Final = Path("models", "gguf")
_ENDING: Final = ".gguf"
_MOST_NAME: Final = 120
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SPLIT: Final = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
"""How llama.cpp names the parts of a model in several files."""
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LOOPBACK: Final = ("127.0.0.0/8", "::1")
_MOST_REDIRECTS: Final = 5
_WRITTEN_BYTES: Final = 1_000_000
"""What is written at once, and lost at most if the process is killed."""
_SPARE_BYTES: Final = 500_000_000
"""What is left free on the disk, for the database beside it."""
_GB: Final = 1_000_000_000
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+)")
_INTERRUPTED: Final = "The download was interrupted. Start it again: it goes on where it stopped."
_log = log("model files")

State = Literal["downloading", "ready", "failed", "cancelled"]


class ModelSource(msgspec.Struct, frozen=True):
    """Where a file comes from: an address, or its path on this machine. `tag` is its version."""

    schema: int = 1
    url: str = ""
    path: str = ""
    tag: str = ""
    total: int = 0


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file as it stands. `total` is None if nobody told; `model` names it in settings."""

    id: str
    name: str
    source: str
    state: State
    bytes: int
    total: int | None
    problem: str = ""
    model: str = ""


@dataclass(slots=True)
class _Download:
    """One that was started in this process."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    state: State = "downloading"
    bytes: int = 0
    total: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file of this id lies, while it arrives and after that. All of it blocks."""

    folder: Path
    id: str

    @property
    def whole(self) -> Path:
        return self.folder / self.id

    @property
    def part(self) -> Path:
        return self.folder / f"{self.id}.part"

    @property
    def note(self) -> Path:
        return self.folder / f"{self.id}.json"

    def source(self) -> ModelSource | None:
        """Where it comes from; None if nothing is known of it."""
        try:
            return msgspec.json.decode(self.note.read_bytes(), type=ModelSource)
        except (OSError, msgspec.DecodeError):
            return None

    def keep(self, source: ModelSource) -> None:
        """Have its source known from now on."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(self.note, self.note.with_suffix(".fresh")) as file:
            file.write(msgspec.json.encode(source))

    def remove(self) -> None:
        """Take away all that was downloaded; a file that lies elsewhere stays there."""
        for path in (self.whole, self.part, self.note):
            path.unlink(missing_ok=True)

    def opened(self) -> BinaryIO:
        """What has arrived, to be written on; nobody else writes it until it is closed."""
        file = os.fdopen(os.open(self.part, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise Conflict("Another Bethink process downloads this file already.") from error
        return file


@dataclass(slots=True)
class ModelFiles:
    """The model files of a data directory."""

    settings: Settings
    gate: Callable[[], AddressGate]
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    _downloads: dict[str, _Download] = field(default_factory=dict[str, "_Download"], init=False)
    _tasks: TaskGroup | None = field(default=None, init=False)
    _lock: anyio.Lock = field(default_factory=anyio.Lock, init=False, repr=False)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[ModelFiles]:
        """Downloads go on inside; one that is cut at the end goes on when it is asked for again."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def list(self) -> list[ModelFile]:
        """All files, by name."""
        return await anyio.to_thread.run_sync(self._listed)

    async def download(self, text: str) -> ModelFile:
        """Have the file at an address arrive, from where it stopped if a part of it is here.

        Raises:
            BadInput: the address is none that is opened, or names a model in several files.
            Conflict: another file has this name.
        """
        await ready()
        url = _page_to_file(checked_url(text))
        gate_to(url, self.gate())
        place = self._place(_safe_name(unquote(url.path)))
        async with self._lock:
            now = await self._found(place.id)
            if now is None or (now.state == "failed" and not now.bytes):
                source = ModelSource(url=str(url))
            elif _bare(now.source) != _bare(str(url)):
                raise Conflict(f"There is a file {place.id} from elsewhere: remove that one first.")
            else:
                known = await anyio.to_thread.run_sync(place.source)
                source = msgspec.structs.replace(known or ModelSource(), url=str(url))
            if self._tasks and (now is None or now.state not in {"downloading", "ready"}):
                await anyio.to_thread.run_sync(place.keep, source)
                self._downloads[place.id] = download = _Download(
                    bytes=now.bytes if now else 0, total=source.total
                )
                self._tasks.start_soon(self._run, place, source, download)
        return await self._one(place.id)

    async def use(self, path: str) -> ModelFile:
        """Take in a file of this machine; it stays where it lies.

        Raises:
            BadInput: it is no GGUF file, or cannot be read.
            Conflict: another file has this name.
        """
        found = await anyio.to_thread.run_sync(Path(path.strip()).expanduser)
        if not found.is_absolute():
            raise BadInput(f"{path[:200]!r} is not a whole path: begin at the root of the disk.")
        await anyio.to_thread.run_sync(read_header, found)
        place = self._place(_safe_name(found.name))
        async with self._lock:
            now = await self._found(place.id)
            if now is not None and now.source != str(found):
                raise Conflict(f"There is a file {place.id} from elsewhere: remove that one first.")
            await anyio.to_thread.run_sync(place.keep, ModelSource(path=str(found)))
        return await self._one(place.id)

    async def remove(self, id: str) -> None:
        """Cancel a download, of which the part stays; remove what is not being downloaded.

        Raises:
            UnknownId: there is no such file.
            Conflict: the settings name it as a model.
        """
        async with self._lock:
            file, download = await self._one(id), self._downloads.get(id)
            if download is not None and download.state == "downloading":
                download.scope.cancel()
                await download.ended.wait()
                return
            settings = self.settings
            if file.model in {settings.model, *settings.model_fallbacks, *settings.models_offered} - {""}:
                raise Conflict(f"{file.name} is in use: choose another model first.")
            await anyio.to_thread.run_sync(self._place(id).remove)
            self._downloads.pop(id, None)

    def _place(self, id: str) -> _Place:
        return _Place(self.settings.data_dir.absolute() / FOLDER, id)

    async def _one(self, id: str) -> ModelFile:
        if (file := await self._found(id)) is None:
            raise UnknownId(f"There is no model file {id[:80]!r}.")
        return file

    async def _found(self, id: str) -> ModelFile | None:
        return next((file for file in await self.list() if file.id == id), None)

    def _listed(self) -> list[ModelFile]:
        notes = sorted(self._place("").folder.glob(f"*{_ENDING}.json"))
        places = [self._place(note.name.removesuffix(".json")) for note in notes]
        return [self._shown(place, source) for place in places if (source := place.source()) is not None]

    def _shown(self, place: _Place, source: ModelSource) -> ModelFile:
        path = Path(source.path) if source.path else place.whole
        name = place.id.removesuffix(_ENDING)
        given = ModelFile(place.id, name, source.path or source.url, "failed", 0, source.total or None)
        if (size := _size(path)) is not None:
            return replace(given, state="ready", bytes=size, total=size, model=f"{GGUF}:{path}")
        if source.path:
            return replace(given, problem=f"There is no file {source.path} any more.")
        if (download := self._downloads.get(place.id)) is None:
            return replace(given, bytes=_size(place.part) or 0, problem=_INTERRUPTED)
        here = download.bytes if download.state == "downloading" else _size(place.part) or 0
        total = download.total or None
        return replace(given, state=download.state, bytes=here, total=total, problem=download.problem)

    async def _run(self, place: _Place, source: ModelSource, download: _Download) -> None:
        try:
            with download.scope:
                await self._fetch(place, source, download)
                download.state = "ready"
            if download.scope.cancelled_caught:
                download.state = "cancelled"
        except OSError as error:
            download.problem = f"The file cannot be written: {error.strerror or error}."
        except BethinkError as error:
            download.problem = error.message
        except Exception:  # noqa: BLE001 - a background task: recorded, and told in the list
            _log.exception("the download of %s stopped unexpectedly", place.id)
            download.problem = "The download stopped unexpectedly; the log says why. Start it again."
        finally:
            if download.problem:
                download.state = "failed"
            download.ended.set()

    async def _fetch(self, place: _Place, source: ModelSource, download: _Download) -> None:
        """Follow the address to the file, and take what is not here of it."""
        url = checked_url(source.url)
        gate = gate_to(url, self.gate())
        file = await anyio.to_thread.run_sync(place.opened)
        try:
            arrival = _Arrival(place, source, download, file, self.free_bytes)
            headers = await arrival.headers()
            if arrival.size and arrival.size == source.total:
                return await anyio.to_thread.run_sync(arrival.finish, source.total)
            for _ in range(_MOST_REDIRECTS + 1):
                async with http_file(gate, url, headers) as answer:
                    if answer.status not in REDIRECTS or "location" not in answer.headers:
                        return await arrival.take(answer)
                    url = checked_url(str(url.join(answer.headers["location"])))
                gate_to(url, gate)
        finally:
            file.close()
        raise WebError(f"The address redirects more than {_MOST_REDIRECTS} times.")


@dataclass(slots=True)
class _Arrival:
    """A file while it is written: `size` bytes of it are here."""

    place: _Place
    source: ModelSource
    download: _Download
    file: BinaryIO
    free_bytes: Callable[[Path], int]
    size: int = 0

    async def headers(self) -> list[tuple[str, str]]:
        """What asks for the rest: of the same version, or for all of it."""
        self.size = await anyio.to_thread.run_sync(self.file.seek, 0, os.SEEK_END)
        version = [("If-Range", self.source.tag)] if self.source.tag else []
        return [("Range", f"bytes={self.size}-"), *version] if self.size else []

    async def take(self, answer: FileAnswer) -> None:
        """Write all that comes, and give the file its name."""
        total = await anyio.to_thread.run_sync(self._begin, answer)
        self.download.bytes, self.download.total = self.size, total
        waiting = bytearray()
        try:
            async for part in answer.parts:
                waiting += part
                self.download.bytes += len(part)
                if len(waiting) >= _WRITTEN_BYTES:
                    await anyio.to_thread.run_sync(self._write, waiting)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._write, waiting)
        await anyio.to_thread.run_sync(self.finish, total)

    def _begin(self, answer: FileAnswer) -> int:
        """Be where to write on; gives the bytes of the whole file, 0 if nobody tells."""
        total = self._checked(answer)
        self.file.truncate(self.size)
        self.file.seek(self.size)
        self._check_room(max(total - self.size, 0))
        tag = answer.headers.get("etag", "")
        # A weak one tells of no bytes (RFC 9110, 13.1.5).
        tag = "" if tag.startswith("W/") else tag
        self.place.keep(msgspec.structs.replace(self.source, tag=tag, total=total))
        return total

    def _checked(self, answer: FileAnswer) -> int:
        """The bytes of the whole file, if the server gives it."""
        told = _RANGE.fullmatch(answer.headers.get("content-range", ""))
        if answer.status == HTTPStatus.PARTIAL_CONTENT and told and int(told[1]) == self.size:
            if self.source.total in {0, int(told[2])}:
                return int(told[2])
            self._give_up()
        if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self._give_up()
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise WebError(
                f"{answer.host} gives this file only to who is signed in there. Download it in your browser,"
                " and enter its path here."
            )
        if answer.status != HTTPStatus.OK:
            raise WebError(f"{answer.host} gives no file there (HTTP {answer.status}). Check the address.")
        self.size = 0
        length = answer.headers.get("content-length", "")
        return int(length) if length.isdecimal() else 0

    def _give_up(self) -> NoReturn:
        self.place.part.unlink(missing_ok=True)
        raise WebError("The file has changed where it comes from. Start it again: it begins anew.")

    def _check_room(self, needed: int) -> None:
        free = max(self.free_bytes(self.place.folder) - _SPARE_BYTES, 0)
        if free < needed:
            raise DiskFull(
                f"There is not enough room on the disk: {needed / _GB:.1f} GB are to come,"
                f" and {free / _GB:.1f} GB are free for it. Free some space, and start it again."
            )

    def _write(self, waiting: bytearray) -> None:
        """Write what waits, at the begin of a file only if it is one of a model."""
        if not waiting:
            return
        if self.size == 0 and not waiting.startswith(MAGIC):
            waiting.clear()
            self.place.part.unlink(missing_ok=True)
            raise BadInput(
                "What lies there is no model in GGUF. Copy the address of the file itself: it ends in .gguf."
            )
        self._check_room(len(waiting))
        self.file.write(waiting)
        self.file.flush()
        self.size += len(waiting)
        waiting.clear()

    def finish(self, total: int) -> None:
        """Give it its name, if it is whole."""
        os.fsync(self.file.fileno())
        if total and self.size != total:
            raise WebError(_INTERRUPTED)
        try:
            read_header(self.place.part)
        except BadInput:
            self.place.part.unlink(missing_ok=True)
            raise
        self.place.part.replace(self.place.whole)


def gate_to(url: httpx2.URL, gate: AddressGate) -> AddressGate:
    """The gate by which a file at this address is fetched: to this machine if the address names it.

    Raises:
        AddressRefused: the address has no encryption, and leads to another machine.
    """
    if url.host in _HERE:
        return replace(gate, opened=exceptions(_LOOPBACK))
    if url.scheme != "https":
        raise AddressRefused(
            f"{url.host} would send the model without encryption: use an address with https."
        )
    return gate


def _page_to_file(url: httpx2.URL) -> httpx2.URL:
    """The file, if the address is that of its page at Hugging Face."""
    if url.host == "huggingface.co":
        return url.copy_with(path=url.path.replace("/blob/", "/resolve/", 1))
    return url


def _bare(url: str) -> str:
    """An address without what changes from one signature of it to the next."""
    return url.partition("?")[0]


def _safe_name(path: str) -> str:
    """A name for a file of a model, of letters, digits, points and dashes.

    Raises:
        BadInput: it is a part of a model.
    """
    last = path.rstrip("/").rpartition("/")[2]
    if _SPLIT.search(last):
        raise BadInput("This model is split into several files. Choose one that is a single file.")
    stem = last[: -len(_ENDING)] if last.lower().endswith(_ENDING) else last
    return (_UNSAFE.sub("-", stem).strip(".-")[:_MOST_NAME] or "model") + _ENDING


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None
