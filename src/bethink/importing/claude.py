"""Conversations, projects and memories as Claude exports them.

`conversations.json` is a list; messages of newer exports name the one before
(`parent_message_uuid`), those of older ones stand in their order. Read from what
public parsers know of it up to 2026; whatever is new is passed over or told.
"""

from __future__ import annotations

import mimetypes
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.claude_projects import projects
from bethink.importing.fields import listed, mapping, moment, one_line, text
from bethink.importing.items import Given, Left, Talk, Turn, Used, Words
from bethink.importing.json_stream import Broken, named
from bethink.importing.objects import objects
from bethink.importing.trees import parents_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

_IGNORED = frozenset({"account", "citations", "start_timestamp", "stop_timestamp", "display_content"})
_FOLDED_CHARS = 50_000
"""What was pasted without a word of the owner's stands in the message itself, up to this."""
_SILENT = frozenset({"token_budget", "flag", "text", "voice_note"})


def read(archive: Archive) -> Iterator[Item]:
    """All that the export holds, as it comes."""
    for name in archive.talks:
        for number, found in enumerate(objects(archive, name, _IGNORED), 1):
            if isinstance(found, Broken):
                yield Left(found.name, found.why, whole="talk")
            else:
                yield _talk(found, number)
    yield from projects(archive)
    for name in archive.named(r"users\.json"):
        yield Left(name, "Account data: not needed here.", is_fault=False)


def is_claude(head: str) -> bool:
    """Whether a file of conversations that begins so is Claude's."""
    return '"chat_messages"' in head


def _talk(found: dict[str, object], number: int) -> Talk | Left:
    title = named(found)
    messages = [mapping(one) for one in listed(found.get("chat_messages"))]
    if not messages:
        return Left(
            title or f"conversation {number:,}", "It holds no messages.", is_fault=False, whole="talk"
        )
    lost: Counter[str] = Counter()
    said = [_turn(one, place, lost) for place, one in enumerate(messages)]
    turns = _in_order(messages, said, lost)
    if not turns:
        return Left(
            title or f"conversation {number:,}", "Nothing is said in it.", is_fault=bool(lost), whole="talk"
        )
    current = text(found.get("current_leaf_message_uuid"))
    return Talk(
        key=text(found.get("uuid")) or text(found.get("id")) or f"nameless:{turns[0].key}",
        title=title,
        turns=tuple(turns),
        created_at=moment(found.get("created_at")),
        updated_at=moment(found.get("updated_at")),
        current=current if any(turn.key == current for turn in turns) else turns[-1].key,
        lost=tuple(f"{count:,} × {what}" if count > 1 else what for what, count in lost.items()),
    )


def _turn(message: dict[str, object], place: int, lost: Counter[str]) -> Turn | None:
    """A message; None for one that says nothing at all."""
    key = text(message.get("uuid")) or f"message {place}"
    role = "user" if text(message.get("sender")) in {"human", "user"} else "assistant"
    pieces = _pieces(message, lost)
    files, pasted = _files(message, key, lost)
    if role == "user" and pasted and not any(isinstance(one, Words) and one.text.strip() for one in pieces):
        pieces = (Words(pasted[:_FOLDED_CHARS], foreign=True),)
    if not pieces and not files:
        return None
    return Turn(key, None, role, pieces or (Words(""),), moment(message.get("created_at")), files)


def _in_order(
    messages: Sequence[dict[str, object]], found: Sequence[Turn | None], lost: Counter[str]
) -> list[Turn]:
    """The turns, parents first. Where no message names another, each hangs on the one before it."""
    before = [text(one.get("uuid")) for one in messages]
    parents = {id: text(one.get("parent_message_uuid")) for id, one in zip(before, messages, strict=True)}
    turns = [turn for turn in found if turn is not None]
    if parents.keys().isdisjoint(parents.values()):
        keys = [None, *(turn.key for turn in turns)]
        return [replace(turn, parent=key) for turn, key in zip(turns, keys, strict=False)]
    saying = {turn.key for turn in turns}
    ordered = parents_first(
        [replace(turn, parent=_saying_before(turn.key, parents, saying)) for turn in turns]
    )
    if missing := len(turns) - len(ordered):
        lost["message that hangs on no other"] += missing
    return ordered


