"""Conversations, projects and memories as Claude exports them.

`conversations.json` is a list; messages of newer exports name the one before
(`parent_message_uuid`), those of older ones stand in their order. Read from what
public parsers know of it up to 2026; whatever is new is passed over or told.
"""

from __future__ import annotations

import mimetypes
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.items import (
    ExportedConversation,
    ExportedFile,
    ExportedMessage,
    ExportedPage,
    Skipped,
    TextPart,
    ToolExchange,
    UniquePaths,
    fenced,
    file_name,
    listed,
    mapping,
    moment,
    one_line,
    text,
)
from bethink.importing.json_stream import named, objects

if TYPE_CHECKING:
    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

ROOT = "imported/claude"
_PROSE = ("md", "markdown", "txt", "")
_PROJECTS = r"(projects|projects/[^/]+)\.json"
_MEMORIES = r"(memories|memories/[^/]+)\.json"
_IGNORED = frozenset({"account", "citations", "start_timestamp", "stop_timestamp", "display_content"})
_FOLDED_CHARS = 50_000
"""What was pasted without a word of the owner's stands in the message itself, up to this."""
_SILENT = frozenset({"token_budget", "flag", "text", "voice_note"})


def read(archive: Archive) -> Iterator[Item]:
    """All that the export holds, as it comes."""
    for name in archive.conversation_files:
        for number, found in enumerate(objects(archive, name, _IGNORED), 1):
            if isinstance(found, Skipped):
                yield found
            else:
                yield _conversation(found, number)
    yield from projects(archive)
    for name in archive.named(r"users\.json"):
        yield Skipped(name, "Account data: not needed here.", is_fault=False)


def is_claude(head: str) -> bool:
    """Whether a file of conversations that begins so is Claude's."""
    return '"chat_messages"' in head


def _conversation(found: dict[str, object], number: int) -> ExportedConversation | Skipped:
    title = named(found)
    messages = [mapping(one) for one in listed(found.get("chat_messages"))]
    if not messages:
        return Skipped(
            title or f"conversation {number:,}", "It contains no messages.", is_fault=False, whole="talk"
        )
    lost: Counter[str] = Counter()
    said = [_turn(one, place, lost) for place, one in enumerate(messages)]
    turns = _in_order(messages, said, lost)
    if not turns:
        return Skipped(
            title or f"conversation {number:,}",
            "Its messages have no text.",
            is_fault=bool(lost),
            whole="talk",
        )
    current = text(found.get("current_leaf_message_uuid"))
    return ExportedConversation(
        key=text(found.get("uuid")) or text(found.get("id")) or f"nameless:{turns[0].key}",
        title=title,
        messages=tuple(turns),
        created_at=moment(found.get("created_at")),
        updated_at=moment(found.get("updated_at")),
        current=current if any(turn.key == current for turn in turns) else turns[-1].key,
        lost=lost,
    )


def _turn(message: dict[str, object], place: int, lost: Counter[str]) -> ExportedMessage | None:
    """A message; None for one that says nothing at all."""
    key = text(message.get("uuid")) or f"message {place}"
    role = "user" if text(message.get("sender")) in {"human", "user"} else "assistant"
    pieces = _pieces(message, lost)
    files, pasted = _files(message, key, lost)
    if (
        role == "user"
        and pasted
        and not any(isinstance(one, TextPart) and one.text.strip() for one in pieces)
    ):
        pieces = (TextPart(pasted[:_FOLDED_CHARS], foreign=True),)
    if not pieces and not files:
        return None
    return ExportedMessage(
        key, None, role, pieces or (TextPart(""),), moment(message.get("created_at")), files
    )


