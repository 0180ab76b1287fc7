"""Facts that Bethink keeps about its owner, each with its source and its time.

Tools, doors and the command line change facts through `Memory`; `recall/service`
finds them. Nothing is overwritten: a correction supersedes, a retraction can be
taken back, and only `forget` removes for good.
"""

from __future__ import annotations

from bethink.memory.facts import FACTS, STEPS, Fact, FactChange, NewFact, Source
from bethink.memory.service import FEATURE, Memory
from bethink.memory.upkeep import LARGEST_SHARE, THRESHOLD, ConsolidationReport
from bethink.memory.writer import KIND

__all__ = [
    "FACTS",
    "FEATURE",
    "KIND",
    "LARGEST_SHARE",
    "STEPS",
    "THRESHOLD",
    "ConsolidationReport",
    "Fact",
    "FactChange",
    "Memory",
    "NewFact",
    "Source",
]
