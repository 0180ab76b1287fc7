"""Which models a server offers, and which servers run on this machine: asked of them when a person chooses.

`/models/…` of the web door calls these while a model is set up. Nothing is kept here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec

from bethink.errors import BadInput, LlmError, Refused
from bethink.llm.endpoint import Endpoint
from bethink.llm.openai_answer import Failures
from bethink.llm.providers import PROVIDERS

_ANSWER_S: Final = 15
_LOCAL_S: Final = 0.9
_MOST_BYTES: Final = 20_000_000
_MOST: Final = 2_000
_ANTHROPIC: Final = "2023-06-01"
"""The version of its API that Anthropic's list of models asks for (docs, "API versions")."""
_WINDOWS: Final = ("context_length", "context_window", "max_model_len", "max_context_length")
_NO_CHAT: Final = re.compile(
    r"embed|rerank|whisper|tts|dall-e|image|moderation|transcri|realtime|audio|sora|davinci|babbage|bge-|clip",
    re.IGNORECASE,
)
"""What is in the names of models that do not chat."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of a server: `id` as the server calls it; `context_tokens` if the server tells."""

    id: str
    name: str
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server of models that answers on this machine."""

    provider: str
    title: str
    base_url: str
    models: tuple[ListedModel, ...]


@dataclass(frozen=True, slots=True)
class ServerModels:
    """The models of a server, those that chat first; `base_url` is where its list was found."""

    base_url: str
    models: tuple[ListedModel, ...]


class _NoList(Refused):
    """What answers at the address tells of no models."""


async def list_models(
    provider: str, *, base_url: str | None = None, api_key: str | None = None, api_version: str = ""
) -> ServerModels:
    """The models of a provider, those that chat first, each part by name.

    An address without a path is asked at `/v1`, too, if nothing is found there.

    Raises:
        BadInput: the provider is unknown, or its address is missing or none.
        LlmError: the server does not answer, or not with a list; the sentence says which.
    """
    if provider not in PROVIDERS:
        raise BadInput(f"There is no provider {provider[:40]!r}: there are {', '.join(PROVIDERS)}.")
    row = PROVIDERS[provider]
    address = base_url or row.base_url
    if address is None:
        raise BadInput("Enter the address of the server.")
    endpoint = Endpoint(address, "", api_key=api_key or None, azure=row.azure, api_version=api_version)
    title = "This server" if provider == "custom" else row.title
    try:
        return await _offer(endpoint, provider, title=title)
    except _NoList:
        if row.azure or urlsplit(address).path.strip("/"):
            raise
    return await _offer(replace(endpoint, base_url=f"{address.rstrip('/')}/v1"), provider, title=title)


async def _offer(endpoint: Endpoint, provider: str, *, title: str) -> ServerModels:
    headers = endpoint.headers
    if provider == "anthropic":
        headers |= {"anthropic-version": _ANTHROPIC, "x-api-key": endpoint.api_key or ""}
    document = await _fetched(endpoint, headers, title=title)
    found = sorted(_listed(document), key=lambda one: (bool(_NO_CHAT.search(one.id)), one.id.casefold()))
    return ServerModels(endpoint.base_url, tuple(found))


async def local_servers() -> list[LocalServer]:
    """The servers of models that answer where they usually listen on this machine, within a second."""
    places = {row.base_url: name for name, row in PROVIDERS.items() if row.local and row.base_url}
    found = await asyncio.gather(*(_local(name, url) for url, name in places.items()))
    return [server for server in found if server is not None]


async def models_at(base_url: str) -> list[ListedModel]:
    """The models of a server on this machine; none if none answers there within a second."""
    return list(_listed(await _document_at(base_url)))


async def _document_at(base_url: str) -> object:
    parts, endpoint = urlsplit(base_url), Endpoint(base_url, "")
    try:
        async with asyncio.timeout(_LOCAL_S):
            # Most often nobody is there: then no client of HTTP needs to be loaded.
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.close()
            return await _fetched(endpoint, endpoint.headers, title=base_url)
    except (OSError, TimeoutError, LlmError):
        return None


async def _local(provider: str, base_url: str) -> LocalServer | None:
    if (document := await _document_at(base_url)) is None:
        return None
    if provider in {"llamacpp", "mlx"}:
        # They share a port, and llama.cpp says who it is.
        provider = "llamacpp" if b"llamacpp" in msgspec.json.encode(document) else "mlx"
    models = tuple(_listed(document))
    return LocalServer(provider, PROVIDERS[provider].title, base_url, models)


async def _fetched(endpoint: Endpoint, headers: dict[str, str], *, title: str) -> object:
    """The list as JSON."""
    import aiohttp

    failures = Failures(title, endpoint.address, endpoint.key_setting, endpoint.api_key)
    try:
        async with (
            asyncio.timeout(_ANSWER_S),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(endpoint.models_url, headers=headers, allow_redirects=False) as response,
        ):
            body = b""
            while len(body) < _MOST_BYTES and (part := await response.content.readany()):
                body += part
            status = response.status
    except TimeoutError as error:
        raise failures.unreachable(f"no answer within {_ANSWER_S} s.") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise failures.of_exception(error) from error
    if status in {401, 403}:
        has_key = "Authorization" in headers or "api-key" in headers
        told = "does not accept this key: copy it again, all of it" if has_key else "asks for a key"
        raise Refused(f"{title} {told} ({status}).")
    no_list = f"What answers at {endpoint.address} tells of no models: most addresses end in /v1"
    if status != 200:  # noqa: PLR2004 - HTTP's OK
        raise _NoList(f"{no_list} ({status}).")
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _NoList(f"{no_list}.") from error
    if b'"owned_by":"bethink"' in body:
        raise Refused("This is the address of a Bethink. Enter that of a server of models.")
    if isinstance(document, dict) and "data" not in cast("dict[str, object]", document):
        raise _NoList(f"{no_list}.")
    return cast("object", document)


def _listed(document: object) -> Iterator[ListedModel]:
    data = cast("dict[str, Any]", document).get("data") if isinstance(document, dict) else document
    for one in cast("Sequence[Any]", data if isinstance(data, list) else [])[:_MOST]:
        if (
            isinstance(one, dict)
            and isinstance(id := cast("dict[str, Any]", one).get("id"), str)
            and id.strip()
        ):
            yield _model(id, cast("dict[str, Any]", one))


def _model(id: str, told: dict[str, Any]) -> ListedModel:
    name = told.get("display_name") or told.get("name") or id
    parts = [
        told,
        *(told[key] for key in ("limits", "meta", "top_provider") if isinstance(told.get(key), dict)),
    ]
    names = (*_WINDOWS, "max_total_tokens", "n_ctx", "n_ctx_train")
    window = next((part[key] for part in parts for key in names if isinstance(part.get(key), int)), None)
    return ListedModel(id, str(name)[:200], window)
