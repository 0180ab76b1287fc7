"""Who is said to receive what is read, at each door: a run reads for the door that began it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bethink.agent.stored_runs import ApprovalChoice
from bethink.events import RunDone
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.tool import ToolContext, tool
from tests.door import called, said
from tests.house import open_house

pytestmark = pytest.mark.anyio

CALL = [ScriptedCall("whoami", {})]


@tool(effect="read", label="Say who reads")
async def whoami(context: ToolContext) -> str:
    """Say who reads."""
    return f"<{context.principal.audience}>"


@tool(effect="destructive", label="Say who reads, once that is allowed")
async def whoami_asking(context: ToolContext) -> str:
    """Say who reads."""
    return f"<{context.principal.audience}>"


@pytest.mark.parametrize(
    ("path", "headers", "audience"),
    [
        ("/conversations/{}/chat", {}, "web/agent"),
        ("/conversations/{}/chat", {"Authorization": "Bearer anything"}, "rest/agent"),
        ("/conversations/{}/chat", {"api-key": "anything"}, "rest/agent"),
        ("/v1/chat/completions", {}, "openai/agent"),
        ("/v1/chat/completions", {"Authorization": "Bearer anything"}, "openai/agent"),
    ],
)
async def test_a_run_reads_for_the_door_that_began_it(
    path: str, headers: dict[str, str], audience: str
) -> None:
    llm = ScriptedLlm([CALL, "ok"])
    async with open_house(llm, tools=[whoami]) as house, called(house) as http:
        body: dict[str, Any] = (
            said("who?", stream=False)
            if "{}" in path
            else {"messages": [{"role": "user", "content": "who?"}]}
        )
        if "{}" not in path:
            body["model"] = (await http.get("/v1/models")).json()["data"][0]["id"]
        answer = await http.post(path.format(await house.new()), json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert f"<{audience}>" in str(llm.requests[-1].messages)


async def test_a_key_is_known_by_its_name_and_cannot_pass_for_another_audience() -> None:
    llm = ScriptedLlm([CALL, "ok", CALL, "ok"])
    async with open_house(llm, tools=[whoami]) as house, called(house) as http:
        register = house.app.accounts.register
        user = await register.add_user("ann")
        for name, shown in (
            ("laptop", "rest:laptop/agent"),
            ("x/memory-agent:web", "rest:x-memory-agent-web/agent"),
        ):
            key = (await register.add_key(user.id, name)).text
            headers = {"Authorization": f"Bearer {key}"}
            conversation = (await http.post("/conversations", headers=headers)).json()["id"]
            body = said("who?", stream=False)
            answer = await http.post(f"/conversations/{conversation}/chat", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            assert f"<{shown}>" in str(llm.requests[-1].messages)


async def test_a_run_that_waited_goes_on_for_those_who_began_it() -> None:
    llm = ScriptedLlm([[ScriptedCall("whoami_asking", {})], "ok"])
    async with open_house(llm, tools=[whoami_asking]) as house:
        other = replace(house.me, audience="openai:other")
        run = await house.app.runs.start(other, await house.new(), "who?")
        assert RunDone(reason="awaiting_approval") in [
            replace_message(event) for event in await house.events(run)
        ]
        (waiting,) = (await house.app.runs.stored.get(house.me, run)).waiting
        me = replace(house.me, audience="web")
        await house.app.runs.approvals.decide(me, run, call=waiting.call, choice=ApprovalChoice("approve"))
        await house.events(run)
        assert "<openai:other/agent>" in str(llm.requests[-1].messages)


def replace_message(event: object) -> object:
    return RunDone(reason=event.reason) if isinstance(event, RunDone) else event
