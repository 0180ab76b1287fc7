"""Conversations as ChatGPT exports them: a tree of nodes each (`mapping`), in one file or in numbered ones.

The shape is nowhere described by who makes it; it is read from what public
parsers of it know up to 2026, and whatever is new is passed over or told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.chatgpt_content import Assets, Content, content_of
from bethink.importing.fields import mapping, moment, one_line, text
from bethink.importing.items import Given, Left, Sheet, Talk, Turn, Used, Words
from bethink.importing.json_stream import Broken, named
from bethink.importing.names import Names, file_name
from bethink.importing.objects import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

ROOT = "imported/chatgpt"
_IGNORED = frozenset(
    {
        "aggregate_result",
        "content_references",
        "search_result_groups",
        "image_results",
        "moderation_results",
        "safe_urls",
        "blocked_urls",
        "finish_details",
        "message_children",
        "children",
        "status",
        "end_turn",
        "weight",
        "channel",
        "model_slug",
        "default_model_slug",
        "parent_id",
        "request_id",
        "timestamp_",
        "message_type",
        "citations",
    }
)
"""Members that repeat what is said elsewhere, or that nobody asks for: of each message there are many."""
_NEW = "New chat"


def read(archive: Archive) -> Iterator[Item]:
    """All that the export holds, as it comes."""
    assets = Assets.of(archive)
    told: set[str] = set()
    for name in archive.talks:
        for number, found in enumerate(objects(archive, name, _IGNORED), 1):
            if isinstance(found, Broken):
                yield Left(found.name, found.why, whole="talk")
                continue
            yield from _instructions(found, told)
            yield _talk(found, assets, number=number)
    yield from _textdocs(archive)
    for name in archive.named(r"(user|group_chats|shopping|sora|user_settings)\.json"):
        yield Left(name, "Account data and other products: not needed here.", is_fault=False)


def is_chatgpt(head: str) -> bool:
    """Whether a file of conversations that begins so is ChatGPT's."""
    return '"mapping"' in head


def _talk(found: dict[str, object], assets: Assets, *, number: int) -> Talk | Left:
    title = named(found)
    key = text(found.get("conversation_id")) or text(found.get("id"))
    nodes = {id: mapping(node) for id, node in mapping(found.get("mapping")).items()}
    if not nodes:
        return Left(
            title or f"conversation {number:,}", "It holds no messages.", is_fault=False, whole="talk"
        )
    tree = _Tree(nodes, assets)
    turns = tree.turns()
    if not turns:
        why = "None of its messages can be read." if tree.lost else "Nothing is said in it."
        return Left(title or f"conversation {number:,}", why, is_fault=bool(tree.lost), whole="talk")
    current = text(found.get("current_node"))
    return Talk(
        key=key or f"nameless:{turns[0].key}",
        title="" if title == _NEW else title,
        turns=tuple(turns),
        created_at=moment(found.get("create_time")),
        updated_at=moment(found.get("update_time")),
        current=tree.became.get(current),
        archived=found.get("is_archived") is True,
        lost=tuple(f"{count:,} × {what}" if count > 1 else what for what, count in tree.lost.items()),
    )


