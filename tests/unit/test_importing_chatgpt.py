"""ChatGPT's exports become conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bethink.conversations.records import MESSAGES, Conversation, StoredMessage
from bethink.importing.records import ImportOptions
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.store import Scan
from tests.exports import BEGAN, asked_and_answered, chatgpt_talk, node, zipped
from tests.house import House, open_house

pytestmark = pytest.mark.anyio
TALKS = ImportOptions(topics="none", into="conversations")


def written(tmp_path: Path, *talks: object) -> Path:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks))
    return path


async def held(house: House) -> list[Conversation]:
    page = await house.app.conversations.list(house.me)
    return [item.record for item in page.items]


async def all_messages(house: House, conversation: str) -> list[StoredMessage]:
    scan = Scan(MESSAGES, {"conversation": conversation}, order="position", limit=1000)
    (page,) = await house.app.ports.store.scan(house.me.owner, scan)
    return [item.record for item in page.items]


@pytest.mark.parametrize("name", ["conversations (1).json", "my chats.JSON"])
async def test_a_file_that_came_alone_is_read_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps([asked_and_answered("Lisbon", "Where?", "There.")]))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.report is not None
        assert done.report.conversations.new == 1


@pytest.mark.requirement("U12")
async def test_a_conversation_keeps_its_title_its_times_and_its_words(tmp_path: Path) -> None:
    path = written(
        tmp_path, asked_and_answered("Lisbon trip", "Where to stay in Alfama?", "Near the miradouro.")
    )
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.report is not None
        assert done.report.conversations.new == 1
        (talk,) = await held(house)
        assert (talk.title, talk.origin, talk.created_at) == ("Lisbon trip", "ChatGPT", int(BEGAN * 1e6))
        question, answer = await house.messages(talk.id)
        assert question.message == UserMessage("Where to stay in Alfama?")
        assert answer.message == AssistantMessage("Near the miradouro.")
        assert question.at == int(BEGAN * 1e6)
        assert not question.untrusted
        assert answer.untrusted
        assert talk.outside


async def test_what_was_imported_is_recalled(tmp_path: Path) -> None:
    path = written(tmp_path, asked_and_answered("Trip", "I adore the quetzal bird.", "Noted."))
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, TALKS)
        hits = await house.app.recall.search(house.me, "quetzal")
        assert "I adore the quetzal bird." in [hit.text for hit in hits]


async def test_branches_are_kept_and_the_one_that_was_looked_at_is_active(tmp_path: Path) -> None:
    nodes = [
        node("r", None),
        node("q", "r", "user", "A name for a boat?"),
        node("a1", "q", "assistant", "Alba"),
        node("a2", "q", "assistant", "Brisa"),
        node("q2", "a2", "user", "Thanks"),
        node("q3", "a1", "user", "Another"),
    ]
    async with open_house(data_dir=tmp_path / "data") as house:
        path = written(tmp_path, chatgpt_talk("Boats", nodes, current="q2"))
        await house.app.importing.run(house.me, path, TALKS)
        (talk,) = await held(house)
        assert [one.message.content for one in await house.messages(talk.id)] == [
            "A name for a boat?",
            "Brisa",
            "Thanks",
        ]
        assert len(await all_messages(house, talk.id)) == 5
        assert len(talk.branches) == 2


async def test_the_same_export_twice_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, *(asked_and_answered(f"T{n}", f"Question {n}", "Yes") for n in range(5)))
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, TALKS)
        before = [(talk, await all_messages(house, talk.id)) for talk in await held(house)]
        again = await house.app.importing.run(house.me, path, TALKS)
        assert again.report is not None
        assert (again.report.conversations.known, again.report.conversations.new) == (5, 0)
        assert [(talk, await all_messages(house, talk.id)) for talk in await held(house)] == before


async def test_a_newer_export_brings_what_came_since(tmp_path: Path) -> None:
    nodes = [node("q", None, "user", "One"), node("a", "q", "assistant", "Two")]
    more = [*nodes, node("q2", "a", "user", "Three"), node("b", "q", "assistant", "Two, again")]
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, written(tmp_path, chatgpt_talk("T", nodes, id="t")), TALKS)
        for one in nodes:
            one["children"] = []
        path = written(tmp_path, chatgpt_talk("T", more, id="t", current="q2"))
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.report is not None
        assert (done.report.conversations.grown, done.report.messages) == (1, 2)
        (talk,) = await held(house)
        assert [one.message.content for one in await house.messages(talk.id)] == ["One", "Two", "Three"]
        assert len(await all_messages(house, talk.id)) == 4


async def test_what_was_said_here_since_stays_when_the_conversation_grows(tmp_path: Path) -> None:
    nodes = [node("q", None, "user", "One"), node("a", "q", "assistant", "Two")]
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, written(tmp_path, chatgpt_talk("T", nodes, id="t")), TALKS)
        (talk,) = await held(house)
        from bethink.conversations.service import PastMessage

        await house.app.conversations.take_over(house.me, talk.id, [PastMessage("Said here", 1)])
        more = [
            node("q", None, "user", "One"),
            node("a", "q", "assistant", "Two"),
            node("q2", "a", "user", "Said there"),
        ]
        await house.app.importing.run(house.me, written(tmp_path, chatgpt_talk("T", more, id="t")), TALKS)
        assert [one.message.content for one in await house.messages(talk.id)] == ["One", "Two", "Said here"]
        assert {one.message.content for one in await all_messages(house, talk.id)} >= {
            "Said here",
            "Said there",
        }


async def test_tools_code_and_thoughts_are_told_as_calls_with_their_results(tmp_path: Path) -> None:
    nodes = [
        node("q", None, "user", "What is 2+2?"),
        node(
            "t",
            "q",
            "assistant",
            content={"content_type": "thoughts", "thoughts": [{"content": "Add them."}]},
        ),
        node("c", "t", "assistant", content={"content_type": "code", "text": "2+2"}, recipient="python"),
        node("o", "c", "tool", content={"content_type": "execution_output", "text": "4"}, name="python"),
        node("a", "o", "assistant", "It is 4."),
    ]
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, written(tmp_path, chatgpt_talk("Sum", nodes)), TALKS)
        (talk,) = await held(house)
        _, call, result, answer = [one.message for one in await house.messages(talk.id)]
        assert isinstance(call, AssistantMessage)
        assert isinstance(result, ToolMessage)
        assert (call.reasoning, call.tool_calls[0].name) == ("Add them.", "python")
        assert json.loads(call.tool_calls[0].arguments) == {"code": "2+2"}
        assert (result.call, result.content, result.untrusted) == (call.tool_calls[0].id, "4", True)
        assert answer.content == "It is 4."


async def test_pictures_in_the_export_become_files_and_voices_their_words(tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00ab"}
    voice = {"content_type": "audio_transcription", "text": "Hello there", "direction": "in"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_99"}
    nodes = [
        node(
            "q", None, "user", content={"content_type": "multimodal_text", "parts": [picture, "What is it?"]}
        ),
        node("v", "q", "user", content={"content_type": "multimodal_text", "parts": [voice, sound]}),
    ]
    path = zipped(
        tmp_path / "export.zip",
        {"conversations.json": [chatgpt_talk("Seen", nodes)], "file_00ab-sanitized.png": b"\x89PNG..."},
    )
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        (talk,) = await held(house)
        seen, said = [one.message for one in await house.messages(talk.id)]
        assert isinstance(seen, UserMessage)
        assert [one.media_type for one in seen.attachments] == ["image/png"]
        _, content = await house.app.files.get(house.me, seen.attachments[0].url.rpartition("/")[2])
        assert content.read_bytes() == b"\x89PNG..."
        assert said.content == "Hello there"
        assert done.report is not None
        assert done.report.files == 1
        assert any("recording" in problem.why for problem in done.report.problems)


async def test_pictures_come_under_each_name_that_exports_give_them_to_their_own_messages(
    tmp_path: Path,
) -> None:
    def shown(pointer: str) -> dict[str, Any]:
        return {"content_type": "image_asset_pointer", "asset_pointer": pointer, "width": 1, "height": 1}

    attached = {"attachments": [{"id": "file-Up1", "name": "bill.png", "mime_type": "image/png"}]}
    nodes = [
        node(
            "q",
            None,
            "user",
            content={
                "content_type": "multimodal_text",
                "parts": [shown("file-service://file-Up1"), "Draw it anew"],
            },
            metadata=attached,
        ),
        node(
            "d",
            "q",
            "tool",
            name="dalle.text2im",
            content={"content_type": "multimodal_text", "parts": [shown("file-service://file-Dr2")]},
        ),
        node(
            "s",
            "d",
            "user",
            content={
                "content_type": "multimodal_text",
                "parts": [shown("sediment://file_0000a1"), shown("file-service://file-Gone9"), "And this?"],
            },
        ),
        node("a", "s", "assistant", "Done."),
    ]
    members = {
        "conversations.json": [chatgpt_talk("Drawn", nodes)],
        "file-Up1-bill.png": b"\x89PNG up",
        "dalle-generations/file-Dr2-6b1f0d1e.webp": b"RIFF dr",
        "user-x1/file_0000a1.dat": b"\x89PNG dat",
    }
    async with open_house(data_dir=tmp_path / "data") as house:
        path = zipped(tmp_path / "export.zip", members)
        done = await house.app.importing.run(house.me, path, TALKS)
        (talk,) = await held(house)
        messages = [one.message for one in await house.messages(talk.id)]
        files = [
            [
                (
                    one.name,
                    one.media_type,
                    (await house.app.files.get(house.me, one.url.rpartition("/")[2]))[1],
                )
                for one in getattr(message, "attachments", ())
            ]
            for message in messages
        ]
        found = [[(name, kind, path.read_bytes()) for name, kind, path in each] for each in files]
        assert [each for each in found if each] == [
            [("bill.png", "image/png", b"\x89PNG up")],
            [("file-Dr2-6b1f0d1e.webp", "image/webp", b"RIFF dr")],
            [("file_0000a1.png", "image/png", b"\x89PNG dat")],
        ]
        assert done.report is not None
        assert done.report.files == 3
        assert [one.why for one in done.report.problems] == [
            "Not imported: picture that is not in the export."
        ]


HOSTILE: list[Any] = [
    None,
    17,
    [],
    "text",
    {},
    {"title": "No mapping"},
    {"title": "Odd", "mapping": {"a": 1, "b": {"parent": "b", "message": {"content": 3}}}},
    {"title": "Ring", "mapping": {"a": {"parent": "b", "message": {}}, "b": {"parent": "a", "message": {}}}},
    {"title": 5, "mapping": {"a": {"parent": None, "message": {"author": {"role": "user"}, "content": {}}}}},
    {"title": "New", "mapping": {"a": {"message": {"author": {"role": "ghost"}, "content": {"parts": [1]}}}}},
]


async def test_a_broken_conversation_is_told_and_skipped(tmp_path: Path) -> None:
    good = asked_and_answered("Good", "Question", "Answer")
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, written(tmp_path, *HOSTILE, good), TALKS)
        assert [talk.title for talk in await held(house)] == ["Good"]
        assert done.report is not None
        assert done.report.conversations.left == len(HOSTILE)
        assert "Ring" in [problem.name for problem in done.report.problems]


async def test_a_file_that_breaks_off_tells_where_and_keeps_what_came_before(tmp_path: Path) -> None:
    path = written(tmp_path, *(asked_and_answered(f"T{n}", f"Question {n}", "Yes") for n in range(3)))
    text = path.read_text()
    path.write_text(text[: text.index("Question 2") + 5])
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.report is not None
        assert done.report.conversations.new == 2
        (problem,) = done.report.problems
        assert "behind conversation 2, “T1”" in problem.name
        assert "ends early" in problem.why


async def test_lone_surrogates_nuls_and_bad_bytes_are_mended(tmp_path: Path) -> None:
    talk = json.dumps([asked_and_answered("Odd", "A\\ud83dB\\u0000C", "Fine")]).replace("\\\\", "\\")
    path = tmp_path / "conversations.json"
    path.write_bytes(talk.encode().replace(b"Fine", b"Fi\xffne\x07"))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.report is not None
        assert done.report.problems == ()
        (held_talk,) = await held(house)
        question, answer = [one.message.content for one in await house.messages(held_talk.id)]
        assert question.startswith("A")
        assert question.endswith("BC")
        assert "\0" not in question
        assert answer.startswith("Fi")
