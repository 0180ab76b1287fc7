"""`bethink serve`: the web app and the API, until they are stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add("serve", run, "serve the web page and the API on this machine")
    parser.add_argument("--host", help="address to listen on (BETHINK_HOST)")
    parser.add_argument("--port", type=int, help="port to listen on, 0 for a free one (BETHINK_PORT)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from bethink.cli.exits import Exit
    from bethink.settings import load_settings
    from bethink.telemetry import configure
    from bethink.web.server import serve

    settings = load_settings(
        data_dir=options.data,
        model=options.model,
        log_level=options.log_level,
        host=options.host,
        port=options.port,
    )
    configure(settings.log_level)
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
