"""A run's events in the terminal: as words, or as a line of JSON each. `chat` reads runs through it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from bethink.agent.request import BOUND_REACHED
from bethink.cli.exits import Exit, exit_of_code
from bethink.cli.terminal import CHANGES, Screen, one_line, printable
from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimUnbacked,
    ContextFilled,
    MemoryChanged,
    MemoryRecalled,
    MemoryUsed,
    MessageSaved,
    QuestionAnswered,
    QuestionAsked,
    ReasoningDelta,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    Usage,
    Warned,
)

if TYPE_CHECKING:
    from bethink.agent.records import NumberedEvent
    from bethink.events import ClaimKind, Place, Recalled, StopReason

_MS_PER_S = 1000
_SHOWN_MEMORIES = 3
_SHOWN_TAIL = 60
PAGE = "page:"
"""How the undo tokens of the vault's pages begin."""

STOPPED: dict[StopReason, str] = {
    "cancelled": "Stopped. The text so far is kept.",
    "interrupted": "The answer was interrupted: the program that wrote it ended. The text so far is kept.",
    **BOUND_REACHED,
    "length": "The answer was cut at the model's output limit.",
    "content_filter": "The model's provider filtered the answer.",
}
"""What a person reads about each end that is not simply the answer's."""

_EXITS: dict[StopReason, Exit] = {
    "answered": Exit.OK,
    "length": Exit.OK,
    "cancelled": Exit.INTERRUPTED,
}

_CLAIMS: dict[ClaimKind, str] = {
    "saved": "nothing was saved in this answer",
    "changed": "nothing was changed in this answer",
    "deleted": "nothing was deleted in this answer",
    "scheduled": "nothing was scheduled in this answer",
    "sent": "nothing was sent in this answer",
}


@dataclass(slots=True)
class RunOutcome:
    """How a run ended, or paused; `place` is where a reader goes on."""

    reason: StopReason = "interrupted"
    code: str | None = None
    place: Place | None = None

    @property
    def exit(self) -> Exit:
        """The exit code that fits."""
        if self.code is not None:
            return exit_of_code(self.code)
        return _EXITS.get(self.reason, Exit.FAILED)

    def take(self, numbered: NumberedEvent) -> None:
        """See one event."""
        self.place = numbered.place
        match numbered.event:
            case RunFailed(code=code):
                self.code = code
            case RunDone(reason=reason):
                self.reason = reason
            case _:
                pass


@dataclass(slots=True)
class JsonLines:
    """Each event as one JSON object a line, with its `place`: some events have an `id` of their own."""

    screen: Screen

    def show(self, numbered: NumberedEvent) -> None:
        """Print the event."""
        event = msgspec.to_builtins(numbered.event)
        self.screen.line(msgspec.json.encode({"place": str(numbered.place), **event}).decode())


