"""One run as every door tells it, each as a picture of its whole output: the doors cannot drift apart.

`tests/images/events.jsonl` is the run; the test that plays it anew fails when
the events change, and with the new ones the pictures of all doors do.
`pytest --inline-snapshot=fix` draws them again: read what changed.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aidial_sdk.chat_completion import Choice
from inline_snapshot import external_file
from starlette.types import Message

from bethink.agent.records import NumberedEvent
from bethink.cli.render import JsonLines, Words
from bethink.cli.terminal import Screen
from bethink.dial.render import AnswerRenderer, asks
from bethink.events import RunStarted
from bethink.mcp_server.server import McpDoor
from bethink.messages import Attachment
from bethink.web.messages import collected
from bethink.web.sse import EventStream, Frames
from bethink.web.v1.frames import AnswerTally, ChatFrames, OpenAiFrames, Reply, completion_of
from bethink.web.v1.frames import collected as collected_chat
from bethink.web.v1.response_frames import ResponseFrames
from tests.house import open_house
from tests.mcp_clients import told as mcp_told
from tests.same_run import CODE, Recorded, batches, played, recorded, tools

pytestmark = pytest.mark.anyio

IMAGES = Path(__file__).parents[1] / "images"
WAITED = "\n======== approved ========\n\n"
_TOKEN = re.compile(r"[0-9a-f]+-[0-9a-f]{24}")


def picture(name: str) -> Any:  # noqa: ANN401 - what the library gives
    """What a door told before; compare with `==`."""
    return external_file(IMAGES / name, format=".txt")


@pytest.fixture
def run() -> Recorded:
    return recorded((IMAGES / "events.jsonl").read_text())


def started(run: Recorded) -> RunStarted:
    event = run.asked[0].event
    assert isinstance(event, RunStarted)
    return event


async def test_the_recorded_run_is_what_the_script_makes() -> None:
    assert await played() == picture("events.jsonl")


async def sent(part: Sequence[NumberedEvent], frames: Frames[NumberedEvent] | None = None) -> str:
    """The body of a stream."""
    bodies: list[bytes] = []

    async def receive() -> Message:
        return await asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))

    await EventStream(batches(part), frames)({"type": "http"}, receive, send)
    return b"".join(bodies).decode()


async def test_as_a_stream_of_events(run: Recorded) -> None:
    assert WAITED.join([await sent(part) for part in run.parts]) == picture("native.sse")


async def test_as_a_stream_for_clients_that_know_text_alone(run: Recorded) -> None:
    begun = started(run)
    # A client that comes back after the approval follows the run from its beginning.
    told = await sent([*run.asked, *run.decided], OpenAiFrames(begun.conversation, begun.run))
    assert told == picture("profile_openai.sse")


async def test_as_an_answer_in_one_piece(run: Recorded) -> None:
    begun = started(run)
    told: list[str] = []
    for part in run.parts:
        answer = await collected(batches(part), conversation=begun.conversation, run=begun.run)
        # How long it took is each time another.
        told.append(answer.model_copy(update={"latency_ms": 0.0}).model_dump_json(indent=2) + "\n")
    assert WAITED.join(told) == picture("native.json")


def reply(run: Recorded, *, activity: bool = False) -> Reply:
    begun = started(run)
    page = f"http://127.0.0.1:8484/conversations/{begun.conversation}"
    return Reply(f"chatcmpl-{begun.run}", "bethink", page, usage=True, activity=activity)


@pytest.mark.requirement("R1")
async def test_as_a_stream_of_chat_completion_chunks(run: Recorded) -> None:
    plain = await sent(run.asked, ChatFrames(reply(run)))
    assert plain == picture("chat.sse")
    active = await sent(run.asked, ChatFrames(reply(run, activity=True)))
    assert active == picture("chat_activity.sse")


async def test_as_a_whole_chat_completion(run: Recorded) -> None:
    tally = AnswerTally(reply(run))
    text, reasoning = await collected_chat(batches(run.asked), tally)
    told = json.dumps(completion_of(tally, text, reasoning), indent=2, ensure_ascii=False) + "\n"
    assert told == picture("chat.json")


async def test_as_a_response_streamed_and_whole(run: Recorded) -> None:
    begun = started(run)
    page = f"http://127.0.0.1:8484/conversations/{begun.conversation}"
    about = {"conversation": {"id": begun.conversation}, "previous_response_id": None}
    frames = ResponseFrames(Reply(f"resp_{begun.run}", "bethink", page), about)
    assert await sent(run.asked, frames) == picture("response.sse")
    whole = json.dumps(frames.response(), indent=2, ensure_ascii=False) + "\n"
    assert whole == picture("response.json")


async def uploaded(attachment: Attachment) -> str:
    return f"files/HOME/appdata/bethink/{attachment.name}"


@pytest.mark.requirement("R1")
async def test_as_chunks_of_dial(run: Recorded) -> None:
    told: list[str] = []
    for part in run.parts:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        choice = Choice(queue, 0)
        choice.open()
        renderer = AnswerRenderer(choice, uploaded)
        for numbered in part:
            await renderer.render([numbered])
        if renderer.waiting:
            renderer.say(asks(renderer.waiting, minutes=60))
        renderer.end()
        choice.close()
        chunks = [queue.get_nowait().to_dict() for _ in range(queue.qsize())]
        told.append("".join(json.dumps(chunk, ensure_ascii=False) + "\n" for chunk in chunks))
    assert WAITED.join(told) == picture("dial.jsonl")


async def test_as_calls_of_a_program(run: Recorded) -> None:
    """Programs make the calls themselves: the same three, with their progress."""
    from mcp import Client

    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(f"progress {progress} of {total}: {message}")

    calls = [
        ("execute_code", {"code": CODE}),
        ("web_search", {"query": "prices"}),
        ("delete_user", {"user": "Bob"}),
    ]
    async with open_house(tools=tools()) as house:
        server = McpDoor(house.app, "stdio").server()
        async with Client(server, **mcp_told(None, "tests")) as client:
            for name, arguments in calls:
                lines.append(f"call {name} {json.dumps(arguments)}")
                result = await client.call_tool(name, arguments, progress_callback=hear)
                written = result.model_dump_json(exclude_none=True, by_alias=True, exclude={"meta"})
                token = _TOKEN.search(written)
                lines.append(_TOKEN.sub("TOKEN", written))
                if token is not None:
                    lines.append("call again, confirmed")
                    again = await client.call_tool(name, {**arguments, "confirm": token[0]})
                    lines.append(again.model_dump_json(exclude_none=True, by_alias=True, exclude={"meta"}))
    assert "\n".join(lines) + "\n" == picture("mcp.txt")


@pytest.mark.parametrize("way", ["words", "verbose", "json"])
async def test_in_the_terminal(run: Recorded, way: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err)
    renderer = JsonLines(screen) if way == "json" else Words(screen, is_verbose=way == "verbose")
    for numbered in [*run.asked, *run.decided]:
        renderer.show(numbered)
    told = f"{out.getvalue()}\n======== beside it ========\n{err.getvalue()}"
    assert told == picture(f"terminal_{way}.txt")
