"""Tries a model before it is set: a word, a call of a tool, a tiny picture. `/models/test` calls it."""

from __future__ import annotations

import asyncio
import base64
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from bethink.errors import LlmError
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Finish, LlmRequest, Picture, ToolCallDelta, ToolSchema
from bethink.messages import Attachment, UserMessage

if TYPE_CHECKING:
    from bethink.llm import Llm

_ALL_S: Final = 60
_EXTRA_S: Final = 25
_TOKENS: Final = 400
"""A word takes two; a model that thinks first needs the rest."""
_MS: Final = 1000
_TOOL: Final = ToolSchema(
    "report_ready",
    "Reports that you are ready.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
_RED: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mN4oKBAU8QwasGoBaMWjFowasGoBaMWjF"
    "owasGoBaMWDBULAKWUgD269a5MAAAAAElFTkSuQmCC"
)
"""A red square of 32 pixels as PNG: the least that all servers take."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How it went; times in milliseconds. `tools` and `vision` are None if that was not found out."""

    ok: bool
    first_token_ms: int | None = None
    total_ms: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    context_tokens: int | None = None
    problem: LlmError | None = None


async def try_model(llm: Llm) -> Trial:
    """What the model can do, found out by three short requests; the first that fails is the problem."""
    asked = LlmRequest(
        system="You are being tested.",
        messages=(UserMessage("Answer with the one word: ready"),),
        max_output_tokens=_TOKENS,
    )
    try:
        async with asyncio.timeout(_ALL_S):
            await llm.learn()
            begun = monotonic()
            first = await _first_word(llm, asked)
    except LlmError as error:
        return Trial(ok=False, problem=error)
    except TimeoutError:
        return Trial(ok=False, problem=LlmError(f"{llm.name} did not answer within {_ALL_S} s."))
    ended = monotonic()
    return Trial(
        ok=True,
        first_token_ms=round(((first or ended) - begun) * _MS),
        total_ms=round((ended - begun) * _MS),
        tools=await _calls(llm, asked),
        vision=await _sees(llm, asked),
        context_tokens=llm.context_tokens,
    )


async def _first_word(llm: Llm, asked: LlmRequest) -> float | None:
    """Asks to the end; when the first word came."""
    first: float | None = None
    async with aclosing(llm.stream(asked)) as deltas:
        async for delta in deltas:
            if first is None and isinstance(delta, TextDelta | ReasoningDelta):
                first = monotonic()
    return first


async def _calls(llm: Llm, asked: LlmRequest) -> bool | None:
    said = UserMessage("Call the tool report_ready with the word: ready. Say nothing else.")
    found = False
    request = replace(asked, messages=(said,), tools=(_TOOL,))
    try:
        async with asyncio.timeout(_EXTRA_S), aclosing(llm.stream(request)) as deltas:
            async for delta in deltas:
                found = found or isinstance(delta, ToolCallDelta)
                if isinstance(delta, Finish) and delta.origin is not None and delta.origin.toolless:
                    return False
    except LlmError:
        return False
    except TimeoutError:
        return None
    return found


async def _sees(llm: Llm, asked: LlmRequest) -> bool | None:
    picture = Attachment(name="square.png", media_type="image/png", url="test:square")
    said = UserMessage("Which colour has this square? Answer with one word.", attachments=(picture,))
    request = replace(asked, messages=(said,), pictures={picture.url: Picture("image/png", _RED)})
    text = ""
    try:
        async with asyncio.timeout(_EXTRA_S), aclosing(llm.stream(request)) as deltas:
            async for delta in deltas:
                text += delta.text if isinstance(delta, TextDelta) else ""
    except LlmError:
        return False
    except TimeoutError:
        return None
    return "red" in text.lower()
