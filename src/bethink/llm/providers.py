"""Which model: `provider:name` to a ready `Llm`. `app` calls it with what `settings` read.

A provider is one row of `PROVIDERS`. Nothing here reads the environment: a row
names the variable of its key so that settings can look it up and errors can
name it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput
from bethink.llm.capabilities import Learnt
from bethink.llm.endpoint import Asking, Endpoint
from bethink.llm.openai_wire import OpenAiWire, Shared, WireLimits
from bethink.llm.scripted import ScriptedLlm

if TYPE_CHECKING:
    from bethink.llm import Llm


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider's models are unless told, and what it needs.

    `base_url` is None where only the owner knows it. `context_tokens` is a
    window that its models have at least; `key_variable` is empty where no key
    is needed; `window` says who is asked for the window of a model. Its models run
    on the owner's machine if it is `local`.
    """

    title: str
    description: str
    base_url: str | None
    key_variable: str
    context_tokens: int
    local: bool = False
    azure: bool = False
    max_tokens: str = "max_tokens"
    window: Asking = "nobody"


PROVIDERS: Final[dict[str, Provider]] = {
    "openai": Provider(
        "OpenAI",
        "GPT models, with a key from platform.openai.com.",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        128_000,
        max_tokens="max_completion_tokens",
    ),
    "azure": Provider(
        "Azure OpenAI",
        "Deployments of your own resource in Azure.",
        None,
        "AZURE_OPENAI_API_KEY",
        128_000,
        azure=True,
        max_tokens="max_completion_tokens",
    ),
    "openrouter": Provider(
        "OpenRouter",
        "Models of many providers, with one key from openrouter.ai.",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        128_000,
        window="models",
    ),
    "dial": Provider(
        "DIAL", "Models of your company's DIAL Core.", None, "DIAL_API_KEY", 128_000, azure=True
    ),
    "anthropic": Provider(
        "Anthropic",
        "Claude models, with a key from console.anthropic.com.",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        200_000,
    ),
    # The servers below run on the owner's machines; theirs are the ports they listen on by default.
    "ollama": Provider(
        "Ollama",
        "Models on this machine, run by Ollama.",
        "http://127.0.0.1:11434/v1",
        "",
        4_096,
        local=True,
        window="ollama",
    ),
    "lmstudio": Provider(
        "LM Studio",
        "Models on this machine: switch its server on in LM Studio.",
        "http://127.0.0.1:1234/v1",
        "",
        4_096,
        local=True,
        window="local",
    ),
    "vllm": Provider(
        "vLLM",
        "A vLLM server, on this machine or another one.",
        "http://127.0.0.1:8000/v1",
        "",
        32_768,
        local=True,
        window="local",
    ),
    "llamacpp": Provider(
        "llama.cpp",
        "A model file on this machine, or a llama-server.",
        "http://127.0.0.1:8080/v1",
        "",
        8_192,
        local=True,
        window="local",
    ),
    "mlx": Provider(
        "MLX",
        "Models on this Mac, run by mlx_lm.server.",
        "http://127.0.0.1:8080/v1",
        "",
        32_768,
        local=True,
        window="local",
    ),
    "custom": Provider(
        "Another server",
        "Any server that speaks OpenAI's chat completions.",
        None,
        "",
        32_768,
        window="local",
    ),
}
"""The table of providers that speak OpenAI's chat completions."""

GGUF: Final = "gguf"
"""The provider of models that lie on the disk and run beside Bethink: `gguf:/path/model.gguf`."""
SCRIPTED: Final = "scripted"
"""The provider of the demonstration that needs no model: `scripted:demo`."""


def split_spec(spec: str) -> tuple[str, str]:
    """The provider and the model's name of `provider:name`; the name may hold colons itself.

    Raises:
        BadInput: the provider is missing or unknown, or the name is.
    """
    provider, colon, name = spec.strip().partition(":")
    known = ", ".join(f"{provider}:" for provider in (*PROVIDERS, GGUF, SCRIPTED))
    if not colon:
        raise BadInput(
            f"BETHINK_MODEL is {spec!r}, without a provider: write provider:name,"
            f" such as openai:{provider or 'gpt-5'}. Known providers: {known}."
        )
    if provider not in (*PROVIDERS, GGUF, SCRIPTED):
        raise BadInput(
            f"BETHINK_MODEL names the provider {provider!r}, which is not known. Known are {known}."
            f" For any other OpenAI-compatible server write custom:{name or 'name'} and set its base URL."
        )
    if not name.strip():
        raise BadInput(f"BETHINK_MODEL is {spec!r}: the model's name is missing after the colon.")
    return provider, name.strip()


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """What an owner may set about a model; None and empty mean the provider's own."""

    base_url: str | None = None
    api_key: str | None = None
    api_version: str = ""
    context_tokens: int | None = None
    limits: WireLimits | None = None
    sees: bool = False
    learnt: Learnt = field(default_factory=Learnt)


def connect(spec: str, connection: ModelConnection | None = None) -> Llm:
    """The model that `spec` names. Nothing is sent until it is used.

    Raises:
        BadInput: `spec` names none, or its base URL is missing or wrong.
    """
    given = connection or ModelConnection()
    provider_name, model = split_spec(spec)
    name = f"{provider_name}:{model}"
    if provider_name == SCRIPTED:
        return ScriptedLlm(name=name)
    if provider_name == GGUF:
        return _beside(name, Path(model), given)
    provider = PROVIDERS[provider_name]
    base_url = given.base_url or provider.base_url
    if base_url is None:
        raise BadInput(
            f"{name} needs an address: set BETHINK_MODEL_BASE_URL to your {provider_name} endpoint."
        )
    endpoint = Endpoint(
        base_url,
        model,
        api_key=given.api_key or None,
        azure=provider.azure,
        api_version=given.api_version,
        key_setting=f"the key in Settings › Model, or {provider.key_variable or 'BETHINK_MODEL_API_KEY'}",
        max_tokens=provider.max_tokens,
        # Whoever names an address of his own may mean any server; OpenAI itself tells no window.
        window="local" if provider_name == "openai" and given.base_url else provider.window,
        wanted_window=given.context_tokens,
    )
    window = given.context_tokens or provider.context_tokens
    return OpenAiWire(
        name,
        endpoint,
        context_tokens=window,
        limits=given.limits,
        sees=given.sees,
        shared=Shared(learnt=given.learnt),
    )


_GGUF_WINDOW: Final = 8_192
"""Tokens: what fits into the memory of most machines beside the model."""


def _beside(name: str, weights: Path, given: ModelConnection) -> Llm:
    from bethink.llm.llamacpp import LlamaCppLlm

    window = given.context_tokens or _GGUF_WINDOW
    return LlamaCppLlm(name, weights.expanduser(), context_tokens=window, limits=given.limits)
