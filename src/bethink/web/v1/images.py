"""`/v1/images/generations`: pictures from words, by the model that the settings name.

Source: OpenAI API reference, "Create image".
"""

from __future__ import annotations

import base64
import time
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from bethink.errors import BadInput, UnknownId
from bethink.images import checked_size
from bethink.images.factory import DEFAULT
from bethink.web.deps import Caller, Served
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.request import Loose, sound

router = APIRouter(prefix="/v1/images", tags=["openai"], dependencies=[Depends(sound)], responses=ERRORS)

_MOST: Final = 4
"""Pictures of one request: they cost money, and are made one after another."""
_MAX_PROMPT: Final = 32_000
"""As much as the largest of OpenAI's models takes."""


class ImagesBody(Loose):
    """What to paint; the model is the one that the settings name."""

    prompt: str = Field(min_length=1, max_length=_MAX_PROMPT)
    model: str | None = Field(default=None, max_length=200, description="Not regarded.")
    n: Annotated[int | None, Field(ge=1, le=_MOST)] = None
    size: str | None = Field(default=None, max_length=20, description="`1024x1024` by default.")
    response_format: Literal["b64_json", "url"] | None = Field(
        default=None, description="`url` gives `data:` addresses; nothing is kept here."
    )
    stream: bool | None = None


@router.post("/generations")
async def create_image(body: ImagesBody, app: Served, caller: Caller) -> dict[str, Any]:
    """Pictures of what a text says."""
    del caller
    images = app.ports.images
    if images is None:
        raise UnknownId("No model makes pictures: set BETHINK_IMAGES_MODEL.")
    if body.stream:
        raise BadInput("stream: pictures come whole here; leave it out.")
    size = DEFAULT if body.size in (None, "auto") else checked_size(images, body.size)
    made = [await images.generate(body.prompt, size) for _ in range(body.n or 1)]
    data: list[dict[str, str]] = []
    for picture in made:
        content = base64.b64encode(picture.content).decode()
        if body.response_format == "url":
            data.append({"url": f"data:{picture.media_type};base64,{content}"})
        else:
            data.append({"b64_json": content})
    read, written = (sum(getattr(one, f"{way}_tokens") for one in made) for way in ("input", "output"))
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    answer: dict[str, Any] = {"created": int(time.time()), "data": data, "size": size}
    details = {"input_tokens_details": {"text_tokens": read, "image_tokens": 0}}
    return answer | ({"usage": usage | details} if read + written else {})
