"""`bethink backup`: make, list, verify and remove backups of everything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from bethink.cli.commands import YES, Argument, Commands, arg
from bethink.cli.exits import Exit
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.backups.repository import Backup
    from bethink.backups.service import BackupService
    from bethink.cli.terminal import Screen

_EPILOG = """\
A backup holds the database, pages, files, settings and the key of stored secrets. It is made while Bethink
runs; backups share what did not change. `bethink restore` brings one back."""
_MB = 1_000_000
_WORDS = {"asked": "by hand", "scheduled": "by the rhythm", "upgrade": "before an upgrade"}
COMMANDS = Commands(_EPILOG)
PASSPHRASE: Argument = arg("--passphrase-file FILE", "file with the passphrase; `-` reads it from the input")
_ID = arg("id ID?", "the backup; the latest good one by default")


@COMMANDS.add_alone("create", PASSPHRASE, json="each backup")
def _create(options: Namespace) -> int:
    """Make a backup and verify it, beside a server that runs."""
    service, screen = service_of(options)
    backup = anyio.run(service.create)
    screen.result(_document(service, backup, [backup]), _line(service, backup, [backup]))
    return Exit.OK


@COMMANDS.add_alone("list", json="each backup")
def _list(options: Namespace) -> int:
    """List the backups, the newest first."""
    service, screen = service_of(options)
    backups = anyio.run(service.list)
    for backup in backups:
        screen.result(_document(service, backup, backups), _line(service, backup, backups))
    if not backups:
        screen.note(f"There are no backups in {service.repository.root}: bethink backup create")
    return Exit.OK


@COMMANDS.add_alone("verify", PASSPHRASE, _ID, json="each backup")
def _verify(options: Namespace) -> int:
    """Restore a backup into a scratch directory and count what is in it."""
    from bethink.backups.service import LATEST

    service, screen = service_of(options)
    backup = anyio.run(service.verify, options.id or LATEST)
    screen.result(_document(service, backup, [backup]), _line(service, backup, [backup]))
    return Exit.FAILED if backup.fault else Exit.OK


@COMMANDS.add_alone("remove", YES, arg("id ID+", "the backups"))
def _remove(options: Namespace) -> int:
    """Remove backups for good."""
    service, screen = service_of(options)
    if not options.yes and not (
        screen.can_ask and screen.agrees(f"Remove {', '.join(options.id)} for good? [y/N] ")
    ):
        raise BadInput("Nothing was removed: add --yes.")
    anyio.run(service.remove, options.id)
    return Exit.OK


def service_of(options: Namespace) -> tuple[BackupService, Screen]:
    """The backups of the home that the options name; nothing of the home is opened.

    Raises:
        BadInput: a setting is not valid, or there is no passphrase in the file.
    """
    from bethink.backups.service import BackupService
    from bethink.cli.session import unopened
    from bethink.clock import SystemClock
    from bethink.features import COLLECTIONS

    settings, screen = unopened(options)
    if given := passphrase_of(getattr(options, "passphrase_file", None)):
        plan = settings.backups.model_copy(update={"passphrase": given})
        settings = settings.model_copy(update={"backups": plan})
    return BackupService(settings, SystemClock(), COLLECTIONS), screen


def passphrase_of(file: str | None) -> Any:  # noqa: ANN401 - a secret of the settings' kind
    """The first line of a file, kept from being shown; None if no file is named.

    Raises:
        BadInput: it cannot be read, or is empty.
    """
    from pydantic import SecretStr

    if file is None:
        return None
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The passphrase cannot be read from {file}: {error}") from error
    if not (line := text.partition("\n")[0].strip("\r")):
        raise BadInput(f"There is no passphrase in the first line of {file}.")
    return SecretStr(line)


def _document(service: BackupService, backup: Backup, backups: list[Backup]) -> dict[str, Any]:
    from bethink.cli.terminal import rfc3339

    header, checked = backup.header, backup.checked
    return {
        "id": backup.id,
        "at": rfc3339(header.at) if header else None,
        "reason": header.reason if header else None,
        "version": header.version if header else None,
        "files": header.files if header else 0,
        "bytes": header.bytes if header else 0,
        "encrypted": header.is_sealed if header else False,
        "verified_at": rfc3339(checked.at) if checked else None,
        "fault": backup.fault,
        "goes_at": rfc3339(service.goes_at(backup, backups)),
    }


def _line(service: BackupService, backup: Backup, backups: list[Backup]) -> str:
    from bethink.cli.terminal import counted, rfc3339

    if backup.header is None or backup.fault is not None:
        return f"{backup.id}  {backup.fault}"
    header = backup.header
    told = [
        f"{header.bytes / _MB:,.1f} MB in {counted(header.files, 'file')}",
        _WORDS[header.reason],
        "encrypted" if header.is_sealed else "not encrypted",
        "verified" if backup.is_good else "not verified",
    ]
    if goes := rfc3339(service.goes_at(backup, backups)):
        told.append(f"goes on {goes[:10]}")
    return f"{backup.id}  {', '.join(told)}"
