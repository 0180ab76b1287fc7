"""A GGUF file as a model: `gguf:/path/model.gguf`. llama.cpp runs it in a process of its own.

`providers.connect` makes it. The process starts with the first request, is started again when it died, and
ends with this one, whatever ends that: it reads a pipe that nobody else holds open.
Needs the extra `llamacpp`. What a file says of itself is read from its header alone, never its weights.
Source: the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3, little-endian.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import struct
import sys
from asyncio.subprocess import PIPE
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.child_process import ChildProcess
from bethink.errors import BadInput, LlmError, Refused, Unreachable
from bethink.llm.endpoint import Endpoint
from bethink.llm.llamacpp_guest import GREETING, Orders
from bethink.llm.openai_wire import OpenAiWire, WireLimits
from bethink.llm.routed import RoutedLlm
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.llm import Delta, Llm, LlmRequest


MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_MOST_KEYS: Final = 10_000
_MOST_TEXT_BYTES: Final = 4_000_000
"""Longer than any chat template; what is longer is another file's bytes."""
_TOOLS: Final = re.compile(r"\btools\b")


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A model's name, kind, window in tokens (0 where it says none) and chat template; its file's bytes."""

    name: str
    architecture: str
    context_tokens: int
    template: str
    bytes: int

    @property
    def calls_tools(self) -> bool:
        """Whether its chat template tells it of tools: one that does not leaves them out silently."""
        return _TOOLS.search(self.template) is not None


def read_header(path: Path) -> GgufHeader:
    """What the file says. Blocks: call it from a thread.

    Raises:
        BadInput: there is no such file, it cannot be read, or it is no GGUF.
    """
    try:
        with path.open("rb") as file:
            values = _values(file)
            size = path.stat().st_size
    except OSError as error:
        raise BadInput(
            f"The model {path} cannot be read: {error.strerror}. Check the path in `gguf:PATH`."
        ) from error
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{path} is not a complete GGUF file: {error}.") from error
    architecture = str(values.get("general.architecture", ""))
    window = values.get(f"{architecture}.context_length", 0)
    return GgufHeader(
        name=str(values.get("general.name", path.stem)),
        architecture=architecture,
        context_tokens=window if isinstance(window, int) else 0,
        template=str(values.get("tokenizer.chat_template", "")),
        bytes=size,
    )


def _values(file: BinaryIO) -> dict[str, object]:
    """The header's single values, by key; lists are passed over."""
    if file.read(4) != MAGIC:
        raise ValueError("it does not begin like one")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in _VERSIONS or count > _MOST_KEYS:
        raise ValueError(f"its version {version} is not known")
    values: dict[str, object] = {}
    for _ in range(count):
        key = _text(file)
        kind = _number(file, "<I")
        if kind == _ARRAY:
            _pass_over(file)
        else:
            values[key] = _text(file) if kind == _STRING else _number(file, _format(kind))
    return values


def _pass_over(file: BinaryIO) -> None:
    kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind == _STRING:
        for _ in range(count):
            file.seek(_number(file, "<Q"), 1)
    else:
        file.seek(struct.calcsize(_format(kind)) * count, 1)


