"""A session: an IPython kernel in a confined process, and what one execution in it shows.

Between executions the process is stopped by the kernel of the machine: what
code left running in threads takes nothing while nobody asks for it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import re
import secrets
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
import zmq
import zmq.asyncio
from jupyter_client.session import Session as Wire

from bethink.errors import SandboxUnavailable
from bethink.sandbox import REASONS, CodeLimits, Display, Ending, Execution
from bethink.sandbox.confinement import Confinement, Job
from bethink.sandbox.folder import remove
from bethink.sandbox.process import ConfinedProcess

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


class MessageContent(msgspec.Struct):
    """What of any message's content is read; `traceback` is a list in JSON."""

    text: str = ""
    data: Data = msgspec.field(default_factory=Data)
    traceback: msgspec.Raw = msgspec.Raw(b"[]")
    execution_state: str = ""
    status: str = ""


class Parent(msgspec.Struct):
    """The request that caused a message."""

    msg_id: str = ""


class KernelHeader(msgspec.Struct):
    """What kind of message it is."""

    msg_type: str


class Message(msgspec.Struct):
    """A message of the kernel, with what is read of it."""

    msg_type: str
    content: MessageContent
    parent_header: Parent


def decoded(frames: Sequence[bytes]) -> Message | None:
    """The message; None for what is none."""
    try:
        parts = frames[frames.index(_DELIMITER) + 1 :]
        if max(len(parts[_HEADER]), len(parts[_PARENT])) > _MOST_HEADER_BYTES:
            return None
        header = msgspec.json.decode(parts[_HEADER], type=KernelHeader)
        parent = msgspec.json.decode(parts[_PARENT], type=Parent)
        return Message(header.msg_type, msgspec.json.decode(parts[_CONTENT], type=MessageContent), parent)
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


_MOST_DISPLAYS: Final = 20
_MOST_TRAFFIC_BYTES: Final = 64 << 20
"""What one execution may send in all: past it, the code only fills the wire."""
_MOST_TRACEBACK_BYTES: Final = 1 << 20
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TRACEBACK_LINES: Final = 40


class Shown:
    """Takes messages; `answer` is what they come to. `most_chars` of text are kept, head and tail."""

    def __init__(self, most_chars: int) -> None:
        self.is_complete = False
        self._most_chars = most_chars
        self._text: list[str] = []
        self._chars = 0
        self._kept = 0
        self._traffic = 0
        self._displays: list[Display] = []

    @property
    def is_over(self) -> bool:
        """Whether more was sent than anybody reads."""
        return self._traffic > _MOST_TRAFFIC_BYTES

    async def follow(self, channels: Channels, request: str) -> None:
        """Take what is published of a request until it is done, or more than anybody reads."""
        while not (self.is_complete or self.is_over):
            message, size = await channels.published(request)
            if size > _SMALL_BYTES:
                # In a thread: pictures are decoded.
                await anyio.to_thread.run_sync(self.take, message, size)
            else:
                self.take(message, size)

    def take(self, message: Message | None, size: int) -> None:
        """One message of the IOPub channel; None is one of somebody else, and counts too."""
        self._traffic += size
        if message is None:
            return
        content = message.content
        match message.msg_type:
            case "stream":
                self._write(content.text)
            case "display_data" | "execute_result":
                self._show(content.data)
            case "error":
                self._write("\n".join(_traceback(content.traceback)) + "\n")
            case "status" if content.execution_state == "idle":
                self.is_complete = True
            case _:
                pass

    def answer(self, ending: Ending, *, lost: bool = False) -> Execution:
        """What was shown until now."""
        text = "".join(self._text)
        left_out = self._chars - len(text)
        if len(text) > self._most_chars:
            half = self._most_chars // 2
            left_out += len(text) - 2 * half
            text = f"{text[:half]}\n[… {left_out:,} characters left out …]\n{text[-half:]}"
        elif left_out:
            text += f"\n[… {left_out:,} characters left out …]"
        return Execution(text, ending, displays=tuple(self._displays), lost=lost)

    def _write(self, text: str) -> None:
        self._chars += len(text)
        if (room := 2 * self._most_chars - self._kept) > 0:
            self._text.append(text[:room])
            self._kept += len(self._text[-1])

    def _show(self, data: Data) -> None:
        drawn = list(_displays(data))
        self._displays += drawn[: max(_MOST_DISPLAYS - len(self._displays), 0)]
        is_picture = any(display.media_type.startswith("image/") for display in drawn)
        if data.plain is not None and not is_picture:
            self._write(f"{data.plain}\n")


