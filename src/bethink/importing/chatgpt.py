"""Conversations as ChatGPT exports them: a tree of nodes each (`mapping`), in one file or in numbered ones.

The shape is nowhere described by who makes it; it is read from what public
parsers of it know up to 2026, and whatever is new is passed over or told.
"""

from __future__ import annotations

import mimetypes
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from bethink.search.analysis import word_set

if TYPE_CHECKING:
    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

_FILE_ID = re.compile(r"file[-_](?!service\b)[A-Za-z0-9]+")
"""Messages name files by `file-service://file-…` or `sediment://file_…`, their members begin with that."""
_MARKS = re.compile("\ue200[^\ue201]{0,500}\ue201|[\ue000-\uf8ff]|\u3010\\d+[^\u3011]{0,200}\u3011")
"""Citations as the page of ChatGPT finds them in its texts: characters of private use, and 【4†source】."""
_UNSEEN = frozenset({"user_editable_context", "model_editable_context", "reasoning_recap"})
_CALLS = frozenset({"code", "text", "multimodal_text"})
_TO_ALL = frozenset({"", "all", "assistant"})
_MAX_RESULT = 100_000
_MAX_NAMES_BYTES = 8_000_000
_PICTURES = "picture that is not in the export"
_SOUNDS = "recording (its transcript is imported if there is one)"
ROOT = "imported/chatgpt"
_IGNORED = word_set("""
    aggregate_result content_references search_result_groups image_results moderation_results safe_urls
    blocked_urls finish_details message_children children status end_turn weight channel model_slug
    default_model_slug parent_id request_id timestamp_ message_type citations
""")
"""Members that repeat what is said elsewhere, or that nobody asks for: of each message there are many."""
_NEW = "New chat"


def read(archive: Archive) -> Iterator[Item]:
    """All that the export holds, as it comes."""
    assets = _Assets.of(archive)
    instructions: set[str] = set()
    for name in archive.conversation_files:
        for number, found in enumerate(objects(archive, name, _IGNORED), 1):
            if isinstance(found, Skipped):
                yield found
                continue
            yield from _instructions(found, instructions)
            yield _conversation(found, assets, number=number)
    yield from _textdocs(archive)
    for name in archive.named(r"(user|group_chats|shopping|sora|user_settings)\.json"):
        yield Skipped(name, "Account data and other products: not needed here.", is_fault=False)


def is_chatgpt(head: str) -> bool:
    """Whether a file of conversations that begins so is ChatGPT's."""
    return '"mapping"' in head


def _conversation(
    found: dict[str, object], assets: _Assets, *, number: int
) -> ExportedConversation | Skipped:
    title = named(found)
    key = text(found.get("conversation_id")) or text(found.get("id"))
    nodes = {id: mapping(node) for id, node in mapping(found.get("mapping")).items()}
    if not nodes:
        return Skipped(
            title or f"conversation {number:,}", "It contains no messages.", is_fault=False, whole="talk"
        )
    tree = _MessageTree(nodes, assets)
    turns = tree.turns()
    if not turns:
        why = "None of its messages can be read." if tree.lost else "Its messages have no text."
        return Skipped(title or f"conversation {number:,}", why, is_fault=bool(tree.lost), whole="talk")
    current = text(found.get("current_node"))
    return ExportedConversation(
        key=key or f"nameless:{turns[0].key}",
        title="" if title == _NEW else title,
        messages=tuple(turns),
        created_at=moment(found.get("create_time")),
        updated_at=moment(found.get("update_time")),
        current=tree.became.get(current),
        archived=found.get("is_archived") is True,
        lost=tree.lost,
    )


