"""Settings that are changed while Bethink runs, through the web door: what holds at once, what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import pytest

from bethink.settings import Settings, load_settings
from bethink.settings.kept import FILE
from tests.door import called
from tests.house import House, open_house

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def desk(
    path: Path,
    **settings: Any,  # noqa: ANN401 - each has its own type
) -> AsyncGenerator[tuple[House, httpx2.AsyncClient]]:
    async with open_house(data_dir=path, **settings) as house, called(house) as http:
        yield house, http


async def loaded(path: Path) -> Settings:
    """The settings of the next start."""
    return await anyio.to_thread.run_sync(partial(load_settings, data_dir=path))


async def states(http: httpx2.AsyncClient) -> dict[str, dict[str, Any]]:
    answer = await http.get("/settings")
    assert answer.status_code == 200
    return {one["name"]: one for one in answer.json()["settings"]}


async def test_every_setting_has_a_place_words_and_a_schema(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, http):
        answer = (await http.get("/settings")).json()
    groups = {group["id"] for group in answer["groups"]}
    settings = {one["name"]: one for one in answer["settings"]}
    assert {"vault.trust", "dial.url", "assistants", "prices", "mcp_servers", "model"} <= set(settings)
    for one in settings.values():
        assert one["group"] in groups, one
        assert one["title"] != one["name"], one
        assert one["description"].endswith((".", "?")), one
        assert "$ref" not in json.dumps(one["schema"]), one
        assert one["schema"], one


async def test_a_change_holds_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        changed = await http.patch("/settings", json={"recall_limit": 3, "vault.trust": "owner"})
        assert changed.status_code == 200
        assert house.app.settings.recall_limit == 3
        assert house.app.settings.vault.trust == "owner"
        held = (await states(http))["recall_limit"]
        assert (held["value"], held["source"], held["is_set"], held["default"]) == (3, "kept", True, 5)
        assert (await loaded(tmp_path)).vault.trust == "owner"
        await http.patch("/settings", json={"recall_limit": None})
        assert (await states(http))["recall_limit"]["source"] == "default"
    assert (await loaded(tmp_path)).recall_limit == 5


async def test_all_or_nothing_is_changed_and_each_fault_is_named(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        refused = await http.patch(
            "/settings", json={"recall_limit": 3, "max_steps": 0, "code_sandbox": "chroot"}
        )
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        faults = {fault["name"]: fault["detail"] for fault in refused.json()["errors"]}
        assert set(faults) == {"max_steps", "code_sandbox"}
        assert "greater than or equal to 1" in faults["max_steps"]
        assert house.app.settings.recall_limit == 5
        unknown = await http.patch("/settings", json={"recall_limt": 3})
        assert unknown.json()["errors"][0]["name"] == "recall_limt"
        model = await http.patch("/settings", json={"model": "nobody:gpt"})
        assert "not known" in model.json()["errors"][0]["detail"]
        assert house.app.settings.model == ""
    assert not (tmp_path / FILE).exists()


async def test_a_secret_goes_in_sealed_and_never_comes_out(tmp_path: Path) -> None:
    async with desk(tmp_path, master_key=None) as (house, http):
        answer = await http.patch("/settings", json={"openai_api_key": "sk-very-secret-1234"})
        assert "sk-very" not in answer.text
        key = (await states(http))["openai_api_key"]
        assert (key["value"], key["is_set"], key["secret"]) == (None, True, True)
        assert house.app.settings.openai_api_key is not None
        changes = await http.get("/settings/changes")
        assert changes.json()["changes"][0]["new"] == "(secret)"
        assert "sk-very" not in changes.text
    assert b"sk-very" not in (tmp_path / FILE).read_bytes()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    key = (await loaded(tmp_path)).openai_api_key
    assert key is not None
    assert key.get_secret_value() == "sk-very-secret-1234"


async def test_what_the_environment_sets_is_shown_and_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BETHINK_RECALL_LIMIT", "7")
    monkeypatch.setenv("BETHINK_VAULT", '{"trust": "owner"}')
    given = await loaded(tmp_path)
    async with desk(tmp_path) as (house, http):
        house.app.settings.of_given(given.given)
        shown = await states(http)
        recall = shown["recall_limit"]
        assert (recall["source"], recall["source_name"], recall["editable"]) == (
            "environment",
            "BETHINK_RECALL_LIMIT",
            False,
        )
        assert shown["vault.trust"]["source_name"] == "BETHINK_VAULT"
        assert shown["vault.mirror"]["editable"]
        refused = await http.patch("/settings", json={"recall_limit": 3})
        assert refused.status_code == 403
        assert "set by BETHINK_RECALL_LIMIT" in refused.json()["detail"]
    (tmp_path / FILE).write_text('{"values": {"recall_limit": 2, "vault.mirror": false}}')
    settings = await loaded(tmp_path)
    assert (settings.recall_limit, settings.vault.trust, settings.vault.mirror) == (7, "owner", False)


async def test_what_needs_a_restart_says_so_and_waits(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        before = house.app.settings.port
        answer = await http.patch("/settings", json={"port": 9000, "max_steps": 4})
        assert answer.json()["pending_restart"] == ["port"]
        assert house.app.settings.port == before
        assert house.app.settings.max_steps == 4
        assert (await states(http))["port"]["value"] == 9000
        back = await http.patch("/settings", json={"port": before})
        assert back.json()["pending_restart"] == []


async def test_changes_are_logged_with_who_and_what(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, http):
        await http.patch("/settings", json={"max_steps": 4})
        await http.patch("/settings", json={"max_steps": 5})
        (newest, first) = (await http.get("/settings/changes")).json()["changes"]
    assert (newest["name"], newest["old"], newest["new"], newest["by"]) == ("max_steps", 4, 5, "local")
    assert (first["old"], first["new"], first["door"]) == (20, 4, "web")


async def test_kept_values_that_are_no_longer_valid_stop_no_start(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"values": {"gone": 1, "max_steps": "many", "recall_limit": 4}}')
    settings = await loaded(tmp_path)
    assert (settings.recall_limit, settings.max_steps) == (4, 20)


async def test_a_tool_server_is_added_changed_and_removed_while_it_runs(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/mcp"
    async with desk(tmp_path, master_key=None) as (house, http):
        added = await http.put(
            "/mcp-servers/notes", json={"url": url, "headers": {"Authorization": "Bearer abcdef"}}
        )
        (shown,) = added.json()["servers"]
        assert (shown["name"], shown["editable"], shown["source"]) == ("notes", True, "kept")
        assert shown["config"]["headers"] == {"Authorization": "••••"}
        assert "abcdef" not in added.text
        changed = await http.put(
            "/mcp-servers/notes",
            json={"url": url, "headers": {"Authorization": "••••"}, "connect_timeout_s": 5},
        )
        assert changed.status_code == 200
        held = house.app.settings.mcp_servers["notes"]
        assert (held.headers, held.connect_timeout_s) == ({"Authorization": "Bearer abcdef"}, 5)
        kept = (await loaded(tmp_path)).mcp_servers["notes"]
        assert kept.headers == {"Authorization": "Bearer abcdef"}
        assert (await http.delete("/mcp-servers/notes")).status_code == 204
        assert (await http.get("/mcp-servers")).json() == {"servers": []}
        assert (await http.delete("/mcp-servers/notes")).status_code == 404
    assert b"abcdef" not in (tmp_path / FILE).read_bytes()


async def test_a_command_runs_only_if_exactly_it_was_confirmed(tmp_path: Path) -> None:
    server = {"command": "nosuch-program", "args": ["-y", "two words"]}
    line = "nosuch-program -y 'two words'"
    async with desk(tmp_path) as (house, http):
        for confirm in ({}, {"confirm": "nosuch-program"}):
            refused = await http.put("/mcp-servers/local", json=server | confirm)
            assert refused.status_code == 422
            assert line in refused.json()["detail"]
        for way in ({"method": "POST", "url": "/mcp-servers/test", "json": server},):
            assert (await http.request(**way)).status_code == 422
        patched = await http.patch("/settings", json={"mcp_servers": {"local": server}})
        assert patched.status_code == 422
        assert not house.app.settings.mcp_servers
        added = await http.put("/mcp-servers/local", json=server | {"confirm": line})
        assert added.json()["servers"][0]["command_line"] == line
        # What stays the same was confirmed; another program was not.
        assert (await http.put("/mcp-servers/local", json=server | {"enabled": False})).status_code == 200
        other = await http.put("/mcp-servers/local", json=server | {"env": {"PATH": "elsewhere"}})
        assert other.status_code == 422


async def test_a_tool_server_that_does_not_answer_says_so_in_its_own_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, http):
        answer = await http.post("/mcp-servers/test", json={"url": "http://127.0.0.1:9/mcp"})
    assert answer.status_code == 200
    assert answer.json()["ok"] is False
    assert answer.json()["problem"]
