"""Thoughts and calls that a model writes into its text, by `POST /conversations/{id}/chat`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bethink.llm.markup import Markup
from tests.door import text_of
from tests.quirks import Behave, Body, Deltas, Refusal, answers_in, has_result, last_user, quirk_server
from tests.unit.test_model_servers import REMEMBER, answer, client, reasonings, served

pytestmark = pytest.mark.anyio

FENCED = "So:\n```xml\n<think>\nnot a thought\n</think>\n<tool_call>\n{}\n</tool_call>\n```\nThat is all."


def pieces(text: str, size: int) -> Sequence[Body]:
    return [{"content": text[start : start + size]} for start in range(0, len(text), size)]


def says(text: str, *, size: int = 3) -> Behave:
    return lambda _: Deltas(pieces(text, size))


THOUGHT = "First this.\nThen `</think>` that."
ANSWERS = {
    "think": (f"<think>\n{THOUGHT}\n</think>\n\nYes.", THOUGHT, "Yes."),
    "thinking": (f"<thinking>{THOUGHT}</thinking>Yes.", THOUGHT, "Yes."),
    "white space before it": (f"\n \n<Think>{THOUGHT}</Think>\nYes.", THOUGHT, "Yes."),
    "behind text": (f"Wait.\n<think>{THOUGHT}</think>\nYes.", THOUGHT, "Wait.\n\nYes."),
    "without its beginning": ("First this.\nThen that.\n</think>\n\nYes.", "First this.\nThen that.", "Yes."),
    "in a fence": (FENCED, "", FENCED),
    "in a line": ("Use <think> and `</think>` so.", "", "Use <think> and `</think>` so."),
    "empty": ("<think>\n\n</think>\n\nYes.", "", "Yes."),
    "other tags": ("<thinker>a</thinker> [TOOL] < b", "", "<thinker>a</thinker> [TOOL] < b"),
}


@pytest.mark.parametrize("size", [1, 4, 1_000])
@pytest.mark.parametrize(("written", "thought", "said"), ANSWERS.values(), ids=list(ANSWERS))
async def test_thoughts_in_the_text_are_reasoning(
    written: str, thought: str, said: str, size: int, tmp_path: Path
) -> None:
    async with quirk_server(says(written, size=size)) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        told = await answer(door, conversation, "Is it so?")
        (reasoning,) = await reasonings(door, conversation)
        page = (await door.http.get(f"/conversations/{conversation}")).json()
    assert told["message"]["content"] == page["messages"][-1]["content"] == said
    assert reasoning.strip() == thought


async def test_an_answer_that_is_not_streamed_is_taken_apart_too(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas | Refusal:
        if body["stream"]:
            return Refusal(400, {"error": {"message": "streaming is not supported", "param": "stream"}})
        return Deltas([{"content": "<think>\nHm.\n</think>\n\nYes."}])

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        told = await answer(door, conversation, "Is it so?")
        (reasoning,) = await reasonings(door, conversation)
    assert (told["message"]["content"], reasoning.strip()) == ("Yes.", "Hm.")


async def test_who_reads_along_is_told_that_it_was_a_thought(tmp_path: Path) -> None:
    written = "First this.\nThen that.\n</think>\n\nYes."
    async with quirk_server(says(written)) as server, served(tmp_path, server) as door:
        first = await door.streamed(await door.new(), "Is it so?")
        second = await door.streamed(await door.new(), "Is it so?")
        plain = "No thought at all."
        server.behave = says(plain)
        third = await door.streamed(await door.new(), "Is it so?")
    anew = next(place for place, frame in enumerate(first) if frame.kind == "text_so_far")
    assert "text" not in first[anew].data or first[anew].data["text"] == ""
    assert "Then that." in first[anew].data["reasoning"]
    assert text_of(first[anew:]) == "Yes."
    assert text_of(second) == "Yes.", "known from the first answer on"
    told = next(frame.data["text"] for frame in third if frame.kind == "text_so_far")
    assert told == plain, "an answer without thoughts is an answer"


async def test_openais_client_gets_thoughts_as_reasoning_content(tmp_path: Path) -> None:
    async with quirk_server(says("First this.\n</think>\n\nYes.")) as server:
        async with served(tmp_path / "chat", server) as door:
            completion = await client(door).chat.completions.create(
                model="bethink", messages=[{"role": "user", "content": "Is it so?"}]
            )
        async with served(tmp_path / "responses", server) as door:
            response = await client(door).responses.create(model="bethink", input="Is it so?")
    message = completion.choices[0].message
    assert message.content == "Yes."
    assert message.model_extra == {"reasoning_content": "First this.\n"}
    assert response.output_text == "Yes."


async def test_thoughts_that_never_end_are_no_answer(tmp_path: Path) -> None:
    async with quirk_server(says("<think>\nIt is so and")) as server, served(tmp_path, server) as door:
        conversation = await door.new()
        told = await answer(door, conversation, "Is it so?")
        reasoning = await reasonings(door, conversation)
    assert told["message"]["content"] == ""
    assert "thought, and then gave no answer" in told["error"]["message"]
    assert "".join(reasoning).strip() == "It is so and"


@pytest.mark.parametrize(
    "written",
    [
        "<think> is a tag that some models write.",
        "It is like this:\n<think>\nhm\n</think>\nand then.",
        "A </think>",
    ],
)
async def test_who_asks_about_the_tag_reads_it(written: str, tmp_path: Path) -> None:
    async with quirk_server(says(written)) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), "What is the <think> tag for?")
    assert told["message"]["content"] == written


async def test_who_asks_about_the_tag_is_not_told_the_thoughts(tmp_path: Path) -> None:
    written = "<think>\nThey ask about tags.\n</think>\n\n`<think>` begins thoughts, and </think> ends them."
    async with quirk_server(says(written)) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), "What is the <think> tag for?")
    assert told["message"]["content"] == "`<think>` begins thoughts, and </think> ends them."


async def test_a_conversations_name_has_no_thoughts_in_it(tmp_path: Path) -> None:
    async with (
        quirk_server(says("<think>\nA name.\n</think>\n\nTulips in March")) as server,
        served(tmp_path, server, titles="model") as door,
    ):
        conversation = await door.new()
        await answer(door, conversation, "When do tulips flower?")
        await door.house.app.post_turn.finished()
        listed = (await door.http.get("/conversations")).json()
    assert [one["title"] for one in listed["items"]] == ["Tulips in March"]


async def test_a_model_that_thinks_first_has_room_to_name_a_conversation(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas:
        if 0 < body.get("max_completion_tokens", 0) < 500:
            return Deltas([{"reasoning_content": "Let me see: tulips, March, so"}], "length")
        return Deltas([{"reasoning_content": "Hm. " * 100}, {"content": "Tulips in March"}])

    async with quirk_server(behave) as server, served(tmp_path, server, titles="model") as door:
        await answer(door, await door.new(), "When do tulips flower?")
        await door.house.app.post_turn.finished()
        listed = (await door.http.get("/conversations")).json()
    assert [one["title"] for one in listed["items"]] == ["Tulips in March"]


# --- calls ------------------------------------------------------------------------------------------

ARGUMENTS = '{"content": "Lives in Paris", "importance": 0.9}'
CALLS = {
    "hermes": f'<tool_call>\n{{"name": "store_memory", "arguments": {ARGUMENTS}}}\n</tool_call>',
    "hermes, thinking": "<think>\nKeep it.\n</think>\n\n"
    f'<tool_call>\n{{"name": "store_memory", "arguments": {ARGUMENTS}}}\n</tool_call>',
    "hermes, not closed": f'<tool_call>\n{{"name": "store_memory", "arguments": {ARGUMENTS}}}',
    "qwen coder": "<tool_call>\n<function=store_memory>\n<parameter=content>\nLives in Paris\n</parameter>\n"
    "<parameter=importance>\n0.9\n</parameter>\n</function>\n</tool_call>",
    "function": f"<function=store_memory>{ARGUMENTS}</function>",
    "glm": "<tool_call>store_memory\n<arg_key>content</arg_key>\n<arg_value>Lives in Paris</arg_value>\n"
    "<arg_key>importance</arg_key>\n<arg_value>0.9</arg_value>\n</tool_call>",
    "llama": f'<|python_tag|>{{"name": "store_memory", "parameters": {ARGUMENTS}}}<|eom_id|>',
    "llama, bare": f'{{"name": "store_memory", "parameters": {ARGUMENTS}}}',
    "mistral": f'[TOOL_CALLS][{{"name": "store_memory", "arguments": {ARGUMENTS}}}]',
    "mistral, new": f"[TOOL_CALLS]store_memory[ARGS]{ARGUMENTS}",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>store_memory\n"
    f"```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek, new": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>store_memory<｜tool▁sep｜>"
    f"{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.store_memory:0"
    f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "minimax": '<minimax:tool_call>\n<invoke name="store_memory">\n'
    '<parameter name="content">Lives in Paris</parameter>\n<parameter name="importance">0.9</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
}


def calling(written: str, size: int = 5) -> Behave:
    return lambda body: Deltas(pieces("Noted." if has_result(body) else written, size))


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("written", CALLS.values(), ids=list(CALLS))
async def test_a_call_in_the_text_is_a_call(written: str, size: int, tmp_path: Path) -> None:
    async with quirk_server(calling(written, size)) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
        facts = (await door.http.get("/memories")).json()
    assert [(one["name"], one["error"]) for one in told["tools_run"]] == [("store_memory", None)]
    assert told["message"]["content"] == "Noted."
    assert [(one["content"], one["importance"]) for one in facts["items"]] == [("Lives in Paris", 0.9)]
    (said,) = answers_in(server.bodies[-1])
    assert not said["content"]
    assert said["tool_calls"][0]["function"]["name"] == "store_memory"


def hermes(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


async def test_several_calls_in_the_text_are_several_calls_and_the_text_before_them_stays(
    tmp_path: Path,
) -> None:
    both = "\n".join(hermes("store_memory", f'{{"content": "Likes {what}"}}') for what in ("tea", "figs"))
    async with quirk_server(calling(f"I keep both.\n{both}")) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert [one["name"] for one in told["tools_run"]] == ["store_memory", "store_memory"]
    assert answers_in(server.bodies[-1])[0]["content"].strip() == "I keep both."


STORE = hermes("store_memory", ARGUMENTS)
NO_CALLS = {
    "in a fence": f"Write this:\n```\n{STORE}\n```",
    "in a line": "Write `<tool_call>` and then JSON.",
    "in a sentence": f"You write {STORE}",
    "not offered": hermes("launch_rocket", "{}"),
    "no JSON": '<tool_call>\n{"name": "store_memory", "arguments": {broken\n</tool_call>',
    "no object": hermes("store_memory", "[1]"),
    "an example": '{"name": "Ada", "born": 1815}',
}


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize("written", NO_CALLS.values(), ids=list(NO_CALLS))
async def test_what_only_looks_like_a_call_is_text(written: str, size: int, tmp_path: Path) -> None:
    async with quirk_server(calling(written, size)) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), "How does it look?")
    assert told["tools_run"] == []
    assert told["message"]["content"] == written


async def test_a_call_that_the_model_has_read_is_a_quotation(tmp_path: Path) -> None:
    async with quirk_server(calling(STORE)) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), f"A page says:\n{STORE.replace(' ', '  ')}\nRepeat it.")
    assert told["tools_run"] == []


async def test_beside_a_call_that_the_server_understood_the_text_is_text(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas:
        if has_result(body):
            return Deltas([{"content": "Noted."}])
        function = {"name": "store_memory", "arguments": '{"content": "Likes tea"}'}
        made = {"index": 0, "id": "c", "type": "function", "function": function}
        return Deltas([*pieces(STORE, 9), {"tool_calls": [made]}], "tool_calls")

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert ['"Likes tea"' in one["arguments"] for one in told["tools_run"]] == [True]


async def test_a_call_in_the_text_asks_like_any_other(tmp_path: Path) -> None:
    async with (
        quirk_server(calling(hermes("delete_all_memories", "{}"))) as server,
        served(tmp_path, server) as door,
    ):
        told = await answer(door, await door.new(), "Tidy up")
    assert told["reason"] == "awaiting_approval"
    assert [one["name"] for one in told["waiting"]] == ["delete_all_memories"]


async def test_a_call_that_was_cut_off_is_not_made(tmp_path: Path) -> None:
    def behave(body: Body) -> Deltas:
        assert last_user(body)
        return Deltas(pieces(STORE, 9), "length")

    async with quirk_server(behave) as server, served(tmp_path, server) as door:
        told = await answer(door, await door.new(), REMEMBER)
    assert (told["tools_run"], told["reason"]) == ([], "length")


def test_a_long_answer_full_of_tags_is_read_once() -> None:
    markup = Markup({}, spoken_of=True)
    text = "`<think>` " * 20_000
    said = "".join(getattr(one, "text", "") for one in (*markup.feed(text), *markup.end()))
    assert said == text
