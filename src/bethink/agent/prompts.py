"""The reviewed texts that instruct a model: documents beside this file. `app` reads them once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the agent is told, in a small window too, to find facts, and to tell in short.

    Their documents are `system_prompt.md`, `brief_prompt.md`, `extraction.md` and `summarising.md`.
    """

    system: str
    brief: str
    extraction: str
    summarising: str


def read_prompts() -> Prompts:
    """The prompts as they stand in their documents."""
    folder = resources.files("bethink.agent")
    return Prompts(
        system=folder.joinpath("system_prompt.md").read_text(encoding="utf-8"),
        brief=folder.joinpath("brief_prompt.md").read_text(encoding="utf-8"),
        extraction=folder.joinpath("extraction.md").read_text(encoding="utf-8"),
        summarising=folder.joinpath("summarising.md").read_text(encoding="utf-8"),
    )
