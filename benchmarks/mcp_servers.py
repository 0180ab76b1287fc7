"""What ten MCP servers cost, of which two are dead: time until the eight answer, and memory.

    python benchmarks/mcp_servers.py

The servers are as small as they can be (tests/servers/hostile.py, one process
each), so that the client is measured. Memory is this process's resident size
before and after, without the servers' own.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bethink.mcp_client import ServerConfig
from tests.tool_servers import called, hostile, open_servers

_ALIVE = 8
_PAGE_KB = 4
_CALLS = 200


def resident_mb() -> float:
    """This process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * _PAGE_KB / 1024


async def main() -> None:
    """Measure once, and print."""
    configs = [hostile(name=f"server{number}") for number in range(_ALIVE)]
    configs += [ServerConfig("absent", "stdio", command=("/no/such/program",)), hostile("mute", name="mute")]
    before, cpu, start = resident_mb(), time.process_time(), time.perf_counter()
    async with open_servers(*configs) as servers:
        opened_ms = (time.perf_counter() - start) * 1000
        await asyncio.gather(*(servers.connected(f"server{number}") for number in range(_ALIVE)))
        print(f"open_servers returned after  {opened_ms:8.1f} ms")
        print(f"eight of ten connected after {time.perf_counter() - start:8.2f} s")
        print(f"CPU of this process          {time.process_time() - cpu:8.2f} s, the SDK's import included")
        print(f"memory of this process       {resident_mb() - before:8.1f} MB more")
        start = time.perf_counter()
        for _ in range(_CALLS):
            await called(servers, "server0", "add", a=1)
        print(f"one call, there and back     {(time.perf_counter() - start) / _CALLS * 1000:8.2f} ms")


if __name__ == "__main__":
    asyncio.run(main())
