"""Backups as a feature: made by hand, by a rhythm and before upgrades, verified, removed when they are old.

`features` has its row, `ports` makes one before an upgrade; page and command line ask `BackupService`.
Nothing here needs an open store: a home that cannot be opened can be backed up and restored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread

from bethink.backups.contents import FAILED_NAME, WORK, BackupHome, put_back, restore, take, verify
from bethink.backups.repository import Archive, Backup, Repository, Verification, translating
from bethink.backups.server import copy_server, fill_server
from bethink.blobs.bucket import bucket_at
from bethink.clock import Clock, to_datetime
from bethink.documents.work_folders import work_folder
from bethink.engines.postgres.connection import place_of
from bethink.engines.postgres.sealed import home_of
from bethink.engines.postgres.store import awaits_upgrade as server_awaits_upgrade
from bethink.engines.sqlite.bus import is_in_use
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.snapshot import awaits_upgrade
from bethink.errors import BethinkError, Busy, StorageError, UnknownId
from bethink.feature import BackgroundTask, Feature, OpenFeature, Surroundings
from bethink.sealing import cipher_by
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.backups.repository import Contents, Reason
    from bethink.settings import Settings
    from bethink.store import Collection

_HOUR_US: Final = 3_600_000_000
_UPGRADE_US: Final = 30 * 24 * _HOUR_US
"""How long a backup of before an upgrade is kept: by then one knows whether the new version works."""
_LOOK_S: Final = 60.0
"""How often it is looked whether a backup is due: settings and other processes may change that."""
_LATE: Final = 2
"""So many times the hours between backups without a good one, and `/health` says so."""
_WAIT_S: Final = 0.2
_FOLDER: Final = "backups"
_WITHOUT: Final = """BETHINK_BACKUPS='{"before_upgrade": false}'"""
_NAMED: Final = 3
LATEST: Final = "latest"

_log = log("backups")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored: which backup, how much of it, and where the pages were."""

    id: str
    contents: Contents


