"""The places of settings, and how one is declared: its default, its name, its sentence, its place.

`fields` and `shapes` declare with it; the page and `bethink settings` show settings by these places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

GROUP: Final = "group"
RESTART: Final = "restart"
SEALED: Final = "sealed"
"""What a declaration says beside JSON schema's own words."""


@dataclass(frozen=True, slots=True)
class Group:
    """A place of settings."""

    id: str
    title: str
    description: str


GROUPS: Final = (
    Group("model", "Model", "Which model answers, where it is, and its keys."),
    Group("assistants", "Assistants", "Models with instructions and tools of their own, by name."),
    Group("memory", "Memory", "What is remembered of conversations, and how."),
    Group("recall", "Recall", "What of memory an answer is given."),
    Group("tools", "Tools", "What the model may do, and how much of it."),
    Group("mcp", "MCP servers", "Servers that offer more tools."),
    Group("web", "Web", "Searching the web and reading pages."),
    Group("images", "Images", "Making pictures."),
    Group("audio", "Speech", "Dictation, and reading answers aloud."),
    Group("code", "Code", "Running Python in a sandbox."),
    Group("documents", "Documents", "Files, and how they are read and searched."),
    Group("planner", "Tasks and calendar", "Time zone, notices, quiet hours and e-mail."),
    Group("vault", "Vault", "The folder of Markdown pages."),
    Group("privacy", "Privacy", "How long things are kept, and what is masked."),
    Group("backups", "Backups", "Copies of everything: how often they are made, and which are kept."),
    Group("access", "Users", "Who may come in, and how often."),
    Group("network", "Network", "Where this server listens, and what it answers to."),
    Group(
        "redis",
        "Redis",
        "A copy of the conversations for other programs, and what processes tell one another.",
    ),
    Group("dial", "DIAL", "Bethink as an application of DIAL."),
    Group("advanced", "Advanced", "Where data is, and the log."),
)
"""In the order in which they are shown."""


def place(group: str) -> Callable[..., Any]:
    """Declares settings of one group."""

    def setting(
        default: Any,  # noqa: ANN401 - each has its own type
        title: str,
        description: str,
        *,
        restart: bool = False,
        sealed: bool = False,
        **bounds: Any,  # noqa: ANN401 - what Pydantic's Field takes
    ) -> Any:  # noqa: ANN401 - a field of any type
        says: dict[str, Any] = {GROUP: group, RESTART: restart, SEALED: sealed}
        if callable(default):
            bounds["default_factory"] = default
        else:
            bounds["default"] = default
        return Field(title=title, description=description, json_schema_extra=says, **bounds)

    return setting
