"""The guards of conftest.py: no network, no blocking call on the loop."""

from __future__ import annotations

import socket

import anyio
import pytest
from blockbuster import BlockingError

import bethink

pytestmark = pytest.mark.anyio


async def test_a_host_beyond_this_machine_is_refused() -> None:
    with pytest.raises(Exception, match=r"example\.org"):
        await anyio.connect_tcp("example.org", 443)


@pytest.mark.parametrize("address", ["192.0.2.1", "::ffff:192.0.2.1"])
def test_an_address_beyond_this_machine_is_refused(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(Exception, match=r"192\.0\.2\.1"):
        client.connect((address, 9))


async def test_loopback_is_open() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with await anyio.connect_tcp("127.0.0.1", port), listener:
        pass


async def test_a_blocking_call_of_bethink_on_the_loop_fails() -> None:
    place = f"{bethink.__path__[0]}/anywhere.py"
    with pytest.raises(BlockingError):
        exec(compile("import time; time.sleep(0)", place, "exec"))  # noqa: S102 - code as if it stood in src


async def test_a_blocking_call_of_bethink_on_a_thread_is_free() -> None:
    place = f"{bethink.__path__[0]}/anywhere.py"
    await anyio.to_thread.run_sync(exec, compile("import time; time.sleep(0)", place, "exec"))