@dataclass(slots=True)
class BackupService:
    """The backups of one home. `fault` is why the last one of this process failed, None if it did not."""

    settings: Settings
    clock: Clock
    collections: Sequence[Collection[Any]] = ()
    """All that is stored: what is read of a server's database."""
    fault: str | None = None
    _asked: anyio.Event = field(default_factory=anyio.Event, repr=False)

    @property
    def repository(self) -> Repository:
        """Where they are, as the settings have it now."""
        return Repository(self.settings.backups.folder or self.settings.data_dir / _FOLDER)

    @property
    def _passphrase(self) -> str | None:
        chosen = self.settings.backups.passphrase
        return chosen.get_secret_value() or None if chosen else None

    @property
    def _master_key(self) -> str | None:
        return self.settings.master_key.get_secret_value() if self.settings.master_key else None

    async def list(self) -> list[Backup]:
        """All backups, the newest first.

        Raises:
            StorageError: their folder cannot be read.
        """
        return await anyio.to_thread.run_sync(self.repository.backups)

    async def last_good(self) -> Backup | None:
        """The newest that was verified and is whole."""
        return next((one for one in await self.list() if one.is_good), None)

    async def is_busy(self) -> bool:
        """Whether a backup is being made or verified, by any process, or is about to."""
        return self._asked.is_set() or await anyio.to_thread.run_sync(lambda: self.repository.is_busy)

    def ask(self) -> None:
        """Have one made soon, by `keep_up`."""
        self._asked.set()

    async def create(self, reason: Reason = "asked") -> Backup:
        """Make one, verify it, and remove those that are too old.

        Raises:
            Busy: another one is being made.
            StorageError: it could not be made, or is not whole.
        """
        try:
            made = await anyio.to_thread.run_sync(partial(self._create, reason))
        except Busy:
            raise
        except BethinkError as error:
            self.fault = error.message
            raise
        self.fault = made.fault
        if made.fault is not None:
            raise StorageError(made.fault)
        return made

    def _create(self, reason: Reason) -> Backup:
        repository, passphrase = self.repository, self._passphrase
        vault = self.settings.vault.path if self.settings.vault.enabled else None
        if vault is not None and vault.resolve().is_relative_to(self.settings.data_dir.resolve()):
            vault = None
        url, bucket = self.settings.files_url or None, None
        # An upgrade changes no file: it need not wait until all are read.
        if url and self.settings.backups.s3_files and reason != "upgrade":
            url, bucket = None, bucket_at(self.settings)
        home = BackupHome(
            self.settings.data_dir, vault, bucket=bucket, elsewhere=url, database=self._from_server()
        )
        with repository.locked():
            keys = repository.keys_for(passphrase)
            before = _newest(repository, passphrase, is_sealed=keys is not None, has_files=bucket is not None)
            header = take(home, repository, keys=keys, before=before, reason=reason, at=self.clock.now_us())
            made = self._verified(repository, header.id, passphrase)
            repository.remove(one.id for one in self.over(repository.backups()))
            repository.sweep()
        return made

    def _from_server(self) -> Callable[[Path], None] | None:
        if self.settings.database_url is None:
            return None
        url = self.settings.database_url.get_secret_value()

        def copy(folder: Path) -> None:
            # The directory has the database's key when this returns, and the archive with it.
            state = anyio.from_thread.run(home_of, url, self.settings.data_dir)
            cipher = cipher_by(state, self._master_key)
            anyio.from_thread.run(partial(copy_server, url, folder, self.collections, cipher=cipher))

        return copy

    async def verify(self, id: str = LATEST, passphrase: str | None = None) -> Backup:
        """See that a backup could be restored, and keep what is found.

        Raises:
            UnknownId: there is no such backup.
            BadInput: it needs another passphrase.
            Busy: backups are being made.
        """

        def work() -> Backup:
            repository = self.repository
            with repository.locked():
                return self._verified(repository, _named(repository, id), passphrase or self._passphrase)

        return await anyio.to_thread.run_sync(work)

    def _verified(self, repository: Repository, id: str, passphrase: str | None) -> Backup:
        fault: str | None = None
        try:
            archive = repository.open(id, passphrase)
            work = self.settings.data_dir / WORK
            with translating(work), work_folder(work) as scratch:
                verify(archive, scratch)
        except StorageError as error:
            fault = error.message
        repository.set_checked(id, Verification(at=self.clock.now_us(), fault=fault))
        return next(one for one in repository.backups() if one.id == id)

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove backups, and the parts that only they have.

        Raises:
            UnknownId: there is no such backup; none was removed.
            Busy: backups are being made or read.
        """

        def work() -> None:
            repository = self.repository
            with repository.locked():
                known = {one.id for one in repository.backups()}
                for id in ids:
                    if id not in known:
                        raise _unknown(id)
                repository.remove(ids)
                repository.sweep()

        await anyio.to_thread.run_sync(work)

    async def restore(
        self,
        named: str,
        data_dir: Path,
        passphrase: str | None = None,
        *,
        database_url: str | None = None,
        files_url: str | None = None,
    ) -> Restored:
        """Bring a backup back as a new data directory, records and files to other places if those are given.

        It is named by its id, `latest`, or the path of its archive or of a folder of backups. What was cut
        short is gone on with by doing it again.

        Raises:
            UnknownId: there is no such backup.
            BadInput: it needs another passphrase, or the directory or the server's database is not empty.
            StorageError: it is damaged, or cannot be read or written.
        """

        def work() -> Restored:
            repository, id = _found(self.repository, named)
            with repository.locked(shared=True):
                archive = repository.open(_named(repository, id), passphrase or self._passphrase)
                name = f"the backup {archive.header.id}"
                deliver = partial(self._to_server, database_url, name=name) if database_url else None
                bucket = bucket_at(self.settings, files_url) if files_url else None
                restore(archive, data_dir, deliver, bucket=bucket)
            return Restored(archive.header.id, archive.contents)

        return await anyio.to_thread.run_sync(work)

    def _to_server(self, url: str, folder: Path, last: Callable[[], None], *, name: str) -> None:
        done = partial(anyio.to_thread.run_sync, last)
        fill = partial(fill_server, name=name, master_key=self._master_key, last=done)
        anyio.from_thread.run(fill, url, folder, self.collections)

    async def put_back(self, id: str) -> bool:
        """Have the database's file be that of a backup, unless it has the same schema and as many records.

        Raises:
            StorageError: the backup is damaged, or the file cannot be written.
        """

        def work() -> bool:
            repository = self.repository
            with repository.locked(shared=True):
                return put_back(repository.open(id, self._passphrase), self.settings.data_dir)

        return await anyio.to_thread.run_sync(work)

    async def keep_up(self, *, look_s: float = _LOOK_S) -> None:
        """Make what is asked for or due, for ever; what fails is told, and tried again an hour later."""
        again = 0
        while True:
            now = self.clock.now_us()
            is_asked = self._asked.is_set()
            if is_asked or (now >= again and await self._is_due(now)):
                try:
                    made = await self.create("asked" if is_asked else "scheduled")
                    _log.info("the backup %s is made and verified", made.id)
                except Busy:
                    _log.info("another backup is being made")
                except BethinkError as error:
                    again = now + _HOUR_US
                    _log.error("no backup could be made: %s", error)
                self._asked = anyio.Event()
            with anyio.move_on_after(look_s):
                await self._asked.wait()

    async def _is_due(self, now: int) -> bool:
        if not self.settings.backups.every_hours:
            return False
        try:
            due = self.due_at(await self.list())
        except BethinkError as error:
            _log.error("the backups cannot be read: %s", error)
            return False
        return due is not None and due <= now

    def due_at(self, backups: Sequence[Backup]) -> int | None:
        """When the next one is made by itself; None if none is."""
        hours = self.settings.backups.every_hours
        if not hours:
            return None
        newest = next((one.header.at for one in backups if one.header and one.is_good), None)
        return self.clock.now_us() if newest is None else newest + hours * _HOUR_US

    def over(self, backups: Sequence[Backup]) -> list[Backup]:
        """Those that go by themselves now: never the last good one, and none that was made by hand."""
        now, gone = self.clock.now_us(), list[Backup]()
        good = [one for one in backups if one.is_good]
        rhythm = [one for one in good if one.header and one.header.reason == "scheduled"]
        gone += rhythm[self.settings.backups.keep :]
        for one in backups:
            if one.header is None or one.header.reason == "asked" or one in gone:
                continue
            is_old = one.header.reason == "upgrade" and one.header.at + _UPGRADE_US <= now
            if is_old or (not one.is_good and good and good[0].id > one.id):
                gone.append(one)
        return [one for one in gone if one not in good[:1]]

    def goes_at(self, backup: Backup, backups: Sequence[Backup]) -> int | None:
        """When a backup goes by itself, if nothing is changed until then; None if it stays."""
        if backup.header is None or backup.header.reason == "asked":
            return None
        if backup.header.reason == "upgrade":
            return backup.header.at + _UPGRADE_US
        plan = self.settings.backups
        newer = sum(one.id > backup.id for one in backups if one.header and one.header.reason == "scheduled")
        if not plan.every_hours:
            return None
        return self.clock.now_us() + max(plan.keep - newer, 1) * plan.every_hours * _HOUR_US

    async def remains(self, owner: str) -> Sequence[str]:
        """In which backups what is forgotten now may still be, and until when."""
        del owner
        backups = await self.list()
        told: list[str] = []
        until = [self.goes_at(one, backups) for one in backups]
        if going := [at for at in until if at is not None]:
            last = f"{to_datetime(max(going)):%Y-%m-%d}"
            told.append(
                f"{len(going):,} backups that go by themselves may still contain it, the last until {last}."
            )
        if staying := [one.id for one, at in zip(backups, until, strict=True) if at is None]:
            names = ", ".join(staying[:_NAMED]) + (" …" if len(staying) > _NAMED else "")
            told.append(
                f"{len(staying):,} backups may still contain it until somebody removes them: {names}."
            )
        if await self.is_busy():
            told.append("A backup is being made at the moment, and may contain it.")
        return told

    async def trouble(self) -> str | None:
        """Why there may be no good backup, in a sentence; None if all is as it should be."""
        if self.fault is not None:
            return f"The last backup failed: {self.fault}"
        hours = self.settings.backups.every_hours
        if not hours:
            return None
        good = await self.last_good()
        late = self.clock.now_us() - _LATE * hours * _HOUR_US
        if good and good.header and good.header.at < late:
            return f"The last good backup is of {to_datetime(good.header.at):%Y-%m-%d}: look into the log."
        return None


def _newest(
    repository: Repository, passphrase: str | None, *, is_sealed: bool, has_files: bool
) -> Archive | None:
    """The newest whole archive that shares its parts with those that are written now.

    If it should have the files of S3, and none of them has, it is one without.
    """
    without: Archive | None = None
    for one in repository.backups():
        if one.is_good and one.header and one.header.is_sealed is is_sealed:
            try:
                archive = repository.open(one.id, passphrase)
            except BethinkError:
                continue
            if not has_files or archive.contents.elsewhere is None:
                return archive
            without = without or archive
    return without


def _found(repository: Repository, named: str) -> tuple[Repository, str]:
    """Where a backup is that was named, and by which id."""
    path = Path(named).expanduser()
    if path.is_file() and path.parent.name == "archives":
        return Repository(path.parent.parent), path.name.removesuffix(".backup")
    if path.is_dir():
        return Repository(path), LATEST
    return repository, named


def _named(repository: Repository, id: str) -> str:
    if id != LATEST:
        return id
    backups = repository.backups()
    newest = next((one for one in backups if one.is_good), None) or next(iter(backups), None)
    if newest is None:
        raise UnknownId(f"There is no backup in {repository.root}.")
    return newest.id


def _unknown(id: str) -> UnknownId:
    return UnknownId(f"There is no backup {id!r}: `bethink backup list` shows them.")


async def before_upgrade(
    settings: Settings, clock: Clock, collections: Sequence[Collection[Any]] = ()
) -> str | None:
    """The id of a backup that is made if the database is older than this Bethink; None if there is no need.

    Of several processes that start at once, one makes it and the others wait.

    Raises:
        StorageError: it is needed, and could not be made: the database is as it was.
    """
    service = BackupService(settings, clock, collections)
    while (schema := await _awaiting_upgrade(settings)) is not None:
        if not settings.backups.before_upgrade:
            return None
        try:
            made = await service.create("upgrade")
        except Busy:
            await anyio.sleep(_WAIT_S)
        except BethinkError as error:
            raise StorageError(
                f"{_place(settings)} is of an older version (schema {schema}), and no backup could be made"
                f" before its upgrade: {error.message} Nothing was changed. To upgrade without a backup,"
                f" start it once with {_WITHOUT}."
            ) from error
        else:
            _log.info("the backup %s was made before the upgrade from schema %d", made.id, schema)
            return made.id
    return None


async def roll_back(settings: Settings, clock: Clock, id: str) -> str:
    """Have the database be as the backup `id` of before a failed upgrade has it; a sentence on that.

    An upgrade is one transaction: what failed has left nothing behind. A file that is not as it was all the
    same gives way to the backup's, and stays beside it.
    """
    there = f"There is a backup of before: {id}."
    if settings.database_url is not None or await anyio.to_thread.run_sync(is_in_use, settings.data_dir):
        return there
    service = BackupService(settings, clock)
    try:
        if await service.put_back(id):
            return f"The database is again as it was, from the backup {id}; the failed one is {FAILED_NAME}."
    except BethinkError as error:
        _log.error("the backup %s could not be put back: %s", id, error)
    return there


async def _awaiting_upgrade(settings: Settings) -> int | None:
    if settings.database_url is not None:
        return await server_awaits_upgrade(settings.database_url.get_secret_value())
    return await anyio.to_thread.run_sync(awaits_upgrade, settings.data_dir / FILE_NAME)


def _place(settings: Settings) -> str:
    url = settings.database_url
    return place_of(url.get_secret_value()) if url else str(settings.data_dir / FILE_NAME)


def opened(at: Surroundings, collections: Sequence[Collection[Any]]) -> OpenFeature:
    """The backups of a home in use."""
    service = BackupService(at.settings, at.clock, collections)
    return OpenFeature(
        service=service,
        remains=service.remains,
        tasks=[BackgroundTask(name="backups", run=service.keep_up, served=True)],
    )


FEATURE: Final = Feature(name="backups", routes=("bethink.web.backups",), commands="bethink.cli.backup")
"""`features` opens it: it knows all that is stored."""
