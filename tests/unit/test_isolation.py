"""Bob walks through every route, tool and door with Ann's ids, and finds nothing of hers.

What is walked is read from the program: a route or a tool that is new, and that
this walk does not know how to fill, fails it. Fill it in `IDS`, `BODIES`, `QUERIES`
or `ARGUMENTS`, with something of Ann's wherever something of hers can be named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio.lowlevel
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.routing import Route

from bethink.accounts.grants import GrantRequest, OAuthClient
from bethink.accounts.register import GRANTS, OWNER
from bethink.agent.toolbox import CallResult, Prepared
from bethink.calendar_sync.records import ACCOUNTS, CONFLICTS, CalendarAccount, SyncConflict
from bethink.documents.service import Documents
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_server.families import offers
from bethink.memory.aliases import ALIASES, Alias
from bethink.messages import ToolCall
from bethink.principal import Principal
from bethink.store import Change, Put, Scan
from bethink.tool import ToolContext
from bethink.web import create_rooms
from tests.door import called, said, served
from tests.exports import asked_and_answered, packed
from tests.house import House, open_house
from tests.knowledge import empty_base
from tests.library import plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60), pytest.mark.usefixtures("plain_reading")]

SECRET = "Zebulon"
"""Stands in everything of Ann's."""
HERS = f"{SECRET} has a quetzal"
EMPTY_BASE = empty_base()
UNLISTED = {
    "/openapi.json",
    "/mcp",
    "/mcp-servers/callback",
    "/openai/deployments/{rest:path}",
    "/openai/v1/{rest:path}",
    "/.well-known/caldav",
    "/.well-known/oauth-protected-resource",
    "/",
    "/dav",
    "/dav/{path:path}",
}
"""Routes that the OpenAPI document leaves out: MCP is walked below, DIAL's callers are no users of
this Bethink and have owners of their own; of calendars tests/unit/test_dav.py shows whose they are. The
others know no owner."""
BOBS_CALENDAR = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:b\nDTSTART:20261204\nEND:VEVENT\nEND:VCALENDAR\n"
PUSH_KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
"""Of RFC 8291, section 5."""
OPEN = {
    "GET /health",
    "GET /livez",
    "GET /readyz",
    "GET /session",
    "POST /session",
    "GET /setup",
    "POST /setup/user",  # refused: there are users
    "GET /calendar/feed/{token}.ics",
    "GET /share/{token}",
    "GET /share/{token}/files/{file}",
    "GET /.well-known/oauth-protected-resource/mcp",
    "GET /.well-known/oauth-authorization-server",
    "POST /register",  # of a program, which can do nothing before a user lets it
    "POST /token",  # refused: without a code
    "POST /revoke",
}
"""What strangers may ask."""
MADE_UP = {
    "PUT /tools/{tool}/rule",  # a tool's name, the same for all: the rule is Bob's own
    "POST /mcp-servers/{name}/reconnect",
    "POST /mcp-servers/{name}/accept",
    "POST /mcp-servers/{name}/login",
    "PUT /mcp-servers/{name}",
    "DELETE /mcp-servers/{name}",
    "PUT /vault/pages/{path}",  # a path in the vault of Bob, in which there is no such page
}
"""Where the address names nothing of anybody's."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The house of both, their keys, and the ids of what is Ann's."""

    house: House
    http: httpx2.AsyncClient
    ann: str
    bob: str
    ids: Mapping[str, str]

    async def ask(self, key: str | None, method: str, path: str, **more: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's
        headers = more.pop("headers", {}) | ({"Authorization": f"Bearer {key}"} if key else {})
        return await self.http.request(method, path, headers=headers, **more)

    async def hers(self) -> str:
        """All that Ann has, as she reads it."""
        told = [
            (await self.ask(self.ann, "GET", path)).text
            for path in (
                "/memories",
                f"/conversations/{self.ids['conversation']}",
                f"/conversations/{self.ids['conversation']}/files",
                "/people",
                "/tasks",
                "/prompts",
                "/keys",
                f"/vault/pages/{self.ids['path']}",
                f"/vault/history/{self.ids['path']}",
                "/import",
                "/documents",
                f"/documents/{self.ids['document']}",
                f"/documents/{self.ids['document']}/pages",
                "/documents/collections",
                f"/documents/uploads/{self.ids['upload']}",
                f"/calendar/events/{self.ids['event']}",
                f"/schedules/{self.ids['schedule']}",
                f"/artifacts/{self.ids['artifact']}",
                "/schedules/notices",
                "/schedules/delivery",
                "/today",
                "/calendar/feeds",
                "/memories/aliases",
                "/calendar/accounts",
                "/calendar/conflicts",
            )
        ]
        return re.sub(r'"last_used_at":"[^"]*"', "", "\n".join(told))


async def granted(house: House, owner: str) -> str:
    """What an owner let another program do."""
    client = OAuthClient(SECRET, ("https://connector.example/",), "none", "0")
    asked = GrantRequest("c", client, client.redirect_uris[0], "", ("read",), "http://127.0.0.1:8484/mcp")
    await house.app.accounts.grants.give(Principal(owner), asked, ["read"])
    (grant,) = (await house.app.ports.store.scan(OWNER, Scan(GRANTS)))[0].items
    return grant.record.id


async def walking(house: House, http: httpx2.AsyncClient) -> Walk:
    """Ann's things, and the two keys."""
    register = house.app.accounts.register
    ann, bob = await register.add_user("ann"), await register.add_user("bob")
    hers = await register.add_key(ann.id, SECRET, scopes=("read", "write", "chat", "admin"))
    his = await register.add_key(bob.id, "laptop")
    bare = Walk(house, http, hers.text, his.text, {})

    async def made(path: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx2's
        answer = await bare.ask(hers.text, "POST", path, **more)
        assert answer.is_success, answer.text
        return answer.json()

    project = await made("/projects", json={"name": "hers", "instructions": HERS})
    conversation = (await made("/conversations", json={"title": SECRET}))["id"]
    at = f"/conversations/{conversation}"
    file = await made(f"{at}/files", files={"file": ("q.txt", HERS.encode(), "text/plain")})
    first = await made(f"{at}/chat", json=said(f"Do you know that {HERS}?", stream=False))
    waits = await made(f"{at}/chat", json=said("Forget it all", stream=False))
    response = await made("/v1/responses", json={"input": HERS})
    written = await made("/memories", json={"content": HERS})
    person = await made(
        "/people", json={"name": SECRET, "surname": "X", "email": "z@example.org", "about_me": HERS}
    )
    path = "entities/hers.md"
    page = (await bare.ask(hers.text, "PUT", f"/vault/pages/{path}", json={"text": HERS})).json()
    export = {"conversations.json": [asked_and_answered(SECRET, HERS, "Yes.")]}
    upload = {"file": (f"{SECRET}.zip", packed(export), "application/zip")}
    imported = await made("/import", files=upload)
    while (await bare.ask(hers.text, "GET", f"/import/{imported['id']}")).json()["state"] == "reading":
        await anyio.lowlevel.checkpoint()
    base = await made("/documents/collections", json={"name": SECRET})
    hers_too = {"name": f"{SECRET}.md", "text": HERS, "collection": SECRET}
    document = await made("/documents/text", json=hers_too)
    await house.app.features.of(Documents).ingest.finish(
        house.app.accounts.on_behalf_of(ann.id, audience="test"), [document["content"]]
    )
    event = await made("/calendar/events", json={"title": HERS, "start": "2026-12-04T09:00"})
    schedule = await made("/schedules", json={"text": HERS, "when": "tomorrow at 9"})
    notice = await made("/schedules/delivery/try")
    task = await made("/tasks", json={"title": HERS})
    feed = await made("/calendar/feeds", json={"name": SECRET})
    await house.app.ports.store.commit(ann.id, records())
    part = await made("/documents/uploads", json={"name": f"{SECRET}.md", "size": 9})
    prompt = await made("/prompts", json={"name": SECRET, "text": HERS})
    share = await made(f"/conversations/{conversation}/shares", json={})
    artifact = await made(
        "/artifacts",
        json={"title": SECRET, "format": "markdown", "content": HERS, "conversation": conversation},
    )
    ids = {
        "path": path,
        "grant": await granted(house, ann.id),
        "artifact": artifact["id"],
        "project": project["id"],
        "share": share["id"],
        "prompt": prompt["id"],
        "base": base["id"],
        "collection": base["id"],
        "folder": "01a20adb-78aa-7000-bcc3-77e11e56ff67",
        "document": document["id"],
        "upload": part["id"],
        "event": event["event"],
        "task": task["id"],
        "task_undo": task["undo"],
        "event_undo": event["undo"],
        "feed": feed["id"],
        "token": "Ym9i.not-hers",
        "account": "hers",
        "conflict": "hers",
        "schedule": schedule["id"],
        "notice": notice["id"],
        "page_undo": page["undo"],
        "version": page["undo"].removeprefix("page:"),
        "import_id": imported["id"],
        "conversation": conversation,
        "file": file["id"],
        "message": first["message"]["id"],
        "run": waits["run_id"],
        "call": waits["waiting"][0]["call"],
        "question": waits["waiting"][0]["call"],
        "response": response["id"],
        "memory": written["memory"]["id"],
        "alias": "hers",
        "undo": written["undo"],
        "person": person["id"],
        "key": hers.key.id,
        "user": ann.id,
        "id": "f1",
        "tool": "store_memory",
        "name": "nothing",
    }
    return replace(bare, ids=ids)


def records() -> list[Change]:
    """An account of a calendar server, a conflict with it, and another name of somebody."""
    account = CalendarAccount(
        id="hers", name=SECRET, url="http://127.0.0.1:9", user="x", password=b"", created_at=1, paused=True
    )
    conflict = SyncConflict(
        id="hers",
        account="hers",
        calendar="/c/",
        href="/c/x.ics",
        uid="x",
        form="VEVENT",
        at=1,
        title=HERS,
        here=None,
        there=HERS,
        there_etag="1",
    )
    alias = Alias(id="hers", name=SECRET, about="Quinn", at=1)
    return [Put(ACCOUNTS, account), Put(CONFLICTS, conflict), Put(ALIASES, alias)]


def bodies(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What each route that wants a body is sent, by its method and path."""
    chat = said(f"What do you know of {ids['memory']}?", stream=False)
    return {
        "POST /session": {"json": {"name": "ann", "password": "not hers at all"}},
        "POST /keys": {"json": {"name": "more"}},
        "POST /authorize": {"json": {"request": "", "allow": True, "scopes": ["read"]}},
        "POST /users": {"json": {"name": "eve"}},
        "POST /setup": {"json": {"dismissed": True}},
        "POST /setup/user": {"json": {"name": "eve", "password": "eve comes in", "key": "x" * 27}},
        "PATCH /settings": {"json": {"recall_limit": 1}},
        "PATCH /preferences": {"json": {"tone": "dry"}},
        "POST /models/downloads": {"json": {"path": "/none.gguf"}},
        "POST /models/list": {"json": {"provider": "ollama"}},
        "POST /models/test": {"json": {"model": "ollama:none"}},
        "PUT /mcp-servers/{name}": {"json": {"url": "http://127.0.0.1:9/mcp"}},
        "POST /mcp-servers/test": {"json": {"url": "http://127.0.0.1:9/mcp"}},
        "PATCH /users/{user}": {"json": {"disabled": True}},
        "PUT /tools/{tool}/rule": {"json": {"rule": None}},
        "POST /conversations/{conversation}/files": {"files": {"file": ("a.txt", b"a", "text/plain")}},
        "POST /conversations": {"json": {}},
        "POST /artifacts": {
            "json": {
                "title": "Bob's",
                "format": "html",
                "content": "newt",
                "conversation": ids["conversation"],
            }
        },
        "PATCH /artifacts/{artifact}": {"json": {"title": "Bob was here"}},
        "POST /projects": {"json": {"name": "Bob's"}},
        "POST /prompts": {"json": {"name": "Bob's", "text": "Bob was here"}},
        "PATCH /prompts/{prompt}": {"json": {"name": "Bob was here"}},
        "POST /audio/transcriptions": {"files": {"file": ("a.webm", b"a", "audio/webm")}},
        "POST /audio/speech": {"json": {"input": "quetzal"}},
        "POST /v1/audio/transcriptions": {"files": {"file": ("a.webm", b"a", "audio/webm")}},
        "POST /v1/audio/speech": {"json": {"input": "quetzal"}},
        "POST /v1/images/generations": {"json": {"prompt": "quetzal"}},
        "POST /v1/files": {"files": {"file": ("b.md", b"# Bob's", "text/markdown")}},
        "POST /conversations/{conversation}/shares": {"json": {}},
        "PATCH /projects/{project}": {"json": {"name": "Bob's"}},
        "POST /conversations/{conversation}/branch": {"json": {"message": ids["message"]}},
        "POST /v1/chat/completions": {
            "json": {
                "model": "scripted:demo",
                "messages": [{"role": "user", "content": f"What do you know of {ids['memory']}?"}],
                "metadata": {"conversation_id": ids["conversation"]},
            }
        },
        "POST /v1/responses": {
            "json": {
                "input": f"What do you know of {ids['memory']}?",
                "previous_response_id": ids["response"],
            }
        },
        "POST /memories/questions/{id}/answer": {"json": {"content": "User was born in Linz"}},
        "POST /v1/embeddings": {"json": {"model": "none", "input": "quetzal"}},
        "PATCH /conversations/{conversation}": {"json": {"title": "Bob was here"}},
        "POST /conversations/{conversation}/chat": {"json": chat},
        "POST /runs/{run}/approvals/{call}": {"json": {"decision": "approve"}},
        "POST /import": {"files": {"file": ("notes.md", b"# Bob's", "text/markdown")}},
        "POST /import/{import_id}/apply": {"json": {}},
        "POST /memories/import": {"content": b'{"content": "Bob has a cat"}\n'},
        "POST /documents": {"files": {"file": ("a.txt", b"Bob's", "text/plain")}},
        "POST /documents/text": {"json": {"name": "bob.md", "text": "Bob has a newt"}},
        "POST /documents/url": {"json": {"url": "https://example.org/"}},
        "POST /documents/folders": {"json": {"path": "/nowhere"}},
        "POST /documents/uploads": {"json": {"name": "bob.md", "size": 3}},
        "PATCH /documents/uploads/{upload}": {"content": b"Bob", "headers": {"Upload-Offset": "0"}},
        "PATCH /documents/{document}": {"json": {"name": "Bob was here"}},
        "PUT /documents/{document}/file": {"files": {"file": ("a.txt", b"Bob's", "text/plain")}},
        "POST /documents/collections": {"json": {"name": "Bob's"}},
        "PATCH /documents/collections/{collection}": {"json": {"name": "Bob was here"}},
        "PUT /documents/collections/{collection}/shares/{user}": {"json": {"writes": True}},
        "POST /kb/import": {"content": EMPTY_BASE},
        "POST /kb/{base}/search": {"json": {"query": "quetzal"}},
        "POST /memories/consolidate": {"json": {"preview": True}},
        "POST /memories/batch": {"json": {"ids": [ids["memory"]], "retract": True}},
        "POST /memories/merge": {"json": {"keep": ids["memory"], "gone": ["another"]}},
        "POST /mcp-servers/{name}/accept": {"json": {}},
        "POST /mcp-servers/{name}/prompts": {"json": {"prompt": "greet"}},
        "POST /conversations/{conversation}/resources": {
            "json": {"server": "nothing", "uri": "memory://hers"}
        },
        "POST /runs/{run}/questions/{question}": {"json": {"action": "decline"}},
        "POST /memories": {"json": {"content": "Bob has a newt"}},
        "POST /memories/undo": {"json": {"token": ids["undo"]}},
        "PATCH /memories/{memory}": {"json": {"content": "Bob was here"}},
        "POST /memories/forget": {"json": {"ids": [ids["memory"]]}},
        "POST /calendar/events": {"json": {"title": "Bob's", "start": "2026-12-04T09:00"}},
        "PATCH /calendar/events/{event}": {"json": {"title": "Bob was here"}},
        "POST /calendar/import": {"files": {"file": ("b.ics", BOBS_CALENDAR, "text/calendar")}},
        "POST /calendar/feeds": {"json": {"name": "Bob's"}},
        "POST /calendar/accounts": {
            "json": {"url": "http://127.0.0.1:9", "user": "bob", "password": "no secret"}
        },
        "PATCH /calendar/accounts/{account}": {"json": {"name": "Bob was here"}},
        "POST /calendar/conflicts/{conflict}": {"json": {"keep": "here"}},
        "POST /calendar/undo": {"json": {"token": ids["event_undo"]}},
        "POST /schedules": {"json": {"text": "Bob's", "when": "tomorrow at 9"}},
        "PATCH /schedules/{schedule}": {"json": {"text": "Bob was here"}},
        "POST /schedules/{schedule}/snooze": {"json": {"minutes": 5}},
        "PUT /schedules/delivery": {"json": {"quiet_hours": ""}},
        "POST /schedules/push": {"json": {"endpoint": "https://push.example.org/x", "keys": PUSH_KEYS}},
        "POST /tasks": {"json": {"words": "Feed the newt tomorrow"}},
        "PATCH /tasks/{task}": {"json": {"title": "Bob was here"}},
        "POST /tasks/undo": {"json": {"token": ids["task_undo"]}},
        "POST /people": {"json": {"name": "B", "surname": "B", "email": "b@example.org", "about_me": "b"}},
        "PATCH /people/{person}": {"json": {"name": "Bob was here"}},
        "PUT /vault/pages/{path}": {"json": {"text": "Bob was here", "if_version": "hers"}},
        "POST /vault/move": {"json": {"path": ids["path"], "to": "bob.md"}},
        "POST /vault/ask": {"json": {"question": "Who has a quetzal?"}},
        "POST /vault/filters": {"json": {"path": "x.md"}},
        "POST /vault/filters/test": {"json": {"path": ids["path"], "audience": "web"}},
        "PUT /vault/check/ignored": {"json": {"kinds": ["name"]}},
        "POST /vault/check/plan": {"json": {"way": "aside", "path": ids["path"]}},
        "POST /vault/check/repair": {"json": {"way": "aside", "path": ids["path"], "id": "x"}},
        "POST /vault/folders": {"json": {"path": "bob"}},
        "POST /vault/restore/{path}": {"json": {"version": ids["version"]}},
        "POST /vault/undo": {"json": {"token": ids["page_undo"]}},
    }


QUERIES = {
    "GET /vault/pictures": {"source": "a.png"},
    "GET /documents/graph/focus": {"node": "fact:{memory}"},
    "GET /documents/graph/search": {"query": "quetzal"},
    "GET /recall": {"query": "quetzal"},
    "GET /tasks/understand": {"text": "Feed the newt tomorrow"},
    "GET /calendar/understand": {"text": "Feed the newt tomorrow at 9"},
    "GET /calendar/events": {"start": "2026-12-01", "end": "2027-01-01"},
    "GET /calendar/free": {"start": "2026-12-01", "end": "2027-01-01"},
    "GET /conversations/search": {"query": "quetzal"},
    "GET /documents/search": {"query": "quetzal"},
    "DELETE /schedules/push": {"endpoint": "https://push.example.org/x"},
    "DELETE /memories": {"confirm": "true"},
    "GET /vault/search": {"query": "quetzal"},
    "GET /mcp-servers/{name}/resource": {"uri": "memory://nothing"},
    "GET /documents/graph/path": {"start": "document:{document}", "end": "fact:{memory}"},
}
"""What a route asks for in its address; names whose value may be left out are."""
FOUND = re.compile(SECRET, re.IGNORECASE)


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every method and path of the document."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def filled(name: str, path: str, ids: Mapping[str, str]) -> str:
    """The path with Ann's ids in it."""
    unknown = set(re.findall(r"{(\w+)}", path)) - set(ids)
    assert not unknown, f"tell the walk what of Ann's {unknown} of {name} is"
    return path.format_map(ids)


def paths_of(routes: list[Any]) -> set[str]:
    return {route.path for route in routes if isinstance(route, Route)}


async def walked(walk: Walk, name: str, operation: Mapping[str, Any]) -> httpx2.Response:
    method, _, path = name.partition(" ")
    known = bodies(walk.ids)
    wants = operation.get("requestBody", {}).get("required", False)
    assert not wants or name in known, f"tell the walk what to send to {name}"
    asks = {
        one["name"] for one in operation.get("parameters", ()) if one["in"] == "query" and one.get("required")
    }
    assert asks <= set(QUERIES.get(name, {})), f"tell the walk what {asks} of {name} is"
    more = known.get(name, {})
    named = {key: value.format_map(walk.ids) for key, value in QUERIES.get(name, {}).items()}
    query = {"params": named} if named else {}
    return await walk.ask(walk.bob, method, filled(name, path, walk.ids), **more, **query)


SCRIPT = [
    "I did not.",
    ScriptedCall("delete_all_memories", {}),
    *["I know nothing of that."] * 20,
]


@pytest.mark.requirement("R182", "C17", "U7", "R180", "R3", "R206")
async def test_with_another_key_no_route_gives_or_changes_anything_of_an_owner() -> None:
    async with (
        open_house(ScriptedLlm(SCRIPT), graph_enabled=True) as house,
        called(house, peer="203.0.113.9") as http,
    ):
        walk = await walking(house, http)
        document = (await http.get("/openapi.json")).json()
        before = await walk.hers()
        assert before.count(SECRET) >= 5
        for method, path, operation in operations(document):
            name = f"{method} {path}"
            answer = await walked(walk, name, operation)
            told = f"{name}: {answer.status_code} {answer.text[:300]}"
            assert not FOUND.search(answer.text), told
            assert answer.status_code < 500, told
            assert answer.status_code != 422 or name.endswith("/undo"), told
            if "{" in path and name not in MADE_UP:
                assert answer.status_code in {403, 404}, told
        assert await walk.hers() == before


@pytest.mark.requirement("U7", "R183")
async def test_without_a_key_no_route_does_anything_for_a_stranger() -> None:
    async with open_house(ScriptedLlm(SCRIPT)) as house, called(house, peer="203.0.113.9") as http:
        walk = await walking(house, http)
        document = (await http.get("/openapi.json")).json()
        before = await walk.hers()
        walk = replace(walk, bob="")
        for method, path, operation in operations(document):
            name = f"{method} {path}"
            answer = await walked(walk, name, operation)
            assert not FOUND.search(answer.text), name
            assert answer.status_code == 401 or name in OPEN, (
                f"{name}: {answer.status_code} {answer.text[:300]}"
            )
        assert await walk.hers() == before


async def test_no_route_is_left_out_of_the_walk() -> None:
    async with open_house() as house, called(house) as http:
        listed = set((await http.get("/openapi.json")).json()["paths"])
    assert paths_of(routes_of(create_rooms())) - listed <= UNLISTED


def routes_of(served: Any) -> list[Any]:  # noqa: ANN401 - any layer of the application
    """The routes of the innermost application."""
    while not hasattr(served, "routes"):
        served = served.app if hasattr(served, "app") else served._api  # noqa: SLF001 - what is served
    return list(served.routes)


def arguments(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What each tool is called with: Ann's ids, and words that find what is hers."""
    return {
        "store_memory": {"content": "Bob has a newt"},
        "search_memory": {"query": "quetzal"},
        "forget_memory": {"query_or_id": ids["memory"]},
        "delete_all_memories": {},
        "search_tools": {"query": "quetzal"},
        "create_schedule": {"text": "Bob's", "when": "tomorrow at 9"},
        "list_schedules": {},
        "update_schedule": {"schedule_id": ids["schedule"], "text": "Bob was here"},
        "delete_schedule": {"schedule_id": ids["schedule"]},
        "get_calendar_events": {"start_date": "2026-12-01", "end_date": "2026-12-31", "query": "quetzal"},
        "create_calendar_event": {"title": "Bob's", "date": "2026-12-04", "start_time": "09:00"},
        "update_calendar_event": {"event_id": ids["event"], "title": "Bob was here"},
        "delete_calendar_event": {"event_id": ids["event"]},
        "find_free_time": {"start_date": "2026-12-01", "end_date": "2026-12-31"},
        "create_user": {"name": "B", "surname": "B", "email": "b2@example.org", "about_me": "b"},
        "get_user": {"id": ids["person"]},
        "search_users": {"name": SECRET},
        "update_user": {"id": ids["person"], "name": "Bob was here"},
        "delete_user": {"id": ids["person"]},
        "create_artifact": {"title": "Bob was here", "kind": "html", "content": "<p>newt</p>"},
        "update_artifact": {"id": ids["artifact"], "content": "Bob was here"},
        "create_task": {"title": "Feed the newt", "parent": ids["task"]},
        "list_tasks": {"tag": "quetzal"},
        "update_task": {"task_id": ids["task"], "title": "Bob was here"},
        "search_tasks": {"query": "quetzal"},
        "delete_task": {"task_id": ids["task"]},
        "extract_file_content": {"file_url": f"/files/{ids['file']}"},
        "read_file": {"file_path": ids["path"]},
        "search_files": {"query": "quetzal"},
        "list_directory": {},
        "go_to_link": {"link": f"[[{ids['path']}]]"},
        "backlinks": {"path": ids["path"]},
        "create_file": {"file_path": "bob.md", "content": "Bob was here"},
        "write_file": {"file_path": ids["path"], "content": "Bob was here"},
        "update_file": {"file_path": ids["path"], "old_content": "quetzal", "new_content": "newt"},
        "delete_file": {"file_path": ids["path"]},
        "execute_python": {"code": "list_files()"},
        "use_memory_agent": {"question": "Who has a quetzal?"},
        "rag_search": {"query": "quetzal", "file_urls": [f"/documents/{ids['document']}"]},
    }


async def ran(house: House, principal: Principal, name: str, given: dict[str, Any]) -> str:
    """What a tool answers."""
    prepared = house.app.toolbox.prepare(ToolCall("call", name, json.dumps(given)))
    assert isinstance(prepared, Prepared), f"tell the walk how to call {name}: {prepared}"
    context = ToolContext(principal, "none", "none", "none")
    items = [item async for item in house.app.toolbox.run([prepared], context)]
    (message,) = [item.message for item in items if isinstance(item, CallResult)]
    return message.content


async def test_called_for_another_owner_no_tool_gives_or_changes_anything() -> None:
    async with open_house(ScriptedLlm(SCRIPT)) as house, called(house, peer="203.0.113.9") as http:
        walk = await walking(house, http)
        before = await walk.hers()
        bob = await house.app.accounts.authenticate(audience="test", peer="x", credential=walk.bob)
        known = arguments(walk.ids)
        for tool in house.app.toolbox.all:
            assert tool.name in known, f"tell the walk how to call {tool.name}: {tool.parameters}"
            told = await ran(house, bob, tool.name, known[tool.name])
            assert not FOUND.search(told.replace(repr(SECRET), "").replace(f"matching: {SECRET}", "")), told
        assert await walk.hers() == before


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_mcp_client_has_the_owner_of_its_key_and_no_other(mode: Any) -> None:  # noqa: ANN401 - a mode
    async with open_house(ScriptedLlm(SCRIPT)) as house, served(house) as (http, _):
        walk = await walking(house, http)
        url = f"{http.base_url}/mcp".replace("//mcp", "/mcp")
        assert (await http.post("/mcp", json={})).status_code == 401

        async def searched(key: str) -> str:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=120) as own,
                Client(streamable_http_client(url, http_client=own), mode=mode) as client,
            ):
                assert {tool.name for tool in (await client.list_tools()).tools} == set(offers(house.app))
                return str(await client.call_tool("search_memory", {"query": "quetzal"}))

        assert FOUND.search(await searched(walk.ann))
        assert not FOUND.search(await searched(walk.bob))


async def test_an_mcp_client_whose_key_may_not_read_reads_nothing() -> None:
    async with open_house(ScriptedLlm(SCRIPT)) as house, served(house) as (http, _):
        await walking(house, http)
        register = house.app.accounts.register
        ann = (await register.refresh()).named("ann")
        assert ann is not None
        key = (await register.add_key(ann.id, "chat", scopes=("chat",))).text
        url = f"{http.base_url}/mcp".replace("//mcp", "/mcp")
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=120) as own,
            Client(streamable_http_client(url, http_client=own)) as client,
        ):
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names.isdisjoint({"search_memory", "recall", "search_conversations", "get_user"})
            for name in ("search_memory", "recall", "search_conversations"):
                result = await client.call_tool(name, {"query": "quetzal"})
                assert result.is_error
                assert not FOUND.search(str(result))
            for refused in (
                client.list_resources(),
                client.read_resource("memory://profile"),
                client.get_prompt("what_do_you_know", {"subject": "quetzal"}),
            ):
                with pytest.raises(MCPError, match="does not have the scope read"):
                    await refused
