"""What `bethink bench` measures in a clone, one module a subject. Figures, never assertions.

A subject is an async function that returns rows: each a dictionary of a name and
figures, with ratios to a baseline of the same run. Recall's evaluation is `bethink.bench`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.bench import table
from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from bethink.settings import Settings

    Parts = dict[str, Callable[[], Coroutine[Any, Any, "Rows"]]]

CLONE = Path(__file__).parent.parent
"""Where modules of `benchmarks` that run as processes of their own are found."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class How:
    """Parameters of some measurements; None for their own."""

    sizes: tuple[int, ...] | None = None
    peer_python: Path | None = None
    owners: int | None = None
    turns: tuple[int, ...] | None = None
    files: int | None = None
    parts: tuple[str, ...] = ()


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
        # Rows that begin with another column are about something else.
        kinds = groupby(figures[subject], key=lambda row: next(iter(row), ""))
        print(f"\n{subject}", *(table([*rows]) for _, rows in kinds), sep="\n", flush=True)
        if file is not None:
            file.write_bytes(msgspec.json.format(msgspec.json.encode(figures)))


async def _agent(_: Settings, __: How) -> Rows:
    from benchmarks.agent import measure_agent

    return await measure_agent()


async def _door(settings: Settings, _: How) -> Rows:
    from benchmarks.door import measure_door
    from benchmarks.doors import measure_doors

    return [*await measure_door(settings.models), *await measure_doors(settings.models)]


async def _storage(_: Settings, __: How) -> Rows:
    from benchmarks.storage import measure_storage

    return await measure_storage()


async def _search(_: Settings, how: How) -> Rows:
    from benchmarks.search import OWNERS, SIZES, measure_search

    return await measure_search(how.sizes or SIZES, how.owners or OWNERS)


async def _scale(settings: Settings, how: How) -> Rows:
    from benchmarks.moving import IMPORTED, MOVED, measure_import, measure_migration
    from benchmarks.processes import measure_processes
    from benchmarks.scale import OWNERS, SIZES, measure_owners, measure_sizes
    from benchmarks.streams import measure_streams

    parts: Parts = {
        "facts": lambda: measure_sizes(how.sizes or SIZES),
        "owners": lambda: measure_owners(how.owners or OWNERS),
        "turns": measure_processes,
        "streams": lambda: measure_streams(settings.models),
        "import": lambda: measure_import(how.sizes or IMPORTED),
        "migrate": lambda: measure_migration(how.sizes or MOVED),
    }
    return await _of_parts("scale", parts, how)


async def _of_parts(subject: str, parts: Parts, how: How) -> Rows:
    """The rows of the parts that are wanted, or of all."""
    if unknown := sorted(set(how.parts) - set(parts)):
        message = f"There is no part {unknown[0]!r} of {subject}; there are {', '.join(parts)}."
        raise BadInput(message)
    return [row for name in how.parts or parts for row in await parts[name]()]


async def _memory(settings: Settings, how: How) -> Rows:
    from benchmarks.memory import SIZES, measure_memory
    from bethink.embeddings.factory import embeddings_of

    return await measure_memory(embeddings_of(settings), how.sizes or SIZES, how.peer_python)


async def _embeddings(settings: Settings, _: How) -> Rows:
    from benchmarks.embeddings import measure_embeddings
    from bethink.embeddings.factory import embeddings_of

    return [await measure_embeddings(embeddings_of(settings))]


async def _start(settings: Settings, _: How) -> Rows:
    from benchmarks.start import measure_start

    return await measure_start(settings.models)


async def _llm(_: Settings, __: How) -> Rows:
    from benchmarks.llm_client import measure_llm_client

    return await measure_llm_client()


async def _trust(settings: Settings, _: How) -> Rows:
    from benchmarks.trust import measure_trust
    from bethink.embeddings.factory import embeddings_of

    return await measure_trust(embeddings_of(settings))


async def _life(settings: Settings, how: How) -> Rows:
    from benchmarks.life import measure_life
    from bethink.embeddings.factory import embeddings_of

    return await measure_life(
        settings, embeddings_of(settings), how.owners, parts=how.parts, peer_python=how.peer_python
    )


async def _habits(settings: Settings, how: How) -> Rows:
    from benchmarks.habits import measure_habits
    from bethink.embeddings.factory import embeddings_of

    return await measure_habits(settings, embeddings_of(settings), how.parts)


async def _tools(_: Settings, __: How) -> Rows:
    from benchmarks.tools import measure_tools

    return await measure_tools()


async def _conversations(_: Settings, how: How) -> Rows:
    from benchmarks.conversations import TURNS, measure_conversations

    return await measure_conversations(how.turns or TURNS)


async def _vault(_: Settings, how: How) -> Rows:
    from benchmarks.vault import SIZES, measure_vault

    return await measure_vault(how.sizes or SIZES)


async def _documents(settings: Settings, how: How) -> Rows:
    from benchmarks.documents.corpus import FILES
    from benchmarks.documents.folders import measure_folders
    from benchmarks.documents.graph import measure_graph
    from benchmarks.documents.reading import measure_reading
    from benchmarks.documents.retrieval import FILES_ASKED, measure_retrieval
    from benchmarks.documents.scale import measure_scale
    from benchmarks.documents.served import FILES_SERVED, measure_served
    from bethink.embeddings.factory import embeddings_of

    embeddings = embeddings_of(settings)
    parts: Parts = {
        "reading": lambda: measure_reading(how.files or FILES, how.peer_python),
        "retrieval": lambda: measure_retrieval(embeddings, how.files or FILES_ASKED, how.peer_python),
        "scale": measure_scale,
        "graph": lambda: measure_graph(embeddings, how.files or FILES_ASKED),
        "folders": measure_folders,
        "served": lambda: measure_served(settings.models, how.files or FILES_SERVED),
    }
    return await _of_parts("documents", parts, how)


async def _planner(settings: Settings, how: How) -> Rows:
    from benchmarks.planner import measure_planner

    return await measure_planner(settings.models, how.peer_python)


async def _page(settings: Settings, _: How) -> Rows:
    from benchmarks.page import measure_page

    return await measure_page(settings.models)


_MEASURES: dict[str, Callable[[Settings, How], Coroutine[Any, Any, Rows]]] = {
    "agent": _agent,
    "door": _door,
    "storage": _storage,
    "search": _search,
    "scale": _scale,
    "memory": _memory,
    "embeddings": _embeddings,
    "start": _start,
    "llm": _llm,
    "trust": _trust,
    "life": _life,
    "habits": _habits,
    "tools": _tools,
    "conversations": _conversations,
    "vault": _vault,
    "documents": _documents,
    "planner": _planner,
    "page": _page,
}
