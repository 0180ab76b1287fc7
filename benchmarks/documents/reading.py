"""How fast and how faithfully files are read: Bethink's readers, in process and walled in, beside others.

Fidelity is the share of what the corpus says that a reader gives back: its sentences, the rows of its tables
(all cells of a row in one line, in their order), its headings as headings, neighbours in their order, and
sentences on their own page where a format has pages.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.documents.corpus import FILES, PAGED, Heading, Table, write_corpus
from benchmarks.documents.peer_readers import PEERS, peak_mb
from bethink.documents.reading.extraction import Extraction
from bethink.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.documents.corpus import CorpusFile

_SPACE: Final = re.compile(r"[\s\\]+")
_DIVIDERS: Final = re.compile(r"[|\t]")
_LOOK_S: Final = 0.02
_AT_ONCE: Final = 2
"""As many as `Extraction` reads at once."""


@dataclass(slots=True)
class Score:
    """Found and wanted of each kind of thing, and the time it took."""

    files: int = 0
    seconds: float = 0
    failed: int = 0
    found: defaultdict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    wanted: defaultdict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))

    def add(self, thing: str, truths: Iterable[bool]) -> None:
        """Count what was found of what was wanted."""
        for truth in truths:
            self.found[thing] += truth
            self.wanted[thing] += 1

    def figures(self) -> dict[str, Any]:
        """Shares, three digits; None for what was not wanted."""
        return {
            "files": self.files,
            "files_per_s": round(self.files / self.seconds, 2) if self.seconds else None,
            **{
                thing: round(self.found[thing] / self.wanted[thing], 3) if self.wanted[thing] else None
                for thing in ("text", "tables", "headings", "order", "pages")
            },
            "failed": self.failed,
        }


async def measure_reading(files: int = FILES, peer_python: Path | None = None) -> list[dict[str, Any]]:
    """A row for each reader, then one for each reader and format."""
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        root = Path(directory)
        corpus = write_corpus(root, files)
        read: dict[str, tuple[list[_Read], dict[str, Any]]] = {"bethink": await _ours(root, corpus)}
        for name in PEERS:
            if peer_python is not None and (
                found := await _peer(peer_python, name, root=root, corpus=corpus)
            ):
                read[name] = found
    rows: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    for name, (results, figures) in read.items():
        scores = scored(corpus, results)
        total = scores.pop("all")
        rows.append({"reader": name, **total.figures(), **figures})
        details += [{"reader": name, "format": form, **score.figures()} for form, score in scores.items()]
    return [*rows, *sorted(details, key=lambda row: (row["format"], row["reader"]))]


@dataclass(frozen=True, slots=True)
class _Read:
    pages: Sequence[str]
    seconds: float
    error: str


def scored(corpus: Sequence[CorpusFile], results: Sequence[_Read]) -> dict[str, Score]:
    """Scores of each format and layout, and of `all`."""
    scores: defaultdict[str, Score] = defaultdict(Score)
    for file, result in zip(corpus, results, strict=True):
        form = file.kind if file.layout == "plain" else f"{file.kind}, {file.layout}"
        for name in (form, "all"):
            score = scores[name]
            score.files += 1
            score.seconds += result.seconds
            score.failed += bool(result.error)
            if file.is_readable:
                _compare(file, result.pages, score)
    return scores


def _compare(file: CorpusFile, pages: Sequence[str], score: Score) -> None:
    plain = [_plain(page) for page in pages]
    whole = " ".join(plain)
    lines = {_plain(_DIVIDERS.sub(" ", line)) for page in pages for line in page.split("\n")}
    heads = {_plain(line.lstrip("# ")) for page in pages for line in page.split("\n") if line.startswith("#")}
    places: list[int] = []
    for number, page in enumerate(file.pages):
        if page.is_image:
            continue
        said = [_plain(sentence) for sentence in page.sentences]
        score.add("text", (sentence in whole for sentence in said))
        if file.kind in PAGED and len(pages) > 1:
            here = plain[number] if number < len(plain) else ""
            score.add("pages", (sentence in here for sentence in said))
        for block in page.blocks:
            if isinstance(block, Table):
                score.add("tables", (_plain(" ".join(row)) in lines for row in block.rows))
            elif isinstance(block, Heading) and file.kind not in {
                "txt",
                "py",
                "json",
                "jsonl",
                "rtf",
                "eml",
                "msg",
            }:
                score.add("headings", [_plain(block.text) in heads])
        at = places[-1] if places else 0
        for sentence in said:
            # Sentences repeat: the next one behind the last counts, else the first.
            place = whole.find(sentence, at)
            place = whole.find(sentence) if place < 0 else place
            if place >= 0:
                places.append(place)
                at = place
    score.add("order", (one <= other for one, other in pairwise(places)))


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


async def _ours(root: Path, corpus: Sequence[CorpusFile]) -> tuple[list[_Read], dict[str, Any]]:
    extraction = Extraction(seconds=60)
    results: list[_Read | None] = [None] * len(corpus)
    waiting = iter(enumerate(corpus))

    async def reads() -> None:
        for number, file in waiting:
            begin = time.perf_counter()
            pages: Mapping[int, str] = {}
            error = ""
            try:
                pages = (await extraction.read(root / file.name, file.name, "application/octet-stream")).pages
            except DocumentError as raised:
                error = str(raised)
            results[number] = _Read([*pages.values()], time.perf_counter() - begin, error)

    begin, before = time.perf_counter(), os.times()
    watching = asyncio.create_task(_peak_of_children(peaks := [0]))
    async with extraction.kept_warm(), asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(reads())
    wall, after = time.perf_counter() - begin, os.times()
    watching.cancel()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    figures = _totals(corpus, wall, cpu_s=cpu, peak_mb=max(peaks))
    return [result for result in results if result is not None], figures


async def _peak_of_children(peaks: list[int]) -> None:
    """Look often at the memory of all that was started here."""
    while True:
        _look(Path("/proc/self"), peaks)
        await asyncio.sleep(_LOOK_S)


def _look(process: Path, peaks: list[int]) -> None:
    # A process may be gone meanwhile.
    with suppress(OSError):
        for task in (process / "task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                peaks[0] = max(peaks[0], peak_mb(child))
                _look(Path("/proc", child), peaks)


def _totals(corpus: Sequence[CorpusFile], wall: float, *, cpu_s: float, peak_mb: int) -> dict[str, Any]:
    """CPU is what a busy machine does not change."""
    pages = sum(len(file.pages) for file in corpus)
    return {
        "files_per_s": round(len(corpus) / wall, 2),
        "pages_per_s": round(pages / wall, 1),
        "cpu_ms_a_file": round(1000 * cpu_s / len(corpus)),
        "peak_mb": peak_mb,
    }


async def _peer(
    python: Path, name: str, *, root: Path, corpus: Sequence[CorpusFile]
) -> tuple[list[_Read], dict[str, Any]] | None:
    """What another reader gives; None if that Python does not have it."""
    from bethink.child_process import ChildProcess

    task, output = root / "task.json", root / f"{name}.jsonl"
    task.write_text(json.dumps([str(root / file.name) for file in corpus]), encoding="utf-8")
    program = str(Path(__file__).parent / "peer_readers.py")
    begin = time.perf_counter()
    pipe = asyncio.subprocess.PIPE
    async with ChildProcess.opened(
        str(python), program, name, str(task), str(output), stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    ) as process:
        said, _ = await process.communicate()
    if process.returncode:
        return None
    wall = time.perf_counter() - begin
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    results = [_Read(line["pages"], line["seconds"], line["error"]) for line in lines]
    return results, _totals(corpus, wall, **json.loads(said))
