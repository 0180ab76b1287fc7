"""The models that the settings name: the usual one with its fallbacks, those offered, those of subagents.

`app` connects them; `agent/start` and `agent/subagent` ask for one, doors list them, `/health` and `doctor`
say what would be taken. Retries are here (`FallbackLlm`) and nowhere else. For whoever has set no model,
those that already run on this machine are found by asking (`Probing`); of OpenRouter it counts that its key
is set. Source: spec 003, "Model Selection Logic": vLLM, then MLX, then OpenRouter, then an error.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.errors import (
    BadInput,
    ContextTooLong,
    InvalidResponse,
    LlmError,
    NoModel,
    RateLimited,
    UnknownId,
    Unreachable,
)
from bethink.events import Warned
from bethink.llm import Delta, Llm, LlmRequest, ToolCallDelta, traced
from bethink.llm.capabilities import Learnt
from bethink.llm.markup import MarkupLlm
from bethink.llm.openai_wire import WireLimits
from bethink.llm.providers import PROVIDERS, ModelConnection, connect, split_spec
from bethink.llm.routed import RoutedLlm
from bethink.llm.server_models import models_at
from bethink.llm.tagged import TaggedLlm
from bethink.messages import Message, ToolMessage, UserMessage
from bethink.settings.catalogue import SETTINGS

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bethink.settings import Assistant, Settings
    from bethink.settings.live import Switch


SHORT_CHARACTERS: Final = 4_000
"""What is left of a tool's result in a simplified request: about a thousand tokens."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently one model is asked.

    The pause before retry n is drawn evenly from 0 to `first_pause_s` · 2ⁿ, at
    most `longest_pause_s` (full jitter: many conversations that failed together
    do not come back together). A longer wait that the provider itself asks for
    is kept up to `longest_wait_s`; beyond that the next model answers.
    """

    attempts: int = 3
    first_pause_s: float = 0.5
    longest_pause_s: float = 8
    longest_wait_s: float = 30
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    draw: Callable[[], float] = random.random  # noqa: S311 it only spreads retries

    def pause_s(self, failures: int, error: LlmError) -> float | None:
        """How long to wait after this failure, the `failures`-th; None is not to ask again."""
        if failures >= self.attempts or not isinstance(error, RateLimited | Unreachable):
            return None
        wait_s = getattr(error, "retry_after_s", None)
        if wait_s is not None and wait_s > self.longest_wait_s:
            return None
        longest = min(self.first_pause_s * 2.0 ** (failures - 1), self.longest_pause_s)
        return (wait_s or 0) + self.draw() * longest


class _Turn:
    """Whom to ask next, and what."""

    def __init__(self, models: tuple[Llm, ...], retries: Retries, request: LlmRequest) -> None:
        self.model = models[0]
        self.request = request
        self.pause_s = 0.0
        self._rest = list(models[1:])
        self._retries = retries
        self._whole = request
        self._failures = 0

    def after(self, error: LlmError) -> Warned | None:
        """Move on after a failure and say how; None when nothing is left to try."""
        self._failures += 1
        self.pause_s = 0
        if isinstance(error, ContextTooLong):
            return None
        if isinstance(error, InvalidResponse) and self.request is self._whole:
            self.request = simplified(self._whole)
            return _warned(f"{error} Asking {self.model.name} again with a shortened conversation.")
        pause_s = self._retries.pause_s(self._failures, error)
        if pause_s is not None:
            self.pause_s = pause_s
            return _warned(f"{error} Asking again in {pause_s:.1f} s.")
        if not self._rest:
            return None
        self.model = self._rest.pop(0)
        self.request = self._whole
        self._failures = 0
        return _warned(f"{error} Asking {self.model.name} instead.")


class FallbackLlm:
    """Models in the order of preference, asked until one answers.

    A failure is mended only while nothing of an answer was passed on: after
    that it is raised, and nothing is said twice. Tool calls before any text
    are held back until they are complete, so that half a call can be asked for
    again. `ContextTooLong` is raised at once: the caller can trim. Whatever is
    tried is told in a `Warned`.
    """

    def __init__(self, models: Sequence[Llm], *, retries: Retries | None = None) -> None:
        if not models:
            raise ValueError("a chain of models needs at least one")
        self._models = tuple(models)
        self._retries = retries or Retries()
        self._streams = 0
        self._is_retired = False

    @property
    def name(self) -> str:
        """The preferred model's; `Finish.model` says who answered."""
        return self._models[0].name

    @property
    def context_tokens(self) -> int:
        """The preferred model's window."""
        return self._models[0].context_tokens

    @property
    def sees(self) -> bool:
        """Whether the preferred model sees; another one that does not leaves the pictures out itself."""
        return self._models[0].sees

    async def learn(self) -> None:
        """See `Llm.learn`: of the preferred model; of another one when it is its turn."""
        await self._models[0].learn()

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`; raises the last model's error."""
        self._streams += 1
        try:
            async with aclosing(self._stream(request)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self._streams -= 1
            if self._is_retired and not self._streams:
                await self.close()

    async def _stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        turn = _Turn(self._models, self._retries, request)
        while True:
            held: list[ToolCallDelta] = []
            said = False
            if turn.model is not self._models[0]:
                await turn.model.learn()
            deltas = traced(turn.model, turn.request)
            try:
                async for delta in deltas:
                    if not said and isinstance(delta, ToolCallDelta):
                        held.append(delta)
                        continue
                    if isinstance(delta, Warned):
                        yield delta
                        continue
                    said = True
                    while held:
                        yield held.pop(0)
                    yield delta
                return
            except LlmError as error:
                if isinstance(error, ContextTooLong):
                    error.window = turn.model.context_tokens
                warning = None if said else turn.after(error)
                if warning is None:
                    raise
            finally:
                await deltas.aclose()
            yield warning
            await self._retries.sleep(turn.pause_s)

    async def probe(self) -> str | None:
        """None as soon as one model answers, otherwise why none does."""
        reasons: list[str] = []
        for model in self._models:
            reason = await model.probe()
            if reason is None:
                return None
            reasons.append(reason)
        return " ".join(reasons)

    async def retire(self) -> None:
        """Close as soon as nothing is streamed any more: another chain has taken its place."""
        self._is_retired = True
        if not self._streams:
            await self.close()

    async def close(self) -> None:
        """Close every model, whatever one of them says."""
        async with AsyncExitStack() as stack:
            for model in self._models:
                stack.push_async_callback(model.close)


def simplified(request: LlmRequest) -> LlmRequest:
    """The system prompt and the current turn alone, its tools' results shortened.

    Source: spec 004, "Error Handling": an invalid response is retried with simplified context.
    """
    messages = request.messages
    users = [place for place, message in enumerate(messages) if isinstance(message, UserMessage)]
    turn = messages[users[-1] :] if users else messages
    return replace(request, messages=tuple(_shortened(message) for message in turn))


def _shortened(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or len(message.content) <= SHORT_CHARACTERS:
        return message
    return msgspec.structs.replace(message, content=message.content[:SHORT_CHARACTERS] + "\n… (shortened)")


def _warned(message: str) -> Warned:
    return Warned(part="model", message=message)


MODEL_MISSING: Final = (
    "No model is set, and none was found on this machine. Start one (`vllm serve driaforall/mem-agent`,"
    " LM Studio's server, `mlx_lm.server`), set OPENROUTER_API_KEY, or name one: BETHINK_MODEL=provider:name."
)
TRAINED: Final = "mem-agent"
"""Of several models that one server offers, the one with this in its name is taken."""
OPENROUTER_MODEL: Final = "openrouter/auto"
"""OpenRouter's own choice among its models."""
_KNOWN_S: Final = 10


@dataclass(frozen=True, slots=True)
class DefaultServer:
    """Where a program listens by default; `provider` says how it is spoken to."""

    label: str
    provider: str
    base_url: str


PLACES: Final = (
    DefaultServer("vLLM", "vllm", PROVIDERS["vllm"].base_url or ""),
    DefaultServer("MLX", "mlx", PROVIDERS["mlx"].base_url or ""),
    DefaultServer("LM Studio", "lmstudio", PROVIDERS["lmstudio"].base_url or ""),
)
"""In the order in which they are preferred."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that answers: `spec` names it, `base_url` is where."""

    label: str
    spec: str
    base_url: str | None = None

    @property
    def told(self) -> str:
        """In words."""
        return f"{self.label}: {self.spec}" + (f" at {self.base_url}" if self.base_url else "")

    @property
    def offer(self) -> str:
        """How it becomes the usual model, as a sentence."""
        where = f" and BETHINK_MODEL_BASE_URL={self.base_url}" if self.base_url else ""
        return f"A model answers here ({self.label}): BETHINK_MODEL={self.spec}{where} takes it."


@dataclass(slots=True)
class Probing:
    """Looks for a model. What was found, or that there is none, is known for ten seconds."""

    has_openrouter_key: bool = False
    places: Sequence[DefaultServer] = PLACES
    now: Callable[[], float] = monotonic
    found: FoundModel | None = None
    _asked: float | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def find(self, *, anew: bool = False) -> FoundModel | None:
        """The first that answers, in the order of `places`; `anew` asks although it was asked just now."""
        async with self._asking:
            if not anew and self._asked is not None and self.now() - self._asked < _KNOWN_S:
                return self.found
            answers = await asyncio.gather(*(_ask(place) for place in self.places))
            self.found = next((found for found in answers if found), None)
            if self.found is None and self.has_openrouter_key:
                self.found = FoundModel("OpenRouter", f"openrouter:{OPENROUTER_MODEL}")
            self._asked = self.now()
            return self.found

    @property
    def told(self) -> str:
        """What was found last, in words; nothing is asked."""
        if self._asked is None:
            return "No model is set; one on this machine is looked for when it is needed."
        return f"Found {self.found.told}." if self.found else MODEL_MISSING


async def _ask(place: DefaultServer) -> FoundModel | None:
    """The model that a program offers; None where none answers there in time."""
    names = [model.id for model in await models_at(place.base_url)]
    if not names:
        return None
    best = next((name for name in names if TRAINED in name.lower()), names[0])
    return FoundModel(place.label, f"{place.provider}:{best}", place.base_url)


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
    own = ModelConnection(
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
    connection = _connection(settings, spec, learnt, own=ModelConnection(base_url=base_url))
    if base_url is not None:
        # Found on this machine: nobody's key is for it.
        connection = replace(connection, api_key=None)
    model = _spoken(settings, spec, connection, protocol=protocol)
    return FallbackLlm([model], retries=Retries(attempts=settings.model_attempts))


def address_of(settings: Settings, provider: str) -> str | None:
    """Where the models of a provider are, as far as anybody said."""
    known = PROVIDERS.get(provider)
    set_url: str | None = getattr(settings, f"{provider}_base_url", None)
    return set_url or (known.base_url if known else None)


def key_for(settings: Settings, provider: str, *, base_url: str | None, api_key: str | None) -> str | None:
    """The key for a request: the one that came with it, else the provider's if it goes to its own address.

    A key that is kept is sent nowhere else than where it is for.
    """
    if api_key:
        return api_key
    own = address_of(settings, provider)
    if base_url and base_url.rstrip("/") != (own or "").rstrip("/"):
        return None
    return plain(getattr(settings, f"{provider}_api_key", None))


def connect_trial(settings: Settings, spec: str, *, base_url: str | None, api_key: str | None) -> Llm:
    """A model that is only tried, with an address and a key that are kept nowhere. Nothing is sent yet.

    Raises:
        BadInput: the name is not `provider:name`, its provider is unknown or needs an address.
    """
    provider, _ = split_spec(spec)
    connection = replace(
        _connection(settings, spec, Learnt(), own=ModelConnection(base_url=base_url)),
        api_key=key_for(settings, provider, base_url=base_url, api_key=api_key),
        sees=True,
    )
    return _spoken(settings, spec, connection)


def _spoken(
    settings: Settings, spec: str, connection: ModelConnection, *, protocol: ToolProtocol = "auto"
) -> Llm:
    is_routed = protocol == "auto" and fits(spec, settings.models_routed)
    return in_protocol(connect(spec, connection), "routed" if is_routed else protocol, connection.learnt)


def in_protocol(model: Llm, protocol: ToolProtocol = "auto", learnt: Learnt | None = None) -> Llm:
    """The model, spoken to in the protocol that it understands; `learnt` is what is known of models."""
    if protocol == "tagged" or (protocol == "auto" and fnmatchcase(model.name.lower(), _TRAINED)):
        return TaggedLlm(model)
    plain = MarkupLlm(model, learnt)
    return RoutedLlm(plain) if protocol == "routed" else plain


def _connection(
    settings: Settings, spec: str, learnt: Learnt, *, own: ModelConnection | None = None
) -> ModelConnection:
    provider, _ = split_spec(spec)
    own = own or ModelConnection()
    return ModelConnection(
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


def limits_of(settings: Settings) -> WireLimits:
    """How long a model's server is waited for."""
    return WireLimits(
        connect_s=settings.model_connect_timeout_s,
        first_byte_s=settings.model_first_byte_timeout_s,
        gap_s=settings.model_gap_timeout_s,
    )


def plain(secret: SecretStr | None) -> str | None:
    """The secret itself, for whoever sends it."""
    return None if secret is None else secret.get_secret_value()


AUTO: Final = "auto"
"""The usual model where one is set, else one that is found. What is set is never passed over."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: dollars per million tokens in and out, its window, whether it sees pictures.

    The window is a guess until its server was asked, and None if the model has no address.
    """

    name: str
    price: tuple[float, float] | None = None
    context_tokens: int | None = None
    sees: bool = False


class OfferedModels:
    """The usual model, its fallbacks, and what `models_offered` names; `learnt` is known of their servers.

    All but the usual one are connected on first use.

    Raises:
        BadInput: a name is not `provider:name`, or its provider is unknown.
    """

    def __init__(self, settings: Settings, usual: Llm | None, learnt: Learnt | None = None) -> None:
        self.usual = usual
        self.probing = Probing(has_openrouter_key=settings.openrouter_api_key is not None)
        self.learnt = learnt or Learnt()
        self._settings = settings
        self._given = usual
        self._connected: dict[tuple[str, str | None, ToolProtocol], Llm] = {}
        self._names = _offered(settings, usual)

    async def remade(self, wanted: Settings, changed: AbstractSet[str]) -> Switch | None:
        """What puts the models of other settings in place; what is being answered goes on with those before.

        Raises:
            BadInput: a name is not `provider:name`, its provider is unknown or needs an address.
        """
        if not any(SETTINGS[name].group in _GROUPS for name in changed):
            return None
        is_other = any(_concerns_connections(name) for name in changed)
        usual = connect_models(wanted, self.learnt) if is_other else self.usual
        names = _offered(wanted, usual)

        async def switch() -> None:
            before = [self.usual, *self._connected.values()] if is_other else []
            self.usual, self._names = usual, names
            if is_other:
                self._connected = {}
                self.probing.has_openrouter_key = wanted.openrouter_api_key is not None
            for model in before:
                if isinstance(model, FallbackLlm):
                    await model.retire()

        return switch

    def names(self) -> Sequence[str]:
        """`provider:name` of each, the usual one first."""
        return self._names

    @property
    def assistants(self) -> Mapping[str, Assistant]:
        """The assistants by their names, which may stand where a model's does."""
        return self._settings.assistants

    def facts(self) -> Sequence[ModelFacts]:
        """What is known of each model, in the order of `names`; nothing is asked."""
        return [self._facts(name) for name in self._names]

    def _facts(self, name: str) -> ModelFacts:
        price = self._settings.prices.get(name)
        cost = None if price is None else (price.input, price.output)
        try:
            llm = self.get(name)
        except BadInput:
            return ModelFacts(name, cost)
        return ModelFacts(name, cost, llm.context_tokens, sees=llm.sees)

    def get(self, name: str) -> Llm:
        """The model of this name.

        Raises:
            UnknownId: it is not offered.
            BadInput: its provider needs an address that no setting gives.
        """
        if self.usual is not None and name == self.usual.name:
            return self.usual
        if name not in self._names:
            raise UnknownId(self._not_offered(name))
        return self._connect(name)

    async def find(self, wanted: str = AUTO, protocol: ToolProtocol = "auto") -> Llm:
        """A subagent's model: `provider:name`, or `auto`; `protocol` is how it is told of tools.

        Raises:
            NoModel: none is set and none is found; the sentence says how to get one.
            BadInput: the name is not `provider:name`, or its provider is unknown.
        """
        if wanted not in {AUTO, ""}:
            return self._connect(wanted, protocol=protocol)
        if self.usual is not None:
            return self.usual if protocol == "auto" else in_protocol(self.usual, protocol)
        if (found := await self.probing.find()) is None:
            raise NoModel(MODEL_MISSING)
        return self._connect(found.spec, found.base_url, protocol)

    def told(self, wanted: str = AUTO) -> str:
        """Which model `find` would give, in words; nothing is asked."""
        if wanted not in {AUTO, ""}:
            return wanted
        return self.probing.told if self.usual is None else self.usual.name

    def offers(self, name: str) -> bool:
        """Whether a conversation may have this as its model: a model, or an assistant."""
        return name in self._names or name in self.assistants

    def check(self, name: str | None) -> None:
        """Refuse a model that a conversation is to have and that no run could.

        Raises:
            BadInput: it is not offered.
        """
        if name is not None and not self.offers(name):
            raise BadInput(self._not_offered(name))

    def _connect(self, spec: str, base_url: str | None = None, protocol: ToolProtocol = "auto") -> Llm:
        key = (spec, base_url, protocol)
        if key not in self._connected:
            self._connected[key] = connect_one(
                self._settings, spec, self.learnt, base_url=base_url, protocol=protocol
            )
        return self._connected[key]

    def _not_offered(self, name: str) -> str:
        offered = ", ".join((*self.assistants, *self._names)) or "none"
        return f"There is no model {name[:80]!r}. Offered are: {offered}."

    async def close(self) -> None:
        """Close what was connected here, whatever one of them says; the one that was given is the ports'."""
        own = [self.usual] if self.usual is not None and self.usual is not self._given else []
        async with AsyncExitStack() as stack:
            for model in (*own, *self._connected.values()):
                stack.push_async_callback(model.close)


def _offered(settings: Settings, usual: Llm | None) -> tuple[str, ...]:
    """`provider:name` of all that may be chosen, the usual one first.

    Raises:
        BadInput: a name is not `provider:name`, or its provider is unknown.
    """
    wanted = (assistant.model for assistant in settings.assistants.values())
    others = (*settings.model_fallbacks, *settings.models_offered, *(name for name in wanted if name))
    for spec in others:
        split_spec(spec)
    return tuple(dict.fromkeys((*(() if usual is None else (usual.name,)), *others)))


_GROUPS: Final = frozenset({"model", "assistants"})
_CONNECTION: Final = frozenset(
    {
        "model",
        "model_fallbacks",
        "model_context_tokens",
        "model_attempts",
        "models_that_see",
        "models_routed",
        "azure_api_version",
    }
)


def _concerns_connections(name: str) -> bool:
    """Whether a model is connected otherwise if this setting is another one."""
    return SETTINGS[name].group == "model" and (
        name in _CONNECTION or name.endswith(("_api_key", "_base_url", "_timeout_s"))
    )
