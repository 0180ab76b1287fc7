"""`bethink bench`: measures Bethink on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from bethink.cli.commands import Commands

_NOT_A_CLONE = (
    "This Bethink was installed without its repository and measures recall alone:"
    " `bethink bench recall PATH --format locomo`, for example."
)


def register(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add("bench", run, "measure Bethink on this machine")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="`recall PATH`: how much is found of what answers the questions of a public set of"
        " conversations; or, in a clone of the repository: agent, door, storage, search, memory, embeddings,"
        " start, llm, trust, tools, conversations, vault; all unless named",
    )
    parser.add_argument(
        "--format", choices=("locomo", "beam", "realtalk", "longmemeval"), help="of what is at PATH"
    )
    parser.add_argument(
        "--output", metavar="FILE.jsonl", help="with `recall`: what was found for each question"
    )
    parser.add_argument(
        "--sizes",
        metavar="N,N",
        help="with `search` and `memory`: how many facts, such as 1000,100000; with `vault`: how many"
        " pages; `search` among a"
        " million takes some ten minutes and 6 GB of memory",
    )
    parser.add_argument(
        "--owners",
        type=int,
        metavar="N",
        help="with `search`: how many owners of 1,000 facts each, 200 unless told",
    )
    parser.add_argument(
        "--turns",
        metavar="N,N",
        help="with `conversations`: how long they are, 10,1000,10000 unless told",
    )
    parser.add_argument(
        "--peer-python",
        metavar="PYTHON",
        help="with `memory`: a Python that has chromadb, lancedb or mem0, to be measured beside it",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE, too")


def run(options: argparse.Namespace) -> int:
    """Measure, and print the figures.

    Raises:
        BadInput: there is no such subject here, or the file cannot be written.
    """
    from pathlib import Path

    from bethink import bench
    from bethink.cli.exits import Exit
    from bethink.cli.session import log_if_asked, settings_of

    log_if_asked(options)
    file, output = (Path(name) if name else None for name in (options.json, options.output))
    for written in (file, output):
        if written is not None:
            _check_writable(written)
    if options.names[:1] == ["recall"]:
        bench.run_recall(_set_of(options), options.format, settings_of(options), file=file, output=output)
    else:
        benchmarks = bench.import_from_clone("benchmarks", _NOT_A_CLONE)
        how = benchmarks.How(
            _sizes(options.sizes),
            _python(options.peer_python),
            options.owners,
            _sizes(options.turns, "--turns"),
        )
        benchmarks.run(options.names, settings_of(options), file=file, how=how)
    return Exit.OK


def _python(name: str | None) -> Path | None:
    import shutil
    from pathlib import Path

    from bethink.errors import BadInput

    if name is None:
        return None
    if shutil.which(name) is None:
        message = f"--peer-python is {name!r}: there is no such program."
        raise BadInput(message)
    return Path(name)


def _sizes(text: str | None, option: str = "--sizes") -> tuple[int, ...] | None:
    from bethink.errors import BadInput

    if text is None:
        return None
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        message = f"{option} is {text!r}: give numbers, such as 1000,100000."
        raise BadInput(message)
    return tuple(int(part) for part in parts)


def _set_of(options: argparse.Namespace) -> Path:
    from pathlib import Path

    from bethink.errors import BadInput

    _, *paths = options.names
    if len(paths) != 1 or not options.format:
        message = "Say what to measure on: `bethink bench recall PATH --format locomo`, for example."
        raise BadInput(message)
    return Path(paths[0])


def _check_writable(file: Path) -> None:
    """Minutes of measuring shall not end in an error of the last line."""
    from bethink.errors import BadInput

    try:
        file.open("ab").close()
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}."
        raise BadInput(message) from error
