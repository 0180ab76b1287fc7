"""What is derived of an owner's pages, in a file of its own: for literal search, the graph and the check.

`search` brings it up to date with the pages before each use. It can be
removed at any time: it is made again from the files. It tells of everything, to
nobody but the owner's own eyes: for all others it only says where to look.
Blocking: call it in threads.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from bethink.errors import StorageError
from bethink.vault.markdown.page_info import PageInfo, info_of, name_of
from bethink.vault.search.folding import folded, sought_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bethink.vault.search.literal import Grams

SCHEMA: Final = 2
_BATCH: Final = 512
"""Pages in one transaction: other processes wait no longer than for these."""
_BUSY_S: Final = 30.0
_FEW: Final = 400
"""Up to so many rows are asked for one by one."""
_TABLES: Final = (
    "CREATE TABLE state (change INTEGER NOT NULL)",
    "CREATE TABLE looked (path TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE pages (
        number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, version TEXT NOT NULL,
        changed INTEGER NOT NULL, size INTEGER NOT NULL, names TEXT NOT NULL, headings TEXT NOT NULL
    )""",
    # Apart, so that a look at all pages' names reads nothing else.
    "CREATE TABLE bodies (number INTEGER PRIMARY KEY, info BLOB NOT NULL, grams BLOB NOT NULL)",
    """CREATE TABLE grams (
        block INTEGER NOT NULL, gram INTEGER NOT NULL, pages BLOB NOT NULL, PRIMARY KEY (block, gram)
    ) WITHOUT ROWID""",
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

    def remove(self) -> None:
        """Have nothing left of it."""
        for name in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(f"{self.path.name}{name}").unlink(missing_ok=True)

    def candidates(self, terms: Sequence[str]) -> tuple[list[CatalogueRow], list[frozenset[int]]]:
        """The pages that may hold one of the folded terms, and for each term the numbers of those.

        A term too short for a gram may be in every page; without terms it is every page.
        """
        from bethink.vault.search.literal import may_hold  # numpy: whoever searches has it

        with self._opened() as connection:
            found = [may_hold(connection, term) for term in terms]
            some = [{*numbers.tolist()} for numbers in found if numbers is not None]
            is_bounded = found and len(some) == len(found)
            rows = _rows(connection, set[int]().union(*some) if is_bounded else None)
        everywhere = frozenset(row.number for row in rows)
        return rows, [everywhere if one is None else everywhere.intersection(one.tolist()) for one in found]

    def told(self) -> list[CataloguePage]:
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
        for kind, name in connection.execute(
            "SELECT type, name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            connection.execute(f'DROP {kind} "{name}"')
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
    gone: dict[int, Grams] = {}
    from bethink.vault.search.literal import change

    for path in (*stale, *away):
        gone |= _dropped(connection, path)
    free = chain(sorted(gone), _free(connection, {*gone}))
    come: dict[int, Grams] = {}
    for path in stale:
        page = look(path)
        connection.execute("INSERT INTO looked VALUES (?, ?)", (path, versions[path]))
        if page is not None:
            number = next(free)
            come[number] = _kept(connection, number, path, page=page)
    change(connection, gone, come)
    return len(stale) + len(away)


def _dropped(connection: sqlite3.Connection, path: str) -> dict[int, Grams]:
    """Tell nothing of a page any more; the grams that it had, by its number."""
    from bethink.vault.search.literal import unpacked

    rows: list[tuple[int, bytes]] = connection.execute(
        "SELECT number, grams FROM pages JOIN bodies USING (number) WHERE path = ?", (path,)
    ).fetchall()
    for number, _ in rows:
        connection.execute("DELETE FROM bodies WHERE number = ?", (number,))
    connection.execute("DELETE FROM pages WHERE path = ?", (path,))
    connection.execute("DELETE FROM looked WHERE path = ?", (path,))
    return {number: unpacked(grams) for number, grams in rows}


def _kept(connection: sqlite3.Connection, number: int, path: str, *, page: PageContent) -> Grams:
    """Keep what is told of a page; the grams that it has."""
    from bethink.vault.search.literal import grams_of, packed

    info = info_of(path, page.text)
    name = name_of(path)
    names = dict.fromkeys(map(_line, (*name.split("\n"), info.title, *info.aliases)))
    grams = grams_of(sought_in(f"{page.text}\n{name}"))
    connection.execute(
        "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(number, path, page.version, page.changed, page.size),
            *("\n".join(names), "\n".join(map(_line, info.headings))),
        ),
    )
    body = (number, msgspec.msgpack.encode(info), packed(grams))
    connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", body)
    return grams


def _line(text: str) -> str:
    return " ".join(folded(text).split())


def _free(connection: sqlite3.Connection, others: Collection[int]) -> Iterator[int]:
    """Numbers that no page has, and none of these, the least first: rows of bits stay short."""
    taken = {number for (number,) in connection.execute("SELECT number FROM pages")}.union(others)
    yield from (number for number in count() if number not in taken)


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
