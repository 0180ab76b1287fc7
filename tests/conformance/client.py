"""Bethink's MCP client as the conformance suite starts it: a process for each scenario.

It opens a session as Bethink does, lists the tools and calls each. The person of the sign-in is played
here, who agrees at once; and so is the one who is asked.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from bethink.errors import McpError
from bethink.mcp_client import Hooks, OAuth, RemoteTool, ServerConfig, ServerSession, SignIn
from bethink.mcp_client.sdk import SdkConnector
from bethink.questions import Answer, Question, checked
from tests.fake_mcp import MemoryKeeping

_SAMPLES: dict[str, object] = {"string": "x", "number": 2, "integer": 2, "boolean": True, "array": []}
_LOOKS, _PAUSE_S = 200, 0.05


async def main(scenario: str, context: dict[str, Any], url: str) -> None:
    """One scenario: whatever it asks for beside the address is in `context`."""
    connector, browsing = SdkConnector(MemoryKeeping()), set[asyncio.Task[None]]()

    def sign_in(page: SignIn | None) -> None:
        if page is not None:
            browsing.add(asyncio.create_task(agree(connector, page)))

    hooks = Hooks(lambda: None, lambda _: None, sign_in, on_question=accept)
    oauth = OAuth(
        redirect_uri="http://localhost:8484/mcp-servers/sign-in",
        client_id=context.get("client_id"),
        client_secret=context.get("client_secret"),
    )
    is_guarded = scenario.startswith("auth/")
    config = ServerConfig("suite", "http", url=url, oauth=oauth if is_guarded else None)
    async with connector.open(config, hooks) as session:
        await use(session, context)


async def use(session: ServerSession, context: dict[str, Any]) -> None:
    """List the tools; make the calls that the suite names, or one of each tool."""
    tools = {tool.name: tool for tool in await session.tools()}
    calls: list[tuple[str, dict[str, Any]]] = [
        (call["name"], call["arguments"]) for call in context.get("toolCalls", ())
    ] or [(name, arguments_of(tool, tools)) for name, tool in tools.items()]
    for name, arguments in calls:
        if name in tools:
            try:
                result = await session.call(name, arguments, lambda _text, _fraction: None)
            except McpError as error:
                sys.stderr.write(f"{name}: {error}\n")
            else:
                sys.stderr.write(f"{name}: {result}\n")


def arguments_of(tool: RemoteTool, tools: dict[str, RemoteTool]) -> dict[str, Any]:
    """Arguments by the schema; an object is the schema that another tool was described with."""
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    others = [other.input_schema for other in tools.values() if other.name != tool.name]
    return {
        name: others[0] if schema.get("type") == "object" and others else _SAMPLES.get(schema.get("type"), {})
        for name, schema in properties.items()
        if name in tool.input_schema.get("required", ()) or schema.get("type") == "number"
    }


async def accept(question: Question) -> Answer:
    """Accept a form as it was opened: with its defaults, and yes to what has none."""
    values = {one.name: one.default for one in question.fields if one.default is not None}
    agreed = {one.name: True for one in question.fields if one.kind == "boolean"}
    return Answer("accept", checked(question.fields, {**agreed, **values}))


async def agree(connector: SdkConnector, page: SignIn) -> None:
    """Open the page of the sign-in and hand in what it gives."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(page.url)
    given = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    # A person needs longer than the session to begin to wait for them.
    for _ in range(_LOOKS):
        if connector.signed_in(page.state, given.get("code", ""), given.get("iss")):
            return
        await asyncio.sleep(_PAUSE_S)


def run() -> None:
    """What the suite starts: the scenario is in the environment, the address the last argument."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    # One at a time: the suite starts all at once, and a server that is slow to answer counts as an older one.
    with Path(__file__).open(encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        asyncio.run(main(os.environ["MCP_CONFORMANCE_SCENARIO"], context, sys.argv[-1]))
