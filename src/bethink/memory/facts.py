"""The record of a fact, and what a new one must be."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from bethink.errors import BadInput, TooLarge
from bethink.store import Collection, Record

CATEGORIES = ("preferences", "personal_info", "goals", "plans", "context", "general")
"""The documented categories (spec 002, "StoreMemoryTool"); others are accepted."""

MAX_CONTENT_CHARS = 8_000
MAX_TOPICS = 32
MAX_TOPIC_CHARS = 64

State = Literal["active", "superseded", "retracted"]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fact came from. `id` is the conversation's or import's, `message` the message's."""

    kind: Literal["conversation", "tool", "import", "person"]
    id: str | None = None
    message: str | None = None
    at: int = 0


class Fact(Record, frozen=True, kw_only=True):
    """One thing known. Times are microseconds UTC, importance is 0..1.

    `valid_from` and `valid_until` bound when it was true in the world,
    `created_at` is when it was learnt. `digest` finds the very same words
    again; `weight` is the importance in thousandths, 1,000 more for a pinned
    fact, by which what is always recalled is found. `legacy_id` is the integer
    id of a memory file of spec 000.
    """

    content: str
    digest: str
    weight: int
    created_at: int
    state: State = "active"
    category: str = "general"
    importance: float = 0.5
    topics: tuple[str, ...] = ()
    valid_from: int | None = None
    valid_until: int | None = None
    sources: tuple[Source, ...] = ()
    trust: Literal["owner", "untrusted"] = "owner"
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    depends_on: tuple[str, ...] = ()
    project: str | None = None
    pinned: bool = False
    legacy_id: int | None = None


FACTS = Collection("facts", Fact, ("state", "category", "digest", "weight", "created_at", "project"))


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be added, as somebody states it."""

    content: str
    category: str = "general"
    importance: float = 0.5
    topics: tuple[str, ...] = ()
    source: Source = field(default_factory=lambda: Source(kind="person"))
    project: str | None = None
    pinned: bool = False

    def checked(self) -> NewFact:
        """The same with white space and control characters put in order.

        Raises:
            BadInput: no content, importance outside 0..1 or unfit topics.
            TooLarge: the content is too long for one fact.
        """
        content = clean(self.content)
        if not content:
            message = "The memory has no content: say in a sentence what to remember."
            raise BadInput(message)
        if len(content) > MAX_CONTENT_CHARS:
            message = (
                f"The memory has {len(content):,} characters; a fact has at most {MAX_CONTENT_CHARS:,}. "
                "Store it as several facts."
            )
            raise TooLarge(message)
        if not 0 <= self.importance <= 1:
            message = f"importance is {self.importance}: give a number from 0 to 1."
            raise BadInput(message)
        category = clean(self.category).lower().replace(" ", "_")[:MAX_TOPIC_CHARS] or "general"
        return replace(self, content=content, category=category, topics=_checked_topics(self.topics))


def clean(text: str) -> str:
    """One line in Unicode form NFC, without control characters, white space folded."""
    joiners = "\u200c\u200d"
    kept = "".join(char if char in joiners or unicodedata.category(char)[0] != "C" else " " for char in text)
    return " ".join(unicodedata.normalize("NFC", kept).split())


def digest(content: str) -> str:
    """Equal for two contents that say the very same, whatever their case and closing marks."""
    said = clean(content).casefold().rstrip(".!… ")
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def weight(importance: float, *, pinned: bool) -> int:
    """A fact's place among those that are always recalled; see `Fact`."""
    return round(importance * 1000) + (1000 if pinned else 0)


def _checked_topics(topics: tuple[str, ...]) -> tuple[str, ...]:
    kept = dict.fromkeys(topic for topic in (clean(topic) for topic in topics) if topic)
    if len(kept) > MAX_TOPICS:
        message = f"There are {len(kept):,} topics; a fact has at most {MAX_TOPICS}."
        raise BadInput(message)
    if too_long := next((topic for topic in kept if len(topic) > MAX_TOPIC_CHARS), None):
        message = f"The topic {too_long[:20]!r}… is longer than {MAX_TOPIC_CHARS} characters."
        raise BadInput(message)
    return tuple(kept)
