"""The command line: `bethink …`. Parses arguments, calls the app, prints what comes of it.

Exit codes (`exits.py` is where they are defined):

    0    done
    1    failed, or waiting for a decision
    2    command line or input not valid, or an unknown id
    3    no language model is set
    4    busy: somebody else is changing the same thing
    5    the data directory cannot be used
    130  stopped with Ctrl-C

Answers and results go to standard output, everything about them to standard
error. Every `BethinkError` becomes one sentence there; `--debug` adds where it
came from. Nothing heavy is imported before a command is known.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from bethink.cli.exits import Exit, exit_of
from bethink.errors import BadInput, BethinkError

__all__ = ["kb_build", "kb_search", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. `argv` is without the program's name.

    Never raises a `BethinkError`; a fault of Bethink itself shows its traceback.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    _prepare_streams()
    try:
        code = _run(words)
        sys.stdout.flush()
    except BethinkError as error:
        return _told(error, words)
    except ExceptionGroup as group:
        if (only := _only(group)) is None:
            raise
        return _told(only, words)
    except KeyboardInterrupt:
        if any(thread.name == "bethink" for thread in threading.enumerate()):
            # Pressed again while the app of `session` closes: its threads would crash in a Python that ends.
            os._exit(Exit.INTERRUPTED)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _close_output()
        return Exit.OK
    return code


def kb_build() -> int:
    """`kb-build`, the command of kb-mcp-server: `bethink kb build`."""
    return main(["kb", "build", *sys.argv[1:]])


def kb_search() -> int:
    """`kb-search`, the command of kb-mcp-server: `bethink kb search`."""
    return main(["kb", "search", *sys.argv[1:]])


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Closed by who started it (`>&-`): nothing that is opened later may take its place.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows a question mark instead of failing.
            stream.reconfigure(errors="replace")


def _run(words: list[str]) -> int:
    from bethink.cli.commands import parse

    for word in words:
        if not word.isascii() and word.encode(errors="ignore").decode() != word:
            raise BadInput(f"The argument {word.encode(errors='replace').decode()!r} is not valid UTF-8.")
    try:
        options = parse(words)
    except SystemExit as end:
        # argparse has printed its help or what is wrong.
        return end.code if isinstance(end.code, int) else Exit.OK
    return options.run(options)


def _told(error: BethinkError, words: list[str]) -> int:
    if "--debug" in words:
        import traceback

        traceback.print_exception(error)
    try:
        sys.stdout.flush()
    except OSError:
        _close_output()
    print(f"bethink: {error}", file=sys.stderr)
    return exit_of(type(error))


def _only(group: ExceptionGroup[Exception]) -> BethinkError | None:
    """The one error of Bethink that a group of tasks ended in."""
    matching, rest = group.split(BethinkError)
    while matching is not None and rest is None and len(matching.exceptions) == 1:
        match matching.exceptions[0]:
            case ExceptionGroup() as matching:
                pass
            case only:
                return only
    return None


def _close_output() -> None:
    """The output is lost (`| head`, a full disk): let nothing more be written to it when Python ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
