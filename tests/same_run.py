"""One run with everything that a door may have to tell, made by a script: text, two calls at once of which
one fails, a file, progress, and a call that waits for its owner and is then approved.

What differs from one time to the next (ids, how long a call took or the prompt is) is given fixed values.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import anyio
import msgspec
from pydantic import BaseModel

from bethink.agent.records import NumberedEvent
from bethink.agent.stored_runs import ApprovalChoice
from bethink.events import ReasoningDelta, RunDone, ToolProgress
from bethink.llm import Finish, FinishReason
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput, tool
from tests.house import House, open_house

PICTURE = b"\x89PNG\r\n\x1a\n and more"
CODE = "plot([3, 1, 2])"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TOOK = re.compile(r'"duration_ms":[0-9.e+-]+')
_PROMPT = re.compile(r'"system":\d+,"tools":\d+')
_Lines = msgspec.json.Decoder(NumberedEvent)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The run's events up to where it waits, and behind; as `follow` gives them."""

    asked: Sequence[NumberedEvent]
    decided: Sequence[NumberedEvent]

    @property
    def parts(self) -> tuple[Sequence[NumberedEvent], Sequence[NumberedEvent]]:
        return self.asked, self.decided


class DeletedUser(BaseModel):
    """What `delete_user` tells a program."""

    deleted: str


def tools() -> list[Tool]:
    """What the script calls. They bear names that programs are offered, too."""
    is_drawn = anyio.Event()

    @tool(effect="read", label="Run code: {code}", family="python")
    async def execute_code(context: ToolContext, code: str) -> ToolOutput:
        """Run code."""
        context.emit(ToolProgress(call=context.call, text="drawing", fraction=0.5))
        # A program's call belongs to no conversation that could keep a file.
        is_kept = not context.conversation.startswith("mcp:")
        chart = NewFile("chart.png", "image/png", PICTURE)
        files = (await context.keep(chart),) if is_kept else ()
        is_drawn.set()
        return ToolOutput(f"Ran {code}.", attachments=files)

    @tool(effect="read", label="Search the web: {query}", trust="untrusted", family="web")
    async def web_search(_context: ToolContext, query: str) -> ToolOutput:
        """Search."""
        await is_drawn.wait()
        return ToolOutput(f"Nobody answers about {query}.", error="unreachable")

    @tool(effect="destructive", label="Delete user {user}", family="people", output=DeletedUser)
    async def delete_user(_context: ToolContext, user: str) -> ToolOutput:
        """Delete a user."""
        return ToolOutput(f"Deleted {user}.", structured={"deleted": user})

    return [execute_code, web_search, delete_user]


def script() -> ScriptedLlm:
    return ScriptedLlm(
        [
            [
                ReasoningDelta(text="Two things at once."),
                "I draw it and look around.",
                ScriptedCall("execute_code", {"code": CODE}, id="call_draw"),
                ScriptedCall("web_search", {"query": "prices"}, id="call_search"),
                _used("tool_calls"),
            ],
            [
                "The chart is there, the prices are not. Now the user.",
                ScriptedCall("delete_user", {"user": "Bob"}, id="call_delete"),
                _used("tool_calls"),
            ],
            ["Bob is deleted.", _used("stop")],
        ]
    )


def _used(reason: FinishReason) -> Finish:
    return Finish(reason, "scripted:demo", input_tokens=700, output_tokens=30)


async def played() -> str:
    """The run made anew: an event a line, an empty line where it waited for its owner."""
    async with open_house(script(), tools=tools(), recall_limit=0, recall_profile_limit=0) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Draw it, look around, delete Bob")
        asked = await _until_done(house, run)
        await house.app.runs.approvals.decide(
            house.me, run, call="call_delete", choice=ApprovalChoice("approve")
        )
        await house.numbered(run, asked[-1].place)
        everything = await house.numbered(run)
    decided = everything[len(asked) :]
    return "\n".join(_fixed([*map(_line, asked), "", *map(_line, decided)])) + "\n"


def recorded(lines: str) -> Recorded:
    """The run that is told by such lines."""
    asked, _, decided = lines.partition("\n\n")
    return Recorded(*([_Lines.decode(line) for line in part.splitlines()] for part in (asked, decided)))


async def batches(part: Sequence[NumberedEvent]) -> AsyncGenerator[Sequence[NumberedEvent], None]:
    """A part of the run, as a reader gets it: an event at a time."""
    for numbered in part:
        yield [numbered]


async def _until_done(house: House, run: str) -> list[NumberedEvent]:
    await house.numbered(run)
    everything = await house.numbered(run)
    assert isinstance(everything[-1].event, RunDone)
    return everything


def _line(numbered: NumberedEvent) -> str:
    return msgspec.json.encode(numbered).decode()


def _fixed(lines: Sequence[str]) -> list[str]:
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"00000000-0000-7000-8000-{len(names) + 1:012}")

    def fixed(line: str) -> str:
        line = _PROMPT.sub('"system":800,"tools":3000', _TOOK.sub('"duration_ms":12.0', line))
        return _ID.sub(named, line)

    return [fixed(line) for line in lines]
