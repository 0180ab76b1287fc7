"""Every setting of Bethink, and where its value comes from.

`fields` and `models` declare them, `shapes` those with parts, `groups` the places where they are shown;
`sources` reads flags, environment and files, `kept` what is kept in the data directory, `catalogue` lists
them one by one.
"""

from __future__ import annotations

from bethink.settings.fields import Settings
from bethink.settings.shapes import (
    Assistant,
    DialDoor,
    Effect,
    McpOAuth,
    McpServer,
    Price,
    Redacted,
    Redaction,
    ToolRule,
    Trust,
    VaultSettings,
)
from bethink.settings.sources import (
    ALIASES,
    ENV_PREFIX,
    TerminalPreferences,
    load_settings,
    terminal_preferences,
    unknown_variables,
    variable,
)
from bethink.settings.values import TimeZone, default_data_dir

__all__ = [
    "ALIASES",
    "ENV_PREFIX",
    "Assistant",
    "DialDoor",
    "Effect",
    "McpOAuth",
    "McpServer",
    "Price",
    "Redacted",
    "Redaction",
    "Settings",
    "TerminalPreferences",
    "TimeZone",
    "ToolRule",
    "Trust",
    "VaultSettings",
    "default_data_dir",
    "load_settings",
    "terminal_preferences",
    "unknown_variables",
    "variable",
]
