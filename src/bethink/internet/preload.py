"""Loads what speaks HTTP before it is first used: aside, since that takes a tenth of a second."""

from __future__ import annotations

import sys
from importlib import import_module

import anyio.to_thread

_MODULES = ("httpx2", "bethink.internet.connections")


async def ready() -> None:
    """Make imports of `httpx2`, `httpcore2` and the connections immediate."""
    for module in _MODULES:
        if module not in sys.modules:
            await anyio.to_thread.run_sync(import_module, module)
