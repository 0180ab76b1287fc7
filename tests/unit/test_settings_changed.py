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

from bethink.internet.connect import connect_internet
from bethink.settings import Settings, load_settings
from bethink.settings.catalogue import SETTINGS
from bethink.settings.kept import FILE
from tests.door import called
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def desk(
    path: Path,
    **settings: Any,  # noqa: ANN401 - each has its own type
) -> AsyncGenerator[tuple[House, httpx2.AsyncClient]]:
    settings = {"extraction": None} | settings
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


async def test_a_page_begins_with_a_short_answer(tmp_path: Path) -> None:
    async with desk(tmp_path, max_file_bytes=5_000) as (_, http):
        whole = await http.get("/settings")
        brief = await http.get("/settings", params={"brief": True})
    assert len(brief.content) * 10 < len(whole.content)
    assert brief.json() == whole.json() | {"settings": [], "groups": []}
    assert brief.json()["bounds"]["max_file_bytes"] == 5_000


async def test_a_change_holds_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        changed = await http.patch("/settings", json={"recall_limit": 3, "vault.trust": "owner"})
        assert changed.status_code == 200
        assert house.app.settings.recall_limit == 3
        assert house.app.settings.vault.trust == "owner"
        held = (await states(http))["recall_limit"]
        assert (held["value"], held["source"], held["is_set"], held["default"]) == (3, "kept", True, 12)
        assert (await loaded(tmp_path)).vault.trust == "owner"
        await http.patch("/settings", json={"recall_limit": None})
        assert (await states(http))["recall_limit"]["source"] == "default"
    assert (await loaded(tmp_path)).recall_limit == 12


async def test_all_or_nothing_is_changed_and_each_fault_is_named(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        refused = await http.patch(
            "/settings", json={"recall_limit": 3, "max_steps": 0, "code_sandbox": "chroot"}
        )
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        faults = {fault["parameter"]: fault["reason"] for fault in refused.json()["errors"]}
        assert set(faults) == {"max_steps", "code_sandbox"}
        assert "greater than or equal to 1" in faults["max_steps"]
        assert house.app.settings.recall_limit == 12
        unknown = await http.patch("/settings", json={"recall_limt": 3})
        assert unknown.json()["errors"][0]["parameter"] == "recall_limt"
        model = await http.patch("/settings", json={"model": "nobody:gpt"})
        assert "not known" in model.json()["errors"][0]["reason"]
        assert house.app.settings.model == ""
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("model_base_url", "ftp://x", "http://127.0.0.1:1/v1"),
        ("ollama_base_url", "localhost:11434", "https://models.example"),
        ("web_search_url", "http://", "http://127.0.0.1:8888"),
        ("dial.url", "http://core:port", "https://core.example:8443"),
        ("redis_url", "http://redis", "unix:///run/redis.sock"),
        ("database_url", "mysql://db", "postgresql://bethink@/bethink?host=/run/postgresql"),
        ("audio_base_url", "javascript:alert(1)", "http://[::1]:9000/v1"),
        ("images_base_url", "http://a b", "http://images.example"),
    ],
)
async def test_what_is_no_address_is_refused_where_one_is_set(
    tmp_path: Path, name: str, wrong: str, right: str
) -> None:
    async with desk(tmp_path) as (_, http):
        refused = await http.patch("/settings", json={name: wrong, "recall_limit": 3, "max_steps": 0})
        assert refused.status_code == 422
        faults = {fault["parameter"]: fault["reason"] for fault in refused.json()["errors"]}
        assert set(faults) == {name, "max_steps"}
        assert faults[name].startswith("this is no address: it begins with ")
        refused = await http.patch("/settings", json={name: wrong})
        assert [fault["parameter"] for fault in refused.json()["errors"]] == [name]
        assert (await states(http))[name]["source"] == "default"
        assert (await http.patch("/settings", json={name: right})).status_code == 200
        assert (await http.patch("/settings", json={name: None})).status_code == 200


def test_every_setting_that_is_an_address_is_marked_as_one() -> None:
    named = {name for name in SETTINGS if name.endswith(("_url", ".url"))}
    known = {name for name, one in SETTINGS.items() if one.address_fault("ftp://x")}
    assert named - known == {"smtp_url"}, "its type checks itself"


