"""The program of a session: an IPython kernel behind sockets in its scratch directory. See `guest`.

It says `READY` on standard output once its sockets are there, before it reads any code.
"""

# pyright: reportUnknownMemberType=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false
# ipykernel is not annotated, and its parts are changed where it has no setting.

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ipykernel import iostream, kernelapp
from traitlets.config import Config

orders: dict[str, Any] = globals()["orders"]
restrict_further: Callable[[dict[str, Any]], None] = globals()["restrict_further"]

_SHELL, _IOPUB, _STDIN, _CONTROL, _HEARTBEAT = 1, 2, 3, 4, 5
"""In place of ports: what the sockets' names end in."""


class BoundedStream(iostream.OutStream):
    """Keeps so much of what one execution prints, and counts the rest.

    For courtesy, not for safety: code that prints too much keeps its state.
    """

    kept = 0
    printed = 0

    def write(self, string: str) -> int | None:
        """As any stream, up to `most_chars`."""
        BoundedStream.printed += len(string)
        room = orders["most_chars"] - BoundedStream.kept
        if room <= 0:
            return len(string)
        BoundedStream.kept += min(len(string), room)
        super().write(string[:room])
        return len(string)


def begin_execution(*_: object) -> None:
    """Called before each execution."""
    BoundedStream.kept = BoundedStream.printed = 0


def end_execution(*_: object) -> None:
    """Called after each: says what was left out."""
    left_out = BoundedStream.printed - BoundedStream.kept
    if left_out > 0:
        BoundedStream.kept = -1000
        sys.stdout.write(f"\n[… {left_out:,} more characters were printed and left out …]\n")
        BoundedStream.printed = BoundedStream.kept = 0


class Kernel(kernelapp.IPKernelApp):
    """A kernel that starts no process, listens to nothing else, and has no heartbeat."""

    def init_control(self, context: object) -> None:
        """As ever, but without the debugger's connection to itself, which is refused here."""
        super().init_control(context)
        self.debug_shell_socket.disconnect(self.shell_socket.getsockopt(kernelapp.zmq.LAST_ENDPOINT))

    def init_heartbeat(self) -> None:
        """None: the process itself is watched."""
        self.hb_port = _HEARTBEAT

    def log_connection_info(self) -> None:
        """Nothing: its one reader knows."""

    def init_shell(self) -> None:
        """The shell, with its output bounded."""
        super().init_shell()
        self.shell.events.register("pre_run_cell", begin_execution)
        self.shell.events.register("post_run_cell", end_execution)


def _pipeless(socket: object, pipe: bool, session: bool) -> iostream.IOPubThread:  # noqa: FBT001 - ipykernel's
    del pipe
    return iostream.IOPubThread(socket, pipe=False, session=session)


def _main() -> None:
    os.chdir(orders["scratch"])
    kernelapp.IOPubThread = _pipeless
    iostream.OutStream = BoundedStream
    config = Config()
    config.Session.key = orders["key"].encode()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Context"
    app = Kernel.instance(
        config=config,
        transport="ipc",
        ip="k",
        shell_port=_SHELL,
        iopub_port=_IOPUB,
        stdin_port=_STDIN,
        control_port=_CONTROL,
        hb_port=_HEARTBEAT,
        connection_file=os.path.join(orders["scratch"], "connection.json"),  # noqa: PTH118 - ipykernel's
        capture_fd_output=False,
        log_level="ERROR",
    )
    app.initialize([])
    # Its own sockets are there: a name that anybody on this machine could find is made no more.
    restrict_further(orders["after_start"])
    os.chdir(orders["directory"])
    os.write(1, b"READY\n")
    app.start()


_main()
