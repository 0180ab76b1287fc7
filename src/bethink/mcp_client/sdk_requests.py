"""What a server asks of its client: forms, pages, answers of a model, roots. `sdk_session` uses it.

A request that is refused is answered with an error that says why; the connection goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    CreateMessageResult,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    TextContent,
)

from bethink.errors import BethinkError
from bethink.mcp_client import Hooks, Sampling, ServerConfig
from bethink.questions import Question, Value, form, page

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext, ElicitationFnT, ListRootsFnT, SamplingFnT
    from mcp.types import CreateMessageRequestParams, ElicitRequestParams


_MAX_PROMPT_CHARS = 50_000
"""Of what a server has a model asked: about 14,000 tokens."""
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


class Callbacks(TypedDict, total=False):
    """What the SDK's client takes; what is left out is not offered to the server."""

    elicitation_callback: ElicitationFnT
    sampling_callback: SamplingFnT
    list_roots_callback: ListRootsFnT


def callbacks(config: ServerConfig, hooks: Hooks) -> Callbacks:
    """What this server may ask."""

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        del context
        try:
            answer = await hooks.on_question(question_of(config.name, params))
        except BethinkError as error:
            return ErrorData(code=INVALID_PARAMS, message=error.message)
        is_form = answer.action == "accept" and not isinstance(params, ElicitRequestURLParams)
        values = cast("dict[str, Value | None]", answer.values)
        return ElicitResult(action=answer.action, content=dict(values) if is_form else None)

    async def sample(
        context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        del context
        try:
            wanted = _sampling(params)
            if isinstance(wanted, ErrorData):
                return wanted
            sampled = await hooks.on_sampling(wanted)
        except BethinkError as error:
            return ErrorData(code=INVALID_REQUEST, message=error.message)
        text = TextContent(type="text", text=sampled.text)
        reason = "maxTokens" if sampled.is_cut else "endTurn"
        return CreateMessageResult(role="assistant", content=text, model=sampled.model, stop_reason=reason)

    async def list_roots(context: ClientRequestContext) -> ListRootsResult:
        del context
        return ListRootsResult(roots=[_root(one) for one in config.roots])

    made: Callbacks = {}
    if config.questions:
        made["elicitation_callback"] = elicit
    if config.samples:
        made["sampling_callback"] = sample
    if config.roots:
        made["list_roots_callback"] = list_roots
    return made


def question_of(server: str, params: ElicitRequestParams) -> Question:
    """What is asked.

    Raises:
        BadInput: it may not be asked so.
    """
    if isinstance(params, ElicitRequestURLParams):
        return page(server, params.message, params.url)
    return form(server, params.message, params.requested_schema)


def _sampling(params: CreateMessageRequestParams) -> Sampling | ErrorData:
    """What is wanted of a model, as one text: who says what, where it is more than one message."""
    if params.tools or params.tool_choice:
        return ErrorData(code=INVALID_PARAMS, message="Tools are not supported here.")
    said: list[tuple[str, str]] = []
    for message in params.messages:
        for block in message.content_as_list:
            if not isinstance(block, TextContent):
                return ErrorData(code=INVALID_PARAMS, message="Only text is supported here.")
            said.append((_SPEAKERS[message.role], block.text))
    text = said[0][1] if len(said) == 1 else "\n\n".join(f"{who}: {words}" for who, words in said)
    system = params.system_prompt or ""
    if not text.strip() or len(text) + len(system) > _MAX_PROMPT_CHARS:
        told = f"Give 1 to {_MAX_PROMPT_CHARS:,} characters of messages."
        return ErrorData(code=INVALID_PARAMS, message=told)
    return Sampling(system, text, max(1, params.max_tokens))


def _root(place: str) -> Root:
    """A root of a path or of an address."""
    uri: Any = place if place.startswith("file://") else Path(place).expanduser().absolute().as_uri()
    return Root(uri=uri, name=place.rstrip("/").rpartition("/")[2] or place)
