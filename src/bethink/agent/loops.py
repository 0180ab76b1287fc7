"""The loop of each run: what `app` has wired, with what the run wishes and what its door brought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bethink.agent.choosing import check_first
from bethink.agent.client_tools import client_tools
from bethink.agent.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

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
VAULT_TOOLS: Final = frozenset(
    (
        *("read_file", "search_files", "list_directory", "go_to_link", "backlinks", "use_memory_agent"),
        *("create_file", "write_file", "update_file", "delete_file", "execute_python"),
    )
)
"""What a run without memory is not offered: those of memory, and these."""


@dataclass(frozen=True, slots=True)
class Loops:
    """The parts of all loops."""

    models: Models
    policy: Policy
    files: Files
    context: Context
    bounds: Bounds
    summaries: Summaries | None = None

    def of(self, wishes: Wishes, brought: Brought, kept_back: Sequence[str] = ()) -> Loop | None:
        """The loop of a run; None where no model is set. `kept_back` is what its model is asked not to tell.

        Raises:
            UnknownId: the wished model is not offered.
            BadInput: a tool of the client's cannot be offered, or the one that is to be called is not there.
        """
        toolbox = self.toolbox(wishes, brought)
        check_first(wishes.first_call, toolbox)
        llm = brought.llm or self.models.get(wishes.model)
        if llm is None:
            return None
        policy = replace(self.policy, toolbox=toolbox)
        context = self.context.wished(wishes).keeping_back(kept_back)
        return Loop(
            *(llm, toolbox, policy, self.files, context, self.bounds, self.summaries),
            first_call=wishes.first_call,
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
                and (wishes.memory or tool.name not in MEMORY_TOOLS | VAULT_TOOLS)
                and (only is None or tool.name in only)
            )

        usual = self.policy.toolbox
        if wishes.tools and wishes.memory and only is None and not (brought.tools or wishes.client_tools):
            return usual
        own = usual.for_run(brought.tools, keeps)
        theirs = client_tools(wishes.client_tools, own)
        return usual.for_run([*theirs, *brought.tools], keeps) if theirs else own
