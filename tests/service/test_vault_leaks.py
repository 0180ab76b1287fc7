"""A vault with something planted under every kind of filter, and the ways out: nothing planted comes out.

A route below `/vault`, or a tool of the vault, that is not known here fails: whoever
adds one says here how it is tried.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from mcp import Client

from bethink.errors import BethinkError
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_server.server import McpDoor
from bethink.memory import NewFact
from bethink.sandbox.interpreters import InterpreterOptions, Interpreters, Workplaces
from bethink.telemetry import Supervisor
from bethink.tool import ToolContext
from bethink.tools.vault_access import VaultAccess
from bethink.tools.vault_code import VaultCode
from bethink.vault.filters.rules import FilterRule
from bethink.web import _FEATURES  # pyright: ignore[reportPrivateUsage] - every route there is
from tests.door import called, said
from tests.house import House, open_house
from tests.mcp_clients import told

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PLANTED: Final = (
    "kestrel",
    "zyxomatosis",
    "91234",
    "91,234",
    "jane.planted",
    "7654321",
    "4111",
    "osprey",
    "1984-03-12",
    "merlin",
)
_RANDOM: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,}\b")
"""Ids and digests, which hold any few digits by chance."""
NAME: Final = "falcon"
"""Of a page that is hidden: it may be repeated only to who said it."""
JANE: Final = """\
---
salary: 91234
---
# Jane

- salary: 91,234 EUR
- birth_date: 1984-03-12
- mail: jane.planted@secret.example
- phone: +49 30 7654321
- card: 4111 1111 1111 1111
- age: 64
- boss: [[falcon_plan]]
- colleague: [[bob]]

The codename is Osprey, as all know.

## Diagnosis
Zyxomatosis since May. #merlin

### Details
Of the merlin kind.

