"""Runs of one process, each in another phase, when it is killed or stopped: another tells how they ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests.door import Frame, frames, said, text_of
from tests.postgres_server import postgres_server
from tests.server_process import Running, running
from tests.tool_servers import hostile

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

_PAUSE_S = 0.05
WORDS = " ".join(f"w{number:03}" for number in range(999))
TASK, FACT = "Water the plants", "User lives in Rome."
BAD, GOOD = {"guests": 3}, {"city": "Rome"}
UNKNOWN = "The outcome of this call is unknown"


def _calling(when: str, tool: str, **arguments: str) -> Rule:
    return Rule(when=when, after_tool=False, tool_calls=(ScriptedCall(tool, arguments),))


@dataclass(frozen=True, slots=True)
class Phase:
    """A message, the event at which the process ends, and what stands behind the message then."""

    message: str
    until: str
    rules: tuple[Rule, ...]
    ends: tuple[str, ...]
    """How the texts of what follows begin."""


# What is recalled of other conversations stands before the words: these end the message.
PHASES = (
    Phase("Before the first word", "run_started", (Rule(when="first word$", fault="hang"),), ("",)),
    Phase(
        "Tell a story",
        "text_delta",
        (Rule(when="story$", text=WORDS, delay_ms=40, chunk_characters=10),),
        ("",),
    ),
    Phase("Turn the mill", "tool_requested", (_calling("mill$", "mill__never"),), ("", UNKNOWN, "")),
    Phase("Book the inn", "question_asked", (_calling("inn$", "inn__ask", kind="form"),), ("", UNKNOWN, "")),
    Phase(
        "Behind a call",
        "message_saved tool",
        (
            _calling("Behind a call$", "create_task", title=TASK),
            Rule(when="Behind a call$", after_tool=True, fault="hang"),
        ),
        ("", f"Task created: {TASK}", ""),
    ),
)
NOTE = "Note where I live"
ASK = "Ask before"
RULES = (
    *(rule for phase in PHASES for rule in phase.rules),
    _calling(f"{NOTE}$", "store_memory", content=FACT),
    Rule(when=f"{NOTE}$", after_tool=True, text="Noted."),
    _calling(f"{ASK}$", "desk__ask", kind="form"),
    Rule(text="Done."),
)


def _server(*traits: str) -> dict[str, Any]:
    program, *arguments = hostile(*traits).command
    return {"command": program, "args": arguments, "effect": "read"}


TOLD = {
    "BETHINK_TITLES": "words",
    "BETHINK_TOOL_POLICY": json.dumps({"store_memory": "ask"}),
    "BETHINK_MCP_SERVERS": json.dumps(
        {"inn": _server("asking"), "desk": _server("asking"), "mill": _server()}
    ),
}


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProcess]:
    with scripted_process() as process:
        yield process


@dataclass(slots=True)
class Told:
    """What a reader at the first process has seen of a run."""

    conversation: str
    frames: list[Frame] = field(default_factory=list[Frame])

    @property
    def run(self) -> str:
        return self.frames[0].data["run"]

    @property
    def place(self) -> str:
        return self.frames[-1].id or "0"

    @property
    def question(self) -> str:
        (found,) = [each.data["question"] for each in self.frames if each.kind == "question_asked"]
        return f"/runs/{self.run}/questions/{found}"


async def told(server: Running, message: str, until: str) -> Told:
    """A run, up to an event."""
    kind, _, role = until.partition(" ")
    seen = Told(await server.new())
    url = f"/conversations/{seen.conversation}/chat"
    async with server.http.stream("POST", url, json=said(message)) as response:
        async for frame in frames(response):
            seen.frames.append(frame)
            if frame.kind == kind and frame.data.get("role", "") == role:
                break
    return seen


async def is_ready(server: Running) -> None:
    """It has its tools."""
    while any(one["state"] != "ready" for one in (await server.get("/mcp-servers"))["servers"]):  # noqa: ASYNC110 - HTTP
        await asyncio.sleep(_PAUSE_S)


async def is_stored(server: Running, phase: Phase, seen: Told) -> None:
    """What the phase has behind it is on the disk, which is a moment after it is told."""
    least = len(phase.ends) - 1 if phase.until.startswith("message_saved") else 0
    while len((await server.get(f"/conversations/{seen.conversation}"))["messages"]) <= least:  # noqa: ASYNC110 - HTTP
        await asyncio.sleep(_PAUSE_S)


async def is_answered_elsewhere(one: Running, other: Running) -> None:
    """A question is answered at another process: what does not fit is refused there, what fits arrives."""
    asked = await told(one, ASK, "question_asked")
    rest = asyncio.create_task(other.followed(asked.run, asked.place))
    wrong = await other.http.post(asked.question, json={"action": "accept", "values": BAD})
    assert (wrong.status_code, "this is needed" in wrong.text) == (422, True)
    given = await other.http.post(asked.question, json={"action": "accept", "values": GOOD})
    assert given.status_code == 202, given.text
    (finished,) = [frame.data for frame in await rest if frame.kind == "tool_finished"]
    assert json.loads(finished["text"].splitlines()[0]) == {"action": "accept", "content": GOOD}
    again = await other.http.post(asked.question, json={"action": "accept", "values": GOOD})
    assert (again.status_code, "does not wait any more" in again.text) == (404, True)


async def answers(model: ScriptedProcess) -> int:
    """How often the model was asked to answer."""
    return len([one for one in await model.requests() if one.path.endswith("/chat/completions")])


async def has_ended(server: Running, phase: Phase, seen: Told, *, end: str) -> None:
    """A reader is told the end, the conversation shows it, nothing is there twice, and talk goes on."""
    rest = await server.followed(seen.run, seen.place)
    assert rest[-2].data["reason"] == "interrupted", phase
    shown = await server.get(f"/conversations/{seen.conversation}")
    said_first, *behind = shown["messages"]
    assert (shown["active_run"], said_first["content"]) == (None, phase.message)
    # Who is stopped and has the time leaves a call open: it is unknown by that.
    ends = [text for text in phase.ends if end == "killed" or text != UNKNOWN]
    assert len(behind) == len(ends), phase
    for message, begins in zip(behind, ends, strict=True):
        assert message["content"].startswith(begins), phase
    assert behind[-1]["stop_reason"] == "interrupted"
    if phase.until == "text_delta":
        assert WORDS.startswith(behind[-1]["content"])
        # Whoever had read it further is told how far it goes.
        assert text_of(rest) in behind[-1]["content"]
    assert (await server.answer(seen.conversation, "Go on"))["message"]["content"] == "Done."


async def has_gone_on(server: Running, seen: Told) -> None:
    """What waited for leave goes on where leave is given, once."""
    (waiting,) = (await server.get(f"/conversations/{seen.conversation}"))["waiting"]
    url = f"/runs/{seen.run}/approvals/{waiting['call']}"
    first, second = await asyncio.gather(
        *(server.http.post(url, json={"decision": "approve"}) for _ in range(2))
    )
    assert {first.status_code, second.status_code} <= {202, 404, 409}
    assert 202 in {first.status_code, second.status_code}
    assert (await server.followed(seen.run))[-2].data["reason"] == "answered"
    assert [fact["content"] for fact in (await server.get("/memories"))["items"]] == [FACT]


@pytest.mark.parametrize(
    ("engine", "end"),
    [("postgresql", "killed"), ("files", "stopped")],
)
async def test_whatever_phase_a_run_is_in_when_its_process_ends_another_tells_how_it_ended(
    model: ScriptedProcess, tmp_path: Path, engine: str, end: str
) -> None:
    await model.plays(*RULES)
    async with AsyncExitStack() as stack:
        more = dict(TOLD)
        if engine == "postgresql":
            more["BETHINK_DATABASE_URL"] = stack.enter_context(postgres_server()).new_database()
        begin = stack.enter_async_context
        one, other = [await begin(running(tmp_path, model, **more)) for _ in range(2)]
        await is_ready(one)
        await is_answered_elsewhere(one, other)
        waiting, *seen = await asyncio.gather(
            told(one, NOTE, "approval_needed"),
            *(told(one, phase.message, phase.until) for phase in PHASES),
        )
        for phase, each in zip(PHASES, seen, strict=True):
            await is_stored(other, phase, each)
        asked = await answers(model)
        if end == "killed":
            await one.kill()
        else:
            assert await one.stop() == 0
        # Nobody has looked at it yet.
        (inn,) = [one for phase, one in zip(PHASES, seen, strict=True) if phase.until == "question_asked"]
        late = await other.http.post(inn.question, json={"action": "accept", "values": GOOD})
        assert late.status_code in {404, 409}, late.text
        assert late.json()["detail"]
        for phase, each in zip(PHASES, seen, strict=True):
            await has_ended(other, phase, each, end=end)
        late = await other.http.post(inn.question, json={"action": "accept", "values": GOOD})
        assert late.status_code == 404
        # Nothing is asked twice: only to go on.
        assert await answers(model) == asked + len(PHASES)
        await has_gone_on(other, waiting)
        assert [task["title"] for task in (await other.get("/tasks"))["items"]] == [TASK]
