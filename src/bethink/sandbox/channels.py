"""The host's end of a kernel's sockets: requests out, messages in, none of them believed.

Source: "Messaging in Jupyter" of jupyter_client. The code under the kernel
knows its key and can write into its sockets, so that any message may be
forged, huge, or missing: sizes are bounded, connections are made once, nothing waits for ever.
A signature proves nothing here and is not looked at. Of a message only what is shown is ever
made a value, of the type that it must have, and of a large one in a thread.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec
import zmq
import zmq.asyncio
from jupyter_client.session import Session as Wire

from bethink.errors import SandboxUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SHELL, _IOPUB = 1, 2
_DELIMITER: Final = b"<IDS|MSG>"
_HEADER, _PARENT, _CONTENT = 1, 2, 4
"""Frames behind the delimiter; the others are a signature and what nobody reads."""
_SMALL_BYTES: Final = 1 << 15
_MOST_HEADER_BYTES: Final = 1 << 16
_HEARD_WITHIN_S: Final = 0.2
"""From a request until what is published of it comes, where somebody listens already."""
MOST_MESSAGE_BYTES: Final = 8 << 20
"""A larger message is dropped with its connection, before it is in memory."""
_QUEUED_MESSAGES: Final = 16
_SEND_TIMEOUT_MS: Final = 1000


class Data(msgspec.Struct):
    """The forms of what is shown that are read, of all that there may be."""

    png: str | None = msgspec.field(name="image/png", default=None)
    jpeg: str | None = msgspec.field(name="image/jpeg", default=None)
    gif: str | None = msgspec.field(name="image/gif", default=None)
    webp: str | None = msgspec.field(name="image/webp", default=None)
    svg: str | None = msgspec.field(name="image/svg+xml", default=None)
    html: str | None = msgspec.field(name="text/html", default=None)
    plain: str | None = msgspec.field(name="text/plain", default=None)


class Content(msgspec.Struct):
    """What of any message's content is read; `traceback` is a list in JSON."""

    text: str = ""
    data: Data = msgspec.field(default_factory=Data)
    traceback: msgspec.Raw = msgspec.Raw(b"[]")
    execution_state: str = ""
    status: str = ""


class Parent(msgspec.Struct):
    """The request that caused a message."""

    msg_id: str = ""


class Header(msgspec.Struct):
    """What kind of message it is."""

    msg_type: str


class Message(msgspec.Struct):
    """A message of the kernel, with what is read of it."""

    msg_type: str
    content: Content
    parent_header: Parent


def decoded(frames: Sequence[bytes]) -> Message | None:
    """The message; None for what is none."""
    try:
        parts = frames[frames.index(_DELIMITER) + 1 :]
        if max(len(parts[_HEADER]), len(parts[_PARENT])) > _MOST_HEADER_BYTES:
            return None
        header = msgspec.json.decode(parts[_HEADER], type=Header)
        parent = msgspec.json.decode(parts[_PARENT], type=Parent)
        return Message(header.msg_type, msgspec.json.decode(parts[_CONTENT], type=Content), parent)
    except (msgspec.MsgspecError, ValueError, IndexError, RecursionError):
        return None


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

    async def ready(self) -> None:
        """Return once the kernel answers, and what it shows arrives: a subscription takes its time."""
        while True:
            request = await self.ask("kernel_info_request", {})
            await self.reply(request)
            try:
                async with asyncio.timeout(_HEARD_WITHIN_S):
                    while (await self.published(request))[0] is None:
                        pass
            except TimeoutError:
                continue
            return

    async def published(self, by: str) -> tuple[Message | None, int]:
        """The next message that is shown, and its bytes; None for one that `by` did not cause."""
        message, size = await self._next(self._iopub)
        return (message if message is not None and message.parent_header.msg_id == by else None), size

    async def _next(self, socket: zmq.asyncio.Socket) -> tuple[Message | None, int]:
        frames: list[bytes] = await socket.recv_multipart()
        size = sum(map(len, frames))
        if size > _SMALL_BYTES:
            return await anyio.to_thread.run_sync(decoded, frames), size
        return decoded(frames), size

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
