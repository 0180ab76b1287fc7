"""Conversations: what is kept of them, their branches, and the ways to change and read them.

`agent/runs` appends the messages of a run, and deletes; doors list, read and rename.
A conversation's record stays small: messages are records of their own, so that
a turn costs the same however long the history is.
"""

from __future__ import annotations

from bethink.conversations.service import FEATURE

__all__ = ["FEATURE"]
