"""Artifacts: what the assistant makes and its owner keeps beside a conversation. A feature.

`records` says what is kept, `service` changes it, `feature` tells the rest of Bethink about it. Each change
is a version, whoever made it. What runs of one does so in a frame that reaches nothing (`web.ui`).
"""

from __future__ import annotations

from bethink.artifacts.feature import FEATURE, opened

__all__ = ["FEATURE", "opened"]
