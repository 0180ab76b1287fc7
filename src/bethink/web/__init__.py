"""The web door: REST, a stream of events and the interface's files, over one wired `App`.

A protocol into calls, events into frames, and no decisions: `create_web` gives the ASGI application,
`server.serve` runs it, tests and embedders mount it; `create_rooms` are its routes alone. One file a feature.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from fastapi import FastAPI
from starlette.routing import Router

from bethink import __version__
from bethink.events import Event
from bethink.features import FEATURES
from bethink.importing.jobs import ImportJobs
from bethink.web import (
    audio,
    consent,
    health,
    mcp_servers,
    metrics,
    oauth,
    offered_models,
    settings,
    today,
    tools,
    users,
)
from bethink.web import models as model_setup
from bethink.web import setup as first_steps
from bethink.web.endpoints import BARE, Endpoint, dial_routes, mcp_route, open_dial, open_mcp
from bethink.web.health import ModelProbe
from bethink.web.problems import Problem, documented, install
from bethink.web.security.answers import ANSWERS, AnswerCounts
from bethink.web.security.guard import Guard
from bethink.web.ui import Compressed, Interface
from bethink.web.v1 import chat, images, models, responses
from bethink.web.v1 import files as file_objects
from bethink.web.v1.errors import OpenAiErrors
from bethink.web.vault.pages import VaultConflict

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App

_REFERENCE = "#/components/schemas/{name}"
_KEY = {"type": "http", "scheme": "bearer", "description": "A key, `bk_…`; none while there are no users."}
_FEATURES = (
    health,
    metrics,
    users,
    oauth,
    consent,
    settings,
    model_setup,
    first_steps,
    tools,
    mcp_servers,
    *(import_module(name) for feature in FEATURES for name in feature.routes),
    today,
    chat,
    responses,
    models,
    file_objects,
    images,
    audio,
    offered_models,
)


class _Web(FastAPI):
    """FastAPI with the events' schemas in its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """The document, with the schemas that no route names as a model; made on first use."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        self.openapi_schema = document = super().openapi()
        (event,), parts = msgspec.json.schema_components([Event], ref_template=_REFERENCE)
        template = _REFERENCE.replace("{name}", "{model}")
        problem = Problem.model_json_schema(ref_template=template)
        conflict = VaultConflict.model_json_schema(ref_template=template)
        faults = problem.pop("$defs") | conflict.pop("$defs")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        event["description"] = "The events of a run; readers show or skip unknown kinds."
        document["components"]["securitySchemes"], document["security"] = {"key": _KEY}, [{"key": []}, {}]
        schemas |= faults | {"Problem": problem, "VaultConflict": conflict, "Event": event} | parts
        return document


def create_rooms() -> ASGIApp:
    """Every route, and the interface's files, without the app that answers.

    They hold nothing of it: each request finds it in its state, where `create_web`
    puts it. So one set serves as many apps as there are, at once or in turn, and
    working out the routes is paid for once.
    """
    web = _Web(
        title="Bethink",
        version=__version__,
        summary="An agent with a memory that its owner can read, correct, undo and export.",
        responses=documented(400, 401, 403, 413, 422, 429, 500, 503),
        generate_unique_id_function=lambda route: route.name,
        **BARE,
    )
    install(web)
    for feature in _FEATURES:
        web.include_router(feature.router)
    web.router.routes += [mcp_route(_InState("mcp"), takes_tokens=True), *dial_routes(_InState("dial"))]
    interface = Interface(web)
    web.router.default = interface.file
    return Compressed(OpenAiErrors(Guard(interface)))


def create_web(opened: AbstractAsyncContextManager[App], rooms: ASGIApp | None = None) -> ASGIApp:
    """The application; `opened` is entered when it starts and left when it ends.

    Give it `open_app(settings, ports)`, or `contextlib.nullcontext(app)` for an
    app that somebody else closes. `rooms` are from `create_rooms`, its own by default.
    """
    rooms = rooms or create_rooms()

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncGenerator[dict[str, Any]]:
        mcp, dial = Endpoint(open_mcp), Endpoint(open_dial)
        async with (
            opened as app,
            ImportJobs(app.importing).opened() as jobs,
            anyio.create_task_group() as tasks,
        ):
            probe, answers, sizes = ModelProbe(app.models), AnswerCounts(), metrics.Sizes()
            supervise = app.ports.supervisor.supervise
            tasks.start_soon(supervise, "the model's probe", probe.answer)
            tasks.start_soon(supervise, "sizes for /metrics", partial(sizes.count_always, app))
            tasks.start_soon(supervise, "the door for MCP", partial(mcp.serve, app))
            tasks.start_soon(supervise, "the door for DIAL", partial(dial.serve, app))
            yield {
                "app": app,
                "probe": probe,
                "jobs": jobs,
                "mcp": mcp,
                "dial": dial,
                ANSWERS: answers,
                metrics.SIZES: sizes,
            }
            tasks.cancel_scope.cancel()

    life = Router(lifespan=lifespan)

    async def web(scope: Scope, receive: Receive, send: Send) -> None:
        answer = life if scope["type"] == "lifespan" else rooms
        await answer(scope, receive, send)

    return web


@dataclass(frozen=True, slots=True)
class _InState:
    """What answers in the app that is open: an ASGI application in the state of each request."""

    name: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on."""
        await scope["state"][self.name](scope, receive, send)
