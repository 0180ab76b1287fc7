"""What one run begins with, what it may spend, and what of its own it may have.

Doors fill in options, resources and the place where it branches off; `agent/start` makes a request of
them; `agent/loop` reads it, and counts what is spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, assert_never

import anyio
import msgspec

from bethink.conversations.records import Conversation, StoredMessage, continued, edited
from bethink.errors import BadInput
from bethink.llm import NO_OPTIONS, Llm, Options, ToolSchema
from bethink.messages import Message, ToolCall, UserMessage

if TYPE_CHECKING:
    from bethink.events import Recalled
    from bethink.forgetting.announcements import ForgetBarrier
    from bethink.principal import Principal
    from bethink.questions import Answer, Question
    from bethink.redaction import Redaction
    from bethink.tool import Forgotten, ToolContext

    Watched = Callable[[Principal, Callable[[], None]], AbstractContextManager[None]]

    from bethink.conversations.service import Conversations
    from bethink.events import StopReason, Usage
    from bethink.settings import Assistant, Settings
    from bethink.tool import Tool


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one run is to go. Kept while it waits for an approval, so that it goes on as it began.

    `model` is one of `Models.names`, None the usual one. `system` stands behind
    Bethink's own system prompt. Without `tools` the model is offered none of
    Bethink's, without `memory` nothing is recalled, kept or found again.
    `client_tools` are made by the caller: a call of one ends the run. `first_call` is the
    tool with which the answer has to begin (`client_tools`). `budget_tokens` bounds the run more narrowly
    than the settings do. The message is `untrusted` if it holds what a server's prompt gave. The others
    are the model's, as in `LlmRequest`.
    """

    model: str | None = None
    system: str = ""
    tools: bool = True
    memory: bool = True
    client_tools: tuple[ToolSchema, ...] = ()
    first_call: str | None = None
    budget_tokens: int | None = None
    untrusted: bool = False
    response_format: dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    options: Options = NO_OPTIONS

    def without(self, gone: Redaction) -> RunOptions:
        """The options with nothing of what is forgotten."""
        system, _ = gone.cut(self.system, close=True)
        tools = tuple(
            tool
            for tool in self.client_tools
            if not gone.says_in(msgspec.json.encode(tool).decode(), close=True)
        )
        return msgspec.structs.replace(self, system=system, client_tools=tools)


@dataclass(frozen=True, slots=True)
class RunResources:
    """What a door brings for one run, and what ends with it: never stored.

    `tools` stand beside Bethink's own, and before those of the same name. Of its
    own only those named in `only` stay, where it is given. With `remembers` there
    is memory in temporary conversations too: that of the door's own house.
    """

    llm: Llm | None = None
    tools: Sequence[Tool] = ()
    only: frozenset[str] | None = None
    remembers: bool = False


def with_assistant(options: RunOptions, assistants: Mapping[str, Assistant]) -> RunOptions:
    """The options, with what an assistant has where its name stands for a model's."""
    assistant = assistants.get(options.model or "")
    if assistant is None:
        return options
    return msgspec.structs.replace(
        options,
        model=assistant.model,
        system="\n\n".join(part for part in (assistant.system, options.system) if part),
        memory=options.memory and assistant.memory,
        tools=options.tools and assistant.tools,
    )


DEFAULT_OPTIONS = RunOptions()
NO_RESOURCES = RunResources()
_PAGE = 20


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A place in a conversation, by a message's id on any branch.

    `edit` says something else in place of that message of the owner; `behind`
    goes on behind it; `again` answers anew what the owner said there, or what
    that message answers. What was there before stays, as another branch.
    """

    conversation: str
    message: str
    way: Literal["edit", "behind", "again"]


@dataclass(frozen=True, slots=True)
class LoadedBranchPoint:
    """A fork whose message was read; for `again` it is the owner's that is answered."""

    stored: StoredMessage
    way: Literal["edit", "behind", "again"]

    def of(self, held: Conversation) -> Conversation:
        """The conversation's record with the branch made active on which the run goes on.

        Raises:
            BadInput: it has too many branches.
        """
        match self.way:
            case "edit":
                return edited(held, self.stored)
            case "behind" | "again":
                return continued(held, self.stored)
            case _:
                assert_never(self.way)


async def load_branch_point(
    conversations: Conversations, principal: Principal, fork: BranchPoint
) -> LoadedBranchPoint:
    """The fork, with its message read.

    Raises:
        UnknownId: this owner has no such conversation, or it has no such message.
        BadInput: the message to edit is not the owner's, or nobody said what is to be answered.
    """
    stored = await conversations.message(principal, fork.conversation, fork.message)
    if fork.way == "edit" and not isinstance(stored.message, UserMessage):
        raise BadInput("Only your own messages can be edited: name one of them.")
    if fork.way == "again":
        stored = await _answered(conversations, principal, stored)
    return LoadedBranchPoint(stored, fork.way)


