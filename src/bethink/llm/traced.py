"""One request to a model as a span; `llm/models` makes one for each try."""

from __future__ import annotations

from contextlib import aclosing
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bethink.events import ReasoningDelta, TextDelta, TextSoFar
from bethink.llm import Finish, ToolCallDelta
from bethink.messages import AssistantMessage, ToolMessage, UserMessage
from bethink.tracing import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.llm import Delta, Llm, LlmRequest
    from bethink.messages import Message
    from bethink.tracing import Span

_PROVIDERS = {"azure": "azure.ai.openai"}
"""Where OpenTelemetry has another name for a provider than we have."""


async def traced(llm: Llm, request: LlmRequest) -> AsyncGenerator[Delta, None]:
    """The answer's deltas, as they come; see `Llm.stream`."""
    provider, _, model = llm.name.partition(":")
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model or llm.name,
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": request.max_output_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.top_p": request.options.top_p,
        "gen_ai.request.seed": request.options.seed,
        "gen_ai.request.stop_sequences": request.options.stop or None,
        "gen_ai.request.reasoning.level": request.options.reasoning_effort,
    }
    began = perf_counter()
    texts: list[str] = []
    with span(f"chat {model or llm.name}", told, kind="client") as kept:
        kept.tell("gen_ai.system_instructions", lambda: [_text(request.system)])
        kept.tell("gen_ai.input.messages", lambda: [_shown(message) for message in request.messages])
        async with aclosing(llm.stream(request)) as deltas:
            has_begun = False
            async for delta in deltas:
                if not has_begun and isinstance(
                    delta, TextDelta | ReasoningDelta | TextSoFar | ToolCallDelta
                ):
                    has_begun = True
                    kept.set({"gen_ai.response.time_to_first_chunk": perf_counter() - began})
                if isinstance(delta, TextDelta):
                    texts.append(delta.text)
                elif isinstance(delta, Finish):
                    _finish(kept, delta, texts)
                yield delta


def _finish(kept: Span, finish: Finish, texts: list[str]) -> None:
    kept.set(
        {
            "gen_ai.response.model": finish.model,
            "gen_ai.response.finish_reasons": [finish.reason],
            "gen_ai.usage.input_tokens": finish.input_tokens,
            "gen_ai.usage.output_tokens": finish.output_tokens,
        }
    )
    answer = {"role": "assistant", "finish_reason": finish.reason}
    kept.tell("gen_ai.output.messages", lambda: [answer | {"parts": [_text("".join(texts))]}])


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _shown(message: Message) -> dict[str, Any]:
    """A message in the shape of the conventions."""
    match message:
        case UserMessage():
            return {"role": "user", "parts": [_text(message.content)]}
        case ToolMessage():
            part = {"type": "tool_call_response", "id": message.call, "response": message.content}
            return {"role": "tool", "parts": [part]}
        case AssistantMessage():
            calls = [
                {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                for call in message.tool_calls
            ]
            return {"role": "assistant", "parts": [_text(message.content), *calls]}
