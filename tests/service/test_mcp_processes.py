"""The MCP server as clients start it: processes, pipes and ports, garbage, signals, several at once."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError

from tests.mcp_clients import MODES, Mode, Person, over_http, over_stdio, program, text_of, token_in
from tests.server_process import running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]
PEOPLE = ("people", "serve", "--port", "0")
ADA = {"name": "Ada", "surname": "Lovelace", "email": "ada@example.org", "about_me": "Writes programs."}
CARD = {"num": "4111111111111111", "cvv": "987", "exp_date": "09/2029"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@asynccontextmanager
async def started(data: Path, *words: str, first: str = "mcp") -> AsyncGenerator[asyncio.subprocess.Process]:
    """The program with pipes of its own; killed at the end unless it has ended by then."""
    told = program(data)
    code = [first if word == "mcp" else word for word in told.args]
    process = await asyncio.create_subprocess_exec(
        *(told.command, *code, *words), env=told.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def listening(data: Path, *words: str) -> AsyncGenerator[str]:
    """The address of a server that the command starts."""
    first, *more = words
    async with started(data, *more, first=first) as process:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        assert line.startswith("Bethink is at "), line
        yield line.removeprefix("Bethink is at ").split()[0]
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(120):
            assert await process.wait() == 0


def asked(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


async def answered(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(120):
        return json.loads(await process.stdout.readline())


def holding(text: str, data: Path) -> list[str]:
    """The files that hold a text."""
    return [path.name for path in data.iterdir() if path.is_file() and text.encode() in path.read_bytes()]


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(120):
        return await process.wait()


@pytest.mark.requirement("R141")
@pytest.mark.parametrize("mode", MODES)
async def test_memory_over_stdio_while_a_server_runs_on_the_same_data(tmp_path: Path, mode: Mode) -> None:
    async with (
        running(tmp_path) as server,
        over_stdio(tmp_path, mode=mode, person=Person(agrees=True)) as client,
    ):
        stored = await client.call_tool("store_memory", {"content": "User's dog is called Rex"})
        (seen,) = (await server.get("/memories"))["items"]
        assert seen["id"] == stored.structured_content["memory"]["id"]
        await server.http.post("/memories", json={"content": "User's cat is called Tom"})
        found = await client.call_tool("search_memory", {"query": "cat"})
        assert "User's cat is called Tom" in text_of(found)
        gone = await client.call_tool("forget_memory", {"query_or_id": seen["id"]})
        assert not gone.is_error
        assert len((await server.get("/memories"))["items"]) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_two_clients_at_once_over_http(tmp_path: Path, mode: Mode) -> None:
    async with running(tmp_path) as server:
        url = str(server.http.base_url.join("/mcp"))
        async with over_http(url, mode=mode, name="one") as one, over_http(url, mode=mode, name="two") as two:
            facts = [f"User's locker {number} holds {number * 7} coins" for number in range(10)]
            results = await asyncio.gather(
                *(
                    (one, two)[place % 2].call_tool("store_memory", {"content": fact})
                    for place, fact in enumerate(facts)
                )
            )
            assert not any(result.is_error for result in results)
            assert {item["content"] for item in (await server.get("/memories"))["items"]} == set(facts)
            person = Person(agrees=True)
            async with over_http(url, mode=mode, person=person) as third:
                id = results[0].structured_content["memory"]["id"]
                gone = await third.call_tool("forget_memory", {"query_or_id": id})
            assert not gone.is_error
            assert len(person.asked) == 1


async def test_another_page_or_name_is_refused(tmp_path: Path) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    accept = {"accept": "application/json, text/event-stream"}
    async with running(tmp_path) as server:
        for header in (
            {"host": "evil.example"},
            {"origin": "http://evil.example"},
            {"x-forwarded-for": "1.2.3.4"},
        ):
            refused = await server.http.post("/mcp", json=ask, headers=accept | header)
            assert refused.status_code == 403
        allowed = await server.http.post("/mcp", json=ask, headers=accept)
        assert allowed.status_code == 200


async def test_garbage_is_told_and_passed_over(tmp_path: Path) -> None:
    async with started(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(b'what?\n\n\xff\xfe\x00\n{"jsonrpc": "2.0"}\n[]\n' + b"x" * 200_000 + b"\n")
        process.stdin.write(asked(1, "initialize", **HELLO))
        while (answer := await answered(process)).get("id") != 1:
            assert "error" in answer or "method" in answer
        assert answer["result"]["serverInfo"]["name"] == "bethink"
        process.stdin.close()
        assert await ended(process) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_cleanly_though_the_input_stays_open(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with started(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(asked(1, "initialize", **HELLO))
        assert (await answered(process))["id"] == 1
        process.send_signal(number)
        assert await ended(process) == 0
        assert process.stdout is not None
        assert await process.stdout.read() == b""


async def test_killed_in_a_call_it_keeps_what_it_has_answered(tmp_path: Path) -> None:
    async with started(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(asked(1, "initialize", **HELLO))
        await answered(process)
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        store = {"name": "store_memory", "arguments": {"content": "User's dog is called Rex"}}
        process.stdin.write(asked(2, "tools/call", **store))
        while (await answered(process)).get("id") != 2:
            pass
        for number in range(3, 30):
            store["arguments"] = {"content": f"User's locker {number} holds {number * 7} coins"}
            process.stdin.write(asked(number, "tools/call", **store))
        await process.stdin.drain()
        process.kill()
        await process.wait()
    async with over_stdio(tmp_path) as client:
        found = await client.call_tool("search_memory", {"query": "dog"})
        assert found.structured_content["memories"][0]["content"] == "User's dog is called Rex"


async def test_an_unknown_family_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    async with started(tmp_path / "data", "--only", "cooking") as process:
        _, told = await process.communicate()
        assert (process.returncode, b"There is no family 'cooking'" in told) == (2, True)
        assert not (tmp_path / "data").exists()


@pytest.mark.requirement("R77", "C11", "U8")
@pytest.mark.parametrize("mode", MODES)
async def test_the_people_service_speaks_rest_and_mcp(tmp_path: Path, mode: Mode) -> None:
    async with listening(tmp_path, *PEOPLE) as url, httpx2.AsyncClient(base_url=url) as http:
        made = await http.post("/v1/users", json=ADA | {"credit_card": CARD, "phone": None})
        id = made.json()["id"]
        assert (made.status_code, made.json()["credit_card"]["num"]) == (201, "****-****-****-1111")
        again = await http.post("/v1/users", json=ADA)
        assert (again.status_code, again.json()["detail"]) == (
            400,
            "User with such email is already registered",
        )
        put = await http.put(f"/v1/users/{id}", json={"about_me": "Retired.", "gender": "female"})
        assert (put.status_code, put.json()["about_me"]) == (200, "Retired.")
        assert (await http.get("/v1/users/search", params={"gender": "male"})).json() == []
        assert [one["id"] for one in (await http.get("/v1/users/search", params={"name": "ad"})).json()] == [
            id
        ]
        assert [one["id"] for one in (await http.get("/v1/users")).json()] == [id]
        for call in (http.get, http.delete):
            missing = await call("/v1/users/none")
            assert (missing.status_code, missing.json()["detail"]) == (404, "User not found")
        assert (await http.get("/v1/users", headers={"origin": "http://evil.example"})).status_code == 403
        async with over_http(f"{url}/mcp", mode=mode) as client:
            assert len((await client.list_tools()).tools) == 5
            changed = await client.call_tool("update_user", {"id": id, "company": "Engines"})
            assert not changed.is_error
            waits = await client.call_tool("delete_user", {"id": id})
            assert (await http.get(f"/v1/users/{id}")).json()["company"] == "Engines"
            await client.call_tool("delete_user", {"id": id, "confirm": token_in(waits)})
            assert (await http.get(f"/v1/users/{id}")).status_code == 404
            with pytest.raises(MCPError):
                await client.list_prompts()
        assert (await http.get("/health")).json() == {"status": "ok"}
        assert not holding(CARD["num"][-8:], tmp_path)


async def test_a_users_list_leads_on_by_its_link(tmp_path: Path) -> None:
    async with listening(tmp_path, *PEOPLE) as url, httpx2.AsyncClient(base_url=url) as http:
        for number in range(5):
            await http.post("/v1/users", json=ADA | {"email": f"p{number}@example.org"})
        emails: list[str] = []
        page = await http.get("/v1/users", params={"limit": 2})
        while True:
            emails += [one["email"] for one in page.json()]
            if "next" not in page.links:
                break
            page = await http.get(page.links["next"]["url"])
        assert emails == [f"p{number}@example.org" for number in range(5)]


async def test_families_on_a_port_of_their_own(tmp_path: Path) -> None:
    async with listening(tmp_path, "mcp", "--http", "0", "--only", "memory") as url:
        async with over_http(f"{url}/mcp") as client:
            names = {one.name for one in (await client.list_tools()).tools}
        assert {"store_memory", "recall"} <= names
        assert "create_user" not in names
        async with httpx2.AsyncClient(base_url=url) as http:
            assert (await http.get("/memories")).status_code == 404
