"""`/openai/…`: Bethink as an application of DIAL, where the setting `dial` enables it.

The SDK and the house that it answers from are loaded with the first request.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.routing import Route

from bethink.dial.door import open_door
from bethink.errors import BethinkError, NotInstalled, UnknownId
from bethink.telemetry import log
from bethink.web.problems import of_error
from bethink.web.security.guard import DIAL_PATHS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App

_log = log("dial")


class DialEndpoint:
    """An ASGI application for the paths below `DIAL_PATHS`; whoever routes to it also runs `serve`."""

    def __init__(self) -> None:
        self._asked = anyio.Event()
        self._ready = anyio.Event()
        self._served: ASGIApp | None = None

    async def serve(self, app: App) -> None:
        """Wait for the first request, then serve all of them until cancelled."""
        if not app.settings.dial.enabled:
            self._served = _Refusing(
                UnknownId("Bethink is no application of DIAL here: see the setting `dial`.")
            )
            self._ready.set()
            return
        await self._asked.wait()
        try:
            await self._serve(app)
        except BethinkError as error:
            _log.error("the door for DIAL does not open: %s", error)
            self._served = _Refusing(error)
            self._ready.set()

    async def _serve(self, app: App) -> None:
        try:
            application = await anyio.to_thread.run_sync(importlib.import_module, "bethink.dial.application")
        except ModuleNotFoundError as error:
            raise NotInstalled('DIAL\'s SDK is not installed: pip install "bethink[dial]".') from error
        try:
            async with open_door(app) as door:
                self._served = application.create_application(door)
                self._ready.set()
                await anyio.sleep_forever()
        finally:
            # Opened again, it is another door.
            self._served, self._ready = None, anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._asked.set()
        await self._ready.wait()
        if self._served is not None:
            await self._served(scope, receive, send)


class _Refusing:
    """Answers everything with one error."""

    def __init__(self, error: BethinkError) -> None:
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await of_error(self._error)(scope, receive, send)


def dial_routes(endpoint: ASGIApp) -> list[Route]:
    """The endpoint at its paths."""
    return [
        Route(f"{prefix}{{rest:path}}", endpoint=endpoint, include_in_schema=False) for prefix in DIAL_PATHS
    ]
