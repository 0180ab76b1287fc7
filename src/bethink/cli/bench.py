"""`bethink bench`: measures Bethink on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

_NOT_A_CLONE = (
    "This installation has no repository and can measure only recall:"
    " `bethink bench recall PATH --format locomo`, for example."
)
COMMANDS = Commands()


@COMMANDS.add_alone(
    "",
    arg(
        "names NAME*",
        "`recall PATH`: how many answers to the questions of a public data set are"
        " found; or, in a clone of the repository: agent, door, storage, search, scale, memory,"
        " embeddings, start, llm, trust, life, habits, tools, conversations, vault, documents, planner, page;"
        " all by default",
    ),
    arg("--format locomo|beam|realtalk|longmemeval", "the format of PATH"),
    arg("--output FILE.jsonl", "with `recall`: what was found for each question"),
    arg(
        "--sizes N,N",
        "with `search`, `scale` and `memory`: how many facts, such as 1000,100000; with `vault`: how many"
        " pages; `search` among a million takes some ten minutes and 6 GB of memory, `scale` hours",
    ),
    arg(
        "--owners N",
        "with `search`: how many owners of 1,000 facts each, 200 by default; with `scale`: of 100 facts"
        " each, 1,000 by default; with `life`: 200 lives",
        type=int,
    ),
    arg("--turns N,N", "with `conversations`: how long they are, 10,1000,10000 unless told"),
    arg(
        "--peer-python PYTHON",
        "with `memory`, `life`, `documents` and `planner`: a Python that has what is measured beside them:"
        " chromadb, lancedb or mem0; mem0 or langmem; markitdown, kreuzberg or llama-index-core;"
        " recurring-ical-events",
    ),
    arg("--files N", "with `documents`: how many files the corpus has, 1000 unless told", type=int),
    arg(
        "--parts NAME,NAME",
        "with `documents`: only reading, retrieval, scale, graph, folders or served; with `scale`: only"
        " facts, owners, turns, streams, import or migrate; with `life`: only"
        " looked-at or held-out, and languages such as en,de; careful has its script believe nothing untrue",
    ),
    arg("--json FILE", "also write the figures to FILE"),
)
def _measure(options: Namespace) -> int:
    """Measure what is named, or everything; print the figures, and write them to a file if asked."""
    from bethink import bench
    from bethink.cli.session import log_if_asked, settings_of

    log_if_asked(options)
    file, output = (Path(name) if name else None for name in (options.json, options.output))
    for written in filter(None, (file, output)):
        # Minutes of measuring shall not end in an error of the last line.
        try:
            written.open("ab").close()
        except OSError as error:
            raise BadInput(f"{written} cannot be written: {error.strerror}.") from error
    if options.names[:1] == ["recall"]:
        _, *paths = options.names
        if len(paths) != 1 or not options.format:
            raise BadInput(
                "Say what to measure on: `bethink bench recall PATH --format locomo`, for example."
            )
        bench.run_recall(Path(paths[0]), options.format, settings_of(options), file=file, output=output)
        return Exit.OK
    benchmarks = bench.import_from_clone("benchmarks", _NOT_A_CLONE)
    how = benchmarks.How(
        _numbers(options.sizes, "--sizes"),
        _python(options.peer_python),
        options.owners,
        _numbers(options.turns, "--turns"),
        options.files,
        tuple(filter(None, (options.parts or "").split(","))),
    )
    benchmarks.run(options.names, settings_of(options), file=file, how=how)
    return Exit.OK


def _python(name: str | None) -> Path | None:
    import shutil

    if name is None:
        return None
    if shutil.which(name) is None:
        raise BadInput(f"--peer-python is {name!r}: there is no such program.")
    return Path(name)


def _numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise BadInput(f"{option} is {text!r}: give numbers, such as 1000,100000.")
    return tuple(int(part) for part in parts)
