"""A server as a child process: lines of JSON on its standard input and output. `sdk.py` uses it.

In place of the SDK's own transport, for what that leaves open: the size of a
message is bounded and a long one costs linear time, what is no JSON is skipped,
the server's last words on standard error say why it died, and no child outlives
Bethink (`processes`). Source: "Transports: stdio" of the specification.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from asyncio.subprocess import PIPE
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from bethink.child_process import ChildProcess
from bethink.errors import BadInput, McpUnreachable, SandboxUnavailable
from bethink.json_bounds import MessageRate, check_json
from bethink.mcp_client import MAX_MESSAGE_VALUES, Hooks, Launcher, ServerConfig
from bethink.mcp_client.masking import SecretMask
from bethink.mcp_client.processes import ProcessGuard, descendants, end_all
from bethink.telemetry import log

if TYPE_CHECKING:
    from asyncio import StreamReader

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream


_log = log("mcp")

_CHUNK = 64 * 1024
ENDS = 512
"""Bytes that are kept of either end of a line that is too long."""

_GRACE_S = 1.0
"""Given to a server after its input ended, and again after SIGTERM."""
_LAST_LINES = 12
_LINE_CHARS = 300
_WORDS_CHARS = 1_000
_IN_THREAD = 256 * 1024
"""A longer message is taken apart in a thread: the loop would stand still for milliseconds."""
_HALF = rb"\ud"
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"]{1,64}")')


@asynccontextmanager
async def stdio_transport(
    config: ServerConfig, hooks: Hooks, guard: ProcessGuard, *, launcher: Launcher | None = None
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """The streams that the SDK's client drives; the process ends with the block, and its children with it.

    Raises:
        McpUnreachable: the program cannot be started.
    """
    process = await _started(config, launcher)
    child = _Child(config, hooks, process)
    try:
        await guard.watch(process.pid)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(child.read(to_client)),
            asyncio.create_task(child.write(from_client)),
            asyncio.create_task(child.listen()),
        ]
        try:
            yield from_server, to_server
        finally:
            child.is_ending = True
            # However the block is left: a process that nobody waits for is left behind.
            with anyio.CancelScope(shield=True):
                from_server.close()
                to_server.close()
                for task in tasks[:2]:
                    task.cancel()
                # One that leads a session of its own is in no group of ours, and nobody's child soon.
                others = await anyio.to_thread.run_sync(descendants, process.pid)
                await _ended(process)
                await anyio.to_thread.run_sync(end_all, others)
                tasks[2].cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        _kill(process, signal.SIGKILL)
        guard.forget(process.pid)
        await process.end()


async def _started(config: ServerConfig, launcher: Launcher | None) -> ChildProcess:
    program = config.command[0]
    command: Sequence[str] = config.command
    env: Mapping[str, str] = get_default_environment() | dict(config.certificates) | dict(config.env)
    try:
        if config.sandbox is not None:
            if launcher is None:
                raise McpUnreachable(f"{program} is to run in a sandbox, and nothing here starts one.")
            command, env = await launcher(config, env)
        return await ChildProcess.start(
            *command,
            limit=_IN_THREAD,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            cwd=config.cwd,
            start_new_session=True,
        )
    except SandboxUnavailable as error:
        raise McpUnreachable(f"{program} was not started in its sandbox: {error.message}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise McpUnreachable(
            f"{program} cannot be started: {reason}. Check `command`, `args` and `cwd`."
        ) from error


class _Child:
    """The traffic with one process."""

    def __init__(self, config: ServerConfig, hooks: Hooks, process: ChildProcess) -> None:
        self._config = config
        self._hooks = hooks
        self._process = process
        self._flow = MessageRate()
        self._hidden = SecretMask(config)
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._heard = asyncio.Event()
        self.is_ending = False

    async def read(self, to_client: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on what the server says, until it says nothing more."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        async with to_client:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in lines(self._process.stdout, self._config.max_message_bytes):
                    if self._flow.is_flood():
                        self._hooks.on_lost("it sends far more messages than anybody asked for")
                        return
                    message = await self._message(line)
                    if message is not None:
                        await to_client.send(SessionMessage(message))
                    elif line:
                        _log.debug(
                            "%s wrote something that is not JSON-RPC to standard output", self._config.name
                        )
            if not self.is_ending:
                await self._say_how_it_ended()

    async def write(self, from_client: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Hand on what the client says."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        async with from_client:
            async for item in from_client:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    self._process.stdin.write(f"{text}\n".encode())
                    await self._process.stdin.drain()
                except (OSError, RuntimeError):
                    # The reader sees the end, too, and knows more of it.
                    return

    async def listen(self) -> None:
        """Remember the server's last words on standard error."""
        assert self._process.stderr is not None  # noqa: S101 - it was asked for
        async for line in lines(self._process.stderr, _IN_THREAD):
            if isinstance(line, TooLong):
                continue
            if text := self._hidden(line.decode(errors="replace").strip())[:_LINE_CHARS]:
                self._last.append(text)
                self._hooks.on_words(self._last_words())
                _log.debug("%s: %s", self._config.name, text)
        self._heard.set()

    async def _say_how_it_ended(self) -> None:
        try:
            async with asyncio.timeout(_GRACE_S):
                code = await self._process.wait()
                await self._heard.wait()
        except TimeoutError:
            self._hooks.on_lost("it closed its output")
            return
        how = f"it was ended by signal {-code}" if code < 0 else f"it ended with code {code}"
        self._hooks.on_lost(": ".join(filter(None, (how, self._last_words()))))

    def _last_words(self) -> str:
        """The end of what was written: a trace names its error in its last line."""
        words = " | ".join(self._last)
        return words if len(words) <= _WORDS_CHARS else f"…{words[-_WORDS_CHARS:]}"

    async def _message(self, line: bytes | TooLong) -> JSONRPCMessage | None:
        """What a line says; None for what is no message."""
        if isinstance(line, TooLong):
            limit = self._config.max_message_bytes
            return _refused(line, f"The answer has {line.size:,} bytes; at most {limit:,} are taken.")
        if len(line) > _IN_THREAD:
            try:
                await anyio.to_thread.run_sync(partial(check_json, line, values=MAX_MESSAGE_VALUES))
            except BadInput as error:
                return _refused(TooLong(line[:ENDS], line[-ENDS:], len(line)), error.message)
        try:
            return (
                await anyio.to_thread.run_sync(_message, line) if len(line) > _IN_THREAD else _message(line)
            )
        except (ValueError, RecursionError):
            return None


