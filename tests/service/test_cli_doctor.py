"""`bethink doctor`, through `main`."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from contextlib import closing

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.cli.exits import Exit
from bethink.engines.sqlite.schema import FILE_NAME
from tests.command_line import CommandLine
from tests.postgres_server import postgres_server


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def states(line: CommandLine) -> dict[str, str]:
    return {document["part"]: document["state"] for document in line("doctor", "--json").documents}


def messages(line: CommandLine) -> dict[str, str]:
    return {document["part"]: document["message"] for document in line("doctor", "--json").documents}


def test_a_fresh_machine_is_well_though_parts_are_off(plain: CommandLine, free_port: int) -> None:
    fresh = plain.setting(BETHINK_PORT=str(free_port))
    ended = fresh("doctor")
    assert ended.code == 0
    assert "broken" not in ended.out
    assert re.search(r"^off +model .*BETHINK_MODEL=", ended.out, re.MULTILINE)
    assert re.search(r"^off +embedding model .*doctor --fix", ended.out, re.MULTILINE)
    assert re.search(r"^ok +settings .*port from BETHINK_PORT", ended.out, re.MULTILINE)
    assert not plain.data.exists(), "looking changes nothing"


def test_what_is_there_is_counted(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    plain("chat", "/help")
    assert "1 conversation, 2 messages, 1 memory, 0 pages" in messages(plain)["database"]


def test_what_a_server_holds_is_counted_and_one_that_is_away_is_broken(plain: CommandLine) -> None:
    with postgres_server() as server:
        there = plain.setting(BETHINK_DATABASE_URL=server.new_database())
        assert "nothing yet, created at the first start" in messages(there)["database"]
        there.added("User likes tea.")
        there("chat", "/help")
        told = messages(there)
        assert "(database bethink" in told["database"]
        assert "1 conversation, 2 messages, 1 memory, 0 pages" in told["database"]
        assert told["memory"] == "no problems found"
        assert told["users and keys"].startswith("none")
    away = states(there)
    assert away["database"] == "broken"
    assert "memory" not in away


def test_a_model_is_probed_and_no_secret_shown(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    assert states(bethink)["model"] == "ok"
    gone = bethink.setting(OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    ended = gone("doctor")
    assert ended.code == 1
    assert re.search(r"^broken +model ", ended.out, re.MULTILINE)
    assert states(bethink.setting(BETHINK_MODEL="nobody:knows"))["model"] == "broken"
    assert "sk-invented" not in ended.out + ended.err + json.dumps(messages(bethink))
    assert "openai_api_key from OPENAI_API_KEY" in ended.out


@pytest.mark.sqlite
def test_a_damaged_database_is_broken(plain: CommandLine) -> None:
    plain.data.mkdir()
    (plain.data / FILE_NAME).write_bytes(b"not a database" * 1_000)
    assert plain("doctor").code == 1
    assert states(plain)["database"] == "broken"


@pytest.mark.sqlite
def test_a_database_that_is_gone_while_its_log_is_there_is_not_begun_anew(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    path = plain.data / FILE_NAME
    log = path.with_name(f"{FILE_NAME}-wal")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE index_state SET change = change + 1")
        left = log.read_bytes()
    log.write_bytes(left)
    path.unlink()
    assert states(plain)["database"] == "broken"
    listed = plain("memory", "list")
    assert listed.code == Exit.STORAGE
    assert f"{FILE_NAME} is missing" in listed.err
    assert "estore" in listed.err
    assert not path.exists()
    assert log.read_bytes() == left


@pytest.mark.sqlite
def test_a_newer_database_is_broken(plain: CommandLine) -> None:
    plain("memory", "list")
    with closing(sqlite3.connect(plain.data / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 4711")
    assert "schema 4711" in messages(plain)["database"]
    assert states(plain)["database"] == "broken"


def test_a_directory_open_to_others_is_closed_on_request(plain: CommandLine) -> None:
    plain("memory", "list")
    plain.data.chmod(0o755)
    assert states(plain)["data directory"] == "off"
    plain.data.chmod(0o755)
    from bethink.cli.checks import close_to_others

    close_to_others(plain.data)
    assert states(plain)["data directory"] == "ok"


def test_a_port_of_another_program_is_broken(plain: CommandLine, scripted: ScriptedProcess) -> None:
    other = plain.setting(BETHINK_PORT=scripted.origin.rpartition(":")[2])
    assert states(other)["server"] == "broken"


def test_faults_of_the_settings_are_told(plain: CommandLine) -> None:
    assert states(plain.setting(BETHINK_TIME_ZONE="Mars/Olympus"))["time zone"] == "broken"
    assert states(plain.setting(BETHINK_MODLE="openai:gpt"))["settings"] == "off"
    ended = plain.setting(BETHINK_MAX_STEPS="many")("doctor")
    assert ended.code == 1
    assert re.search(r"^broken +settings .*max_steps", ended.out, re.MULTILINE)


@pytest.mark.sqlite
@pytest.mark.timeout(45)
def test_users_and_keys_are_counted_and_who_cannot_come_in_is_told(plain: CommandLine) -> None:
    part = "users and keys"
    plain("users", "add", "ann")
    assert "ann (administrator) cannot sign in" in messages(plain)[part]
    assert states(plain.setting(BETHINK_PUBLIC_URLS="https://bethink.example"))[part] == "broken"
    plain("users", "key", "add", "ann")
    plain("users", "add", "bob")
    plain("users", "disable", "bob")
    assert messages(plain)[part] == "2 users, 1 disabled; 1 live key, 0 expired, 0 revoked"


@pytest.mark.requirement("R80")
def test_programs_of_tool_servers_are_named_with_what_holds_them(plain: CommandLine) -> None:
    (plain.data.parent / "servers.json").write_text(
        json.dumps(
            {
                "mcpServers": {
                    "held": {"command": "true", "sandbox": True},
                    "free": {"command": "true"},
                    "far": {"url": "http://127.0.0.1:9/mcp"},
                }
            }
        )
    )
    line = plain.setting(BETHINK_MCP_SERVERS_FILE=str(plain.data.parent / "servers.json"))
    said = messages(line)["mcp servers"]
    assert "with all rights of this user: free" in said
    assert "held" in said
    assert "far" not in said
