"""Which sizes a model makes, by its name (OpenAI's reference, "Create image", `size`)."""

from __future__ import annotations

from typing import Final

DEFAULT: Final = "1024x1024"
"""Spec 002, "ImageGenerationTool": every model makes it."""
_KNOWN: Final = (
    ("dall-e-2", ("256x256", "512x512", "1024x1024")),
    ("dall-e-3", ("1024x1024", "1792x1024", "1024x1792")),
    ("gpt-image", ("1024x1024", "1536x1024", "1024x1536")),
)


def sizes_of(model: str) -> tuple[str, ...]:
    """The sizes of a model that is known, whatever stands around its name; else none."""
    return next((sizes for name, sizes in _KNOWN if name in model.lower()), ())
