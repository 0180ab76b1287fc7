"""`bethink migrate`: move everything from one database to another one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.terminal import Screen
    from bethink.migration import Moved

_EPILOG = """\
A side is a data directory (its SQLite file) or postgresql://user:password@host/database. Stop Bethink first.
What is read stays as it is; if it is cut short, the same command goes on. Between two directories all files
are copied, too; otherwise pages, files and keys stay in the data directory. What is sealed stays so."""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("--from URL", "the side to read", dest="source", required=True),
    arg("--to URL", "the side to write, empty or from an attempt that was cut short", required=True),
    json="the report",
)
def _migrate(options: Namespace) -> int:
    """Move all records with what is searched of them, and prove by counts and hashes that all is there."""
    from bethink.cli.session import log_if_asked, settings_of
    from bethink.cli.terminal import Screen

    log_if_asked(options)
    screen = Screen.of_process(is_data=options.json)
    settings = settings_of(options)
    key = settings.master_key.get_secret_value() if settings.master_key else None
    moved, files = anyio.run(partial(_move, options.source, options.to, screen, key=key))
    count = sum(moved.records.values())
    screen.result(
        {"records": moved.records, "owners": len(moved.owners), "sha256": moved.digest, "files": files},
        f"{count:,} records of {len(moved.owners):,} owners are moved and verified (SHA-256 {moved.digest}),"
        f" {files:,} files copied.",
    )
    return Exit.OK


async def _move(source: str, target: str, screen: Screen, *, key: str | None) -> tuple[Moved, int]:
    from bethink.backups.contents import Home, copy_files
    from bethink.features import COLLECTIONS
    from bethink.migration import carry_seal, directory_of, migrate, open_side

    files = 0
    here, there = directory_of(source), directory_of(target)
    await carry_seal(source, target, key)

    async def copy() -> None:
        nonlocal files
        if here is not None and there is not None:
            files = await anyio.to_thread.run_sync(copy_files, Home(here), there)

    def tell(name: str, count: int) -> None:
        screen.status(f"{name}: {count:,}")

    async with (
        open_side(source, is_new=False, master_key=key) as read,
        open_side(target, master_key=key) as written,
    ):
        moved = await migrate(read, written, COLLECTIONS, tell=tell, also=copy)
    return moved, files
