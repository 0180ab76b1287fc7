"""What one run may have of its own: what its caller wishes, and what a door brings for it.

Doors fill these in from a request; `agent/loops` makes the run's loop of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.llm import NO_OPTIONS, Options, ToolSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.llm import Llm
    from bethink.redaction import Redaction
    from bethink.tool import Tool


class Wishes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one run is to go. Kept while it waits for an approval, so that it goes on as it began.

    `model` is one of `Models.names`, None the usual one. `system` stands behind
    Bethink's own system prompt. Without `tools` the model is offered none of
    Bethink's, without `memory` nothing is recalled, kept or found again.
    `client_tools` are made by the caller: a call of one ends the run. `first_call` is the
    tool with which the answer has to begin (`choosing`). The others are the model's, as in `LlmRequest`.
    """

    model: str | None = None
    system: str = ""
    tools: bool = True
    memory: bool = True
    client_tools: tuple[ToolSchema, ...] = ()
    first_call: str | None = None
    response_format: dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    options: Options = NO_OPTIONS

    def without(self, gone: Redaction) -> Wishes:
        """The wishes with nothing of what is forgotten."""
        system, _ = gone.cut(self.system, close=True)
        tools = tuple(
            tool
            for tool in self.client_tools
            if not gone.says_in(msgspec.json.encode(tool).decode(), close=True)
        )
        return msgspec.structs.replace(self, system=system, client_tools=tools)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a door brings for one run, and what ends with it: never stored.

    `tools` stand beside Bethink's own, and before those of the same name. Of its
    own only those named in `only` stay, where it is given. With `remembers` there
    is memory in temporary conversations too: that of the door's own house.
    """

    llm: Llm | None = None
    tools: Sequence[Tool] = ()
    only: frozenset[str] | None = None
    remembers: bool = False


NO_WISHES = Wishes()
NOTHING = Brought()