def _text(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _MOST_TEXT_BYTES:
        raise ValueError("a text in it has no end")
    return file.read(size).decode()


def _number(file: BinaryIO, layout: str) -> int:
    (value,) = struct.unpack(layout, file.read(struct.calcsize(layout)))
    return value


def _format(kind: int) -> str:
    layout = _SCALARS.get(kind)
    if layout is None:
        raise ValueError(f"a value in it has the unknown type {kind}")
    return layout


NOT_INSTALLED: Final = (
    "A GGUF file needs llama.cpp: install it with `pip install 'bethink[llamacpp]'`, then start again."
)
RUNS_FILES: Final = "llamacpp"
"""The provider whose models can be files, too."""
_START_S: Final = 300
"""Loading a model of ten gigabytes from a slow disk."""
_STOP_S: Final = 5
_NOTICED_S: Final = 1
"""Until the end of a process is known here."""
_TOLD_LINES: Final = 5
_MOST_THREADS: Final = 8
_KB: Final = 1024
_log = log("llamacpp")


def missing_runner() -> str:
    """What to install before a file can be run, as a sentence; empty if all is there. Blocks."""
    return "" if find_spec("xllamacpp") else NOT_INSTALLED


@dataclass(frozen=True, slots=True)
class Running:
    """The process: bytes that it holds (0 where this system does not tell), and how long it took to start."""

    pid: int
    memory_bytes: int
    start_s: float


@dataclass(slots=True)
class _Process:
    process: ChildProcess
    wire: OpenAiWire
    model: Llm
    start_s: float
    draining: asyncio.Task[None]

    @property
    def lives(self) -> bool:
        return self.process.returncode is None


class LlamaCppLlm:
    """One GGUF file. Where its chat template knows no tools, they are offered by a schema (`routed`)."""

    def __init__(
        self,
        name: str,
        weights: Path,
        *,
        context_tokens: int,
        limits: WireLimits | None = None,
        threads: int = 0,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.sees = False
        self._weights = weights
        self._limits = limits
        self._threads = threads or max(min(os.cpu_count() or 1, _MOST_THREADS), 1)
        self._process: _Process | None = None
        self._starting = asyncio.Lock()

    async def learn(self) -> None:
        """Nothing: the process is started with the window that was set."""

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`; starts the process where there is none."""
        process = await self._started()
        begun = False
        try:
            async with aclosing(process.model.stream(request)) as deltas:
                async for delta in deltas:
                    begun = True
                    yield delta
            return
        except Unreachable:
            if begun or not await _is_dead(process.process):
                raise
        # It died when nobody looked.
        process = await self._started()
        async with aclosing(process.model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def probe(self) -> str | None:
        """See `Llm.probe`. What does not run yet could, as far as can be told without loading it."""
        process = self._process
        if process is not None and process.lives:
            return await process.wire.probe()
        try:
            await self.header()
        except LlmError as error:
            return error.message
        return None

    async def close(self) -> None:
        """End the process."""
        async with self._starting:
            process, self._process = self._process, None
            if process is not None:
                await _end(process.process)
                await process.wire.close()
                await process.draining

    async def header(self) -> GgufHeader:
        """What the file says of itself.

        Raises:
            Refused: llama.cpp is not installed, or the file is none that it reads; asking again is no use.
        """
        if missing := await anyio.to_thread.run_sync(missing_runner):
            raise Refused(missing)
        try:
            return await anyio.to_thread.run_sync(read_header, self._weights)
        except BadInput as error:
            raise Refused(error.message) from error

    async def running(self) -> Running:
        """How the process is, started where it is not.

        Raises:
            Unreachable: it does not start.
        """
        process = await self._started()
        memory = await anyio.to_thread.run_sync(_memory_of, process.process.pid)
        return Running(process.process.pid, memory, process.start_s)

    async def _started(self) -> _Process:
        """The process that answers, a new one where the last one died."""
        async with self._starting:
            if self._process is not None and not self._process.lives:
                _log.warning("%s died (status %s)", self.name, self._process.process.returncode)
                await self._process.wire.close()
                self._process = None
            if self._process is None:
                self._process = await self._start()
            return self._process

    async def _start(self) -> _Process:
        header = await self.header()
        begun, key = perf_counter(), secrets.token_hex(16)
        window = min(self.context_tokens, header.context_tokens or self.context_tokens)
        orders = Orders(str(self._weights), window, self._threads, key)
        process = await ChildProcess.start(
            sys.executable,
            "-m",
            "bethink.llm.llamacpp_guest",
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            # Ctrl-C stops an answer, and not the model.
            start_new_session=True,
        )
        told: deque[str] = deque(maxlen=_TOLD_LINES)
        draining = asyncio.create_task(_drain(process.stderr, told))
        try:
            url = await _greeted(process, orders)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await _end(process)
                await draining
            raise
        if url is None:
            await _end(process)
            await draining
            raise Unreachable(f"{self.name} does not start. {' '.join(told) or 'llama.cpp says nothing.'}")
        wire = OpenAiWire(
            self.name,
            Endpoint(url, "gguf", api_key=key),
            context_tokens=self.context_tokens,
            limits=self._limits,
        )
        # What it prints later is read too, or it would wait for a reader.
        reading = asyncio.create_task(_both(draining, _drain(process.stdout, told)))
        start_s = perf_counter() - begun
        _log.info("%s started in %.1f s as process %d", self.name, start_s, process.pid)
        model = wire if header.calls_tools else RoutedLlm(wire)
        return _Process(process, wire, model, start_s, reading)


async def _greeted(process: ChildProcess, orders: Orders) -> str | None:
    """Give the orders; the address that it answers with. None where it ends or takes too long."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        return None
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(_START_S):
            stdin.write(msgspec.json.encode(orders) + b"\n")
            await stdin.drain()
            while line := await stdout.readline():
                text = line.decode(errors="replace")
                if text.startswith(GREETING):
                    return text.removeprefix(GREETING).strip()
    return None


async def _drain(stream: asyncio.StreamReader | None, told: deque[str]) -> None:
    """Read what it says; the last lines stay."""
    while stream is not None:
        try:
            line = await stream.readline()
        except ValueError:  # a line without end
            continue
        if not line:
            return
        told.append(line.decode(errors="replace").strip())


async def _both(first: asyncio.Task[None], second: Coroutine[None, None, None]) -> None:
    await asyncio.gather(first, second)


async def _is_dead(process: ChildProcess) -> bool:
    """Whether it has ended; that is known a moment after it did."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_NOTICED_S):
            await process.wait()
    return process.returncode is not None


async def _end(process: ChildProcess) -> None:
    """End a process: it goes when its input ends, and is killed where it does not."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await process.wait()
    finally:
        await process.end()


def _memory_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * _KB
    return 0
