"""What a session over the SDK is opened with. `sdk.py` makes it, `sdk_session` and `http_client` take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.mcp_client import Hooks, Keeping, ServerConfig
    from bethink.mcp_client.processes import Guard
    from bethink.mcp_client.sign_in import SignIns


PER_S = 1_000
"""Messages a second that no honest server sends for long; reading them takes a tenth of a core."""
FOR_S = 5
"""A long list of progress may come in one burst."""


class MessageRate:
    """A bucket of `PER_S * FOR_S` messages that fills at `PER_S` a second."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._at = now_s()
        self._room = float(PER_S * FOR_S)

    def is_flood(self) -> bool:
        """Count a message; whether there were too many."""
        now = self._now_s()
        self._room = min(PER_S * FOR_S, self._room + (now - self._at) * PER_S) - 1
        self._at = now
        return self._room < 0


@dataclass(slots=True)
class SessionSetup:
    """A server, whom its session tells, what sessions share; `refusal` is the last HTTP status of refusal.

    `left_out` names tools in its last list that are none by the protocol.
    """

    config: ServerConfig
    hooks: Hooks
    guard: Guard
    sign_ins: SignIns
    keeping: Keeping
    refusal: str = ""
    flow: MessageRate = field(default_factory=MessageRate)
    left_out: list[str] = field(default_factory=list[str])
