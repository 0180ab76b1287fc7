"""Conversations where other programs read them: Redis, in spec 001's shape. Written there, and taken over.

The store of this data directory is the truth, Redis a copy that can always be
made anew: what the store notes (`outbox`) is worked off here.
"""

from __future__ import annotations
