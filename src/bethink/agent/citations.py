"""Marks in an answer that name the memories it rests on: `[m1]`.

`agent/context` gives the model each memory under a short label, and so do the
memory tools; `agent/answer` takes the marks out of the text while it streams.
So no door ever shows one, a later turn does not read labels that meant other
memories, and where each mark stood is kept beside the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.events import Mark
from bethink.messages import Message, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
