"""Tools and agents written for spec 002, as its users have them, on Bethink."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import uvicorn
from aidial_sdk import DIALApp
from aidial_sdk.chat_completion import ChatCompletion, Request, Response

from benchmarks.stand_ins.dial_core import Application, Model
from bethink.dial.compat import (
    BaseTool,
    DeleteAllMemoriesTool,
    FunctionCall,
    GeneralPurposeAgent,
    LongTermMemoryStore,
    SearchMemoryTool,
    StoreMemoryTool,
    ToolCall,
    ToolCallParams,
)
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.llm.scripted import Rule, ScriptedCall
from bethink.web.server import listening
from tests.dial import KEY, OTHER_KEY, Dial, open_dial, open_model

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


class MyCustomTool(BaseTool):
    """As spec 002 shows it ("Creating Custom Tools")."""

    @property
    def name(self) -> str:
        return "my_tool"

    @property
    def description(self) -> str:
        return "Does something useful"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}

    async def _execute(self, params: ToolCallParams) -> str:
        args = json.loads(params.tool_call.function.arguments)
        params.stage.append_content(f"Processing: {args['input']}\n")
        return f"Result: {args['input'].upper()} for {params.conversation_id}"


class Hidden(MyCustomTool):
    @property
    def name(self) -> str:
        return "hidden_tool"

    @property
    def create_tool_stage(self) -> bool:
        return False


class Quiet(MyCustomTool):
    @property
    def name(self) -> str:
        return "quiet_tool"

    @property
    def show_in_stage(self) -> bool:
        return False

    async def _execute(self, params: ToolCallParams) -> str:
        raise ValueError("it broke")


@dataclass
class Stage:
    said: list[str] = field(default_factory=list[str])

    def append_content(self, content: str) -> None:
        self.said.append(content)


def params(name: str, stage: Stage, key: str = KEY, **arguments: object) -> ToolCallParams:
    call = ToolCall("call_123", FunctionCall(name, json.dumps(arguments)))
    return ToolCallParams(tool_call=call, stage=stage, choice=None, api_key=key, conversation_id="test_conv")


@pytest.mark.requirement("R32", "R35", "R36", "R39", "C16", "R29", "R30")
async def test_a_tool_runs_alone_with_made_up_parameters() -> None:
    tool, stage = MyCustomTool(), Stage()
    message = await tool.execute(params("my_tool", stage, input="abc"))
    assert message.content == "Result: ABC for test_conv"
    assert (message.tool_call_id, message.name) == ("call_123", "my_tool")
    assert stage.said == ["Processing: abc\n"]
    assert tool.schema["function"].keys() == {"name", "description", "parameters"}
    assert "it broke" in str((await Quiet().execute(params("quiet_tool", stage, input="abc"))).content)


@pytest.fixture
async def dial() -> AsyncGenerator[Dial]:
    async with open_dial() as dial:
        yield dial


@pytest.mark.requirement("R13", "R52", "P3b")
async def test_the_memory_tools_share_one_store_and_keep_users_apart(dial: Dial) -> None:
    store = LongTermMemoryStore(dial.url, embeddings=HashingEmbeddings())
    tools = [one(memory_store=store) for one in (StoreMemoryTool, SearchMemoryTool, DeleteAllMemoriesTool)]
    storing, searching, deleting = tools
    stored = await storing.execute(params("store_memory", Stage(), content="Lives in Paris", topics=["home"]))
    assert stored.content == "Memory stored: Lives in Paris"
    found = await searching.execute(params("search_memory", Stage(), query="Paris", top_k=3))
    assert "Found 1 memory" in str(found.content)
    assert "Topics: home" in str(found.content)
    theirs = await searching.execute(params("search_memory", Stage(), key=OTHER_KEY, query="Paris"))
    assert theirs.content == "No memories found matching: Paris"
    assert "Successfully deleted" in str((await deleting.execute(params("x", Stage()))).content)
    assert "No memories" in str((await searching.execute(params("x", Stage(), query="Paris"))).content)
    assert "ERROR" in str((await storing.execute(params("x", Stage(), key="nobody's", content="x"))).content)
    await store.aclose()


class Agent(ChatCompletion):
    """The application of spec 000, over the agent of spec 002."""

    def __init__(self, agent: GeneralPurposeAgent) -> None:
        self.agent = agent
        self.answers: list[str] = []

    async def chat_completion(self, request: Request, response: Response) -> None:
        with response.create_single_choice() as choice:
            message = await self.agent.handle_request("gpt-4o", choice, request, response=response)
            self.answers.append(str(message.content))


@asynccontextmanager
async def served(app: DIALApp) -> AsyncGenerator[str]:
    import anyio

    with listening("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True


def _call(name: str) -> Rule:
    return Rule(when=name, after_tool=False, tool_calls=(ScriptedCall(name, {"input": "abc"}, "c1"),))


@pytest.mark.requirement("R33", "R12", "R13", "R14", "P3b")
async def test_an_agent_of_spec_002_answers_with_its_own_tools_and_stages(dial: Dial) -> None:
    rules = [*map(_call, ("my_tool", "hidden_tool", "quiet_tool")), Rule(after_tool=True, text="Done.")]
    agent = GeneralPurposeAgent(
        endpoint=dial.url,
        system_prompt="Be brief.",
        tools=[MyCustomTool(), Hidden(), Quiet()],
        embeddings=HashingEmbeddings(),
    )
    application = Agent(agent)
    app = DIALApp(telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False})
    app.add_chat_completion("general-purpose-agent", application)
    async with open_model(*rules) as model, served(app) as url:
        path = "/openai/deployments/general-purpose-agent/chat/completions"
        dial.own.models["gpt-4o"] = Model(model, "scripted-demo")
        dial.own.applications["general-purpose-agent"] = Application(url + path)

        async def ask(text: str) -> dict[str, Any]:
            body = {"messages": [{"role": "user", "content": text}]}
            headers = {"Api-Key": KEY, "X-CONVERSATION-ID": "conv"}
            async with httpx2.AsyncClient(timeout=120) as http:
                response = await http.post(dial.url + path, json=body, headers=headers)
                return response.json()["choices"][0]["message"]

        mine = await ask("my_tool")
        (stage,) = mine["custom_content"]["stages"]
        assert "Processing: abc" in stage["content"]
        assert "## Response:\nResult: ABC for conv" in stage["content"]
        assert "stages" not in (await ask("hidden_tool"))["custom_content"]
        (quiet,) = (await ask("quiet_tool"))["custom_content"]["stages"]
        assert quiet["status"] == "failed"
        assert "content" not in quiet
        assert application.answers == ["Done.", "Done.", "Done."]
        async with httpx2.AsyncClient() as http:
            asked = (await http.get(model.removesuffix("/v1") + "/requests")).json()[-1]["body"]
        assert "Be brief." in asked["messages"][0]["content"]
        assert {one["function"]["name"] for one in asked["tools"]} == {"my_tool", "hidden_tool", "quiet_tool"}
    await agent.aclose()
