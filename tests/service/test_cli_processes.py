"""The program itself, in processes of its own: at once, killed, into a pipe that closes."""

from __future__ import annotations

import http.client
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.llm.scripted import Rule
from tests.command_line import CommandLine, play

pytestmark = pytest.mark.timeout(90)
HEAVY = {"fastapi", "uvicorn", "numpy", "aiohttp", "pydantic", "msgspec", "anyio", "asyncio", "onnxruntime"}


def wait_for_journal(line: CommandLine, text: str) -> None:
    """What is shown is written a twentieth of a second later; return when it is."""
    with closing(sqlite3.connect(line.data / FILE_NAME)) as connection:
        while not connection.execute(
            "SELECT 1 FROM journal JOIN bodies USING (place) WHERE instr(body, ?)", [text.encode()]
        ).fetchone():
            pass


@pytest.mark.parametrize("words", [["--version"], ["memory", "--help"], ["chat", "--frobnicate"]])
def test_what_needs_nothing_imports_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys; from bethink.cli import main; main(sys.argv[1:]);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    assert not HEAVY & set(said.stdout.splitlines()[-1].split())


@pytest.mark.sqlite
def test_a_killed_answer_says_where_it_stopped(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    play(
        scripted,
        Rule(when="long", fault="hang_midstream", text="Once upon a time there was a king"),
        Rule(text="On we go."),
    )
    first = bethink("chat", "hello").conversation
    with bethink.start("chat", "a long story", "--conversation", first, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout
        assert process.stdout.read(4) == "Once"
        wait_for_journal(bethink, "Once")
        process.kill()
    ended = bethink("chat", "--conversation", first)
    assert ended.code == 0
    assert "interrupted" in ended.err
    assert "It stopped here: …Once upon a" in ended.err
    assert bethink("chat", "--conversation", first, "go on").out == "On we go.\n"
    assert "not complete" not in bethink("chat", "--conversation", first).err


@pytest.mark.requirement("C5")
def test_two_processes_write_at_once_and_nothing_is_lost(bethink: CommandLine) -> None:
    bethink("memory", "list")
    lines = [f"User owns the book number {number}." for number in range(600)]
    with bethink.start("memory", "add", "-", "--lines", stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL) as adding:
        assert adding.stdin
        adding.stdin.write("\n".join(lines))
        adding.stdin.close()
        turns = [bethink("chat", f"Please remember that I have {number} cats").code for number in range(4)]
        assert adding.wait(60) == 0
    assert turns == [0] * 4
    known = bethink.facts()
    assert set(lines) <= known
    assert len(known) == 604


def test_a_second_chat_in_the_same_conversation_is_told_that_it_is_busy(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    play(
        scripted,
        Rule(when="long", fault="hang_midstream", text="Once upon a time there was a king"),
        Rule(text="Here."),
    )
    first = bethink("chat", "hello").conversation
    with bethink.start("chat", "a long story", "--conversation", first, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout
        assert process.stdout.read(4) == "Once"
        ended = bethink("chat", "--conversation", first, "and me?")
        process.kill()
    assert ended.code == 4
    assert ended.err.startswith("bethink: This conversation is being answered")


def test_a_reader_that_leaves_early_is_no_error(plain: CommandLine) -> None:
    # Several times as much as a pipe holds.
    lines = [f"User owns the book number {number}: {'x' * 400}" for number in range(500)]
    plain("memory", "add", "-", "--lines", piped="\n".join(lines))
    with plain.start("memory", "list", "--all", stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().endswith("x\n")
        process.stdout.close()
        assert not process.stderr.read()
        assert process.wait(30) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_cannot_be_written_is_a_sentence(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    with (
        Path("/dev/full").open("w") as full,
        plain.start("memory", "list", stdout=full, stderr=PIPE) as process,
    ):
        assert process.stderr
        assert process.stderr.read() == "bethink: The output cannot be written: No space left on device.\n"
        assert process.wait(30) == 1


def test_serve_answers_and_other_commands_work_beside_it(bethink: CommandLine) -> None:
    with bethink.start("serve", "--port", "0", stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdout
        url = process.stdout.readline().split()[3]
        assert url.startswith("http://127.0.0.1:")
        id = bethink.added("User likes tea.")
        assert id in asked(url, "/memories")
        port = url.rpartition(":")[2]
        doctor = bethink("doctor")
        assert re.search(rf"^ok +server +Bethink .* is at http://127.0.0.1:{port}$", doctor.out, re.MULTILINE)
        taken = bethink("serve", "--port", port)
        assert taken.code == 2
        assert "taken" in taken.err
        process.kill()
        process.wait(30)
        assert "is at http" not in bethink("doctor").out, "what a killed server left is not believed"


def asked(url: str, path: str) -> str:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("GET", path)
    with closing(connection):
        return connection.getresponse().read().decode()
