"""Which tool a run's answer has to begin with: `tool_choice`, of a client's functions and of Bethink's tools.

Doors read the choice here, `agent/loops` checks it, `agent/completion` asks at every step.
Source: OpenAI API reference, `tool_choice` of chat completions and of responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from bethink.agent.client_tools import is_clients
from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.known import Offer
    from bethink.agent.request import RunRequest
    from bethink.agent.toolbox import Toolbox
    from bethink.agent.wishes import Wishes
    from bethink.llm import ToolSchema

ANY: Final = "*"
"""As a wish: some tool. It can be no tool's name."""
_KINDS: Final = "none, auto, required or a function's name"


def choosing(wishes: Wishes, tools: Sequence[ToolSchema], choice: object) -> Wishes:
    """The wishes with the functions that a client offers, and what it says of their use.

    `none` takes away Bethink's tools as well: nothing is called then.

    Raises:
        BadInput: the choice is none of those that there are.
    """
    match choice:
        case None | "auto":
            first = None
        case "none":
            return msgspec.structs.replace(wishes, tools=False)
        case "required":
            first = ANY
        case _:
            first = _named(choice)
    return msgspec.structs.replace(wishes, client_tools=tuple(tools), first_call=first)


def check_first(first: str | None, toolbox: Toolbox) -> None:
    """Refuse what no answer could begin with.

    Raises:
        BadInput: no tool is offered, or none of that name.
    """
    offered = [schema.name for schema in toolbox.offer.schemas]
    if first is None or first in offered or (first == ANY and offered):
        return
    shown = ", ".join(offered) or "none"
    asked = "asks for a call" if first == ANY else f"names {first[:80]!r}"
    message = f"tool_choice {asked}, and that is not offered here. Offered are: {shown}."
    raise BadInput(message)


def at_this_step(
    first: str | None, offer: Offer, *, request: RunRequest, toolbox: Toolbox
) -> tuple[Offer, bool]:
    """What the model is told of now, and whether its answer must be a call.

    A named tool is called once, and then the model is free. Where a call is required
    and the client brought functions, it is one of theirs that has to come: Bethink's
    own tools may be called first, once.
    """
    is_first = request.spent.steps == 0
    if first is None or (first != ANY and not is_first):
        return offer, False
    if first == ANY and is_first:
        return offer, bool(offer.schemas)
    theirs = (schema.name for schema in offer.schemas if is_clients(toolbox.get(schema.name)))
    wanted = toolbox.alone(*(theirs if first == ANY else (first,)))
    return (wanted, True) if wanted.schemas else (offer, False)


def _named(choice: object) -> str:
    """The function that a choice names, in chat completions' words or in those of responses.

    Raises:
        BadInput: it names none.
    """
    if isinstance(choice, dict):
        given = cast("dict[str, Any]", choice)
        function: Any = given.get("function")
        about = cast("dict[str, Any]", function) if isinstance(function, dict) else given
        name: Any = about.get("name")
        if given.get("type") == "function" and isinstance(name, str) and name and name != ANY:
            return name
        kind = given.get("type")
        message = f"tool_choice of the type {str(kind)[:60]!r} is not known here: give {_KINDS}."
        raise BadInput(message)
    message = f"tool_choice {str(choice)[:60]!r} is not known here: give {_KINDS}."
    raise BadInput(message)
