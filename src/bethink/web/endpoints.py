"""`/mcp` and `/openai/…`: Bethink for MCP clients over Streamable HTTP, and as an application of DIAL.

The protocols' own code is imported with the first request, in a thread, so that a start of the web
door does not pay for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from bethink.dial.door import open_door
from bethink.errors import BethinkError, NotInstalled, NotSignedIn, UnknownId
from bethink.principal import PRINCIPAL
from bethink.telemetry import log
from bethink.web.deps import principal_of
from bethink.web.oauth import MCP_PATH, challenge_of, resource_of
from bethink.web.problems import install, of_error
from bethink.web.security.guard import DIAL_PATHS, Guard

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App

BARE: Final[Mapping[str, Any]] = {
    "docs_url": None,  # the pages that FastAPI has for it load scripts from other hosts
    "redoc_url": None,
    "redirect_slashes": False,
    # Nothing is reported to anybody: neither traces nor what people send in.
    "telemetry": {"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
}
"""What FastAPI leaves out."""
_log = log("dial")


class Endpoint:
    """An ASGI application that is opened with its first request; whoever routes to it also runs `serve`."""

    def __init__(self, opened: Callable[[App], AbstractAsyncContextManager[ASGIApp]]) -> None:
        self._opened = opened
        self._asked = anyio.Event()
        self._ready = anyio.Event()
        self._served: ASGIApp | None = None

    async def serve(self, app: App) -> None:
        """Wait for the first request, then serve all of them until cancelled."""
        await self._asked.wait()
        try:
            async with self._opened(app) as self._served:
                self._ready.set()
                await anyio.sleep_forever()
        finally:
            # Opened again, it is another one.
            self._served, self._ready = None, anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._asked.set()
        await self._ready.wait()
        if self._served is not None:
            await self._served(scope, receive, send)


@asynccontextmanager
async def open_mcp(app: App, only: Sequence[str] = ()) -> AsyncGenerator[ASGIApp]:
    """What answers MCP clients; `only` names the families that it offers, none for all."""
    http = await anyio.to_thread.run_sync(import_module, "bethink.mcp_server.http")
    async with http.open_mcp(app, only) as answer:
        yield answer


@asynccontextmanager
async def open_dial(app: App) -> AsyncGenerator[ASGIApp]:
    """The application of DIAL; what refuses every request if it is not enabled, or does not open."""
    async with AsyncExitStack() as stack:
        try:
            answer = await _dial_application(app, stack)
        except BethinkError as error:
            if app.settings.dial.enabled:
                _log.error("the door for DIAL does not open: %s", error)
            answer = of_error(error)
        yield answer


async def _dial_application(app: App, stack: AsyncExitStack) -> ASGIApp:
    if not app.settings.dial.enabled:
        raise UnknownId("Bethink is no application of DIAL here: see the setting `dial`.")
    try:
        application = await anyio.to_thread.run_sync(import_module, "bethink.dial.application")
    except ModuleNotFoundError as error:
        raise NotInstalled('DIAL\'s SDK is not installed: pip install "bethink[dial]".') from error
    return application.create_application(await stack.enter_async_context(open_door(app)))


def mcp_route(endpoint: ASGIApp, *, takes_tokens: bool = False) -> Route:
    """The endpoint at its path; whoever adds it also runs `Endpoint.serve`.

    It `takes_tokens` where `oauth` gives them.
    """
    return Route(MCP_PATH, endpoint=_Authenticated(endpoint, takes_tokens), include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _Authenticated:
    """The endpoint, told who asks."""

    endpoint: ASGIApp
    takes_tokens: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse who may not come in; hand on everybody else."""
        state = scope["state"]
        app: App = state["app"]
        resource = resource_of(scope, app) if self.takes_tokens else None
        try:
            state[PRINCIPAL] = await principal_of(scope, app, "mcp-http", resource=resource)
        except BethinkError as error:
            response = of_error(error)
            if isinstance(error, NotSignedIn) and resource is not None:
                response.headers["WWW-Authenticate"] = challenge_of(scope, app)
            await response(scope, receive, send)
            return
        await self.endpoint(scope, receive, send)


def dial_routes(endpoint: ASGIApp) -> list[Route]:
    """The endpoint at its paths."""
    return [
        Route(f"{prefix}{{rest:path}}", endpoint=endpoint, include_in_schema=False) for prefix in DIAL_PATHS
    ]


def create_service(
    opened: AbstractAsyncContextManager[App], *, only: Sequence[str], routers: Sequence[APIRouter] = ()
) -> ASGIApp:
    """An application that serves these families at `/mcp`, these routes, and nothing else of Bethink."""
    endpoint = Endpoint(partial(open_mcp, only=only))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Any]]:
        async with opened as app, anyio.create_task_group() as tasks:
            serve = partial(endpoint.serve, app)
            tasks.start_soon(app.ports.supervisor.supervise, "the door for MCP", serve)
            yield {"app": app}
            tasks.cancel_scope.cancel()

    service = FastAPI(title="Bethink", lifespan=lifespan, **BARE)
    install(service)
    for router in routers:
        service.include_router(router)
    service.router.routes.append(mcp_route(endpoint))
    return Guard(service)
