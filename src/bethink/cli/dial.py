"""`bethink dial`: what helps to run Bethink as an application of DIAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_KEY = "dial_api_key"
"""The key that DIAL's own quick start uses."""


def register(commands: Commands) -> None:
    """Add the commands."""
    dial = commands.add("dial", None, "help with running Bethink as an application of DIAL")
    parser = commands.under(dial).add(
        "stand-in", run, "serve a stand-in for DIAL Core, to try the application without it"
    )
    parser.add_argument(
        "--model-url", required=True, metavar="URL", help="an OpenAI-compatible server, such as https://…/v1"
    )
    parser.add_argument("--model-name", metavar="NAME", help="the model's name there; DEPLOYMENT by default")
    parser.add_argument("--model-key", metavar="KEY", help="its key; sent as a bearer token")
    parser.add_argument(
        "--deployment", default="gpt-4o", metavar="NAME", help="the model's name in the stand-in"
    )
    parser.add_argument(
        "--application",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="an application and the address of its chat completions; may be given again",
    )
    parser.add_argument(
        "--key", action="append", metavar="KEY", help=f"a key that may ask, each a user ({_KEY})"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on, 0 for a free one")


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    import asyncio
    import contextlib

    from bethink.cli.exits import Exit

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(options))
    return Exit.OK


async def _serve(options: argparse.Namespace) -> None:
    import asyncio
    import signal
    import sys

    from bethink.dial.stand_in import Application, Model, StandIn

    stand_in = StandIn(
        {key: f"project-{number}" for number, key in enumerate(options.key or [_KEY], 1)},
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
    from bethink.errors import BadInput

    name, _, url = given.partition("=")
    if not (name and url.startswith(("http://", "https://"))):
        message = f"--application is {given!r}: give NAME=http://…/chat/completions."
        raise BadInput(message)
    return name, url
