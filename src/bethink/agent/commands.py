"""Slash commands: what Bethink does without a language model. Runs like any other.

`agent/runs` asks `match` for every message; what it matches is answered here,
by the same tools that a model would call, so that every door shows it the same.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bethink.agent.policy import NO_READ, NO_WRITE, READ_ONLY
from bethink.agent.toolbox import CallResult, Postponed, Prepared, Toolbox
from bethink.errors import Conflict, NoModel, NotAllowed
from bethink.events import (
    Event,
    MemoryRecalled,
    MessageSaved,
    Recalled,
    RunDone,
    RunFailed,
    TextDelta,
    ToolRequested,
)
from bethink.forgetting.selection import is_token
from bethink.forgetting.service import asks_for_all
from bethink.memory import KIND
from bethink.messages import AssistantMessage, ToolCall
from bethink.tool import ToolContext
from bethink.tools.forgetting import forgotten
from bethink.tools.memory import SEARCH, STORE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.agent.request import RunRequest
    from bethink.forgetting.selection import Preview
    from bethink.forgetting.service import Forgetting

HELP = """\
- `/remember` *something* — keep it as a memory
- `/recall` *a question* — look through your memories
- `/forget` *words* — show what would be forgotten, and how to agree; `/forget` *id* forgets it for good
- `/help` — this list"""

MODEL_HELP = (
    "No model is set, so nobody can answer here yet. Set one and start again, for example "
    "`BETHINK_MODEL=openai:gpt-4o-mini` with `OPENAI_API_KEY`, or `BETHINK_MODEL=ollama:llama3.2` "
    "for a model on this machine. Until then your memory works without one: `/remember`, `/recall`, "
    "`/forget` and `/help`."
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what follows it."""

    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class Commands:
    """The slash commands, wired to what they use."""

    toolbox: Toolbox
    forgetting: Forgetting

    def match(self, said: str) -> Command | None:
        """The command that a message is; None where it is talk.

        A message with a slash and an unknown word is talk too: it may be a path.
        """
        first, _, rest = said.strip().partition(" ")
        if first in ("/remember", "/recall", "/forget", "/help") and "\n" not in first:
            return Command(first[1:], rest.strip())
        return None

    def match_words(self, said: str) -> Command | None:
        """The command that a message asks for in words: for when no model can call its tool."""
        return Command("forget", "everything") if asks_for_all(said) else None

    async def run(self, request: RunRequest, command: Command) -> AsyncGenerator[Event, None]:
        """The events of a command's run."""
        rights = request.principal.rights
        match command:
            case Command("remember" | "forget") if "write" not in rights:
                answer = _say(READ_ONLY if "read" in rights else NO_WRITE)
            case Command("recall" | "forget") if "read" not in rights:
                answer = _say(NO_READ)
            case Command("remember", rest) if rest:
                answer = self._call(request, STORE, {"content": rest})
            case Command("recall", rest) if rest:
                answer = self._call(request, SEARCH, {"query": rest})
            case Command("forget", rest) if rest:
                answer = self._forget(request, rest)
            case Command("help", _):
                answer = _say(HELP)
            case Command(name, _):
                answer = _say(f"Write something after `/{name}`.\n\n{HELP}")
        said: list[str] = []
        # No model reads this: it is for those at the door alone. What tools answer was looked through.
        reader = replace(request.principal, audience=request.principal.door)
        reader_filter = await self.toolbox.filter_for(reader) if command.name == "forget" else None
        async with aclosing(answer) as events:
            async for told in events:
                event = told if reader_filter is None else reader_filter.event(told)
                if isinstance(event, TextDelta):
                    said.append(event.text)
                yield event
        (saved,) = await request.save([AssistantMessage("".join(said))])
        yield MessageSaved(id=saved, role="assistant")
        yield RunDone(reason="answered", message=saved)

    async def no_model(self) -> AsyncGenerator[Event, None]:
        """The events of a run that nobody can answer."""
        yield RunFailed(code=NoModel.code, message=MODEL_HELP)
        yield RunDone(reason="failed")

    async def _call(
        self, request: RunRequest, name: str, arguments: dict[str, str]
    ) -> AsyncGenerator[Event, None]:
        call = ToolCall(f"{request.run}:command", name, json.dumps(arguments, ensure_ascii=False))
        prepared = self.toolbox.prepare(call)
        if not isinstance(prepared, Prepared):
            yield TextDelta(text=prepared.content)
            return
        yield ToolRequested(call=call.id, name=name, arguments=call.arguments, label=prepared.label)
        (saved,) = await request.save(
            [AssistantMessage("", (call,))], durably=self.toolbox.may_change([call])
        )
        yield MessageSaved(id=saved, role="assistant")
        context = ToolContext(
            request.principal, request.conversation, request.run, request.message, forgotten=request.forgotten
        )
        async with aclosing(self.toolbox.run([prepared], context)) as items:
            async for item in items:
                if isinstance(item, Postponed):
                    # No command calls a tool that asks.
                    continue
                if isinstance(item, CallResult):
                    (saved,) = await request.save([item.message])
                    yield MessageSaved(id=saved, role="tool")
                    yield TextDelta(text=item.message.content)
                else:
                    yield item

    async def _forget(self, request: RunRequest, rest: str) -> AsyncGenerator[Event, None]:
        """Show what would go; forget it once the same comes with the token that was shown, or an id alone."""
        what, _, token = rest.rpartition(" ")
        if not (what and is_token(token)):
            what, token = rest, ""
        try:
            wanted = replace(
                await self.forgetting.meant(request.principal, what), asked_in=request.conversation
            )
        except NotAllowed as error:
            yield TextDelta(text=str(error))
            return
        if token or wanted.ids:
            try:
                receipt = (
                    await self.forgetting.confirm(request.principal, wanted, token)
                    if token
                    else await self.forgetting.forget(request.principal, wanted.ids)
                )
            except Conflict as error:
                yield TextDelta(text=str(error))
                return
            yield forgotten(receipt)
            yield TextDelta(text=f"{receipt.summary} {' '.join(receipt.outside)}")
            return
        preview = await self.forgetting.preview(request.principal, wanted)
        if preview.is_empty:
            yield TextDelta(text=f"No memories found matching: {what}")
            return
        yield _shown(preview)
        yield TextDelta(text=f"Nothing is forgotten yet. This would go for good:\n\n{preview.told()}\n\n")
        yield TextDelta(text=f"To forget all of it, send:\n\n`/forget {what} {preview.token}`")
        one_by_one = [f"`/forget {fact.id}`  {fact.content}" for fact in preview.facts]
        yield TextDelta(text="\n\nTo forget one of them:\n\n" + "\n\n".join(one_by_one) if one_by_one else "")


def _shown(preview: Preview) -> MemoryRecalled:
    """What was shown was told in this conversation: it goes from here too, once it is forgotten."""
    return MemoryRecalled(
        items=tuple(
            Recalled(id=fact.id, kind=KIND, text=fact.content, score=0.0, at=fact.created_at)
            for fact in (*preview.facts, *preview.versions)
        )
    )


async def _say(text: str) -> AsyncGenerator[Event, None]:
    yield TextDelta(text=text)
