"""What MCP servers ask during a call: forms, pages, answers of a model, roots; and who answers them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.errors import BadInput, NotAllowed
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_client import Sampled, Sampling, ServerConfig, Text
from bethink.questions import Answer, Question, checked, form, host_of
from tests.door import Door, Frame, served
from tests.house import open_house
from tests.tool_servers import hostile, open_servers, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def shape(**more: object) -> dict[str, dict[str, Any]]:
    program, *arguments = hostile("asking").command
    return {"inn": {"command": program, "args": arguments, "effect": "read", **more}}


@asynccontextmanager
async def asking(kind: str, *said: str, **more: object) -> AsyncGenerator[tuple[Door, ScriptedLlm]]:
    """A door behind which the model calls the server's asking tool."""
    llm = ScriptedLlm([[ScriptedCall("inn__ask", {"kind": kind})], *said, "done"])
    async with (
        open_house(llm, mcp_servers=shape(**more), tools_enabled=True) as house,
        served(house) as (http, _),
    ):
        await until(lambda: house.app.toolbox.get("inn__ask"), 20)
        yield Door(house, http), llm


async def told(door: Door, *answers: dict[str, Any]) -> tuple[list[Frame], list[int]]:
    """The frames of an answer, each question of which gets these answers until one is taken."""
    frames: list[Frame] = []
    statuses: list[int] = []
    async with door.stream(await door.new(), "Ask.") as stream:
        async for frame in stream:
            frames.append(frame)
            if frame.kind != "question_asked":
                continue
            run = frames[0].data["run"]
            for body in answers:
                at = f"/runs/{run}/questions/{frame.data['question']}"
                statuses.append((await door.http.post(at, json=body)).status_code)
    return frames, statuses


def one(frames: list[Frame], kind: str) -> dict[str, Any]:
    (found,) = [frame.data for frame in frames if frame.kind == kind]
    return found


def answer(frames: list[Frame]) -> dict[str, Any]:
    return json.loads(one(frames, "tool_finished")["text"].splitlines()[0])


async def test_a_form_is_a_question_whose_values_reach_the_server_and_no_record() -> None:
    async with asking("form") as (door, _):
        values = {"city": "Lissabon", "guests": 3, "room": "q", "breakfast": True}
        frames, statuses = await told(
            door,
            {"action": "accept", "values": {"guests": 3}},
            {"action": "accept", "values": values | {"guests": 99}},
            {"action": "accept", "values": values | {"other": 1}},
            {"action": "accept", "values": values},
            {"action": "decline"},
        )
        asked = one(frames, "question_asked")
        assert statuses == [422, 422, 422, 202, 404]
        assert (asked["source"], asked["mode"], asked["text"]) == ("inn", "form", "Which hotel?")
        assert [field["kind"] for field in asked["fields"]] == ["text", "integer", "choice", "boolean"]
        assert answer(frames) == {"action": "accept", "content": values}
        assert one(frames, "question_answered")["outcome"] == "accept"
        told_of = [frame for frame in frames if frame.kind != "tool_finished"]
        assert "Lissabon" not in repr(told_of)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_question_may_be_refused(action: str) -> None:
    async with asking("form") as (door, _):
        frames, _ = await told(door, {"action": action})
        assert answer(frames) == {"action": action}


async def test_nobody_answers_in_time_and_the_call_goes_on() -> None:
    async with asking("form", question_timeout_s=0.3, call_timeout_s=20) as (door, _):
        frames, _ = await told(door)
        assert answer(frames) == {"action": "cancel"}
        assert "nobody answered" in one(frames, "tool_finished")["text"]


async def test_the_time_of_a_call_stands_still_while_a_person_thinks() -> None:
    async with asking("form", call_timeout_s=0.5) as (door, _):
        frames: list[Frame] = []
        async with door.stream(await door.new(), "Ask.") as stream:
            async for frame in stream:
                frames.append(frame)
                if frame.kind == "question_asked":
                    await anyio.sleep(1)
                    at = f"/runs/{frames[0].data['run']}/questions/{frame.data['question']}"
                    assert (await door.http.post(at, json={"action": "decline"})).status_code == 202
        assert answer(frames) == {"action": "decline"}


@pytest.mark.parametrize("kind", ["secret", "deep", "trick"])
async def test_what_may_not_be_asked_is_refused_to_the_server_and_nobody_is_asked(kind: str) -> None:
    async with asking(kind) as (door, _):
        frames, _ = await told(door)
        assert answer(frames)["code"] == -32602
        assert not [frame for frame in frames if frame.kind == "question_asked"]


async def test_a_page_is_shown_with_its_host_and_not_opened() -> None:
    async with asking("page") as (door, _):
        frames, _ = await told(door, {"action": "accept"})
        asked = one(frames, "question_asked")
        assert (asked["mode"], asked["host"], asked["url"]) == ("url", "pay.example", "https://pay.example/x")
        assert answer(frames) == {"action": "accept"}


async def test_a_door_that_cannot_ask_cancels_at_once() -> None:
    async with asking("form") as (door, _):
        events = await door.house.say("Ask.")
        (finished,) = [event for event in events if event.__class__.__name__ == "ToolFinished"]
        assert json.loads(finished.text.splitlines()[0]) == {"action": "cancel"}  # pyright: ignore[reportAttributeAccessIssue]


