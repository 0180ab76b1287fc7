"""`bethink dial`: help with running Bethink as an application of DIAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, repeated

if TYPE_CHECKING:
    from argparse import Namespace

_NOT_A_CLONE = (
    "The stand-in for DIAL Core is in Bethink's repository, and this Bethink was installed without it:"
    " clone the repository and run `make setup` there."
)
COMMANDS = Commands()


@COMMANDS.add_alone(
    "stand-in",
    arg("--model-url URL", "an OpenAI-compatible server, such as https://…/v1", required=True),
    arg("--model-name NAME", "the model's name there; DEPLOYMENT by default"),
    arg("--model-key KEY", "its key; sent as a bearer token"),
    arg("--deployment NAME", "the model's name in the stand-in", default="gpt-4o"),
    repeated(
        "--application NAME=URL",
        "an application and the address of its chat completions; may be repeated",
    ),
    repeated("--key KEY", "a key that may ask, each a user (dial_api_key)"),
    arg("--host HOST", "address to listen on", default="127.0.0.1"),
    arg("--port PORT", "port to listen on, 0 for a free one", type=int, default=8080),
)
def _serve_stand_in(options: Namespace) -> int:
    """Serve a stand-in for DIAL Core, to try the application without it."""
    from bethink.bench import import_from_clone

    return import_from_clone("benchmarks.stand_ins.dial_core.command", _NOT_A_CLONE).run(options)
