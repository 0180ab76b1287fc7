"""The models that the settings name, as one. `app`, `doctor` and the benchmark of runs connect here."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal

from bethink.llm.capabilities import Learnt
from bethink.llm.fallback import FallbackLlm, Retries
from bethink.llm.markup import MarkupLlm
from bethink.llm.openai_wire import Limits
from bethink.llm.providers import Connection, connect, split_spec
from bethink.llm.routed import RoutedLlm
from bethink.llm.tagged import TaggedLlm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import SecretStr

    from bethink.llm import Llm
    from bethink.settings import Settings


ToolProtocol = Literal["auto", "native", "tagged", "routed"]
"""How a model is told of tools: as its server takes them, by tags, by a schema; `auto` goes by its name."""
_TRAINED: Final = "*mem-agent*"
"""Models that were trained on tags, wherever they are served."""


def connect_models(settings: Settings, learnt: Learnt | None = None) -> Llm | None:
    """The model and its fallbacks as one; None where none is set. Nothing is sent yet.

    `learnt` is what is known of models' servers.

    Raises:
        BadInput: a name is not `provider:name`, or its provider is unknown.
    """
    if not settings.model:
        return None
    learnt = learnt or Learnt()
    own = Connection(
        base_url=settings.model_base_url,
        api_key=plain(settings.model_api_key),
        context_tokens=settings.model_context_tokens,
    )
    models = [
        _spoken(settings, spec, _connection(settings, spec, learnt, own=own if position == 0 else None))
        for position, spec in enumerate((settings.model, *settings.model_fallbacks))
    ]
    return FallbackLlm(models, retries=Retries(attempts=settings.model_attempts))


def connect_one(
    settings: Settings,
    spec: str,
    learnt: Learnt,
    *,
    base_url: str | None = None,
    protocol: ToolProtocol = "auto",
) -> Llm:
    """A model beside the usual one, at `base_url` or its provider's own address. Nothing is sent yet.

    Raises:
        BadInput: the name is not `provider:name`, its provider is unknown or needs an address.
    """
    connection = _connection(settings, spec, learnt, own=Connection(base_url=base_url))
    if base_url is not None:
        # Found on this machine: nobody's key is for it.
        connection = replace(connection, api_key=None)
    model = _spoken(settings, spec, connection, protocol=protocol)
    return FallbackLlm([model], retries=Retries(attempts=settings.model_attempts))


def _spoken(settings: Settings, spec: str, connection: Connection, *, protocol: ToolProtocol = "auto") -> Llm:
    is_routed = protocol == "auto" and fits(spec, settings.models_routed)
    return in_protocol(connect(spec, connection), "routed" if is_routed else protocol, connection.learnt)


def in_protocol(model: Llm, protocol: ToolProtocol = "auto", learnt: Learnt | None = None) -> Llm:
    """The model, spoken to in the protocol that it understands; `learnt` is what is known of models."""
    if protocol == "tagged" or (protocol == "auto" and fnmatchcase(model.name.lower(), _TRAINED)):
        return TaggedLlm(model)
    plain = MarkupLlm(model, learnt)
    return RoutedLlm(plain) if protocol == "routed" else plain


def _connection(
    settings: Settings, spec: str, learnt: Learnt, *, own: Connection | None = None
) -> Connection:
    provider, _ = split_spec(spec)
    own = own or Connection()
    return Connection(
        base_url=own.base_url or getattr(settings, f"{provider}_base_url", None),
        api_key=own.api_key or plain(getattr(settings, f"{provider}_api_key", None)),
        api_version=settings.azure_api_version if provider == "azure" else "",
        context_tokens=own.context_tokens,
        limits=limits_of(settings),
        sees=sees(spec, settings.models_that_see),
        learnt=learnt,
    )


def sees(spec: str, patterns: Sequence[str]) -> bool:
    """Whether a model `provider:name` fits a pattern, and none that begins with `!`; case does not count."""
    return fits(spec, patterns) and not fits(spec, [one[1:] for one in patterns if one[:1] == "!"])


def fits(spec: str, patterns: Sequence[str]) -> bool:
    """Whether a model `provider:name` fits one of the patterns; case does not count."""
    name = spec.strip().lower()
    return any(fnmatchcase(name, pattern.strip().lower()) for pattern in patterns)


def limits_of(settings: Settings) -> Limits:
    """How long a model's server is waited for."""
    return Limits(
        connect_s=settings.model_connect_timeout_s,
        first_byte_s=settings.model_first_byte_timeout_s,
        gap_s=settings.model_gap_timeout_s,
    )


def plain(secret: SecretStr | None) -> str | None:
    """The secret itself, for whoever sends it."""
    return None if secret is None else secret.get_secret_value()
