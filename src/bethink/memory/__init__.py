"""Facts that Bethink keeps about its owner, each with its source and its time.

Tools, doors and the command line change facts through `Memory`; `recall/service`
finds them. Nothing is overwritten: a correction supersedes, a retraction can be
taken back, and only `forget` removes for good.
"""

from __future__ import annotations

from bethink.memory.consolidation import LARGEST_SHARE, THRESHOLD, Consolidated, Merge
from bethink.memory.facts import CATEGORIES, FACTS, Changed, Doubt, Fact, NewFact, Source
from bethink.memory.secrets import secret_in
from bethink.memory.service import Find, Memory
from bethink.memory.steps import STEPS, Step, import_token
from bethink.memory.writing import KIND, PAST_KIND

__all__ = [
    "CATEGORIES",
    "FACTS",
    "KIND",
    "LARGEST_SHARE",
    "PAST_KIND",
    "STEPS",
    "THRESHOLD",
    "Changed",
    "Consolidated",
    "Doubt",
    "Fact",
    "Find",
    "Memory",
    "Merge",
    "NewFact",
    "Source",
    "Step",
    "import_token",
    "secret_in",
]
