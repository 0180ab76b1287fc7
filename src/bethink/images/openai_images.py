"""Adapter: OpenAI's images API (`POST /v1/images/generations`), and whatever speaks it, Azure among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import InvalidResponse
from bethink.images import Picture
from bethink.images.exchange import decoded, media_type_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.images.exchange import Exchange


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
    """The model `model`; with `api_version` it is an Azure deployment."""

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
