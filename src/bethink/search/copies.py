"""Owners' shards in one process, brought up to date from an engine's rows before each search.

Every index row has a change number of its owner, and what is deleted leaves its id with one. A copy asks
for greater numbers than it has seen (`CopyNews`), whichever process wrote them. The indexes of SQLite and
PostgreSQL keep their copies here; idle owners' shards give way when all together grow beyond `MEMORY_BYTES`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from bethink.search.analysis import Entries
    from bethink.search.shard import Shard

MEMORY_BYTES = 256 * 1024 * 1024
"""Of all shards: some 200,000 items with vectors of 384 dimensions. The one in use always fits."""

READ_AT_ONCE = 4_000
"""Rows a step: some hundredths of a second. Their vectors fit into the processor's cache."""

SEARCHED_AT_ONCE = 64
"""Searches of one owner in a step: some tens of milliseconds among 10,000 items."""

LOADS_MAX = 2
"""Owners with much to read that are read for at a time; the other readers are left for the rest."""


@dataclass(frozen=True, slots=True)
class CopyNews:
    """What an owner's rows tell behind what a copy knows, of one moment.

    `change` is the owner's last change number then, `read` that of the last row here. A copy `is_anew` if it
    knows nothing, or less than what tombstones are kept for; it then expects so many items in all. `is_all`
    unless more rows wait.
    """

    change: int
    read: int
    entries: Entries | None
    gone: Sequence[str] = ()
    is_anew: bool = False
    is_all: bool = True
    expected: int = 0


class Copy:
    """An owner's shard, and how far it knows the rows.

    `read` is the change of the last row that was read, `known` the owner's change when that was done (None
    before the first time): nothing that was deleted up to then is in the shard.
    """

    def __init__(self) -> None:
        # One search at a time. The thread's own lock counts where one was cancelled during its step.
        self.turn = anyio.Lock()
        self.lock = threading.Lock()
        self.shard: Shard | None = None
        self.read = 0
        self.known: int | None = None
        self.nbytes = 0

    def current(self, change: int) -> Shard | None:
        """The shard, if it knows all up to the owner's change."""
        return self.shard if change == self.read else None

    def learn(self, news: CopyNews) -> Shard | None:
        """Take the news in; the shard, if that was all.

        A step that breaks off leaves an empty copy, which begins anew.
        """
        from bethink.search.shard import Shard  # numpy with it, in the thread

        shard = Shard() if news.is_anew or self.shard is None else self.shard
        self.forget()
        for id in news.gone:
            shard.remove(id)
        if news.entries is not None:
            shard.add(news.entries, news.expected)
        if news.is_all:
            shard.settle()
        self.shard, self.read, self.known = shard, news.read, news.change
        return shard if news.is_all else None

    def forget(self) -> None:
        """Be empty, and begin anew with the next step."""
        self.shard, self.read, self.known = None, 0, None


class Copies:
    """The owners' copies of one process, the one searched last at the end."""

    def __init__(self) -> None:
        self._copies: OrderedDict[str, Copy] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def of(self, owner: str) -> Copy:
        """The owner's copy, which gives way last from here on."""
        with self._lock:
            copy = self._copies.pop(owner, None) or Copy()
            self._copies[owner] = copy
        return copy

    def weigh(self, owner: str, copy: Copy) -> None:
        """Note how large the copy is now, and let those give way that were not searched for longest."""
        nbytes = 0 if copy.shard is None else copy.shard.nbytes
        with self._lock:
            if self._copies.get(owner) is not copy:
                # Another owner's search has let it go meanwhile.
                return
            self._nbytes += nbytes - copy.nbytes
            copy.nbytes = nbytes
            while self._nbytes > MEMORY_BYTES and len(self._copies) > 1:
                _, idle = self._copies.popitem(last=False)
                self._nbytes -= idle.nbytes
