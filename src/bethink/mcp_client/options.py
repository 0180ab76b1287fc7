"""What a session over the SDK is opened with. `sdk.py` makes it, `sdk_session` and `http_client` take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.mcp_client.rate import Flow

if TYPE_CHECKING:
    from bethink.mcp_client import Hooks, Keeping, ServerConfig
    from bethink.mcp_client.guard import Guard
    from bethink.mcp_client.sign_in import SignIns


@dataclass(slots=True)
class Link:
    """A server, whom its session tells, what sessions share; `refusal` is the last HTTP status of refusal.

    `left_out` names tools in its last list that are none by the protocol.
    """

    config: ServerConfig
    hooks: Hooks
    guard: Guard
    sign_ins: SignIns
    keeping: Keeping
    refusal: str = ""
    flow: Flow = field(default_factory=Flow)
    left_out: list[str] = field(default_factory=list[str])
