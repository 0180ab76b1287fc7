"""The model of pictures that the settings name. `app` connects here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput
from bethink.images.dial_images import dial_images
from bethink.images.exchange import Exchange
from bethink.images.openai_images import OpenAiImages

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bethink.images import Images
    from bethink.settings import Settings

_OPENAI: Final = "https://api.openai.com/v1"
_PROVIDERS: Final = ("openai", "azure", "dial")


def connect_images(settings: Settings) -> Images | None:
    """What makes pictures; None where none is set. Nothing is sent yet.

    Raises:
        BadInput: `images_model` is not `provider:name` of a provider that is known, or has no address.
    """
    if not settings.images_model:
        return None
    provider, _, model = settings.images_model.partition(":")
    if provider not in _PROVIDERS or not model:
        known = ", ".join(f"{name}:…" for name in _PROVIDERS)
        raise BadInput(f"BETHINK_IMAGES_MODEL is {settings.images_model!r}: give one of {known}.")
    of_provider: dict[str, tuple[str | None, SecretStr | None]] = {
        "openai": (settings.openai_base_url or _OPENAI, settings.openai_api_key),
        "azure": (settings.azure_base_url, settings.azure_api_key),
        "dial": (settings.dial_base_url, settings.dial_api_key),
    }
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
