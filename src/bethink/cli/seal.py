"""`bethink seal`: seal this home, so that nobody without its key reads it from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bethink.cli.commands import Commands, arg, one_of
from bethink.cli.exits import Exit
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.blobs.bucket import Bucket
    from bethink.cli.terminal import Screen
    from bethink.sealing import MasterKey, SealedHome
    from bethink.settings import Settings

_EPILOG = """\
Sealed are conversations, memories, what is searched of them, the events of answers and files; not the pages
of the vault, which other editors open, nor names of users, ids, times and lengths. Stop Bethink first, on all
machines. Keep the key where the disk is not: who loses it loses everything."""
COMMANDS = Commands(_EPILOG)
_KEY = one_of(
    arg("--key-file FILE", "the file of the key, not in the data directory; made if it is not there"),
    arg("--environment", "the key is BETHINK_MASTER_KEY"),
)


@COMMANDS.add_alone("start", _KEY, json="the report")
def _start(options: Namespace) -> int:
    """Seal everything with a new key."""
    settings, screen = _home(options)
    if (state := _state(settings)) is not None and not state.is_moving:
        raise BadInput("This home is sealed already: `bethink seal rotate` gives it another key.")
    return _reseal(settings, screen, _master(options, settings))


@COMMANDS.add_alone("rotate", _KEY, json="the report")
def _rotate(options: Namespace) -> int:
    """Write everything anew with another key, which the same or another master key opens."""
    from bethink.sealing import MasterKey

    settings, screen = _home(options)
    state = _state(settings)
    if state is None:
        raise BadInput("This home is not sealed: `bethink seal start` does that.")
    if not options.key_file and not options.environment:
        same = MasterKey(Path(state.key_file) if state.key_file else None, _chosen(settings))
        return _reseal(settings, screen, same)
    return _reseal(settings, screen, _master(options, settings))


@COMMANDS.add_alone("end", json="the report")
def _end(options: Namespace) -> int:
    """Open everything for good."""
    settings, screen = _home(options)
    return _reseal(settings, screen, None)


@COMMANDS.add_alone("continue", json="the report")
def _continue(options: Namespace) -> int:
    """Go on with what was cut short."""
    settings, screen = _home(options)
    state = _state(settings)
    if state is None or not state.is_moving:
        raise BadInput("Nothing was cut short.")
    return _reseal(settings, screen, None)


@COMMANDS.add_alone("show", json="the report")
def _show(options: Namespace) -> int:
    """Say whether this home is sealed, and see that its key opens it."""
    from bethink.sealing import cipher_by

    settings, screen = _home(options)
    state = _state(settings)
    cipher_by(state, _chosen(settings))
    _tell(screen, state)
    return Exit.OK


def _home(options: Namespace) -> tuple[Settings, Screen]:
    from bethink.cli.session import unopened

    return unopened(options)


def _state(settings: Settings) -> SealedHome | None:
    from bethink.ports import seal_of

    return anyio.run(seal_of, settings)


def _chosen(settings: Settings) -> str | None:
    return settings.master_key.get_secret_value() if settings.master_key else None


def _master(options: Namespace, settings: Settings) -> MasterKey:
    """The master key that the options name; its file is made if it is not there.

    Raises:
        BadInput: none is named, or it would lie beside what it seals.
    """
    from bethink.sealing import MasterKey
    from bethink.secrets_at_rest import made_key

    chosen = _chosen(settings)
    if options.key_file is None:
        if not chosen:
            raise BadInput("Name the key: --key-file FILE on another disk, or set BETHINK_MASTER_KEY.")
        return MasterKey(None, chosen)
    file = Path(options.key_file).expanduser().absolute()
    if file.resolve().is_relative_to(settings.data_dir.resolve()):
        raise BadInput(
            f"{file} is in the data directory: who has that would have the key, too. Choose another place."
        )
    try:
        made_key(file)
    except OSError as error:
        raise BadInput(f"The key file {file} cannot be read or made: {error.strerror}.") from error
    return MasterKey(file, chosen)


def _reseal(settings: Settings, screen: Screen, wanted: MasterKey | None) -> int:
    from bethink.engines.sqlite.schema import FILE_NAME
    from bethink.maintenance.key_change import reseal

    url = settings.database_url.get_secret_value() if settings.database_url else None
    done = reseal(
        settings.data_dir,
        _chosen(settings),
        wanted,
        url=url,
        bucket=_bucket(settings),
    )
    _tell(screen, done.state)
    for sentence in done.remains:
        screen.remark(sentence)
    if url is not None and (settings.data_dir / FILE_NAME).exists():
        screen.remark(
            f"{settings.data_dir / FILE_NAME} of before the move to PostgreSQL is as it was: remove it."
        )
    screen.remark(
        "What the disk had before may still be in blocks that are free now, and backups of before are as"
        " they were: `bethink backup list`."
    )
    return Exit.OK


def _bucket(settings: Settings) -> Bucket | None:
    """Where files are if they are in S3; that it can be used is seen before anything is written."""
    from bethink.blobs.bucket import bucket_at

    if not settings.files_url:
        return None
    bucket = bucket_at(settings)
    bucket.try_out()
    return bucket


def _tell(screen: Screen, state: SealedHome | None) -> None:
    key = None if state is None else (state.key_file or "BETHINK_MASTER_KEY")
    screen.result(
        {"sealed": state is not None, "key": key},
        "This home is not sealed." if state is None else f"This home is sealed; its key is {key}.",
    )
