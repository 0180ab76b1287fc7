"""`bethink dial stand-in`: serves the stand-in with the models and applications that its options name."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from benchmarks.stand_ins.dial_core import Application, Model, StandIn
from bethink.errors import BadInput

if TYPE_CHECKING:
    import argparse

KEY = "dial_api_key"
"""The key that DIAL's own quick start uses."""


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(options))
    return 0


async def _serve(options: argparse.Namespace) -> None:
    stand_in = StandIn(
        {key: f"project-{number}" for number, key in enumerate(options.key or [KEY], 1)},
        models={
            options.deployment: Model(
                options.model_url, options.model_name or options.deployment, options.model_key
            )
        },
        applications={name: Application(url) for name, url in map(_named, options.application)},
    )
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with stand_in.served(host=options.host, port=options.port) as url:
        names = ", ".join((*stand_in.models, *stand_in.applications))
        sys.stdout.write(f"A stand-in for DIAL Core is at {url} with {names}. It is not DIAL Core.\n")
        sys.stdout.flush()
        await stopped.wait()


def _named(given: str) -> tuple[str, str]:
    name, _, url = given.partition("=")
    if not (name and url.startswith(("http://", "https://"))):
        message = f"--application is {given!r}: give NAME=http://…/chat/completions."
        raise BadInput(message)
    return name, url
