"""The host's end of a kernel's sockets: requests out, messages in, none of them believed.

Source: "Messaging in Jupyter" of jupyter_client. The code under the kernel
knows its key and can write into its sockets, so that any message may be
forged, huge, or missing: sizes are bounded, connections are made once, nothing waits for ever.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import msgspec
import zmq
import zmq.asyncio
from jupyter_client.session import Session as Wire

from bethink.errors import SandboxUnavailable

if TYPE_CHECKING:
    from pathlib import Path

_SHELL, _IOPUB = 1, 2
MOST_MESSAGE_BYTES: Final = 8 << 20
"""A larger message is dropped with its connection, before it is in memory."""
_QUEUED_MESSAGES: Final = 16
_SEND_TIMEOUT_MS: Final = 1000


class Content(msgspec.Struct):
    """What of any message's content is read."""

    text: str = ""
    data: dict[str, Any] = {}
    traceback: list[str] = []
    execution_state: str = ""
    status: str = ""


class Parent(msgspec.Struct):
    """The request that caused a message."""

    msg_id: str = ""


class Message(msgspec.Struct):
    """A message of the kernel, with what is read of it."""

    msg_type: str
    content: Content
    parent_header: Parent


class Channels:
    """Shell and IOPub of one kernel, whose sockets are in `scratch`; `key` signs the messages."""

    def __init__(self, scratch: Path, key: str) -> None:
        self._wire = Wire(key=key.encode())
        self._context = zmq.asyncio.Context(io_threads=1)
        # By descriptor: a socket's path may not be longer than 107 bytes, and data directories are.
        self._place = os.open(scratch, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._shell = self._connected(zmq.DEALER, _SHELL)
        self._iopub = self._connected(zmq.SUB, _IOPUB)
        self._iopub.subscribe(b"")

    def close(self) -> None:
        """Let go of everything, at once; idempotent."""
        if self._place >= 0:
            self._context.destroy(linger=0)
            os.close(self._place)
            self._place = -1

    async def ask(self, kind: str, content: dict[str, Any]) -> str:
        """Send a request on the shell channel; its id.

        Raises:
            SandboxUnavailable: the kernel takes no more.
        """
        message = self._wire.msg(kind, content)  # pyright: ignore[reportUnknownMemberType] - untyped there
        frames: list[bytes] = self._wire.serialize(message)
        try:
            await self._shell.send_multipart(frames)  # pyright: ignore[reportUnknownMemberType] - untyped there
        except zmq.ZMQError as error:
            raise SandboxUnavailable(f"The interpreter does not answer: {error}") from error
        return message["header"]["msg_id"]

    async def reply(self, to: str) -> Message:
        """The kernel's reply to a request."""
        while True:
            message, _ = await self._next(self._shell)
            if message is not None and message.parent_header.msg_id == to:
                return message

    async def published(self, by: str) -> tuple[Message | None, int]:
        """The next message that is shown, and its bytes; None for one that `by` did not cause."""
        message, size = await self._next(self._iopub)
        return (message if message is not None and message.parent_header.msg_id == by else None), size

    async def _next(self, socket: zmq.asyncio.Socket) -> tuple[Message | None, int]:
        frames: list[bytes] = await socket.recv_multipart()
        size = sum(map(len, frames))
        try:
            _, rest = self._wire.feed_identities(frames)
            return msgspec.convert(self._wire.deserialize(rest), Message), size
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None, size

    def _connected(self, kind: int, number: int) -> zmq.asyncio.Socket:
        socket = self._context.socket(kind)
        socket.linger = 0
        socket.sndtimeo = _SEND_TIMEOUT_MS
        socket.sndhwm = socket.rcvhwm = _QUEUED_MESSAGES
        socket.maxmsgsize = MOST_MESSAGE_BYTES
        # Never again: by then the path may lead elsewhere.
        socket.reconnect_ivl = -1
        socket.connect(f"ipc:///proc/self/fd/{self._place}/k-{number}")
        return socket