def _displays(data: Data) -> Iterator[Display]:
    """The best form that is there: a picture in bytes, else one in words, else a table."""
    pictures = {"png": data.png, "jpeg": data.jpeg, "gif": data.gif, "webp": data.webp}
    for kind, content in pictures.items():
        if content is None:
            continue
        try:
            yield Display(f"image/{kind}", base64.b64decode(content))
        except (binascii.Error, ValueError):
            continue
        return
    if data.svg is not None:
        yield Display("image/svg+xml", data.svg.encode(errors="replace"))
    elif data.html is not None:
        yield Display("text/html", data.html.encode(errors="replace"))


def _traceback(lines: msgspec.Raw) -> list[str]:
    written = bytes(lines)
    if len(written) > _MOST_TRACEBACK_BYTES:
        return [f"[… a traceback of {len(written):,} bytes …]"]
    try:
        entries = msgspec.json.decode(written, type=list[str])
    except msgspec.MsgspecError:
        return []
    whole = _COLOURS.sub("", "\n".join(entries)).split("\n")
    if len(whole) <= _TRACEBACK_LINES:
        return whole
    half = _TRACEBACK_LINES // 2
    return [*whole[:half], f"[… {len(whole) - _TRACEBACK_LINES} lines …]", *whole[-half:]]


_START_TIMEOUT_S: Final = 30
"""A cold disk and a busy machine included: usually one second."""
_GRACE_S: Final = 2
"""From an interrupt to the end of patience."""
_LAST_WORDS_S: Final = 1
"""What is shown may come in after the reply; then it was lost with its connection."""
_READY: Final = "READY"
SCRATCH_PREFIX: Final = "scratch-"


async def open_kernel(
    confinement: Confinement, directory: Path, limits: CodeLimits, *, scratches: Path | None
) -> KernelSession:
    """A kernel that answers. Its sockets and temporary files go into a new directory in `scratches`.

    Raises:
        SandboxUnavailable: it does not start.
    """
    scratch = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, "", SCRATCH_PREFIX, scratches))
    key = secrets.token_hex(16)
    orders = {"key": key, "most_chars": limits.output_chars}
    job = Job(directory, limits, "guest_kernel.py", scratch, with_packages=True, orders=orders)
    try:
        process = await ConfinedProcess.start(job, confinement)
    except OSError as error:
        await anyio.to_thread.run_sync(remove, scratch)
        raise SandboxUnavailable(f"The interpreter does not start: {error}") from error
    session = KernelSession(process, job, scratch)
    try:
        async with asyncio.timeout(_START_TIMEOUT_S):
            await session.greet(key)
    except TimeoutError as error:
        await session.close()
        raise SandboxUnavailable(
            f"The interpreter did not start within {_START_TIMEOUT_S} s. {process.text[-500:]}"
        ) from error
    except BaseException:
        await session.close()
        raise
    return session


