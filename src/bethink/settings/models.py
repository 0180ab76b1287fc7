"""Settings of the models that answer: which they are, where they are, their keys, what they are asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, SecretStr

from bethink.settings.groups import place
from bethink.settings.shapes import Assistant, Price
from bethink.settings.values import SEEING, Texts, WebAddressOrNone, as_object

_model = place("model")
_assistants = place("assistants")


class ModelSettings(BaseModel):
    """The part of `Settings` that is about models."""

    model: str = _model("", "Model", "Model that answers, for example `openai:gpt-4o`; empty means no model.")
    model_fallbacks: Texts = _model(
        [], "Fallback models", "Models to try, in order, when the first one fails (comma-separated)."
    )
    models_offered: Texts = _model(
        [],
        "More models to choose from",
        "Models that can be chosen in addition to `model` (comma-separated).",
    )
    assistants: Annotated[dict[str, Assistant], BeforeValidator(as_object)] = _assistants(
        {}, "Assistants", "Assistants that `/v1/models` lists in addition to models: `[assistants.NAME]`."
    )
    model_base_url: WebAddressOrNone = _model(
        None, "Address of the model", "Base URL of `model`, instead of its provider's own."
    )
    model_api_key: SecretStr | None = _model(
        None, "Key of the model", "Key of `model`, instead of its provider's own."
    )
    model_context_tokens: int | None = _model(
        None, "Context window", "Window of the model in tokens.", ge=1024
    )
    model_max_output_tokens: int | None = _model(
        None, "Longest answer", "Longest answer to ask for, in tokens.", ge=1
    )
    model_temperature: float | None = _model(None, "Temperature", "Sampling temperature.", ge=0, le=2)
    model_top_p: float | None = _model(None, "Top p", "Nucleus sampling.", ge=0, le=1)
    model_stop: Texts = _model([], "Stop texts", "Texts that end an answer (comma-separated).", max_length=4)
    model_seed: int | None = _model(None, "Seed", "Seed of sampling, for servers that take one.")
    model_reasoning_effort: str | None = _model(
        None,
        "Reasoning effort",
        "How long a reasoning model thinks: `none`, `minimal`, `low`, `medium`, `high`.",
        max_length=20,
        examples=["none", "minimal", "low", "medium", "high"],
    )
    model_parallel_tool_calls: bool | None = _model(
        None, "Several tool calls at once", "Whether the model may make several tool calls at once."
    )
    model_attempts: int = _model(3, "Tries per model", "Tries per model before the next one.", ge=1, le=10)
    model_connect_timeout_s: float = _model(
        10, "Time to connect", "Longest wait for a connection, in seconds.", gt=0
    )
    model_first_byte_timeout_s: float = _model(
        120, "Time to the first word", "Longest wait for an answer's first byte.", gt=0
    )
    model_gap_timeout_s: float = _model(
        60, "Longest silence", "Longest silence inside an answer, in seconds.", gt=0
    )
    prices: Annotated[dict[str, Price], BeforeValidator(as_object)] = _model(
        {}, "Prices", "Dollars per million tokens of a model, such as `openai:gpt-4o`."
    )

    openai_api_key: SecretStr | None = _model(None, "OpenAI key", "Key for `openai:` models.")
    openai_base_url: WebAddressOrNone = _model(None, "OpenAI address", "Base URL for `openai:` models.")
    azure_api_key: SecretStr | None = _model(None, "Azure OpenAI key", "Key for `azure:` models.")
    azure_base_url: WebAddressOrNone = _model(None, "Azure OpenAI endpoint", "Endpoint for `azure:` models.")
    azure_api_version: str = _model(
        "2024-10-21", "Azure API version", "`api-version` for `azure:`; empty sends none."
    )
    dial_api_key: SecretStr | None = _model(None, "DIAL key", "Key for `dial:` models.")
    dial_base_url: WebAddressOrNone = _model(None, "DIAL Core address", "URL of DIAL Core.")
    openrouter_api_key: SecretStr | None = _model(None, "OpenRouter key", "Key for `openrouter:` models.")
    anthropic_api_key: SecretStr | None = _model(None, "Anthropic key", "Key for `anthropic:` models.")
    anthropic_base_url: WebAddressOrNone = _model(
        None, "Anthropic address", "Base URL for `anthropic:` models."
    )
    ollama_base_url: WebAddressOrNone = _model(None, "Ollama address", "Base URL for `ollama:` models.")
    lmstudio_base_url: WebAddressOrNone = _model(
        None, "LM Studio address", "Base URL for `lmstudio:` models."
    )
    vllm_base_url: WebAddressOrNone = _model(None, "vLLM address", "Base URL for `vllm:` models.")
    vllm_api_key: SecretStr | None = _model(None, "vLLM key", "Key for `vllm:` models, if it asks for one.")
    mlx_base_url: WebAddressOrNone = _model(None, "MLX address", "Base URL for `mlx:` models.")
    llamacpp_base_url: WebAddressOrNone = _model(
        None, "llama.cpp address", "Base URL for `llamacpp:` models."
    )
    custom_base_url: WebAddressOrNone = _model(
        None, "Address of another server", "Base URL for `custom:` models, of any OpenAI-compatible server."
    )
    custom_api_key: SecretStr | None = _model(
        None, "Key of another server", "Key for `custom:` models, if the server asks for one."
    )
    models_that_see: Texts = _model(
        SEEING,
        "Models that see pictures",
        "Models that are shown pictures, such as `openai:*` (comma-separated);"
        " `!` before one takes out what fits it.",
    )
    models_routed: Texts = _model(
        [],
        "Models asked for calls by a schema",
        "Models whose server takes no tools, which are asked for each call by a schema instead:"
        " such as `custom:*` (comma-separated). Costs one more request a step.",
    )