async def _answered(
    conversations: Conversations, principal: Principal, stored: StoredMessage
) -> StoredMessage:
    """What the owner said that the message answers; itself if it is the owner's."""
    held = (await conversations.get(principal, stored.conversation)).record
    before: int | None = stored.position + 1
    while before:
        page = await conversations.line(principal, held, limit=_PAGE, before=before, branch=stored.branch)
        for item in page.items:
            if isinstance(item.record.message, UserMessage):
                return item.record
        before = int(page.cursor) if page.cursor else None
    raise BadInput("Before this message there is no message of yours to answer again.")


@dataclass(frozen=True, slots=True)
class Labels:
    """The short names of memories in one run: `m1`, `m2`, … in the order in which they are given."""

    _by_id: dict[str, str] = field(default_factory=dict[str, str])
    _by_label: dict[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        """Whether any memory was given."""
        return bool(self._by_id)

    def of(self, id: str) -> str:
        """The memory's label, the same each time."""
        if id not in self._by_id:
            label = f"m{len(self._by_id) + 1}"
            self._by_id[id], self._by_label[label] = label, id
        return self._by_id[id]

    def give(self, ids: Iterable[str]) -> None:
        """Label memories that are about to be given."""
        for id in ids:
            self.of(id)

    def named(self, label: str) -> str | None:
        """The id of the memory with this label."""
        return self._by_label.get(label.lower())


BOUND_REACHED: Final[dict[StopReason, str]] = {
    "max_steps": "Stopped at the limit of steps per answer (BETHINK_MAX_STEPS).",
    "max_tool_calls": "Stopped at the limit of tool calls per answer (BETHINK_MAX_TOOL_CALLS).",
    "max_tokens": "Stopped at the limit of tokens per answer (BETHINK_MAX_RUN_TOKENS).",
    "max_cost": "Stopped at the limit of cost per answer (BETHINK_MAX_RUN_COST_USD).",
    "max_seconds": "Stopped at the time limit per answer (BETHINK_MAX_RUN_S).",
    "repeated_calls": "Stopped: the model asked for the same call again and again.",
}
"""Which bound ended a run, as a person reads it."""
ANSWERED: Final = frozenset(("answered", "length", *BOUND_REACHED))
"""How runs end whose owner was answered, to the end or not: what they said is learnt from."""
_LAST_ANSWER_SHARE: Final = 0.1
_LAST_ANSWER_S: Final = 30
"""What is kept of a run's time for its last answer: a tenth, and no more than this."""


@dataclass(frozen=True, slots=True)
class RunBounds:
    """What one run may spend at most; see the settings of the same names.

    `prices` are dollars per million tokens, (input, output), by a model's name.
    """

    steps: int
    tool_calls: int
    tokens: int
    cost_usd: float
    seconds: float
    repeated_calls: int
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, "tuple[float, float]"])

    def within(self, budget_tokens: int | None) -> RunBounds:
        """The same, or with fewer tokens."""
        return self if budget_tokens is None else replace(self, tokens=min(self.tokens, budget_tokens))


def bounds_of(settings: Settings) -> RunBounds:
    """The bounds that the settings name."""
    return RunBounds(
        steps=settings.max_steps,
        tool_calls=settings.max_tool_calls,
        tokens=settings.max_run_tokens,
        cost_usd=settings.max_run_cost_usd,
        seconds=settings.max_run_s - min(settings.max_run_s * _LAST_ANSWER_SHARE, _LAST_ANSWER_S),
        repeated_calls=settings.max_repeated_calls,
        prices=prices_of(settings),
    )


def prices_of(settings: Settings) -> dict[str, tuple[float, float]]:
    """Dollars per million tokens, (input, output), by a model's name."""
    return {name: (price.input, price.output) for name, price in settings.prices.items()}


@dataclass(slots=True)
class Spent:
    """What a run has used so far; `started` is on the monotonic clock, in seconds."""

    started: float = 0.0
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    _asked: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])

    def add(self, calls: Sequence[tuple[str, str]], used: Usage) -> None:
        """Count one answer: the names and arguments of its calls, and what it cost."""
        self.steps += 1
        self.tool_calls += len(calls)
        self._asked.update(calls)
        self.charge(used)

    def charge(self, used: Usage) -> None:
        """Count what a request cost, this run's own or one that a tool made for it."""
        self.tokens += used.input_tokens + used.output_tokens
        self.cost_usd += used.cost_usd or 0.0

    def exceeded(self, bounds: RunBounds) -> StopReason | None:
        """Which bound the run has reached, if any."""
        most_asked = max(self._asked.values(), default=0)
        reached: dict[StopReason, bool] = {
            "max_steps": self.steps >= bounds.steps,
            "max_tool_calls": self.tool_calls >= bounds.tool_calls,
            "max_tokens": self.tokens >= bounds.tokens,
            "max_cost": self.cost_usd >= bounds.cost_usd,
            "max_seconds": monotonic() - self.started >= bounds.seconds,
            "repeated_calls": most_asked >= bounds.repeated_calls,
        }
        return next((reason for reason, is_reached in reached.items() if is_reached), None)


