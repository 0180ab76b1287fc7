"""Filters over HTTP and on the command line: for the owner alone, who can try them out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.door import open_door


@pytest.mark.anyio
async def test_the_page_adds_tries_and_removes_filters_and_no_program_does(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        me, http = replace(door.house.me, audience="web"), door.http
        await door.house.app.vault.write(me, "jane.md", "- salary: 91234\n- age: 64\n", by="person")
        added = (await http.post("/vault/filters", json={"field": "salary", "audiences": ["mcp-*"]})).json()
        assert added["id"] == "f1"
        asked = {"path": "jane.md", "audience": "mcp-http:claude"}
        seen = (await http.post("/vault/filters/test", json=asked)).json()
        assert (seen["text"], seen["marks"][0]["rule"]) == ("- age: 64\n", "f1")
        other = (await http.post("/vault/filters/test", json=asked | {"audience": "web/agent"})).json()
        assert "91234" in other["text"]
        assert (await http.post("/vault/filters", json={"pattern": "(a"})).status_code == 422
        headers = {"Authorization": "Bearer some-program"}
        for method, path, body in (
            ("GET", "/vault/filters", None),
            ("POST", "/vault/filters", {"field": "x"}),
            ("POST", "/vault/filters/test", asked),
            ("DELETE", "/vault/filters/f1", None),
            ("DELETE", "/vault/filters", None),
        ):
            assert (await http.request(method, path, json=body, headers=headers)).status_code == 403
        assert (await http.delete("/vault/filters/f1")).json()["field"] == "salary"
        assert (await http.delete("/vault/filters/f1")).status_code == 404
        assert (await http.get("/vault/filters")).json() == {"items": []}
        await http.post("/vault/filters", json={"text": "be discreet"})
        assert (await http.delete("/vault/filters")).json()["items"][0]["text"] == "be discreet"


def test_filters_are_added_tried_and_removed_on_the_command_line(plain: CommandLine) -> None:
    run = plain
    assert run("vault", "init").code == 0
    plain.data.joinpath("vault", "jane.md").write_text("- salary: 91234\n- mail: jane@example.com\n")
    added = run("vault", "filters", "add", "--field", "salary", "--from", "mcp-*", "--note", "mine")
    assert added.out == "f1  hide: field 'salary'  from mcp-*  (mine)\n"
    run("vault", "filters", "add", "--pattern", "email", "--action", "generalise")
    shown = run("vault", "filters", "test", "jane.md", "--as", "mcp-stdio:x")
    assert shown.out.startswith("- mail: example.com\n")
    told = json.loads(run("vault", "filters", "test", "jane.md", "--as", "web/agent", "--json").out)
    assert told["text"] == "- salary: 91234\n- mail: example.com\n"
    assert [
        json.loads(line)["id"] for line in run("vault", "filters", "list", "--json").out.splitlines()
    ] == [
        "f1",
        "f2",
    ]
    assert run("vault", "filters", "add", "--pattern", "(a").code == 2
    assert "f1" in run("vault", "filters", "remove", "f1").out
    assert "Removed 1 filter:" in run("vault", "filters", "reset").out
    assert run("vault", "filters", "list").out == ""


def test_filters_are_listed_and_removed_while_the_vault_is_off(plain: CommandLine) -> None:
    plain("vault", "init")
    plain("vault", "filters", "add", "--path", "private/*")
    off = plain.setting(BETHINK_VAULT='{"enabled": false}')
    assert off("vault", "list").code != 0
    assert off("vault", "filters", "list").out == "f1  hide: path 'private/*'  from everybody but you\n"
