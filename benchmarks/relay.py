"""A plain proxy of a model's stream, in a process of its own: what `doors` are measured beside.

It hands on what comes, and keeps, knows and checks nothing: `python -m benchmarks.relay URL`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from aiohttp import ClientSession, TCPConnector, web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

GREETING: Final = "listening on "


def application(base_url: str) -> web.Application:
    """The proxy of an OpenAI-compatible server whose base URL this is."""
    session = web.AppKey("session", ClientSession)

    async def live(app: web.Application) -> AsyncGenerator[None]:
        async with ClientSession(connector=TCPConnector(limit=0)) as app[session]:
            yield

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        url = f"{base_url}/chat/completions"
        headers = {"Content-Type": "application/json"}
        async with request.app[session].post(url, data=body, headers=headers) as answer:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    app = web.Application()
    app.cleanup_ctx.append(live)
    app.router.add_post("/v1/chat/completions", handle)
    return app


async def _main(base_url: str) -> None:
    runner = web.AppRunner(application(base_url), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"{GREETING}http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
