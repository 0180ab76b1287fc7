"""The doctor's look at the memory itself, through an app: what `bethink memory health` says in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.check import Check, broken, off, ok
from bethink.cli.session import opened
from bethink.errors import BethinkError

if TYPE_CHECKING:
    import argparse

_WELL = frozenset({"vectors", "suggested", "expiring"})
"""What takes its course, or is told elsewhere."""


def memory(options: argparse.Namespace) -> Check:
    """Whether facts need a look."""
    try:
        with opened(options) as session:
            found = session.call(session.app.health.check, session.principal)
    except BethinkError as error:
        return broken("memory", error.message)
    told = [f"{one.count:,} {one.about}" for one in found if one.trouble not in _WELL]
    if told:
        return off("memory", f"{'; '.join(told)}: `bethink memory health` says more.")
    return ok("memory", "nothing needs a look")
