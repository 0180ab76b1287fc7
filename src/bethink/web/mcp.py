"""`/mcp`: Bethink's memory and tools for MCP clients over Streamable HTTP.

The protocol's own code is imported with the first request, in a thread, so that
a start of the web door does not pay for it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from fastapi import FastAPI
from starlette.routing import Route

from bethink.errors import BethinkError
from bethink.mcp_server.http import Endpoint
from bethink.principal import PRINCIPAL
from bethink.web.deps import principal_of
from bethink.web.problems import install, of_error
from bethink.web.security.guard import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from contextlib import AbstractAsyncContextManager

    from fastapi import APIRouter
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App

PATH = "/mcp"


def mcp_route(endpoint: ASGIApp) -> Route:
    """The endpoint at its path; whoever adds it also runs `Endpoint.serve`."""
    return Route(PATH, endpoint=_Known(endpoint), include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _Known:
    """The endpoint, told who asks."""

    endpoint: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse who may not come in; hand on everybody else."""
        state = scope["state"]
        try:
            state[PRINCIPAL] = await principal_of(scope, state["app"], "mcp-http")
        except BethinkError as error:
            await of_error(error)(scope, receive, send)
            return
        await self.endpoint(scope, receive, send)


def create_service(
    opened: AbstractAsyncContextManager[App], *, only: Sequence[str], routers: Sequence[APIRouter] = ()
) -> ASGIApp:
    """An application that serves these families at `/mcp`, these routes, and nothing else of Bethink."""
    endpoint = Endpoint(only)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Any]]:
        async with opened as app, anyio.create_task_group() as tasks:
            serve = partial(endpoint.serve, app)
            tasks.start_soon(app.ports.supervisor.supervise, "the door for MCP", serve)
            yield {"app": app}
            tasks.cancel_scope.cancel()

    service = FastAPI(
        title="Bethink",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    install(service)
    for router in routers:
        service.include_router(router)
    service.router.routes.append(mcp_route(endpoint))
    return Guard(service)
