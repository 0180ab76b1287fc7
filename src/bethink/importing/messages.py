"""A turn of an export as messages of a conversation. `talks` calls it.

A call always stands beside its result, as the agent leaves it, so that a model
can go on from there. What tools and other models said counts as said by
somebody else; what the owner said is the owner's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.conversations import StoredMessage
from bethink.importing.items import Used, Words
from bethink.importing.records import stable_id
from bethink.messages import AssistantMessage, Attachment, ToolCall, ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.importing.items import Given, Turn
    from bethink.messages import Message

NO_RESULT = "The export does not say what came of this."
_NO_TOOL = "unknown_outcome"
_SHOWN = "files"
"""The name under which a model's own pictures are shown: only tools have files."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a turn, not yet at its place."""

    id: str
    message: Message
    untrusted: bool


def said_in(turn: Turn, conversation: str, files: Mapping[str, Attachment]) -> list[Said]:
    """The messages of a turn; `files` are those of its files that are taken, by their keys."""
    drafts = _owners(turn, files) if turn.role == "user" else _models(turn, conversation, files)
    return [
        Said(stable_id(turn.at or 0, conversation, turn.key, str(place)), message, untrusted)
        for place, (message, untrusted) in enumerate(drafts)
    ]


def ids_of(turn: Turn, conversation: str) -> list[str]:
    """The ids that a turn's messages have, whatever files they have."""
    return [said.id for said in said_in(turn, conversation, {})]


def stored(said: Sequence[Said], *, conversation: str, branch: int, end: int, at: int) -> list[StoredMessage]:
    """The messages at their places, the last one before position `end`."""
    begin = end - len(said)
    return [
        StoredMessage(
            id=one.id,
            conversation=conversation,
            position=begin + place,
            branch=branch,
            at=at,
            run="",
            message=one.message,
            untrusted=one.untrusted,
        )
        for place, one in enumerate(said)
    ]


_Draft = tuple["Message", bool]


def _owners(turn: Turn, files: Mapping[str, Attachment]) -> list[_Draft]:
    words = [piece for piece in turn.pieces if isinstance(piece, Words)]
    text = "\n\n".join(filter(None, (one.text.strip("\n") for one in words)))
    return [(UserMessage(text, _attached(turn.files, files)), any(one.foreign for one in words))]


def _models(turn: Turn, conversation: str, files: Mapping[str, Attachment]) -> list[_Draft]:
    drafts: list[_Draft] = []
    reasoning = ""
    pieces = turn.pieces if not turn.files else (*turn.pieces, Used(_SHOWN, "{}", "", files=turn.files))
    for place, piece in enumerate(pieces):
        if isinstance(piece, Words):
            thought = "\n\n".join(filter(None, (reasoning, piece.reasoning)))
            reasoning = "" if piece.text.strip() else thought
            if piece.text.strip():
                drafts.append((AssistantMessage(piece.text.strip("\n"), reasoning=thought), True))
            continue
        call = stable_id(turn.at or 0, conversation, turn.key, "call", str(place))
        asked = AssistantMessage("", (ToolCall(call, piece.name, piece.arguments),), reasoning)
        answer = ToolMessage(
            call,
            piece.name,
            NO_RESULT if piece.result is None else piece.result,
            error=_NO_TOOL if piece.result is None else "tool_failed" if piece.failed else None,
            attachments=_attached(piece.files, files),
            untrusted=True,
        )
        drafts += [(asked, True), (answer, True)]
        reasoning = ""
    if reasoning or not drafts:
        drafts.append((AssistantMessage("", reasoning=reasoning), True))
    return drafts


def _attached(given: Sequence[Given], files: Mapping[str, Attachment]) -> tuple[Attachment, ...]:
    return tuple(files[one.key] for one in given if one.key in files)
