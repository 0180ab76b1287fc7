"""The model of pictures that the settings name, and the adapters. `ports` and the DIAL door connect here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from bethink.errors import BadInput, InvalidResponse
from bethink.images import Picture
from bethink.images.exchange import Exchange, decoded, media_type_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import SecretStr

    from bethink.images import Images
    from bethink.settings import Settings


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
        return sizes_of(self.deployment)

    async def generate(self, prompt: str, size: str) -> Picture:
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
        return Picture(media_type_of(picture), picture, used.prompt_tokens, used.completion_tokens)

    async def _picture(self, answer: _Answer) -> bytes:
        message = answer.choices[0].message if answer.choices else _Message()
        attachments = message.custom_content.attachments if message.custom_content else []
        for one in attachments:
            if one.type and not one.type.startswith("image/"):
                continue
            if one.data:
                return decoded(one.data)
            if one.url:
                return await self.exchange.get(f"v1/{one.url}" if one.url.startswith("files/") else one.url)
        said = " ".join((message.content or "nothing").split())[:200]
        raise InvalidResponse(f"The deployment {self.deployment} made no picture; it said: {said}")


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
        return sizes_of(self.model)

    async def generate(self, prompt: str, size: str) -> Picture:
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
            raise InvalidResponse("The provider of pictures did not answer in OpenAI's format.") from error
        match made.data:
            case [_Datum(b64_json=str(text)), *_]:
                content = decoded(text)
            case [_Datum(url=str(url)), *_]:
                content = await self.exchange.get(url)
            case _:
                raise InvalidResponse("The provider of pictures sent none.")
        used = made.usage or _Used()
        return Picture(media_type_of(content), content, used.input_tokens, used.output_tokens)


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
