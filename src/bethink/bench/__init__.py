"""What `bethink bench` measures, a module a subject. Figures, never assertions.

A subject is an async function that gives rows: each a dictionary of a name and
figures, its ratios to a baseline of the same run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from bethink.settings import Settings

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class How:
    """What some of the measurements are told; None for their own."""

    sizes: tuple[int, ...] | None = None
    peer_python: Path | None = None
    owners: int | None = None
    turns: tuple[int, ...] | None = None


def run(names: Sequence[str], settings: Settings, *, file: Path | None, how: How) -> None:
    """Measure what is named, or everything; print each subject's rows, and write all to `file`.

    Raises:
        BadInput: there is no such subject.
        EmbeddingsUnavailable: a subject needs the embedding model, and it is not there.
    """
    if unknown := sorted(set(names) - set(_MEASURES)):
        message = f"There is no measurement {unknown[0]!r}; there are {', '.join(_MEASURES)}."
        raise BadInput(message)
    figures: dict[str, Rows] = {}
    for subject in names or _MEASURES:
        figures[subject] = asyncio.run(_MEASURES[subject](settings, how))
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


async def _agent(_: Settings, __: How) -> Rows:
    from bethink.bench.agent import measure_agent

    return await measure_agent()


async def _door(settings: Settings, _: How) -> Rows:
    from bethink.bench.door import measure_door
    from bethink.bench.doors import measure_doors

    return [*await measure_door(settings.models), *await measure_doors(settings.models)]


async def _storage(_: Settings, __: How) -> Rows:
    from bethink.bench.storage import measure_storage

    return await measure_storage()


async def _search(_: Settings, how: How) -> Rows:
    from bethink.bench.search import OWNERS, SIZES, measure_search

    return await measure_search(how.sizes or SIZES, how.owners or OWNERS)


async def _memory(settings: Settings, how: How) -> Rows:
    from bethink.bench.memory import SIZES, measure_memory
    from bethink.embeddings.minilm import MiniLmEmbeddings

    return await measure_memory(MiniLmEmbeddings(settings.models), how.sizes or SIZES, how.peer_python)


async def _embeddings(settings: Settings, _: How) -> Rows:
    from bethink.bench.embeddings import measure_embeddings
    from bethink.embeddings.minilm import MiniLmEmbeddings

    return [await measure_embeddings(MiniLmEmbeddings(settings.models))]


async def _start(settings: Settings, _: How) -> Rows:
    from bethink.bench.start import measure_start

    return await measure_start(settings.models)


async def _llm(_: Settings, __: How) -> Rows:
    from bethink.bench.llm_client import measure_llm_client

    return await measure_llm_client()


async def _trust(settings: Settings, _: How) -> Rows:
    from bethink.bench.trust import measure_trust
    from bethink.embeddings.minilm import MiniLmEmbeddings

    return await measure_trust(MiniLmEmbeddings(settings.models))


async def _tools(_: Settings, __: How) -> Rows:
    from bethink.bench.tools import measure_tools

    return await measure_tools()


async def _conversations(_: Settings, how: How) -> Rows:
    from bethink.bench.conversations import TURNS, measure_conversations

    return await measure_conversations(how.turns or TURNS)


async def _vault(_: Settings, how: How) -> Rows:
    from bethink.bench.vault import SIZES, measure_vault

    return await measure_vault(how.sizes or SIZES)


_MEASURES: dict[str, Callable[[Settings, How], Coroutine[Any, Any, Rows]]] = {
    "agent": _agent,
    "door": _door,
    "storage": _storage,
    "search": _search,
    "memory": _memory,
    "embeddings": _embeddings,
    "start": _start,
    "llm": _llm,
    "trust": _trust,
    "tools": _tools,
    "conversations": _conversations,
    "vault": _vault,
}
