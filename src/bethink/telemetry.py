"""The log: one line an event, without secrets and without what people said.

Every module logs to a child of `bethink`; `cli` calls `configure` once.
"""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


def log(room: str) -> logging.Logger:
    """The logger of one room of the house."""
    return logging.getLogger(f"bethink.{room}")


@dataclass(slots=True)
class Outcome:
    """How a piece of background work ended: `fault` is what broke it, None where nothing did."""

    fault: Exception | None = None


@contextmanager
def recorded(log: logging.Logger, told: str) -> Generator[Outcome]:
    """Background work that must not take the rest down: what breaks it is logged, with its traceback.

    Whoever waits for the work tells of the outcome. A cancellation passes.
    """
    outcome = Outcome()
    try:
        yield outcome
    except Exception as error:
        log.exception(told)
        outcome.fault = error


def configure(level: str) -> None:
    """Write the log to standard error from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("bethink")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
