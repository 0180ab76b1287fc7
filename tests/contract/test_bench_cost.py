"""What `bench search`, `bench memory` and `bench storage` print: the figures are there and are possible."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from blockbuster import BlockBuster

from benchmarks import memory, search, storage, tools
from benchmarks.peers import PEERS, texts_left
from benchmarks.process import Serving
from bethink.embeddings.hashing import HashingEmbeddings
from tests.command_line import CommandLine

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _nobody_waits(no_blocking_calls: BlockBuster) -> Iterator[None]:
    """A measurement has its thread for itself: the baselines work in it."""
    no_blocking_calls.deactivate()
    yield
    no_blocking_calls.activate()


@pytest.mark.requirement("C10", "R167", "R194", "R195")
async def test_a_search_is_measured_beside_a_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_SEARCHES", 5)
    monkeypatch.setattr(search, "_COLD_STARTS", 1)
    rows = await search.measure_search([300], owners=12)
    ours, _, plain, owners = rows
    assert ours["agreement"] == 1.0
    assert 0 < ours["wall_ms_min"] <= ours["wall_ms_p50"] <= ours["wall_ms_p95"]
    assert ours["wall_ratio"] == pytest.approx(ours["wall_ms_p50"] / plain["wall_ms_p50"], abs=0.001)
    assert min(ours["cold_ms"], ours["bytes_each"], ours["kept_per_s"], ours["forget_20_ms"]) > 0
    assert owners["items"] == 1_000


async def test_memory_is_measured_and_leaves_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SINGLY", "_QUESTIONS", "_FORGOTTEN", "_BATCH"):
        monkeypatch.setattr(memory, name, 10)
    rows = await memory.measure_memory(HashingEmbeddings(), [30], Path(sys.executable))
    assert [row["memory"] for row in rows] == [
        "bethink",
        *PEERS,
        (embedding := f"bethink, with {HashingEmbeddings().model.id}"),
        f"{embedding}, texts of 7 words",
    ]
    assert rows[0]["texts_left"] == 0
    assert min(rows[0]["import_per_s"], rows[0]["add_ms_p50"], rows[0]["search_ms_p50"]) > 0
    # This Python has none of the others.
    assert all(set(row) == {"items", "memory"} for row in rows[1:-2])


def test_a_text_that_is_left_is_found_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\x00Anna sings\xff")
    assert texts_left(tmp_path, ["Anna sings", "Bob skis"]) == 1


@pytest.mark.requirement("R195")
async def test_calls_of_tools_are_measured_alone_and_a_hundred_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools, "_TIMES", 20)
    *steps, alone, at_once = await tools.measure_tools()
    assert all(0 < step["us_p50"] <= step["us_p95"] for step in steps)
    assert 0 < alone["wall_ms"] < at_once["wall_ms"]
    assert at_once["ratio"] < 50, "they do not wait for one another"


async def test_a_commit_is_measured_beside_a_bare_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_COMMITS", 5)
    figures = await storage.measure_commits()
    assert figures["cpu_ratio"] > 0


@pytest.mark.parametrize(
    "words", [["--sizes", "ten"], ["--sizes", "10,-1"], ["--peer-python", "nowhere/python"]]
)
def test_what_cannot_be_measured_is_refused_before_it_is_begun(plain: CommandLine, words: list[str]) -> None:
    said = plain("bench", "search", *words)
    assert said.code == 2
    assert words[1] in said.err


WORK = """
import sys, threading, time

def work():
    while time.thread_time() < 0.05:
        pass

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(time.process_time(), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what another process has used is told by Linux alone")
def test_what_a_server_used_counts_threads_that_have_ended() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told_ms = float(process.stdout.readline()) * 1_000
        serving = Serving("", process.pid, cast("Any", None))
        assert serving.cpu_ms() >= told_ms >= 50
