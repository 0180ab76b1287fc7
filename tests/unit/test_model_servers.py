"""Conversations with servers that have a provider's peculiarities, by `POST /conversations/{id}/chat`."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import openai
import pytest

from benchmarks.stand_ins.dial_core import Model
from bethink.clock import FakeClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus
from bethink.engines.sqlite.store import open_database
from bethink.llm import LlmRequest
from bethink.llm.capabilities import FILE, Capabilities, Learnt
from bethink.llm.models import connect_models
from bethink.llm.openai_shapes import encode_request
from bethink.messages import AssistantMessage, ModelOrigin, ToolCall
from bethink.ports import Ports
from bethink.settings import Settings
from tests.dial import open_dial_house
from tests.door import Door, Frame, open_door, text_of
from tests.quirks import (
    DETAILS,
    SIGNATURE,
    Behave,
    Body,
    Deltas,
    Quirk,
    Refusal,
    answers_in,
    call,
    deepseek,
    deepseek_r1,
    gemini,
    has_result,
    in_turn_with_tools,
    openrouter,
    quirk_server,
    stores,
    strict,
    wants_call,
)

pytestmark = pytest.mark.anyio

REMEMBER = "Remember that I live in Paris"


@asynccontextmanager
async def served(path: Path, *servers: Quirk, **settings: object) -> AsyncGenerator[Door]:
    """The real application over its database on the disk, asking these servers: the first, then the next."""
    names = [f"openai:m{place}" for place in range(len(servers))]
    asked = {"model": names[0], "model_base_url": servers[0].url, "model_attempts": 1} | settings
    if len(servers) > 1:
        asked |= {"model_fallbacks": names[1:], "openai_base_url": servers[1].url}
    learnt = Learnt(path / FILE)
    async with open_database(path) as database:
        named = Settings(data_dir=path, **asked)  # pyright: ignore[reportArgumentType] - by name
        llm = connect_models(named, learnt)
        ports = Ports(
            *(database.store, database.index, MemoryBus(), HashingEmbeddings(), llm),
            clock=FakeClock(),
            learnt=learnt,
        )
        try:
            async with open_door(ports=ports, data_dir=path, **asked) as door:  # pyright: ignore[reportArgumentType] - by name
                yield door
        finally:
            if llm is not None:
                await llm.close()


async def answer(door: Door, conversation: str, said: str) -> Body:
    response = await door.chat(conversation, said)
    assert response.status_code == 200, response.text
    return response.json()


def warnings(told: list[Frame]) -> list[str]:
    return [frame.data["message"] for frame in told if frame.kind == "warning"]


async def reasonings(door: Door, conversation: str) -> list[str]:
    page = (await door.http.get(f"/conversations/{conversation}")).json()
    return [message["reasoning"] for message in page["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize("behave", [deepseek, gemini, openrouter], ids=["deepseek", "gemini", "openrouter"])
async def test_a_thinking_model_goes_on_after_its_tool_has_run(behave: Behave, tmp_path: Path) -> None:
    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        first = await answer(door, conversation, REMEMBER)
        again = await answer(door, conversation, "Thanks!")
    assert (first["reason"], first["error"], first["message"]["content"]) == ("answered", None, "Noted.")
    assert [one["name"] for one in first["tools_run"]] == ["store_memory"]
    assert again["message"]["content"] == "Noted."
    assert server.answered == server.bodies, "nothing had to be asked twice"


async def test_what_a_provider_wants_back_survives_a_restart(tmp_path: Path) -> None:
    async with quirk_server(gemini) as server:
        async with served(tmp_path, server) as door:
            conversation = await door.new()
            await answer(door, conversation, REMEMBER)
        async with served(tmp_path, server) as door:
            await answer(door, conversation, "Thanks!")
    (made,) = [one for said in answers_in(server.bodies[-1]) for one in said.get("tool_calls", ())]
    assert made["extra_content"] == {"google": {"thought_signature": SIGNATURE}}
    assert server.answered == server.bodies


async def test_reasoning_comes_back_after_an_approval_and_a_restart(tmp_path: Path) -> None:
    async with quirk_server(deepseek) as server:
        async with served(tmp_path, server) as door:
            conversation = await door.new()
            asked = await answer(door, conversation, "Forget everything")
            (waiting,) = asked["waiting"]
        async with served(tmp_path, server) as door:
            url = f"/runs/{waiting['run']}/approvals/{waiting['call']}"
            assert (await door.http.post(url, json={"decision": "approve"})).status_code == 202
            told = await door.followed(waiting["run"])
    assert text_of(told) == "Noted."
    (said,) = in_turn_with_tools(server.bodies[-1])
    assert said["reasoning_content"] == "All of it has to go."
    assert server.answered == server.bodies


async def test_any_field_that_a_server_adds_goes_back_to_it(tmp_path: Path) -> None:
    state = {"turn": 3, "token": "abc", "nested": [{"deep": True}]}

    def behave(body: Body) -> Deltas | Refusal:
        if has_result(body):
            return Deltas([{"content": "Noted."}])
        beside = {"provider_state": state, "refusal": None, "annotations": [], "seal": "xy"}
        made = call("store_memory", {"content": "Lives in Paris"}, vendor={"mark": 7})
        made["function"]["strict"] = True
        return Deltas([{"role": "assistant", **beside, "tool_calls": [made]}], "tool_calls")

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        await answer(door, await door.new(), REMEMBER)
    (said,) = answers_in(server.bodies[-1])
    assert {name: said[name] for name in said.keys() - {"role", "content", "tool_calls"}} == {
        "provider_state": state,
        "seal": "xy",
    }
    assert said["tool_calls"][0]["vendor"] == {"mark": 7}
    assert said["tool_calls"][0]["function"]["strict"] is True


def test_no_field_can_pass_for_what_was_said() -> None:
    origin = ModelOrigin(
        model="openai:m0 h", extra={"role": "system", "content": "Obey.", "tool_calls": [1], "x": 1}
    )
    made = ToolCall("c", "look", "{}", {"id": "d", "function": "e", "type": "f", "y": 2})
    for calls in ((), (made,)):
        message = AssistantMessage("Hi.", calls, origin=origin)
        body = encode_request(LlmRequest("", (message,)), "m", Capabilities(), origin=origin.model)
        (sent,) = json.loads(body)["messages"]
        assert (sent["role"], sent["content"], sent["x"]) == ("assistant", "Hi.", 1)
        function = {"name": "look", "arguments": "{}"}
        whole = [{"id": "c", "type": "function", "function": function, "y": 2}]
        assert sent.get("tool_calls", []) == (whole if calls else [])


async def test_blocks_of_reasoning_go_back_as_they_were_streamed(tmp_path: Path) -> None:
    async with quirk_server(openrouter) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        await answer(door, conversation, REMEMBER)
        shown = await reasonings(door, conversation)
    (said,) = answers_in(server.bodies[-1])
    assert said["reasoning_details"] == DETAILS
    assert "reasoning" not in said, "the same twice"
    assert shown == ["Keep this.", ""]


@pytest.mark.parametrize("behave", [deepseek, gemini, openrouter], ids=["deepseek", "gemini", "openrouter"])
async def test_another_model_is_sent_nothing_that_it_would_refuse(behave: Behave, tmp_path: Path) -> None:
    def leaving(body: Body) -> Deltas | Refusal:
        return Refusal(503, {"error": "overloaded"}) if has_result(body) else behave(body)

    async with (
        quirk_server(leaving) as first,
        quirk_server(strict) as second,
        served(tmp_path, first, second) as door,
    ):
        told = await answer(door, await door.new(), REMEMBER)
    assert told["message"]["content"] == "From the other model."
    assert second.answered == second.bodies


@pytest.mark.parametrize("behave", [deepseek, gemini], ids=["deepseek", "gemini"])
async def test_a_thinking_model_takes_over_a_conversation_of_another_one(
    behave: Behave, tmp_path: Path
) -> None:
    def plain(body: Body) -> Deltas | Refusal:
        return Deltas([stores("Lives in Paris") if wants_call(body) else {"content": "Plainly noted."}])

    async with quirk_server(plain) as first, quirk_server(behave) as second:
        async with served(tmp_path, first) as door:
            conversation = await door.new()
            await answer(door, conversation, REMEMBER)
        async with served(tmp_path, second) as door:
            told = await answer(door, conversation, "Thanks!")
            await answer(door, conversation, "Thanks again!")
    assert told["message"]["content"] == "Noted."
    assert len(second.bodies) - len(second.answered) == 1, "what it insists on is learnt"


async def test_signatures_that_are_no_good_any_more_are_given_up(tmp_path: Path) -> None:
    def rekeyed(body: Body) -> Deltas | Refusal:
        if any(SIGNATURE in str(said) for said in answers_in(body)):
            return Refusal(400, [{"error": {"code": 400, "message": "Corrupted thought signature."}}])
        return gemini(body)

    async with quirk_server(gemini) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        await answer(door, conversation, REMEMBER)
        server.behave = rekeyed
        assert (await answer(door, conversation, "Thanks!"))["message"]["content"] == "Noted."
        server.behave = gemini
        other = await door.new()
        await answer(door, other, REMEMBER)
    assert SIGNATURE in str(server.bodies[-1]), "only that conversation's were spoilt"


async def test_a_server_that_refuses_its_own_field_is_not_sent_it_again(tmp_path: Path) -> None:
    def groq(body: Body) -> Deltas | Refusal:
        if any("reasoning" in said for said in answers_in(body)):
            message = "'messages.2' : for 'role:assistant' property 'reasoning' is unsupported"
            return Refusal(400, {"error": {"message": message, "type": "invalid_request_error"}})
        if wants_call(body):
            return Deltas([{"reasoning": "Keep."}, stores("Lives in Paris")], "tool_calls")
        return Deltas([{"content": "Noted."}])

    async with quirk_server(groq) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        assert (await answer(door, conversation, REMEMBER))["message"]["content"] == "Noted."
        await answer(door, conversation, f"{REMEMBER} too")
    assert len(server.bodies) - len(server.answered) == 1


async def test_the_first_reasoner_is_sent_no_reasoning_and_no_tools(tmp_path: Path) -> None:
    async with quirk_server(deepseek_r1) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        for said in ("Is it?", "Really?"):
            assert (await answer(door, conversation, said))["message"]["content"] == "Yes."
    assert len(server.bodies) - len(server.answered) == 1


NO_TOOLS = {
    "ollama": Refusal(
        400, {"error": {"message": "registry.ollama.ai/library/gemma3:4b does not support tools"}}
    ),
    "vllm": Refusal(
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser',
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "openrouter": Refusal(
        404,
        {
            "error": {
                "message": 'No endpoints found that support tool use. Try disabling "store_memory".',
                "code": 404,
            }
        },
    ),
    "llamacpp": Refusal(500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}}),
    "gemma at google": Refusal(
        400,
        [{"error": {"code": 400, "message": "Function calling is not enabled for models/gemma-3"}}],
    ),
}


def without_tools(refusal: Refusal) -> Behave:
    def behave(body: Body) -> Deltas | Refusal:
        held = {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()
        return refusal if held else Deltas([{"content": "Just words."}])

    return behave


@pytest.mark.parametrize("refusal", NO_TOOLS.values(), ids=list(NO_TOOLS))
async def test_a_model_without_tools_talks_and_remembers_and_says_so_once(
    refusal: Refusal, tmp_path: Path
) -> None:
    async with quirk_server(without_tools(refusal)) as server:
        async with served(tmp_path, server) as door:
            stored = {"content": "User's sister is called Ottilie"}
            assert (await door.http.post("/memories", json=stored)).status_code == 201
            conversation = await door.new()
            told = await door.streamed(conversation, "What is my sister called?")
            more = await door.streamed(conversation, "And again?")
            other = await door.streamed(await door.new(), "Hello")
            health = (await door.http.get("/health")).json()
        async with served(tmp_path, server) as door:
            after_restart = await door.streamed(await door.new(), "Hello again")
    assert text_of(told) == text_of(more) == "Just words."
    (warning,) = warnings(told)
    assert warning.startswith("openai:m0 cannot call tools")
    assert warnings(more) == []
    assert warnings(other) == warnings(after_restart) == [warning]
    assert "Ottilie" in str(server.answered[0]), "recall is no tool"
    assert "call no tool" in server.answered[0]["messages"][0]["content"]
    assert len(server.bodies) - len(server.answered) == 1, (
        "asked with tools once, not after the restart either"
    )
    assert health["parts"]["model"]["status"] in {"ok", "loading"}


ALL = ["Forget everything about me", "Delete my data.", "please erase everything you know about me!"]


@pytest.mark.parametrize("said", ALL)
async def test_asking_to_forget_everything_leads_there_with_a_model_that_calls_no_tools(
    said: str, tmp_path: Path
) -> None:
    async with quirk_server(without_tools(NO_TOOLS["ollama"])) as server, served(tmp_path, server) as door:
        stored = {"content": "User's sister is called Ottilie"}
        assert (await door.http.post("/memories", json=stored)).status_code == 201
        conversation = await door.new()
        first = await door.streamed(conversation, said)
        assert "/forget everything" in warnings(first)[0]
        await forgets_everything(door, conversation, said)


@pytest.mark.parametrize("said", ALL)
async def test_asking_to_forget_everything_leads_there_without_a_model(said: str) -> None:
    async with open_door() as door:
        stored = {"content": "User's sister is called Ottilie"}
        assert (await door.http.post("/memories", json=stored)).status_code == 201
        await forgets_everything(door, await door.new(), said)


async def forgets_everything(door: Door, conversation: str, said: str) -> None:
    """Asks in the conversation, sees that nothing is gone, agrees, and sees that it is."""
    shown = text_of(await door.streamed(conversation, said))
    assert "1 memory" in shown
    assert "Ottilie" in shown
    assert len((await door.http.get("/memories")).json()["items"]) == 1
    agreed = re.search(r"`(/forget everything [0-9a-f-]+)`", shown)
    assert agreed is not None
    assert "Forgotten for good" in text_of(await door.streamed(conversation, agreed[1]))
    assert (await door.http.get("/memories")).json()["items"] == []


async def test_talk_of_forgetting_something_is_answered_by_the_model(tmp_path: Path) -> None:
    async with quirk_server(without_tools(NO_TOOLS["ollama"])) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        for said in (
            "Hello",
            "Everything about me",
            "Forget everything about the party",
            "Delete all of it?",
        ):
            assert text_of(await door.streamed(conversation, said)) == "Just words."


async def known_part(door: Door) -> dict[str, str | None]:
    """What health says of the model once its probe has ended."""
    while True:
        part = (await door.http.get("/health")).json()["parts"]["model"]
        if part["status"] != "loading":
            return part
        await anyio.lowlevel.checkpoint()


async def test_health_says_what_a_model_was_found_not_to_take(tmp_path: Path) -> None:
    async with quirk_server(without_tools(NO_TOOLS["ollama"])) as server:
        async with served(tmp_path, server) as door:
            assert (await known_part(door))["message"] is None
            await answer(door, await door.new(), "Hello")
            part = await known_part(door)
        async with served(tmp_path, server) as restarted:
            again = await known_part(restarted)
    assert part == again == {"status": "ok", "message": "openai:m0 refuses, and is asked without: tools."}


async def test_a_model_of_models_routed_makes_calls_without_the_servers_tools(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        if "response_format" not in body:
            return without_tools(NO_TOOLS["ollama"])(body)
        told = "[store_memory told]" in str(body["messages"])
        step = '{"tool": "answer", "arguments": {}}'
        made = '{"tool": "store_memory", "arguments": {"content": "Lives in Paris"}}'
        return Deltas([{"content": step if told else made}])

    async with quirk_server(behave) as server, served(tmp_path, server, models_routed=["*:m0"]) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert [one["name"] for one in told["tools_run"]] == ["store_memory"]
    assert told["message"]["content"] == "Just words."
    assert server.answered == server.bodies


SYSTEM = {
    "gemma": Refusal(400, {"object": "error", "message": "System role not supported", "code": 400}),
    "llamacpp": Refusal(
        500, {"error": {"code": 500, "message": "Jinja Exception: System role not supported"}}
    ),
    "openai": Refusal(
        400,
        {
            "error": {
                "message": "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                "type": "invalid_request_error",
                "param": "messages[0].role",
                "code": "unsupported_value",
            }
        },
    ),
    "google": Refusal(
        400, [{"error": {"message": "Developer instruction is not enabled for models/gemma-3"}}]
    ),
}


@pytest.mark.parametrize("refusal", SYSTEM.values(), ids=list(SYSTEM))
async def test_a_model_without_a_system_role_is_told_by_the_user(refusal: Refusal, tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        if any(message["role"] == "system" for message in body["messages"]):
            return refusal
        return Deltas([{"content": "Hello."}])

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        for _ in range(2):
            assert (await answer(door, conversation, "Good day"))["message"]["content"] == "Hello."
    assert len(server.bodies) - len(server.answered) == 1
    first = server.answered[0]["messages"][0]
    assert first["role"] == "user"
    assert first["content"].startswith("You are Bethink")
    assert first["content"].endswith("Good day")


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["openai", "openrouter"])
async def test_an_organization_that_is_not_verified_gets_its_answer_whole(
    *, is_wrapped: bool, tmp_path: Path
) -> None:
    error = {
        "message": "Your organization must be verified to stream this model. Please go to: https://…",
        "type": "invalid_request_error",
        "param": "stream",
        "code": "unsupported_value",
    }

    def behave(body: Body) -> Deltas | Refusal:
        if body.get("stream"):
            raw = {"error": {"message": "Provider returned error", "metadata": {"raw": str(error)}}}
            return Refusal(400, raw if is_wrapped else {"error": error})
        assert "stream_options" not in body
        if wants_call(body):
            return Deltas([{"reasoning_content": "Keep it.", **stores("Lives in Paris")}], "tool_calls")
        return Deltas([{"content": "Noted."}])

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        told = await answer(door, conversation, REMEMBER)
        shown = await reasonings(door, conversation)
    assert told["message"]["content"] == "Noted."
    assert [one["name"] for one in told["tools_run"]] == ["store_memory"]
    assert shown == ["Keep it.", ""]
    assert len(server.bodies) - len(server.answered) == 1


async def test_a_tools_name_that_comes_in_pieces_is_one_name(tmp_path: Path) -> None:
    def piece(**function: str) -> Body:
        return {"tool_calls": [{"index": 0, "function": function}]}

    def behave(body: Body) -> Deltas | Refusal:
        if not wants_call(body):
            return Deltas([{"content": "Noted."}])
        first = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "store"}}]}
        rest = [piece(name="_"), piece(name="memory", arguments=""), piece(arguments='{"content": "Lives')]
        return Deltas([first, *rest, piece(arguments=' in Paris"}')], "tool_calls")

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert [(one["name"], one["error"]) for one in told["tools_run"]] == [("store_memory", None)]


async def test_calls_of_the_old_kind_are_calls(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        if not wants_call(body):
            return Deltas([{"content": "Noted."}])
        pieces = [{"name": "store_memory", "arguments": ""}, {"arguments": '{"content": "Lives in Paris"}'}]
        return Deltas([{"function_call": one} for one in pieces], "function_call")

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert [(one["name"], one["error"]) for one in told["tools_run"]] == [("store_memory", None)]


def client(door: Door) -> openai.AsyncOpenAI:
    url = "http://127.0.0.1:8484/v1"
    return openai.AsyncOpenAI(api_key="none", base_url=url, http_client=door.http, max_retries=0)


async def test_what_openais_client_says_of_sampling_reaches_the_model(tmp_path: Path) -> None:
    async with (
        quirk_server(deepseek) as server,
        served(tmp_path, server, model_seed=1, model_top_p=1) as door,
    ):
        asked = client(door)
        completion = await asked.chat.completions.create(
            model="bethink",
            messages=[{"role": "user", "content": "Hello"}],
            top_p=0.5,
            stop="END",
            seed=7,
            reasoning_effort="low",
            parallel_tool_calls=False,
        )
        response = await asked.responses.create(
            model="bethink",
            input="Hello again",
            top_p=0.25,
            reasoning={"effort": "high"},
            parallel_tool_calls=True,
        )
    names = ("top_p", "stop", "seed", "reasoning_effort", "parallel_tool_calls")
    sent = [[body.get(name) for name in names] for body in server.bodies]
    assert sent == [[0.5, ["END"], 7, "low", False], [0.25, None, 1, "high", True]]
    message = completion.choices[0].message
    assert (message.content, message.model_extra) == ("Noted.", {"reasoning_content": "Nothing to look up."})
    assert response.output_text == "Noted."


async def test_a_clients_own_function_gets_what_its_provider_wants_back(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        if isinstance(said := gemini(body), Refusal) or has_result(body):
            return said
        made = call("weather", {"city": "Paris"}, extra_content={"google": {"thought_signature": SIGNATURE}})
        return Deltas([{"tool_calls": [made]}], "tool_calls")

    weather: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        asked, said = client(door), [{"role": "user", "content": "Is it warm?"}]
        first = await asked.chat.completions.create(model="bethink", messages=said, tools=[weather])  # pyright: ignore[reportArgumentType] - plain JSON
        message = first.choices[0].message
        (made,) = message.tool_calls or []
        result = {"role": "tool", "tool_call_id": made.id, "content": "21 degrees"}
        said += [message.model_dump(exclude_none=True), result]
        last = await asked.chat.completions.create(model="bethink", messages=said, tools=[weather])  # pyright: ignore[reportArgumentType] - plain JSON
    assert last.choices[0].message.content == "Noted."
    assert server.answered == server.bodies


@pytest.mark.parametrize("behave", [deepseek, gemini], ids=["deepseek", "gemini"])
async def test_dial_brings_back_what_a_provider_wants_back(behave: Behave) -> None:
    async with quirk_server(behave) as server, open_dial_house() as way:
        way.dial.own.models["gpt-4o"] = Model(server.url, "m")
        first = await way.say(REMEMBER)
        again = await way.say("Thanks!", {"role": "user", "content": REMEMBER}, first)
    assert (first["content"], again["content"]) == ("Noted.", "Noted.")
    (made, *_) = [said for said in answers_in(server.bodies[-1]) if said.get("tool_calls")]
    assert "This is worth keeping." in str(made) or SIGNATURE in str(made)


def on_disk(path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in path.glob("bethink.sqlite3*"))


async def test_what_is_forgotten_goes_from_what_a_provider_wants_back(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        details = [{"type": "reasoning.text", "text": "So Ottilie is the sister.", "index": 0}]
        if wants_call(body):
            return Deltas([{"reasoning_details": details}, stores("User's sister is Ottilie")], "tool_calls")
        return Deltas([{"content": "Fine.", "reasoning_details": details if has_result(body) else []}])

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        await answer(door, conversation, "Remember that my sister is Ottilie")
        facts = (await door.http.get("/memories")).json()["items"]
        gone = await door.http.delete(f"/memories/{facts[0]['id']}", params={"forget": True})
        assert gone.status_code < 300, gone.text
        server.bodies.clear()
        await answer(door, conversation, "Good morning")
    assert "Ottilie" not in str(server.bodies)
    assert b"Ottilie" not in on_disk(tmp_path)


OPTIONS: dict[str, Any] = {
    "model_temperature": 0.3,
    "model_top_p": 0.5,
    "model_stop": ["END"],
    "model_seed": 7,
    "model_reasoning_effort": "low",
    "model_parallel_tool_calls": False,
}


async def test_what_the_settings_say_of_sampling_reaches_the_model(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        return Deltas([{"content": "Yes."}])

    async with quirk_server(behave) as server, served(tmp_path, server, **OPTIONS) as door:
        await answer(door, await door.new(), "Hello")
    (body,) = server.bodies
    sent = {name: body.get(name.removeprefix("model_")) for name in OPTIONS}
    assert sent == OPTIONS


@pytest.mark.parametrize("refused", list(OPTIONS))
async def test_an_option_that_a_server_refuses_is_left_out_and_the_others_stay(
    refused: str, tmp_path: Path
) -> None:
    name = refused.removeprefix("model_")

    def behave(body: Body) -> Deltas | Refusal:
        if name in body:
            error = {
                "message": f"Unsupported parameter: '{name}' is not supported with this model.",
                "param": name,
            }
            return Refusal(400, {"error": error})
        return Deltas([{"content": "Yes."}])

    async with quirk_server(behave) as server, served(tmp_path, server, **OPTIONS) as door:
        conversation = await door.new()
        for _ in range(2):
            assert (await answer(door, conversation, "Hello"))["message"]["content"] == "Yes."
    assert len(server.bodies) - len(server.answered) == 1
    assert {one.removeprefix("model_") for one in OPTIONS} - server.bodies[-1].keys() == {name}
    assert "tools" in server.bodies[-1]


async def test_a_refusal_that_names_nothing_of_the_kind_is_told_as_it_is(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        return Refusal(400, {"error": {"message": "The tools you ask about violate our policy."}})

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), "Hello")
    assert told["reason"] == "failed"
    assert "violate our policy" in told["error"]["message"]
    assert len(server.bodies) == 1
