"""What holds for every command: options anywhere, errors as sentences, exit codes."""

from __future__ import annotations

import argparse
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import bethink.cli
from bethink.cli import main
from bethink.cli.commands import OWN_FAMILIES, families, make_parser
from bethink.cli.exits import Exit, exit_of, exit_of_code
from bethink.cli.terminal import counted
from bethink.engines.sqlite.schema import FILE_NAME
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
from bethink.features import FEATURES
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


@pytest.mark.parametrize("words", [(), ("memory",), ("vault",), ("vault", "filters"), ("users", "key")])
def test_who_names_no_command_reads_which_there_are(plain: CommandLine, words: tuple[str, ...]) -> None:
    ended = plain(*words)
    assert (ended.code, ended.out) == (2, "")
    name = " ".join(("bethink", *words))
    assert ended.err.startswith(f"usage: {name} ")
    assert "commands:" in ended.err
    assert ended.err.endswith(f"\n{name}: choose one of these commands.\n")


@pytest.mark.parametrize("words", [("chat",), ("memory", "list"), ("users", "key", "list"), ("mcp",)])
def test_an_unknown_option_is_told_with_the_usage_of_its_own_command(
    plain: CommandLine, words: tuple[str, ...]
) -> None:
    ended = plain(*words, "--sideways")
    assert ended.code == 2
    name = " ".join(("bethink", *words))
    assert ended.err.startswith(f"usage: {name} ")
    assert ended.err.endswith(f"\n{name}: error: unrecognized arguments: --sideways\n")


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other way to list them


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            for command in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                yield command
                yield from _commands(command)


def test_options_of_one_name_say_the_same_at_every_command() -> None:
    for command in _commands(make_parser()):
        told = {name: action for action in _actions(command) for name in action.option_strings}
        if (as_json := told.get("--json")) and as_json.nargs == 0:
            assert re.fullmatch(r"print (each \w+|the report) as a line of JSON", as_json.help or "")
        assert ("--yes" in told) == ("-y" in told), command.prog
        assert ("--k" in told) == ("-k" in told), command.prog
        for action in _actions(command):
            assert action.help or action.choices, f"{command.prog} says nothing of {action.dest}"


def test_the_commands_of_each_feature_are_among_the_families() -> None:
    modules = {f"bethink.cli.{name}" for name in families().keys() - OWN_FAMILIES.keys()}
    assert {feature.commands for feature in FEATURES} - {""} == modules


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


def test_lists_that_are_empty_say_how_they_fill(plain: CommandLine) -> None:
    assert plain("memory", "list").err == "There are no memories yet: `bethink memory add TEXT` adds one.\n"
    assert "vault init" in plain("vault", "list").err


def test_looking_for_nothing_is_refused(plain: CommandLine) -> None:
    ended = plain("memory", "search", " ")
    assert (ended.code, ended.err) == (2, "bethink: Say what to look for: a question or words.\n")


@pytest.mark.parametrize("depth", ["0", "-1", "7"])
def test_a_graph_is_not_drawn_to_a_depth_that_there_is_not(plain: CommandLine, depth: str) -> None:
    plain("vault", "init")
    ended = plain("vault", "graph", "user.md", f"--depth={depth}")
    assert (ended.code, ended.err) == (2, f"bethink: --depth is {depth}: give a number from 1 to 6.\n")
    assert plain("vault", "graph").out.startswith("1 page, 0 links between them\n")


@pytest.mark.parametrize(
    ("count", "noun", "told"),
    [
        (0, "page", "0 pages"),
        (1, "page", "1 page"),
        (1, "memory", "1 memory"),
        (2_000, "memory", "2,000 memories"),
    ],
)
def test_a_count_is_told_with_its_noun(count: int, noun: str, told: str) -> None:
    assert counted(count, noun) == told


def test_the_page_about_moving_names_everything_that_lies_in_the_data_directory(plain: CommandLine) -> None:
    assert plain("memory", "add", "one").code == 0
    assert plain("vault", "init").code == 0
    assert plain("vault", "search", "about").code == 0
    assert plain("users", "add", "ann").code == 0
    page = (Path(__file__).parents[2] / "docs/how-to/back-up-and-restore.md").read_text()
    lying = {re.sub(r"-(wal|shm)$", "", path.name) for path in plain.data.iterdir()}
    assert {"bethink.sqlite3", "vault", "vault-search"} <= lying
    named = set(re.findall(r"`([a-z.0-9-]+)/?`", page))
    assert lying <= named
    assert {"files", "vaults", "master.key", "tools", "imports", "models"} <= named
