"""Claude's exports become conversations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bethink.importing.records import ImportOptions
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from tests.exports import claude_message, claude_talk, zipped
from tests.house import open_house

pytestmark = pytest.mark.anyio
TALKS = ImportOptions(topics="none", into="conversations")
ROOT = "00000000-0000-4000-8000-000000000000"


async def test_blocks_become_messages_calls_and_thoughts(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Look it up."},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "tides"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "High at 9"}]},
        {"type": "token_budget"},
        {"type": "hologram"},
        {"type": "text", "text": "High tide is at nine."},
    ]
    talk = claude_talk(
        "Tides",
        [
            claude_message("h", "human", "When is high tide?"),
            claude_message("a", "assistant", content=blocks),
        ],
    )
    path = zipped(tmp_path / "export.zip", {"conversations.json": [talk], "users.json": []})
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        assert done.source == "claude"
        ((item,), _) = (await house.app.conversations.list(house.me)).items, None
        assert (item.record.title, item.record.origin) == ("Tides", "Claude")
        question, said, call, result, answer = [one.message for one in await house.messages(item.record.id)]
        assert question == UserMessage("When is high tide?")
        assert said == AssistantMessage("Let me look.", reasoning="Look it up.")
        assert isinstance(call, AssistantMessage)
        assert isinstance(result, ToolMessage)
        assert (call.tool_calls[0].name, json.loads(call.tool_calls[0].arguments)) == (
            "web_search",
            {"query": "tides"},
        )
        assert (result.content, result.untrusted) == ("High at 9", True)
        assert answer.content == "High tide is at nine."
        assert done.report is not None
        assert any("hologram" in problem.why for problem in done.report.problems)


async def test_attachments_become_files_and_a_paste_without_words_is_somebody_elses(tmp_path: Path) -> None:
    named = {"file_name": "plan.pdf", "file_type": "pdf", "file_size": 9, "extracted_content": "The plan"}
    pasted = {"file_name": "", "file_type": "txt", "file_size": 9, "extracted_content": "Pasted words"}
    messages = [
        claude_message("a", "human", "Read this", attachments=[named]),
        claude_message("b", "human", "", attachments=[pasted]),
        claude_message("c", "human", "", files=[{"file_name": "cat.png", "file_uuid": "x"}]),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude_talk("Files", messages)]))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, TALKS)
        (item,) = (await house.app.conversations.list(house.me)).items
        first, second = await house.messages(item.record.id)
        assert isinstance(first.message, UserMessage)
        (file,) = first.message.attachments
        assert file.name == "plan.pdf.txt"
        _, content = await house.app.files.get(house.me, file.url.rpartition("/")[2])
        assert content.read_text() == "The plan"
        assert (first.untrusted, second.untrusted) == (False, True)
        assert second.message.content == "Pasted words"
        assert done.report is not None
        assert any("only names" in problem.why for problem in done.report.problems)


async def test_messages_that_name_the_one_before_keep_their_branches(tmp_path: Path) -> None:
    messages = [
        claude_message("a", "human", "One", parent_message_uuid=ROOT),
        claude_message("silent", "assistant", "", parent_message_uuid="a"),
        claude_message("b", "assistant", "Two", parent_message_uuid="a"),
        claude_message("c", "human", "Three", parent_message_uuid="silent"),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude_talk("Tree", messages, current_leaf_message_uuid="b")]))
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, TALKS)
        (item,) = (await house.app.conversations.list(house.me)).items
        assert [one.message.content for one in await house.messages(item.record.id)] == ["One", "Two"]
        assert len(item.record.branches) == 2


async def test_older_exports_without_parents_are_one_line(tmp_path: Path) -> None:
    messages = [claude_message(str(n), ("human", "assistant")[n % 2], f"Line {n}") for n in range(6)]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude_talk("Line", messages)]))
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, TALKS)
        (item,) = (await house.app.conversations.list(house.me)).items
        assert item.record.branches == ()
        assert [one.message.content for one in await house.messages(item.record.id)] == [
            f"Line {n}" for n in range(6)
        ]