class _Tree:
    """The nodes of one conversation made into turns; what people never saw is left out of the line."""

    def __init__(self, nodes: dict[str, dict[str, object]], assets: Assets) -> None:
        self.nodes = nodes
        self.assets = assets
        self.lost: Counter[str] = Counter()
        self.became: dict[str, str] = {}
        """By a node's id the key of the turn that holds it, or that stands before it."""
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        self._contents: dict[str, Content | None] = {}

    def turns(self) -> list[Turn]:
        """The turns, parents first, siblings in the order of the export."""
        roots: list[str] = []
        for id, node in self.nodes.items():
            parent = text(node.get("parent"))
            if parent in self.nodes and parent != id:
                self._children[parent].append(id)
            else:
                roots.append(id)
        turns: list[Turn] = []
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
            self.lost["message that hangs on no other"] += missing
        return turns

    def _turn(self, nodes: list[str], parent: str | None, *, reasoning: str) -> tuple[Turn | None, str]:
        """What a node becomes with those that go straight on from it, which are added to `nodes`.

        Beside it the thoughts that belong to what follows.
        """
        id = nodes[0]
        content = self._content(id)
        if content is None:
            return None, reasoning
        if content.thoughts:
            return None, "\n\n".join(filter(None, (reasoning, content.thoughts)))
        pieces: tuple[Words | Used, ...] = (Words(content.text, reasoning),)
        files = content.files
        if content.role == "tool":
            used, files = self._used((content.name, "{}"), nodes, content), ()
            pieces = (Words("", reasoning), used) if reasoning else (used,)
        elif content.calls:
            used = self._used((content.calls, _arguments(content)), nodes, self._answer(id, nodes))
            pieces = (Words("", reasoning), used) if reasoning else (used,)
        role = "user" if content.role == "user" else "assistant"
        at = moment(mapping(self.nodes[id].get("message")).get("create_time"))
        return Turn(id, parent, role, pieces, at, files), ""

    def _answer(self, id: str, nodes: list[str]) -> Content | None:
        """What a tool says in the one node behind a node; that is added to `nodes`."""
        children = self._children[id]
        content = self._content(children[0]) if len(children) == 1 else None
        if content is None or content.role != "tool":
            return None
        nodes.append(children[0])
        return content

    def _used(self, call: tuple[str, str], nodes: list[str], told: Content | None) -> Used:
        """A call, a name and its arguments, with all that came of it in however many nodes."""
        if told is None:
            return Used(*call, None)
        first, texts, files, failed = told.name, list[str](), list[Given](), False
        while told is not None:
            texts.append(told.text)
            files += told.files
            failed = failed or told.failed
            before = len(nodes)
            told = self._answer(nodes[-1], nodes)
            if told is not None and told.name != first:
                del nodes[before:]
                told = None
        return Used(*call, "\n\n".join(filter(None, texts)), failed, tuple(files))

    def _content(self, id: str) -> Content | None:
        if id not in self._contents:
            message = mapping(self.nodes[id].get("message"))
            content = content_of(message, self.assets) if message else None
            if content is not None:
                self.lost.update(content.lost)
                if not content.says_something:
                    content = None
            self._contents[id] = content
        return self._contents[id]


def _arguments(content: Content) -> str:
    """What a tool was asked, as JSON: as it was written where that is an object, else under `code`."""
    try:
        parsed: object = msgspec.json.decode(content.text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        parsed = None
    if isinstance(parsed, dict):
        return content.text
    return msgspec.json.encode({"code": content.text} if content.text else {}).decode()


def _instructions(found: dict[str, object], told: set[str]) -> Iterator[Sheet]:
    """A page for each wording of what the owner told about themselves and wants of answers."""
    for node in mapping(found.get("mapping")).values():
        message = mapping(mapping(node).get("message"))
        content = mapping(message.get("content"))
        given = mapping(mapping(message.get("metadata")).get("user_context_message_data"))
        about = text(content.get("user_profile")) or text(given.get("about_user_message"))
        wishes = text(content.get("user_instructions")) or text(given.get("about_model_message"))
        said = "\n\n".join(
            f"## {name}\n\n{one.strip()}"
            for name, one in (("About me", about), ("How to answer", wishes))
            if one.strip()
        )
        if not said or said in told:
            continue
        told.add(said)
        number = "" if len(told) == 1 else f"_{len(told)}"
        yield Sheet(
            key=f"custom instructions{number}",
            path=f"{ROOT}/custom_instructions{number}.md",
            title="Custom instructions",
            text=f"# Custom instructions\n\nWhat ChatGPT was told of me.\n\n{said}\n",
            at=moment(message.get("create_time")),
        )


def _textdocs(archive: Archive) -> Iterator[Item]:
    """Documents of the canvas, where an export has them as files."""
    names = Names()
    for name in archive.named(r"textdocs/.*\.json"):
        for found in objects(archive, name, alone=True):
            if isinstance(found, Broken):
                yield Left(name, found.why)
                continue
            said = text(found.get("content")) or text(found.get("text"))
            title = one_line(text(found.get("title")) or text(found.get("name")) or "Document", 80)
            if said.strip():
                key = text(found.get("id")) or name
                path = names.free(f"{ROOT}/documents/{file_name(title)}.md")
                yield Sheet(key, path, title, f"# {title}\n\n{said}\n", untrusted=True)
