"""What MCP servers ask back while a call runs: questions to its owner, answers of the owner's model.

`tools/mcp` makes one for each call. The policy about models is the configuration's: `never`, `ask` or
`allow`, within bounds. A model that is asked so has no tools, no memory and no conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bethink.errors import NotAllowed
from bethink.events import ToolProgress
from bethink.mcp_client import Sampled, Sampling
from bethink.questions import Answer, Question
from bethink.tool import SubagentTask, ToolContext

if TYPE_CHECKING:
    from bethink.settings import McpServer

_JOB: Final = "sampling"
_SYSTEM: Final = "Answer what you are asked. You know nothing of the person, and have no tools."
_SHOWN_CHARS: Final = 4_000


@dataclass(slots=True)
class CallPerson:
    """Whom one call is made for; `notes` say what of theirs it used."""

    context: ToolContext
    server: str
    rules: McpServer
    calls: int = 0
    tokens: int = 0
    notes: list[str] = field(default_factory=list[str])

    @property
    def owner(self) -> str:
        """Who it is."""
        return self.context.principal.owner

    async def answer(self, question: Question) -> Answer:
        """What they answer; cancelled if nobody does, or can."""
        asked = replace(question, wait_s=self.rules.question_timeout_s)
        answer = await self.context.ask(self.context, asked)
        if answer.action == "cancel":
            self.notes.append(f"[{self.server} asked the person something, and nobody answered]")
        return answer

    async def sample(self, wanted: Sampling) -> Sampled:
        """What the owner's model answers.

        Raises:
            NotAllowed: the configuration or the owner does not let it, or the bounds are reached.
            BethinkError: there is no model, or it failed.
        """
        if self.rules.sampling == "never":
            raise NotAllowed("This server may not use the person's model.")
        if self.calls >= self.rules.sampling_calls:
            raise NotAllowed("This call has used the person's model as often as it may.")
        self.calls += 1
        most = min(wanted.max_tokens, self.rules.sampling_tokens)
        if self.rules.sampling == "ask":
            shown = "\n\n".join(filter(None, (wanted.system, wanted.text)))
            text = shown if len(shown) <= _SHOWN_CHARS else f"{shown[: _SHOWN_CHARS - 1]}…"
            if (await self.answer(Question(self.server, "model", text))).action != "accept":
                raise NotAllowed("The person did not agree.")
        self.context.emit(ToolProgress(call=self.context.call, text=f"{self.server} asks your model"))
        result = await self.context.run_agent(
            SubagentTask(
                job=_JOB,
                system=wanted.system or _SYSTEM,
                task=wanted.text,
                tools=(),
                steps=1,
                max_output_tokens=most,
                outside=True,
            )
        )
        self.tokens += result.tokens
        self.notes[:] = [note for note in self.notes if "model" not in note]
        self.notes.append(
            f"[{self.server} asked the person's model {self.calls} times: {self.tokens:,} tokens]"
        )
        if result.failure:
            raise NotAllowed(f"The model did not answer: {result.failure}")
        return Sampled(result.reply, result.model, is_cut=result.reason == "length")
