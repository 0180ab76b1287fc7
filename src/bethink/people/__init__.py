"""People whom the owner keeps records of: who they are, how to reach them, where they live.

The fields and answers are those of the Users Management Service (spec 001).
Tools, the web door and the service of its own (`bethink people serve`) call
`People`; `shown` is what all of them give out.
"""

from __future__ import annotations

from bethink.people.service import FEATURE

__all__ = ["FEATURE"]
