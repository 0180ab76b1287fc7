"""`bethink migrate`: move everything from one database to another one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit
from bethink.errors import BadInput, Busy

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.backups.copying import Place
    from bethink.cli.terminal import Screen
    from bethink.migration import Moved
    from bethink.settings import Settings

_S3 = "s3://"
_EPILOG = """\
A side is a data directory (its SQLite file) or postgresql://user:password@host/database. Stop Bethink first.
What is read stays as it is; if it is cut short, the same command goes on. Between two directories all files
are copied, too; otherwise pages, files and keys stay in the data directory. What is sealed stays so.
If a side is s3://BUCKET/FOLDER, contents of files are copied, and nothing else: between S3 and the `files` of
a data directory, or from one bucket to another one. The settings have the key (BETHINK_FILES_S3_…)."""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("--from URL", "the side to read", dest="source", required=True),
    arg("--to URL", "the side to write, empty or from an attempt that was cut short", required=True),
    json="the report",
)
def _migrate(options: Namespace) -> int:
    """Move all records, or all contents of files, and prove by counts and hashes that all is there."""
    from bethink.cli.session import unopened

    settings, screen = unopened(options)
    if _S3 in (options.source[: len(_S3)], options.to[: len(_S3)]):
        return _move_files(options, settings, screen)
    key = settings.master_key.get_secret_value() if settings.master_key else None
    moved, files = anyio.run(partial(_move, options.source, options.to, screen, key=key))
    count = sum(moved.records.values())
    screen.result(
        {"records": moved.records, "owners": len(moved.owners), "sha256": moved.digest, "files": files},
        f"{count:,} records of {len(moved.owners):,} owners are moved and verified (SHA-256 {moved.digest}),"
        f" {files:,} files copied.",
    )
    return Exit.OK


def _move_files(options: Namespace, settings: Settings, screen: Screen) -> int:
    from bethink.backups.copying import copy_contents

    target: str = options.to
    places = (
        _contents_at(options.source, settings, to_read=True),
        _contents_at(target, settings, to_read=False),
    )
    if places[0].name == places[1].name:
        raise BadInput(f"Both sides are {places[0].name}: name another one to write.")

    def tell(done: int, total: int) -> None:
        screen.status(f"files: {done:,} of {total:,}")

    copied = copy_contents(*places, check=lambda: None, tell=tell)
    screen.result(
        {"files": copied.count, "bytes": copied.bytes, "sha256": copied.digest},
        f"{copied.count:,} files ({copied.bytes:,} bytes) are copied to {places[1].name} and verified"
        f" (SHA-256 {copied.digest}).",
    )
    where = f"set BETHINK_FILES_URL={target}" if target.startswith(_S3) else "unset BETHINK_FILES_URL"
    screen.remark(f"Before the next start, {where}. What is in {places[0].name} stays until you remove it.")
    return Exit.OK


def _contents_at(side: str, settings: Settings, *, to_read: bool) -> Place:
    from bethink.backups.copying import FilesFolder
    from bethink.blobs.bucket import bucket_at
    from bethink.engines.sqlite.bus import is_in_use
    from bethink.migration import directory_of

    if side.startswith(_S3):
        return bucket_at(settings, side)
    directory = directory_of(side)
    if directory is None:
        raise BadInput("A database has no contents of files: name a data directory and s3://BUCKET/FOLDER.")
    if to_read and not directory.is_dir():
        raise BadInput(f"There is no data directory {directory}: name the one to read.")
    if is_in_use(directory):
        raise Busy(f"A Bethink uses {directory}: stop it first.")
    return FilesFolder(directory / "files")


async def _move(source: str, target: str, screen: Screen, *, key: str | None) -> tuple[Moved, int]:
    from bethink.backups.contents import BackupHome, copy_files
    from bethink.features import COLLECTIONS
    from bethink.migration import carry_seal, directory_of, migrate, open_side

    files = 0
    here, there = directory_of(source), directory_of(target)
    await carry_seal(source, target, key)

    async def copy() -> None:
        nonlocal files
        if here is not None and there is not None:
            files = await anyio.to_thread.run_sync(copy_files, BackupHome(here), there)

    def tell(name: str, count: int) -> None:
        screen.status(f"{name}: {count:,}")

    async with (
        open_side(source, is_new=False, master_key=key) as read,
        open_side(target, master_key=key) as written,
    ):
        moved = await migrate(read, written, COLLECTIONS, tell=tell, also=copy)
    return moved, files