class Save(Protocol):
    """Keeps messages of the run, in order.

    They are written at once if `durably`, else with whatever the run writes
    next, within a second or so: what they tell of has changed nothing.
    """

    async def __call__(self, messages: Sequence[Message], *, durably: bool = False) -> Sequence[str]:
        """The messages' ids."""
        ...


@dataclass(frozen=True, slots=True)
class DecidedCall:
    """A call that waited, and what the owner decided about it."""

    call: ToolCall
    approved: bool
    edited: bool = False
    sealed: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class Answering:
    """Whom this process is answering now: what is done for an owner beside that stops when they speak."""

    _answers: Counter[str] = field(default_factory=Counter[str], repr=False)
    _beside: dict[str, list[anyio.CancelScope]] = field(
        default_factory=dict[str, "list[anyio.CancelScope]"], repr=False
    )

    def __contains__(self, owner: str) -> bool:
        """Whether the owner is being answered."""
        return owner in self._answers

    def __bool__(self) -> bool:
        """Whether anybody is."""
        return bool(self._answers)

    def begin(self, owner: str) -> None:
        """The owner is being answered: what works for them stops."""
        self._answers[owner] += 1
        for scope in self._beside.get(owner, ()):
            scope.cancel()

    def end(self, owner: str) -> None:
        """An answer has ended."""
        self._answers[owner] -= 1
        if not self._answers[owner]:
            del self._answers[owner]

    @contextmanager
    def silence(self, owner: str) -> Generator[None]:
        """What is done inside is cancelled once the owner is being answered."""
        scopes = self._beside.setdefault(owner, [])
        scopes.append(scope := anyio.CancelScope())
        if owner in self:
            scope.cancel()
        try:
            with scope:
                yield
        finally:
            scopes.remove(scope)
            if not scopes:
                del self._beside[owner]


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """A finished turn: the ids of what the owner said and of what was answered."""

    principal: Principal
    said: str
    answered: str


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message stands in its conversation."""

    branch: int
    position: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was said before a run, oldest first, and where each message stands.

    `summary` tells of what stood before them. Without one it is whole only if nothing did. One that
    `is_filtered` lacks what its reader may not know.
    """

    messages: list[Message] = field(default_factory=list["Message"])
    places: list[MessagePlace] = field(default_factory=list[MessagePlace])
    summary: str = ""
    is_whole: bool = True
    is_filtered: bool = False


@dataclass(slots=True)
class RunRequest:
    """What a run begins with: the conversation so far, the owner's message last.

    `message` is that message's id. A run that goes on after an approval has the
    `decided` calls of its last assistant message. `outside` says whether
    something from outside was read in the conversation before. `sealed` holds the
    arguments of calls that are about to wait, by the call, for the run's record. `ask` asks the owner
    while a call runs; None if nobody can be asked.

    `places` are those of the first messages, which were said before the run; a `summary` stands for what
    was said before them. `keep_summary` keeps another one, up to a place on the active line; it is None if
    this run is told less than there is.
    """

    principal: Principal
    conversation: str
    run: str
    message: str
    messages: list[Message]
    save: Save
    decided: Sequence[DecidedCall] = ()
    recalled: tuple[Recalled, ...] = ()
    outside: bool = False
    forgotten: Forgotten | None = None
    labels: Labels = field(default_factory=Labels)
    spent: Spent = field(default_factory=Spent)
    summary: str = ""
    places: list[MessagePlace] = field(default_factory=list["MessagePlace"])
    is_whole: bool = True
    keep_summary: Callable[[str, MessagePlace], Awaitable[None]] | None = None
    sealed: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    ask: Callable[[ToolContext, Question], Awaitable[Answer]] | None = field(default=None, repr=False)
    has_told_filling: bool = False
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

    async def condense(self, count: int, summary: str) -> None:
        """Have the model told `summary` in place of the first `count` messages, and of what stood before."""
        last = self.places[count - 1]
        if self.keep_summary is not None:
            await self.keep_summary(summary, last)
        self.messages[:count], self.places[:count] = [], []
        self.summary = self._redacted(summary)

    def was_forgotten(self, arguments: str) -> bool:
        """Whether a call says what was forgotten since the run began: it was asked for before that."""
        return any(gone.arguments(arguments, close=False)[1] for gone in self._gone)

    def heed(self, barrier: ForgetBarrier) -> None:
        """Tell the model nothing, and let no call store, what `barrier` hears is forgotten."""
        self.forgotten = barrier
        barrier.tell(self.forget)

    def forget(self, gone: Redaction) -> None:
        """Take what was forgotten out of what the model is told from now on."""
        self._gone = (*self._gone, gone)
        self.messages[:] = [gone.message(message, close=True)[0] for message in self.messages]
        self.summary = self._redacted(self.summary)
        self.recall(self.recalled)

    def _redacted(self, text: str) -> str:
        return reduce(lambda text, gone: gone.cut(text, close=True)[0], self._gone, text)
