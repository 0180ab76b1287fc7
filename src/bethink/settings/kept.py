"""Settings that are kept in the data directory, and the log of their changes: one file.

The page and `bethink settings` write it (`configuration`), every process reads it at its start. It is written
beside and renamed, so that after a crash it is the one or the other; keys are sealed with the master key.
"""

from __future__ import annotations

import base64
import fcntl
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.durable_files import replacing, sync
from bethink.errors import NewerSchema, StorageError
from bethink.settings.catalogue import SETTINGS, UNKEPT
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.secrets_at_rest import SecretBox

FILE: Final = "settings.json"
SCHEMA: Final = 1
MOST_CHANGES: Final = 1_000
"""So many of the newest are kept: years of changes by hand."""
SECRET: Final = "(secret)"  # noqa: S105 - it stands for one
"""Stands for a secret in the log of changes."""
_log = log("settings")


class SettingChange(msgspec.Struct, frozen=True, kw_only=True):
    """That a setting was changed: when (microseconds UTC), by whom, through which door."""

    at: int
    by: str
    door: str
    name: str
    old: Any = None
    new: Any = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds: values as JSON, sealed ones in base64, changes with the oldest first."""

    schema: int = SCHEMA
    values: dict[str, Any] = {}
    sealed: dict[str, str] = {}
    changes: tuple[SettingChange, ...] = ()
    dismissed: bool = False
    """Whether the first steps were put away."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """The file of a data directory. Its functions block: call them in a thread."""

    data_dir: Path
    box: SecretBox

    def read(self) -> Kept:
        """What is kept.

        Raises:
            StorageError: the file cannot be read, or is none of ours.
        """
        path = self.data_dir / FILE
        try:
            body = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Kept()
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}.") from error
        try:
            kept = msgspec.json.decode(body, type=Kept)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StorageError(
                f"{path} is damaged: bring it back from a backup, or remove it and set again what it held."
            ) from error
        if kept.schema > SCHEMA:
            raise NewerSchema(f"{path} was written by a newer Bethink: update this one.")
        return kept

    def values(self, kept: Kept) -> dict[str, Any]:
        """The values by their names, opened. What cannot be opened or is not known any more is left out."""
        found = {name: value for name, value in kept.values.items() if name in SETTINGS}
        for name, sealed in kept.sealed.items():
            if name not in SETTINGS:
                continue
            try:
                found[name] = msgspec.json.decode(self.box.open_now(base64.b64decode(sealed)))
            except (StorageError, ValueError) as error:
                _log.error("the setting %s is left out: %s", name, error)
        return {name: value for name, value in found.items() if name not in UNKEPT}

    def with_values(self, kept: Kept, values: Mapping[str, Any], changes: Sequence[SettingChange]) -> Kept:
        """The same with other values, of which None takes one out, and with these changes in its log."""
        plain = {name: value for name, value in kept.values.items() if name not in values}
        sealed = {name: value for name, value in kept.sealed.items() if name not in values}
        for name, value in values.items():
            if value is None:
                continue
            if SETTINGS[name].sealed:
                body = self.box.seal_now(msgspec.json.encode(value).decode())
                sealed[name] = base64.b64encode(body).decode()
            else:
                plain[name] = value
        log_of = (*kept.changes, *changes)[-MOST_CHANGES:]
        return msgspec.structs.replace(kept, values=plain, sealed=sealed, changes=log_of)

    def write(self, kept: Kept) -> None:
        """Keep it; it is on the disk when this returns.

        Raises:
            StorageError: it cannot be written.
        """
        path = self.data_dir / FILE
        try:
            with replacing(path, path.with_name(f"{FILE}.{os.getpid()}")) as file:
                file.write(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
            sync(self.data_dir)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def locked(self) -> Generator[None]:
        """Nobody else changes the file inside, in no process.

        Raises:
            StorageError: the data directory cannot be used.
        """
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.data_dir / f"{FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(f"{self.data_dir} cannot be used: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the names of the catalogue as the fields of settings: `vault.trust` inside of `vault`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        head, _, leaf = name.partition(".")
        if leaf:
            found.setdefault(head, {})[leaf] = value
        else:
            found[name] = value
    return found
