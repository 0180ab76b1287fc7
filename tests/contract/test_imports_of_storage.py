"""Numeric libraries are heavy: opening a store does not import them, the first search does."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import anyio, sys, tempfile
from pathlib import Path
from bethink.engines.sqlite.bus import open_bus
from bethink.index import IndexItem, IndexQuery
from bethink.store import Collection, Put, Record
from bethink.engines.sqlite.store import open_database

class Setting(Record, frozen=True, kw_only=True):
    value: str = ""

async def main():
    with tempfile.TemporaryDirectory() as directory:
        async with open_database(Path(directory)) as database, open_bus(Path(directory)):
            await database.store.commit("o", [Put(Collection("meta", Setting), Setting(id="s"))])
            print(sorted({"numpy", "Stemmer"} & sys.modules.keys()))
            await database.index.search(IndexQuery("o", "word"))
            print(sorted({"numpy", "Stemmer"} & sys.modules.keys()))

anyio.run(main)
"""


def test_nothing_numeric_is_imported_before_the_first_search() -> None:
    result = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["[]", "['numpy']"]
