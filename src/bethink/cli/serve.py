"""`bethink serve`: the web app and the API, until they are stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace
COMMANDS = Commands()


@COMMANDS.add_alone(
    "",
    arg("--host HOST", "address to listen on (BETHINK_HOST)"),
    arg("--port PORT", "port to listen on, 0 for a free one (BETHINK_PORT)", type=int),
    arg("--open", "open the page in the browser"),
)
def _serve(options: Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from bethink.cli.session import settings_to_serve
    from bethink.web.server import serve

    settings = settings_to_serve(options, port=options.port)
    serve(settings, on_ready=_open_page if options.open else None)
    return Exit.OK


def _open_page(url: str) -> None:
    """Show the page in the browser; a browser of the terminal may take as long as it is used."""
    import threading
    import webbrowser

    from bethink.telemetry import log, recorded

    def show() -> None:
        with recorded(log("cli"), f"no browser could be opened: go to {url}"):
            webbrowser.open(url)

    threading.Thread(target=show, name="browser", daemon=True).start()
