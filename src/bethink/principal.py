"""Who acts: made only by `accounts`, carried by every call that touches an owner's data.

And what a service keeps for each owner, or for another key, without keeping it for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import anyio

LOCAL_OWNER = "local"
"""The owner of a Bethink that has no users: whoever sits at the machine."""

PRINCIPAL = "principal"
"""Where in the state of a request a door puts who asks."""

OWN_EYES: Final = frozenset({"web", "cli"})
"""The audiences that are the owner in person: their own page and their terminal."""
INSIDE: Final = frozenset({"tidying", "health", "redis", "bench", "mirror"})
"""What this process does by itself: nobody reads what it reads."""
_AGENT: Final = "agent"


@dataclass(frozen=True, slots=True)
class DocumentBounds:
    """Where documents are looked for unless others are named: in `collections`, and among those of a project.

    `names` are those of the owner's own collections, `shared` those that other users gave to theirs.
    """

    project: str
    collections: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    def holds(self, collection: str | None, project: str | None) -> bool:
        """Whether a document of this collection and this project is within them."""
        return collection in self.collections or project == self.project


@dataclass(frozen=True, slots=True)
class Principal:
    """An owner, seen through one door.

    `audience` names the door and client that receive what is read, as DOOR[:CLIENT][/AGENT]:
    `web` is the owner's own page, `rest` and `openai` come with a key's name behind a colon,
    `mcp-http` and `mcp-stdio` with the client's; `dial`, `cli`. What a run reads for it has
    `/agent` behind it, the memory agent `/memory-agent`. `rights` are
    the scopes of the key that was shown (`accounts.register`). `time_zone` is an
    IANA name. `key` is the id of the key, `sign_in` that of the sign-in by which they came, `grant` that of
    what they granted the program which came for them.
    `filters` are those of the owner that hold for one request or run, if they were read at its start: the
    owner, and what they hide, None for nothing.
    With a `project`, only what belongs to it is recalled, and what is remembered belongs to it; `documents`
    bound where documents are looked for.
    """

    owner: str
    audience: str = "local"
    rights: frozenset[str] = frozenset({"read", "write", "chat", "admin"})
    time_zone: str = "UTC"
    key: str | None = None
    sign_in: str | None = None
    grant: str | None = None
    filters: object = field(default=None, compare=False, repr=False)
    project: str | None = None
    documents: DocumentBounds | None = None

    @property
    def door(self) -> str:
        """The audience without the agent that reads for it."""
        return self.audience.partition("/")[0]

    @property
    def came_with(self) -> str | None:
        """The id of what was shown to come in; None for who needed nothing."""
        return self.sign_in or self.grant or self.key

    @property
    def lasting(self) -> Principal:
        """The same for what outlasts a request, such as a stream: it asks again which filters hold."""
        return replace(self, filters=None)

    @property
    def is_unfiltered(self) -> bool:
        """Whether the owner had no filters when the request or run began."""
        return self.filters == (self.owner, None)

    def reading(self, agent: str = _AGENT) -> Principal:
        """The same owner, read for by an agent at the same door."""
        return replace(self, audience=f"{self.door}/{agent}")


class AccountHolder(Protocol):
    """One who may come in, unless disabled: `id` is the owner of their data, times are microseconds UTC."""

    @property
    def id(self) -> str:
        """Of the owner."""
        ...

    @property
    def name(self) -> str:
        """By which they come in."""
        ...

    @property
    def created_at(self) -> int:
        """When they were added."""
        ...

    @property
    def disabled_at(self) -> int | None:
        """When they were disabled, if they are."""
        ...


class OnBehalfOf(Protocol):
    """Gives the principal of work that this process does for an owner; `app` wires `accounts`."""

    def __call__(self, owner: str, *, audience: str) -> Principal:
        """The principal."""
        ...


K = TypeVar("K")
V = TypeVar("V")


def if_filtered(
    ask: Callable[[Principal], Awaitable[V | None]],
) -> Callable[[Principal], Awaitable[V | None]]:
    """Asks what is hidden from a reader only if their owner has filters: the others cost nothing."""

    async def asked(principal: Principal) -> V | None:
        return None if principal.is_unfiltered else await ask(principal)

    return asked


class PerKey(Generic[K, V]):
    """A value for each key while somebody uses it, such as a lock: one that nobody holds can be made anew."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: WeakValueDictionary[K, V] = WeakValueDictionary()

    def __getitem__(self, key: K) -> V:
        """The value that is in use, or a new one; it is kept while the caller holds it."""
        value = self._values.get(key)
        if value is None:
            self._values[key] = value = self._make()
        return value

    def __len__(self) -> int:
        """How many are in use."""
        return len(self._values)


class WaitingOwners:
    """Owners for whom something is to be done soon: once, however often that is asked meanwhile."""

    def __init__(self) -> None:
        self._owners: set[str] = set()
        self._asked = anyio.Event()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._owners)

    def add(self, owner: str) -> None:
        """Have it done."""
        self._owners.add(owner)
        self._asked.set()

    def pop(self) -> str:
        """One of them, who does not wait any more."""
        return self._owners.pop()

    async def next(self) -> str:
        """The same, once there is one."""
        while not self._owners:
            self._asked = anyio.Event()
            await self._asked.wait()
        return self.pop()

    async def follow(
        self, work: Callable[[], Awaitable[bool]], *, quiet_s: float, longest_s: float, retry_s: float
    ) -> None:
        """Call `work` for ever, once nothing was asked for `quiet_s`, or for `longest_s` not without asking.

        If it says that somebody is left, it is called again after `retry_s`.
        """
        while True:
            if not self._owners:
                await self._asked.wait()
            deadline = anyio.current_time() + longest_s
            while self._asked.is_set() and anyio.current_time() < deadline:
                self._asked = anyio.Event()
                with anyio.move_on_after(quiet_s):
                    await self._asked.wait()
            self._asked = anyio.Event()
            if not await work():
                await anyio.sleep(retry_s)


class Latest(Generic[V]):
    """A value that is replaced now and then: calling it gives the one that holds."""

    def __init__(self, value: V) -> None:
        self.value = value

    def __call__(self) -> V:
        """The value."""
        return self.value


class Recent(Generic[K, V]):
    """Values of the keys that were used last, at most so many: the others are found out anew."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def __setitem__(self, key: K, value: V) -> None:
        """Keep a value; that of the key which was used longest ago may go."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def get(self, key: K) -> V | None:
        """The value, if it is kept."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def pop(self, key: K) -> V | None:
        """The same, and it is not kept any more."""
        return self._values.pop(key, None)

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._values)
