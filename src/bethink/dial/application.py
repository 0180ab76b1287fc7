"""The door behind the protocol of DIAL's SDK: an ASGI application, imported when it is first asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import anyio.to_thread
from aidial_sdk import DIALApp
from aidial_sdk import HTTPException as DialProtocolError
from aidial_sdk.chat_completion import ChatCompletion, Choice, FinishReason, Response
from aidial_sdk.chat_completion import Request as DialRequest
from aidial_sdk.deployment.tokenize import (
    TokenizeError,
    TokenizeInputRequest,
    TokenizeResponse,
    TokenizeSuccess,
)
from aidial_sdk.deployment.truncate_prompt import (
    TruncatePromptError,
    TruncatePromptResponse,
    TruncatePromptSuccess,
)

from bethink.dial.answer import RefusedError
from bethink.dial.door import ChatDoor, Request
from bethink.dial.history import TOOL_CALL_HISTORY_KEY
from bethink.errors import BethinkError
from bethink.messages import tokens_in

if TYPE_CHECKING:
    from aidial_sdk.chat_completion.request import ChatCompletionRequest, Message
    from aidial_sdk.deployment.configuration import ConfigurationRequest
    from aidial_sdk.deployment.tokenize import TokenizeInputString, TokenizeRequest
    from aidial_sdk.deployment.truncate_prompt import TruncatePromptRequest
    from starlette.types import ASGIApp

    from bethink.dial.render import AnswerRenderer

_STATUS: Final = {"rate_limited": 429, "context_too_long": 400, "no_model": 500}
"""Of runs that failed as a whole. Core repeats a request after 429, 502, 503 and 504: where that helps
nobody it is 500."""
_BAD_REQUEST, _SERVER_ERROR = 400, 500
_LEFT: Final = "Nobody reads this answer any more."


class Application(ChatCompletion):
    """Bethink as the SDK sees it."""

    def __init__(self, door: ChatDoor) -> None:
        self._door = door

    async def chat_completion(self, request: DialRequest, response: Response) -> None:
        """Answer."""
        opened: list[Choice] = []

        def open_choice() -> Choice:
            choice = response.create_single_choice()
            choice.open()
            opened.append(choice)
            return choice

        asked = Request(request.api_key, await request.original_request.body(), request.conversation_id)
        if (request.n or 1) > 1:
            raise DialProtocolError("Bethink gives one choice: n is 1.", status_code=422)
        try:
            renderer = await self._door.answer(asked, open_choice)
        except asyncio.CancelledError as left:
            # The SDK's `CancelScope` cannot take a task that was cancelled: it would break, into the log.
            raise _protocol(_LEFT, "left", _SERVER_ERROR) from left
        except RefusedError as error:
            raise _protocol(str(error), error.code, _STATUS.get(error.code, _SERVER_ERROR)) from error
        except BethinkError as error:
            status = _BAD_REQUEST if error.status == 422 else error.status  # noqa: PLR2004 - the SDK's word for it is 400
            raise _protocol(error.message, error.code, status) from error
        _end(renderer, opened[0], response)

    async def tokenize(self, request: TokenizeRequest) -> TokenizeResponse:
        """How many tokens each of the texts or requests takes, by estimate."""
        outputs = await anyio.to_thread.run_sync(lambda: [counted(one) for one in request.inputs])
        return TokenizeResponse(outputs=outputs)

    async def truncate_prompt(self, request: TruncatePromptRequest) -> TruncatePromptResponse:
        """Which messages of each request are left out to have it fit."""
        outputs = await anyio.to_thread.run_sync(lambda: [truncated(one) for one in request.inputs])
        return TruncatePromptResponse(outputs=outputs)

    async def configuration(self, request: ConfigurationRequest) -> dict[str, Any]:
        """What a request may set."""
        del request
        return self._door.configuration


def create_application(door: ChatDoor) -> ASGIApp:
    """The ASGI application at `/openai/deployments/{name}/…` and, by header, `/openai/v1/…`."""
    app = DIALApp(
        dial_url=door.client.url,
        allow_extra_request_fields=True,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    return app.add_chat_completion(door.settings.name, Application(door))


def _end(renderer: AnswerRenderer, choice: Choice, response: Response) -> None:
    is_cut = renderer.done is not None and renderer.done.reason == "length"
    choice.close(FinishReason.LENGTH if is_cut else None)
    by_model: dict[str, list[int]] = {}
    for usage in renderer.usage:
        tokens = by_model.setdefault(usage.model, [0, 0])
        tokens[0] += usage.input_tokens
        tokens[1] += usage.output_tokens
    for model, (read, wrote) in by_model.items():
        response.add_usage_per_model(model, read, wrote)
    if by_model:
        response.set_usage(sum(one[0] for one in by_model.values()), sum(one[1] for one in by_model.values()))


def _protocol(message: str, code: str, status: int) -> DialProtocolError:
    return DialProtocolError(message, status_code=status, code=code, display_message=message)


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
