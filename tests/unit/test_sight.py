"""Pictures of the owner's messages: shown to models that see, named to the others, within bounds."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_thread
from bethink.agent.context import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    NO_IMAGES,
    PICTURE_TOKENS,
    collect_images,
    kind_of,
)
from bethink.events import RunDone, RunFailed, Warned
from bethink.llm import LlmRequest
from bethink.llm.endpoint import Endpoint
from bethink.llm.models import FallbackLlm, sees
from bethink.llm.openai_wire import OpenAiWire
from bethink.llm.scripted import Rule, ScriptedCall, ScriptedLlm
from bethink.messages import Attachment, UserMessage
from bethink.settings import Settings
from bethink.tool import NewFile, ToolContext, tool
from tests.door import open_door
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n and more"
PNG_TEXT = base64.b64encode(PNG).decode()


@tool(effect="read", label="Wait")
async def pause(_: ToolContext) -> str:
    """Wait."""
    return "waited"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedProcess]:
    with scripted_thread() as process:
        yield process


async def picture(
    house: House, conversation: str, content: bytes = PNG, name: str = "cat.png", kind: str = "image/png"
) -> str:
    return (await house.app.files.add(house.me, conversation, NewFile(name, kind, content))).id


async def say(house: House, conversation: str, text: str, *files: str) -> None:
    run = await house.app.runs.start(house.me, conversation, text, files=files)
    events = await house.events(run)
    assert isinstance(events[-1], RunDone), events


def last_user(request: LlmRequest) -> UserMessage:
    return next(message for message in reversed(request.messages) if isinstance(message, UserMessage))


def shown_in(request: LlmRequest) -> list[bytes]:
    return [picture.content for picture in request.pictures.values()]


def says(directory: Path, text: str) -> list[Path]:
    """The files that hold the text."""
    return [path for path in directory.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 rest", "image/jpeg"),
        (b"GIF89a rest", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_how_it_begins(content: bytes, kind: str | None) -> None:
    assert kind_of(content) == kind


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("openai:gpt-4o-mini", True),
        ("openai:gpt-5.1", True),
        ("dial:anthropic.claude-v3-sonnet", True),
        ("openrouter:openai/o3", True),
        ("openai:o3-mini", False),
        ("openai:gpt-4o-audio-preview", False),
        ("vllm:Qwen/Qwen2.5-VL-7B-Instruct", True),
        ("ollama:llava:7b", True),
        ("openai:gpt-3.5-turbo", False),
        ("ollama:llama3.1", False),
        ("scripted:demo", False),
    ],
)
def test_who_sees_is_known_by_name(spec: str, *, expected: bool) -> None:
    assert sees(spec, Settings().models_that_see) is expected


async def test_a_model_that_sees_is_shown_the_picture_at_each_step_and_later() -> None:
    llm = ScriptedLlm([ScriptedCall("pause"), "A cat.", "Still a cat."], sees=True)
    async with open_house(llm, tools=[pause]) as house:
        conversation = await house.new()
        await say(house, conversation, "What is it?", await picture(house, conversation))
        await say(house, conversation, "Sure?")
        assert [shown_in(request) for request in llm.requests] == [[PNG]] * 3
        assert "[file: cat.png (image/png)]" in last_user(llm.requests[0]).content
        stored = repr(await house.messages(conversation))
    assert PNG_TEXT not in stored
    assert "and more" not in stored + repr(llm.requests)


async def test_a_model_that_does_not_see_is_told_so() -> None:
    llm = ScriptedLlm(["I cannot see it."])
    async with open_house(llm) as house:
        conversation = await house.new()
        await say(house, conversation, "What is it?", await picture(house, conversation))
    assert not llm.requests[0].pictures
    assert "cat.png (image/png); a picture that you cannot see" in last_user(llm.requests[0]).content


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"<svg/>", "it is no PNG, JPEG, GIF or WebP"),
        (PNG + bytes(MAX_PICTURE_BYTES), "more than 5 MB"),
    ],
)
async def test_what_cannot_be_shown_is_named_with_the_reason(content: bytes, note: str) -> None:
    llm = ScriptedLlm(["Hm."], sees=True)
    async with open_house(llm) as house:
        conversation = await house.new()
        await say(house, conversation, "What is it?", await picture(house, conversation, content))
    assert not llm.requests[0].pictures
    assert note in last_user(llm.requests[0]).content


async def test_a_file_that_is_named_wrongly_is_sent_as_what_it_is() -> None:
    async with open_house(ScriptedLlm(["ok"], sees=True)) as house:
        conversation = await house.new()
        id = await picture(house, conversation, b"\xff\xd8\xff rest", "cat.png")
        (file,) = await house.app.files.attachments(house.me, conversation, [id])
        sight = await collect_images(house.app.files, house.me, [UserMessage("x", (file,))], sees=True)
    assert [shown.media_type for shown in sight.pictures.values()] == ["image/jpeg"]


async def test_the_newest_pictures_are_shown_where_all_are_too_many() -> None:
    llm = ScriptedLlm(lambda _: "ok", sees=True, context_tokens=128_000)
    async with open_house(llm) as house:
        conversation = await house.new()
        for number in range(MAX_PICTURES + 2):
            content = PNG + bytes([number])
            await say(house, conversation, f"Number {number}", await picture(house, conversation, content))
    request = llm.requests[-1]
    assert sorted(content[-1] for content in shown_in(request)) == list(range(2, MAX_PICTURES + 2))
    assert "no room" in request.messages[0].content


async def test_pictures_take_half_of_the_room_at_most_and_are_counted() -> None:
    llm = ScriptedLlm(lambda _: "ok", sees=True, context_tokens=16_000)
    async with open_house(llm) as house:
        conversation = await house.new()
        files = [await picture(house, conversation) for _ in range(MAX_PICTURES)]
        await say(house, conversation, "Old words. " * 3_200)
        await say(house, conversation, "Look", *files)
    request = llm.requests[-1]
    assert 1 <= len(request.pictures) <= 8_000 // PICTURE_TOKENS
    assert len(request.messages) == 1, "the first turn has no room beside the pictures"
    assert "no room" in request.messages[-1].content


async def test_a_picture_that_is_gone_and_what_is_no_picture_are_not_shown() -> None:
    async with open_house(ScriptedLlm()) as house:
        gone = UserMessage("x", (Attachment(name="a.png", media_type="image/png", url="/files/none"),))
        sight = await collect_images(house.app.files, house.me, [gone, gone], sees=True)
        assert not sight.pictures
        assert "not there any more" in next(iter(sight.named([gone]))).content
        text = UserMessage("x", (Attachment(name="a.txt", media_type="text/plain", url="/files/b"),))
        assert await collect_images(house.app.files, house.me, [text], sees=True) is NO_IMAGES


async def test_over_v1_a_picture_reaches_the_models_server_and_no_file_of_words(
    server: ScriptedProcess, tmp_path: Path
) -> None:
    await server.plays(Rule(text="A cat."))
    wire = OpenAiWire("t:m", Endpoint(server.base_url, "m"), context_tokens=32_000, sees=True)
    async with open_door(FallbackLlm([wire]), data_dir=tmp_path) as door:
        url = f"data:image/png;base64,{PNG_TEXT}"
        parts = [
            {"type": "text", "text": "What is it?"},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        body = {"model": "bethink", "messages": [{"role": "user", "content": parts}]}
        answer = await door.http.post("/v1/chat/completions", json=body)
        assert answer.json()["choices"][0]["message"]["content"] == "A cat."
    await wire.close()
    sent = (await server.requests())[0].body["messages"][-1]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url"]
    assert sent[1]["image_url"]["url"] == url
    assert not says(tmp_path, PNG_TEXT)


async def test_a_server_that_takes_no_pictures_answers_without_them_and_the_owner_is_told(
    server: ScriptedProcess,
) -> None:
    await server.plays(
        Rule(status=400, text="image_url is only supported by certain models.", times=1), Rule(text="ok")
    )
    wire = OpenAiWire("t:m", Endpoint(server.base_url, "m"), context_tokens=32_000, sees=True)
    async with open_house(FallbackLlm([wire])) as house:
        conversation = await house.new()
        file = await picture(house, conversation)
        run = await house.app.runs.start(house.me, conversation, "What is it?", files=[file])
        events = await house.events(run)
        await say(house, conversation, "And now?")
    await wire.close()
    bodies = [sent.body["messages"] for sent in await server.requests()]
    (warned,) = [event for event in events if isinstance(event, Warned)]
    assert "without the pictures" in warned.message
    assert not any(isinstance(event, RunFailed) for event in events)
    assert "You cannot see these pictures" in bodies[1][-1]["content"]
    assert "a picture that you cannot see" in bodies[2][1]["content"], "from then on it is known not to see"
