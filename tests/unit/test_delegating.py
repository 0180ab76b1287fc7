"""Runs within runs: a tool has a model do something, and what becomes of it in the run that asked."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from bethink.errors import RateLimited
from bethink.events import Event, MemoryChanged, RunDone, TextDelta, ToolFinished, ToolProgress, Usage
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.tool import SubagentResult, SubagentTask, Tool, ToolContext, tool
from tests.house import open_house

pytestmark = pytest.mark.anyio

HELP = "Look after the memories."


def sender(outcomes: list[SubagentResult], tools: Sequence[str] = ("store_memory",), steps: int = 5) -> Tool:
    """A tool that sends somebody."""

    @tool(effect="write", label="Send somebody to {task}", timeout_s=60)
    async def send(context: ToolContext, task: str) -> str:
        """Have somebody do it."""
        done = await context.run_agent(SubagentTask("helper", HELP, task, tuple(tools), steps))
        outcomes.append(done)
        return done.reply or done.failure

    return send


def model(outer: Sequence[Answer], inner: Sequence[Answer]) -> ScriptedLlm:
    """Two scripts: one for the run, one for whoever is sent."""
    left = {True: list(inner), False: list(outer)}
    return ScriptedLlm(lambda request: left[request.system.startswith(HELP)].pop(0))


SEND = ScriptedCall("send", {"task": "keep that I live in Paris"})
STORE = ScriptedCall("store_memory", {"content": "Lives in Paris"})


def of(events: Sequence[Event], kind: type[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.requirement("R210")
async def test_a_tool_sends_somebody_with_their_own_prompt_tools_and_count() -> None:
    outcomes: list[SubagentResult] = []
    llm = model([[SEND], "Done."], [["I keep it. ", STORE], "It is kept."])
    async with open_house(llm, tools=[sender(outcomes)]) as house:
        events = await house.say("Keep it.")
        conversation = (await house.app.conversations.list(house.me)).items[0].record
    (done,) = outcomes
    assert (done.reply, done.thoughts, done.reason) == ("It is kept.", "I keep it.", "answered")
    assert [(call.name, call.error) for call in done.calls] == [("store_memory", None)]
    inner = [request for request in llm.requests if request.system.startswith(HELP)]
    assert [tool.name for tool in inner[0].tools] == ["store_memory"]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Done."]
    assert [event.text for event in events if isinstance(event, ToolProgress)] == ["Remember: Lives in Paris"]
    assert len(of(events, MemoryChanged)) == 1
    jobs = [event.job for event in events if isinstance(event, Usage)]
    assert jobs == ["chat", "helper", "helper", "chat"]
    assert {one.job for one in conversation.spent} == {"chat", "helper"}


async def test_who_is_sent_sees_for_an_audience_of_its_own() -> None:
    seen: list[str] = []

    @tool(effect="read", label="Look")
    async def look(context: ToolContext) -> str:
        """Look."""
        seen.append(context.principal.audience)
        return "Nothing."

    llm = model([[SEND], "Done."], [[ScriptedCall("look")], "Nothing there."])
    async with open_house(llm, tools=[sender([], ["look"]), look]) as house:
        await house.say("Look.")
    assert seen == ["test/helper"]


@pytest.mark.requirement("R210")
async def test_who_is_sent_cannot_send_anybody() -> None:
    outcomes: list[SubagentResult] = []
    llm = model([[SEND], "Done."], [[SEND], "I could not."])
    async with open_house(llm, tools=[sender(outcomes, ["send"])]) as house:
        await house.say("Keep it.")
    (done,) = outcomes
    assert [call.error for call in done.calls] == ["not_allowed"]
    assert done.reply == "I could not."


async def test_what_would_ask_is_refused_with_a_sentence_and_not_done() -> None:
    outcomes: list[SubagentResult] = []
    asked: list[LlmRequest] = []

    def answer(request: LlmRequest) -> Answer:
        if not request.system.startswith(HELP):
            return [SEND] if len(request.messages) == 1 else "Done."
        asked.append(request)
        return [ScriptedCall("delete_all_memories")] if len(request.messages) == 1 else "I was not allowed."

    async with open_house(ScriptedLlm(answer), tools=[sender(outcomes, ["delete_all_memories"])]) as house:
        events = await house.say("Delete it.")
    assert [call.error for call in outcomes[0].calls] == ["denied"]
    assert "cannot be asked from here" in asked[-1].messages[-1].content
    done = events[-1]
    assert isinstance(done, RunDone)
    assert done.reason == "answered"


async def test_an_errand_ends_at_its_own_bound_and_costs_the_run_that_sent_it() -> None:
    outcomes: list[SubagentResult] = []
    calls = [[ScriptedCall("store_memory", {"content": f"Fact {number}"})] for number in range(9)]
    llm = model([[SEND], "Done."], calls)
    async with open_house(llm, tools=[sender(outcomes, steps=3)]) as house:
        await house.say("Keep it.")
    assert (outcomes[0].reason, len(outcomes[0].calls)) == ("max_steps", 3)
    outcomes.clear()
    llm = model([[SEND], "Done."], calls)
    async with open_house(llm, tools=[sender(outcomes, steps=9)], max_run_tokens=200) as house:
        events = await house.say("Keep it.")
    done = events[-1]
    assert isinstance(done, RunDone)
    assert done.reason == "max_tokens"


async def test_a_model_that_fails_is_told_in_a_sentence() -> None:
    outcomes: list[SubagentResult] = []
    llm = model([[SEND], "It did not work."], [RateLimited("Too much at once.")])
    async with open_house(llm, tools=[sender(outcomes)]) as house:
        events = await house.say("Keep it.")
    assert (outcomes[0].code, outcomes[0].failure) == ("rate_limited", "Too much at once.")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.text == "Too much at once."


async def test_a_run_that_is_cancelled_ends_whom_it_sent() -> None:
    begun, never, ended = anyio.Event(), anyio.Event(), anyio.Event()

    @tool(effect="read", label="Wait", timeout_s=60)
    async def wait(context: ToolContext) -> str:
        """Wait for ever."""
        del context
        begun.set()
        try:
            await never.wait()
        finally:
            ended.set()
        return ""

    llm = model([[SEND]], [[ScriptedCall("wait")]])
    async with open_house(llm, tools=[sender([], ["wait"]), wait]) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Wait.")
        await begun.wait()
        await house.app.runs.cancel(house.me, run)
        events = await house.events(run)
        done = events[-1]
        assert isinstance(done, RunDone)
        assert done.reason == "cancelled"
        await ended.wait()
