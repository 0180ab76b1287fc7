"""Which tools of the vault a model is told of: none while nobody here has a vault. `app` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.principal import LOCAL_OWNER
from bethink.tools.memory_agent import MemoryAgent, agent_tool
from bethink.tools.vault import code_tool, vault_tools
from bethink.tools.vault_access import VaultAccess
from bethink.tools.vault_code import VaultCode
from bethink.tools.vault_search import backlinks_tool, search_tool
from bethink.vault import PAGES
from bethink.vault.checks.check import VaultCheck
from bethink.vault.moves import PageMoves
from bethink.vault.search.graph import Graphs
from bethink.vault.search.search import VaultSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.principal import Principal
    from bethink.sandbox.interpreters import Interpreters
    from bethink.settings import Settings
    from bethink.tool import Tool
    from bethink.vault import Change
    from bethink.vault.filters.views import VaultViews


@dataclass(slots=True)
class VaultTools:
    """The tools, and whether there is anything for them. `agent` answers questions over the vault."""

    desk: VaultAccess
    searching: VaultSearch
    graphs: Graphs
    checking: VaultCheck
    moving: PageMoves
    agent: MemoryAgent
    tools: Sequence[Tool]
    code: Tool | None
    reading_code: Tool | None
    asking: Tool
    _interpreters: Interpreters | None = None
    _has_vault: bool = False
    _last: tuple[Tool, ...] = field(default=())

    @classmethod
    def of(cls, settings: Settings, views: VaultViews, interpreters: Interpreters | None) -> VaultTools:
        """As the settings want it."""
        desk, searching = VaultAccess(views), VaultSearch(views.vault, views)
        agent = MemoryAgent(desk, settings.vault)
        timeout_s = settings.code_timeout_s
        code = reading_code = None
        if interpreters is not None:
            runner = VaultCode(desk, interpreters, timeout_s, settings.code_output_chars)
            code = code_tool(runner, timeout_s)
            reading_code = code_tool(runner, timeout_s, effect="read")
        asking = agent_tool(agent, settings.max_run_s)
        graphs = Graphs(searching)
        tools = [*vault_tools(desk), search_tool(searching), backlinks_tool(graphs)]
        checking, codes = VaultCheck(searching), (code, reading_code)
        made = cls(
            desk,
            searching,
            graphs,
            checking,
            PageMoves(views, searching),
            agent,
            tools,
            *codes,
            asking,
            interpreters,
        )
        views.vault.context.listeners.append(made.hear)
        views.vault.context.purge_hooks.append(searching.purge)
        return made

    async def look(self) -> None:
        """See whether somebody has a vault."""
        vault = self.desk.views.vault
        if not vault.settings.enabled:
            return
        self._has_vault = await vault.exists(LOCAL_OWNER) or bool(
            await vault.context.store.owners(PAGES, limit=1)
        )

    def hear(self, owner: str, changes: Sequence[Change]) -> None:
        """Hear of a change of somebody's pages."""
        del owner, changes
        self._has_vault = True

    def source(self) -> Sequence[Tool]:
        """What may be offered now: the very same tuple for as long as it is the same."""
        code = (self.code,) if self.code is not None and self._can_run else ()
        now = (*self.tools, *code, self.asking) if self._has_vault else ()
        if len(now) != len(self._last):
            self._last = now
        return self._last

    def for_errands(self, principal: Principal) -> Sequence[Tool]:
        """What the memory agent itself may be given; where nothing may be written, code that only reads."""
        code = self.code if "write" in principal.rights else self.reading_code
        return (*self.tools, code) if code is not None and self._can_run else self.tools

    @property
    def _can_run(self) -> bool:
        return self._interpreters is not None and self._interpreters.may_run
