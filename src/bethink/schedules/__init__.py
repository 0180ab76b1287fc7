"""What happens by itself, and when: reminders, runs of the agent, and pages that are watched.

`service` keeps schedules, `clock` runs what is due, once over all processes, and `delivery` tells the owner.
"""

from __future__ import annotations

from bethink.schedules.feature import FEATURE

__all__ = ["FEATURE"]
