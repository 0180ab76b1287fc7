"""What a key may do. Doors ask for a right by the request, `agent/policy` by a tool's effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

READ, WRITE, CHAT, ADMIN = "read", "write", "chat", "admin"

SCOPES = {
    READ: "read and search memories, conversations, documents and what else there is",
    WRITE: "change them, also by the tools of an answer, and approve what waits",
    CHAT: "talk: begin conversations, send messages and files, stop an answer",
    ADMIN: "manage users and everybody's keys, read metrics, tend MCP servers",
}
"""Every scope that a key can have, and what it lets do."""
USUAL = (READ, WRITE, CHAT)
"""What a key has where nobody says."""


def checked_scopes(scopes: Iterable[str], *, is_admin: bool) -> tuple[str, ...]:
    """The scopes in our order, each once.

    Raises:
        BadInput: there is none, one is unknown, or `admin` is given to who is none.
    """
    given = set(scopes)
    if unknown := given - set(SCOPES):
        message = f"There is no scope {', '.join(sorted(unknown))}: there are {', '.join(SCOPES)}."
        raise BadInput(message)
    if not given:
        message = f"A key has at least one scope: {', '.join(SCOPES)}."
        raise BadInput(message)
    if ADMIN in given and not is_admin:
        message = "Only an administrator's key can have the scope admin."
        raise BadInput(message)
    return tuple(scope for scope in SCOPES if scope in given)
