"""The door for DIAL Core: whose request it is, what it asks for, and an answer to it.

`application` puts it behind the SDK's protocol. The caller is whoever Core says: their
key is verified by asking Core for its bucket, and their data's folder makes the owner.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from bethink.agent.client_tools import with_tool_choice
from bethink.dial.answer import DialAnswer, DialOffer
from bethink.dial.core import CoreClient
from bethink.dial.history import DialChat, HistorySeal, unpack
from bethink.dial.sessions import DialSessions, open_ephemeral_app
from bethink.errors import BadInput
from bethink.images.factory import dial_images
from bethink.llm.endpoint import Endpoint
from bethink.llm.markup import MarkupLlm
from bethink.llm.models import FallbackLlm, Retries, limits_of, sees
from bethink.llm.openai_wire import OpenAiWire, Shared
from bethink.tools.images import image_tools

if TYPE_CHECKING:
    from aidial_sdk.chat_completion import Choice

    from bethink.agent.request import RunOptions
    from bethink.app import App
    from bethink.dial.render import AnswerRenderer
    from bethink.llm import Llm
    from bethink.settings import DialDoor, Settings
    from bethink.tool import Tool


def image_tools_of(settings: Settings, url: str, key: str) -> list[Tool]:
    """The tool over the Core at `url`; nothing if no deployment of DIAL makes the pictures."""
    provider, _, deployment = settings.images_model.partition(":")
    if provider != "dial":
        return []
    images = dial_images(url, key, deployment, timeout_s=settings.images_timeout_s)
    return image_tools(images, settings.images_timeout_s, settings.images_price_usd)


_MINUTE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Request:
    """A request as Core sends it; `conversation` is what the client calls it, if it says."""

    key: str = field(repr=False)
    body: bytes = field(repr=False)
    conversation: str | None = None
    deployment: str | None = None
    """A model's, beside what settings and configuration say."""


@dataclass(frozen=True, slots=True)
class ChatDoor:
    """Answers requests. `offer` is what they have beside the app's, `system` stands before a client's own."""

    app: App
    client: CoreClient
    settings: DialDoor
    sessions: DialSessions
    offer: DialOffer = field(default_factory=DialOffer)
    system: str = ""
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    async def answer(self, request: Request, open_choice: Callable[[], Choice]) -> AnswerRenderer:
        """Answer a request through the choice, which is opened once there is something to say.

        Raises:
            RefusedError: the run failed before it said or did anything.
            BethinkError: the request is not fit, or Core refuses its key or cannot be asked.
        """
        core = self.client.with_key(request.key)
        home = (await core.bucket()).home

        def seal_of(first: str) -> HistorySeal:
            return HistorySeal(self._secret, f"{home}\0{_place(request, first)}")

        asked = unpack(request.body, seal_of)
        options = self._run_options(asked)
        async with AsyncExitStack() as stack:
            llm = self._model(request, asked)
            pictures = image_tools_of(self.app.settings, self.client.url, request.key)
            if llm is not None:
                stack.push_async_callback(llm.close)
            place = _place(request, asked.first)
            entered = self.sessions.entered(home, place, guessed=request.conversation is None)
            session = await stack.enter_async_context(entered)
            if session.bucket_memory is not None and options.memory:
                await session.bucket_memory.load(core)
            return await DialAnswer(
                self.app,
                session,
                core,
                home,
                asked,
                seal_of(asked.first),
                options,
                replace(self.offer, llm=llm, tools=(*self.offer.tools, *pictures)),
                open_choice,
                self.sessions.forget_others,
                max_files=self.settings.max_files,
                wait_minutes=max(1, round(self.settings.approval_timeout_s / _MINUTE_S)),
            ).answer()

    @property
    def configuration(self) -> dict[str, Any]:
        """What a request may set in `custom_fields.configuration`, as a JSON schema."""
        models = self._models
        model = {"model": {"type": "string", "enum": models, "default": models[0]}} if models else {}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "title": "Bethink",
            "properties": model
            | {
                "memory": {
                    "type": "boolean",
                    "default": self.settings.memory != "off",
                    "description": "Whether what is known of you is used and kept.",
                },
                "tools": {"type": "boolean", "default": True, "description": "Whether tools are offered."},
            },
            "additionalProperties": False,
        }

    @property
    def _models(self) -> list[str]:
        return list(dict.fromkeys(name for name in (self.settings.model, *self.settings.models) if name))

    def _run_options(self, asked: DialChat) -> RunOptions:
        """What the client may wish for its run."""
        given = asked.configuration
        known = self.configuration["properties"].keys()
        for name in given.keys() - known:
            raise BadInput(f"The configuration has no {name[:80]!r}: give {', '.join(sorted(known))}.")
        for name in ("memory", "tools"):
            if not isinstance(given.get(name, True), bool):
                raise BadInput(f"{name} of the configuration is true or false.")
        options = msgspec.structs.replace(
            asked.options,
            system="\n\n".join(part for part in (self.system, asked.system) if part),
            memory=self.settings.memory != "off" and given.get("memory", True),
            tools=given.get("tools", True),
        )
        return with_tool_choice(options, asked.tools, asked.tool_choice)

    def _model(self, request: Request, asked: DialChat) -> Llm | None:
        """The model, reached back through Core with the request's own key; None for the app's own."""
        wished = asked.configuration.get("model")
        if wished is not None and wished not in self._models:
            raise BadInput(
                f"There is no model {str(wished)[:80]!r}. Offered: {', '.join(self._models) or 'none'}."
            )
        name = request.deployment or wished or self.settings.model
        if not name:
            return None
        settings = self.app.settings
        endpoint = Endpoint(
            self.client.url, name, api_key=request.key, azure=True, key_setting="the key of this request"
        )
        spec = f"dial:{name}"
        wire = OpenAiWire(
            spec,
            endpoint,
            context_tokens=self.settings.context_tokens,
            limits=limits_of(settings),
            sees=sees(spec, settings.models_that_see),
            shared=Shared(self.client.session, self.app.models.learnt),
        )
        return FallbackLlm(
            [MarkupLlm(wire, self.app.models.learnt)], retries=Retries(attempts=settings.model_attempts)
        )


@asynccontextmanager
async def open_door(app: App) -> AsyncGenerator[ChatDoor]:
    """The door of an open app, as its settings have it.

    Raises:
        BadInput: the settings name no Core.
    """
    settings = app.settings.dial
    url = settings.url or app.settings.dial_base_url
    if not url:
        raise BadInput("Where is DIAL Core? Set `url` of the setting `dial`, or DIAL_URL.")
    async with AsyncExitStack() as stack:
        in_bucket = settings.memory != "store"
        answering = await stack.enter_async_context(open_ephemeral_app(app)) if in_bucket else app
        client = CoreClient(url, timeout_s=settings.timeout_s)
        stack.push_async_callback(client.close)
        sessions = DialSessions(answering, in_bucket, settings.idle_s)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(app.ports.supervisor.supervise, "sessions for DIAL", sessions.sweep_always)
        offer = DialOffer()
        if in_bucket:
            # Tools whose effects outlast the answer: other records than facts would end with the session.
            ephemeral = answering.features.ephemeral
            lasting = (tool.name for tool in answering.toolbox.all if tool.family not in ephemeral)
            offer = DialOffer(only=frozenset(lasting))
        yield ChatDoor(answering, client, settings, sessions, offer)


def _place(request: Request, first: str) -> str:
    """Which conversation it is: as the client says, else by how it began."""
    if request.conversation:
        return f"id:{request.conversation}"
    return f"said:{hashlib.sha256(first.encode('utf-8', 'replace')).hexdigest()}"