def _in_order(
    messages: Sequence[dict[str, object]], found: Sequence[ExportedMessage | None], lost: Counter[str]
) -> list[ExportedMessage]:
    """The turns, parents first. Where no message names another, each hangs on the one before it."""
    before = [text(one.get("uuid")) for one in messages]
    parents = {id: text(one.get("parent_message_uuid")) for id, one in zip(before, messages, strict=True)}
    turns = [turn for turn in found if turn is not None]
    if parents.keys().isdisjoint(parents.values()):
        keys = [None, *(turn.key for turn in turns)]
        return [replace(turn, parent=key) for turn, key in zip(turns, keys, strict=False)]
    saying = {turn.key for turn in turns}
    ordered = _parents_first(
        [replace(turn, parent=_saying_before(turn.key, parents, saying)) for turn in turns]
    )
    if missing := len(turns) - len(ordered):
        lost["message without a parent"] += missing
    return ordered


def _parents_first(turns: Sequence[ExportedMessage]) -> list[ExportedMessage]:
    """The turns in their order, none before its parent; those in a circle are left out."""
    children: defaultdict[str | None, list[ExportedMessage]] = defaultdict(list)
    keys = {turn.key for turn in turns}
    for turn in turns:
        children[turn.parent if turn.parent in keys else None].append(turn)
    ordered: list[ExportedMessage] = []
    taken: set[str] = set()
    waiting = children[None][::-1]
    while waiting:
        turn = waiting.pop()
        if turn.key in taken:
            continue
        taken.add(turn.key)
        ordered.append(turn)
        waiting += children[turn.key][::-1]
    return ordered


def _saying_before(id: str, parents: Mapping[str, str], saying: set[str]) -> str | None:
    """The nearest message before one that says something."""
    passed: set[str] = set()
    while (id := parents.get(id, "")) in parents and id not in passed:
        if id in saying:
            return id
        passed.add(id)
    return None


def _pieces(message: dict[str, object], lost: Counter[str]) -> tuple[TextPart | ToolExchange, ...]:
    """What the blocks of a message say, a call together with its result."""
    pieces: list[TextPart | ToolExchange] = []
    calls: dict[str, int] = {}
    thoughts: list[str] = []
    for block in map(mapping, listed(message.get("content"))):
        kind, said = text(block.get("type")), text(block.get("text"))
        if kind == "thinking":
            thoughts.append(text(block.get("thinking")))
        elif kind.endswith("tool_use"):
            calls[text(block.get("id"))] = len(pieces)
            name = text(block.get("name")) or "tool"
            pieces.append(ToolExchange(name, msgspec.json.encode(block.get("input") or {}).decode(), None))
        elif kind.endswith("tool_result"):
            _answer(pieces, calls, block)
        elif said.strip():
            pieces.append(TextPart(said, "\n\n".join(thoughts)))
            thoughts = []
        elif kind not in _SILENT:
            lost[f"part of the kind {one_line(kind or 'unknown', 40)}"] += 1
    if not pieces and (said := text(message.get("text"))).strip():
        pieces.append(TextPart(said, "\n\n".join(thoughts)))
    elif any(thoughts):
        pieces.append(TextPart("", "\n\n".join(thoughts)))
    return tuple(pieces)


def _answer(
    pieces: list[TextPart | ToolExchange], calls: Mapping[str, int], block: dict[str, object]
) -> None:
    """Put a result to its call; one without a call becomes a call of its own."""
    content = block.get("content")
    result = "\n\n".join(
        text(part) if isinstance(part, str) else text(mapping(part).get("text")) for part in listed(content)
    )
    result, failed = result or text(content), block.get("is_error") is True
    place = calls.get(text(block.get("tool_use_id")))
    asked = pieces[place] if place is not None else None
    if place is not None and isinstance(asked, ToolExchange) and asked.result is None:
        pieces[place] = replace(asked, result=result, failed=failed)
    else:
        pieces.append(ToolExchange(text(block.get("name")) or "tool", "{}", result, failed=failed))


