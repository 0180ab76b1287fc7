"""The host's end of a kernel's sockets, with a kernel played by the test, which is slow or forges."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import zmq
import zmq.asyncio

from bethink.sandbox import kernel as channels
from bethink.sandbox.kernel import Channels, Message, decoded
from tests.contract.sandboxes import needs_kernel

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

_DELIMITER = b"<IDS|MSG>"


class Kernel:
    """Answers each request; what it shows of the first `unheard` ones is lost, as by a late subscription."""

    def __init__(self, scratch: Path, unheard: int) -> None:
        self.requests: list[str] = []
        self._unheard = unheard
        self._context = zmq.asyncio.Context()
        self.shell = self._context.socket(zmq.ROUTER)
        self.shell.bind(f"ipc://{scratch}/k-1")
        self.iopub = self._context.socket(zmq.PUB)
        self.iopub.bind(f"ipc://{scratch}/k-2")

    async def answer(self) -> None:
        while True:
            who, _, _, header, *_ = await self.shell.recv_multipart()
            self.requests.append(json.loads(header)["msg_id"])
            if len(self.requests) > self._unheard:
                await self.iopub.send_multipart(frames("status", {"execution_state": "idle"}, header))
            await self.shell.send_multipart([who, *frames("kernel_info_reply", {"status": "ok"}, header)])

    def close(self) -> None:
        self._context.destroy(linger=0)


def frames(kind: str, content: object, parent: bytes = b"{}") -> list[bytes]:
    written = json.dumps({"msg_type": kind, "msg_id": "x"}).encode()
    return [_DELIMITER, b"", written, parent, b"{}", json.dumps(content).encode()]


@asynccontextmanager
async def connected(place: Path, unheard: int = 0) -> AsyncGenerator[tuple[Kernel, Channels]]:
    needs_kernel()
    kernel = Kernel(place, unheard)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kernel.answer)
            ours = Channels(place, "key")
            try:
                yield kernel, ours
            finally:
                ours.close()
                tasks.cancel_scope.cancel()
    finally:
        kernel.close()


async def test_a_kernel_is_ready_only_once_what_it_shows_arrives(tmp_path: Path) -> None:
    async with connected(tmp_path, unheard=2) as (kernel, ours):
        await ours.ready()
        assert len(kernel.requests) >= 3


async def test_a_large_message_is_taken_apart_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def watched(parts: list[bytes]) -> Message | None:
        threads.append(threading.get_ident())
        return decoded(parts)

    async with connected(tmp_path) as (kernel, ours):
        await ours.ready()
        monkeypatch.setattr(channels, "decoded", watched)
        await kernel.iopub.send_multipart(frames("stream", {"text": "x" * 1_000_000}))
        message, size = await ours.published("")
        assert message is not None
        assert len(message.content.text) == 1_000_000
        assert size > 1_000_000
        assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    "forged",
    [
        [b"garbage"],
        [b""] * 9,
        frames("stream", [1, 2]),
        frames("stream", {"text": {"a": 1}}),
        frames("display_data", {"data": {"image/png": 7}}),
        [_DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"],
        [_DELIMITER, b"", b"[" * 1_000_000, b"{}", b"{}", b"{}"],
        [_DELIMITER, b"", b'{"msg_type": "stream"}', b"{}", b"{}", b"[" * 1_000_000],
        [_DELIMITER, b"", b'{"msg_type": "stream", "x": "' + b"x" * 100_000 + b'"}', b"{}", b"{}", b"{}"],
        [_DELIMITER, b"", b'{"msg_type": "\xff"}', b"{}", b"{}", b"{}"],
    ],
)
def test_what_is_no_message_is_none(forged: list[bytes]) -> None:
    assert decoded(forged) is None


def test_of_a_message_nothing_is_made_a_value_that_nobody_shows() -> None:
    bundle = {"text/plain": "seen", "application/json": [[]] * 1000, "image/png": "AA=="}
    message = decoded(frames("display_data", {"data": bundle, "metadata": {"deep": [[[[]]]]}}))
    assert message is not None
    assert (message.content.data.plain, message.content.data.png) == ("seen", "AA==")
    assert not hasattr(message.content, "metadata")