class _MessageTree:
    """The nodes of one conversation made into turns; what people never saw is left out of the line."""

    def __init__(self, nodes: dict[str, dict[str, object]], assets: _Assets) -> None:
        self.nodes = nodes
        self.assets = assets
        self.lost: Counter[str] = Counter()
        self.became: dict[str, str] = {}
        """By a node's id the key of the turn that holds it, or that stands before it."""
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        self._contents: dict[str, _MessageText | None] = {}

    def turns(self) -> list[ExportedMessage]:
        """The turns, parents first, siblings in the order of the export."""
        roots: list[str] = []
        for id, node in self.nodes.items():
            parent = text(node.get("parent"))
            if parent in self.nodes and parent != id:
                self._children[parent].append(id)
            else:
                roots.append(id)
        turns: list[ExportedMessage] = []
        taken: set[str] = set()
        waiting: list[tuple[str, str | None, str]] = [(root, None, "") for root in reversed(roots)]
        while waiting:
            id, parent, reasoning = waiting.pop()
            nodes = [id]
            turn, reasoning = self._turn(nodes, parent, reasoning=reasoning)
            if turn is not None:
                turns.append(turn)
                parent = turn.key
            taken.update(nodes)
            if parent is not None:
                self.became.update(dict.fromkeys(nodes, parent))
            waiting += [(child, parent, reasoning) for child in reversed(self._children[nodes[-1]])]
        if missing := len(self.nodes) - len(taken):
            self.lost["message without a parent"] += missing
        return turns

    def _turn(
        self, nodes: list[str], parent: str | None, *, reasoning: str
    ) -> tuple[ExportedMessage | None, str]:
        """What a node becomes with those that go straight on from it, which are added to `nodes`.

        Beside it the thoughts that belong to what follows.
        """
        id = nodes[0]
        content = self._content(id)
        if content is None:
            return None, reasoning
        if content.thoughts:
            return None, "\n\n".join(filter(None, (reasoning, content.thoughts)))
        pieces: tuple[TextPart | ToolExchange, ...] = (TextPart(content.text, reasoning),)
        files = content.files
        if content.role == "tool":
            used, files = self._used(content.name, "{}", nodes=nodes, answer=content), ()
            pieces = (TextPart("", reasoning), used) if reasoning else (used,)
        elif content.calls:
            answer = self._answer(id, nodes)
            used = self._used(content.calls, _arguments(content), nodes=nodes, answer=answer)
            pieces = (TextPart("", reasoning), used) if reasoning else (used,)
        role = "user" if content.role == "user" else "assistant"
        at = moment(mapping(self.nodes[id].get("message")).get("create_time"))
        return ExportedMessage(id, parent, role, pieces, at, files), ""

    def _answer(self, id: str, nodes: list[str]) -> _MessageText | None:
        """What a tool says in the one node behind a node; that is added to `nodes`."""
        children = self._children[id]
        content = self._content(children[0]) if len(children) == 1 else None
        if content is None or content.role != "tool":
            return None
        nodes.append(children[0])
        return content

    def _used(
        self, name: str, arguments: str, *, nodes: list[str], answer: _MessageText | None
    ) -> ToolExchange:
        """A call with all that came of it in however many nodes."""
        if answer is None:
            return ToolExchange(name, arguments, None)
        first, texts, files, failed = answer.name, list[str](), list[ExportedFile](), False
        while answer is not None:
            texts.append(answer.text)
            files += answer.files
            failed = failed or answer.failed
            before = len(nodes)
            answer = self._answer(nodes[-1], nodes)
            if answer is not None and answer.name != first:
                del nodes[before:]
                answer = None
        return ToolExchange(name, arguments, "\n\n".join(filter(None, texts)), failed, tuple(files))

    def _content(self, id: str) -> _MessageText | None:
        if id not in self._contents:
            message = mapping(self.nodes[id].get("message"))
            content = content_of(message, self.assets) if message else None
            if content is not None:
                self.lost.update(content.lost)
                if not (content.text.strip() or content.files or content.calls or content.thoughts):
                    content = None
            self._contents[id] = content
        return self._contents[id]


