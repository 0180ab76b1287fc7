"""What a tool may have a model do for it: a run within a run. Tools ask by `ToolContext.run_agent`.

`agent/delegating` does it, `app` wires it; so a tool starts a run without knowing the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from bethink.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Collection

    from bethink.events import StopReason


@dataclass(frozen=True, slots=True)
class Errand:
    """What to do: `system` is all that the model is told beside its `task`, `tools` names what it may call.

    `job` is what its usage is counted under, and what it reads is read for the audience
    `DOOR/job`. It may take `steps` requests to the model. `model` is
    `provider:name`, or `auto` for the usual one, else one that is found; `way` is how it is told of tools.
    `outside` says that `system` or `task` tell what may come from outside.
    """

    job: str
    system: str
    task: str
    tools: tuple[str, ...]
    steps: int = 20
    model: str = "auto"
    way: Literal["auto", "native", "tagged", "routed"] = "auto"
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made on the way; `memories` are the ids of what it quotes, `error` is a code."""

    name: str
    arguments: str
    error: str | None = None
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delegated:
    """What came of an errand: `reply` is its last answer, `thoughts` what was considered on the way.

    `failure` is the sentence of what ended it early, `code` its code; "" where nothing did.
    What is `untrusted` rests on words from outside.
    """

    reply: str
    thoughts: str
    reason: StopReason
    calls: tuple[Call, ...] = ()
    failure: str = ""
    code: str = ""
    untrusted: bool = False

    def sources(self, by: Collection[str]) -> tuple[str, ...]:
        """The ids of what these tools read, each once, in the order of reading."""
        return tuple(dict.fromkeys(id for call in self.calls if call.name in by for id in call.memories))


class RunAgent(Protocol):
    """Runs an errand for the call that asks."""

    async def __call__(self, errand: Errand, /) -> Delegated:
        """What came of it; what it does is told as progress of the call.

        Raises:
            NotAllowed: an errand cannot send another one.
            NoModel: there is no model to send.
        """
        ...


async def nobody(errand: Errand, /) -> Delegated:
    """Where nothing is wired that could run it."""
    raise NotAllowed(f"No agent can be sent from here, as {errand.job} would want.")