@dataclass(slots=True)
class Words:
    """The answer on standard output; what was done for it, one quiet line each, beside it.

    One shows all runs of a conversation: a warning that comes again is not repeated.
    """

    screen: Screen
    is_verbose: bool = False
    _answer: str = ""
    _line: str = ""
    """The end of the answer that is no whole line yet."""
    _reasoning: str = ""
    _warnings: set[str] = field(default_factory=set[str])
    _given: dict[str, Recalled] = field(default_factory=dict[str, "Recalled"])
    _running: dict[str, ToolRequested] = field(default_factory=dict[str, ToolRequested])
    _waiting: dict[str, str] = field(default_factory=dict[str, str])
    _markdown: MarkdownLines = field(init=False)

    def __post_init__(self) -> None:
        self._markdown = MarkdownLines(self.screen.styled)

    def show(self, numbered: NumberedEvent) -> None:
        """Show one event."""
        event = numbered.event
        if self._reasoning and not isinstance(event, ReasoningDelta):
            self.screen.note(self._reasoning)
            self._reasoning = ""
        match event:
            case TextDelta() | TextSoFar() | MessageSaved():
                self._show_answer(event)
            case ToolRequested() | ToolProgress() | ToolFinished() | ApprovalNeeded() | ApprovalDecided():
                self._show_call(event)
            case QuestionAsked() | QuestionAnswered():
                self._show_question(event)
            case MemoryRecalled() | MemoryChanged() | MemoryUsed():
                self._show_memory(event)
            case ClaimUnbacked():
                self.screen.note(f"not done: “{one_line(event.text)}”: {_CLAIMS[event.claim]}", "yellow")
            case Warned() | RunFailed() | RunDone():
                self._show_end(event)
            case RunStarted() | ReasoningDelta() | Usage() | ContextFilled():
                if self.is_verbose:
                    self._show_detail(event)
            case _:
                assert_never(event)

    def _show_answer(self, event: TextDelta | TextSoFar | MessageSaved) -> None:
        match event:
            case TextDelta(text=text):
                self._say(text)
            case TextSoFar(text=text) if text.startswith(self._answer):
                # It replaces what was shown: only its new end is missing.
                self._say(text[len(self._answer) :])
            case TextSoFar(text=text):
                self._end_part()
                self._say(text)
            case MessageSaved():
                self._end_part()

    def _say(self, text: str) -> None:
        self._answer += text
        if not self.screen.renders:
            self.screen.text(text)
            return
        *lines, self._line = (self._line + printable(text)).split("\n")
        for line in lines:
            self.screen.rendered(self._markdown.line(line))
        if self._line:
            # It is shown as it comes, and for good once it is whole.
            self.screen.status(self._line[-_SHOWN_TAIL:])

    def _end_part(self) -> None:
        self.screen.status("")
        if self._line:
            self.screen.rendered(self._markdown.line(self._line))
        self._line, self._markdown = "", MarkdownLines(self.screen.styled)
        self.screen.end_line()
        self._answer = ""

    def _show_end(self, event: Warned | RunFailed | RunDone) -> None:
        match event:
            case Warned(message=message):
                if message not in self._warnings:
                    self.screen.note(f"warning: {message}", "yellow")
                self._warnings.add(message)
            case RunFailed(message=message):
                self.screen.note(f"bethink: {message}", "red")
            case RunDone(reason=reason):
                self._running.clear()
                self._end_part()
                if reason in STOPPED:
                    self.screen.note(STOPPED[reason], "yellow")

    def _show_call(
        self, event: ToolRequested | ToolProgress | ToolFinished | ApprovalNeeded | ApprovalDecided
    ) -> None:
        match event:
            case ToolRequested():
                self._running[event.call] = event
                if self.is_verbose:
                    self.screen.note(f"  {event.name} {event.arguments}")
                self.screen.status(self._labels())
            case ToolProgress(text=text):
                self.screen.status(f"{self._labels()}: {text}")
            case ToolFinished():
                self._show_result(event)
            case ApprovalNeeded():
                self._waiting[event.call] = event.label
                self._running.pop(event.call, None)
            case ApprovalDecided():
                self._running.pop(event.call, None)

    def _show_question(self, event: QuestionAsked | QuestionAnswered) -> None:
        self.screen.status("")
        match event:
            case QuestionAsked():
                self.screen.note(f"{one_line(event.source)} asks: {printable(event.text)}", "bold")
                if event.url:
                    self.screen.note(f"  a page at {event.host}: {one_line(event.url, 2_000)}")
            case QuestionAnswered(outcome="cancel"):
                self.screen.note("Not answered.", "yellow")
            case QuestionAnswered():
                pass

    def _labels(self) -> str:
        return "… " + ", ".join(request.label for request in self._running.values())

    def _show_result(self, finished: ToolFinished) -> None:
        request = self._running.pop(finished.call, None)
        waited = self._waiting.pop(finished.call, finished.name)
        label = one_line(request.label if request else waited)
        took = duration(finished.duration_ms)
        if finished.error is None:
            self.screen.note(f"✓ {label} ({took})")
        else:
            self.screen.note(f"✗ {label} ({took}): {one_line(finished.text)}", "red")
        if self.is_verbose:
            for line in printable(finished.text).splitlines():
                self.screen.note(f"  {line}")
        for file in finished.attachments:
            self.screen.note(f"  {one_line(file.name)} ({one_line(file.media_type)}): {file.url}")
        if self._running:
            self.screen.status(self._labels())

    def _show_memory(self, event: MemoryRecalled | MemoryChanged | MemoryUsed) -> None:
        match event:
            case MemoryChanged():
                self.screen.note(memory_updated(event.change, event.text, ids=event.ids, undo=event.undo))
            case MemoryRecalled(items=items):
                self._given |= {item.id: item for item in items}
                self._show_texts("memory recalled", [item.id for item in items])
            case MemoryUsed(ids=ids):
                self._show_texts("memory used", ids)

    def _show_texts(self, what: str, ids: Sequence[str]) -> None:
        """The memories by their texts, where they were given; one that a tool found, by its id."""
        given = [(id, self._given.get(id)) for id in ids]
        if self.is_verbose:
            for id, item in given:
                about = f"{item.score:.2f} {one_line(item.text)} [{item.kind} {id}]" if item else f"[{id}]"
                self.screen.note(f"{what}: {about}")
            return
        texts = [
            one_line(item.title or item.text, 60) if item else id for id, item in given[:_SHOWN_MEMORIES]
        ]
        more = [f"{len(given) - len(texts)} more"] if len(given) > len(texts) else []
        if texts:
            self.screen.note(f"{what}: {' · '.join((*texts, *more))}")

    def _show_detail(self, event: RunStarted | ReasoningDelta | Usage | ContextFilled) -> None:
        match event:
            case ReasoningDelta(text=text):
                self._reasoning += text
            case RunStarted():
                self.screen.note(f"run {event.run}, model {event.model or 'none'}")
            case ContextFilled():
                used = event.system + event.tools + event.memory + event.summary + event.history
                self.screen.note(f"about {used:,} of {event.window:,} tokens of the model's window")
            case Usage():
                cost = "" if event.cost_usd is None else f", ${event.cost_usd:.4f}"
                about = "about " if event.estimated else ""
                tokens = f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out"
                self.screen.note(f"{event.model}: {about}{tokens}{cost}")


