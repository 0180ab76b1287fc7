"""What is derived of an owner's pages, in a file of its own: for literal search, the graph and the check.

`search` brings it up to date with the pages before each use. It can be
removed at any time: it is made again from the files. It tells of everything, to
nobody but the owner's own eyes: for all others it only says where to look.
Blocking: call it in threads.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from bethink.errors import StorageError
from bethink.vault.markdown.frontmatter import PageInfo, info_of, name_of
from bethink.vault.search.query import folded_line, sought_in

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = 3
_BATCH: Final = 512
"""Pages in one transaction: other processes wait no longer than for these."""
_BUSY_S: Final = 30.0
_MAX_RUNS: Final = 100
"""Of a text that are asked for: more narrow no further."""
_LEVEL: Final = 1
_FEW: Final = 400
"""Up to so many rows are asked for one by one."""
_TABLES: Final = (
    "CREATE TABLE state (change INTEGER NOT NULL)",
    "CREATE TABLE looked (path TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE pages (
        number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, version TEXT NOT NULL,
        changed INTEGER NOT NULL, size INTEGER NOT NULL, names TEXT NOT NULL, headings TEXT NOT NULL
    )""",
    # Apart, so that a look at all pages' names reads nothing else. `text` is what was indexed.
    "CREATE TABLE bodies (number INTEGER PRIMARY KEY, info BLOB NOT NULL, text BLOB NOT NULL)",
    """CREATE VIRTUAL TABLE grams USING fts5(
        text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
    )""",
)


class PageContent(NamedTuple):
    """A page as it was found. `version` is the hex SHA-256 of its file, `changed` microseconds UTC."""

    version: str
    changed: int
    size: int
    text: str


class CatalogueRow(NamedTuple):
    """A page among those that are searched. `names` and `headings` are folded, a line each."""

    number: int
    path: str
    changed: int
    names: str
    headings: str