def _arguments(content: _MessageText) -> str:
    """What a tool was asked, as JSON: as it was written where that is an object, else under `code`."""
    try:
        parsed: object = msgspec.json.decode(content.text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        parsed = None
    if isinstance(parsed, dict):
        return content.text
    return msgspec.json.encode({"code": content.text} if content.text else {}).decode()


def _instructions(found: dict[str, object], known: set[str]) -> Iterator[ExportedPage]:
    """A page for each wording of what the owner told about themselves and wants of answers."""
    for node in mapping(found.get("mapping")).values():
        message = mapping(mapping(node).get("message"))
        content = mapping(message.get("content"))
        older = mapping(mapping(message.get("metadata")).get("user_context_message_data"))
        about = text(content.get("user_profile")) or text(older.get("about_user_message"))
        answers = text(content.get("user_instructions")) or text(older.get("about_model_message"))
        said = "\n\n".join(
            f"## {name}\n\n{one.strip()}"
            for name, one in (("About me", about), ("How to answer", answers))
            if one.strip()
        )
        if not said or said in known:
            continue
        known.add(said)
        number = "" if len(known) == 1 else f"_{len(known)}"
        yield ExportedPage(
            key=f"custom instructions{number}",
            path=f"{ROOT}/custom_instructions{number}.md",
            title="Custom instructions",
            text=f"# Custom instructions\n\nWhat ChatGPT was told of me.\n\n{said}\n",
            at=moment(message.get("create_time")),
        )


def _textdocs(archive: Archive) -> Iterator[Item]:
    """Documents of the canvas, where an export has them as files."""
    names = UniquePaths()
    for name in archive.named(r"textdocs/.*\.json"):
        for found in objects(archive, name, alone=True):
            if isinstance(found, Skipped):
                yield found
                continue
            said = text(found.get("content")) or text(found.get("text"))
            title = one_line(text(found.get("title")) or text(found.get("name")) or "Document", 80)
            if said.strip():
                key = text(found.get("id")) or name
                path = names.free(f"{ROOT}/documents/{file_name(title)}.md")
                yield ExportedPage(key, path, title, f"# {title}\n\n{said}\n", untrusted=True)


@dataclass(frozen=True, slots=True)
class _MessageText:
    """What a message says. `calls` names the tool that it asks, `name` the one that it comes from."""

    role: str
    text: str = ""
    name: str = ""
    calls: str = ""
    thoughts: str = ""
    failed: bool = False
    files: tuple[ExportedFile, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Assets:
    """The export's files by the ids under which messages name them."""

    members: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def of(cls, archive: Archive) -> _Assets:

        members: dict[str, str] = {}
        for entry in archive.members:
            if match := _FILE_ID.search(entry.rpartition("/")[2]):
                members.setdefault(match[0], entry)
        names: dict[str, str] = {}
        for name in archive.named(r"conversation_asset_file_names\.json"):
            named_files = archive.small_json(name, _MAX_NAMES_BYTES)
            names |= {key: text(value) for key, value in named_files.items() if text(value)}
        return cls(members, names)

    def file(
        self, pointer: str, name: str = "", media_type: str = "", *, kind: str = "application/octet-stream"
    ) -> ExportedFile | None:
        """The file that a message names; None where the export has none. `kind` is its place's."""
        match = _FILE_ID.search(pointer)
        member = self.members.get(match[0]) if match else None
        if match is None or member is None:
            return None
        base = member.rpartition("/")[2]
        called = one_line(name or self.names.get(base, "") or base, 120)
        guessed = media_type or mimetypes.guess_type(called)[0] or kind
        if not mimetypes.guess_type(called)[0]:
            called = f"{called.removesuffix('.dat')}{mimetypes.guess_extension(guessed) or ''}"
        return ExportedFile(match[0], called, guessed, member)


def content_of(message: dict[str, object], assets: _Assets) -> _MessageText | None:
    """What the message says; None for what its people never saw."""
    role = text(mapping(message.get("author")).get("role"))
    metadata, content = mapping(message.get("metadata")), mapping(message.get("content"))
    kind = text(content.get("content_type"))
    if metadata.get("is_visually_hidden_from_conversation") is True or kind in _UNSEEN:
        return None
    if role not in {"user", "assistant", "tool"}:
        return None
    if kind == "thoughts":
        thoughts = map(mapping, listed(content.get("thoughts")))
        words = (text(one.get("content")) or text(one.get("summary")) for one in thoughts)
        return _MessageText(role, thoughts="\n\n".join(filter(None, words))) if role == "assistant" else None
    said, files, lost = _parts(content, kind, assets)
    attached, missing = _attachments(metadata, assets, {one.key for one in files})
    # An attachment says what its owner called the picture that a part shows.
    files = tuple({one.key: one for one in (*files, *attached)}.values())
    lost = (*lost, *missing)
    if role == "tool":
        name = text(mapping(message.get("author")).get("name")) or "tool"
        return _MessageText(
            role, said[:_MAX_RESULT], name, failed=kind == "system_error", files=files, lost=lost
        )
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in _TO_ALL and kind in _CALLS:
        asked = text(content.get("text")).strip() or said
        return _MessageText(role, asked, calls=recipient, files=files, lost=lost)
    if role == "assistant":
        said = _MARKS.sub("", said)
    return _MessageText(role, said, files=files, lost=lost)


def _parts(
    content: dict[str, object], kind: str, assets: _Assets
) -> tuple[str, tuple[ExportedFile, ...], tuple[str, ...]]:
    """A content's text, its files, and what of it is not in the export."""
    if (plain := _PLAIN.get(kind)) is not None:
        return plain(content), (), ()
    said: list[str] = []
    files: list[ExportedFile] = []
    lost: list[str] = []
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            said.append(text(part))
            continue
        members = mapping(part)
        of_part, audio = text(members.get("content_type")), mapping(members.get("audio_asset_pointer"))
        if pointer := text(members.get("asset_pointer")) or text(audio.get("asset_pointer")):
            file = assets.file(pointer, kind="image/png") if "image" in of_part else None
            if file is not None:
                files.append(file)
            else:
                lost.append(_SOUNDS if "audio" in of_part else _PICTURES)
        elif (words := text(members.get("text"))) or not members:
            said.append(words)
        else:
            lost.append(f"part of the kind {one_line(of_part or 'unknown', 40)}")
    if not said and not files and not lost:
        said.append(next((text(content.get(key)) for key in ("text", "result") if content.get(key)), ""))
        if not said[0] and kind not in {"text", "multimodal_text", ""}:
            lost.append(f"message of the kind {one_line(kind, 40)}")
    return "\n\n".join(filter(None, (one.strip("\n") for one in said))), tuple(files), tuple(lost)


def _attachments(
    metadata: dict[str, object], assets: _Assets, known: set[str]
) -> tuple[tuple[ExportedFile, ...], tuple[str, ...]]:
    files: list[ExportedFile] = []
    lost: list[str] = []
    for one in map(mapping, listed(metadata.get("attachments"))):
        id, name = text(one.get("id")), text(one.get("name"))
        file = assets.file(id, name, text(one.get("mime_type")) or text(one.get("mimeType")))
        if file is None:
            match = _FILE_ID.search(id)
            if match is None or match[0] not in known:
                lost.append(f"file {one_line(name, 80)!r}, which is not in the export" if name else "file")
        else:
            files.append(file)
    return tuple(files), tuple(lost)


def _fenced(content: dict[str, object]) -> str:
    code, language = text(content.get("text")), text(content.get("language"))
    return fenced(code, "" if language == "unknown" else language) if code.strip() else ""


def _page(content: dict[str, object]) -> str:
    head = " ".join(filter(None, (text(content.get("title")), text(content.get("url")))))
    said = text(content.get("text")) or text(content.get("snippet"))
    return "\n".join(filter(None, (head, said)))


_PLAIN: dict[str, Callable[[dict[str, object]], str]] = {
    "code": _fenced,
    "execution_output": lambda content: text(content.get("text")),
    "tether_quote": _page,
    "sonic_webpage": _page,
    "tether_browsing_display": lambda content: text(content.get("result")) or text(content.get("summary")),
    "tether_browsing_code": _fenced,
    "system_error": lambda content: ": ".join(
        filter(None, (text(content.get("name")), text(content.get("text"))))
    ),
}
