"""The closed union of what happens in a run: the contract of every door, the UI and the tests.

A run yields events in order and ends with exactly one `RunDone`. A reader that
meets a kind it does not know shows it and goes on. An event's place in its run
is `sequence.characters`: each event has a sequence of its own, except that text
deltas which follow one another share one and count its characters. A reader
names the last place it saw and gets the rest.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bethink.messages import Attachment
from bethink.questions import Action, Mode, QuestionField

SCHEMA = 1
"""Version of this union's shapes; greater after a change that an old reader cannot skip."""

StopReason = Literal[
    "answered",
    "awaiting_approval",
    "client_tools",
    "cancelled",
    "failed",
    "interrupted",
    "max_steps",
    "max_tool_calls",
    "max_tokens",
    "max_cost",
    "max_seconds",
    "repeated_calls",
    "length",
    "content_filter",
]
"""Why a run ended. `length` and `content_filter` are the model's own ends;
`interrupted` is said of a run whose process died, `client_tools` of one that
asked for tools that its client makes."""


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    pass


class RunStarted(_Event, frozen=True, tag="run_started"):
    """The run exists and the owner's message is stored. `at` is microseconds UTC."""

    run: str
    conversation: str
    message: str
    model: str | None
    at: int
    schema: int = SCHEMA


class TextDelta(_Event, frozen=True, tag="text_delta"):
    """More of the answer."""

    text: str


class ReasoningDelta(_Event, frozen=True, tag="reasoning_delta"):
    """More of the model's reasoning, if it is shown."""

    text: str


class TextSoFar(_Event, frozen=True, tag="text_so_far"):
    """The whole text of the present answer part: replaces what a reader has of it.

    Sent first to a reader whose last place cannot be continued from.
    """

    text: str
    reasoning: str = ""


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """One memory that was given to the model. Times are microseconds UTC.

    `score` is 0..1: how well it answers the message, 0 for one that is always
    given. `speaker` is who said it, where it is a turn of a conversation;
    `valid_until` says that it is past, `doubt` why it may not hold. `title` says in words
    where a passage stands. What is `untrusted` is not the owner's own word. What is `near` stands near the
    question, and nothing that is remembered is known to answer it. What is `pasted` holds a text that the
    owner pasted and did not write.
    """

    id: str
    kind: str
    text: str
    score: float
    at: int
    source: str | None = None
    title: str | None = None
    speaker: str | None = None
    valid_until: int | None = None
    doubt: str | None = None
    untrusted: bool = False
    near: bool = False
    pasted: bool = False


class MemoryRecalled(_Event, frozen=True, tag="memory_recalled"):
    """Memories given to the model as data before the owner's last message."""

    items: tuple[Recalled, ...]


class ToolRequested(_Event, frozen=True, tag="tool_requested"):
    """The model asked for a call. `label` says it in plain words, `arguments` is JSON text."""

    call: str
    name: str
    arguments: str
    label: str


class ApprovalNeeded(_Event, frozen=True, tag="approval_needed"):
    """The call waits for the owner's decision; `reason` says why it is asked.

    A `final` one cannot be undone, so it asks each time.
    """

    call: str
    name: str
    arguments: str
    label: str
    reason: str
    final: bool = False


class ApprovalDecided(_Event, frozen=True, tag="approval_decided"):
    """The owner decided about a waiting call; `arguments` is what will be run."""

    call: str
    decision: Literal["approve", "reject", "edit"]
    arguments: str


class QuestionAsked(_Event, frozen=True, tag="question_asked"):
    """A running call of `source` asks its owner; it goes on with the answer, or without at `until` (µs UTC).

    `form` wants the values of `fields`; `url` leads to a page at `host`, which nobody opens but the owner;
    `model` wants leave to have the owner's model answer what `text` shows. All of it are the source's words.
    """

    call: str
    question: str
    source: str
    mode: Mode
    text: str
    fields: tuple[QuestionField, ...] = ()
    url: str = ""
    host: str = ""
    until: int = 0


class QuestionAnswered(_Event, frozen=True, tag="question_answered"):
    """A question was answered, or nobody did so in time (`cancel`). What was answered is not told."""

    call: str
    question: str
    outcome: Action


