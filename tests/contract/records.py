"""Records and collections that the port suites write. Their keys are those of real collections."""

from __future__ import annotations

from bethink.store import Collection, Record


class Note(Record, frozen=True, kw_only=True):
    """Anything with text; of the shape of a stored fact."""

    text: str = ""
    state: str = "active"
    category: str | None = None
    created_at: int | None = 0
    project: str | None = None


class Line(Record, frozen=True, kw_only=True):
    """One of many in an order; of the shape of a message."""

    conversation: str
    position: int
    text: str = ""


class Setting(Record, frozen=True, kw_only=True):
    """A record without keys."""

    value: str = ""


NOTES = Collection("facts", Note, ("state", "category", "created_at", "project"))
LINES = Collection("messages", Line, ("conversation", "position"))
SETTINGS = Collection("meta", Setting)
