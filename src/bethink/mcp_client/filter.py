"""What a server's messages are sifted for before the SDK works on them, whatever they came over.

One tool that breaks the protocol shall not cost the others, an answer of a
hundred thousand parts nobody's time, a flood the machine's. `sdk_session` puts
it between a transport and the SDK's client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import anyio.to_thread
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, Tool
from mcp_types.methods import validate_server_result

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage

    from bethink.mcp_client.options import Link

MAX_PARTS = 1_000
"""Of one answer: a model reads a few hundred, and each takes time to be made."""
_REVISION = "2025-11-25"
"""By which a tool is judged: of the newest ones the shape of a tool is the same."""


class Sifted:
    """A transport's stream of messages."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], link: Link) -> None:
        self._inner = inner
        self._link = link

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return await self._sifted(await self._inner.receive())

    async def aclose(self) -> None:
        """Take no more."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._sifted(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    async def _sifted(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception):
            return item
        message = item.message
        if isinstance(message, JSONRPCNotification | JSONRPCRequest):
            if self._link.flow.is_flood():
                self._link.hooks.on_lost("it sends far more messages than anybody asked for")
        elif isinstance(message, JSONRPCResponse):
            await self._sift(message.result)
        return item

    async def _sift(self, result: dict[str, Any]) -> None:
        content, tools = result.get("content"), result.get("tools")
        if isinstance(content, list):
            parts = cast("list[Any]", content)
            if (more := len(parts) - MAX_PARTS) > 0:
                parts[MAX_PARTS:] = [{"type": "text", "text": f"[{more:,} more parts, left out]"}]
        if isinstance(tools, list):
            good, bad = await anyio.to_thread.run_sync(_judged, cast("list[Any]", tools))
            result["tools"] = good
            self._link.left_out += bad


def _judged(tools: list[Any]) -> tuple[list[Any], list[str]]:
    """Those that are tools, and the names of those that are not."""
    good: list[Any] = []
    bad: list[str] = []
    for tool in tools:
        try:
            Tool.model_validate(tool, by_name=False)
            validate_server_result("tools/list", _REVISION, {"tools": [tool]})
        except ValueError:
            name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
            bad.append(str(name or "one without a name")[:64])
        else:
            good.append(tool)
    return good, bad