def _refused(line: TooLong, why: str) -> JSONRPCError | None:
    """What is not taken, as an error to whoever waits for it: its id stands at an end of it."""
    found = _ID.findall(line.head) or _ID.findall(line.tail)[-1:]
    if not found:
        return None
    text = found[0].decode()
    id = int(text) if text.isdecimal() else text.strip('"')
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=INTERNAL_ERROR, message=why))


def _message(line: bytes) -> JSONRPCMessage:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if _HALF not in line.lower():
            raise
    # JavaScript cuts texts through the middle of an emoji: the half becomes the sign for what is no text.
    text = json.dumps(json.loads(line), ensure_ascii=False)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return jsonrpc_message_adapter.validate_json(whole, by_name=False)


async def _ended(process: ChildProcess) -> None:
    """End the process as the specification asks: its input closed, then SIGTERM, then SIGKILL."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
                return
        if number is not None:
            _kill(process, number)


def _kill(process: ChildProcess, number: signal.Signals) -> None:
    """Signal the process and its children: it leads their group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line beyond the limit: how it began, how it ended, its size in bytes."""

    head: bytes
    tail: bytes
    size: int


@dataclass(slots=True)
class _Line:
    """One line as it comes; beyond `limit` bytes only its ends are kept."""

    limit: int
    kept: bytearray = field(default_factory=bytearray)
    size: int = 0
    head: bytes = b""

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self.kept += piece
        if self.size > self.limit:
            self.head = self.head or bytes(self.kept[:ENDS])
            del self.kept[:-ENDS]

    def whole(self) -> bytes | TooLong:
        kept = bytes(self.kept)
        return kept if self.size <= self.limit else TooLong(self.head, kept, self.size)


async def lines(stream: StreamReader, limit: int) -> AsyncGenerator[bytes | TooLong]:
    """The stream's lines without their ends, the last one too if it has none.

    Of a line with more than `limit` bytes only its ends are kept, however long it is.
    """
    line = _Line(limit)
    while chunk := await stream.read(_CHUNK):
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            line.add(piece)
            yield line.whole()
            line = _Line(limit)
        line.add(rest)
    if last := line.whole():
        yield last