## Work
| year | Salary |
|------|--------|
| 2020 | 91234 |
"""
PAGES: Final = {
    "user.md": "# Me\n\n- wife: [[jane]]\n",
    "entities/jane.md": JANE,
    "entities/bob.md": "# Bob\n\nWorks with [[jane]] and [[private/falcon_plan|the plan]].\n",
    "private/falcon_plan.md": "# Plan\n\nThe kestrel flies at midnight to [[jane]]. #osprey\n",
}
PICTURE: Final = b"\x89PNG\r\n\x1a\nkestrel"
RULES: Final = (
    FilterRule(path="private"),
    FilterRule(section="Diagnosis"),
    FilterRule(field="salary"),
    FilterRule(field="birth_date", action="generalise"),
    FilterRule(pattern="email", action="mask"),
    FilterRule(pattern="phone", action="mask"),
    FilterRule(pattern="card", action="mask"),
    FilterRule(pattern=r"codename is \w+", action="mask"),
)
QUERIES: Final = (
    "kestrel flies midnight",
    "zyxomatosis merlin kind",
    "salary 91234",
    "mail jane.planted@secret.example",
    "codename osprey",
    "phone 7654321 card 4111",
    "birth date 1984-03-12",
)
OWN_WORDS: Final = "I earn 91,234 EUR, the kestrel flies at midnight, and my codename is Osprey."


@dataclass(frozen=True, slots=True)
class Planted:
    house: House
    http: httpx2.AsyncClient
    conversation: str
    run: str

    async def ask(self, method: str, path: str, body: Any = None) -> str:  # noqa: ANN401 - JSON
        """All that a program with a key is told."""
        headers = {"Authorization": "Bearer program"}
        answer = await self.http.request(method, path, json=body, headers=headers)
        return f"{answer.status_code} {answer.headers} {answer.text}"


@asynccontextmanager
async def planted(directory: Path, llm: ScriptedLlm | None = None) -> AsyncGenerator[Planted]:
    async with (
        open_house(llm or ScriptedLlm(["Noted."] * 9), data_dir=directory) as house,
        called(house) as http,
    ):
        me = replace(house.me, audience="web")
        app = house.app
        for path, text in PAGES.items():
            await app.vault.write(me, path, f"{text}\n", by="person", note="kestrel")
            await app.vault.write(me, path, text, by="person", note="91234")
        (directory / "vault" / "private" / "falcon.png").write_bytes(PICTURE)
        for content in (
            "User's salary is 91234 EUR",
            "User's e-mail is jane.planted@secret.example",
            "The kestrel flies at midnight",
            "User likes tea",
        ):
            await app.memory.add(me, NewFact(content, importance=0.9))
        conversation = await house.new()
        run = await app.runs.start(me, conversation, OWN_WORDS)
        await house.events(run)
        for rule in RULES:
            await app.visibility.filters.add(me, rule)
        await app.visibility.indexing.catch_up(me.owner)
        yield Planted(house, http, conversation, run)


def leaks(text: str, *more: str) -> list[str]:
    told = _RANDOM.sub("", text.lower())
    return [secret for secret in (*PLANTED, *more) if secret in told]


_PATHS: Final = ("user.md", "entities/jane.md", "entities/bob.md")
_ASKED: Final = (*_PATHS, "private/falcon_plan.md", "private", "nobody.md")
_EDITS: Final = ("all new", "# Jane\n\n- age: 65\n", "")
KNOWN: Final[dict[tuple[str, str], Sequence[Any]]] = {
    ("GET", "/vault"): [None],
    ("GET", "/vault/changes"): [None],
    ("GET", "/vault/check"): [None],
    ("PUT", "/vault/check/ignored"): [{"kinds": kinds} for kinds in (["broken_link"], [])],
    ("POST", "/vault/check/plan"): [{"way": "aside", "path": path} for path in _ASKED],
    ("POST", "/vault/check/repair"): [{"way": "aside", "path": path, "id": "0" * 64} for path in _ASKED],
    ("GET", "/vault/filters"): [None],
    ("POST", "/vault/filters"): [{"path": "x"}],
    ("DELETE", "/vault/filters"): [None],
    ("DELETE", "/vault/filters/{id}"): [None],
    ("POST", "/vault/filters/test"): [{"path": path, "audience": "web"} for path in _ASKED],
    ("POST", "/vault/ask"): [{"question": "What is Jane's salary?"}],
    ("GET", "/vault/pages/{path:path}"): [None],
    ("PUT", "/vault/pages/{path:path}"): [
        {"text": text, "if_version": version} for text in _EDITS for version in (None, "", "0" * 64)
    ],
    ("DELETE", "/vault/pages/{path:path}"): [None],
    ("POST", "/vault/move"): [{"path": path, "to": to} for path in _ASKED for to in ("new.md", *_ASKED)],
    ("POST", "/vault/folders"): [{"path": "private"}, {"path": "private/x"}, {"path": "Private"}],
    ("DELETE", "/vault/folders/{path:path}"): [None],
    ("GET", "/vault/history/{path:path}"): [None],
    ("GET", "/vault/versions/{version}/{path:path}"): [None],
    ("GET", "/vault/diff/{version}/{path:path}"): [None],
    ("POST", "/vault/restore/{path:path}"): ["version"],
    ("POST", "/vault/undo"): ["token"],
    ("POST", "/vault/vouch/{path:path}"): [None],
    ("GET", "/vault/search"): [
        *(f"?query={query}" for query in QUERIES),
        *(f"?query={query}&regex=true" for query in ("%5Cw*estrel", "zyxo%5Cw*", "9%5Cd,?%5Cd*", "osp%5Cw*")),
    ],
    ("GET", "/vault/graph"): [
        *("", "?around=entities/jane.md&depth=3", "?around=private/falcon_plan.md"),
        "?around=user.md&to=private/falcon_plan.md",
    ],
    ("GET", "/vault/tags"): [None],
    ("GET", "/vault/pictures"): [
        *("?source=private/falcon.png", "?source=falcon.png&page=private/falcon_plan.md"),
        "?source=private/nothing.png",
    ],
    ("GET", "/vault/backlinks/{path:path}"): [None],
    ("GET", "/vault/links/{path:path}"): [None],
}
"""How each route is tried: the bodies that are sent."""


@pytest.mark.requirement("R184", "U12")
async def test_no_route_of_the_vault_tells_a_program_what_is_hidden(tmp_path: Path) -> None:
    routes = [
        (method, route.path or "")
        for room in _FEATURES
        for route in iter_route_contexts(room.router.routes)
        if (route.path or "").startswith("/vault")
        for method in sorted(route.methods or ())
    ]
    assert not [route for route in routes if route not in KNOWN], "say in KNOWN how it is tried"
    async with planted(tmp_path) as at:
        versions = {
            path: [version.id for version in await at.house.app.vault.history(at.house.me.owner, path)]
            for path in PAGES
        }
        every = [id for ids in versions.values() for id in ids]
        # What changes something comes last.
        for method, route in sorted(routes, key=lambda route: route[0] != "GET"):
            for url, is_named in _urls(route, every):
                for tried in _bodies(KNOWN[method, route], every):
                    # What stands behind an address is told back by some errors.
                    more, body = (tried, None) if isinstance(tried, str) else ("", tried)
                    answer = await at.ask(method, f"{url}{more}", body)
                    given = f"{more}{json.dumps(body)}".lower() + (NAME if is_named else "")
                    found = [secret for secret in leaks(answer, NAME) if secret not in given]
                    assert not found, (method, url, more, body, found, answer)
                    assert "500" not in answer[:3], (method, url, body, answer)
        me = replace(at.house.me, audience="web")
        graph = await at.house.app.vault_tools.graphs.of(me)
        assert {"merlin", "osprey"} <= {*graph.tagged()}
        own = await at.http.get("/vault/pictures?source=private/falcon.png")
        assert own.content == PICTURE
        jane = (await at.house.app.visibility.views.read(me, "entities/jane.md")).text
        assert "Zyxomatosis" in jane
        assert "91,234 EUR" in jane


def _urls(route: str, versions: Sequence[str]) -> list[tuple[str, bool]]:
    """The addresses to try, and whether each names the hidden page itself."""
    paths = _ASKED if "{path:path}" in route else ("",)
    ids = versions if "{version}" in route else ("",)
    return [
        (
            route.replace("{path:path}", path).replace("{version}", id).replace("{id}", "f1"),
            NAME in path,
        )
        for path in paths
        for id in ids
    ]


def _bodies(known: Sequence[Any], versions: Sequence[str]) -> list[Any]:
    if known == ["version"]:
        return [{"version": id} for id in versions]
    return [{"token": f"page:{id}"} for id in versions] if known == ["token"] else [*known]


async def test_no_other_route_tells_a_program_what_is_hidden(tmp_path: Path) -> None:
    async with planted(tmp_path) as at:
        own = await at.http.get("/memories")
        facts = [item["id"] for item in own.json()["items"]]
        assert leaks(own.text) == ["kestrel", "91234", "jane.planted"]
        assert "likes tea" in await at.ask("GET", "/memories")
        asked = [
            *("/memories", "/memories?limit=1", "/memories/log", "/conversations", "/tools/calls", "/people"),
            *(f"/memories/{id}{more}" for id in facts for more in ("", "/history")),
            *(f"/memories/export?format={format}" for format in ("jsonl", "markdown", "csv", "json")),
            "/memories/export?format=jsonl&conversations=true",
            *(f"/recall?query={query}&k=50" for query in QUERIES),
            *(f"/memories?query={query}" for query in QUERIES),
            *(f"/conversations/search?query={query}" for query in QUERIES),
            f"/conversations/{at.conversation}",
            f"/conversations/{at.conversation}/export",
            f"/runs/{at.run}/events",
            "/memories/health",
            "/memories/statistics",
        ]
        for url in asked:
            answer = await at.ask("GET", url)
            assert not leaks(answer.replace(url, "").replace(httpx2.URL(url).raw_path.decode(), "")), (
                url,
                answer,
            )


TOOLS: Final[dict[str, Sequence[dict[str, Any]]]] = {
    "read_file": [{"file_path": path} for path in _ASKED],
    "list_directory": [{"path": ""}, {"path": "entities"}, {"path": "private"}],
    "go_to_link": [
        {"link": link} for link in ("[[jane]]", "[[falcon_plan]]", "[[jane#Diagnosis]]", "[[nobody]]")
    ],
    "backlinks": [{"path": path} for path in _ASKED if path.endswith(".md")],
    "search_files": [
        *({"query": query} for query in QUERIES),
        *(
            {"query": query, "regex": True}
            for query in (r"\w*estrel", r"zyxo\w+", r"9\d,?\d+", r"osp\w+", r"\S+@\S+")
        ),
    ],
    "update_file": [
        {"file_path": "entities/jane.md", "old_content": "- age: 64", "new_content": "- age: 65"},
        {"file_path": "entities/jane.md", "old_content": "salary", "new_content": "x"},
        {"file_path": "entities/jane.md", "old_content": "[hidden]", "new_content": "x"},
        {"file_path": "entities/jane.md", "old_content": "- mail: ", "new_content": "- x: "},
        {"file_path": "private/falcon_plan.md", "old_content": "Plan", "new_content": "x"},
    ],
    "write_file": [{"file_path": path, "content": "x"} for path in _ASKED],
    "create_file": [{"file_path": path, "content": "x"} for path in (*_ASKED, "Private/Falcon_plan.md")],
    "delete_file": [{"file_path": path} for path in _ASKED],
    "execute_python": [{"code": "print([read_file(path) for path in ['entities/jane.md']])"}],
    "use_memory_agent": [{"question": "What does Jane earn?"}],
}
MEMORY_TOOLS: Final = [
    *(("search_memory", {"query": query, "top_k": 20}) for query in QUERIES),
    ("store_memory", {"content": "User's salary is 5 EUR"}),
]


@pytest.mark.requirement("R118", "R184")
async def test_no_tool_tells_a_model_what_is_hidden(tmp_path: Path) -> None:
    calls = [
        (name, arguments) for name, some in TOOLS.items() for arguments in some if name != "use_memory_agent"
    ]
    calls += MEMORY_TOOLS
    turns = [[ScriptedCall(name, arguments)] for name, arguments in calls]
    replies: list[Any] = ["Noted."]
    for turn in turns:
        replies += [turn, "Done."]
    llm = ScriptedLlm(replies)
    async with planted(tmp_path, llm) as at:
        known = {tool.name for tool in at.house.app.vault_tools.source()}
        assert known <= TOOLS.keys(), "say in TOOLS how it is tried"
        for name, arguments in calls:
            before = len(llm.requests)
            conversation = json.loads((await at.http.post("/conversations")).text)["id"]
            body = said("What is known of Jane, her diagnosis and the plan?", stream=False)
            url = f"/conversations/{conversation}/chat"
            answer = await at.http.post(url, json=body)
            seen = str([request.messages for request in llm.requests[before:]]) + answer.text
            given = json.dumps(arguments).lower()
            assert [secret for secret in leaks(seen, NAME) if secret not in given] == [], (
                name,
                arguments,
                seen,
            )


async def test_mcp_tells_a_client_nothing_that_is_hidden(tmp_path: Path) -> None:
    async with planted(tmp_path) as at:
        server = McpDoor(at.house.app, "stdio", ()).server()
        async with Client(server, mode="auto", **told(None, "claude")) as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            calls: list[tuple[str, dict[str, Any]]] = [
                *((name, arguments) for name, some in TOOLS.items() if name in offered for arguments in some),
                *((name, arguments) for name, arguments in MEMORY_TOOLS if name in offered),
                *(("recall", {"query": query, "k": 50}) for query in QUERIES),
                *(("search_conversations", {"query": query}) for query in QUERIES),
                ("read_conversation", {"conversation": at.conversation}),
            ]
            for name, arguments in calls:
                answer = str(await client.call_tool(name, arguments))
                given = json.dumps(arguments).lower()
                assert [secret for secret in leaks(answer, NAME) if secret not in given] == [], (
                    name,
                    arguments,
                    answer,
                )
            listed = await client.list_resources()
            read = [await client.read_resource(one.uri) for one in listed.resources]
            read.append(await client.read_resource(f"memory://conversations/{at.conversation}"))
            assert not leaks(f"{listed}{read}", NAME)


async def test_code_finds_nothing_hidden_in_its_copy(tmp_path: Path) -> None:
    look = """
import os
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/usr", "/lib", "/dev", "/etc")):
        continue
    for name in names:
        try:
            text = open(os.path.join(folder, name), errors="replace").read(200000)
        except OSError:
            continue
        if name.endswith(".md") or "estrel" in text:
            print(folder, name, text)
"""
    async with planted(tmp_path) as at:
        agent = replace(at.house.me, audience="web/agent")
        places = Workplaces(tmp_path / "code")
        async with Interpreters(places, tmp_path, InterpreterOptions()).opened(
            Supervisor().supervise
        ) as interpreters:
            code = VaultCode(
                VaultAccess(at.house.app.visibility.views), interpreters, timeout_s=20, output_chars=50_000
            )
            try:
                output = await code.run(ToolContext(agent, "", "", ""), look)
            except BethinkError as error:
                if error.code == "sandbox_unavailable" and os.environ.get("CI") != "true":
                    pytest.skip(str(error))
                raise
            assert "age: 64" in output.text
            assert not leaks(output.text, NAME)
