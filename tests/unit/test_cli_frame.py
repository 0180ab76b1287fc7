"""What holds for every command: options anywhere, errors as sentences, exit codes."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

import bethink.cli
from bethink.cli import main
from bethink.cli.exits import Exit, exit_of, exit_of_code
from bethink.errors import (
    BadInput,
    Busy,
    ContextTooLong,
    CorruptDatabase,
    DiskFull,
    NewerSchema,
    NoModel,
    UnknownId,
    Unreachable,
)
from bethink.store.sqlite_schema import FILE_NAME
from tests.command_line import CommandLine


def test_common_options_stand_before_or_after_the_command(plain: CommandLine, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    plain("--data", elsewhere, "memory", "add", "one")
    plain("memory", "--data", elsewhere, "add", "two")
    plain("memory", "add", "three", "--data", elsewhere)
    assert plain.facts() == set()
    assert plain("memory", "list", "--data", elsewhere).out.count("\n") == 3


def test_version_and_help_succeed(plain: CommandLine) -> None:
    assert plain("--version").out.startswith("bethink ")
    for words in ((), ("memory",), ("memory", "add"), ("chat",), ("serve",), ("doctor",), ("bench",)):
        ended = plain(*words, "--help")
        assert ended.code == 0
        assert ended.out.startswith("usage: bethink")


def test_no_command_is_bad_usage(plain: CommandLine) -> None:
    assert plain().code == 2
    assert plain("frobnicate").code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput, 2),
        (UnknownId, 2),
        (NoModel, 3),
        (Busy, 4),
        (DiskFull, 5),
        (NewerSchema, 5),
        (CorruptDatabase, 5),
        (Unreachable, 1),
        (ContextTooLong, 1),
    ],
)
def test_each_error_has_its_exit_code(error: type, code: int) -> None:
    assert exit_of(error) == code
    assert exit_of_code(error.code) == code


def test_the_exit_codes_are_documented_where_the_command_line_begins() -> None:
    assert bethink.cli.__doc__
    for code in Exit:
        assert f"\n    {code.value} " in bethink.cli.__doc__
        assert code.meaning.endswith(".")


@pytest.mark.requirement("C29")
def test_a_damaged_database_is_a_sentence_and_left_alone(plain: CommandLine) -> None:
    plain.data.mkdir()
    file = plain.data / FILE_NAME
    file.write_bytes(b"not a database" * 1_000)
    for words in (("memory", "list"), ("chat", "hello"), ("memory", "forget", "--all", "--yes")):
        ended = plain(*words)
        assert ended.code == 5
        assert ended.err.count("\n") == 1
        assert "damaged" in ended.err
    assert file.read_bytes() == b"not a database" * 1_000


def test_a_data_directory_that_is_a_file_is_a_sentence(plain: CommandLine) -> None:
    plain.data.write_text("a file")
    ended = plain("memory", "list")
    assert ended.code == 5
    assert "Traceback" not in ended.err


def test_closed_streams_are_no_fault(plain: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setenv("BETHINK_DATA_DIR", str(plain.data))
    assert main(["memory", "add", "User likes tea."]) == 0
    assert main(["memory", "add", "-"]) == 2
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()
    monkeypatch.undo()
    assert plain.facts() == {"User likes tea."}


def test_debug_shows_where_an_error_came_from(plain: CommandLine) -> None:
    assert "Traceback" in plain("--debug", "memory", "show", "nothing").err
    assert "Traceback" not in plain("memory", "show", "nothing").err


def test_a_bad_setting_is_a_sentence(plain: CommandLine) -> None:
    (plain.data.parent / "bethink.toml").write_text("max_steps = 'many'\n")
    ended = plain("memory", "list")
    assert ended.code == 2
    assert "max_steps" in ended.err


def test_the_data_directory_is_made_for_its_owner_alone(plain: CommandLine) -> None:
    plain("memory", "list")
    assert stat.S_IMODE(plain.data.stat().st_mode) == 0o700


def test_a_measurement_that_cannot_be_made_is_bad_input(plain: CommandLine, tmp_path: Path) -> None:
    assert plain("bench", "everything").code == 2
    assert plain("bench", "llm", "--json", str(tmp_path)).code == 2
