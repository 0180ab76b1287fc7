"""Models that are found on this machine, in their order; and none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web

from bethink.llm.models import MODEL_MISSING, DefaultServer, Probing

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("R131")]


@asynccontextmanager
async def offering(body: str, status: int = 200) -> AsyncGenerator[str]:
    """A server on this machine that lists models; gives its base URL."""

    async def models(_: web.Request) -> web.Response:
        return web.Response(text=body, status=status)

    app = web.Application()
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"{site.name}/v1"
    finally:
        await runner.cleanup()


NOBODY = "http://127.0.0.1:9/v1"


async def found(vllm: str, mlx: str, *, key: bool = False) -> str | None:
    places = (DefaultServer("vLLM", "vllm", vllm), DefaultServer("MLX", "mlx", mlx))
    one = await Probing(has_openrouter_key=key, places=places).find()
    return one and one.spec


async def test_the_first_that_answers_is_taken_then_openrouter_then_none() -> None:
    async with AsyncExitStack() as stack:
        big = await stack.enter_async_context(
            offering('{"data": [{"id": "qwen3"}, {"id": "driaforall/mem-agent"}]}')
        )
        small = await stack.enter_async_context(
            offering('{"object": "list", "data": [{"id": "mem-agent-4bit"}]}')
        )
        assert await found(big, small) == "vllm:driaforall/mem-agent"
        assert await found(NOBODY, small) == "mlx:mem-agent-4bit"
        assert await found(NOBODY, small, key=True) == "mlx:mem-agent-4bit"
    assert await found(NOBODY, NOBODY, key=True) == "openrouter:openrouter/auto"
    assert await found(NOBODY, NOBODY) is None


@pytest.mark.parametrize(
    "body", ["", "<html>", '{"data": []}', '{"data": [{"id": " "}]}', '{"data": 3}', "[]"]
)
async def test_another_program_on_the_port_is_no_model(body: str) -> None:
    async with offering(body) as other:
        assert await found(other, NOBODY) is None


async def test_what_was_found_is_known_for_a_while_and_then_asked_again() -> None:
    now = [0.0]
    async with offering('{"data": [{"id": "qwen3"}]}') as base_url:
        place = DefaultServer("vLLM", "vllm", base_url)
        probing = Probing(places=(place,), now=lambda: now[0])
        assert "looked for" in probing.told
        assert await probing.find() is not None
        assert probing.told == f"Found vLLM: vllm:qwen3 at {base_url}."
    assert await probing.find() is not None
    assert await probing.find(anew=True) is None
    assert probing.told == MODEL_MISSING
    async with offering('{"data": [{"id": "qwen3"}]}') as base_url:
        probing.places = (DefaultServer("vLLM", "vllm", base_url),)
        assert await probing.find() is None
        now[0] += 11
        assert await probing.find() is not None
