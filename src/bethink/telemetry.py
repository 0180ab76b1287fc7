"""The log: one line an event, without secrets and without what people said.

Every module logs to a child of `bethink`; `cli` calls `configure` once.
"""

from __future__ import annotations

import logging
import sys


def log(room: str) -> logging.Logger:
    """The logger of one room of the house."""
    return logging.getLogger(f"bethink.{room}")


def configure(level: str) -> None:
    """Write the log to standard error from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("bethink")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
