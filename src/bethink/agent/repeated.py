"""What a client sends again, compared with what was said: hashed, squeezed, without what clients add.

`agent/threads` asks, to find the conversation that a history means.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.messages import AssistantMessage, UserMessage
from bethink.redaction import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import StoredMessage

_THOUGHTS: Final = (("<think>", "</think>"), ('<details type="reasoning"', "</details>"))
"""How clients write reasoning into the answers that they send again."""
NOTICE: Final = "⏸ "
"""What a door puts before a sentence of its own in an answer: that a call waits."""
FILE_NOTICE: Final = "\U0001f4ce "
"""What a door puts before the address of a file that a tool made, at the end of an answer."""


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a client's history: text alone."""

    role: str
    text: str


def said_by(history: Sequence[Told], more: str | None = None) -> str:
    """A hash of what the owner said in a history, and of what they say now; it is kept as a digest."""
    digest = hashlib.sha256()
    texts = [told.text for told in history if told.role == "user"]
    for text in (*texts, more) if more is not None else texts:
        digest.update(hashlib.sha256(_squeezed(text).encode("utf-8", "replace")).digest())
    return digest.hexdigest()


def turn_behind(asked: StoredMessage, behind: Sequence[StoredMessage]) -> list[StoredMessage]:
    """What was said behind the owner's message, up to their next one."""
    turn: list[StoredMessage] = []
    for stored in behind:
        if stored.position <= asked.position:
            continue
        if isinstance(stored.message, UserMessage):
            break
        turn.append(stored)
    return turn


def is_repeated(answer: str, turn: Sequence[StoredMessage]) -> bool:
    """Whether an answer that a client sends again is what was answered; or was, until a call had to wait."""
    said = [stored.message.content for stored in turn if isinstance(stored.message, AssistantMessage)]
    stored = _squeezed(" ".join(said))
    if FORGOTTEN in stored or stored == _squeezed(answer):
        return True
    given = _plain(answer)
    if stored in {given, _squeezed(given.partition(FILE_NOTICE)[0])}:
        return True
    text, notice, _ = given.partition(NOTICE)
    waited = (" ".join(said[:count]) for count in range(len(said) + 1))
    return bool(notice) and _squeezed(text) in map(_squeezed, waited)


def answers_in(history: Sequence[Told]) -> list[str]:
    """What was answered before the owner's first message, and to each of them."""
    answers: list[list[str]] = [[]]
    for told in history:
        if told.role == "user":
            answers.append([])
        elif told.role == "assistant":
            answers[-1].append(told.text)
    return [" ".join(texts) for texts in answers]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return _squeezed(_thoughtless(text))


def _thoughtless(text: str) -> str:
    """The text without reasoning. What is not closed stays; every character is looked at a few times only."""
    for opening, closing in _THOUGHTS:
        kept: list[str] = []
        at = 0
        while (begin := text.find(opening, at)) >= 0 and (end := text.find(closing, begin)) >= 0:
            kept += (text[at:begin], " ")
            at = end + len(closing)
        text = "".join(kept) + text[at:]
    return text
