"""What fits into the window of a small model: the prompt, the tools, memories, history and the answer."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import anyio.to_thread
import pytest

from bethink.agent.tool_selection import SEARCH_TOOLS
from bethink.documents.model import NewDocument
from bethink.events import RunDone, RunFailed, TextDelta, ToolFinished, Warned
from bethink.llm import LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolMessage, tokens_in, tokens_of
from bethink.tool import NewFile, ToolContext, tool
from tests.house import open_house

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
SMALL = pytest.mark.parametrize("window", [2_048, 4_096])
Count = Callable[[str], int]


def wire_of(request: LlmRequest) -> list[str]:
    """The texts that a request sends: the prompt, the messages, each tool."""
    tools = [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
        }
        for one in request.tools
    ]
    return [
        request.system,
        *(str(message) for message in request.messages),
        *(json.dumps(one, separators=(",", ":")) for one in tools),
    ]


def estimated(request: LlmRequest) -> int:
    """What a request takes as Bethink counts it."""
    tools = sum(tokens_in(text) for text in wire_of(request)[1 + len(request.messages) :])
    return tokens_in(request.system) + sum(map(tokens_of, request.messages)) + tools


def byte_pairs() -> Count:
    """SmolLM2's: byte pairs as in current models, and fewer of them, so that it counts more than those."""
    models = Path(os.environ.get("BETHINK_MODELS_DIR", ROOT / ".models"))
    path = models / "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    if not path.exists():
        pytest.skip("`make real-model` has not been run")
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as kinds

    with path.open("rb") as file:
        lists = _lists(file, {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"})
    vocabulary = {token: place for place, token in enumerate(lists["tokenizer.ggml.tokens"])}
    pairs = (pair.partition(" ") for pair in lists["tokenizer.ggml.merges"])
    merges = [(first, second) for first, _, second in pairs]
    made: Any = Tokenizer(kinds.BPE(vocabulary, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda text: len(made.encode(text).ids)


def _lists(file: BinaryIO, wanted: set[str]) -> dict[str, list[str]]:
    """The lists of texts in a GGUF's header."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def number(layout: str) -> int:
        return struct.unpack(layout, file.read(struct.calcsize(layout)))[0]

    def text() -> str:
        return file.read(number("<Q")).decode()

    file.seek(16)
    found: dict[str, list[str]] = {}
    for _ in range(number("<Q")):
        key, kind = text(), number("<I")
        if kind == 9:
            inner, count = number("<I"), number("<Q")
            if inner == 8:
                found[key] = [text() for _ in range(count)]
            else:
                file.seek(sizes[inner] * count, 1)
        elif kind == 8:
            text()
        else:
            file.seek(sizes[kind], 1)
        if wanted <= found.keys():
            break
    return found


async def first_request(window: int = 128_000) -> LlmRequest:
    llm = ScriptedLlm(["Hello."], context_tokens=window)
    async with open_house(llm) as house:
        await house.say("Hello!")
    (request,) = llm.requests
    return request


@pytest.mark.requirement("R24")
async def test_the_default_prompt_and_tools_take_2500_tokens_at_most_as_bethink_counts() -> None:
    assert estimated(await first_request()) <= 2_500


async def test_the_tools_that_read_documents_fit_beside_them() -> None:
    llm = ScriptedLlm(["Hello."])
    async with open_house(llm) as house:
        await house.app.library.add(house.me, NewDocument(name="a.txt", content=b"Something to read."))
        await house.say("Hello!")
    (request,) = llm.requests
    assert {"rag_search", "extract_file_content"} <= {tool.name for tool in request.tools}
    assert estimated(request) <= 2_500


async def test_a_real_tokenizer_counts_no_more_than_bethink_does() -> None:
    count, request = await anyio.to_thread.run_sync(byte_pairs), await first_request()
    assert sum(count(text) for text in wire_of(request)) <= min(2_500, estimated(request))


@SMALL
async def test_a_first_message_fits_and_memory_works_in_a_small_window(window: int) -> None:
    request = await first_request(window)
    names = [one.name for one in request.tools]
    assert {"store_memory", "search_memory", SEARCH_TOOLS} <= set(names)
    assert estimated(request) <= window * 3 // 4, "a quarter is the answer's"


@SMALL
async def test_no_conversation_outgrows_a_small_window(window: int) -> None:
    llm = ScriptedLlm(lambda _: "I see. " * 60, context_tokens=window)
    async with open_house(llm) as house:
        for place in ("Paris", "Lyon", "Nice"):
            await house.app.memory.add(house.me, NewFact(f"Has a house in {place}. " * 40, importance=1.0))
        conversation = await house.new()
        for number in range(12):
            await house.say(f"And house number {number}? " * (number + 1), conversation)
    assert len(llm.requests) >= 12
    assert max(map(estimated, llm.requests)) <= window * 3 // 4
    assert "<recalled_memories>" in llm.requests[0].messages[-1].content


@SMALL
async def test_the_results_of_calls_are_cut_to_what_fits(window: int) -> None:
    @tool(effect="read", label="Read")
    async def read_all(context: ToolContext) -> str:
        """Read everything."""
        return "Much is written here. " * 700

    llm = ScriptedLlm([[ScriptedCall("read_all"), ScriptedCall("read_all")], "Read."], context_tokens=window)
    async with open_house(llm, tools=[read_all]) as house:
        events = await house.say("Read it twice")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Read."
    assert estimated(llm.requests[-1]) <= window * 3 // 4
    results = [one for one in llm.requests[-1].messages if isinstance(one, ToolMessage)]
    assert [one.content.endswith("does not fit into the model's window)") for one in results] == [True, True]


@SMALL
async def test_a_message_that_leaves_no_room_for_tools_is_answered_without_them(window: int) -> None:
    llm = ScriptedLlm(["Long."], context_tokens=window)
    async with open_house(llm) as house:
        events = await house.say("word " * (window // 4 + 300))
    assert [event.message for event in events if isinstance(event, Warned) and event.part == "model"] == [
        "The message leaves no room for tools in the model's window: it is answered without them."
    ]
    assert llm.requests[-1].tools == ()
    assert estimated(llm.requests[-1]) <= window * 3 // 4


@SMALL
async def test_a_message_that_cannot_fit_is_refused_in_words_and_never_sent(window: int) -> None:
    llm = ScriptedLlm(["never"], context_tokens=window)
    async with open_house(llm) as house:
        events = await house.say("word " * window)
    (failed,) = [event for event in events if isinstance(event, RunFailed)]
    assert "The message is too long for the model: it takes about" in failed.message
    assert "shorten it, or set a model with a larger window" in failed.message
    assert llm.requests == []
    assert isinstance(events[-1], RunDone)


async def test_what_is_not_offered_is_found_and_can_be_called() -> None:
    llm = ScriptedLlm(
        [
            [ScriptedCall(SEARCH_TOOLS, {"query": "add a person to the users"})],
            [ScriptedCall("search_users", {"name": "Ada"})],
            "Nobody.",
        ]
    )
    async with open_house(llm) as house:
        events = await house.say("Is Ada among my people?")
    first, second = [event for event in events if isinstance(event, ToolFinished)]
    assert "- search_users: " in first.text
    assert second.error is None
    offered = [{one.name for one in request.tools} for request in llm.requests]
    assert "search_users" not in offered[0]
    assert "search_users" in offered[1]


async def test_tools_for_files_are_offered_in_a_conversation_that_has_files() -> None:
    llm = ScriptedLlm(["Hello.", "Read."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say("Hello", conversation)
        file = await house.app.files.add(house.me, conversation, NewFile("a.txt", "text/plain", b"x"))
        run = await house.app.runs.start(house.me, conversation, "Read it", files=[file.id])
        await house.events(run)
    offered = [{one.name for one in request.tools} for request in llm.requests]
    assert "rag_search" not in offered[0]
    assert {"rag_search", "extract_file_content"} <= offered[1]
