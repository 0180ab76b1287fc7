"""What literal search in a large vault costs: making the catalogue, an edit, each kind of query, the graph.

`vault` measures it among the rest. The baseline is a scan: every file read, folded and looked through.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from benchmarks.meter import WARM_UP, Meter
from bethink.principal import LOCAL_OWNER, Principal
from bethink.vault.search.graph import graph_of
from bethink.vault.search.query import PageSearch
from bethink.vault.search.search import VaultSearch
from bethink.visibility.service import Visibility

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.vault import Vault

_ME: Final = Principal(LOCAL_OWNER, audience="bench")
_TIMES: Final = WARM_UP + 20
_EDITS: Final = WARM_UP + 10
_WORD: Final = "quillfeather"


async def measure_vault_search(vault: Vault) -> list[dict[str, Any]]:
    """Rows for an owner's pages as they are."""
    searching = VaultSearch(Visibility.over(vault).views)
    rows = [await _made(searching)]
    paths = sorted(await vault.pages(LOCAL_OWNER))
    rows.append(await _edited(searching, paths))
    queries = (
        ("a word of few pages", PageSearch(_WORD)),
        ("three letters of many pages", PageSearch("wor")),
        ("two words", PageSearch(f"number {_WORD}")),
        ("a phrase of all pages", PageSearch('"# Page"')),
        ("a word of no page", PageSearch("xyzzyq")),
        ("a pattern with a literal part", PageSearch(rf"{_WORD[:6]}\w+ \d", regex=True)),
        ("a pattern without one", PageSearch(r"^- \w+: 12\d$", regex=True)),
    )
    rows += [await _searched(searching, what, search) for what, search in queries]
    rows += [await _scanned(vault, paths), await _graph(searching)]
    return rows


async def _made(searching: VaultSearch) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    pages = await searching.refresh(LOCAL_OWNER)
    size = await anyio.to_thread.run_sync(_size, searching.catalogue(LOCAL_OWNER).path)
    return {
        "what": "catalogue of all pages",
        "pages": pages,
        "wall_ms": round((time.perf_counter() - wall) * 1000, 1),
        "cpu_ms": round((time.process_time() - cpu) * 1000, 1),
        "file_mb": round(size / 1e6, 1),
    }


async def _edited(searching: VaultSearch, paths: list[str]) -> dict[str, Any]:
    meter = Meter()
    for number, path in enumerate(paths[:_EDITS]):
        page = await searching.vault.read(LOCAL_OWNER, path)
        await searching.vault.write(_ME, path, f"{page.text}\n{_WORD} {number}\n", by="agent")
        stop = meter.start()
        await searching.refresh(LOCAL_OWNER)
        stop()
    return {"what": "catalogue behind one edit", **meter.figures()}


async def _searched(searching: VaultSearch, what: str, search: PageSearch) -> dict[str, Any]:
    meter, total = Meter(), 0
    for _ in range(_TIMES):
        stop = meter.start()
        total = (await searching.search(_ME, search)).total
        stop()
    return {"what": f"search for {what}", "found": total, **meter.figures()}


async def _scanned(vault: Vault, paths: list[str]) -> dict[str, Any]:
    root = vault.root(LOCAL_OWNER)

    def scan() -> int:
        return sum(_WORD in (root / path).read_text("utf-8").casefold() for path in paths)

    wall, cpu = time.perf_counter(), time.process_time()
    found = await anyio.to_thread.run_sync(scan)
    return {
        "what": "baseline: a scan of all files",
        "found": found,
        "wall_ms": round((time.perf_counter() - wall) * 1000, 1),
        "cpu_ms": round((time.process_time() - cpu) * 1000, 1),
    }


async def _graph(searching: VaultSearch) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    told = await anyio.to_thread.run_sync(searching.catalogue(LOCAL_OWNER).pages)
    links = len((await anyio.to_thread.run_sync(graph_of, told)).net().edges)
    return {
        "what": "graph of all pages",
        "links": links,
        "wall_ms": round((time.perf_counter() - wall) * 1000, 1),
        "cpu_ms": round((time.process_time() - cpu) * 1000, 1),
    }


def _size(path: Path) -> int:
    return path.stat().st_size