class KernelSession:
    """See `Session`. Made by `open_kernel`."""

    def __init__(self, process: ConfinedProcess, job: Job, scratch: Path) -> None:
        self._process = process
        self._limits = job.limits
        self._scratch = scratch
        self._channels: Channels | None = None
        self._turn = asyncio.Lock()
        self._stopping: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def is_alive(self) -> bool:
        """See `Session.is_alive`."""
        return not self._closed and self._process.exit_code is None and self._process.ending is None

    async def greet(self, key: str) -> None:
        """Connect once the kernel's sockets are there, and wait for its first word.

        Raises:
            SandboxUnavailable: it died.
        """
        await self._process.said_something()
        if not self._process.text.startswith(_READY):
            await self._process.end("died")
            reason = self._process.text.strip()[-500:] or REASONS[self._process.ending or "died"]
            raise SandboxUnavailable(f"The interpreter does not start: {reason}")
        await self._process.find_inner()
        self._channels = Channels(self._scratch, key)
        await self._channels.ready()
        self._rest()

    async def execute(self, code: str, timeout_s: float) -> Execution:
        """See `Session.execute`."""
        async with self._turn:
            if self._stopping is not None:
                await asyncio.shield(self._stopping)
            if not self.is_alive or self._channels is None:
                return self._lost(Shown(self._limits.output_chars))
            self._process.is_watched = True
            self._process.signal(signal.SIGCONT)
            shown = Shown(self._limits.output_chars)
            running = asyncio.create_task(self._run(self._channels, code, shown))
            dying = asyncio.create_task(self._process.ended())
            try:
                return await self._outcome(running, dying, shown, timeout_s=timeout_s)
            finally:
                dying.cancel()
                if not running.done() and self.is_alive:
                    self._stopping = asyncio.create_task(self._stop(running))
                elif self.is_alive:
                    self._rest()

    async def interrupt(self) -> None:
        """See `Session.interrupt`.

        By a signal from the host, not by a message: it arrives where the sockets are broken, too.
        """
        self._process.signal(signal.SIGINT)

    async def close(self) -> None:
        """See `Session.close`."""
        self._closed = True
        if self._channels is not None:
            self._channels.close()
        if self._stopping is not None:
            self._stopping.cancel()
        with anyio.CancelScope(shield=True):
            await self._process.end("died")
            await anyio.to_thread.run_sync(remove, self._scratch)

    async def _outcome(
        self, running: asyncio.Task[Ending], dying: asyncio.Task[None], shown: Shown, *, timeout_s: float
    ) -> Execution:
        both = {running, dying}
        done, _ = await asyncio.wait(both, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        is_late = not done
        if is_late:
            await self.interrupt()
            done, _ = await asyncio.wait(both, timeout=_GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self._process.kill("timed_out")
        if running not in done:
            running.cancel()
            await self._process.ended()
            return self._lost(shown)
        ending = await self._process.over_at_last() or running.result()
        if ending not in {"finished", "failed"}:
            await self._process.end(ending)
            return self._lost(shown)
        return shown.answer("timed_out" if is_late else ending)

    async def _run(self, channels: Channels, code: str, shown: Shown) -> Ending:
        """Until the kernel has replied and shown everything, or can do neither any more."""
        request = await channels.ask(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": True,
            },
        )
        showing = asyncio.create_task(shown.follow(channels, request))
        try:
            replying = asyncio.create_task(channels.reply(request))
            try:
                await asyncio.wait({showing, replying}, return_when=asyncio.FIRST_COMPLETED)
                if showing.done() and shown.is_over:
                    return "too_much_output"
                reply = await replying
            finally:
                replying.cancel()
            # No last word came: a message was too large, and its connection is gone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await asyncio.shield(showing)
            if not showing.done() or shown.is_over:
                return "too_much_output"
            return "finished" if reply.content.status == "ok" else "failed"
        finally:
            showing.cancel()

    async def _stop(self, running: asyncio.Task[Ending]) -> None:
        """Nobody waits for what runs any more: interrupt it, or else kill it."""
        await self.interrupt()
        await asyncio.wait({running}, timeout=_GRACE_S)
        if running.done() and self.is_alive:
            self._rest()
        else:
            running.cancel()
            await self._process.end("timed_out")

    def _rest(self) -> None:
        self._process.is_watched = False
        self._process.signal(signal.SIGSTOP)

    def _lost(self, shown: Shown) -> Execution:
        return shown.answer(self._process.ending or "died", lost=True)
