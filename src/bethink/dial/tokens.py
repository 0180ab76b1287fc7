"""How many tokens DIAL's requests take, and which of their messages fit: `/tokenize` and `/truncate_prompt`.

`application` answers with them. Counted is what the client sends, by the estimate that Bethink uses for
models that do not count; what Bethink adds (its own instructions, what it recalls) is not in it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from aidial_sdk.deployment.tokenize import TokenizeError, TokenizeInputRequest, TokenizeSuccess
from aidial_sdk.deployment.truncate_prompt import TruncatePromptError, TruncatePromptSuccess

from bethink.dial.history import TOOL_CALL_HISTORY_KEY
from bethink.messages import tokens_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aidial_sdk.chat_completion.request import ChatCompletionRequest, Message
    from aidial_sdk.deployment.tokenize import TokenizeInputString


def counted(given: TokenizeInputRequest | TokenizeInputString) -> TokenizeSuccess | TokenizeError:
    """The tokens of a text, or of a whole request with the functions that it declares."""
    if not isinstance(given, TokenizeInputRequest):
        return TokenizeSuccess(token_count=tokens_in(given.value) if given.value else 0)
    request = given.value
    return TokenizeSuccess(token_count=_beside(request) + sum(map(_tokens_of, request.messages)))


def truncated(request: ChatCompletionRequest) -> TruncatePromptSuccess | TruncatePromptError:
    """The places of messages that are left out so that the others take at most `max_prompt_tokens`.

    The oldest go first, each with the answers to it; instructions and what was said last always stay.
    """
    most = request.max_prompt_tokens
    if most is None:
        return TruncatePromptError(error="max_prompt_tokens is missing: say how many tokens there may be.")
    sizes = [_tokens_of(message) for message in request.messages]
    turns = _turns(request.messages)
    total = _beside(request) + sum(sizes)
    discarded: list[int] = []
    for turn in turns[:-1]:
        if total <= most:
            break
        discarded += turn
        total -= sum(sizes[place] for place in turn)
    if total > most:
        return TruncatePromptError(
            error=f"The instructions and the last message take about {total} tokens, more than {most}."
        )
    return TruncatePromptSuccess(discarded_messages=discarded)


def _turns(messages: Sequence[Message]) -> list[list[int]]:
    """The places of messages that are no instructions, those of one turn together."""
    turns: list[list[int]] = []
    for place, message in enumerate(messages):
        role = _plain(message).get("role")
        if role in {"system", "developer"}:
            continue
        if role == "user" or not turns:
            turns.append([])
        turns[-1].append(place)
    return turns


def _tokens_of(message: Message) -> int:
    """A message's text, its calls, and the calls of earlier answers that it brings in its state."""
    told = _plain(message)
    content: Any = told.get("content") or ""
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        content = "\n".join(str(part.get("text") or "") for part in parts)
    beside = cast("dict[str, Any]", told.get("custom_content") or {})
    state: Any = beside.get("state")
    history = cast("dict[str, Any]", state).get(TOOL_CALL_HISTORY_KEY) if isinstance(state, dict) else None
    more = [one for one in (told.get("tool_calls"), told.get("function_call"), history) if one]
    return tokens_in(str(content)) + sum(tokens_in(json.dumps(one, ensure_ascii=False)) for one in more)


def _beside(request: ChatCompletionRequest) -> int:
    told = _plain(request)
    declared = [one for one in (told.get("tools"), told.get("functions")) if one]
    return sum(tokens_in(json.dumps(one, ensure_ascii=False)) for one in declared)


def _plain(model: ChatCompletionRequest | Message) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)
