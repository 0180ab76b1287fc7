"""What a model's server takes, learnt from what it refuses. `openai_wire` learns, `/health` tells.

`REFUSALS` is the table: a server's words, and what is done without from then on. Each row names its source.
What was learnt is kept in a small file, so that a restart need not run into the same refusals, and
forgotten after a week: servers are updated.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "models.json"
"""In the data directory."""
_log = log("llm")

REASONING: Final = "reasoning_content"
SIGNATURE: Final = "thought_signature"
EXTRA_CONTENT: Final = "extra_content"
"""Gemini's field of a call, in which its signature stands."""
_KEPT_S: Final = 7 * 86_400
_PARTS: Final = frozenset(
    (
        *("model", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "tool_calls"),
        *("temperature", "top_p", "stop", "seed", "reasoning_effort", "parallel_tool_calls"),
        *("max_tokens", "max_completion_tokens", "response_format"),
    )
)
"""What a request is made of; whatever else it holds are fields of earlier answers."""
_NO: Final = (
    r"support|unrecogni[sz]ed|unknown|unexpected|not (?:permitted|allowed|accepted)|extra input|deprecated"
)
_ANY_FIELD: Final = re.compile(
    r"extra input|additional propert|unrecogni[sz]ed|unknown (?:field|key|name)", re.IGNORECASE
)


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which parts of a request a model takes.

    `refused` are parameters, and fields of earlier answers, that are left out; `missed` are fields that
    are made up for answers of other models, since the server insists on them.
    """

    tools: bool = True
    stream: bool = True
    system: bool = True
    max_tokens: str = "max_tokens"
    """The limit's name: OpenAI's newer models take `max_completion_tokens` only."""
    refused: frozenset[str] = frozenset()
    missed: frozenset[str] = frozenset()
    unopened: bool = False
    """Its answers begin with thoughts whose beginning is not marked (`markup`)."""

    def takes(self, name: str) -> bool:
        """Whether a parameter or field may be sent."""
        return name not in self.refused

    def without(self, *names: str) -> Capabilities:
        """The same, these left out."""
        return msgspec.structs.replace(self, refused=self.refused | {*names})

    def making_up(self, name: str) -> Capabilities:
        """The same, with this field made up where it is missing."""
        return msgspec.structs.replace(self, missed=self.missed | {name})

    @property
    def lacks(self) -> list[str]:
        """What a person would miss, in words."""
        parts = ("tools", self.tools), ("streaming", self.stream)
        return [name for name, has in parts if not has] + sorted(self.refused - {"stream_options"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A server's `words` about `part` of a request, and what to do then.

    It is not `lasting` where not the server is at fault, but what a conversation holds.
    """

    part: str
    words: re.Pattern[str]
    change: Callable[[Capabilities], Capabilities]
    lasting: bool = True


def _row(
    part: str, words: str, change: Callable[[Capabilities], Capabilities], *, lasting: bool = True
) -> Refusal:
    return Refusal(part, re.compile(words, re.IGNORECASE | re.DOTALL), change, lasting)


def _parameter(name: str) -> Refusal:
    return _row(name, rf"\b{name}\b.*(?:{_NO})|(?:{_NO}).*\b{name}\b", lambda known: known.without(name))


def _setting(**changes: bool | str) -> Callable[[Capabilities], Capabilities]:
    return lambda known: msgspec.structs.replace(known, **changes)


