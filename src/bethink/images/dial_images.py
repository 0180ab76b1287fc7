"""Adapter: a deployment of DIAL Core that makes pictures, asked by a chat completion.

It answers with attachments, in which the picture stands as base64 or as the
address of a file in Core's storage. The key is Core's own, or that of one
request, with which the DIAL door asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from bethink.errors import InvalidResponse
from bethink.images import Picture
from bethink.images.exchange import Exchange, decoded, media_type_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence


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


class _Used(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _Used | None = None


@dataclass(frozen=True, slots=True)
class DialImages:
    """The deployment of this name; `exchange` is with Core."""

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
        answer = await self.exchange.post(path, body)
        try:
            told = msgspec.json.decode(answer, type=_Answer)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InvalidResponse("The deployment did not answer with a chat completion.") from error
        content = await self._picture(told)
        used = told.usage or _Used()
        return Picture(media_type_of(content), content, used.prompt_tokens, used.completion_tokens)

    async def _picture(self, told: _Answer) -> bytes:
        message = told.choices[0].message if told.choices else _Message()
        given = message.custom_content.attachments if message.custom_content else []
        for one in given:
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
