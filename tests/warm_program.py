"""A program that is another one's stand-in: `python -I -S tests/warm_program.py SOCKET CODE ARGUMENT...`.

Has the process that is warm already (`tests/warming.py`, at the other end of SOCKET) fork one that runs
CODE with this program's streams, arguments, environment and directory; hands signals on, and ends as it
ends. SIGUSR1 kills it, for who must know that it is gone when this one is.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time

_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TRIES, _PAUSE_S = 6_000, 0.02


def main(path: str, code: str, *arguments: str) -> int:
    """Ends as the other one ends."""
    warm = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for _ in range(_TRIES):
        try:
            warm.connect(path)
            break
        except OSError:
            # It is not warm yet.
            time.sleep(_PAUSE_S)
    for number in _HANDED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: warm.send(bytes([number])))
    signal.signal(signal.SIGUSR1, lambda *_: warm.send(bytes([signal.SIGKILL])))
    asked = {
        "code": code,
        "arguments": arguments,
        "environment": dict(os.environ),
        "directory": os.getcwd(),  # noqa: PTH109 - nothing is imported that is not needed
    }
    socket.send_fds(warm, [json.dumps(asked).encode()], [0, 1, 2])
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    ended = int(warm.recv(16))
    if ended < 0:
        if -ended != signal.SIGKILL:
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    return ended


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
