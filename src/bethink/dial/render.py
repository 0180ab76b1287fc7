"""A run's events as DIAL shows them: text, a stage for each tool call, files, and what went wrong.

Source: spec 000, "Stage management": the name of the tool, its arguments and its response.
The choice is the SDK's; this knows of it only what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from bethink.errors import BethinkError
from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimUnbacked,
    MemoryRecalled,
    MemoryUsed,
    MessageSaved,
    ReasoningDelta,
    RunDone,
    RunFailed,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    Usage,
    Warned,
)
from bethink.telemetry import log

if TYPE_CHECKING:
    from aidial_sdk.chat_completion import Choice, Stage

    from bethink.agent.records import NumberedEvent
    from bethink.events import Event, Recalled
    from bethink.messages import Attachment

_ENDS: Final[dict[str, str]] = {
    "cancelled": "Stopped.",
    "interrupted": "Bethink was stopped during this answer: ask again for the rest.",
    "max_steps": "Stopped at the limit of steps per answer.",
    "max_tool_calls": "Stopped at the limit of tool calls per answer.",
    "max_tokens": "Stopped at the limit of tokens per answer.",
    "max_cost": "Stopped at the limit of cost per answer.",
    "max_seconds": "Stopped at the time limit per answer.",
    "repeated_calls": "Stopped: the model repeated the same call again and again.",
    "content_filter": "The model's provider withheld the rest of this answer.",
    "length": "The answer was cut at the model's output limit.",
}
_log = log("dial")


class Upload(Protocol):
    """Puts a file that a tool made where its reader can reach it: its URL."""

    async def __call__(self, attachment: Attachment) -> str:
        """The URL.

        Raises:
            BethinkError: it is not there; the sentence says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class Style:
    """How a tool's calls are shown (spec 002, `create_tool_stage` and `show_in_stage`)."""

    staged: bool = True
    detailed: bool = True


