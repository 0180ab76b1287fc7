"""What an export came from, by what it holds, and who reads it. `service` asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bethink.errors import BadInput, TooLarge
from bethink.importing import chatgpt, claude, markdown, notion, obsidian
from bethink.importing.archive import CONVERSATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item
    from bethink.importing.records import SourceName

READERS: Mapping[SourceName, Callable[[Archive], Iterator[Item]]] = {
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "notion": notion.read,
    "obsidian": obsidian.read,
    "markdown": markdown.read,
}
HOLDS_TALK: frozenset[str] = frozenset({"chatgpt", "claude"})
"""Sources of conversations; the others hold pages only."""
_HEAD = 1_000_000


def recognised(archive: Archive) -> SourceName:
    """What an export came from.

    Raises:
        BadInput: nobody can tell.
    """
    if (talk := _of_conversations(archive)) is not None:
        return talk
    if any(re.search(r"(^|/)\.obsidian/", name) for name in archive.members):
        return "obsidian"
    if any(notion.is_notions(name) for name in archive.members):
        return "notion"
    if any(markdown.is_page(name) for name in archive.members):
        return "markdown"
    message = (
        f"{archive.name} is no export that is known here: neither ChatGPT's nor Claude's, nor Notion's "
        "(Markdown & CSV), nor an Obsidian folder, nor Markdown."
    )
    raise BadInput(message)


def _of_conversations(archive: Archive) -> SourceName | None:
    for name in archive.talks:
        head = _head(archive, name)
        if chatgpt.is_chatgpt(head):
            return "chatgpt"
        if claude.is_claude(head):
            return "claude"
    if archive.named(r"(projects|memories|projects/[^/]+|memories/[^/]+)\.json") and archive.named(
        r"users\.json"
    ):
        return "claude"
    if archive.named(CONVERSATIONS):
        return "claude" if archive.named(r"users\.json") else "chatgpt"
    return None


def _head(archive: Archive, name: str) -> str:
    parts: list[bytes] = []
    try:
        with archive.open(name) as file:
            while sum(map(len, parts)) < _HEAD and (part := file.read(1 << 16)):
                parts.append(part)
    except TooLarge:
        raise
    except BadInput:
        pass
    return b"".join(parts).decode("utf-8", "replace")
