"""The agent of spec 002 ("Agent Interface")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from bethink.dial.answer import Offer
from bethink.dial.compat.contract import BaseTool, as_tool
from bethink.dial.core import CoreClient
from bethink.dial.door import Door, Request
from bethink.dial.ephemeral_app import EphemeralApp
from bethink.dial.render import Style
from bethink.dial.sessions import DialSessions
from bethink.settings_shapes import DialDoor

if TYPE_CHECKING:
    from aidial_sdk.chat_completion import Choice, Message, Response
    from aidial_sdk.chat_completion import Request as DialRequest

    from bethink.embeddings import Embeddings

_IDLE_S: Final = 900


class GeneralPurposeAgent:
    """An agent with these tools alone; `endpoint` is DIAL Core's URL.

    Its loop, limits and stages are Bethink's.
    """

    def __init__(
        self,
        endpoint: str,
        system_prompt: str,
        tools: list[BaseTool],
        *,
        embeddings: Embeddings | None = None,
    ) -> None:
        self._system_prompt = system_prompt
        self._tools = tools
        self._client = CoreClient(endpoint)
        self._lodging = EphemeralApp(embeddings)
        self._settings = DialDoor(enabled=True, url=endpoint, memory="off")
        self._door: Door | None = None

    async def handle_request(
        self, deployment_name: str, choice: Choice, request: DialRequest, *, response: Response
    ) -> Message:
        """Answer through an open choice, with a model of Core's; the answer as a message.

        Raises:
            RefusedError: the model failed before it said anything.
            BethinkError: the request is not fit, or Core cannot be asked.
        """
        from aidial_sdk.chat_completion import Message, Role

        del response
        key, conversation = request.api_key, request.conversation_id
        app = await self._lodging.app()
        if self._door is None:
            sessions = DialSessions(app, in_bucket=True, idle_s=_IDLE_S)
            self._door = Door(app, self._client, self._settings, sessions, system=self._system_prompt)
        await self._door.sessions.sweep(anyio.current_time() - _IDLE_S)
        offer = Offer(
            tools=[
                as_tool(one, api_key=key, conversation_id=conversation or "", choice=choice)
                for one in self._tools
            ],
            only=frozenset(),
            styles={one.name: Style(one.create_tool_stage, one.show_in_stage) for one in self._tools},
        )
        door = replace(self._door, offer=offer)
        body = await request.original_request.body()
        renderer = await door.answer(Request(key, body, conversation, deployment_name), lambda: choice)
        return Message(role=Role.ASSISTANT, content=renderer.text)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._lodging.aclose()
