"""Time in words: `ranges` finds the stretches of time that a text mentions, `moments` reads one exactly."""

from __future__ import annotations

from bethink.when.ranges import Mention, find

__all__ = ["Mention", "find"]
