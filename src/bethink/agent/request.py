"""What a run begins with: made by `agent/runs`, read by `agent/loop` and `agent/commands`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from bethink.agent.bounds import Spent
from bethink.agent.citations import Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from bethink.events import Event, Recalled
    from bethink.forgetting.barrier import ForgetBarrier
    from bethink.messages import Message, ToolCall
    from bethink.principal import Principal
    from bethink.redaction import Redaction
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands in its conversation."""

    branch: int
    position: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was said before a run, oldest first, and where each message stands.

    `summary` tells of what stood before them. Without one it is whole only where nothing did.
    """

    messages: list[Message] = field(default_factory=list["Message"])
    places: list[Place] = field(default_factory=list[Place])
    summary: str = ""
    is_whole: bool = True


class KeepSummary(Protocol):
    """Keeps a summary of all that was said up to a place on the active line."""

    async def __call__(self, text: str, last: Place) -> None:
        """Keep it, unless something was forgotten meanwhile."""
        ...


@dataclass(slots=True)
class RunRequest:
    """What a run begins with: the conversation so far, the owner's message last.

    `message` is that message's id. A run that goes on after an approval has the
    `decided` calls of its last assistant message. `outside` says whether
    something from outside was read in the conversation before. `sealed` holds the
    arguments of calls that are about to wait, by the call, for the run's record.

    The first messages are `earlier`'s; a `summary` stands for what was said before them.
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
    summary: str = ""
    places: list[Place] = field(default_factory=list["Place"])
    is_whole: bool = True
    keep_summary: KeepSummary | None = None
    sealed: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    _gone: tuple[Redaction, ...] = ()
    _is_told: bool = False

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

    @property
    def known(self) -> int:
        """How many of the messages were said before the run."""
        return len(self.places)

    def begin_behind(self, earlier: Earlier, keep_summary: KeepSummary | None) -> None:
        """Say where the first messages stand, and how a summary of them is kept.

        None for one that this run alone is told: it knows less than there is.
        """
        self.places, self.is_whole = earlier.places, earlier.is_whole
        self.summary, self.keep_summary = earlier.summary, keep_summary

    async def condense(self, count: int, summary: str) -> None:
        """Have the model told `summary` in place of the first `count` messages, and of what stood before."""
        last = self.places[count - 1]
        if self.keep_summary is not None:
            await self.keep_summary(summary, last)
        self.messages[:count], self.places[:count] = [], []
        self.summary = self._hushed(summary)

    def told_once(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events, the first time; nothing after that."""
        was, self._is_told = self._is_told, True
        return () if was else events

    def was_forgotten(self, arguments: str) -> bool:
        """Whether a call says what was forgotten since the run began: it was asked for before that."""
        return any(gone.arguments(arguments, close=False)[1] for gone in self._gone)

    def heed(self, hush: ForgetBarrier) -> None:
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
        self.summary = self._hushed(self.summary)
        self.recall(self.recalled)

    def _hushed(self, text: str) -> str:
        return reduce(lambda text, gone: gone.cut(text, close=True)[0], self._gone, text)
