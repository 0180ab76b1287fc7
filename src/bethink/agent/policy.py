"""May a call run by itself? `agent/loop` asks for every call, before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.tool import Tool


@dataclass(frozen=True, slots=True)
class Verdict:
    """`auto` runs it, `ask` waits for the owner, `deny` tells the model no. `reason` is for people."""

    decision: Literal["auto", "ask", "deny"]
    reason: str = ""


AUTO = Verdict("auto")


def judge(tool: Tool, principal: Principal) -> Verdict:
    """The verdict over a call of `tool` for `principal`.

    Destructive calls ask, always; reading and writing the owner's own things is
    automatic; what leaves the machine asks.
    """
    match tool.effect:
        case "read":
            return AUTO
        case "write" if "write" in principal.rights:
            return AUTO
        case "write":
            return Verdict("deny", "This key may only read.")
        case "destructive" if "write" in principal.rights:
            return Verdict("ask", "This cannot be undone.")
        case "destructive":
            return Verdict("deny", "This key may only read.")
        case "egress":
            return Verdict("ask", "This sends something out of this machine.")
