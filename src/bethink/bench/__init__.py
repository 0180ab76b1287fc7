"""Recall's evaluation on public sets of conversations, and the way to what only a clone holds.

`bethink bench recall` ships with the package. The other measurements and the stand-ins live in the
clone's `benchmarks/`, which a wheel does not contain.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import BadInput

if TYPE_CHECKING:
    from types import ModuleType

    from bethink.settings import Settings

_CHECKOUT = Path(__file__).parents[3]


def import_from_clone(module: str, missing: str) -> ModuleType:
    """A module of the clone's `benchmarks`, by its dotted name.

    Raises:
        BadInput: Bethink does not run from a clone; `missing` is the sentence that says so.
    """
    if not (_CHECKOUT / "benchmarks/__init__.py").is_file():
        raise BadInput(missing)
    if str(_CHECKOUT) not in sys.path:
        sys.path.insert(0, str(_CHECKOUT))
    return importlib.import_module(module)


def run_recall(
    path: Path, form: str, settings: Settings, *, file: Path | None = None, output: Path | None = None
) -> None:
    """Measure recall on a set of conversations; print the rows, and write them to `file`.

    Raises:
        BadInput: what is at `path` is not of the format.
        EmbeddingsUnavailable: the embedding model is not there.
    """
    from bethink.bench.recall import measure_recall, read_dialogues
    from bethink.embeddings.factory import embeddings_of

    dialogues = read_dialogues(path, form)
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        measuring = measure_recall(dialogues, embeddings_of(settings), Path(directory))
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
