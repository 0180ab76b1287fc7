"""Exports of other programs, made small: the shapes that ChatGPT, Claude, Notion and Obsidian give."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGAN = 1_714_550_400.0
"""2024-05-01 08:00 UTC."""


def node(
    id: str,
    parent: str | None,
    role: str = "user",
    text: str | None = None,
    **more: Any,  # noqa: ANN401 - JSON
) -> dict[str, Any]:
    """A node of ChatGPT's tree; `content`, `recipient`, `name`, `metadata` and `at` change its message."""
    if text is None and "content" not in more:
        return {"id": id, "parent": parent, "children": [], "message": None}
    return {
        "id": id,
        "parent": parent,
        "children": [],
        "message": {
            "id": id,
            "author": {"role": role, "name": more.get("name"), "metadata": {}},
            "create_time": more.get("at", BEGAN),
            "content": more.get("content") or {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "recipient": more.get("recipient", "all"),
            "metadata": more.get("metadata", {}),
        },
    }


def chatgpt_talk(
    title: str | None,
    nodes: Sequence[dict[str, Any]],
    *,
    id: str | None = None,
    current: str | None = None,
    at: float = BEGAN,
) -> dict[str, Any]:
    """One conversation of a ChatGPT export."""
    mapping = {one["id"]: one for one in nodes}
    for one in nodes:
        if one["parent"] in mapping:
            mapping[one["parent"]]["children"].append(one["id"])
    return {
        "title": title,
        "create_time": at,
        "update_time": at + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current or nodes[-1]["id"],
        "conversation_id": id or f"talk-{title}",
        "id": id or f"talk-{title}",
        "is_archived": False,
    }


def asked_and_answered(title: str, question: str, answer: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A conversation of two messages behind an empty root."""
    nodes = [node("root", None), node("q", "root", "user", question), node("a", "q", "assistant", answer)]
    return chatgpt_talk(title, nodes, **more)


def claude_message(
    id: str,
    sender: str,
    text: str = "",
    *,
    content: Sequence[dict[str, Any]] | None = None,
    **more: Any,  # noqa: ANN401 - JSON
) -> dict[str, Any]:
    """One message of a Claude export."""
    blocks = [{"type": "text", "text": text, "citations": []}] if content is None and text else content or []
    return {
        "uuid": id,
        "text": text,
        "content": list(blocks),
        "sender": sender,
        "created_at": "2025-02-03T10:00:00.000000Z",
        "updated_at": "2025-02-03T10:00:00.000000Z",
        "attachments": [],
        "files": [],
        **more,
    }


def claude_talk(name: str, messages: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """One conversation of a Claude export."""
    return {
        "uuid": f"claude-{name}",
        "name": name,
        "created_at": "2025-02-03T10:00:00.000000Z",
        "updated_at": "2025-02-03T11:00:00.000000Z",
        "account": {"uuid": "account"},
        "chat_messages": list(messages),
        **more,
    }


def zipped(path: Path, members: Mapping[str, object]) -> Path:
    """A zip of these members: bytes and texts as they are, anything else as JSON."""
    path.write_bytes(packed(members))
    return path


def packed(members: Mapping[str, object]) -> bytes:
    """The same, as bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes | str) else json.dumps(content))
    return buffer.getvalue()
