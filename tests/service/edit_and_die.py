"""Serves, and ends as by a power cut at a commit to conversations that is named.

Which one stands in a file beside the data, DYING: how many are let through from when it is there,
and `before` or `after` the next one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bethink.engines.sqlite.store import SqliteStore
from bethink.settings import load_settings
from bethink.web import server

DYING = "dying"
_TOUCHED = frozenset(("conversations", "messages", "runs", "journal"))


def serve() -> None:
    """Serve until the named commit."""
    settings = load_settings()
    order = Path(settings.data_dir).parent / DYING
    commit = SqliteStore.commit
    seen = 0

    async def counted(store: SqliteStore, owner: str, changes: Sequence[Any]) -> None:
        nonlocal seen
        touches = any(
            change.collection.name in _TOUCHED for change in changes if hasattr(change, "collection")
        )
        if not touches or not order.exists():
            await commit(store, owner, changes)
            return
        left, when = order.read_text().split()
        is_last = seen == int(left)
        seen += 1
        if is_last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        await commit(store, owner, changes)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(SqliteStore, "commit", counted)  # noqa: B010 - a method of the class is replaced for this process
    server.serve(settings)
