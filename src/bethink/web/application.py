"""The web door's ASGI application. `server.serve` runs it; tests and embedders mount it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from fastapi import FastAPI

from bethink import __version__
from bethink.mcp_server.http import Endpoint
from bethink.web import (
    conversations,
    files,
    forgetting,
    health,
    keeping,
    mcp_servers,
    memories,
    metrics,
    people,
    portability,
    recall,
    runs,
    session,
    settings,
    talk,
    tools,
    users,
)
from bethink.web.contract import extended
from bethink.web.dial import DialEndpoint, dial_routes
from bethink.web.health import ModelProbe
from bethink.web.mcp import mcp_route
from bethink.web.problems import documented, install
from bethink.web.security import Guard
from bethink.web.ui import Interface
from bethink.web.v1 import chat, models, responses
from bethink.web.v1.errors import OpenAiErrors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from bethink.app import App

# `talk` before `conversations`, and others before `memories`: those take any word for an id.
_ROOMS = (
    health,
    session,
    users,
    metrics,
    settings,
    tools,
    files,
    talk,
    conversations,
    runs,
    portability,
    keeping,
    mcp_servers,
    memories,
    forgetting,
    recall,
    people,
    chat,
    responses,
    models,
)


class _Web(FastAPI):
    """FastAPI with the events' schemas in its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """The document; made on first use."""
        if self.openapi_schema is None:
            self.openapi_schema = extended(super().openapi())
        return self.openapi_schema


def create_web(opened: AbstractAsyncContextManager[App]) -> ASGIApp:
    """The application; `opened` is entered when it starts and left when it ends.

    Give it `open_app(settings, ports)`, or `contextlib.nullcontext(app)` for an
    app that somebody else closes.
    """
    endpoint, dial = Endpoint(), DialEndpoint()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Any]]:
        async with opened as app, anyio.create_task_group() as tasks:
            probe = ModelProbe(app.ports.llm)
            tasks.start_soon(probe.answer)
            tasks.start_soon(endpoint.serve, app)
            tasks.start_soon(dial.serve, app)
            yield {"app": app, "probe": probe}
            tasks.cancel_scope.cancel()

    web = _Web(
        title="Bethink",
        version=__version__,
        summary="An agent that remembers, and whose memory its owner can read, correct, undo and take away.",
        lifespan=lifespan,
        docs_url=None,  # the pages that FastAPI has for it load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        responses=documented(400, 403, 413, 422, 500, 503),
        generate_unique_id_function=lambda route: route.name,
        # Nothing is reported to anybody: neither traces nor what people send in.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    install(web)
    for room in _ROOMS:
        web.include_router(room.router)
    web.router.routes += [mcp_route(endpoint), *dial_routes(dial)]
    interface = Interface(web)
    web.router.default = interface.file
    return OpenAiErrors(Guard(interface))