@dataclass(slots=True)
class AnswerRenderer:
    """Tells one answer. `text` is what was said so far, `waiting` the calls that wait for a decision.

    Calls of the client's own `functions` are no stages: they are left to it at the end. Passages of
    documents that the answer cites are attached, and lead to their pages at `site` if it is known.
    """

    choice: Choice
    upload: Upload
    styles: Mapping[str, Style] = field(default_factory=dict[str, Style])
    functions: frozenset[str] = frozenset()
    site: str = ""
    text: str = ""
    waiting: list[ApprovalNeeded] = field(default_factory=list[ApprovalNeeded])
    usage: list[Usage] = field(default_factory=list[Usage])
    done: RunDone | None = None
    _left: list[ToolRequested] = field(default_factory=list[ToolRequested])
    _stages: dict[str, Stage] = field(default_factory=dict[str, "Stage"])
    _decided: dict[str, str] = field(default_factory=dict[str, str])
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _shown: set[str] = field(default_factory=set[str])
    _passages: dict[str, Recalled] = field(default_factory=dict[str, "Recalled"])
    _since: str = ""
    _breaks: bool = False

    async def render(self, batch: Iterable[NumberedEvent]) -> None:
        """Show events as they come; deltas of a batch are sent as one."""
        said: list[str] = []
        for numbered in batch:
            event = numbered.event
            if isinstance(event, TextDelta):
                said.append(event.text)
                continue
            self.say("".join(said))
            said.clear()
            await self._render(event)
        self.say("".join(said))

    def say(self, text: str) -> None:
        """Add to the answer."""
        if not text:
            return
        self._since += text
        if self._breaks:
            # What is said after a call begins on a line of its own.
            self._breaks = False
            text = f"\n\n{text}"
        self.text += text
        self.choice.append_content(text)

    def note(self, name: str, text: str, *, failed: bool = False) -> None:
        """Show a stage of its own, at once whole."""
        from aidial_sdk.chat_completion import Status

        stage = self.choice.create_stage(name)
        stage.open()
        stage.append_content(text)
        stage.close(Status.FAILED if failed else Status.COMPLETED)

    def keep(self, state: dict[str, Any]) -> None:
        """Have the client keep this, and bring it with the next request; once in an answer."""
        self.choice.set_state(state)  # pyright: ignore[reportUnknownMemberType] - the SDK's `dict`

    def end(self) -> None:
        """Close what is open: the answer ends, whether well or not."""
        from aidial_sdk.chat_completion import Status

        waiting = {call.call for call in self.waiting}
        for call, stage in self._stages.items():
            if call in waiting:
                # Nothing has failed: what comes of it is a stage of the answer to the decision.
                stage.append_name(" (waiting for your decision)")
            stage.close(Status.COMPLETED if call in waiting else Status.FAILED)
        self._stages.clear()

    async def _render(self, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self.choice.append_reasoning_content(event.text)
            case TextSoFar():
                if not event.text.startswith(self._since):
                    # What was told as the answer were thoughts: it begins below them.
                    self._breaks, self._since = True, ""
                self.say(event.text.removeprefix(self._since))
            case MessageSaved(role="assistant"):
                self._breaks = bool(self.text) and not self.text.endswith("\n")
                self._since = ""
            case MemoryRecalled() | MemoryUsed():
                self._remember(event)
            case ToolRequested():
                self._open(event)
            case ToolProgress() if (stage := self._stages.get(event.call)) is not None:
                share = "" if event.fraction is None else f" ({event.fraction:.0%})"
                stage.append_content(f"- {event.text}{share}\n")
            case ToolFinished():
                await self._finish(event)
            case _:
                self._render_end(event)

    def _render_end(self, event: Event) -> None:
        match event:
            case ApprovalNeeded():
                self.waiting.append(event)
                if (stage := self._stages.get(event.call)) is not None:
                    stage.append_content(f"## Waiting:\n{event.reason}\n")
            case ApprovalDecided(decision="approve" | "edit"):
                self._decided[event.call] = event.arguments
            case Warned():
                self.note(f"Warning: {event.part}", event.message, failed=True)
            case ClaimUnbacked():
                self.note(
                    "Not done", f"The answer says: {event.text}\nNothing of this was done.", failed=True
                )
            case Usage():
                self.usage.append(event)
            case RunFailed():
                self.note("Failed", event.message, failed=True)
                self.paragraph(event.message)
            case RunDone():
                self._leave(event)
                if (ending := _ENDS.get(event.reason)) is not None:
                    self.paragraph(f"_{ending}_")
            case _:
                pass

    def _remember(self, event: MemoryRecalled | MemoryUsed) -> None:
        if isinstance(event, MemoryUsed):
            self._cite(event.ids)
            return
        items = event.items
        self._passages |= {item.id: item for item in items if item.title is not None}
        # Passages stand in the stage of the call that found them.
        if told := [f"- {item.text}" for item in items if item.title is None]:
            self.note(f"Remembered ({len(told)})", "\n".join(told))

    def _cite(self, ids: Iterable[str]) -> None:
        """Attach the passages of documents that the answer rests on, each with the address of its page."""
        for item in [self._passages[id] for id in ids if id in self._passages and id not in self._shown]:
            self._shown.add(item.id)
            place = (item.source or "").removeprefix("document:")
            self.choice.add_attachment(
                type="text/markdown",
                title=item.title,
                data=item.text,
                reference_url=f"{self.site}/documents/{place}" if self.site and place else None,
                reference_type="text/html" if self.site and place else None,
            )

    def _leave(self, done: RunDone) -> None:
        self.done = done
        for call in self._left if done.reason == "client_tools" else ():
            self.choice.create_function_tool_call(call.call, call.name, call.arguments)

    def paragraph(self, text: str) -> None:
        """Add something on a line of its own."""
        self._breaks = bool(self.text) and not self.text.endswith("\n")
        self.say(text)

    def _open(self, event: ToolRequested) -> None:
        if event.name in self.functions:
            self._left.append(event)
            return
        self._names[event.call] = event.name
        style = self.styles.get(event.name, Style())
        if not style.staged:
            return
        self._stages[event.call] = stage = self.choice.create_stage(event.name)
        stage.open()
        if style.detailed:
            stage.append_content(_arguments(event.arguments))

    async def _finish(self, event: ToolFinished) -> None:
        from aidial_sdk.chat_completion import Status

        stage = self._stages.pop(event.call, None)
        if stage is None and self.styles.get(event.name, Style()).staged:
            # A call that was approved: its request was shown in the answer before.
            # Others may have changed what was asked for: it tells what was done.
            stage = self.choice.create_stage(event.name)
            stage.open()
            if self.styles.get(event.name, Style()).detailed and event.call in self._decided:
                stage.append_content(_arguments(self._decided[event.call]))
        files = [(attachment, await self._uploaded(attachment)) for attachment in event.attachments]
        if stage is not None:
            if self.styles.get(event.name, Style()).detailed:
                stage.append_content(f"## Response:\n{event.text}\n")
            for attachment, url in files:
                if url.startswith("files/"):
                    stage.add_attachment(type=attachment.media_type, title=attachment.name, url=url)
                else:
                    stage.append_content(f"\n{attachment.name} is not here: {url}\n")
            stage.append_name(f" ({event.duration_ms:.0f} ms)")
            stage.close(Status.FAILED if event.error else Status.COMPLETED)
        for attachment, url in files:
            if url.startswith("files/") and url not in self._shown:
                self._shown.add(url)
                self.choice.add_attachment(type=attachment.media_type, title=attachment.name, url=url)

    async def _uploaded(self, attachment: Attachment) -> str:
        """The file's URL, or the sentence that says why there is none."""
        try:
            return await self.upload(attachment)
        except BethinkError as error:
            _log.warning("a file was not uploaded: %s", error)
            return str(error)


def _arguments(arguments: str) -> str:
    return f"## Request arguments:\n```json\n{_indented(arguments)}\n```\n"


def _indented(arguments: str) -> str:
    try:
        return msgspec.json.format(arguments, indent=2)
    except msgspec.DecodeError:
        return arguments


def asks(waiting: list[ApprovalNeeded], *, minutes: int) -> str:
    """The end of an answer that waits: the calls, their exact arguments, and how to decide."""
    lines = ["", "", "---", "**Waiting for your decision:**", ""]
    for number, call in enumerate(waiting, 1):
        lines += [
            f"{number}. `{call.name}`: {call.label}",
            f"```json\n{_indented(call.arguments)}\n```",
            call.reason,
            "",
        ]
    more = " `/approve 1` decides one of them." if len(waiting) > 1 else ""
    lines.append(
        f"Reply `/approve` to run it, `/reject` to reject it.{more} Anything else leaves it undone. "
        f"It waits for {minutes} minutes."
    )
    return "\n".join(lines)
