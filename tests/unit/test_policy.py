"""The whole table of verdicts."""

from __future__ import annotations

import pytest

from bethink.agent.policy import judge
from bethink.principal import Principal
from bethink.tool import Effect, ToolContext, tool

BOTH = frozenset({"read", "write"})
READ = frozenset({"read"})


@pytest.mark.parametrize(
    ("effect", "rights", "decision", "reason"),
    [
        ("read", BOTH, "auto", ""),
        ("read", READ, "auto", ""),
        ("write", BOTH, "auto", ""),
        ("write", READ, "deny", "This key may only read."),
        ("destructive", BOTH, "ask", "This cannot be undone."),
        ("destructive", READ, "deny", "This key may only read."),
        ("egress", BOTH, "ask", "This sends something out of this machine."),
        ("egress", READ, "ask", "This sends something out of this machine."),
    ],
)
def test_the_verdict_follows_from_effect_and_rights(
    effect: Effect, rights: frozenset[str], decision: str, reason: str
) -> None:
    @tool(effect=effect, label="Act")
    async def act(context: ToolContext) -> str:
        """Act."""
        return ""

    verdict = judge(act, Principal("local", rights=rights))
    assert (verdict.decision, verdict.reason) == (decision, reason)
