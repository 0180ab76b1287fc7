"""Facts that Bethink keeps about its owner, each with its source and its time.

Tools, doors and the command line change facts through `Memory`; `recall/service`
finds them. Nothing is overwritten: a correction supersedes, a retraction can be
taken back, and only `forget` removes for good.
"""

from __future__ import annotations

from bethink.memory.facts import (
    CATEGORIES,
    FACTS,
    STEPS,
    Doubt,
    Fact,
    FactChange,
    LogStep,
    NewFact,
    Source,
    import_token,
    secret_in,
)
from bethink.memory.service import FEATURE, Find, Memory
from bethink.memory.upkeep import LARGEST_SHARE, THRESHOLD, ConsolidationReport, Merge
from bethink.memory.writer import KIND, PAST_KIND

__all__ = [
    "CATEGORIES",
    "FACTS",
    "FEATURE",
    "KIND",
    "LARGEST_SHARE",
    "PAST_KIND",
    "STEPS",
    "THRESHOLD",
    "ConsolidationReport",
    "Doubt",
    "Fact",
    "FactChange",
    "Find",
    "LogStep",
    "Memory",
    "Merge",
    "NewFact",
    "Source",
    "import_token",
    "secret_in",
]
