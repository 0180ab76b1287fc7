"""What is opened and read before an app is wired: prompts, plug-ins, tool servers, models. `app` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.agent.context import Prompts, read_prompts
from bethink.llm.models import OfferedModels, Probing, SubagentModels, plain
from bethink.secrets_at_rest import SecretBox
from bethink.tools.mcp import open_mcp
from bethink.tools.plugins import FOLDER, LoadedPlugins, load_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from bethink.blobs import Blobs
    from bethink.ports import Ports
    from bethink.settings import Settings
    from bethink.tool import Tool
    from bethink.tools.mcp import McpTools


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What is opened and read before anything is wired; an app beside another one shares it."""

    blobs: Blobs
    prompts: Prompts
    tools: Sequence[Tool]
    plugged: LoadedPlugins
    secret_box: SecretBox
    mcp: McpTools
    models: OfferedModels
    chosen: SubagentModels


async def shared_resources_of(
    settings: Settings, ports: Ports, blobs: Blobs, *, stack: AsyncExitStack
) -> SharedResources:
    """What the settings name, opened; it is closed with the stack.

    Raises:
        BadInput: a setting names something that is not there.
    """
    prompts = await anyio.to_thread.run_sync(read_prompts)
    folder = settings.data_dir / FOLDER if settings.user_tools else None
    plugged = await anyio.to_thread.run_sync(load_plugins, settings.plugins, folder)
    secret_box = SecretBox(settings.data_dir, plain(settings.master_key))
    mcp = await stack.enter_async_context(
        open_mcp(
            settings,
            ports.store,
            ports.bus,
            clock=ports.clock,
            secret_box=secret_box,
            supervise=ports.supervisor.supervise,
        )
    )
    models = OfferedModels(settings, ports.llm, ports.learnt)
    stack.push_async_callback(models.close)
    chosen = SubagentModels(
        settings, models, Probing(has_openrouter_key=settings.openrouter_api_key is not None)
    )
    stack.push_async_callback(chosen.close)
    return SharedResources(blobs, prompts, (), plugged, secret_box, mcp, models, chosen)