# --- the owner's model, and roots


async def test_a_server_may_not_use_the_model_unless_that_is_configured() -> None:
    async with asking("model") as (door, llm):
        frames, _ = await told(door)
        assert "not supported" in answer(frames)["message"]
        assert len(llm.requests) == 2


async def test_a_server_that_may_uses_the_model_without_memory_and_within_bounds() -> None:
    async with asking("model", "Blue.", sampling="allow", sampling_tokens=50) as (door, llm):
        await door.http.post("/memories", json={"content": "The owner lives in Lisbon."})
        frames, _ = await told(door)
        assert answer(frames)["content"]["text"] == "Blue."
        assert "[inn asked the person's model 1 times" in one(frames, "tool_finished")["text"]
        jobs = [frame.data["job"] for frame in frames if frame.kind == "usage"]
        assert "sampling" in jobs
        request = llm.requests[1]
        assert request.max_output_tokens == 50
        assert not request.tools
        assert "Lisbon" not in repr(request)
        assert "Be brief." in request.system


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_owner_is_asked_first_if_the_configuration_says_so(action: str) -> None:
    said = ["Blue."] if action == "accept" else []
    async with asking("model", *said, sampling="ask") as (door, _):
        frames, _ = await told(door, {"action": action})
        asked = one(frames, "question_asked")
        assert asked["mode"] == "model"
        assert "Name a colour." in asked["text"]
        if action == "accept":
            assert answer(frames)["content"]["text"] == "Blue."
        else:
            assert "did not agree" in answer(frames)["message"]


async def test_a_server_is_told_the_roots_that_are_configured_and_else_none() -> None:
    async with asking("roots", roots=["/srv/papers"]) as (door, _):
        frames, _ = await told(door)
        assert answer(frames) == {"roots": [{"name": "papers", "uri": "file:///srv/papers"}]}
    async with asking("roots") as (door, _):
        frames, _ = await told(door)
        assert "not supported" in answer(frames)["message"]


# --- forms


def test_garbage_is_no_form() -> None:
    for schema in ({}, {"properties": 1}, {"properties": {"a": 1}}, {"properties": {"a": {"type": []}}}):
        with pytest.raises(BadInput):
            form("s", "?", schema)
    odd = form(
        "s", "?", {"properties": {"a": {"type": "string", "enum": [1, "x"], "default": 7}}, "required": 5}
    )
    assert [choice.value for choice in odd.fields[0].choices] == ["x"]
    assert odd.fields[0].default is None


@pytest.mark.parametrize(
    "name", ["password", "apiKey", "access_token", "PIN", "card_number", "client_secret"]
)
def test_a_form_may_not_ask_for_a_secret(name: str) -> None:
    with pytest.raises(BadInput, match="secret"):
        form("s", "?", {"properties": {name: {"type": "string"}}})


@pytest.mark.parametrize("name", ["city", "max_tokens", "author", "keyword", "opinion", "spinach"])
def test_what_only_sounds_like_a_secret_is_asked_for(name: str) -> None:
    assert form("s", "?", {"properties": {name: {"type": "string"}}}).fields


def test_values_have_to_fit_their_fields() -> None:
    fields = form(
        "s",
        "?",
        {
            "properties": {
                "when": {"type": "string", "format": "date"},
                "mail": {"type": "string", "format": "email"},
                "some": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
                "n": {"type": "number"},
            }
        },
    ).fields
    good: dict[str, Any] = {"when": "2026-11-28", "mail": "a@b.example", "some": ["a"], "n": 1.5}
    assert checked(fields, good) == good
    assert checked(fields, {"when": "", "some": []}) == {}
    for bad in (
        {"when": "soon"},
        {"mail": "me"},
        {"some": ["c"]},
        {"some": ["a", "b"]},
        {"n": True},
        {"n": "1"},
    ):
        with pytest.raises(BadInput):
            checked(fields, bad)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://pay.example/x", "pay.example"),
        ("https://bank.example@evil.example/", ""),
        ("javascript:alert(1)", ""),
        ("https://аpple.example/", "xn--pple-43d.example"),
        ("https://", ""),
        ("https://[::1", ""),
    ],
)
def test_the_host_of_a_page_is_shown_as_it_is(url: str, host: str) -> None:
    assert host_of(url) == host


async def test_a_server_of_the_newest_revision_asks_by_having_its_call_made_again() -> None:
    asked: list[Question] = []

    class Person:
        owner = "local"

        async def answer(self, question: Question) -> Answer:
            asked.append(question)
            return Answer("accept", {"city": "Lisbon"})

        async def sample(self, wanted: Sampling) -> Sampled:
            raise NotAllowed(wanted.text)

    script = Path(__file__).parent.parent / "servers" / "asking.py"
    config = ServerConfig("new", "stdio", command=(sys.executable, str(script)))
    async with open_servers(config) as servers:
        result = await servers.call("new", "book", arguments={}, on_progress=lambda *_: None, person=Person())
        assert servers.status("new").protocol == "2026-07-28"
    assert result.parts == (Text("booked Lisbon"),)
    assert [(one.mode, one.text) for one in asked] == [("form", "Which city?")]
