"""What a model's deltas add up to, and what a run has spent. Used by `agent/loop` alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bethink.agent.citations import Citations, Labels
from bethink.agent.context import tokens_of
from bethink.errors import InvalidResponse
from bethink.events import MemoryUsed, ReasoningDelta, StopReason, TextDelta, TextSoFar, Usage, Warned
from bethink.llm import Delta, Finish, ToolCallDelta
from bethink.messages import AssistantMessage, Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.events import Event

_MILLION = 1_000_000


@dataclass(slots=True)
class Answer:
    """One answer of the model, growing delta by delta; `labels` are those of the run's memories."""

    job: str
    prices: Mapping[str, tuple[float, float]]
    labels: Labels = field(default_factory=Labels)
    _texts: list[str] = field(default_factory=list[str])
    _reasonings: list[str] = field(default_factory=list[str])
    _calls: dict[int, list[str]] = field(default_factory=dict[int, "list[str]"])
    _extras: dict[int, dict[str, Any]] = field(default_factory=dict[int, "dict[str, Any]"])
    _finish: Finish | None = None
    _citations: Citations | None = None

    def __post_init__(self) -> None:
        if self.labels:
            self._citations = Citations(self.labels, self._texts)

    @property
    def begun(self) -> bool:
        """Whether anything came."""
        return bool(self._texts or self._reasonings or self._calls)

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._texts)

    def take(self, delta: Delta) -> Event | None:
        """Add a delta; the event that a reader sees of it, if any."""
        match delta:
            case TextDelta():
                text, cites = delta.text, self._citations
                # Asked for every token: only what may be a mark, or follows one, goes the longer way.
                if cites is not None and (cites.held or "[" in text or text[-1:] == " "):
                    return self._said(cites.take(text))
                self._texts.append(text)
                return delta
            case ReasoningDelta():
                self._reasonings.append(delta.text)
                return delta
            case TextSoFar():
                self._texts[:], self._reasonings[:] = [], [delta.reasoning]
                if self._citations is not None:
                    self._citations = Citations(self.labels, self._texts)
                said = self._said_whole(delta.text)
                return TextSoFar(text=said, reasoning=delta.reasoning)
            case Warned():
                return delta
            case ToolCallDelta():
                call = self._calls.setdefault(delta.index, ["", "", ""])
                call[0] = call[0] or delta.id
                call[1] = call[1] or delta.name
                call[2] += delta.arguments
                if delta.extra:
                    self._extras[delta.index] = delta.extra
            case Finish():
                self._finish = delta
                return self._said(self._citations.end() if self._citations else "")
        return None

    def _said(self, text: str) -> TextDelta | None:
        if not text:
            return None
        self._texts.append(text)
        return TextDelta(text=text)

    def _said_whole(self, text: str) -> str:
        if self._citations is None:
            self._texts.append(text)
            return text
        said = self._citations.take(text)
        self._texts.append(said)
        return said

    def message(self) -> AssistantMessage:
        """The answer as a message.

        Raises:
            InvalidResponse: it has no end.
        """
        if self._finish is None:
            message = "The model's answer broke off before its end. Try again."
            raise InvalidResponse(message)
        calls = tuple(
            ToolCall(id, name, arguments, self._extras.get(index, {}))
            for index, (id, name, arguments) in sorted(self._calls.items())
        )
        return AssistantMessage("".join(self._texts), calls, "".join(self._reasonings), self._finish.origin)

    def used_memories(self) -> list[MemoryUsed]:
        """The memories that it cites, as an event; none where it cites nothing."""
        marks = tuple(self._citations.marks) if self._citations else ()
        return [MemoryUsed(ids=tuple(dict.fromkeys(mark.id for mark in marks)), marks=marks)] if marks else []

    @property
    def stop_reason(self) -> StopReason:
        """Why the run ends with this answer."""
        match self._finish:
            case Finish(reason="length"):
                return "length"
            case Finish(reason="content_filter"):
                return "content_filter"
            case _:
                return "answered"

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and arguments of the calls that it asks for."""
        return [(name, arguments) for _, name, arguments in self._calls.values()]

    def usage(self, asked: Sequence[Message]) -> Usage:
        """What it cost; estimated from `asked` and the answer where the provider did not count."""
        finish = self._finish
        model = finish.model if finish else ""
        known = finish is not None and finish.input_tokens is not None and finish.output_tokens is not None
        if finish is not None and finish.input_tokens is not None and finish.output_tokens is not None:
            inputs, outputs = finish.input_tokens, finish.output_tokens
        else:
            inputs = sum(tokens_of(message) for message in asked)
            outputs = tokens_of(AssistantMessage("".join(self._texts))) + sum(
                len(call[2]) // 4 for call in self._calls.values()
            )
        cost = finish.cost_usd if finish else None
        if cost is None and (price := self.prices.get(model)):
            cost = (inputs * price[0] + outputs * price[1]) / _MILLION
        return Usage(
            job=self.job,
            model=model,
            input_tokens=inputs,
            output_tokens=outputs,
            cost_usd=cost,
            estimated=not known,
        )
