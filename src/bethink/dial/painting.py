"""`generate_image` as a request through DIAL has it: a deployment of Core, asked with its own key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.images.dial_images import dial_images
from bethink.tools.images import image_tools

if TYPE_CHECKING:
    from bethink.settings import Settings
    from bethink.tool import Tool


def painting_tools(settings: Settings, url: str, key: str) -> list[Tool]:
    """The tool over the Core at `url`; nothing where no deployment of DIAL makes the pictures."""
    provider, _, deployment = settings.images_model.partition(":")
    if provider != "dial":
        return []
    images = dial_images(url, key, deployment, timeout_s=settings.images_timeout_s)
    return image_tools(images, settings.images_timeout_s, settings.images_price_usd)
