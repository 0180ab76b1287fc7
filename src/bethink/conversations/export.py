"""One conversation as a document: Markdown for people, JSON for programs. Doors and the command line call it.

Markdown is the active line. JSON has every message, also those of other
branches, and the branches' shape, so that nothing that was said is missing.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

import msgspec

from bethink.clock import to_datetime
from bethink.conversations.records import ARCHIVED, MESSAGES, Conversation, StoredMessage, is_on_line, line
from bethink.messages import AssistantMessage, Attachment, ToolMessage, UserMessage
from bethink.store import Scan, Store, pages_of, records_of

if TYPE_CHECKING:
    from bethink.principal import Principal

ExportFormat = Literal["md", "json"]
MEDIA_TYPES: Final[dict[ExportFormat, str]] = {"md": "text/markdown", "json": "application/json"}
SCHEMA: Final = 1
"""Of the JSON document."""
_PAGE: Final = 200
_MOST_NAME: Final = 80
_UNSAFE: Final = re.compile(r"[^\w .()-]+")
_FENCE: Final = re.compile(r"`{3,}")


def file_name(held: Conversation, format: ExportFormat) -> str:
    """A name that every file system takes, made of the title."""
    words = " ".join(_UNSAFE.sub(" ", held.title).split()).strip(". ")[:_MOST_NAME].rstrip(". ")
    return f"{words or 'conversation'}.{format}"


async def exported(
    store: Store, principal: Principal, held: Conversation, *, format: ExportFormat
) -> AsyncGenerator[str]:
    """The document, some messages at a time."""
    match format:
        case "md":
            parts = _markdown(store, principal, held)
        case "json":
            parts = _json(store, principal, held)
        case _:
            assert_never(format)
    async for part in parts:
        yield part


async def _markdown(store: Store, principal: Principal, held: Conversation) -> AsyncGenerator[str]:
    told = [f"# {held.title}", f"{_moment(held.created_at)} to {_moment(held.updated_at)}"]
    if held.project:
        told.append(f"Project: {held.project}")
    if held.model:
        told.append(f"Model: {held.model}")
    if held.system:
        told.append("\n".join(f"> {one}" for one in held.system.splitlines()))
    yield "\n\n".join(told) + "\n"
    for stretch in reversed(line(held)):
        where = {"conversation": held.id, "branch": stretch.branch}
        scan = Scan(MESSAGES, where, order="position", low=stretch.start, high=stretch.end, limit=_PAGE)
        async for page in pages_of(store, principal.owner, scan):
            yield "".join(_as_markdown(item.record, held.origin) for item in page)


def _as_markdown(stored: StoredMessage, origin: str) -> str:
    said = stored.message
    match said:
        case UserMessage():
            who, parts = stored.speaker or "You", [said.content]
        case AssistantMessage():
            model = "Bethink" if stored.run else origin or "Bethink"
            who, parts = stored.speaker or model, [said.content]
            parts += [
                f"Asked for `{call.name}`:\n\n{_fenced(call.arguments, 'json')}" for call in said.tool_calls
            ]
            parts += [f"*{stored.note}*"] if stored.note else []
        case ToolMessage():
            who = f"Tool `{said.name}`" + (f" ({said.error})" if said.error else "")
            parts = [_fenced(said.content)]
    if not isinstance(said, AssistantMessage):
        parts += _attached(said.attachments)
    body = "\n\n".join(part for part in parts if part.strip())
    return f"\n## {who}, {_moment(stored.at)}\n\n{body}\n"


def _attached(files: Sequence[Attachment]) -> list[str]:
    return ["\n".join(f"- [{_in_brackets(one.name)}]({one.url}) ({one.media_type})" for one in files)]


def _in_brackets(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", text)


def _fenced(text: str, language: str = "text") -> str:
    """A block that no text can end: its fence is longer than any in it."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


async def _json(store: Store, principal: Principal, held: Conversation) -> AsyncGenerator[str]:
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "conversation",
        "id": held.id,
        "title": held.title,
        "created_at": _moment(held.created_at),
        "updated_at": _moment(held.updated_at),
        "archived": held.archived == ARCHIVED,
        "project": held.project,
        "model": held.model,
        "system": held.system,
        "branch": held.branch,
        "branches": msgspec.to_builtins(held.branches),
    }
    yield msgspec.json.encode(head).decode()[:-1] + ',"messages":['
    between = "\n"
    for number in range(len(held.branches) or 1):
        scan = Scan(MESSAGES, {"conversation": held.id, "branch": number}, order="position", limit=_PAGE)
        async for stored in records_of(store, principal.owner, scan):
            yield between + msgspec.json.encode(_as_json(held, stored)).decode()
            between = ",\n"
    yield "\n]}\n"


def _as_json(held: Conversation, stored: StoredMessage) -> dict[str, Any]:
    """A message with its place; `active` says whether it stands on the active branch."""
    told: dict[str, Any] = {
        "id": stored.id,
        "branch": stored.branch,
        "position": stored.position,
        "active": is_on_line(held, stored),
        "at": _moment(stored.at),
        "run": stored.run,
    }
    for name in ("speaker", "stop_reason", "note", "usage"):
        if value := getattr(stored, name):
            told[name] = msgspec.to_builtins(value)
    return told | msgspec.to_builtins(stored.message)


def _moment(us: int) -> str:
    return f"{to_datetime(us):%Y-%m-%dT%H:%M:%SZ}"
