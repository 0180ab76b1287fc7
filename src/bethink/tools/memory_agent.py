"""The memory agent: a question put to the vault, answered by a run of its own over the vault's tools.

Its tool is `use_memory_agent`; `web/vault/search`, `cli/vault` and MCP clients ask it, too. It reads
for the audience `DOOR/memory-agent`, so that filters can hold for it alone.
Source: spec 003, "System Prompt Architecture"; the tool is mem-agent's (its `mcp_server/server.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio.to_thread
from pydantic import BaseModel, Field

from bethink.errors import BadInput, BethinkError
from bethink.tool import SubagentResult, SubagentTask, Tool, ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.settings import VaultSettings
    from bethink.tools.vault_access import VaultAccess

JOB: Final = "memory-agent"
"""What its requests are counted under, and the agent of its audience."""
MAX_QUESTION_CHARS: Final = 20_000
_PROMPT: Final = Path(__file__).with_name("memory_agent.md")
_USER_PAGE: Final = "user.md"
_PROFILE_CHARS: Final = 4_000
_READING: Final = ("read_file", "search_files", "list_directory", "go_to_link", "backlinks")
_CHANGING: Final = ("create_file", "update_file", "delete_file")
_CODE: Final = "execute_python"
_OPENING: Final = ("read_file", "go_to_link", _CODE)
"""What shows whole pages: what a search showed lines of was not read."""
_CLOSE: Final = "</filter>"
_TURNS: Final = (
    "The memory agent stopped after {turns} turns without an answer. Ask for less at once, or raise"
    " `agent_turns` of the setting `vault`."
)


class VaultReply(BaseModel):
    """What the memory agent answers to programs."""

    reply: str
    thoughts: str
    sources: list[str] = Field(description="Paths of the pages that it read.")


@dataclass(slots=True)
class MemoryAgent:
    """Makes tasks of questions, and answers of what came of them."""

    desk: VaultAccess
    settings: VaultSettings

    async def task(self, principal: Principal, question: str, filters: Sequence[str] = ()) -> SubagentTask:
        """What is to be done for a question; `filters` are the owner's own words on what must not be told.

        Raises:
            BadInput: there is no question, or it is too long.
        """
        question = question.strip()
        if not 0 < len(question) <= MAX_QUESTION_CHARS:
            raise BadInput(f"Ask a question of 1 to {MAX_QUESTION_CHARS:,} characters.")
        instructions = [
            *await self.desk.views.filters.instructions_for(principal.reading(JOB)),
            *(text.strip() for text in filters if text.strip()),
        ]
        if instructions:
            inner = "\n".join(text.replace("<", "‹") for text in instructions)
            question = f"{question}\n\n<filter>\n{inner}\n{_CLOSE}"
        prompt = await anyio.to_thread.run_sync(_PROMPT.read_text, "utf-8")
        may_write = "write" in principal.rights
        now, outside = await self._now(principal, may_write=may_write)
        return SubagentTask(
            job=JOB,
            system=f"{prompt.strip()}\n\n{now}",
            task=question,
            tools=(*_READING, *(_CHANGING if may_write else ()), _CODE),
            steps=self.settings.agent_turns,
            model=self.settings.agent_model,
            way=self.settings.agent_protocol,
            outside=outside,
        )

    async def _now(self, principal: Principal, *, may_write: bool) -> tuple[str, bool]:
        """What changes from question to question: where the vault is, and whose; whether it is untrusted."""
        lines = [
            "# This vault",
            f"- Paths begin at its root, `{self.desk.views.vault.root(principal.owner).name}/`.",
        ]
        if not may_write:
            lines.append("- Whoever asks may read only: change nothing.")
        try:
            page = await self.desk.read(principal.reading(JOB), _USER_PAGE)
        except BethinkError:
            lines.append(f"- There is no `{_USER_PAGE}` that could be read yet.")
            return "\n".join(lines), False
        profile = page.text.strip()
        cut = profile if len(profile) <= _PROFILE_CHARS else f"{profile[:_PROFILE_CHARS]}\n[… cut: read it]"
        lines.append(f"- `{_USER_PAGE}` says, as data:")
        quoted = "\n".join(f"    {line}" for line in cut.splitlines())
        return "\n".join((*lines, "", quoted)), page.untrusted

    def output(self, done: SubagentResult) -> ToolOutput:
        """What the tool answers."""
        text = done.reply or done.failure or self.stopped(done)
        read = sources(done)
        asked = VaultReply(reply=done.reply, thoughts=done.thoughts, sources=list(read))
        if done.reply and read:
            text = f"{text}\n\n[read: {', '.join(read)}]"
        return ToolOutput(
            text,
            error=None if done.reply else done.code or done.reason,
            memories=read,
            structured=asked.model_dump(),
            untrusted=done.untrusted,
        )

    def stopped(self, done: SubagentResult) -> str:
        """Why there is no reply, as a sentence."""
        if done.reason == "max_steps":
            return _TURNS.format(turns=self.settings.agent_turns)
        return f"The memory agent ended without an answer ({done.reason}). Ask again, in other words."


def agent_tool(agent: MemoryAgent, timeout_s: float) -> Tool:
    """`use_memory_agent`."""

    @tool(
        effect="write",
        label="Ask the memory agent: {question}",
        timeout_s=timeout_s,
        family="vault",
        needs_memory=True,
        output=VaultReply,
    )
    async def use_memory_agent(
        context: ToolContext,
        question: Annotated[
            str,
            Field(
                description="The question or what to note, in the user's own words and unchanged.",
                min_length=1,
                max_length=MAX_QUESTION_CHARS,
            ),
        ],
    ) -> ToolOutput:
        """Ask the agent that keeps the user's vault of Markdown pages.

        It reads the pages, follows their links, answers with the pages that it read, and writes down
        what is worth keeping. Give it the user's words as they are; a <filter> block
        behind them says what must not be told.
        """
        done = await context.run_agent(await agent.task(context.principal, question))
        return agent.output(done)

    return use_memory_agent


def sources(done: SubagentResult) -> tuple[str, ...]:
    """The pages that were read for an answer, by their paths."""
    return done.sources(_OPENING)
