"""Port: what makes pictures from words. `tools/images` asks; `factory` chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bethink.errors import BadInput


@dataclass(frozen=True, slots=True)
class PictureContent:
    """A picture's content; tokens where the provider counts them."""

    media_type: str
    content: bytes = field(repr=False)
    input_tokens: int = 0
    output_tokens: int = 0


class Images(Protocol):
    """Makes pictures with one model."""

    @property
    def name(self) -> str:
        """`provider:name` of the model."""
        ...

    @property
    def sizes(self) -> Sequence[str]:
        """The sizes that it makes, `WIDTHxHEIGHT` in pixels; empty where nobody knows."""
        ...

    async def generate(self, prompt: str, size: str) -> PictureContent:
        """One picture.

        Raises:
            LlmError: one of its family says why there is none.
        """
        ...


def checked_size(images: Images, size: str) -> str:
    """The size, if the model makes pictures of it, or nobody knows.

    Raises:
        BadInput: it does not.
    """
    if images.sizes and size not in images.sizes:
        raise BadInput(f"{images.name} makes no pictures of {size}: take {', '.join(images.sizes)}.")
    return size
