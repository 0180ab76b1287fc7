"""Opens the configured MCP servers, with all that they stand on. `app` enters it before anything is wired."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.mcp_client.configured import configured
from bethink.mcp_client.sdk import SdkConnector
from bethink.mcp_client.servers import Servers
from bethink.settings import variable
from bethink.tools.mcp import McpTools
from bethink.tools.mcp_config import McpKeeping

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.store import Store
    from bethink.supervision import Supervise

_TOPIC = "mcp-servers"
CALLBACK = "/mcp-servers/callback"


@asynccontextmanager
async def open_mcp(
    settings: Settings, store: Store, bus: Bus, *, clock: Clock, keeper: SecretBox, supervise: Supervise
) -> AsyncGenerator[McpTools]:
    """The tools of the configured servers, which are kept while the block lasts; none is waited for.

    Raises:
        BadInput: the file of servers cannot be read or is not valid.
    """
    found = await anyio.to_thread.run_sync(
        partial(
            configured,
            settings.mcp_servers,
            settings.mcp_servers_file,
            variable=variable,
            redirect_uri=f"http://127.0.0.1:{settings.port}{CALLBACK}",
        )
    )
    keeping = McpKeeping(store, keeper)
    servers = Servers(SdkConnector(keeping), keeping, clock, on_accept=partial(bus.publish, _TOPIC))
    tools = McpTools(servers, found.rules)
    if not (found.servers or found.off):
        yield tools
        return

    async def hear() -> None:
        async with bus.subscribe(_TOPIC) as notices:
            async for _ in notices:
                await servers.look_again()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervise, "tools accepted elsewhere", hear)
        async with servers.opened(found.servers, found.off, supervise=supervise):
            yield tools
        tasks.cancel_scope.cancel()
