"""What `bethink bench` measures, a module a subject. Figures, never assertions.

A subject is an async function that gives rows: each a dictionary of a name and
figures, its ratios to a baseline of the same run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.settings import Settings

SUBJECTS = ("agent", "door", "storage", "search", "embeddings", "start", "llm", "trust")
SIZES = (1_000, 10_000, 100_000)
"""Facts of one owner, of `search` and `memory`."""


def run(
    names: Sequence[str], settings: Settings, *, file: Path | None = None, sizes: Sequence[int] = SIZES
) -> None:
    """Measure what is named, or everything; print each subject's rows, and write all to `file`.

    `sizes` are those of `search`: a million takes some ten minutes and 4 GB of memory.

    Raises:
        BadInput: there is no such subject.
    """
    if unknown := sorted(set(names) - set(SUBJECTS)):
        message = f"There is no measurement {unknown[0]!r}; there are {', '.join(SUBJECTS)}."
        raise BadInput(message)
    figures: dict[str, list[dict[str, Any]]] = {}
    for subject in names or SUBJECTS:
        figures[subject] = asyncio.run(measure(subject, settings, sizes))
        print(f"\n{subject}\n{table(figures[subject])}", flush=True)
        if file is not None:
            file.write_bytes(msgspec.json.format(msgspec.json.encode(figures)))


def run_recall(
    path: Path, form: str, settings: Settings, *, file: Path | None = None, output: Path | None = None
) -> None:
    """Measure recall on a set of conversations; print the rows, and write them to `file`.

    Raises:
        BadInput: what is at `path` is not of the format.
        EmbeddingsUnavailable: the embedding model is not there.
    """
    from bethink.bench.dialogues import read_dialogues
    from bethink.bench.recall import measure_recall
    from bethink.embeddings.minilm import MiniLmEmbeddings

    dialogues = read_dialogues(path, form)
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        measuring = measure_recall(dialogues, MiniLmEmbeddings(settings.models), Path(directory))
        rows, lines = asyncio.run(measuring)
    if output is not None:
        output.write_bytes(lines)
    print(table(rows[:-1]), table(rows[-1:]), sep="\n\n", flush=True)
    if file is not None:
        file.write_bytes(msgspec.json.format(msgspec.json.encode({"recall": rows})))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows, printed below each other: each a dictionary of a name and figures."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


async def measure(subject: str, settings: Settings, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """The rows of one subject; takes from seconds to a few minutes.

    Raises:
        EmbeddingsUnavailable: the subject needs the embedding model, and it is not there.
        BadInput: there is no such subject.
    """
    match subject:
        case "agent":
            from bethink.bench.agent import measure_agent

            return await measure_agent()
        case "door":
            from bethink.bench.door import measure_door

            return await measure_door(settings.models)
        case "storage":
            from bethink.bench.storage import measure_storage

            return await measure_storage()
        case "search":
            from bethink.bench.search import measure_search

            return await measure_search(sizes)
        case "embeddings":
            from bethink.bench.embeddings import measure_embeddings
            from bethink.embeddings.minilm import MiniLmEmbeddings

            return [await measure_embeddings(MiniLmEmbeddings(settings.models))]
        case "start":
            from bethink.bench.start import measure_start

            return await measure_start(settings.models)
        case "trust":
            from bethink.bench.trust import measure_trust
            from bethink.embeddings.minilm import MiniLmEmbeddings

            return await measure_trust(MiniLmEmbeddings(settings.models))
        case "llm":
            from bethink.bench.llm_client import measure_llm_client

            return await measure_llm_client()
        case _:
            message = f"There is no measurement {subject!r}."
            raise BadInput(message)
