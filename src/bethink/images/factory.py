"""The model of pictures that the settings name, and the adapters. `ports` and the DIAL door connect here."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urljoin, urlsplit

import anyio
import msgspec

from bethink.endpoint_faults import fault_of
from bethink.errors import BadInput, InvalidResponse, Unreachable
from bethink.images import Images, PictureContent

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bethink.settings import Settings


DEFAULT: Final = "1024x1024"
"""Spec 002, "ImageGenerationTool": every model makes it."""
_KNOWN: Final = (
    ("dall-e-2", ("256x256", "512x512", "1024x1024")),
    ("dall-e-3", ("1024x1024", "1792x1024", "1024x1792")),
    ("gpt-image", ("1024x1024", "1536x1024", "1024x1536")),
)


def _sizes_of(model: str) -> tuple[str, ...]:
    """The sizes of a model that is known, whatever stands around its name; else none."""
    return next((sizes for name, sizes in _KNOWN if name in model.lower()), ())


_MARKS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def _media_type_of(content: bytes) -> str:
    """The kind of picture, if it is one that a browser shows."""
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    for mark, media_type in _MARKS:
        if content.startswith(mark):
            return media_type
    raise InvalidResponse("The image provider sent something that is not an image.")


def _decoded(text: str) -> bytes:
    """A picture that came as text in base64, perhaps as a `data:` address."""
    try:
        return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidResponse("The image provider sent a damaged image.") from error


_MAX_BYTES: Final = 60_000_000
"""Of an answer: a picture of 40 MB in base64."""
_OK: Final = 200
_NAME: Final = "The image provider"
_KEY: Final = "BETHINK_IMAGES_API_KEY"


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests to `base_url` with these headers, each within `timeout_s`."""

    base_url: str
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout_s: float = 120

    async def post(self, path: str, body: dict[str, Any], params: dict[str, str] | None = None) -> bytes:
        """The answer to a JSON body.

        Raises:
            LlmError: one of its family says what is wrong.
        """
        url = f"{self.base_url.rstrip('/')}/{path}"
        return await self._asked("POST", url, json=body, params=params, headers=self.headers)

    async def get(self, url: str) -> bytes:
        """What lies at an address that the provider gave; only its own host sees the key.

        Raises:
            LlmError: one of its family says what is wrong.
        """
        whole = urljoin(f"{self.base_url}/", url)
        is_own = urlsplit(whole)[:2] == urlsplit(self.base_url)[:2]
        if not is_own and not whole.startswith("https://"):
            raise InvalidResponse("The image provider gave an address that is not allowed.")
        return await self._asked("GET", whole, headers=self.headers if is_own else {})

    async def _asked(self, method: str, url: str, **more: Any) -> bytes:  # noqa: ANN401 - as httpx2 takes it
        await anyio.to_thread.run_sync(import_module, "httpx2")
        import httpx2

        context = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                httpx2.AsyncClient(verify=context, timeout=self.timeout_s) as client,
                client.stream(method, url, **more) as response,
            ):
                content = bytearray()
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > _MAX_BYTES:
                        raise InvalidResponse("The answer of the image provider is too large.")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unreachable(f"The image provider at {self.base_url} cannot be reached.") from error
        except TimeoutError as error:
            raise Unreachable(f"No image came within {self.timeout_s:g} s.") from error
        if response.status_code != _OK:
            raise fault_of(response.status_code, bytes(content), name=_NAME, key=_KEY)
        return bytes(content)


class _Attachment(msgspec.Struct, frozen=True):
    type: str | None = None
    data: str | None = None
    url: str | None = None


class _Custom(msgspec.Struct, frozen=True):
    attachments: list[_Attachment] = []


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    custom_content: _Custom | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message


class _Tokens(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _Tokens | None = None


@dataclass(frozen=True, slots=True)
class DialImages:
    """Adapter: a deployment of DIAL Core that makes pictures, asked by a chat completion.

    It answers with attachments, in which the picture stands as base64 or as the address of a file in
    Core's storage. The key in `exchange` is Core's own, or that of one request to the DIAL door.
    """

    exchange: Exchange
    deployment: str

    @property
    def name(self) -> str:
        """`provider:name` of the model."""
        return f"dial:{self.deployment}"

    @property
    def sizes(self) -> Sequence[str]:
        """The sizes of a deployment that is named as its model."""
        return _sizes_of(self.deployment)

    async def generate(self, prompt: str, size: str) -> PictureContent:
        """One picture."""
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "stream": False,
            "custom_fields": {"configuration": {"size": size}},
        }
        path = f"openai/deployments/{quote(self.deployment, safe='')}/chat/completions"
        content = await self.exchange.post(path, body)
        try:
            answer = msgspec.json.decode(content, type=_Answer)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InvalidResponse("The deployment did not answer with a chat completion.") from error
        picture = await self._picture(answer)
        used = answer.usage or _Tokens()
        return PictureContent(_media_type_of(picture), picture, used.prompt_tokens, used.completion_tokens)

    async def _picture(self, answer: _Answer) -> bytes:
        message = answer.choices[0].message if answer.choices else _Message()
        attachments = message.custom_content.attachments if message.custom_content else []
        for one in attachments:
            if one.type and not one.type.startswith("image/"):
                continue
            if one.data:
                return _decoded(one.data)
            if one.url:
                return await self.exchange.get(f"v1/{one.url}" if one.url.startswith("files/") else one.url)
        said = " ".join((message.content or "nothing").split())[:200]
        raise InvalidResponse(f"The deployment {self.deployment} made no image; it said: {said}")


