"""Exports of ChatGPT, Claude, Notion, Obsidian and Markdown, brought into conversations and the vault.

`service.Importing` is what doors call; a source is a reader in `sources.READERS`
that yields `items`.
"""

from __future__ import annotations

from bethink.importing.jobs import Desk
from bethink.importing.records import SOURCES, Import, Into, Problem, Report, SourceName, Tally, Topics
from bethink.importing.service import Choice, Importing
from bethink.importing.uploads import Staging

__all__ = [
    "SOURCES",
    "Choice",
    "Desk",
    "Import",
    "Importing",
    "Into",
    "Problem",
    "Report",
    "SourceName",
    "Staging",
    "Tally",
    "Topics",
]
