"""Models that already run on this machine, found by asking: for whoever has set none.

`app` makes a `Probing`; the memory agent takes what it finds, `doctor`, `/health` and the settings tell it.
Nothing but this machine is asked: of OpenRouter it counts that its key is set.
Source: spec 003, "Model Selection Logic": vLLM, then MLX, then OpenRouter, then an error.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from bethink.llm.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODEL_MISSING: Final = (
    "No model is set, and none was found on this machine. Start one (`vllm serve driaforall/mem-agent`,"
    " LM Studio's server, `mlx_lm.server`), set OPENROUTER_API_KEY, or name one: BETHINK_MODEL=provider:name."
)
TRAINED: Final = "mem-agent"
"""Of several models that one server offers, the one with this in its name is taken."""
OPENROUTER_MODEL: Final = "openrouter/auto"
"""OpenRouter's own choice among its models."""
_ANSWER_S: Final = 0.5
"""A server on this machine answers in milliseconds, or is busy loading."""
_KNOWN_S: Final = 10
_MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program listens by default; `provider` says how it is spoken to."""

    label: str
    provider: str
    base_url: str


PLACES: Final = (
    Place("vLLM", "vllm", PROVIDERS["vllm"].base_url or ""),
    Place("MLX", "mlx", PROVIDERS["mlx"].base_url or ""),
    Place("LM Studio", "openai", "http://127.0.0.1:1234/v1"),
)
"""In the order in which they are preferred."""


@dataclass(frozen=True, slots=True)
class Found:
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


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


@dataclass(slots=True)
class Probing:
    """Looks for a model. What was found, or that there is none, is known for ten seconds."""

    has_openrouter_key: bool = False
    places: Sequence[Place] = PLACES
    now: Callable[[], float] = monotonic
    found: Found | None = None
    _asked: float | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def find(self, *, anew: bool = False) -> Found | None:
        """The first that answers, in the order of `places`; `anew` asks although it was asked just now."""
        async with self._asking:
            if not anew and self._asked is not None and self.now() - self._asked < _KNOWN_S:
                return self.found
            answers = await asyncio.gather(*(_ask(place) for place in self.places))
            self.found = next((found for found in answers if found), None)
            if self.found is None and self.has_openrouter_key:
                self.found = Found("OpenRouter", f"openrouter:{OPENROUTER_MODEL}")
            self._asked = self.now()
            return self.found

    @property
    def told(self) -> str:
        """What was found last, in words; nothing is asked."""
        if self._asked is None:
            return "No model is set; one on this machine is looked for when it is needed."
        return f"Found {self.found.told}." if self.found else MODEL_MISSING


async def _ask(place: Place) -> Found | None:
    """The model that a program offers; None where none answers there in time."""
    if not await _listens(place):
        return None
    import aiohttp

    try:
        async with (
            asyncio.timeout(_ANSWER_S),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(f"{place.base_url}/models", allow_redirects=False) as response,
        ):
            body = b""
            while len(body) < _MOST_BYTES and (part := await response.content.readany()):
                body += part
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
    try:
        names = [model.id for model in msgspec.json.decode(body, type=_Models).data if model.id.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not names:
        return None
    best = next((name for name in names if TRAINED in name.lower()), names[0])
    return Found(place.label, f"{place.provider}:{best}", place.base_url)


async def _listens(place: Place) -> bool:
    """Whether anybody is there at all: most often nobody is, and no HTTP client need be loaded."""
    parts = urlsplit(place.base_url)
    try:
        async with asyncio.timeout(_ANSWER_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
