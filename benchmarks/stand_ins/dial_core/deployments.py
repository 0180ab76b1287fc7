"""The stand-in's models and applications: a request is sent on, and its answer comes back as it is made.

Source: DIAL Core at 8c78cb9, `DeploymentPostController`, `ProxyUtil`, `CollectRequestAttachmentsFn`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import ClientError, web

from benchmarks.stand_ins.dial_core.faults import waited
from benchmarks.stand_ins.dial_core.files import Place
from benchmarks.stand_ins.dial_core.refusal import RefusalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aiohttp import ClientResponse, ClientSession

    from benchmarks.stand_ins.dial_core.callers import Caller, Callers
    from benchmarks.stand_ins.dial_core.faults import Fault

_KEPT_BACK = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
    *(
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "accept-encoding",
        "api-key",
        "authorization",
    ),
}
"""Headers of a request that go no further (`ProxyUtil`); the bodies' own are made anew."""
_ANSWERED = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}
_BAD_REQUEST, _UNSUPPORTED, _FORBIDDEN, _BAD_GATEWAY = 400, 415, 403, 502


class _Attachment(msgspec.Struct, frozen=True):
    """What of an attachment is read."""

    url: str | None = None
    reference_url: str | None = None


class _Stage(msgspec.Struct, frozen=True):
    """What of a stage is read."""

    attachments: list[_Attachment] | None = None


class _Content(msgspec.Struct, frozen=True):
    """What of a message's own part of DIAL is read."""

    attachments: list[_Attachment] | None = None
    stages: list[_Stage] | None = None


class _Message(msgspec.Struct, frozen=True):
    """What of a message is read."""

    custom_content: _Content | None = None


class _Chat(msgspec.Struct, frozen=True):
    """What of a request is read."""

    messages: list[_Message] = []


@dataclass(frozen=True, slots=True)
class Model:
    """A model behind any server that speaks OpenAI's chat completions at `url`, which ends with `/v1`."""

    url: str
    name: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Application:
    """An application; its `endpoint` is called as it stands."""

    endpoint: str
    forward_auth_token: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way to a deployment."""

    request: web.Request
    caller: Caller
    faults: Sequence[Fault]


async def to_model(http: ClientSession, model: Model, sent: Sent) -> web.StreamResponse:
    """The answer of a model."""
    body = msgspec.json.encode((await _body(sent.request)) | {"model": model.name})
    headers = {"Content-Type": "application/json"}
    if model.key:
        headers["Authorization"] = f"Bearer {model.key}"
    return await _answered(
        http, f"{model.url.rstrip('/')}/chat/completions", body, headers=headers, sent=sent
    )


async def to_application(
    http: ClientSession, application: Application, callers: Callers, *, name: str, sent: Sent
) -> web.StreamResponse:
    """The answer of an application, which has a key of its own until the end of it.

    Raises:
        RefusalError: the caller may not read a file that is attached.
    """
    body = await _body(sent.request)
    told = msgspec.json.encode(body)
    attached = frozenset(Place.parse(url.removeprefix("files/")).key for url in _attached(told))
    for place in sorted(attached):
        try:
            sent.caller.check(place, writing=False)
        except RefusalError as error:
            raise RefusalError(_FORBIDDEN, f"Access denied to the file files/{place}") from error
    headers = {key: value for key, value in sent.request.headers.items() if key.lower() not in _KEPT_BACK}
    if application.forward_auth_token and (token := sent.request.headers.get("Authorization")):
        headers["Authorization"] = token
    key = callers.issue(sent.caller, name, attached)
    headers |= {"api-key": key, "X-DIAL-DEPLOYMENT-ID": name}
    query = sent.request.query_string
    url = f"{application.endpoint}?{query}" if query else application.endpoint
    try:
        return await _answered(http, url, told, headers=headers, sent=sent)
    finally:
        callers.end(key)


async def _body(request: web.Request) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise RefusalError(_UNSUPPORTED, "Only application/json is supported")
    try:
        return msgspec.json.decode(await request.read(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusalError(_BAD_REQUEST, f"The body is not a JSON object: {error}") from error


def _attached(body: bytes) -> Iterator[str]:
    """The files of Core's own that messages and their stages name."""
    try:
        chat = msgspec.json.decode(body, type=_Chat)
    except msgspec.DecodeError as error:
        raise RefusalError(_BAD_REQUEST, f"No chat completion request: {error}") from error
    contents = [message.custom_content for message in chat.messages if message.custom_content]
    holders = [holder for content in contents for holder in (content, *(content.stages or ()))]
    attachments = [attachment for holder in holders for attachment in holder.attachments or ()]
    for attachment in attachments:
        for url in (attachment.url, attachment.reference_url):
            if url is not None and url.startswith("files/"):
                yield url


async def _answered(
    http: ClientSession, url: str, body: bytes, *, headers: dict[str, str], sent: Sent
) -> web.StreamResponse:
    try:
        upstream = await http.post(url, data=body, headers=headers, allow_redirects=False)
    except (ClientError, OSError) as error:
        raise RefusalError(_BAD_GATEWAY, "Failed to connect to origin") from error
    async with upstream:
        return await _copied(upstream, sent)


async def _copied(upstream: ClientResponse, sent: Sent) -> web.StreamResponse:
    """The answer, passed on part by part."""
    headers = {key: value for key, value in upstream.headers.items() if key.lower() not in _ANSWERED}
    response = web.StreamResponse(status=upstream.status, headers=headers | {"X-UPSTREAM-ATTEMPTS": "1"})
    await response.prepare(sent.request)
    try:
        async for part, _ in upstream.content.iter_chunks():
            await waited(sent.faults, "slow")
            await response.write(part)
            if any(fault.kind == "drop_midway" for fault in sent.faults):
                abort(sent.request)
                break
        else:
            await response.write_eof()
    except (ClientError, ConnectionError, asyncio.IncompleteReadError):
        abort(sent.request)
    return response


def abort(request: web.Request) -> None:
    """Cut the connection without an orderly end."""
    if request.transport is not None:
        request.transport.abort()
