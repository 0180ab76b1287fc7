"""Conversations: what is kept of them, their branches, and the ways to change and read them.

`agent/runs` appends the messages of a run, and deletes; doors list, read and rename.
A conversation's record stays small: messages are records of their own, so that
a turn costs the same however long the history is.
"""

from __future__ import annotations

from bethink.conversations.branches import (
    MAX_BRANCHES,
    Siblings,
    Stretch,
    appended,
    branch_of,
    continued,
    edited,
    grown,
    is_on_line,
    line,
    siblings,
    switched,
)
from bethink.conversations.records import (
    ASSISTANT,
    CONVERSATIONS,
    KIND,
    MESSAGES,
    NEW_TITLE,
    OWNER,
    SIGHTINGS,
    Branch,
    ChangedRef,
    Conversation,
    RecalledRef,
    Sighting,
    StoredMessage,
    UnbackedRef,
    checked_content,
    checked_system,
    checked_title,
    removal,
    sighting,
    speaker_of,
    title_from,
    turn_of,
)
from bethink.conversations.service import Conversations, Edit, Said, Start

__all__ = [
    "ASSISTANT",
    "CONVERSATIONS",
    "KIND",
    "MAX_BRANCHES",
    "MESSAGES",
    "NEW_TITLE",
    "OWNER",
    "SIGHTINGS",
    "Branch",
    "ChangedRef",
    "Conversation",
    "Conversations",
    "Edit",
    "RecalledRef",
    "Said",
    "Siblings",
    "Sighting",
    "Start",
    "StoredMessage",
    "Stretch",
    "UnbackedRef",
    "appended",
    "branch_of",
    "checked_content",
    "checked_system",
    "checked_title",
    "continued",
    "edited",
    "grown",
    "is_on_line",
    "line",
    "removal",
    "siblings",
    "sighting",
    "speaker_of",
    "switched",
    "title_from",
    "turn_of",
]
