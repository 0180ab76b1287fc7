"""Exports of ChatGPT, Claude, Notion, Obsidian and Markdown, brought into conversations and the vault.

Doors call `Imports`, the web through `ImportJobs`. A source is one file, whose `read` yields
`items`, and a row of `job.READERS`.
"""

from __future__ import annotations

from bethink.importing.jobs import ImportJobs
from bethink.importing.records import (
    SOURCES,
    Import,
    ImportOptions,
    ImportProblem,
    ImportReport,
    ImportTally,
    Into,
    SourceName,
    TopicMethod,
)
from bethink.importing.service import Imports, UploadFolder

__all__ = [
    "SOURCES",
    "Import",
    "ImportJobs",
    "ImportOptions",
    "ImportProblem",
    "ImportReport",
    "ImportTally",
    "Imports",
    "Into",
    "SourceName",
    "TopicMethod",
    "UploadFolder",
]
