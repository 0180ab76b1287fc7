"""Tasks: what the owner has to do, in parts, in order, on time.

Tools, the web door, the command line and calendars of other programs call `Tasks`.
"""

from __future__ import annotations

from bethink.tasks.feature import FEATURE

__all__ = ["FEATURE"]
