"""What a run begins with: made by `agent/runs`, read by `agent/loop` and `agent/commands`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from bethink.agent.answer import Spent
from bethink.agent.citations import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from bethink.across.redaction import Redaction
    from bethink.agent.hush import Hush
    from bethink.events import Recalled
    from bethink.messages import Message, ToolCall
    from bethink.principal import Principal
    from bethink.tool import Forgotten

    Watched = Callable[[Principal, Callable[[], None]], AbstractContextManager[None]]


class Save(Protocol):
    """Keeps messages of the run, in order.

    They are written at once if `durably`, else with whatever the run writes
    next, and within 50 ms: what they tell of has changed nothing.
    """

    async def __call__(self, messages: Sequence[Message], *, durably: bool = False) -> Sequence[str]:
        """The messages' ids."""
        ...


@dataclass(frozen=True, slots=True)
class Decided:
    """A call that waited, and what the owner decided about it."""

    call: ToolCall
    approved: bool
    edited: bool = False
    sealed: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn: the ids of what the owner said and of what was answered."""

    principal: Principal
    said: str
    answered: str


@dataclass(slots=True)
class RunRequest:
    """What a run begins with: the conversation so far, the owner's message last.

    `message` is that message's id. A run that goes on after an approval has the
    `decided` calls of its last assistant message. `outside` says whether
    something from outside was read in the conversation before. `sealed` holds the
    arguments of calls that are about to wait, by the call, for the run's record.
    """

    principal: Principal
    conversation: str
    run: str
    message: str
    messages: list[Message]
    save: Save
    decided: Sequence[Decided] = ()
    recalled: tuple[Recalled, ...] = ()
    outside: bool = False
    forgotten: Forgotten | None = None
    labels: Labels = field(default_factory=Labels)
    spent: Spent = field(default_factory=Spent)
    sealed: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    _gone: tuple[Redaction, ...] = ()

    def add(self, *said: Message) -> None:
        """Have the model told these from now on, without what was forgotten since the run began."""
        for message in said:
            kept = reduce(lambda kept, gone: gone.message(kept, close=True)[0], self._gone, message)
            self.messages.append(kept)

    def recall(self, found: Iterable[Recalled]) -> None:
        """Have the model given these memories, but for what is being forgotten."""
        self.recalled = tuple(
            item for item in found if not any(gone.says(item.text, close=True) for gone in self._gone)
        )

    def was_forgotten(self, arguments: str) -> bool:
        """Whether a call says what was forgotten since the run began: it was asked for before that."""
        return any(gone.arguments(arguments, close=False)[1] for gone in self._gone)

    def heed(self, hush: Hush) -> None:
        """Tell the model nothing, and let no call store, what `hush` hears is forgotten."""
        self.forgotten = hush
        hush.tell(self.forget)

    def seal(self, call: str, sealed: bytes | None) -> None:
        """Have the run's record keep the sealed arguments of a call that waits, if it has such."""
        if sealed is not None:
            self.sealed[call] = sealed

    def forget(self, gone: Redaction) -> None:
        """Take what was forgotten out of what the model is told from now on."""
        self._gone = (*self._gone, gone)
        self.messages[:] = [gone.message(message, close=True)[0] for message in self.messages]
        self.recall(self.recalled)
