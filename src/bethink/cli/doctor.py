"""`bethink doctor`: check the installation and print the results of `checks`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace
COMMANDS = Commands()


@COMMANDS.add_alone(
    "",
    arg("--fix", "download the embedding model, close the data directory to other users"),
    json="each check",
)
def _check_up(options: Namespace) -> int:
    """Check everything, a line each; mend first what can be mended, if that is asked for."""
    from bethink.cli.checks import all_checks
    from bethink.cli.session import log_if_asked
    from bethink.cli.terminal import Screen

    log_if_asked(options)
    screen = Screen.of_process(is_data=options.json)
    is_broken = False
    for check in all_checks(options, partial(screen.note, style="dim")):
        is_broken = is_broken or check.state == "broken"
        screen.result(check, f"{check.state:<7} {check.part:<15} {check.message}")
    return Exit.FAILED if is_broken else Exit.OK