class ToolProgress(_Event, frozen=True, tag="tool_progress"):
    """A running call reports; `fraction` is 0..1 where it is known."""

    call: str
    text: str
    fraction: float | None = None


class ToolFinished(_Event, frozen=True, tag="tool_finished"):
    """The call ended. `text` is what the model reads; `error` is a code, None on success.

    `memories` are the ids of the facts that the text quotes. What is `untrusted`
    came from outside: it is not the owner's own. `redacted` says how many personal
    numbers of each kind were masked.
    """

    call: str
    name: str
    text: str
    duration_ms: float
    error: str | None = None
    attachments: tuple[Attachment, ...] = ()
    memories: tuple[str, ...] = ()
    untrusted: bool = False
    redacted: dict[str, int] = msgspec.field(default_factory=dict)


class MemoryChanged(_Event, frozen=True, tag="memory_changed"):
    """A fact was changed; `undo` is the token that reverts it, None if that is impossible."""

    change: Literal[
        "added", "merged", "superseded", "corrected", "suggested", "retracted", "restored", "forgotten"
    ]
    ids: tuple[str, ...]
    text: str
    undo: str | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer leans on the memory `id`: behind `after` characters of its text."""

    id: str
    after: int


class MemoryUsed(_Event, frozen=True, tag="memory_used"):
    """Memories that the answer names as its sources, each once, in the order of their first mark.

    `marks` are places in the run's last message. What was given and not named may have helped too.
    """

    ids: tuple[str, ...]
    marks: tuple[Mark, ...]


ClaimKind = Literal["saved", "changed", "deleted", "scheduled", "sent"]


class ClaimUnbacked(_Event, frozen=True, tag="claim_unbacked"):
    """The answer's sentence `text` says that something was done, and no tool call of this run did it."""

    text: str
    claim: ClaimKind


class Usage(_Event, frozen=True, tag="usage"):
    """What one request to a model cost. `estimated` when the provider did not count."""

    job: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    estimated: bool = False


class ContextFilled(_Event, frozen=True, tag="context_filled"):
    """What fills the model's window at the run's first request, in tokens, about; `window` is its size.

    `history` is what was said, this run's message too; `summary` stands for what was said before that.
    `untrusted` says that words from outside stand in it.
    """

    system: int
    tools: int
    memory: int
    summary: int
    history: int
    window: int
    untrusted: bool = False


class Warned(_Event, frozen=True, tag="warning"):
    """A part is degraded; the run continues."""

    part: str
    message: str


class MessageSaved(_Event, frozen=True, tag="message_saved"):
    """A message of this run is complete and has an id.

    It is stored before the run changes anything, and within a second or so.
    """

    id: str
    role: Literal["assistant", "tool"]


class RunFailed(_Event, frozen=True, tag="run_failed"):
    """Something ended the run early; `message` says what happened and what to do."""

    code: str
    message: str


class RunDone(_Event, frozen=True, tag="run_done"):
    """The end of the run. `message` is the id of its last assistant message, if there is one."""

    reason: StopReason
    message: str | None = None


Event = (
    RunStarted
    | TextDelta
    | ReasoningDelta
    | TextSoFar
    | MemoryRecalled
    | ToolRequested
    | ApprovalNeeded
    | ApprovalDecided
    | QuestionAsked
    | QuestionAnswered
    | ToolProgress
    | ToolFinished
    | MemoryChanged
    | MemoryUsed
    | ClaimUnbacked
    | Usage
    | ContextFilled
    | Warned
    | MessageSaved
    | RunFailed
    | RunDone
)


PLACE_DIGITS = 18
"""More than a run can reach, and still an integer of 64 bits."""


class Place(msgspec.Struct, frozen=True, order=True):
    """Where a reader is in a run: `sequence.characters`."""

    sequence: int
    characters: int = 0

    def __str__(self) -> str:
        return f"{self.sequence}.{self.characters}"

    @classmethod
    def parse(cls, text: str) -> Place | None:
        """The place that a reader names, or None if it is none."""
        sequence, _, characters = text.partition(".")
        if max(len(sequence), len(characters)) > PLACE_DIGITS:
            return None
        if not (sequence.isdecimal() and (characters.isdecimal() or not characters)):
            return None
        return cls(int(sequence), int(characters or 0))
