"""`bethink restore`: bring a backup back as a new data directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bethink.cli.backup import PASSPHRASE, service_of
from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace

_EPILOG = """\
The directory is there as a whole or not at all. Nothing is overwritten: to put a backup in the place of a
data directory, stop Bethink and move that away first."""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("--data-dir DIR", "the new data directory; it must not exist, or be empty", required=True),
    PASSPHRASE,
    arg("archive ARCHIVE", "id of a backup, `latest`, or the path of an archive or of a folder of backups"),
    json="the report",
)
def _restore(options: Namespace) -> int:
    """Restore a backup; nothing of it is needed to run."""
    service, screen = service_of(options)
    target = Path(options.data_dir).expanduser()
    restored = anyio.run(service.restore, options.archive, target)
    contents = restored.contents
    size = sum(file.size for file in contents.files)
    screen.result(
        {
            "id": restored.id,
            "data_dir": str(target),
            "files": len(contents.files),
            "bytes": size,
            "records": contents.records,
            "vault": contents.vault,
            "unread": contents.unread,
        },
        f"{restored.id} is restored to {target}: {len(contents.files):,} files,"
        f" {sum(contents.records.values()):,} records. Start it: bethink serve --data {target}",
    )
    if contents.vault is not None:
        screen.remark(
            f"The pages were in {contents.vault}; they are in {target / 'vault'} now. If the setting"
            " `vault.path` is kept, it still names the old folder."
        )
    if contents.unread:
        screen.remark(
            f"Not in the backup, since it could not be read then: {', '.join(contents.unread[:10])}"
        )
    return Exit.OK
