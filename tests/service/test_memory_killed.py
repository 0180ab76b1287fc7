"""`kill -9` while the memory is put in order or a file is taken in: all or nothing, and never twice."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest

from bethink.engines.sqlite.schema import FILE_NAME
from tests.command_line import CommandLine
from tests.warm import start

pytestmark = pytest.mark.timeout(90)

PAIRS = 40
_PATIENCE_S = 60
_BACK_AND_FORTH = """
import anyio, sys
from bethink.app import open_app
from bethink.settings import load_settings

async def main():
    async with open_app(load_settings(data_dir=sys.argv[1])) as app:
        me = await app.accounts.authenticate(audience="test")
        print("ready", flush=True)
        while True:
            done = await app.memory.consolidate(me, share=1)
            print("merged", flush=True)
            await app.memory.undo(me, done.undo)
            print("undone", flush=True)

anyio.run(main)
"""


def test_a_consolidation_that_is_killed_is_done_or_not_begun(plain: CommandLine) -> None:
    header = '{"kind":"bethink_memory","schema":1}'
    lines = [
        json.dumps({"kind": "fact", "id": f"{n}.{who}", "content": text, "created_at": "2026-01-01"})
        for n in range(PAIRS)
        for who, text in (("a", f"Knows number {n}"), ("b", f"The user knows number {n}"))
    ]
    assert plain("memory", "import", "-", piped="\n".join([header, *lines])).code == 0
    seen: set[int] = set()
    for heard in range(1, 7):
        process = start(_BACK_AND_FORTH, str(plain.data), environment=plain.environment)
        for _ in range(heard):
            assert process.line_within(_PATIENCE_S)
        process.kill()
        process.wait_within(_PATIENCE_S)
        process.close()
        documents = plain("memory", "list", "--state", "all", "--all", "--json").documents
        states = [document["state"] for document in documents]
        merged = [document for document in documents if document["state"] == "merged"]
        kept = {document["id"] for document in documents if document["state"] == "active"}
        assert len(merged) in {0, PAIRS}
        assert states.count("active") == 2 * PAIRS - len(merged)
        assert {document["superseded_by"] for document in merged} <= kept
        seen.add(len(merged))
        if merged:
            (last,) = plain("memory", "log", "--limit", "1", "--json").documents
            assert plain("memory", "undo", last["undo"]).code == 0
    assert seen


@pytest.mark.sqlite
def test_an_import_that_is_killed_is_repeated_and_taken_back_whole(
    plain: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps({"content": f"Knows number {n}"}) + "\n" for n in range(1_500)))
    with plain.start("memory", "import", str(file), stdout=PIPE, stderr=PIPE) as process:
        wait_for_facts(plain)
        process.kill()
    report = json.loads(plain("memory", "import", str(file), "--json").out)
    assert 0 < report["known"] < 1_500
    assert report["known"] + report["added"] == 1_500
    assert plain.facts() == {f"Knows number {n}" for n in range(1_500)}
    assert "1,500 memories" in plain("memory", "undo", report["undo"]).out
    assert plain.facts() == set()


def wait_for_facts(line: CommandLine) -> None:
    """Return when the first batch is on the disk."""
    while not (line.data / FILE_NAME).exists():
        pass
    with closing(sqlite3.connect(line.data / FILE_NAME, timeout=30)) as connection:
        while not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_steps'").fetchone():
            pass
        while not connection.execute("SELECT 1 FROM facts").fetchone():
            pass