def _files(message: dict[str, object], key: str, lost: Counter[str]) -> tuple[tuple[ExportedFile, ...], str]:
    """What was attached, as far as the export tells of it, and what of it was pasted without a name."""
    files: list[ExportedFile] = []
    pasted: list[str] = []
    for place, one in enumerate(map(mapping, listed(message.get("attachments")))):
        name, content = one_line(text(one.get("file_name")), 120), text(one.get("extracted_content"))
        if not content.strip():
            lost["attachment without its text"] += 1
            continue
        if not name:
            pasted.append(content)
        files.append(ExportedFile(f"{key}:{place}", _as_text(name), "text/plain", text=content))
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


def projects(archive: Archive) -> Iterator[Item]:
    """A page a project, a page a document, a page a memory."""
    names, folders = UniquePaths(), dict[str, str]()
    for pattern, pages in ((_PROJECTS, _project), (_MEMORIES, _memories)):
        for member in archive.named(pattern):
            for found in objects(archive, member, alone=True):
                if isinstance(found, Skipped):
                    yield found
                else:
                    yield from pages(found, names, folders)


def _project(found: dict[str, object], names: UniquePaths, folders: dict[str, str]) -> Iterator[Item]:
    title = one_line(text(found.get("name")) or "Untitled project", 120)
    folder = names.free(f"{ROOT}/projects/{file_name(title)}")
    key = text(found.get("uuid")) or folder
    folders[key] = folder
    docs = list(_documents(found, folder, names))
    sections = [f"# {title}"]
    for heading, member in (("About", "description"), ("Instructions", "prompt_template")):
        if said := text(found.get(member)).strip():
            sections.append(f"## {heading}\n\n{said}")
    if docs:
        sections.append("## Documents\n\n" + "\n".join(f"- [[{doc.path}|{doc.title}]]" for doc in docs))
    if len(sections) > 1:
        page = "\n\n".join(sections) + "\n"
        yield ExportedPage(
            f"project:{key}", f"{folder}/about.md", title, page, moment(found.get("updated_at"))
        )
    yield from docs


def _documents(found: dict[str, object], folder: str, names: UniquePaths) -> Iterator[ExportedPage]:
    for place, one in enumerate(map(mapping, listed(found.get("docs")))):
        content = text(one.get("content"))
        if not content.strip():
            continue
        name = one_line(text(one.get("filename")) or f"document {place + 1}", 120)
        stem, _, ending = name.rpartition(".") if "." in name else (name, "", "")
        said = content if ending.lower() in _PROSE else f"# {name}\n\n{fenced(content, ending.lower())}\n"
        yield ExportedPage(
            key=f"document:{text(one.get('uuid')) or f'{folder}:{place}'}",
            path=names.free(f"{folder}/{file_name(stem or name)}.md"),
            title=name,
            text=said if said.endswith("\n") else said + "\n",
            at=moment(one.get("created_at")),
        )


def _memories(
    found: dict[str, object], names: UniquePaths, folders: dict[str, str]
) -> Iterator[ExportedPage]:
    account = text(found.get("account_uuid"))
    if said := text(found.get("conversations_memory")).strip():
        path = names.free(f"{ROOT}/memory.md")
        yield ExportedPage(f"memory:{account}", path, "Memory", f"# What Claude remembered\n\n{said}\n")
    for project, memory in mapping(found.get("project_memories")).items():
        if said := text(memory).strip():
            path = names.free(f"{folders.get(project, f'{ROOT}/projects/{file_name(project)}')}/memory.md")
            yield ExportedPage(f"memory:{project}", path, "Memory", f"# What Claude remembered\n\n{said}\n")
    for place, one in enumerate(map(mapping, listed(found.get("memory_files")))):
        name = one_line(text(one.get("path")) or text(one.get("name")) or f"memory {place + 1}", 120)
        if said := text(one.get("content")).strip():
            path = names.free(f"{ROOT}/memories/{file_name(name.rpartition('/')[2].removesuffix('.md'))}.md")
            yield ExportedPage(f"memory:{account}:{name}", path, name, said + "\n")
