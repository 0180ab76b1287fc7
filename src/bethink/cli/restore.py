"""`bethink restore`: bring a backup back as a new data directory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bethink.cli.backup import PASSPHRASE, service_of
from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.settings import Settings

_EPILOG = """\
The directory is there as a whole or not at all. Nothing is overwritten: to put a backup in the place of a
data directory, stop Bethink and move that away first."""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("--data-dir DIR", "the new data directory; it must not exist, or be empty", required=True),
    arg(
        "--to URL",
        "where the records go: postgresql://… (empty), or `sqlite` for a file in the new directory; by "
        "default where BETHINK_DATABASE_URL says",
    ),
    arg(
        "--files URL",
        "where the contents of files go: s3://BUCKET/FOLDER, or `directory` for the new directory; by "
        "default where BETHINK_FILES_URL says",
    ),
    PASSPHRASE,
    arg("archive ARCHIVE", "id of a backup, `latest`, or the path of an archive or of a folder of backups"),
    json="the report",
)
def _restore(options: Namespace) -> int:
    """Restore a backup; nothing of it is needed to run."""
    from bethink.engines.postgres.connection import place_of

    service, screen = service_of(options)
    target = Path(options.data_dir).expanduser()
    url = _database_of(options.to, service.settings)
    files_url = _files_of(options.files, service.settings)
    restored = anyio.run(
        partial(service.restore, options.archive, target, database_url=url, files_url=files_url)
    )
    contents = restored.contents
    where = " and ".join(filter(None, (str(target), url and place_of(url), files_url)))
    size = sum(file.size for file in contents.files)
    screen.result(
        {
            "id": restored.id,
            "data_dir": str(target),
            "database": place_of(url) if url else None,
            "files_url": files_url,
            "files": len(contents.files),
            "bytes": size,
            "records": contents.records,
            "vault": contents.vault,
            "unread": contents.unread,
        },
        f"{restored.id} is restored to {where}: {len(contents.files):,} files,"
        f" {sum(contents.records.values()):,} records. Start it: bethink serve --data {target}",
    )
    if contents.vault is not None:
        screen.remark(
            f"The pages were in {contents.vault}; they are in {target / 'vault'} now. If the setting"
            " `vault.path` is kept, it still names the old folder."
        )
    if contents.elsewhere is not None:
        screen.remark(f"The contents of files are not in the backup: they were in {contents.elsewhere}.")
    if contents.unread:
        screen.remark(
            f"Not in the backup, since it could not be read then: {', '.join(contents.unread[:10])}"
        )
    return Exit.OK


def _files_of(asked: str | None, settings: Settings) -> str | None:
    """The address of the bucket that gets the contents of files, None for the new directory.

    Raises:
        BadInput: it is another kind of address.
    """
    if asked is None:
        return settings.files_url or None
    if asked == "directory":
        return None
    if not asked.startswith("s3://"):
        raise BadInput(f"--files is s3://BUCKET/FOLDER, or `directory`, not {asked!r}.")
    return asked


def _database_of(asked: str | None, settings: Settings) -> str | None:
    """The address of the server's database that gets the records, None for the file of the directory.

    Raises:
        BadInput: it is another kind of address.
    """
    if asked is None:
        return settings.database_url.get_secret_value() if settings.database_url else None
    if asked == "sqlite":
        return None
    if not asked.startswith(("postgresql://", "postgres://")):
        raise BadInput(f"--to is postgresql://user:password@host/database, or `sqlite`, not {asked!r}.")
    return asked
