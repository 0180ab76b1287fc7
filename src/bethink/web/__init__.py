"""The web door: REST, a stream of events and the interface's files, over one wired `App`.

A protocol into calls, events into frames, and no decisions: `create_web` gives
the ASGI application, `server.serve` runs it, `create_rooms` are its routes alone. One file a feature.
"""

from __future__ import annotations

from bethink.web.application import create_rooms, create_web

__all__ = ["create_rooms", "create_web"]
