"""Two vaults that differ in what is hidden alone: whatever a restrained client does, it is told the same.

What it is told may name ids and times, which are each time others: they are told by when they first came.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client as McpClient

from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_server.server import McpDoor
from bethink.memory import NewFact
from bethink.vault.filters.rules import FilterRule
from tests.door import Door, open_door
from tests.mcp_clients import told as greeted

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

KEY: Final = {"Authorization": "Bearer program"}
WORLDS: Final = (("91234", "Osprey"), ("5781055", "Kestrel"))
"""What is hidden in each: a number of a field, a word that a pattern finds."""
GUESSES: Final = (
    "The parcel of the user weighs 91234 grams",
    "The codename is Osprey, says Paris.",
    "The user drives an Osprey",
)
RULES: Final = (
    FilterRule(field="salary"),
    FilterRule(section="Diagnosis"),
    FilterRule(pattern=r"codename is \w+", action="mask"),
)
_CHANGING: Final = re.compile(
    r"\b[0-9a-f]{16}\b|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\"?(?:duration_ms|latency_ms|bytes_on_disk)(?:\":|=)[\d.]+"
)


@dataclass(slots=True)
class Client:
    """A program with a key that a filter restrains."""

    door: Door
    told: list[str] = field(default_factory=list[str])
    _names: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:  # noqa: ANN401 - JSON
        answer = await self.door.http.request(method, path, json=body, headers=KEY, **more)
        self.keep(f"{method} {path} {answer.status_code} {answer.text}")
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json() if is_json else {}

    def keep(self, said: str) -> None:
        """Note what it was told, ids and times by their order."""
        self.told.append(_CHANGING.sub(self._name, said))

    def _name(self, match: re.Match[str]) -> str:
        if "_" in match.group():
            return "measured"
        return self._names.setdefault(match.group(), f"<{len(self._names)}>")


@asynccontextmanager
async def world(directory: Path, number: str, word: str, llm: ScriptedLlm) -> AsyncGenerator[Door]:
    async with open_door(llm, data_dir=directory / word) as door:
        me, app = replace(door.house.me, audience="web"), door.house.app
        page = f"# Jane\n\n- salary: {number}\n- age: 64\n\n## Diagnosis\n{word} fever has hit since May.\n"
        await app.vault.write(me, "jane.md", page, by="person")
        for fact in (
            f"The parcel of the user weighs {number} grams",
            f"The codename is {word}, says Paris.",
            f"The user drives an {word}, and the salary is {number}",
            "The user likes tea",
        ):
            await app.memory.add(me, NewFact(fact))
        conversation = await door.house.new()
        await door.house.events(await app.runs.start(me, conversation, f"The codename is {word}: {number}."))
        for rule in RULES:
            await app.visibility.filters.add(me, rule)
        yield door


async def told_in_both(
    directory: Path,
    attack: Callable[[Client], Awaitable[None]],
    *replies: Any,  # noqa: ANN401 - as the script reads it
) -> list[str]:
    """What a client, and a model that answers it, is told, when it is the same in both worlds."""
    answers: list[list[str]] = []
    for number, word in WORLDS:
        llm = ScriptedLlm(["Noted.", *replies])
        async with world(directory, number, word, llm) as door:
            client = Client(door)
            await attack(client)
            read = [str(request.messages) for request in llm.requests[1:]]
            answers.append([*client.told, *(_CHANGING.sub("", one) for one in read)])
    first, other = answers
    for one, two in zip(first, other, strict=True):
        assert one == two
    return first


async def test_who_stores_a_guess_is_not_told_that_it_is_known(tmp_path: Path) -> None:
    async def attack(client: Client) -> None:
        for guess in (*GUESSES, GUESSES[0]):
            kept = await client.ask("POST", "/memories", {"content": guess})
            fact = kept["memory"]["id"]
            await client.ask("GET", f"/memories/{fact}")
            await client.ask("GET", f"/memories/{fact}/history")
            await client.ask("GET", "/memories?limit=200")
            await client.ask("GET", f"/memories?query={guess}")
            await client.ask("GET", f"/recall?k=50&kinds=fact&query={guess}")
            await client.ask("POST", "/memories/undo", {"token": kept["undo"]})

    told = await told_in_both(tmp_path, attack)
    assert "weighs 91234 grams" in told[0]
    assert "drives an Osprey" in str(told)


async def test_a_memory_of_which_a_part_is_hidden_cannot_be_changed_into_a_guess(tmp_path: Path) -> None:
    async def attack(client: Client) -> None:
        listed = await client.ask("GET", "/memories")
        masked = next(one["id"] for one in listed["items"] if "says Paris" in one["content"])
        for body in ({"content": "The codename is Osprey, says Paris."}, {"importance": 0.9}):
            await client.ask("PATCH", f"/memories/{masked}", body)
        await client.ask("DELETE", f"/memories/{masked}")
        tea = next(one["id"] for one in listed["items"] if "tea" in one["content"])
        for guess in GUESSES:
            kept = await client.ask("PATCH", f"/memories/{tea}", {"content": guess})
            if kept.get("undo"):
                await client.ask("POST", "/memories/undo", {"token": kept["undo"]})

    told = await told_in_both(tmp_path, attack)
    assert " 403 " in told[1]


async def test_an_import_of_a_guess_tells_nothing_of_what_is_known(tmp_path: Path) -> None:
    async def attack(client: Client) -> None:
        listed = await client.ask("GET", "/memories")
        masked = next(one["id"] for one in listed["items"] if "says Paris" in one["content"])
        for guess in GUESSES:
            for line in ({"content": guess}, {"schema": 1, "kind": "fact", "id": masked, "content": guess}):
                for preview in ("true", "false"):
                    url = f"/memories/import?format=jsonl&preview={preview}"
                    await client.ask("POST", url, content=f"{json.dumps(line)}\n".encode())

    told = await told_in_both(tmp_path, attack)
    assert '"added":1' in told[1]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/memories/health", None),
        ("GET", "/memories/stats", None),
        ("POST", "/memories/consolidate", {"preview": True}),
        ("POST", "/memories/forget", {"query": "the codename is Osprey"}),
        ("DELETE", "/memories?confirm=true", None),
        ("DELETE", "/memories/{fact}?forget=true", None),
    ],
)
async def test_what_goes_by_the_whole_memory_is_not_for_who_sees_a_part(
    tmp_path: Path, method: str, path: str, body: object
) -> None:
    async with world(tmp_path, *WORLDS[0], ScriptedLlm(["Noted."])) as door:
        fact = (await door.http.get("/memories")).json()["items"][0]["id"]
        url = path.format(fact=fact)
        refused = await door.http.request(method, url, json=body, headers=KEY)
        assert refused.status_code == 403
        assert "a filter hides part of it from you" in refused.text
        own = await door.http.request(method, url, json=body)
        assert own.is_success


async def test_a_model_that_forgets_for_a_restricted_client_is_shown_nothing_hidden(tmp_path: Path) -> None:
    calls = [[ScriptedCall("forget_memory", {"query_or_id": "the codename"})], "Done."]
    async with world(tmp_path, *WORLDS[0], ScriptedLlm(["Noted.", *calls])) as door:
        conversation = (await door.http.post("/conversations", headers=KEY)).json()["id"]
        body = {"message": {"role": "user", "content": "Forget my name."}, "stream": False}
        answer = await door.http.post(f"/conversations/{conversation}/chat", json=body, headers=KEY)
        assert "Osprey" not in answer.text
        assert "a filter hides some of it from you" in answer.text


async def test_a_program_that_a_filter_restrains_cannot_measure_the_vault(tmp_path: Path) -> None:
    async with world(tmp_path, *WORLDS[0], ScriptedLlm(["Noted."])) as door:
        own = (await door.http.get("/health")).json()["parts"]["vault"]
        told = (await door.http.get("/health", headers=KEY)).json()["parts"]["vault"]
        assert own["bytes"] > 0
        assert (told["bytes"], told["pages"]) == (0, 0)


async def test_who_writes_a_guess_in_its_own_words_reads_them_again(tmp_path: Path) -> None:
    async def attack(client: Client) -> None:
        conversation = (await client.ask("POST", "/conversations"))["id"]
        body = {"message": {"role": "user", "content": "Look."}, "stream": False}
        await client.ask("POST", f"/conversations/{conversation}/chat", body)

    calls = [
        [ScriptedCall("search_memory", {"query": "does 91234 weigh"})],
        [ScriptedCall("store_memory", {"content": "The user has 91234 parcels"})],
    ]
    told = await told_in_both(tmp_path, attack, *calls, "Done.")
    assert "Memory stored: The user has 91234 parcels" in told[-1]


async def test_a_search_in_documents_ranks_by_what_is_shown_of_them(tmp_path: Path) -> None:
    async def found(number: str, word: str) -> str:
        parts = (
            "The parcel weighs little. " + "Rain. " * 150,
            f"The parcel weighs {number} grams. " + "Tea. " * 150,
        )
        text = "\n\n".join((*parts, "Snow. " * 150))
        call = ScriptedCall("rag_search", {"query": "parcel 91234", "max_passages": 1})
        llm = ScriptedLlm(["Noted.", [call], "Done."])
        async with world(tmp_path, number, word, llm) as door:
            conversation = (await door.http.post("/conversations")).json()["id"]
            url = f"/conversations/{conversation}"
            file = {"file": ("notes.txt", text.encode(), "text/plain")}
            assert (await door.http.post(f"{url}/files", files=file)).is_success
            body = {"message": {"role": "user", "content": "Look."}, "stream": False}
            await door.http.post(f"{url}/chat", json=body, headers=KEY)
            return llm.requests[-1].messages[-1].content

    first, other = [await found(number, word) for number, word in WORLDS]
    assert "The parcel weighs" in first
    assert first == other


async def test_what_was_looked_through_stays_so_until_what_is_hidden_changes(tmp_path: Path) -> None:
    async with world(tmp_path, *WORLDS[0], ScriptedLlm(["Noted."])) as door:
        app, me = door.house.app, replace(door.house.me, audience="web")
        reader = replace(me, audience="rest")
        first = await app.visibility.reader_filters.of(reader)
        await app.vault.write(me, "tea.md", "# Tea\n\n- kind: green\n", by="person")
        assert await app.visibility.reader_filters.of(reader) is first
        await app.vault.write(me, "tea.md", "# Tea\n\n- salary: 44556\n", by="person")
        now = await app.visibility.reader_filters.of(reader)
        assert now is not None
        assert now is not first
        assert "44556" not in now.text("It costs 44556.")


async def test_a_client_over_mcp_that_stores_a_guess_is_not_told_that_it_is_known(tmp_path: Path) -> None:
    told: list[list[str]] = []
    for number, word in WORLDS:
        async with world(tmp_path, number, word, ScriptedLlm(["Noted."])) as door:
            server = McpDoor(door.house.app, "stdio", ()).server()
            seen = Client(door)
            async with McpClient(server, mode="auto", **greeted(None, "claude")) as client:

                async def call(name: str, arguments: dict[str, Any], to: McpClient, by: Client) -> str:
                    answer = str(await to.call_tool(name, arguments))
                    by.keep(answer)
                    return answer

                for guess in (GUESSES[0], GUESSES[0], GUESSES[1]):
                    kept = await call("store_memory", {"content": guess}, client, seen)
                    id = re.findall(r'"id":\s*"([0-9a-f-]{36})"', kept.replace("\\", ""))[0]
                    await call("get_memory_history", {"memory": id}, client, seen)
                    await call("search_memory", {"query": guess, "top_k": 20}, client, seen)
                    await call("forget_memory", {"query_or_id": guess}, client, seen)
                    seen.keep(str(await client.list_resources()))
                    seen.keep(str(await client.read_resource(f"memory://facts/{id}")))
                    await call("retract_memory", {"memory": id}, client, seen)
            told.append(seen.told)
    for one, two in zip(*told, strict=True):
        assert one == two