def dial_images(base_url: str, key: str, deployment: str, *, timeout_s: float = 120) -> DialImages:
    """A deployment of the Core at `base_url`, asked with this key."""
    return DialImages(Exchange(base_url, {"Api-Key": key}, timeout_s), deployment)


class _Datum(msgspec.Struct, frozen=True):
    b64_json: str | None = None
    url: str | None = None


class _Used(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0


class _Made(msgspec.Struct, frozen=True):
    data: list[_Datum] = []
    usage: _Used | None = None


@dataclass(frozen=True, slots=True)
class OpenAiImages:
    """Adapter: OpenAI's images API (`POST /v1/images/generations`), and whatever speaks it.

    With `api_version` it is an Azure deployment.
    """

    exchange: Exchange
    model: str
    provider: str = "openai"
    api_version: str = ""

    @property
    def name(self) -> str:
        """`provider:name` of the model."""
        return f"{self.provider}:{self.model}"

    @property
    def sizes(self) -> Sequence[str]:
        """The sizes of a model whose name is known."""
        return _sizes_of(self.model)

    async def generate(self, prompt: str, size: str) -> PictureContent:
        """One picture."""
        body: dict[str, Any] = {"model": self.model, "prompt": prompt, "n": 1, "size": size}
        if "dall-e" in self.model:
            # Newer models give nothing else, and refuse the word.
            body["response_format"] = "b64_json"
        path, params = "images/generations", None
        if self.api_version:
            path, params = f"openai/deployments/{self.model}/{path}", {"api-version": self.api_version}
        answer = await self.exchange.post(path, body, params)
        try:
            made = msgspec.json.decode(answer, type=_Made)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InvalidResponse("The image provider did not answer in OpenAI's format.") from error
        match made.data:
            case [_Datum(b64_json=str(text)), *_]:
                content = _decoded(text)
            case [_Datum(url=str(url)), *_]:
                content = await self.exchange.get(url)
            case _:
                raise InvalidResponse("The image provider sent no image.")
        used = made.usage or _Used()
        return PictureContent(_media_type_of(content), content, used.input_tokens, used.output_tokens)


_OPENAI: Final = "https://api.openai.com/v1"


def connect_images(settings: Settings) -> Images | None:
    """What makes pictures; None where none is set. Nothing is sent yet.

    Raises:
        BadInput: `images_model` is not `provider:name` of a provider that is known, or has no address.
    """
    if not settings.images_model:
        return None
    provider, _, model = settings.images_model.partition(":")
    of_provider: dict[str, tuple[str | None, SecretStr | None]] = {
        "openai": (settings.openai_base_url or _OPENAI, settings.openai_api_key),
        "azure": (settings.azure_base_url, settings.azure_api_key),
        "dial": (settings.dial_base_url, settings.dial_api_key),
    }
    if provider not in of_provider or not model:
        known = ", ".join(f"{name}:…" for name in of_provider)
        raise BadInput(f"BETHINK_IMAGES_MODEL is {settings.images_model!r}: give one of {known}.")
    base_url, secret = of_provider[provider]
    base_url, secret = settings.images_base_url or base_url, settings.images_api_key or secret
    if not base_url:
        raise BadInput(f"{settings.images_model} needs an address: set BETHINK_IMAGES_BASE_URL.")
    key = secret.get_secret_value() if secret else ""
    if provider == "dial":
        return dial_images(base_url, key, model, timeout_s=settings.images_timeout_s)
    is_azure = provider == "azure"
    headers = {"api-key": key} if is_azure else {"Authorization": f"Bearer {key}"}
    exchange = Exchange(base_url, headers if key else {}, settings.images_timeout_s)
    return OpenAiImages(exchange, model, provider, settings.azure_api_version if is_azure else "")