def _saying_before(id: str, parents: Mapping[str, str], saying: set[str]) -> str | None:
    """The nearest message before one that says something."""
    seen: set[str] = set()
    while (id := parents.get(id, "")) in parents and id not in seen:
        if id in saying:
            return id
        seen.add(id)
    return None


def _pieces(message: dict[str, object], lost: Counter[str]) -> tuple[Words | Used, ...]:
    """What the blocks of a message say, a call together with its result."""
    pieces: list[Words | Used] = []
    calls: dict[str, int] = {}
    thoughts: list[str] = []
    for block in map(mapping, listed(message.get("content"))):
        kind, said = text(block.get("type")), text(block.get("text"))
        if kind == "thinking":
            thoughts.append(text(block.get("thinking")))
        elif kind.endswith("tool_use"):
            calls[text(block.get("id"))] = len(pieces)
            name = text(block.get("name")) or "tool"
            pieces.append(Used(name, msgspec.json.encode(block.get("input") or {}).decode(), None))
        elif kind.endswith("tool_result"):
            _answer(pieces, calls, block)
        elif said.strip():
            pieces.append(Words(said, "\n\n".join(thoughts)))
            thoughts = []
        elif kind not in _SILENT:
            lost[f"part of the kind {one_line(kind or 'unknown', 40)}"] += 1
    if not pieces and (said := text(message.get("text"))).strip():
        pieces.append(Words(said, "\n\n".join(thoughts)))
    elif any(thoughts):
        pieces.append(Words("", "\n\n".join(thoughts)))
    return tuple(pieces)


def _answer(pieces: list[Words | Used], calls: Mapping[str, int], block: dict[str, object]) -> None:
    """Put a result to its call; one without a call becomes a call of its own."""
    content = block.get("content")
    told = "\n\n".join(
        text(part) if isinstance(part, str) else text(mapping(part).get("text")) for part in listed(content)
    )
    told, failed = told or text(content), block.get("is_error") is True
    place = calls.get(text(block.get("tool_use_id")))
    asked = pieces[place] if place is not None else None
    if place is not None and isinstance(asked, Used) and asked.result is None:
        pieces[place] = replace(asked, result=told, failed=failed)
    else:
        pieces.append(Used(text(block.get("name")) or "tool", "{}", told, failed=failed))


def _files(message: dict[str, object], key: str, lost: Counter[str]) -> tuple[tuple[Given, ...], str]:
    """What was attached, as far as the export tells of it, and what of it was pasted without a name."""
    files: list[Given] = []
    pasted: list[str] = []
    for place, one in enumerate(map(mapping, listed(message.get("attachments")))):
        name, content = one_line(text(one.get("file_name")), 120), text(one.get("extracted_content"))
        if not content.strip():
            lost["attachment without its text"] += 1
            continue
        if not name:
            pasted.append(content)
        files.append(Given(f"{key}:{place}", _as_text(name), "text/plain", text=content))
    for one in map(mapping, (*listed(message.get("files")), *listed(message.get("files_v2")))):
        name = one_line(text(one.get("file_name")), 80)
        if name and all(file.name != _as_text(name) for file in files):
            lost["file that the export only names"] += 1
    return tuple(files), "\n\n".join(pasted)


def _as_text(name: str) -> str:
    """What a file's text is called: the text of a PDF is none."""
    if not name:
        return "pasted.txt"
    guessed = mimetypes.guess_type(name)[0] or "text/plain"
    return name if guessed.startswith("text/") or guessed.endswith(("json", "xml")) else f"{name}.txt"
