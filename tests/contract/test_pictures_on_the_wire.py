"""Pictures on the wire: sent as OpenAI's parts, left out where a server refuses them; over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.errors import LlmError
from bethink.events import TextDelta, Warned
from bethink.llm import Delta, LlmRequest, Picture
from bethink.llm.endpoint import Endpoint
from bethink.llm.openai_wire import OpenAiWire, WireLimits
from bethink.llm.scripted import Rule
from bethink.messages import Attachment, UserMessage

pytestmark = pytest.mark.anyio

QUICK = WireLimits(connect_s=2, first_byte_s=5, gap_s=5)
CAT = Attachment(name="cat.png", media_type="image/png", url="/files/1")
NOTES = Attachment(name="notes.txt", media_type="text/plain", url="/files/2")
LOOK = LlmRequest(
    "",
    (UserMessage("one"), UserMessage("two", (CAT, NOTES))),
    pictures={CAT.url: Picture("image/png", b"pixels")},
)
SHOWN = [
    {"type": "text", "text": "two"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGl4ZWxz"}},
]


@asynccontextmanager
async def connected(endpoint: Endpoint, *, sees: bool) -> AsyncGenerator[OpenAiWire, None]:
    wire = OpenAiWire("test:model", endpoint, context_tokens=4_096, limits=QUICK, sees=sees)
    try:
        yield wire
    finally:
        await wire.close()


@pytest.fixture
def endpoint(scripted: ScriptedProcess) -> Endpoint:
    return Endpoint(scripted.base_url, "scripted-demo", api_key="right-key")


async def collect(wire: OpenAiWire) -> list[Delta]:
    async with aclosing(wire.stream(LOOK)) as stream:
        return [delta async for delta in stream]


async def test_pictures_are_sent_as_openais_parts(scripted: ScriptedProcess, endpoint: Endpoint) -> None:
    await scripted.plays(Rule(text="ok"))
    async with connected(endpoint, sees=True) as wire:
        await collect(wire)
    (sent,) = await scripted.requests()
    assert [message["content"] for message in sent.body["messages"]] == ["one", SHOWN]


async def test_a_model_that_does_not_see_gets_no_pictures(
    scripted: ScriptedProcess, endpoint: Endpoint
) -> None:
    await scripted.plays(Rule(text="ok"))
    async with connected(endpoint, sees=False) as wire:
        await collect(wire)
        assert not wire.sees
    (sent,) = await scripted.requests()
    one, two = [message["content"] for message in sent.body["messages"]]
    assert (one, two.partition("\n")[0]) == ("one", "two")
    assert "cannot see" in two


@pytest.mark.parametrize(
    ("status", "complaint", "sees_after"),
    [
        (400, "Invalid content type. image_url is only supported by certain models.", False),
        (422, "unknown variant `image_url`, expected `text`", False),
        (404, "No endpoints found that support image input", False),
        (500, "image input is not supported - hint: if this is unexpected, provide the mmproj", False),
        (400, "You uploaded an unsupported image. Use one of the following formats: png", True),
        (413, "Request entity too large", True),
        (400, "No.", True),
    ],
)
async def test_pictures_that_a_server_refuses_are_left_out_with_a_warning(
    scripted: ScriptedProcess, endpoint: Endpoint, *, status: int, complaint: str, sees_after: bool
) -> None:
    await scripted.plays(Rule(status=status, text=complaint, times=1), Rule(text="ok"))
    async with connected(endpoint, sees=True) as wire:
        deltas = await collect(wire)
        assert wire.sees is sees_after
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "ok"
        (warned,) = [delta for delta in deltas if isinstance(delta, Warned)]
        await collect(wire)
    first, second, third = [sent.body["messages"][-1]["content"] for sent in await scripted.requests()]
    assert "cGl4ZWxz" not in warned.message
    assert first == SHOWN
    assert "cannot see" in second
    assert (third == SHOWN) is sees_after


@pytest.mark.parametrize(
    "refusal", [Rule(status=401), Rule(status=404), Rule(status=400, text="prompt is too long")]
)
async def test_refusals_of_something_else_are_not_blamed_on_pictures(
    scripted: ScriptedProcess, endpoint: Endpoint, refusal: Rule
) -> None:
    await scripted.plays(refusal)
    async with connected(endpoint, sees=True) as wire:
        with pytest.raises(LlmError):
            await collect(wire)
        assert wire.sees
    assert len(await scripted.requests()) == 1