class CataloguePage(NamedTuple):
    """What is told of a page without its text."""

    path: str
    version: str
    changed: int
    size: int
    info: PageInfo


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One owner's catalogue, in the file at `path`."""

    path: Path

    def is_at(self, change: int) -> bool:
        """Whether it tells of the pages as they are since this change."""
        if not self.path.exists():
            return False
        with self._opened() as connection:
            return connection.execute("SELECT change FROM state").fetchone() == (change,)

    def refresh(
        self, change: int, versions: Mapping[str, str], look: Callable[[str], PageContent | None]
    ) -> int:
        """Have it tell of these pages, of these versions, as they are since this change.

        `look` gives a page, None where it cannot be read. Tells how many were looked at.
        """
        looked = 0
        with self._opened() as connection:
            while True:
                with _transaction(connection):
                    done = _refreshed(connection, versions, look)
                    looked += done
                    if done < _BATCH:
                        connection.execute("DELETE FROM state")
                        connection.execute("INSERT INTO state VALUES (?)", (change,))
                        break
            if looked:
                # What pages do not say any more is in no log either.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return looked

    def purge(self) -> None:
        """Have nothing left of what was taken out: the index keeps it until its parts are merged."""
        with self._opened() as connection:
            connection.execute("INSERT INTO grams (grams) VALUES ('optimize')")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def remove(self) -> None:
        """Have nothing left of it."""
        for name in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(f"{self.path.name}{name}").unlink(missing_ok=True)

    def candidates(self, terms: Sequence[str]) -> tuple[list[CatalogueRow], list[frozenset[int]]]:
        """The pages that may hold one of the folded terms, and for each term the numbers of those.

        A term too short for a gram may be in every page; without terms it is every page.
        """
        with self._opened() as connection:
            found = [_may_hold(connection, term) for term in terms]
            some = [numbers for numbers in found if numbers is not None]
            is_bounded = found and len(some) == len(found)
            rows = _rows(connection, set[int]().union(*some) if is_bounded else None)
        everywhere = frozenset(row.number for row in rows)
        return rows, [everywhere if one is None else everywhere & one for one in found]

    def pages(self) -> list[CataloguePage]:
        """What is told of all pages, by path."""
        decoder = msgspec.msgpack.Decoder(PageInfo)
        with self._opened() as connection:
            rows: Iterable[tuple[str, str, int, int, bytes]] = connection.execute(
                "SELECT path, version, changed, size, info FROM pages JOIN bodies USING (number)"
                " ORDER BY path"
            )
            return [
                CataloguePage(path, version, changed, size, decoder.decode(info))
                for path, version, changed, size, info in rows
            ]

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """A connection; a file that is damaged, or of another version, is made anew."""
        try:
            try:
                connection = _connected(self.path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                self.remove()
                connection = _connected(self.path)
            with closing(connection):
                yield connection
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"{self.path} cannot be used: {error}. Remove it: it is made again."
            ) from error
        except sqlite3.DatabaseError as error:
            self.remove()
            raise StorageError(f"{self.path} was damaged and is removed: repeat what you asked.") from error


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may damage it: it is made again then.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA secure_delete = ON")
        if connection.execute("PRAGMA user_version").fetchone() != (SCHEMA,):
            _create(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,):
            return
        for name in ("state", "looked", "pages", "bodies", "grams"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for table in _TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _refreshed(
    connection: sqlite3.Connection, versions: Mapping[str, str], look: Callable[[str], PageContent | None]
) -> int:
    """Look at some of the pages that are told of wrongly; how many: behind a full batch are more."""
    looked: dict[str, str] = dict(connection.execute("SELECT path, version FROM looked"))
    stale = [path for path, version in versions.items() if looked.get(path) != version][:_BATCH]
    away = [path for path in looked if path not in versions]
    if not stale and not away:
        return 0
    for path in (*stale, *away):
        _drop(connection, path)
    for path in stale:
        page = look(path)
        connection.execute("INSERT INTO looked VALUES (?, ?)", (path, versions[path]))
        if page is not None:
            _keep(connection, path, page)
    return len(stale) + len(away)


def _drop(connection: sqlite3.Connection, path: str) -> None:
    """Tell nothing of a page any more."""
    rows: list[tuple[int, bytes]] = connection.execute(
        "SELECT number, text FROM pages JOIN bodies USING (number) WHERE path = ?", (path,)
    ).fetchall()
    for number, text in rows:
        connection.execute(
            "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)",
            (number, zlib.decompress(text).decode("latin-1")),
        )
        connection.execute("DELETE FROM bodies WHERE number = ?", (number,))
    connection.execute("DELETE FROM pages WHERE path = ?", (path,))
    connection.execute("DELETE FROM looked WHERE path = ?", (path,))


def _keep(connection: sqlite3.Connection, path: str, page: PageContent) -> None:
    """Tell of a page."""
    info = info_of(path, page.text)
    name = name_of(path)
    names = dict.fromkeys(map(folded_line, (*name.split("\n"), info.title, *info.aliases)))
    headings = "\n".join(map(folded_line, info.headings))
    number = connection.execute(
        "INSERT INTO pages (path, version, changed, size, names, headings) VALUES (?, ?, ?, ?, ?, ?)",
        (path, page.version, page.changed, page.size, "\n".join(names), headings),
    ).lastrowid
    text = _units(sought_in(f"{page.text}\n{name}"))
    connection.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (number, text))
    body = (number, msgspec.msgpack.encode(info), zlib.compress(text.encode("latin-1"), _LEVEL))
    connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", body)


def _units(text: str) -> str:
    """A character for each byte, so that two letters of Chinese have runs of three; none is the end."""
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b" ").decode("latin-1")


def _may_hold(connection: sqlite3.Connection, term: str) -> set[int] | None:
    """The numbers of the pages that may hold a folded text; None where every page may."""
    units = _units(term)
    runs = [*dict.fromkeys(units[at : at + 3] for at in range(len(units) - 2))][:_MAX_RUNS]
    if not runs:
        return None
    query = " AND ".join('"{}"'.format(run.replace('"', '""')) for run in runs)
    return {
        number for (number,) in connection.execute("SELECT rowid FROM grams WHERE grams MATCH ?", (query,))
    }


def _rows(connection: sqlite3.Connection, numbers: Collection[int] | None) -> list[CatalogueRow]:
    query = "SELECT number, path, changed, names, headings FROM pages"
    if numbers is None or len(numbers) > _FEW:
        found = connection.execute(query)
    else:
        found = connection.execute(
            f"{query} WHERE number IN (SELECT value FROM json_each(?))",  # noqa: S608 - no value of anybody's
            (str(sorted(numbers)),),
        )
    return [CatalogueRow(*row) for row in found if numbers is None or row[0] in numbers]
