"""`bethink dial`: what helps to run Bethink as an application of DIAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

_NOT_A_CLONE = (
    "The stand-in for DIAL Core is in Bethink's repository, and this Bethink was installed without it:"
    " clone the repository and run `make setup` there."
)


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
        "--key", action="append", metavar="KEY", help="a key that may ask, each a user (dial_api_key)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on, 0 for a free one")


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises:
        BadInput: Bethink does not run from a clone, or an option is not valid.
    """
    from bethink.bench import import_from_clone

    return import_from_clone("benchmarks.stand_ins.dial_core.command", _NOT_A_CLONE).run(options)
