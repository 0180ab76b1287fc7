"""Slash commands: what Bethink does without a language model. Runs like any other.

`agent/runs` asks `match` for every message; what it matches is answered here,
by the same tools that a model would call, so that every door shows it the same.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.agent.toolbox import Prepared, Toolbox
from bethink.errors import NoModel
from bethink.events import (
    Event,
    MemoryChanged,
    MessageSaved,
    RunDone,
    RunFailed,
    TextDelta,
    ToolRequested,
)
from bethink.messages import AssistantMessage, ToolCall, ToolMessage
from bethink.tool import ToolContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.across.forgetting import Forgetting
    from bethink.agent.request import RunRequest
    from bethink.memory import Memory

HELP = """\
- `/remember` *something* — keep it as a memory
- `/recall` *a question* — look through your memories
- `/forget` *words or an id* — show what would be forgotten; `/forget` *id* forgets it for good
- `/help` — this list"""

MODEL_HELP = (
    "No model is set, so nobody can answer here yet. Set one and start again, for example "
    "`BETHINK_MODEL=openai:gpt-4o-mini` with `OPENAI_API_KEY`, or `BETHINK_MODEL=ollama:llama3.2` "
    "for a model on this machine. Until then your memory works without one: `/remember`, `/recall`, "
    "`/forget` and `/help`."
)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what follows it."""

    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class Commands:
    """The slash commands, wired to what they use."""

    toolbox: Toolbox
    memory: Memory
    forgetting: Forgetting

    def match(self, said: str) -> Command | None:
        """The command that a message is; None where it is talk.

        A message with a slash and an unknown word is talk too: it may be a path.
        """
        first, _, rest = said.strip().partition(" ")
        if first in ("/remember", "/recall", "/forget", "/help") and "\n" not in first:
            return Command(first[1:], rest.strip())
        return None

    async def run(self, request: RunRequest, command: Command) -> AsyncGenerator[Event, None]:
        """The events of a command's run."""
        match command:
            case Command("remember", rest) if rest:
                answer = self._call(request, "store_memory", {"content": rest})
            case Command("recall", rest) if rest:
                answer = self._call(request, "search_memory", {"query": rest})
            case Command("forget", rest) if rest:
                answer = self._forget(request, rest)
            case Command("help", _):
                answer = _say(HELP)
            case Command(name, _):
                answer = _say(f"Write something after `/{name}`.\n\n{HELP}")
        said: list[str] = []
        async with aclosing(answer) as events:
            async for event in events:
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
        context = ToolContext(request.principal, request.conversation, request.run, request.message)
        async with aclosing(self.toolbox.run([prepared], context)) as items:
            async for item in items:
                if isinstance(item, ToolMessage):
                    (saved,) = await request.save([item])
                    yield MessageSaved(id=saved, role="tool")
                    yield TextDelta(text=item.content)
                else:
                    yield item

    async def _forget(self, request: RunRequest, what: str) -> AsyncGenerator[Event, None]:
        (fact,) = await self.memory.get(request.principal, [what])
        if fact is not None:
            await self.forgetting.forget(request.principal, [fact.id])
            yield MemoryChanged(change="forgotten", ids=(fact.id,), text="One memory")
            yield TextDelta(text="Forgotten for good. What you said about it in conversations stays in them.")
            return
        found = await self.memory.search(request.principal, what, k=_SHOWN)
        if not found:
            yield TextDelta(text=f"No memories found matching: {what}")
            return
        lines = [f"- {fact.content}  \n  `/forget {fact.id}`" for fact, _ in found]
        yield TextDelta(text="Nothing is forgotten yet. To forget one of these for good, send its line:\n\n")
        yield TextDelta(text="\n".join(lines))


async def _say(text: str) -> AsyncGenerator[Event, None]:
    yield TextDelta(text=text)
