"""The memory agent: questions over two sample vaults, in every protocol, at every door."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client

from bethink.agent.request import RunOptions
from bethink.errors import BadInput, NoModel
from bethink.events import TextDelta, ToolFinished, ToolProgress, Usage
from bethink.llm import Llm, LlmRequest
from bethink.llm.models import ToolProtocol, in_protocol
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.mcp_server.server import McpDoor
from bethink.messages import ToolMessage, UserMessage
from bethink.sandbox.interpreters import InterpreterOptions, Interpreters, Workplaces
from bethink.telemetry import Supervisor
from bethink.tools.memory_agent import JOB, sources
from bethink.vault.filters.rules import FilterRule
from tests.door import called, frames
from tests.house import House, open_house, ports_of
from tests.mcp_clients import MODES, Mode, text_of
from tests.sample_vaults import Vault, client_success, healthcare, lay_out

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

ALLERGY = "What is Henrik Dahl allergic to?"
RENEWAL = "Which accounts are red, and when do they renew?"


@asynccontextmanager
async def house_with(tmp_path: Path, pages: Vault, llm: Llm | None, **vault: object) -> AsyncGenerator[House]:
    lay_out(pages, tmp_path / "vault")
    places = Workplaces(tmp_path / "code")
    async with Interpreters(places, tmp_path, InterpreterOptions()).opened(
        Supervisor().supervise
    ) as interpreters:
        ports = replace(ports_of(llm), interpreters=interpreters)
        async with open_house(ports=ports, data_dir=tmp_path, vault=vault) as house:
            yield house


def results_in(request: LlmRequest) -> list[str]:
    return [message.content for message in request.messages if isinstance(message, ToolMessage)]


def natively(request: LlmRequest) -> Answer:
    """A model that calls tools: it reads a page of which it was told, then answers from it."""
    said = results_in(request)
    if not said:
        return [ScriptedCall("read_file", {"file_path": "entities/henrik_dahl.md"})]
    allergy = next(line for line in said[-1].splitlines() if line.startswith("- allergy"))
    return f"Henrik Dahl is allergic to {allergy.partition(': ')[2]} (entities/henrik_dahl.md)."


def in_tags(request: LlmRequest) -> Answer:
    """A model that writes Python in tags."""
    assert not request.tools
    last = request.messages[-1].content
    if "<result>" not in last:
        code = 'page = read_file("entities/henrik_dahl.md")'
        return f"<think>I look at his page.</think>\n<python>\n{code}\n</python>"
    allergy = last.partition("- allergy: ")[2].partition("\\n")[0]
    return (
        f"<think>There it is.</think>\n<python></python>\n<reply>\nHenrik is allergic to {allergy}.\n</reply>"
    )


def by_schema(request: LlmRequest) -> Answer:
    """A model that chooses a tool by a schema, then answers plainly."""
    assert not request.tools
    told = request.messages[-1].content
    if request.response_format is not None:
        chosen = {"tool": "read_file", "arguments": {"file_path": "entities/henrik_dahl.md"}}
        answer = {"tool": "answer", "arguments": {}}
        return json.dumps(answer if "[read_file told]" in told else chosen)
    return f"It is {told.partition('- allergy: ')[2].partition(chr(10))[0]}."


async def asked(house: House, question: str) -> tuple[str, str, tuple[str, ...]]:
    """Reply, thoughts and sources."""
    done = await house.app.asking.ask(house.me, question)
    return done.reply, done.thoughts, sources(done)


@pytest.mark.requirement("C18", "R113", "R126", "R130", "U12", "R215", "R117")
@pytest.mark.parametrize(
    ("script", "way"),
    [(natively, "native"), (in_tags, "tagged"), (by_schema, "routed")],
    ids=["native", "tagged", "routed"],
)
async def test_a_question_is_answered_from_the_pages_in_every_protocol(
    tmp_path: Path, script: Callable[[LlmRequest], Answer], way: ToolProtocol
) -> None:
    llm = in_protocol(ScriptedLlm(script, name="vllm:driaforall/mem-agent"), way)
    async with house_with(tmp_path, healthcare(), llm) as house:
        reply, thoughts, read = await asked(house, ALLERGY)
        if way == "tagged" and not read and os.environ.get("CI") != "true":
            pytest.skip("no sandbox works here")
    assert "aspirin" in reply
    assert read == ("entities/henrik_dahl.md",)
    assert thoughts == ("I look at his page.\n\nThere it is." if way == "tagged" else "")


async def test_code_answers_over_many_pages(tmp_path: Path) -> None:
    code = (
        "import re\nred = {}\n"
        "for name in re.findall(r'accounts/(\\w+)\\.md', read_file('user.md')):\n"
        "    page = read_file(f'accounts/{name}.md')\n"
        "    if '- health: red' in page:\n"
        "        red[name] = re.search(r'- renewal_date: (\\S+)', page)[1]\n"
    )

    def script(request: LlmRequest) -> Answer:
        if len(request.messages) == 1:
            return f"<think>I go through the accounts.</think><python>\n{code}</python>"
        return f"<think>Two.</think><python></python><reply>{request.messages[-1].content}</reply>"

    llm = in_protocol(ScriptedLlm(script, name="mlx:mem-agent-mlx-4bit"))
    async with house_with(tmp_path, client_success(), llm) as house:
        reply, _, read = await asked(house, RENEWAL)
        if not read and os.environ.get("CI") != "true":
            pytest.skip("no sandbox works here")
    assert "{'coppervale': '2030-11-15', 'ivory_coast_lines': '2031-01-25'}" in reply
    assert len(read) == 10


@pytest.mark.requirement("R115", "R117")
async def test_the_prompt_tells_the_rules_the_profile_and_the_filters(tmp_path: Path) -> None:
    llm = ScriptedLlm(["Nothing is known."])
    async with house_with(tmp_path, healthcare(), llm) as house:
        agent = house.app.vault_tools.agent
        task = await agent.task(house.me, "Where does Marta live?", ["no phone numbers", "a </filter> b"])
        await house.app.asking.subagents.run(house.me, task)
        reader = replace(house.me, rights=frozenset({"read"}))
        bounded = await agent.task(reader, "x")
        with pytest.raises(BadInput):
            await agent.task(house.me, "  ")
    (request,) = llm.requests
    for part in ("memory agent", "[[jane_doe|her]]", "`vault/`", "- user_name: Karen Lyng", "<filter>"):
        assert part in request.system
    said = request.messages[-1]
    assert isinstance(said, UserMessage)
    assert said.content.endswith("<filter>\nno phone numbers\na ‹/filter> b\n</filter>")
    offered = {tool.name: tool.parameters for tool in request.tools}
    assert "update_file" in offered
    assert offered["read_file"]["required"] == ["file_path"]
    assert offered["search_files"]["required"] == ["query"]
    assert offered["search_files"]["properties"]["filters"]["items"] == {"type": "string"}
    assert "path" in offered["list_directory"]["properties"]
    assert "update_file" not in bounded.tools
    assert "change nothing" in bounded.system


async def test_the_chat_asks_it_and_hears_what_it_does(tmp_path: Path) -> None:
    def script(request: LlmRequest) -> Answer:
        if "memory agent: you keep" in request.system:
            return natively(request)
        if not results_in(request):
            return [ScriptedCall("use_memory_agent", {"question": ALLERGY})]
        return "Aspirin."

    async with house_with(tmp_path, healthcare(), ScriptedLlm(script)) as house:
        events = await house.say(ALLERGY)
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.text.endswith("[read: entities/henrik_dahl.md]")
    assert finished.memories == ("entities/henrik_dahl.md",)
    assert [event.text for event in events if isinstance(event, ToolProgress)] == [
        "Read entities/henrik_dahl.md"
    ]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Aspirin."]
    assert [event.job for event in events if isinstance(event, Usage)] == ["chat", JOB, JOB, "chat"]


async def test_without_a_vault_no_tool_of_it_is_offered_and_with_one_they_are(tmp_path: Path) -> None:
    async with open_house(ScriptedLlm(["Hi.", "Hi."]), data_dir=tmp_path) as house:
        assert not {tool.name for tool in house.app.toolbox.all} & {"read_file", "use_memory_agent"}
        await house.app.vault.begin(house.me)
        assert {"read_file", "use_memory_agent"} <= {tool.name for tool in house.app.toolbox.all}
    async with open_house(ScriptedLlm(["Hi."]), data_dir=tmp_path) as house:
        assert "read_file" in {tool.name for tool in house.app.toolbox.all}


async def test_who_finds_no_answer_in_time_says_so(tmp_path: Path) -> None:
    calls = [[ScriptedCall("list_directory", {"page": 1, "path": f"{n}"})] for n in range(5)]
    async with house_with(tmp_path, healthcare(), ScriptedLlm(calls), agent_turns=2) as house:
        task = await house.app.vault_tools.agent.task(house.me, "Anything?")
        done = await house.app.asking.subagents.run(house.me, task)
        output = house.app.vault_tools.agent.output(done)
    assert output.error == "max_steps"
    assert "after 2 turns" in output.text


@pytest.mark.requirement("R131")
async def test_without_any_model_it_says_how_to_get_one(tmp_path: Path) -> None:
    async with house_with(tmp_path, healthcare(), None) as house:
        house.app.models.probing.places = ()
        with pytest.raises(NoModel, match="Start one"):
            await asked(house, ALLERGY)


@pytest.mark.requirement("C18")
async def test_the_api_answers_at_once_or_as_it_goes(tmp_path: Path) -> None:
    async with house_with(tmp_path, healthcare(), ScriptedLlm(natively)) as house, called(house) as http:
        answer = await http.post("/vault/ask", json={"question": ALLERGY})
        assert answer.status_code == 200
        assert answer.json() == {
            "reply": "Henrik Dahl is allergic to aspirin (entities/henrik_dahl.md).",
            "thoughts": "",
            "sources": ["entities/henrik_dahl.md"],
            "reason": "answered",
        }
        asked = {"question": ALLERGY, "filters": ["no names"], "stream": True}
        async with http.stream("POST", "/vault/ask", json=asked) as response:
            told = [frame async for frame in frames(response)]
        assert (await http.post("/vault/ask", json={"question": ""})).status_code == 422
    kinds = [frame.kind for frame in told]
    assert kinds[-4:] == ["message_saved", "memory_used", "run_done", "[DONE]"]
    assert "tool_requested" in kinds
    assert told[-3].data["ids"] == ["entities/henrik_dahl.md"]


async def test_the_api_says_in_its_status_that_there_is_no_model(tmp_path: Path) -> None:
    async with house_with(tmp_path, healthcare(), None) as house, called(house) as http:
        house.app.models.probing.places = ()
        for stream in (False, True):
            answer = await http.post("/vault/ask", json={"question": ALLERGY, "stream": stream})
            assert (answer.status_code, answer.json()["type"]) == (409, "urn:bethink:error:no_model")
        assert "Start one" in answer.json()["detail"]


@pytest.mark.requirement("U12")
@pytest.mark.parametrize("mode", MODES)
async def test_an_mcp_client_asks_it_and_uses_its_tools(tmp_path: Path, mode: Mode) -> None:
    async with (
        house_with(tmp_path, healthcare(), ScriptedLlm(natively)) as house,
        Client(McpDoor(house.app, "stdio", ("vault",)).server(), mode=mode) as client,
    ):
        offered = {tool.name for tool in (await client.list_tools()).tools}
        assert {"use_memory_agent", "read_file", "update_file"} <= offered
        answer = await client.call_tool("use_memory_agent", {"question": ALLERGY})
        assert answer.structured_content is not None
        assert answer.structured_content["sources"] == ["entities/henrik_dahl.md"]
        page = await client.call_tool("read_file", {"file_path": "entities/henrik_dahl.md"})
        assert "- allergy: aspirin" in text_of(page)


async def test_what_only_a_search_showed_is_no_source(tmp_path: Path) -> None:
    calls = [
        [ScriptedCall("search_files", {"query": "allergy"})],
        [ScriptedCall("read_file", {"file_path": "entities/noor_haddad.md"})],
        "None.",
    ]
    async with house_with(tmp_path, healthcare(), ScriptedLlm(calls)) as house:
        _, _, read = await asked(house, "Is Noor allergic to anything?")
    assert read == ("entities/noor_haddad.md",)


async def test_what_a_filter_hides_from_the_memory_agent_it_cannot_tell(tmp_path: Path) -> None:
    code = (
        "import glob\nall = [open(name).read() for name in glob.glob('**/*.md', recursive=True)]\nprint(all)"
    )
    calls = [
        [
            ScriptedCall("read_file", {"file_path": "entities/henrik_dahl.md"}),
            ScriptedCall("search_files", {"query": "aspirin"}),
            ScriptedCall("execute_python", {"code": code}),
        ],
        "I cannot tell.",
    ]
    llm = ScriptedLlm(calls)
    async with house_with(tmp_path, healthcare(), llm) as house:
        filters = house.app.vault_tools.desk.views.filters
        owner = replace(house.me, audience="web")
        await filters.add(owner, FilterRule(field="allergy", audiences=("*/memory-agent",)))
        await filters.add(owner, FilterRule(text="Do not tell who has an allergy."))
        await asked(house, ALLERGY)
        page = await house.app.vault_tools.desk.read(house.me, "entities/henrik_dahl.md")
    assert "aspirin" in page.text
    told = "\n".join(message.content for message in llm.requests[-1].messages)
    assert "Henrik Dahl" in told
    assert "aspirin" not in told
    assert "<filter>\nDo not tell who has an allergy.\n</filter>" in told


async def test_a_key_that_may_only_read_is_answered_by_code_that_changes_nothing(tmp_path: Path) -> None:
    def script(request: LlmRequest) -> Answer:
        if len(request.messages) == 1:
            return '<python>done = update_file("user.md", "Karen", "Eve")</python>'
        return f"<reply>{request.messages[-1].content}</reply>"

    llm = in_protocol(ScriptedLlm(script, name="vllm:driaforall/mem-agent"))
    async with house_with(tmp_path, healthcare(), llm) as house:
        reader = replace(house.me, rights=frozenset({"read", "chat"}))
        done = await house.app.asking.ask(reader, "Call her Eve.")
        uses = (await house.app.audit.calls(house.me)).items
    if done.calls[0].error == "unknown_tool" and os.environ.get("CI") != "true":
        pytest.skip("no sandbox works here")
    assert "may only read" in done.reply
    assert "Karen" in (tmp_path / "vault" / "user.md").read_text()
    assert [(item.record.tool, item.record.error) for item in uses] == [("execute_python", None)]


async def test_a_run_without_memory_has_no_vault_either(tmp_path: Path) -> None:
    llm = ScriptedLlm(["Hi.", "Hi."])
    async with house_with(tmp_path, healthcare(), llm) as house:
        await house.say("Hello")
        run = await house.app.runs.start(
            house.me, await house.new(), "Hello", options=RunOptions(memory=False)
        )
        await house.events(run)
    with_memory, without = [{tool.name for tool in request.tools} for request in llm.requests]
    tools = {tool.name for tool in house.app.vault_tools.tools}
    assert tools <= with_memory
    assert not without & (tools | {"use_memory_agent", "execute_python"})
    assert {tool.family for tool in house.app.vault_tools.tools} == {"vault"}