Renderer = JsonLines | Words
"""A way to show events."""


def renderer_of(screen: Screen, *, is_verbose: bool) -> Renderer:
    """What shows the events on a screen: as JSON if programs read it, else as words."""
    return JsonLines(screen) if screen.is_data else Words(screen, is_verbose=is_verbose)


def memory_updated(change: str, text: str, *, ids: Sequence[str], undo: str | None) -> str:
    """The line that tells a change of memory."""
    made, _, new = (undo or "").partition(":")
    if made == "superseded" and new not in ids:
        return f"memory updated: Replaced: {one_line(text)}"
    family = "vault" if undo and undo.startswith(PAGE) else "memory"
    how = f" (undo: bethink {family} undo {undo})" if undo else ""
    return f"memory updated: {CHANGES.get(change, change)}: {one_line(text)}{how}"


def duration(milliseconds: float) -> str:
    """A time that was taken, short."""
    if milliseconds < _MS_PER_S:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / _MS_PER_S:.1f} s"


_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_ITEM: Final = re.compile(r"(\s*)[-*+]\s+(.*)")
_QUOTE: Final = re.compile(r"\s*>\s?(.*)")
_RULE: Final = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_INLINE: Final = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*|(?<![\w*])[*](?P<weak>[^*\s][^*\n]*)[*](?![\w*])"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<address>[^()\s]+)\)"
)
_RULE_CHARS: Final = 40


@dataclass(slots=True)
class MarkdownLines:
    """Turns Markdown into styled lines; `styled` puts a text into one of the terminal's styles."""

    styled: Callable[[str, str], str]
    _fence: str = ""

    def line(self, line: str) -> str:
        """The line, without a line break, as it is shown."""
        if (fence := _FENCE.match(line)) is not None:
            if not self._fence:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence):
                self._fence = ""
            return self.styled(line, "dim")
        if self._fence:
            return self.styled(line, "cyan")
        if _RULE.match(line):
            return self.styled("─" * _RULE_CHARS, "dim")
        if (heading := _HEADING.match(line)) is not None:
            return self.styled(self._plain(heading[1]), "bold")
        if (quote := _QUOTE.match(line)) is not None:
            return f"{self.styled('│', 'dim')} {self._inline(quote[1])}"
        if (item := _ITEM.match(line)) is not None:
            return f"{item[1]}• {self._inline(item[2])}"
        return self._inline(line)

    def _inline(self, text: str) -> str:
        def shown(found: re.Match[str]) -> str:
            match found.lastgroup:
                case "code":
                    return self.styled(found["code"], "cyan")
                case "strong":
                    return self.styled(found["strong"], "bold")
                case "weak":
                    return self.styled(found["weak"], "italic")
                case _:
                    address = "" if found["address"] == found["label"] else f" ({found['address']})"
                    return f"{found['label']}{self.styled(address, 'dim')}"

        return _INLINE.sub(shown, text)

    def _plain(self, text: str) -> str:
        """A text that is styled as a whole, without its own marks."""
        return _INLINE.sub(lambda found: found[found.lastgroup or 0], text)
