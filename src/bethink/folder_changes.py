"""What the system tells of changes in folders, for those who follow the vault and documents' folders."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from bethink.telemetry import log

_STEP_MS: Final = 100
_DEBOUNCE_MS: Final = 500
"""Changes that follow one another are told together, for so long at most."""
_ANEW_S: Final = 0.2
"""What follows a change that could not be told is waited for so long."""
_log = log("files")


async def changes_below(
    folders: Iterable[Path | str], ended: anyio.Event
) -> AsyncGenerator[list[Path] | None]:
    """The paths that changed, some at a time, until it `ended`; None if all are to be looked at.

    That is as it begins, so that no change falls in between, and behind a change that cannot be told: a name
    that is not UTF-8. If the system refuses a folder, those are left out that may not be read, and those that
    it has no room for: that it does without a word.

    Raises:
        OSError, RuntimeError: inotify's watches are used up, or the file system has none (inotify(7)).
    """
    # Heavy, and it looks at the disk.
    await anyio.to_thread.run_sync(importlib.import_module, "watchfiles")
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - names trio's types

    places, is_strict = [*folders], True
    while not ended.is_set():
        yield None
        changes = awatch(
            *places,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=ended,
            recursive=True,
            ignore_permission_denied=not is_strict,
        )
        try:
            async with aclosing(changes):
                async for some in changes:
                    yield [Path(path) for _, path in some]
        except PermissionError:
            if not is_strict:
                raise
            is_strict = False
        except ExceptionGroup as group:
            if group.split(RuntimeError)[1] is not None:
                raise
            _log.info("a change of files could not be told, and all are compared: %s", group.exceptions[0])
            await anyio.sleep(_ANEW_S)
