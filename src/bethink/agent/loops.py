"""The loop of each run: what `app` has wired, with what the run wishes and what its door brought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bethink.agent.client_tools import client_tools
from bethink.agent.loop import Loop

if TYPE_CHECKING:
    from bethink.agent.bounds import Bounds
    from bethink.agent.context import Context
    from bethink.agent.policy import Policy
    from bethink.agent.summaries import Summaries
    from bethink.agent.toolbox import Toolbox
    from bethink.agent.wishes import Brought, Wishes
    from bethink.files import Files
    from bethink.llm.offered import Models
    from bethink.tool import Tool

MEMORY_TOOLS: Final = frozenset(("store_memory", "search_memory", "forget_memory", "delete_all_memories"))
"""What a run without memory is not offered."""


@dataclass(frozen=True, slots=True)
class Loops:
    """The parts of all loops."""

    models: Models
    policy: Policy
    files: Files
    context: Context
    bounds: Bounds
    summaries: Summaries | None = None

    def of(self, wishes: Wishes, brought: Brought) -> Loop | None:
        """The loop of a run; None where no model is set.

        Raises:
            UnknownId: the wished model is not offered.
            BadInput: a tool of the client's cannot be offered.
        """
        toolbox = self.toolbox(wishes, brought)
        llm = brought.llm or self.models.get(wishes.model)
        if llm is None:
            return None
        policy = replace(self.policy, toolbox=toolbox)
        return Loop(
            llm, toolbox, policy, self.files, self.context.wished(wishes), self.bounds, self.summaries
        )

    def toolbox(self, wishes: Wishes, brought: Brought) -> Toolbox:
        """The tools of a run: the client's, those that its door brought, then Bethink's own.

        Raises:
            BadInput: a tool of the client's cannot be offered.
        """
        only = brought.only

        def keeps(tool: Tool) -> bool:
            return (
                wishes.tools
                and (wishes.memory or tool.name not in MEMORY_TOOLS)
                and (only is None or tool.name in only)
            )

        usual = self.policy.toolbox
        if wishes.tools and wishes.memory and only is None and not (brought.tools or wishes.client_tools):
            return usual
        own = usual.for_run(brought.tools, keeps)
        theirs = client_tools(wishes.client_tools, own)
        return usual.for_run([*theirs, *brought.tools], keeps) if theirs else own
