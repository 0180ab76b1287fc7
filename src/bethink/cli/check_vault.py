"""The doctor's look at the vault: whether what is known of its pages is as the files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.check import Check, broken, off, ok
from bethink.cli.session import opened
from bethink.cli.terminal import counted
from bethink.errors import BethinkError
from bethink.vault.files.context import GONE, OFF

if TYPE_CHECKING:
    import argparse

_PART = "vault"
_MB = 1_000_000


def vault(options: argparse.Namespace) -> Check:
    """Whether pages are searched as they are, and which files are not read."""
    try:
        with opened(options) as session:
            pages, owner = session.app.vault, session.principal.owner
            if not pages.settings.enabled:
                return off(_PART, OFF)
            if session.call(pages.is_lost, owner):
                return broken(_PART, GONE)
            if not session.call(pages.exists, owner):
                return ok(_PART, "none yet: `bethink vault init` makes one")
            faults = session.call(pages.faults, owner)
            state = session.call(pages.state, owner)
    except BethinkError as error:
        return broken(_PART, error.message)
    told = [*faults, *(f"{path} is not read: {why}" for path, why in state.troubles)]
    if told:
        return off(_PART, "; ".join(told))
    return ok(_PART, f"{counted(state.pages, 'page')}, {state.bytes / _MB:,.1f} MB, in {pages.root(owner)}")