async def test_an_address_of_the_environment_that_nobody_uses_stops_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BETHINK_OLLAMA_BASE_URL", "ftp://x")
    monkeypatch.setenv("BETHINK_WEB_SEARCH_URL", "ftp://x")
    settings = await loaded(tmp_path)
    given = {"ollama_base_url": settings.ollama_base_url, "web_search_url": settings.web_search_url}
    ports = ports_of(internet=connect_internet(settings))
    async with desk(tmp_path / "used", **given, ports=ports) as (_, http):
        parts = (await http.get("/health")).json()["parts"]
    assert parts["model"]["status"] != "degraded"
    assert "web_search_url: this is no address" in parts["web"]["message"]


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
        assert (await http.get("/mcp-servers")).json()["servers"] == []
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
        assert (await http.post("/mcp-servers/test", json=server)).status_code == 422
        patched = await http.patch("/settings", json={"mcp_servers": {"local": server}})
        assert patched.status_code == 422
        assert not house.app.settings.mcp_servers
        added = await http.put("/mcp-servers/local", json=server | {"confirm": line})
        assert added.json()["servers"][0]["command_line"] == line
        # What stays the same was confirmed; another program was not.
        assert (await http.put("/mcp-servers/local", json=server | {"enabled": False})).status_code == 200
        for other in ({"env": {"PATH": "elsewhere"}}, {"sandbox": False}, {"writable": ["/"]}):
            refused = await http.put("/mcp-servers/local", json=server | other)
            assert refused.status_code == 422


async def test_a_tool_server_that_does_not_answer_says_so_in_its_own_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, http):
        answer = await http.post("/mcp-servers/test", json={"url": "http://127.0.0.1:9/mcp"})
    assert answer.status_code == 200
    assert answer.json()["ok"] is False
    assert answer.json()["problem"]


async def change(http: httpx2.AsyncClient, **values: object) -> None:
    answer = await http.patch("/settings", json=values)
    assert answer.status_code == 200, answer.text


async def test_the_next_message_is_answered_by_the_model_that_was_set(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        conversation = await house.new()
        said = {"message": {"role": "user", "content": "Hello"}, "stream": False}
        url = f"/conversations/{conversation}/chat"
        before = await http.post(url, json=said)
        assert "No model is set" in before.text
        await change(http, model="scripted:demo")
        assert (await http.get("/settings")).json()["model"] == "scripted:demo"
        after = await http.post(url, json=said)
        assert "No model is set" not in after.text
        assert (await house.messages(conversation))[-1].message.content
        assert (await http.get("/health")).json()["parts"]["model"]["status"] != "off"
        await change(http, model=None)
        assert (await http.get("/settings")).json()["model"] is None


async def tools(http: httpx2.AsyncClient) -> set[str]:
    return {tool["name"] for tool in (await http.get("/tools")).json()["items"]}


async def test_switches_of_tools_hold_at_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        assert "web_search" not in await tools(http), "this house has no internet yet"
        await change(http, web_safe_search="off")
        assert "web_search" in await tools(http)
        assert "rag_search" in await tools(http)
        await change(http, web_enabled=False, documents_enabled=False)
        assert not {"web_search", "fetch_url", "rag_search"} & await tools(http)
        assert house.app.ports.internet is None
        await change(http, web_enabled=True)
        assert "web_search" in await tools(http)
        await change(http, images_model="openai:gpt-image-1", openai_api_key="sk-none")
        assert "generate_image" in await tools(http)
        wrong = await http.patch("/settings", json={"images_model": "nobody:paints"})
        assert wrong.status_code == 422
        assert "generate_image" in await tools(http)


async def test_how_answers_are_made_follows_the_settings(tmp_path: Path) -> None:
    async with desk(tmp_path) as (house, http):
        app = house.app
        await change(
            http,
            extraction="suggest",
            titles="model",
            recall_limit=3,
            max_steps=2,
            memory_enabled=False,
            model_temperature=0.5,
            summary_share=0.5,
            tool_timeout_s=7,
            tool_policy={"store_memory": "deny"},
            prices={"scripted:demo": {"input": 1, "output": 2}},
            time_zone="Asia/Tokyo",
            max_file_bytes=5_000,
            requests_per_minute=5,
            graph_enabled=True,
            quiet_hours="22:00-07:00",
        )
        loops = app.runs.loops
        assert app.extraction.settings.extraction == "suggest"
        assert loops.bounds.prices == {"scripted:demo": (1, 2)}
        assert (loops.bounds.steps, loops.memory, loops.context.limit) == (2, False, 3)
        assert loops.context.temperature == 0.5
        assert loops.summaries is not None
        assert loops.summaries.settings.summary_share == 0.5
        assert (app.toolbox.timeout_s, app.policy.settings) == (7, {"store_memory": "deny"})
        assert (await app.accounts.authenticate(audience="cli")).time_zone == "Asia/Tokyo"
        assert app.accounts.requests_per_minute == 5
        assert app.files.max_bytes == 5_000
        assert app.graph.enabled
        assert app.housekeeping is not None


async def test_another_process_on_the_directory_reads_the_change(tmp_path: Path) -> None:
    async with (
        open_house(data_dir=tmp_path) as here,
        open_house(data_dir=tmp_path) as there,
        called(here) as http,
    ):
        await change(http, recall_limit=2)
        await there.app.configuration.reload()
        assert there.app.settings.recall_limit == 2
        assert there.app.runs.loops.context.limit == 2