REFUSALS: Final[tuple[Refusal, ...]] = (
    # DeepSeek, Moonshot: the reasoning of turns with tools has to come back, also where there was none.
    _row(
        "messages",
        rf"{REASONING}.{{0,60}}(?:must be passed|missing|required)|missing.{{0,20}}{REASONING}",
        lambda known: known.making_up(REASONING),
    ),
    # Gemini: calls of other models have no signature, and those of another key or route are none.
    _row(
        EXTRA_CONTENT,
        r"(?:invalid|corrupt\w*).{0,20}thought.?signature"
        r"|thought.?signature.{0,40}(?:invalid|not valid|corrupt)",
        lambda known: known.without(EXTRA_CONTENT).making_up(SIGNATURE),
        lasting=False,
    ),
    _row(
        "tool_calls",
        r"missing.{0,12}thought.?signature|thought.?signature.{0,40}(?:missing|required)",
        lambda known: known.making_up(SIGNATURE),
    ),
    _row("stream_options", r"stream_options|include_usage", lambda known: known.without("stream_options")),
    *map(_parameter, ("temperature", "top_p", "stop", "seed", "reasoning_effort", "parallel_tool_calls")),
    _row("max_tokens", r"max_completion_tokens", _setting(max_tokens="max_completion_tokens")),
    _row("max_completion_tokens", r"max_completion_tokens", _setting(max_tokens="max_tokens")),
    # OpenAI, of organizations that are not verified; servers that do not stream at all.
    _row(
        "stream",
        r"verified to stream|\bstream(?:ing)?\b.{0,30}(?:not|n't) (?:be )?(?:support|allow|enabl)"
        r"|not support stream",
        _setting(stream=False),
    ),
    # Chat templates of Gemma and Mistral, OpenAI's o1-mini, Gemini's endpoint for Gemma.
    _row(
        "system",
        r"system (?:role|message|prompt|instruction)s?\b.{0,30}(?:not|n't) (?:be )?(?:support|enabl|allow)"
        r"|not support\w* (?:the )?['\"]?(?:system|developer)\b|developer instruction is not enabled"
        r"|only user(?:,| and) assistant|roles must alternate",
        _setting(system=False),
    ),
    # Ollama; vLLM and llama.cpp without a parser; OpenRouter; Gemini's endpoint for Gemma.
    _row(
        "tools",
        r"support\w* tool use|--enable-auto-tool-choice|requires? --jinja"
        r"|(?:not|n't) support\w*.{0,30}(?:\btools?\b|function.?call|tool.?call)"
        r"|(?:\btools?\b|\btool.?(?:use|call\w*)|function.?call\w*)\W.{0,40}"
        r"(?:not|n't) (?:be )?(?:support|enabl|available|allowed|permitted)",
        _setting(tools=False),
    ),
)
"""From the most particular words to the most general. A row counts only where the request had that part.

Sources: the providers' documentation, and their error messages as users report them.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What to try next: a request without what was refused, and what of that to remember."""

    capabilities: Capabilities
    lasting: Capabilities


def step_down(complaint: str, now: Step, sent: Collection[str]) -> Step | None:
    """The next thing to try after a refusal in these words; None if they are about nothing of the kind.

    `sent` are the parts of the request, and the fields of the earlier answers in it.
    """
    for row in REFUSALS:
        if row.part in sent and row.words.search(complaint):
            changed = row.change(now.capabilities)
            if changed != now.capabilities:
                return Step(changed, row.change(now.lasting) if row.lasting else now.lasting)
    extra = [name for name in sent if name not in _PARTS]
    named = [name for name in extra if re.search(rf"\b{re.escape(name)}\b", complaint)]
    if not named and _ANY_FIELD.search(complaint):
        named = extra
    if not named:
        return None
    return Step(now.capabilities.without(*named), now.lasting.without(*named))


class _Learnt(msgspec.Struct, frozen=True):
    """What is known of one model since `at`, in seconds since 1970."""

    at: float
    capabilities: Capabilities


@dataclass(slots=True)
class Learnt:
    """What is known of all models, by `provider:name host`; kept in the file at `path`, if there is one."""

    path: Path | None = None
    now: Callable[[], float] = time.time
    _known: dict[str, _Learnt] = field(default_factory=dict[str, _Learnt], repr=False)
    _is_read: bool = False

    async def of(self, model: str, usual: Capabilities) -> Capabilities:
        """What a model takes; the `usual` where nothing else was learnt within a week."""
        if not self._is_read:
            await self.read()
        known = self._known.get(model)
        if known is None or not 0 <= self.now() - known.at < _KEPT_S:
            return usual
        return known.capabilities

    async def read(self) -> None:
        """Read what was kept, once."""
        if self.path is not None:
            read = await anyio.to_thread.run_sync(_read, self.path)
            self._known = read | self._known
        self._is_read = True

    async def keep(self, model: str, capabilities: Capabilities) -> None:
        """Remember what a model takes. A file that cannot be written costs the same refusal once more."""
        self._known[model] = _Learnt(self.now(), capabilities)
        if self.path is not None:
            await anyio.to_thread.run_sync(_write, self.path, dict(self._known))

    def told(self, name: str) -> str:
        """What a model was found not to take, as a sentence about `provider:name`; empty if nothing."""
        lacks = [
            lack
            for model, known in self._known.items()
            if model.partition(" ")[0] == name
            for lack in known.capabilities.lacks
        ]
        if not lacks:
            return ""
        return f"{name} refuses, and is asked without: {', '.join(dict.fromkeys(lacks))}."


def _read(path: Path) -> dict[str, _Learnt]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, _Learnt])
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return {}


def _write(path: Path, known: dict[str, _Learnt]) -> None:
    """Write beside and rename: other processes read it too."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        # What another process learnt meanwhile stays.
        part.write_bytes(msgspec.json.encode(_read(path) | known))
        part.replace(path)
    except OSError as error:
        _log.warning("what was learnt of models could not be kept: %s", error)
