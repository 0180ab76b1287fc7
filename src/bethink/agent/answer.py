"""One answer of the model: its text as it streams, the memories that it cites (`[m1]`), and what it cost.

`agent/context` and the memory tools give each memory a short label. The marks are taken out of the text
while it streams, so that no door shows one and no later turn reads labels that meant other memories;
the place of each is kept beside the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.errors import InvalidResponse
from bethink.events import Mark, MemoryUsed, ReasoningDelta, StopReason, TextDelta, TextSoFar, Usage, Warned
from bethink.llm import Delta, Finish, ToolCallDelta
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bethink.events import Event


_LABEL: Final = re.compile(r"[mM]\d{1,4}")
_MARK: Final = re.compile(
    r"(?P<lead>(?<! )[ ]*+)\[\s*+(?P<labels>m\d{1,4}(?:\s*[,;]\s*m\d{1,4})*)\s*\]", re.IGNORECASE
)
_PERHAPS: Final = re.compile(r"[ ]{0,8}(?:\[[mM\d,;\s]{0,40})?\Z")
"""The end of a piece of text that may be the beginning of a mark, with the space before it."""
_LABELLED: Final = re.compile(r" \[m\d{1,4}\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Labels:
    """The short names of memories in one run: `m1`, `m2`, … in the order in which they are given."""

    _by_id: dict[str, str] = field(default_factory=dict[str, str])
    _by_label: dict[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        """Whether any memory was given."""
        return bool(self._by_id)

    def of(self, id: str) -> str:
        """The memory's label, the same each time."""
        if id not in self._by_id:
            label = f"m{len(self._by_id) + 1}"
            self._by_id[id], self._by_label[label] = label, id
        return self._by_id[id]

    def give(self, ids: Iterable[str]) -> None:
        """Label memories that are about to be given."""
        for id in ids:
            self.of(id)

    def named(self, label: str) -> str | None:
        """The id of the memory with this label."""
        return self._by_label.get(label.lower())


@dataclass(slots=True)
class Citations:
    """The marks of one answer. `said` is the list that its text is gathered in, without them."""

    labels: Labels
    said: Sequence[str]
    marks: list[Mark] = field(default_factory=list[Mark])
    held: str = ""

    def take(self, text: str) -> str:
        """What of the answer can be shown after one more piece of it.

        A piece without `[` and without a space at its end needs no asking while nothing is `held`.
        """
        text, self.held = self.held + text, ""
        shown: list[str] = []
        place = 0
        for found in _MARK.finditer(text):
            if self._cite(found, [*self.said, *shown, text[place : found.start()]]):
                shown.append(text[place : found.start()])
                place = found.end()
        perhaps = _PERHAPS.search(text, place)
        end = perhaps.start() if perhaps else len(text)
        self.held = text[end:]
        return "".join((*shown, text[place:end]))

    def end(self) -> str:
        """What was held back, once the answer is complete; a mark that was cut off stays away."""
        held, self.held = self.held, ""
        return held.partition("[")[0] if "m" in held.lower() else held

    def _cite(self, found: re.Match[str], before: Sequence[str]) -> bool:
        """Whether this is a mark; one that names nothing is taken out too, and leads nowhere."""
        text = "".join(before)
        line = text[text.rfind("\n") + 1 :]
        if text.count("```") % 2 or line.count("`") % 2:
            return False
        ids = [id for label in _LABEL.findall(found["labels"]) if (id := self.labels.named(label))]
        is_index = not ids and text[-1:].isalnum() and not found["lead"]
        self.marks += [Mark(id=id, after=len(text)) for id in ids]
        return not is_index


def unlabelled(message: Message) -> Message:
    """A message of an earlier run, without the labels that meant something only there."""
    if not isinstance(message, ToolMessage) or " [m" not in message.content:
        return message
    return msgspec.structs.replace(message, content=_LABELLED.sub("", message.content))


_MILLION = 1_000_000


@dataclass(slots=True)
class ModelAnswer:
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
